/*
 * Advice on one policy: what loads and yet will run effects twice, or stay open, or forget too
 * early. The codes and their levels are those of tool_findings.def and stand in effectd-tools(5).
 * What must not load is refused in tool_parse.c. Findings live for the call-back only.
 */
#include "tool.h"

#include "alloc.h"
#include "execute_spec.h"
#include "json.h"
#include "probe_http_spec.h"
#include "probe_sql_spec.h"
#include "runnable.h"
#include "tool_field.h"
#include "tool_policy.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_KEY_MS_MIN 86400000   /* what callers of idempotent interfaces have come to expect */
#define KEEP_RESULT_MS_MIN 1200000 /* crashed runs are resumed up to 20 minutes later */
#define EXECUTE_MS_LONG 60000
#define LEASE_MS_MIN_SANE 5000
#define SETTLE_MS_MIN 5000
#define ESCALATE_MS_LONG 86400000
#define ATTEMPTS_MANY 10

struct lint {
	const struct tool_policy *policy;
	void (*cb)(void *arg, const struct tool_finding *f);
	void *arg;
	size_t n;
};

static void found(struct lint *l, const char *code, const char *pointer, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void
found(struct lint *l, const char *code, const char *pointer, const char *fmt, ...)
{
	struct tool_finding f = {.tool = l->policy->name, .pointer = pointer, .code = code};
	char *text;
	bool listed;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	f.text = text;
	listed = tool_finding_level(code, &f.level);
	assert(listed);
	l->n++;
	l->cb(l->arg, &f);
	free(text);
}

static void
lint_field(struct lint *l, const char *pointer)
{
	const struct tool_field *field = tool_field_of(pointer);
	size_t i;

	if (field != NULL)
		found(l, field->code, "/key", "'%s' %s", pointer, field->text);
	for (i = 0; i < l->policy->ignore.n; i++)
		if (json_pointer_under(pointer, l->policy->ignore.items[i]))
			found(l, "key_ignored", "/key",
			    "'%s' makes another key and is yet ignored in the fingerprint",
			    pointer);
}

/* What a key is made of beside args: what that tells apart, and what it does not. */
static void
lint_parts(struct lint *l, bool run, bool step, bool turn, bool args, size_t n_fields)
{
	if (turn)
		found(l, "key_per_turn", "/key",
		    "a repeat in a later turn has a key of its own, and runs it again");
	if (step && !run)
		found(l, "key_step_without_run", "/key",
		    "steps of other runs have the same names: what one run did is replayed to the "
		    "next, which does not do it");
	if (run && !step && !turn && !args && n_fields == 0)
		found(l, "key_per_run", "/key",
		    "all calls of the tool in one run are one effect: the second one is a mismatch "
		    "or a replay");
	if (l->policy->class == TOOL_IRREVERSIBLE && n_fields == 0 &&
	    l->policy->business_key.n == 0)
		found(l, "no_business_key", "/business_key",
		    "the key is of one run: nobody notices when another run does the same, as no "
		    "'business_key' names what is done");
	if (args && l->policy->ignore.n == 0)
		found(l, "key_all_args", "/key",
		    "'{args}' is all of them: one that comes in other words makes another key. "
		    "Name "
		    "those that count, or 'ignore' those that do not");
}

static void
lint_key(struct lint *l)
{
	const char *p = key_template_text(l->policy->key), *end;
	bool run = false, step = false, turn = false, args = false;
	size_t n_fields = 0;
	char *name;

	if (!l->policy->has_key) {
		found(l, "no_key", "/key",
		    "the default key holds run, step and all args: a model that asks again in "
		    "other "
		    "words, or in another step, runs it again");
		if (l->policy->class == TOOL_IRREVERSIBLE && l->policy->business_key.n == 0)
			found(l, "no_business_key", "/business_key",
			    "nobody notices when a model asks for the same in other words, as no "
			    "'business_key' names what is done");
		return;
	}
	if (key_template_is_constant(l->policy->key))
		found(l, "key_constant", "/key",
		    "the key is the same for every call: the tool runs once, until the key is "
		    "forgotten");
	for (p = strchr(p, '{'); p != NULL; p = strchr(end, '{')) {
		end = strchr(p, '}');
		if (end == NULL)
			break;
		name = xstrndup(p + 1, (size_t)(end - p - 1));
		if (name[0] == '/') {
			n_fields++;
			lint_field(l, name);
		}
		run |= strcmp(name, "run") == 0;
		step |= strcmp(name, "step") == 0;
		turn |= strcmp(name, "turn") == 0;
		args |= strcmp(name, "args") == 0;
		free(name);
	}
	lint_parts(l, run, step, turn, args, n_fields);
}

/* A command that is not there says nothing: policies are linted on other hosts, too. */
static void
lint_probe_exec(struct lint *l, const char *path)
{
	bool missing;
	char *why = NULL;

	if (!runnable_check(path, &missing, &why) && !missing)
		found(l, "probe_unsafe", "/probe/exec/argv/0", "it would not be run here: %s", why);
	free(why);
}

static void
lint_probe_sql(struct lint *l, const struct probe_sql_spec *spec)
{
	if (!probe_sql_spec_tied(spec))
		found(l, "landed_untied", "/probe/sql/params",
		    "no param is the provider key, the key or the time of the claim: a row of an "
		    "earlier effect may be found");
	if (spec->on_standby)
		found(l, "absent_on_standby", "/probe/sql/database",
		    "a standby may answer, and one that lags does not have what landed");
}

/* How the probe is asked again and again until its word counts. */
static void
lint_pace(struct lint *l)
{
	const struct tool_policy *p = l->policy;
	int64_t wait_ms = 0;
	size_t i;

	for (i = 0; i + 1 < (size_t)p->absent_needed && wait_ms <= p->escalate_after_ms; i++)
		wait_ms += p->probe_backoff_ms[i < p->n_probe_backoff ? i : p->n_probe_backoff - 1];
	if (wait_ms > p->escalate_after_ms)
		found(l, "backoff_over_escalate", "/probe_backoff",
		    "a human is asked before the probe has been asked %d times",
		    (int)p->absent_needed);
	if (p->probe_timeout_ms >= p->escalate_after_ms)
		found(l, "probe_over_escalate", "/probe_timeout",
		    "one probe may take as long as it takes until a human is asked");
	if (p->settle_ms < SETTLE_MS_MIN)
		found(l, "settle_short", "/settle",
		    "an absent counts so soon after the attempt that a request which is still "
		    "under way lands after it, and the next attempt does it again");
	if (p->absent_needed == 1)
		found(l, "absent_once", "/absent_needed",
		    "one absent releases it: a look-up that lags behind the provider's books is "
		    "believed at its first word");
}

static void
lint_probe(struct lint *l)
{
	const struct tool_policy *p = l->policy;

	if (p->probe_http != NULL && probe_http_spec_absent_by_status(p->probe_http))
		found(l, "absent_by_status", "/probe/http/absent",
		    "'absent' is told by the status alone, which a proxy or a wrong path answers, "
		    "too");
	if (p->probe_http != NULL && !probe_http_spec_tied(p->probe_http))
		found(l, "landed_untied", "/probe/http/landed",
		    "neither the provider key nor a time after the claim ties 'landed' to this "
		    "effect: an earlier one may be found");
	if (p->probe_exec.n > 0)
		lint_probe_exec(l, p->probe_exec.items[0]);
	if (p->probe_sql != NULL)
		lint_probe_sql(l, p->probe_sql);
	if (tool_policy_has_probe(p)) {
		if (strcmp(p->on_unknown, "human") == 0)
			found(l, "probe_unused", "/on_unknown",
			    "'human' leaves the probe unused for open outcomes");
		else if (p->escalate_after_ms / p->absent_needed < p->settle_ms)
			found(l, "settle_over_escalate", "/escalate_after",
			    "a human is asked before the probe can have said absent %d times, "
			    "'settle' "
			    "apart",
			    (int)p->absent_needed);
		if (strcmp(p->on_unknown, "human") != 0)
			lint_pace(l);
		return;
	}
	if (p->class == TOOL_IRREVERSIBLE)
		found(l, "irreversible_without_probe", "/probe",
		    strcmp(p->on_unknown, "retry") == 0
			? "what calling again does not settle waits for a human, since nothing can "
			  "ask the provider"
			: "every lost answer waits for a human, since nothing can ask the "
			  "provider");
	else if (strcmp(p->on_unknown, "probe") == 0)
		found(l, "probe_missing", "/on_unknown",
		    "there is no probe, so open outcomes wait for a human");
}

/* No outcome of it is ever open, so that nothing has to find out what became of a call. */
static void
lint_execute(struct lint *l)
{
	const struct tool_policy *p = l->policy;

	if (tool_policy_has_probe(p))
		found(l, "probe_unused", "/probe",
		    "'execute' is recorded in the transaction of the call itself: there is nothing "
		    "to ask the probe");
	if (p->execute->timeout_ms > EXECUTE_MS_LONG)
		found(l, "execute_long", "/execute/timeout",
		    "a transaction is open for so long, with all that it has locked");
}

static void
lint_retry(struct lint *l)
{
	const struct tool_policy *p = l->policy;

	if (strcmp(p->on_unknown, "retry") != 0)
		return;
	if (p->provider_key_to == NULL)
		found(l, "retry_unkeyed", "/on_unknown",
		    "'retry' calls again while an earlier call may have landed, and no "
		    "'provider_key_to' hands the provider the key by which it takes both for one: "
		    "the wrapper must pass 'provider_key' on");
	if ((p->probe_http != NULL && strstr(p->probe_http->json, "{attempt}") != NULL) ||
	    (p->probe_sql != NULL && strstr(p->probe_sql->json, "{attempt}") != NULL))
		found(l, "retry_by_attempt", "/probe",
		    "the probe asks by '{attempt}', so that it misses the earlier attempts that "
		    "are "
		    "open, too");
	if (p->escalate_after_ms < p->retry_window_ms)
		found(l, "retry_over_escalate", "/retry_window",
		    "a human is asked before it is over, and nothing is called again after that");
	if (p->max_attempts == 1)
		found(l, "retry_spent", "/max_attempts",
		    "the first attempt is the only one, so that nothing is ever called again");
}

static void
lint_times(struct lint *l)
{
	const struct tool_policy *p = l->policy;

	if (p->lease_ms > p->hold_max_ms)
		found(l, "lease_over_hold_max", "/hold_max",
		    "'hold_max' is below 'lease', so that no claim can be extended");
	if (p->keep_key_ms < KEEP_KEY_MS_MIN)
		found(l, "keep_key_short", "/keep_key",
		    "a repeat later than this runs it again; runs are resumed up to a day later");
	if (p->keep_result_ms < KEEP_RESULT_MS_MIN)
		found(l, "keep_result_short", "/keep_result",
		    "a repeat later than this is told that it was done, and not what came of it; "
		    "runs are resumed 20 minutes later");
	if (p->execute != NULL)
		return; /* its lease is nobody's */
	if (p->lease_ms < LEASE_MS_MIN_SANE)
		found(l, "lease_short", "/lease",
		    "a call that takes longer, with nobody to extend its lease, is unknown while "
		    "it is still under way");
	if (p->escalate_after_ms > ESCALATE_MS_LONG)
		found(l, "escalate_late", "/escalate_after",
		    "an outcome that nothing settles stays open for more than a day before anybody "
		    "is told");
}

static void
lint_lists(struct lint *l)
{
	const struct tool_policy *p = l->policy;
	char pointer[32];
	size_t i, j;

	for (i = 0; i < p->ignore.n; i++) {
		snprintf(pointer, sizeof pointer, "/ignore/%zu", i);
		if (p->ignore.items[i][0] == '\0')
			found(l, "ignore_all", pointer,
			    "all args are ignored: under one key every call is taken for the same, "
			    "whatever it says");
		else if (tool_field_is_amount(p->ignore.items[i]))
			found(l, "ignore_amount", pointer,
			    "'%s' is how much: a call for another amount is taken for the one that "
			    "was made, and not made",
			    p->ignore.items[i]);
	}
	for (i = 0; i < p->keep.n; i++) {
		snprintf(pointer, sizeof pointer, "/keep/%zu", i);
		if (tool_field_is_secret(p->keep.items[i]))
			found(l, "keep_credential", pointer,
			    "'%s' lets somebody in, by its name, and is stored in the ledger: name "
			    "it under 'secret' instead",
			    p->keep.items[i]);
	}

	for (i = 0; i < p->keep.n; i++)
		for (j = 0; j < p->ignore.n; j++) {
			if (!json_pointer_under(p->keep.items[i], p->ignore.items[j]))
				continue;
			snprintf(pointer, sizeof pointer, "/keep/%zu", i);
			found(l, "keep_ignored", pointer,
			    "'%s' is kept, and yet ignored: a replay may come for another value",
			    p->keep.items[i]);
		}
	for (i = 0; p->provider_key_to != NULL && i < p->keep.n; i++) {
		if (!json_pointer_under(p->keep.items[i], p->provider_key_to))
			continue;
		snprintf(pointer, sizeof pointer, "/keep/%zu", i);
		found(l, "keep_ignored", pointer,
		    "'%s' is kept as the caller gave it, and the provider gets its key there",
		    p->keep.items[i]);
	}
}

static void
lint_guards(struct lint *l)
{
	const struct tool_policy *p = l->policy;
	char pointer[48];
	size_t i;

	if (p->turn_asks > 0 && p->turn_asks < p->turn_budget)
		found(l, "asks_below_budget", "/turn_asks",
		    "'turn_budget' is never reached: after %d begins nothing is granted any more",
		    (int)p->turn_asks);
	if (p->turn_asks == 0 && p->turn_budget == 0)
		found(l, "no_turn_budget", "/turn_budget",
		    "nothing bounds how often one turn of a model may run it under ever new keys: "
		    "'turn_budget' would");
	if (p->max_attempts > ATTEMPTS_MANY)
		found(l, "max_attempts_high", "/max_attempts",
		    "one key may be granted %d times: an agent in a loop calls the provider as "
		    "often",
		    (int)p->max_attempts);
	for (i = 0; i < p->business_key.n; i++) {
		if (tool_field_of(p->business_key.items[i]) == NULL)
			continue;
		snprintf(pointer, sizeof pointer, "/business_key/%zu", i);
		found(l, "business_volatile", pointer,
		    "'%s' is another one at each try, so that no call finds its twin",
		    p->business_key.items[i]);
	}
}

/* A class that is let pass, for a tool that does not look like it. */
static void
lint_class(struct lint *l)
{
	const struct tool_policy *p = l->policy;

	if (p->class == TOOL_NATURAL)
		return; /* its target refuses a repeat, whatever it is called */
	if (tool_field_adds(p->name) || (p->class == TOOL_READ && tool_field_removes(p->name)))
		found(l, "class_unlikely", "/class",
		    p->class == TOOL_READ
			? "by its name it changes something, and as 'read' every repeat runs"
			: "by its name a repeat adds again, and as 'overwrite' every repeat runs");
}

size_t
tool_lint(const struct tool_policy *policy, void (*cb)(void *arg, const struct tool_finding *f),
    void *arg)
{
	struct lint l = {.policy = policy, .cb = cb, .arg = arg};

	if (!policy->guarded) {
		lint_class(&l);
		if (policy->has_key || tool_policy_has_probe(policy) ||
		    tool_policy_has_guard(policy))
			found(&l, "guard_unused",
			    policy->has_key			? "/key"
				: tool_policy_has_probe(policy) ? "/probe"
				: policy->business		? "/business_key"
				: policy->turn_budget > 0	? "/turn_budget"
								: "/turn_asks",
			    "tools of this class are let pass: keys, probes and guards are not "
			    "used");
		return l.n;
	}
	if (policy->execute != NULL)
		lint_execute(&l);
	else
		lint_probe(&l);
	lint_retry(&l);
	lint_key(&l);
	lint_times(&l);
	lint_lists(&l);
	lint_guards(&l);
	if (strcmp(policy->on_error, "released") == 0)
		found(&l, "error_releases", "/on_error",
		    "the tool's own error is taken for proof that nothing was sent: an error after "
		    "sending runs it again");
	return l.n;
}
