/*
 * probe: a person has the provider asked about one effect by the tool's own probe, with this host's
 * policy, credentials and place in the network. Without `apply` nothing changes: the word is told,
 * and what the ledger would decide by it; with it, the row is taken as a sweep takes it and the
 * word recorded as any probe's.
 *
 * Promise: what was taken is probed and its word recorded, whether or not the operator still waits.
 * What a word means is not decided here: that is effect.judge_verdict().
 */
#include "methods.h"

#include "alloc.h"
#include "call.h"
#include "columns.h"
#include "demand.h"
#include "ledger.h"
#include "loop.h"
#include "rpc.h"
#include "sweep_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct by_hand_params {
	struct param_uuid effect;
	char *tool;
	bool apply;
};

static const struct param table[] = {
    PARAM(struct by_hand_params, effect, PARAM_UUID, .required = true),
    PARAM(struct by_hand_params, tool, PARAM_TOOL),
    PARAM(struct by_hand_params, apply, PARAM_BOOL),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

struct by_hand {
	struct call call;
	struct by_hand_params p;
	char *scope;
	struct sweep_asker asker;
	int32_t attempt;
	int64_t started_at_us; /* the database's instant of the look: no later than the probe's */
	/* The word, once it is known. */
	const char *verdict; /* static */
	char *reason;	     /* NULL = none */
	struct buf result;   /* empty = none */
};

static const char no_room[] = "no slot is free for a probe of this tool, or its circuit is open";

/* What the word decides, or would decide. */
struct by_hand_decision {
	const char *state, *outcome, *why;
	bool counts;
	int32_t absent_n, absent_needed;
	bool applied;
	const char *state_now;
};

static void
by_hand_reply(struct by_hand *s, const struct by_hand_decision *d)
{
	struct buf line = {0};
	char absents[32];

	call_log(s->call.r, &s->p.effect.value, "verdict", s->verdict);
	call_line(s->call.r, &line);
	buf_add_char(&line, '{');
	buf_json_member_str(&line, "verdict", s->verdict);
	if (s->reason)
		buf_json_member_str(&line, "reason", s->reason);
	if (s->result.len > 0)
		columns_add_json(&line, "result", s->result.data, s->result.len);
	buf_json_member(&line, "would");
	buf_add_char(&line, '{');
	buf_json_member_str(&line, "state", d->state);
	if (d->outcome)
		buf_json_member_str(&line, "outcome", d->outcome);
	buf_json_member_bool(&line, "counts", d->counts);
	if (strcmp(s->verdict, "absent") == 0 && (d->counts || strcmp(d->state, "unknown") == 0)) {
		snprintf(
		    absents, sizeof(absents), "%d of %d", (int)d->absent_n, (int)d->absent_needed);
		buf_json_member_str(&line, "absents", absents);
	}
	buf_json_member_str(&line, "why", d->why);
	buf_add_char(&line, '}');
	buf_json_member_bool(&line, "applied", d->applied);
	buf_json_member_str(&line, "state", d->state_now);
	buf_json_member_int(&line, "attempt", s->attempt);
	buf_add_char(&line, '}');
	call_reply(&s->call, &line, NULL);
	call_end(&s->call);
}

static void
by_hand_overloaded(struct by_hand *s, const char *why, int64_t retry_after_ms)
{
	struct rpc_error_data data = {.why = why, .retry_after_ms = retry_after_ms};

	call_error(&s->call, ERR_OVERLOADED, &data);
	call_end(&s->call);
}

/* ---- the word ---- */

static void
by_hand_would(struct by_hand *s)
{
	struct pgvalue *v = s->call.item.columns;

	v[WOULD_P_ID] = pg_uuid(&s->p.effect.value);
	v[WOULD_P_SCOPE] = pg_text(s->scope);
	v[WOULD_P_ATTEMPT] = pg_int4(s->attempt);
	v[WOULD_P_STARTED_AT] = pg_instant(s->started_at_us);
	v[WOULD_P_VERDICT] = pg_text(s->verdict);
	call_set_due(&s->call, loop_now_ms() + call_config()->request_timeout_ms);
	call_ask(&s->call, &ledger_would, s->call.due.at_ms);
}

static void
by_hand_told(struct sweep_asker *asker, const struct sweep_word *word)
{
	struct by_hand *s =
	    (struct by_hand *)(void *)((char *)asker - offsetof(struct by_hand, asker));

	if (word->err) {
		call_unavailable(&s->call, NULL);
		call_end(&s->call);
		return;
	}
	if (strcmp(word->verdict, "unasked") == 0) {
		by_hand_overloaded(s, no_room, call_retry_after_ms());
		return;
	}
	s->verdict = word->verdict;
	s->reason = word->reason ? xstrdup(word->reason) : NULL;
	buf_add(&s->result, word->result, word->result ? word->result_len : 0);
	if (asker->look) {
		by_hand_would(s);
	} else if (!word->state) {
		call_error(&s->call, ERR_NOT_FOUND, NULL);
		call_end(&s->call);
	} else {
		by_hand_reply(s,
		    &(struct by_hand_decision){.state = word->state,
			.outcome = word->outcome,
			.why = word->why,
			.counts = word->counts,
			.absent_n = word->absent_n,
			.absent_needed = word->absent_needed,
			.applied = true,
			.state_now = word->state});
	}
}

static void
row_would(struct by_hand *s, const struct batch_row *row)
{
	by_hand_reply(s,
	    &(struct by_hand_decision){.state = batch_text(row, WOULD_THEN_STATE, NULL),
		.outcome = batch_text(row, WOULD_THEN_OUTCOME, NULL),
		.why = batch_text(row, WOULD_WHY, NULL),
		.counts = batch_bool(row, WOULD_COUNTS),
		.absent_n = batch_int4(row, WOULD_ABSENT_N),
		.absent_needed = batch_int4(row, WOULD_ABSENT_NEEDED),
		.state_now = batch_text(row, WOULD_STATE, NULL)});
}

/* ---- asking ---- */

/* The call may be over when this comes back: a probe that cannot be started has its word at once.
 */
static void
by_hand_run(struct by_hand *s, const struct sweep_order *order)
{
	s->attempt = order->attempt;
	call_set_due(
	    &s->call, loop_now_ms() + order->probe_timeout_ms + call_config()->request_timeout_ms);
	s->asker.look = !s->p.apply;
	s->asker.told = by_hand_told;
	sweep_task_ask(order, call_tools(), &s->asker);
}

static void
row_look(struct by_hand *s, const struct batch_row *row)
{
	struct pgvalue *v = s->call.item.columns;
	struct sweep_order order;

	if (!demand_order(row, &order)) {
		call_error(&s->call, ERR_NOT_FOUND, NULL);
		call_end(&s->call);
	} else if (s->p.tool && strcmp(s->p.tool, order.tool) != 0) {
		call_error(&s->call, ERR_INVALID_PARAMS,
		    &(struct rpc_error_data){
			.pointer = "/tool", .why = "is not the tool of this effect"});
		call_end(&s->call);
	} else if (s->p.apply ? !sweep_task_tool_room(order.ns, order.tool)
			      : sweep_task_probe_room() == 0) {
		/* a look is let through to a provider that is left alone: to see what it says */
		by_hand_overloaded(s, no_room, call_retry_after_ms());
	} else if (!s->p.apply) {
		s->started_at_us = batch_instant(row, PROBE_AT);
		by_hand_run(s, &order);
	} else {
		v[PROBE_NOW_P_ID] = pg_uuid(&s->p.effect.value);
		v[PROBE_NOW_P_SCOPE] = pg_text(s->scope);
		v[PROBE_NOW_P_WAITED_MS] = pg_null();
		call_ask(&s->call, &ledger_probe_now, s->call.due.at_ms);
	}
}

static void
row_taken(struct by_hand *s, const struct batch_row *row)
{
	struct sweep_order order;

	if (demand_taken(row, &order)) {
		if (s->call.r) {
			by_hand_run(s, &order);
			return;
		}
		sweep_task_probe(&order, call_tools());
	} else if (s->call.r && call_answer_is(row, "wait")) {
		by_hand_overloaded(s, "a probe of it is under way", batch_int8(row, PROBE_IN_MS));
		return;
	} else if (s->call.r && call_answer_is(row, "none")) {
		s->verdict = "unstarted";
		s->reason = xstrdup("the tool has no probe");
		s->attempt = batch_int4(row, PROBE_ATTEMPT);
		by_hand_would(s);
		return;
	} else if (s->call.r && call_answer_is(row, "moved")) {
		call_error(&s->call, ERR_CONFLICT,
		    &(struct rpc_error_data){.state = batch_text(row, PROBE_STATE, NULL),
			.attempt = batch_int4(row, PROBE_ATTEMPT)});
	} else {
		call_error(&s->call, ERR_NOT_FOUND, NULL);
	}
	call_end(&s->call);
}

static void
by_hand_row(struct call *c, const struct batch_row *row)
{
	struct by_hand *s = (struct by_hand *)c;

	if (c->item.statement == &ledger_probe_now)
		row_taken(s, row);
	else if (!c->r)
		call_end(c);
	else if (c->item.statement == &ledger_probe_look)
		row_look(s, row);
	else if (call_answer_is(row, "ok"))
		row_would(s, row);
	else {
		call_error(c, ERR_NOT_FOUND, NULL);
		call_end(c);
	}
}

/* Nobody waits any more: a look ends; what is taken, or may be, is carried out. */
static void
by_hand_gone(struct call *c)
{
	struct by_hand *s = (struct by_hand *)c;

	sweep_task_leave(&s->asker);
	if (call_take_back(c))
		call_end(c);
}

static void
by_hand_late(struct call *c)
{
	call_unavailable(c, NULL);
	by_hand_gone(c);
}

static void
by_hand_clear(struct call *c)
{
	struct by_hand *s = (struct by_hand *)c;

	params_clear(table, N_TABLE, &s->p);
	buf_free(&s->result);
	free(s->reason);
	free(s->scope);
}

static const struct call_kind kind = {
    .row = by_hand_row,
    .gone = by_hand_gone,
    .late = by_hand_late,
    .clear = by_hand_clear,
};

void
probe_call(struct request *r)
{
	struct by_hand_params p = {.apply = false};
	struct by_hand *s;
	char *scope = NULL;

	if (!call_params(r, table, N_TABLE, &p) || !(scope = call_scope(r))) {
		params_clear(table, N_TABLE, &p);
		return;
	}
	s = call_new(r, &kind, sizeof(*s), call_deadline(r));
	s->p = p;
	s->scope = scope;
	s->call.item.columns[0] = pg_uuid(&s->p.effect.value);
	s->call.item.columns[1] = pg_text(s->scope);
	call_ask(&s->call, &ledger_probe_look, call_deadline(r));
}
