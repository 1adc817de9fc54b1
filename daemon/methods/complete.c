/*
 * complete: the record after the call. The result is stored as its raw bytes, what the policy calls
 * secret taken out first; by which policy the claim was made is known here for claims of this boot,
 * else asked of the ledger.
 *
 * Promise: nothing true is lost. While the ledger is away a complete is kept, within bounds, and
 * written when it is back, whether or not its caller still waits. What it means for the effect does
 * not belong here: that is effect.complete().
 */
#include "complete.h"
#include "methods.h"

#include "alloc.h"
#include "call.h"
#include "columns.h"
#include "due.h"
#include "grant.h"
#include "ledger.h"
#include "loop.h"
#include "owed.h"
#include "result.h"
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 10000
#define KEPT_BYTES_MAX (64u << 20)
#define REDACTIONS_MAX 3 /* a row's policy changes only with a new attempt */

struct complete_params {
	struct param_uuid effect, token;
	const char *outcome;
	uint32_t result, omitted;
};

struct omitted_params {
	struct param_int bytes;
	struct param_sha256 sha256;
};

static const char *const outcomes[] = {"succeeded", "failed", "error", NULL};

static const struct param table[] = {
    PARAM(struct complete_params, effect, PARAM_UUID, .required = true),
    PARAM(struct complete_params, token, PARAM_UUID, .required = true),
    PARAM(struct complete_params, outcome, PARAM_WORD, .words = outcomes),
    PARAM(struct complete_params, result, PARAM_ANY),
    PARAM(struct complete_params, omitted, PARAM_OBJECT),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

static const struct param omitted_table[] = {
    PARAM(struct omitted_params, bytes, PARAM_INT, .max = INT64_MAX, .required = true),
    PARAM(struct omitted_params, sha256, PARAM_SHA256, .required = true),
};
#define N_OMITTED_TABLE (sizeof(omitted_table) / sizeof(omitted_table[0]))

struct complete {
	struct call call;
	struct uuid effect, token;
	const char *outcome; /* static */
	char *scope;
	struct result result;
	unsigned n_redactions;
	bool kept;	   /* counted below: it stays until it is written */
	size_t kept_bytes; /* as counted then: the result may be redacted since */
	bool word;	   /* owed_word_end() is to be called */
};

static unsigned n_kept;
static size_t kept_bytes;

unsigned
complete_n_kept(void)
{
	return n_kept;
}

/* How long it stays with the batch: as long as it takes, unless there was no room to keep it. */
static int64_t
complete_until(const struct complete *c)
{
	if (c->call.r || c->kept)
		return INT64_MAX;
	return loop_now_ms() + call_config()->request_timeout_ms;
}

static void
complete_send(struct complete *c)
{
	struct pgvalue *v = c->call.item.columns;

	v[COMPLETE_P_ID] = pg_uuid(&c->effect);
	v[COMPLETE_P_TOKEN] = pg_uuid(&c->token);
	v[COMPLETE_P_SCOPE] = pg_text(c->scope);
	v[COMPLETE_P_OUTCOME] = pg_text(c->outcome);
	result_fill(&c->result, &v[COMPLETE_P_POLICY], &v[COMPLETE_P_RESULT]);
	call_ask(&c->call, &ledger_complete, complete_until(c));
}

/* By whose result_secret? Asked first where any policy has one, so that no secret leaves this
 * process. */
static void
complete_start(struct complete *c)
{
	const struct tool_policy *policy = grant_policy(&c->effect, &c->token);

	if (policy)
		result_redact(&c->result, policy);
	if (policy || !result_has_text(&c->result) || !tool_set_has_result_secret(call_tools())) {
		complete_send(c);
		return;
	}
	c->call.item.columns[0] = pg_uuid(&c->effect);
	call_ask(&c->call, &ledger_policy_of, INT64_MAX);
}

static void
redact_by_row(struct complete *c, const struct batch_row *row, int policy, int pointers)
{
	size_t len = 0;
	const char *text = batch_text(row, pointers, &len);

	result_redact_by(&c->result, batch_int8(row, policy), text, len);
}

static void
complete_reply(struct complete *c, const struct batch_row *row)
{
	const char *shape = batch_text(row, COMPLETE_SHAPE, NULL);
	const char *state = batch_text(row, COMPLETE_STATE, NULL);
	struct buf line = {0};

	call_log(c->call.r, &c->effect, "state", state);
	call_line(c->call.r, &line);
	buf_add_char(&line, '{');
	columns_text(&line, "state", row, COMPLETE_STATE);
	if (shape && strcmp(shape, "unknown") == 0) {
		columns_instant_or_null(&line, "next_probe_at", row, COMPLETE_NEXT_PROBE_AT);
	} else {
		if (!shape || strcmp(shape, "complete") == 0)
			columns_text(&line, "outcome", row, COMPLETE_OUTCOME);
		/* after a lost connection it may be our own first try that did it */
		buf_json_member_bool(
		    &line, "already", batch_bool(row, COMPLETE_ALREADY) && !row->resent);
	}
	buf_add_char(&line, '}');
	call_reply(&c->call, &line, NULL);
}

static void
complete_settled(struct complete *c, const struct batch_row *row)
{
	const char *state = batch_text(row, COMPLETE_STATE, NULL);

	if (state && (strcmp(state, "done") == 0 || strcmp(state, "released") == 0)) {
		grant_forget(&c->effect, &c->token);
	} else {
		grant_unbind(&c->effect, &c->token);
		due_now();
	}
	waiting_wake(&c->effect);
}

static void
complete_row(struct call *call, const struct batch_row *row)
{
	struct complete *c = (struct complete *)call;

	if (call->item.statement == &ledger_policy_of) {
		if (call_answer_is(row, "ok"))
			redact_by_row(c, row, POLICY_OF_POLICY, POLICY_OF_RESULT_SECRET);
		else /* kept as an orphan event: by no policy that we know */
			result_omit(&c->result);
		complete_send(c);
		return;
	}
	call_count(row, COMPLETE_NAMESPACE, &c->token);
	if (call_answer_is(row, "policy") && c->n_redactions++ < REDACTIONS_MAX) {
		redact_by_row(c, row, COMPLETE_POLICY, COMPLETE_RESULT_SECRET);
		complete_send(c);
		return;
	}
	if (call_answer_is(row, "ok")) {
		if (call->r)
			complete_reply(c, row);
		complete_settled(c, row);
	} else if (!call_error_row(call, row, COMPLETE_STATE, COMPLETE_ATTEMPT)) {
		call_strange_row(call, row);
		return;
	} else {
		waiting_wake(&c->effect);
	}
	call_end(call);
}

/* Keeps it until it is written. False: there is no room; what is in flight still goes on, but is
 * not sent again. */
static bool
complete_keep(struct complete *c)
{
	size_t bytes = result_memory(&c->result);

	if (n_kept >= KEPT_MAX || kept_bytes + bytes > KEPT_BYTES_MAX) {
		c->call.item.deadline_ms = loop_now_ms() + call_config()->request_timeout_ms;
		return false;
	}
	c->kept = true;
	c->kept_bytes = bytes;
	n_kept++;
	kept_bytes += bytes;
	return true;
}

static void
complete_late(struct call *call)
{
	struct complete *c = (struct complete *)call;
	bool kept = complete_keep(c);

	call_unavailable(call, &kept);
	if (!kept && call_take_back(call))
		call_end(call);
}

static void
complete_gone(struct call *call)
{
	(void)complete_keep((struct complete *)call);
	call_carry_on(call);
}

static void
complete_clear(struct call *call)
{
	struct complete *c = (struct complete *)call;

	if (c->kept) {
		n_kept--;
		kept_bytes -= c->kept_bytes;
	}
	if (c->word)
		owed_word_end(&c->effect, &c->token);
	free(c->scope);
	result_clear(&c->result);
}

static const struct call_kind kind = {
    .row = complete_row,
    .late = complete_late,
    .gone = complete_gone,
    .clear = complete_clear,
};

static int
read_result(struct result *res, const struct json_doc *doc, const struct complete_params *p,
    struct param_fault *fault)
{
	struct omitted_params omitted = {{0}, {0}};
	int err;

	if (!p->omitted) {
		result_take(res, doc, p->result);
		return 0;
	}
	if (p->result) {
		params_fault(fault, "/omitted", "must not stand beside a result");
		return ERR_INVALID_PARAMS;
	}
	err = params_read(
	    doc, p->omitted, "/omitted", omitted_table, N_OMITTED_TABLE, &omitted, fault);
	if (!err)
		result_set_omitted(res, omitted.bytes.value, omitted.sha256.value);
	return err;
}

void
complete_call(struct request *r)
{
	struct complete_params p = {.outcome = outcomes[0]};
	struct result result = {0};
	struct param_fault fault;
	struct complete *c;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p))
		return;
	scope = call_scope(r);
	if (!scope)
		return;
	if (read_result(&result, &r->rpc.doc, &p, &fault)) {
		call_refuse_params(r, &fault);
		free(scope);
		return;
	}
	c = call_new(r, &kind, sizeof(*c), call_deadline(r));
	c->effect = p.effect.value;
	c->token = p.token.value;
	c->outcome = p.outcome;
	c->scope = scope;
	c->result = result;
	c->word = owed_word(&c->effect, &c->token);
	complete_start(c);
}
