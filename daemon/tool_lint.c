/*
 * Advice on one policy: what loads and yet will run effects twice, or stay open, or forget too
 * early. The codes are stable and stand in effectd-tools(5). What must not load is refused in
 * tool_parse.c. Findings live for the call-back only.
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

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_KEY_MS_MIN 86400000 /* what callers of idempotent interfaces have come to expect */
#define EXECUTE_MS_LONG 60000

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
	struct tool_finding f = {.tool = l->policy->name};
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&f.text, fmt, ap) < 0)
		abort();
	va_end(ap);
	f.code = xstrdup(code);
	f.pointer = xstrdup(pointer);
	l->n++;
	l->cb(l->arg, &f);
	free(f.code);
	free(f.pointer);
	free(f.text);
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
}

static void
lint_lists(struct lint *l)
{
	const struct tool_policy *p = l->policy;
	char pointer[32];
	size_t i, j;

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
	for (i = 0; i < p->business_key.n; i++) {
		if (tool_field_of(p->business_key.items[i]) == NULL)
			continue;
		snprintf(pointer, sizeof pointer, "/business_key/%zu", i);
		found(l, "business_volatile", pointer,
		    "'%s' is another one at each try, so that no call finds its twin",
		    p->business_key.items[i]);
	}
}

size_t
tool_lint(const struct tool_policy *policy, void (*cb)(void *arg, const struct tool_finding *f),
    void *arg)
{
	struct lint l = {.policy = policy, .cb = cb, .arg = arg};

	if (!policy->guarded) {
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
