/*
 * One table of decisions, one function for the members of each. The advice may be shown to a model:
 * it says what to do and what not, and it never proposes another key.
 */
#include "begin_answer.h"

#include "alloc.h"
#include "call.h"
#include "columns.h"
#include "json.h"
#include "ledger.h"
#include "loop.h"
#include "stats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUSY_RETRY_MS_MIN 200
#define BUSY_RETRY_MS_MAX 1000
#define UNKNOWN_RETRY_MS_MIN 500
#define UNKNOWN_RETRY_MS_MAX 30000
#define UNKNOWN_RETRY_MS 2000 /* where no probe is due: a person or the deadline will end it */

struct decision {
	const char *name, *next, *advice;
	void (*members)(
	    struct buf *out, const struct begin_asked *asked, const struct batch_row *row);
};

static void
begin_object(struct buf *out, const struct decision *d, const char *advice)
{
	buf_add_char(out, '{');
	buf_json_member_str(out, "decision", d->name);
	buf_json_member_str(out, "next", d->next);
	buf_json_member_str(out, "advice", advice);
}

static void
add_identity(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	columns_add_uuid(out, "effect", &asked->id->effect);
	buf_json_member(out, "key");
	buf_json_string(out, asked->id->key, asked->id->key_len);
	columns_int4(out, "attempt", row, BEGIN_ATTEMPT);
}

/* The database's instants are judged here by our wall clock, which is good enough for a hint. */
static int64_t
ms_until(int64_t unix_us)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return unix_us / 1000 - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void
add_run(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	columns_uuid(out, "token", row, BEGIN_TOKEN);
	columns_instant(out, "lease_until", row, BEGIN_LEASE_UNTIL);
	columns_int8(out, "lease_ms", row, BEGIN_LEASE_MS);
	columns_add_uuid(out, "provider_key", &asked->id->effect);
	if (asked->id->policy->provider_key_to)
		buf_json_member_str(out, "provider_key_to", asked->id->policy->provider_key_to);
	columns_instant(out, "protected_until", row, BEGIN_PROTECTED_UNTIL);
	columns_text(out, "on_error", row, BEGIN_ON_ERROR);
	if (asked->waited_ms > 0)
		buf_json_member_int(out, "waited_ms", asked->waited_ms);
}

static void
add_replay(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	(void)asked;
	columns_text(out, "outcome", row, BEGIN_OUTCOME);
	columns_result(out, row, BEGIN_RESULT, BEGIN_RESULT_STATE);
	columns_text(out, "result_state", row, BEGIN_RESULT_STATE);
	columns_int8(out, "result_bytes", row, BEGIN_RESULT_BYTES);
	columns_bytea(out, "result_sha256", row, BEGIN_RESULT_SHA256);
	columns_instant(out, "done_at", row, BEGIN_DONE_AT);
	columns_text(out, "by", row, BEGIN_DECIDED_BY);
	columns_instant(out, "protected_until", row, BEGIN_PROTECTED_UNTIL);
}

static void
add_busy(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	(void)asked;
	columns_text_or_null(out, "owner", row, BEGIN_OWNER);
	columns_instant(out, "claimed_at", row, BEGIN_CLAIMED_AT);
	columns_instant(out, "lease_until", row, BEGIN_LEASE_UNTIL);
}

/* Pointers that stand on one side only, or with another value there than here. Both texts are
 * canonical. */
static void
add_missing_or_other(struct buf *out, const struct json_doc *here, const struct json_doc *there,
    bool same_too, size_t *n)
{
	uint32_t node, other, i;
	size_t len;
	char *name;

	for (i = 0, node = 1; i < here->nodes[0].n_children; i++, node = here->nodes[node].next) {
		const struct json_node *a = &here->nodes[node], *b;

		name = json_name(here, node, &len);
		other = json_member(there, 0, name);
		b = &there->nodes[other];
		if (!other ||
		    (same_too &&
			(a->end - a->start != b->end - b->start ||
			    memcmp(here->text + a->start, there->text + b->start,
				a->end - a->start) != 0))) {
			if ((*n)++ > 0)
				buf_add_char(out, ',');
			buf_json_string(out, name, len);
		}
		free(name);
	}
}

static void
add_differs(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	struct json_doc here = {0}, there = {0};
	struct buf list = {0};
	size_t len, n = 0;
	const char *kept;

	kept = batch_text(row, BEGIN_KEPT, &len);
	if (!kept || !asked->kept)
		return;
	if (json_scan(&here, asked->kept, asked->kept_len, NULL, NULL) ||
	    json_scan(&there, kept, len, NULL, NULL) || here.nodes[0].type != JSON_OBJECT ||
	    there.nodes[0].type != JSON_OBJECT)
		goto out;
	add_missing_or_other(&list, &here, &there, true, &n);
	add_missing_or_other(&list, &there, &here, false, &n);
	if (n > 0) {
		buf_json_member(out, "differs");
		buf_add_char(out, '[');
		buf_add(out, list.data, list.len);
		buf_add_char(out, ']');
	}
out:
	buf_free(&list);
	json_free(&here);
	json_free(&there);
}

static void
add_mismatch(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	columns_text(out, "state", row, BEGIN_STATE);
	columns_instant(out, "claimed_at", row, BEGIN_CLAIMED_AT);
	add_differs(out, asked, row);
}

static void
add_since(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	(void)asked;
	columns_instant(out, "since", row, BEGIN_SINCE);
}

static void
add_unknown(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	add_since(out, asked, row);
	begin_answer_next_probe(
	    out, !batch_null(row, BEGIN_NEXT_PROBE_AT), batch_instant(row, BEGIN_NEXT_PROBE_AT));
}

static void
add_exhausted(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	(void)asked;
	columns_text(out, "budget", row, BEGIN_BUDGET);
	columns_int4(out, "max", row, BEGIN_BUDGET_MAX);
}

static void
add_held(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	(void)asked;
	columns_uuid(out, "twin", row, BEGIN_TWIN);
	columns_text(out, "twin_key", row, BEGIN_TWIN_KEY);
	columns_int8(out, "window_ms", row, BEGIN_WINDOW_MS);
}

/* clang-format off */
enum { RUN, REPLAY, BUSY, MISMATCH, UNKNOWN, ESCALATED, EXHAUSTED, HELD, PASS, RAN, N_DECISIONS };
static const struct decision decisions[N_DECISIONS] = {
	[RUN] = {"run", "execute",
	    "Run the tool now, once, and report its result with complete; if you cannot tell "
	    "whether it took effect, report unknown.", add_run},
	[REPLAY] = {"replay", "use_result",
	    "This was done before: use the recorded result, and do not run the tool again.",
	    add_replay},
	[BUSY] = {"busy", "wait",
	    "Somebody is running exactly this now: wait and ask again, and do not run the tool.",
	    add_busy},
	[MISMATCH] = {"mismatch", "fix_request",
	    "This effect was asked for before with other arguments: do not run the tool; look at "
	    "the existing effect and correct the arguments.", add_mismatch},
	[UNKNOWN] = {"unknown", "wait",
	    "Nobody knows yet whether an earlier attempt took effect: do not run the tool; wait "
	    "and ask again, it is being found out.", add_unknown},
	[ESCALATED] = {"escalated", "ask_human",
	    "It could not be found out whether an earlier attempt took effect: do not run the "
	    "tool; a person has to decide.", add_since},
	[EXHAUSTED] = {"exhausted", "stop",
	    "All attempts that are allowed for this are used up: do not run the tool; stop and "
	    "report this.", add_exhausted},
	[HELD] = {"held", "confirm",
	    "The same business effect was done a short while ago, or is open: do not run the tool; "
	    "ask the person whether a second one is meant, and only if so repeat this call with "
	    "\"again\" and the reason.", add_held},
	[PASS] = {"pass", "execute",
	    "Run the tool: repeating it does no harm, and nothing of it is recorded.", NULL},
	[RAN] = {"ran", "use_result",
	    "This was done just now, and is recorded: use its result, and do not run the tool "
	    "again.", NULL},
};
/* clang-format on */

static const char *
advice_of(const struct decision *d, const struct batch_row *row)
{
	const char *budget = batch_text(row, BEGIN_BUDGET, NULL);
	const char *outcome = batch_text(row, BEGIN_OUTCOME, NULL);
	const char *state = batch_text(row, BEGIN_RESULT_STATE, NULL);

	if (d == &decisions[EXHAUSTED] && budget && strcmp(budget, "turn") == 0)
		return "This turn has run this tool as often as it may: do not run it; stop and "
		       "report this.";
	if (d == &decisions[EXHAUSTED] && budget && strcmp(budget, "asks") == 0)
		return "This turn has asked for this tool too often: do not run it; stop and "
		       "report this.";
	if (d != &decisions[REPLAY])
		return d->advice;
	if (outcome && strcmp(outcome, "failed") == 0)
		return "This was tried before and refused for good: use the recorded failure, and "
		       "do not "
		       "run the tool again.";
	if (state && (strcmp(state, "omitted") == 0 || strcmp(state, "expired") == 0))
		return "This was done before, its result is not at hand any more: do not run the "
		       "tool "
		       "again.";
	return d->advice;
}

bool
begin_answer_row(struct buf *out, const struct begin_asked *asked, const struct batch_row *row,
    const char **ret_decision)
{
	const struct decision *d;
	int i;

	for (i = 0; i < PASS; i++) {
		d = &decisions[i];
		if (!call_answer_is(row, d->name))
			continue;
		begin_object(out, d, advice_of(d, row));
		add_identity(out, asked, row);
		d->members(out, asked, row);
		*ret_decision = d->name;
		return true;
	}
	return false;
}

void
begin_answer_busy(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	const char *decision;
	bool ok = begin_answer_row(out, asked, row, &decision);

	assert(ok && strcmp(decision, "busy") == 0);
	(void)ok;
}

void
begin_answer_retry(struct buf *out)
{
	buf_json_member_int(
	    out, "retry_after_ms", call_random(BUSY_RETRY_MS_MIN, BUSY_RETRY_MS_MAX));
}

void
begin_answer_unknown(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	begin_object(out, &decisions[UNKNOWN], decisions[UNKNOWN].advice);
	add_identity(out, asked, row);
	add_since(out, asked, row);
}

void
begin_answer_next_probe(struct buf *out, bool has_next, int64_t at_us)
{
	int64_t in_ms = UNKNOWN_RETRY_MS;

	if (has_next) {
		buf_json_member_instant(out, "next_probe_at", at_us);
		in_ms = ms_until(at_us);
	} else {
		buf_json_member_raw(out, "next_probe_at", "null", 4);
	}
	if (in_ms < UNKNOWN_RETRY_MS_MIN)
		in_ms = UNKNOWN_RETRY_MS_MIN;
	if (in_ms > UNKNOWN_RETRY_MS_MAX)
		in_ms = UNKNOWN_RETRY_MS_MAX;
	/* behind the probe rather than before it */
	buf_json_member_int(out, "retry_after_ms", call_random(in_ms, in_ms + in_ms / 4));
}

void
begin_answer_withheld(struct buf *out, const struct begin_asked *asked, const struct batch_row *row)
{
	begin_object(out, &decisions[UNKNOWN], decisions[UNKNOWN].advice);
	add_identity(out, asked, row);
	columns_instant(out, "since", row, BEGIN_LEASE_UNTIL);
	buf_json_member_raw(out, "next_probe_at", "null", 4);
	buf_json_member_int(out, "retry_after_ms", call_retry_after_ms());
}

void
begin_answer_ran(struct buf *out, const struct begin_asked *asked, const struct execution_end *end)
{
	begin_object(out, &decisions[RAN], decisions[RAN].advice);
	columns_add_uuid(out, "effect", &asked->id->effect);
	buf_json_member(out, "key");
	buf_json_string(out, asked->id->key, asked->id->key_len);
	buf_json_member_int(out, "attempt", end->attempt);
	if (end->result)
		columns_add_json(out, "result", end->result, end->result_len);
	else if (end->has_result)
		buf_json_member_raw(out, "result", "null", 4);
	if (end->result_state)
		buf_json_member_str(out, "result_state", end->result_state);
	buf_json_member_instant(out, "done_at", end->done_at_us);
	buf_json_member_instant(out, "protected_until", end->protected_until_us);
}

void
begin_answer_pass(struct buf *out, const struct tool_policy *policy)
{
	static const char *const names[] = {[TOOL_READ] = "read",
	    [TOOL_OVERWRITE] = "overwrite",
	    [TOOL_NATURAL] = "natural",
	    [TOOL_ACCUMULATE] = "accumulate",
	    [TOOL_IRREVERSIBLE] = "irreversible"};

	begin_object(out, &decisions[PASS], decisions[PASS].advice);
	buf_json_member_str(out, "class", names[policy->class]);
}

void
begin_answer_log(const struct request *r, const struct begin_params *p, const char *ns,
    const struct identity *id, const char *decision, const struct batch_row *row)
{
	char effect[UUID_TEXT_BYTES];
	struct log_line l;

	stats_count(ns, p->who.tool, decision, loop_now_ms() - r->received_ms);
	if (row && call_answer_is(row, "replay"))
		stats_count_all(ns, p->who.tool, batch_text(row, BEGIN_COUNTED, NULL), false);
	if (!call_log_start(&l, r))
		return;
	log_str(&l, "ns", ns);
	log_str(&l, "tool", p->who.tool);
	if (id) {
		uuid_text(&id->effect, effect);
		log_strn(&l, "key", id->key, id->key_len);
		log_str(&l, "effect", effect);
	}
	log_str(&l, "decision", decision);
	if (row && !batch_null(row, BEGIN_ATTEMPT))
		log_int(&l, "attempt", batch_int4(row, BEGIN_ATTEMPT));
	call_log_cost(&l, r);
	log_str(&l, "run", p->who.run);
	log_str(&l, "step", p->who.step);
	log_str(&l, "call", p->call);
	log_end(&l);
}

void
begin_answer_tell(struct call *c, const struct begin_params *p, const struct identity *id,
    const struct buf *object, const char *decision, const struct batch_row *row,
    struct grant *grant)
{
	struct buf line = {0};

	begin_answer_log(c->r, p, id->ns, id, decision, row);
	call_line(c->r, &line);
	buf_add(&line, object->data, object->len);
	buf_add_char(&line, '}');
	call_reply(c, &line, grant);
}
