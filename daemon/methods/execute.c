/*
 * execute: for tools whose call is a statement of the ledger's own database. Derives which effect
 * is meant as begin does, has execution.c claim it, run the statement and record its result in one
 * transaction, and tells what came of it; a caller with wait_ms is parked on `busy` and `unknown`.
 *
 * Promise: `ran` is told after the commit of all three, `tool_failed` where nothing of any of them
 * is there. A statement is not begun for a caller who is gone or was told `unavailable`; one that
 * was begun is seen to its end, and whoever asks again is told. What is decided does not belong
 * here: that is effect.execute_begin().
 */
#include "methods.h"

#include "alloc.h"
#include "begin_answer.h"
#include "begin_params.h"
#include "call.h"
#include "execute_spec.h"
#include "execution.h"
#include "identity.h"
#include "ledger.h"
#include "log.h"
#include "loop.h"
#include "stats.h"
#include "waiting.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGISTRATIONS_MAX 3 /* of the policy, for one call: the ledger may be replaced under us */
#define WHY_BYTES 96

struct execute {
	struct call call;
	struct begin_params p;
	struct identity id; /* its policy is referenced */
	struct buf kept;
	bool keeps;
	struct param_uuid business; /* of a policy with a business key */
	bool counted;		    /* in its turn: the ledger has answered before */
	char *params[SQL_QUERY_PARAMS_MAX];
	struct execution *execution; /* NULL: none is under way */
	unsigned n_registered;
	int64_t answer_by_ms;  /* by the caller's deadline_ms; INT64_MAX = none */
	int64_t wait_until_ms; /* by its wait_ms */
	int64_t waited_ms;
	struct waiter waiter;
	struct buf parked; /* `busy` or `unknown`, to be told when its time is over */
	bool has_next;	   /* of `unknown`: the row has a next probe */
	int64_t next_probe_at_us;
	char sqlstate[6], why[WHY_BYTES]; /* of a statement that failed */
};

static struct begin_asked
asked_of(const struct execute *x)
{
	return (struct begin_asked){.id = &x->id,
	    .kept = x->keeps ? x->kept.data : NULL,
	    .kept_len = x->kept.len,
	    .waited_ms = x->waited_ms};
}

/* ---- asking ---- */

/* The statement goes now: its time comes on top, but for a caller who named his own. */
static void
execute_started(void *arg)
{
	struct execute *x = arg;

	if (x->call.r && x->answer_by_ms == INT64_MAX)
		call_set_due(&x->call,
		    loop_now_ms() + x->id.policy->execute->timeout_ms +
			call_config()->request_timeout_ms);
}

static void execute_done(void *arg, const struct execution_end *end);

static void
execute_send(struct execute *x)
{
	struct execution_ask ask = {.policy = x->id.policy,
	    .effect = x->id.effect,
	    .token = uuid_random(),
	    .started = execute_started,
	    .done = execute_done,
	    .arg = x};
	struct pgvalue *v = ask.columns;

	assert(!x->execution);
	v[EXECUTE_P_ID] = pg_uuid(&x->id.effect);
	v[EXECUTE_P_POLICY] = pg_int8(x->id.policy->version);
	v[EXECUTE_P_KEY] = pg_textn(x->id.key, x->id.key_len);
	v[EXECUTE_P_FINGERPRINT] = pg_uuid(&x->id.fingerprint);
	v[EXECUTE_P_TOKEN] = pg_uuid(&ask.token);
	v[EXECUTE_P_REQUEST] = pg_uuid(x->p.request.set ? &x->p.request.value : NULL);
	v[EXECUTE_P_OWNER] = pg_text(x->p.owner);
	v[EXECUTE_P_RUN] = pg_text(x->p.who.run);
	v[EXECUTE_P_STEP] = pg_text(x->p.who.step);
	v[EXECUTE_P_TURN] = pg_text(x->p.who.turn);
	v[EXECUTE_P_KEPT] = x->keeps ? pg_textn(x->kept.data, x->kept.len) : pg_null();
	v[EXECUTE_P_BUSINESS] = pg_uuid(x->business.set ? &x->business.value : NULL);
	v[EXECUTE_P_AGAIN] = pg_text(x->p.again);
	v[EXECUTE_P_COUNTED] = pg_bool(x->counted);
	memcpy(ask.params, x->params, sizeof ask.params);
	x->execution = execution_start(&ask);
}

/* Nobody waits any more. What is under way brings its end later. */
static void
execute_abandon(struct execute *x)
{
	waiting_remove(&x->waiter);
	if (x->execution) {
		if (!execution_abandon(x->execution))
			return;
		x->execution = NULL;
	}
	if (call_take_back(&x->call))
		call_end(&x->call);
}

/* ---- waiting ---- */

static void
execute_reply(
    struct execute *x, struct buf *object, const char *decision, const struct batch_row *row)
{
	begin_answer_tell(&x->call, &x->p, &x->id, object, decision, row, NULL);
}

static void
reply_parked(struct execute *x)
{
	if (x->waiter.unknown)
		begin_answer_next_probe(&x->parked, x->has_next, x->next_probe_at_us);
	else
		begin_answer_retry(&x->parked);
	execute_reply(x, &x->parked, x->waiter.unknown ? "unknown" : "busy", NULL);
	call_end(&x->call);
}

static void
execute_park(struct execute *x)
{
	int64_t end_ms = x->wait_until_ms < x->answer_by_ms ? x->wait_until_ms : x->answer_by_ms;

	if (end_ms <= loop_now_ms()) {
		reply_parked(x);
		return;
	}
	call_clear_due(&x->call);
	waiting_add(&x->waiter, &x->id.effect, end_ms);
}

static void
execute_wake(struct waiter *w, bool timed_out)
{
	struct execute *x =
	    (struct execute *)(void *)((char *)w - offsetof(struct execute, waiter));
	int64_t deadline_ms = loop_now_ms() + call_config()->request_timeout_ms;

	if (timed_out) {
		reply_parked(x);
		return;
	}
	if (execution_runs(&x->id.effect)) {
		execute_park(x); /* its end will be told */
		return;
	}
	x->waited_ms = loop_now_ms() - x->call.r->received_ms;
	call_set_due(&x->call, deadline_ms < x->answer_by_ms ? deadline_ms : x->answer_by_ms);
	execute_send(x);
}

/* ---- answers ---- */

static void
answered(struct execute *x, const struct batch_row *row)
{
	const struct begin_asked asked = asked_of(x);
	struct buf object = {0};
	const char *decision;

	if (call_answer_is(row, "no_tool") && x->n_registered < REGISTRATIONS_MAX) {
		x->n_registered++;
		begin_params_register(&x->call, x->id.policy, x->call.due.at_ms);
		return;
	}
	x->counted = true;
	x->waiter.unknown = call_answer_is(row, "unknown");
	buf_clear(&x->parked);
	if (call_answer_is(row, "busy")) {
		begin_answer_busy(&x->parked, &asked, row);
		execute_park(x);
		return;
	}
	if (x->waiter.unknown) {
		begin_answer_unknown(&x->parked, &asked, row);
		x->has_next = !batch_null(row, BEGIN_NEXT_PROBE_AT);
		x->next_probe_at_us = batch_instant(row, BEGIN_NEXT_PROBE_AT);
		execute_park(x);
		return;
	}
	if (begin_answer_row(&object, &asked, row, &decision)) {
		execute_reply(x, &object, decision, row);
	} else {
		log_error("execute",
		    "its claim was answered \"%s\", telling its caller of an "
		    "internal error",
		    batch_text(row, LEDGER_ANSWER, NULL));
		call_error(&x->call, ERR_INTERNAL, NULL);
	}
	call_end(&x->call);
	buf_free(&object);
}

static void
ran(struct execute *x, const struct execution_end *end)
{
	const struct begin_asked asked = asked_of(x);
	struct buf object = {0};

	if (end->duplicate)
		stats_count(x->id.ns, x->p.who.tool, "duplicate", 0);
	if (x->call.r) {
		begin_answer_ran(&object, &asked, end);
		execute_reply(x, &object, "ran", NULL);
		buf_free(&object);
	}
	waiting_wake(&x->id.effect);
	call_end(&x->call);
}

static void
tell_failed(struct execute *x)
{
	struct rpc_error_data data = {.sqlstate = x->sqlstate, .why = x->why[0] ? x->why : NULL};
	struct request *r = x->call.r;
	struct log_line l;

	if (!r)
		return;
	stats_count(x->id.ns, x->p.who.tool, "tool_failed", loop_now_ms() - r->received_ms);
	if (call_log_start(&l, r)) {
		log_str(&l, "ns", x->id.ns);
		log_str(&l, "tool", x->p.who.tool);
		log_strn(&l, "key", x->id.key, x->id.key_len);
		log_str(&l, "sqlstate", x->sqlstate);
		call_log_cost(&l, r);
		log_end(&l);
	}
	call_error(&x->call, ERR_TOOL_FAILED, &data);
}

static void
failed(struct execute *x)
{
	tell_failed(x);
	waiting_wake(&x->id.effect);
	call_end(&x->call);
}

/* Nothing of it is there, its ask in the turn neither; that is counted before it is told. */
static void
raised(struct execute *x, const struct execution_end *end)
{
	const struct tool_policy *policy = x->id.policy;
	struct pgvalue *v = x->call.item.columns;

	memcpy(x->sqlstate, end->sqlstate, sizeof x->sqlstate);
	snprintf(x->why, sizeof x->why, "%s", end->why ? end->why : "");
	if (x->counted || !x->p.who.turn || (policy->turn_budget == 0 && policy->turn_asks == 0)) {
		failed(x);
		return;
	}
	v[EXECUTE_FAILED_P_POLICY] = pg_int8(policy->version);
	v[EXECUTE_FAILED_P_RUN] = pg_text(x->p.who.run);
	v[EXECUTE_FAILED_P_TURN] = pg_text(x->p.who.turn);
	call_ask(
	    &x->call, &ledger_execute_failed, loop_now_ms() + call_config()->request_timeout_ms);
}

static void
execute_done(void *arg, const struct execution_end *end)
{
	struct execute *x = arg;

	x->execution = NULL;
	if (end->what == EXECUTION_RAN) {
		ran(x, end);
	} else if (end->what == EXECUTION_RAISED) {
		raised(x, end);
	} else if (end->what == EXECUTION_ANSWERED && x->call.r) {
		if (!call_answer_is(end->row, "replay"))
			stats_count_all(x->id.ns, x->p.who.tool,
			    batch_text(end->row, BEGIN_COUNTED, NULL), false);
		answered(x, end->row);
	} else {
		if (end->what == EXECUTION_INTERNAL)
			call_error(&x->call, ERR_INTERNAL, NULL);
		else
			call_unavailable(&x->call, NULL);
		waiting_wake(&x->id.effect);
		call_end(&x->call);
	}
}

static void
execute_row(struct call *c, const struct batch_row *row)
{
	struct execute *x = (struct execute *)c;

	(void)row;
	if (c->item.statement == &ledger_execute_failed)
		failed(x);
	else if (c->r)
		execute_send(x);
	else
		call_end(c);
}

/* What could not be counted is told all the same: it is true. */
static void
execute_failed(struct call *c, int err)
{
	if (c->item.statement == &ledger_execute_failed) {
		failed((struct execute *)c);
		return;
	}
	if (err == ERR_UNAVAILABLE)
		call_unavailable(c, NULL);
	else
		call_error(c, err, NULL);
	call_end(c);
}

static void
execute_late(struct call *c)
{
	struct execute *x = (struct execute *)c;

	if (c->asked && c->item.statement == &ledger_execute_failed) {
		tell_failed(x); /* it is true, counted or not; the item ends by itself */
		return;
	}
	call_unavailable(c, NULL);
	execute_abandon(x);
}

static void
execute_gone(struct call *c)
{
	execute_abandon((struct execute *)c);
}

static void
execute_drain(struct call *c)
{
	struct execute *x = (struct execute *)c;

	/* one that is with the ledger now, or is woken once more, must not be parked after this */
	x->wait_until_ms = 0;
	if (!x->waiter.effect)
		return;
	waiting_remove(&x->waiter);
	reply_parked(x);
}

static void
execute_clear(struct call *c)
{
	struct execute *x = (struct execute *)c;

	assert(!x->execution && !x->waiter.effect);
	for (size_t i = 0; i < SQL_QUERY_PARAMS_MAX; i++)
		free(x->params[i]);
	begin_params_clear(&x->p);
	identity_clear(&x->id);
	tool_unref(x->id.policy);
	buf_free(&x->kept);
	buf_free(&x->parked);
}

static const struct call_kind kind = {
    .row = execute_row,
    .failed = execute_failed,
    .late = execute_late,
    .gone = execute_gone,
    .drain = execute_drain,
    .clear = execute_clear,
};

/* ---- the request ---- */

/* Takes the contents of `p` and `id`, and the params. */
static void
execute_start(struct request *r, const struct begin_params *p, const struct identity *id,
    const struct param_uuid *business, char *const *params)
{
	int64_t deadline_ms = call_deadline(r);
	struct execute *x;

	if (p->deadline_ms.set)
		deadline_ms = r->received_ms + p->deadline_ms.value;
	x = call_new(r, &kind, sizeof(*x), deadline_ms);
	x->p = *p;
	x->id = *id;
	x->business = *business;
	memcpy(x->params, params, sizeof x->params);
	tool_ref(x->id.policy);
	x->keeps = identity_kept(&r->rpc.doc, p->who.args, x->id.policy, &x->kept);
	x->answer_by_ms = p->deadline_ms.set ? deadline_ms : INT64_MAX;
	x->wait_until_ms = r->received_ms + p->wait_ms.value;
	x->waiter.wake = execute_wake;
	execute_send(x);
}

/* False: a param of its statement cannot be had of these args; *ret_fault says which. */
static bool
fill_params(const struct request *r, const struct begin_params *p, const struct identity *id,
    char **ret, struct param_fault *ret_fault)
{
	char effect[UUID_TEXT_BYTES], pointer[JSON_POINTER_BYTES];
	struct execute_values values = {.doc = &r->rpc.doc,
	    .args = p->who.args,
	    .key = id->key,
	    .effect = effect,
	    .ns = id->ns,
	    .tool = p->who.tool,
	    .run = p->who.run,
	    .step = p->who.step,
	    .turn = p->who.turn,
	    .owner = p->owner};
	const char *at;

	uuid_text(&id->effect, effect);
	if (execute_spec_fill(id->policy->execute, &values, ret, &at))
		return true;
	snprintf(pointer, sizeof pointer, "/args%.*s", (int)strlen(at) - 2, at + 1);
	params_fault(ret_fault, pointer, "cannot be handed to a database: it holds U+0000");
	return false;
}

void
execute_call(struct request *r)
{
	const struct batch_statement *statement;
	char *params[SQL_QUERY_PARAMS_MAX] = {NULL};
	struct begin_params p = {0};
	struct param_uuid business = {0};
	struct tool_policy *policy;
	struct param_fault fault;
	struct identity id;
	const char *ns;

	if (!begin_params_read(&p, r))
		goto out;
	policy = begin_params_policy(r, &p, true, &ns);
	if (!policy || !begin_params_mean(r, &p, ns, policy, &id, &statement, &business))
		goto out;
	if (!fill_params(r, &p, &id, params, &fault)) {
		call_refuse_params(r, &fault);
		identity_clear(&id);
		goto out;
	}
	execute_start(r, &p, &id, &business, params);
	return;
out:
	begin_params_clear(&p);
}
