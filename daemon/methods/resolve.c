/*
 * resolve: a person's word on an effect whose outcome nothing else could tell. Fenced by attempt
 * and state as the operator saw them; sending one's own again is fine.
 */
#include "methods.h"

#include "alloc.h"
#include "call.h"
#include "columns.h"
#include "due.h"
#include "ledger.h"
#include "limits.h"
#include "result.h"
#include "waiting.h"

#include <stdlib.h>

#define REDACTIONS_MAX 3 /* a row's policy changes only with a new attempt */

struct resolve_params {
	struct param_uuid effect;
	const char *verdict, *state;
	char *reason, *evidence;
	struct param_int attempt;
	uint32_t result;
};

static const char *const verdicts[] = {"landed", "failed", "absent", NULL};
static const char *const states[] = {"pending", "unknown", "escalated", "released", "done", NULL};

static const struct param table[] = {
    PARAM(struct resolve_params, effect, PARAM_UUID, .required = true),
    PARAM(struct resolve_params, verdict, PARAM_WORD, .words = verdicts, .required = true),
    PARAM(struct resolve_params, reason, PARAM_TEXT, .min = 1, .max = REASON_BYTES_MAX,
	.required = true),
    PARAM(struct resolve_params, attempt, PARAM_INT, .min = 1, .max = INT32_MAX, .required = true),
    PARAM(struct resolve_params, state, PARAM_WORD, .words = states, .required = true),
    PARAM(struct resolve_params, result, PARAM_ANY),
    PARAM(struct resolve_params, evidence, PARAM_TEXT, .min = 1, .max = REASON_BYTES_MAX),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

struct resolve {
	struct call call;
	struct resolve_params p;
	struct result result;
	char *scope, *by;
	unsigned n_redactions;
};

static void
resolve_send(struct resolve *s)
{
	struct pgvalue *v = s->call.item.columns;

	v[RESOLVE_P_ID] = pg_uuid(&s->p.effect.value);
	v[RESOLVE_P_SCOPE] = pg_text(s->scope);
	v[RESOLVE_P_VERDICT] = pg_text(s->p.verdict);
	v[RESOLVE_P_ATTEMPT] = pg_int4((int32_t)s->p.attempt.value);
	v[RESOLVE_P_STATE] = pg_text(s->p.state);
	v[RESOLVE_P_REASON] = pg_text(s->p.reason);
	v[RESOLVE_P_EVIDENCE] = pg_text(s->p.evidence);
	v[RESOLVE_P_BY] = pg_text(s->by);
	result_fill(&s->result, &v[RESOLVE_P_POLICY], &v[RESOLVE_P_RESULT]);
	call_ask(&s->call, &ledger_resolve, s->call.due.at_ms);
}

static void
redact_by_row(struct resolve *s, const struct batch_row *row, int policy, int pointers)
{
	size_t len = 0;
	const char *text = batch_text(row, pointers, &len);

	result_redact_by(&s->result, batch_int8(row, policy), text, len);
}

static void
resolve_reply(struct resolve *s, const struct batch_row *row)
{
	struct buf line = {0};

	call_log(s->call.r, &s->p.effect.value, "state", batch_text(row, RESOLVE_STATE, NULL));
	call_line(s->call.r, &line);
	buf_add_char(&line, '{');
	columns_text(&line, "state", row, RESOLVE_STATE);
	buf_add_char(&line, '}');
	call_reply(&s->call, &line, NULL);
}

static void
resolve_row(struct call *c, const struct batch_row *row)
{
	struct resolve *s = (struct resolve *)c;

	if (c->item.statement == &ledger_policy_of) {
		if (call_answer_is(row, "ok"))
			redact_by_row(s, row, POLICY_OF_POLICY, POLICY_OF_RESULT_SECRET);
		else
			result_omit(&s->result);
		resolve_send(s);
		return;
	}
	call_count(row, RESOLVE_NAMESPACE, NULL);
	if (call_answer_is(row, "policy") && s->n_redactions++ < REDACTIONS_MAX) {
		redact_by_row(s, row, RESOLVE_POLICY, RESOLVE_RESULT_SECRET);
		resolve_send(s);
		return;
	}
	if (call_answer_is(row, "ok")) {
		if (c->r)
			resolve_reply(s, row);
		waiting_wake(&s->p.effect.value);
		due_now();
	} else if (!call_error_row(c, row, RESOLVE_STATE, RESOLVE_ATTEMPT)) {
		call_strange_row(c, row);
		return;
	}
	call_end(c);
}

static void
resolve_clear(struct call *c)
{
	struct resolve *s = (struct resolve *)c;

	params_clear(table, N_TABLE, &s->p);
	result_clear(&s->result);
	free(s->scope);
	free(s->by);
}

static const struct call_kind kind = {
    .row = resolve_row,
    .gone = call_carry_on,
    .clear = resolve_clear,
};

void
resolve_call(struct request *r)
{
	struct resolve_params p = {.effect = {.set = false}};
	struct resolve *s;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p)) {
		params_clear(table, N_TABLE, &p);
		return;
	}
	scope = call_scope(r);
	if (!scope) {
		params_clear(table, N_TABLE, &p);
		return;
	}
	s = call_new(r, &kind, sizeof(*s), call_deadline(r));
	s->p = p;
	s->scope = scope;
	s->by = xasprintf("uid:%u", (unsigned)r->peer->uid);
	result_take(&s->result, &r->rpc.doc, p.result);
	if (result_has_text(&s->result) && tool_set_has_result_secret(call_tools())) {
		s->call.item.columns[0] = pg_uuid(&s->p.effect.value);
		call_ask(&s->call, &ledger_policy_of, call_deadline(r));
	} else {
		resolve_send(s);
	}
}
