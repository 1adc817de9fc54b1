/*
 * begin: the claim before the call. Derives which effect is meant, asks the ledger, and carries its
 * decision; a caller with wait_ms is parked on `busy` and on `unknown`, which asks for a probe, and
 * asks anew when the effect changes.
 *
 * Promise: `run` is told at most once for a claim (grant.h), never older than its lease, and a
 * claim that turns out to stand though its caller was told anything else is given back. What is
 * decided does not belong here: that is effect.begin().
 */
#include "methods.h"

#include "alloc.h"
#include "begin_answer.h"
#include "begin_params.h"
#include "call.h"
#include "demand.h"
#include "grant.h"
#include "identity.h"
#include "ledger.h"
#include "loop.h"
#include "owed.h"
#include "stats.h"
#include "waiting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SELF_WAIT_MS 150 /* how long to wait for an earlier begin of the same request at a time */
#define REGISTRATIONS_MAX                                                      \
	3 /* of the policy, for one begin: the ledger may be replaced under us \
	   */

struct begin {
	struct call call;
	struct begin_params p;
	struct identity id; /* its policy is referenced */
	struct buf kept;
	bool keeps;
	struct uuid token; /* of the claim being asked for */
	bool asking;	   /* grant_ask() is to be ended */
	bool regrant;	   /* asked with p_regrant */
	/* by ledger_begin, or where more than its own row is judged, by ledger_begin_guarded */
	const struct batch_statement *statement;
	struct param_uuid business; /* of a policy with a business key */
	bool counted;		    /* in its turn: the ledger has answered before */
	unsigned n_registered;
	int64_t answer_by_ms;  /* by the caller's deadline_ms; INT64_MAX = none */
	int64_t wait_until_ms; /* by its wait_ms */
	int64_t deadline_ms;   /* of the asking under way */
	int64_t waited_ms;
	struct waiter waiter;
	bool self_wait; /* it waits for an earlier begin of the same request, not for the effect */
	struct buf parked;    /* `busy` or `unknown`, to be told when its time is over */
	struct demand demand; /* for a probe, where it met unknown (waiter.unknown) */
	bool told_unavailable;
};

static const struct uuid *
request_of(const struct begin *b)
{
	return b->p.request.set ? &b->p.request.value : NULL;
}

static struct begin_asked
asked_of(const struct begin *b)
{
	return (struct begin_asked){.id = &b->id,
	    .kept = b->keeps ? b->kept.data : NULL,
	    .kept_len = b->kept.len,
	    .waited_ms = b->waited_ms};
}

/* ---- asking ---- */

static void
end_ask(struct begin *b)
{
	if (b->asking)
		grant_ask_end(&b->p.request.value);
	b->asking = false;
	demand_end(&b->demand);
}

static void
begin_send(struct begin *b)
{
	struct pgvalue *v = b->call.item.columns;

	b->token = uuid_random();
	v[BEGIN_P_ID] = pg_uuid(&b->id.effect);
	v[BEGIN_P_POLICY] = pg_int8(b->id.policy->version);
	v[BEGIN_P_KEY] = pg_textn(b->id.key, b->id.key_len);
	v[BEGIN_P_FINGERPRINT] = pg_uuid(&b->id.fingerprint);
	v[BEGIN_P_TOKEN] = pg_uuid(&b->token);
	v[BEGIN_P_REQUEST] = pg_uuid(request_of(b));
	v[BEGIN_P_LEASE_MS] = b->p.lease_ms.set ? pg_int4((int32_t)b->p.lease_ms.value) : pg_null();
	v[BEGIN_P_OWNER] = pg_text(b->p.owner);
	v[BEGIN_P_RUN] = pg_text(b->p.who.run);
	v[BEGIN_P_STEP] = pg_text(b->p.who.step);
	v[BEGIN_P_TURN] = pg_text(b->p.who.turn);
	v[BEGIN_P_KEPT] = b->keeps ? pg_textn(b->kept.data, b->kept.len) : pg_null();
	v[BEGIN_P_REGRANT] = pg_bool(b->regrant);
	v[BEGIN_P_BUSINESS] = pg_uuid(b->business.set ? &b->business.value : NULL);
	v[BEGIN_P_AGAIN] = pg_text(b->p.again);
	v[BEGIN_P_COUNTED] = pg_bool(b->counted);
	call_ask(&b->call, b->statement, b->deadline_ms);
}

static void
begin_ask(struct begin *b)
{
	assert(!b->asking);
	b->regrant = false;
	if (b->p.request.set) {
		b->regrant = grant_ask(&b->p.request.value, &b->id.effect);
		b->asking = true;
	}
	call_set_due(&b->call, b->deadline_ms);
	begin_send(b);
}

/* The ledger does not know the policy yet: tell it, then ask again. */
static void
begin_register(struct begin *b)
{
	b->n_registered++;
	begin_params_register(&b->call, b->id.policy, b->deadline_ms);
}

/*
 * The claim with our token may stand, as it was sent and its answer is not known; nobody was told.
 * With a request, a caller who was told `unavailable` may come for it; else it is given back, which
 * does nothing if it does not stand.
 */
static void
begin_lost(struct begin *b)
{
	struct grant *g;

	if (!b->p.request.set || !b->told_unavailable) {
		owed_not_told(&b->id.effect, &b->token, request_of(b));
		return;
	}
	g = grant_add(&b->id.effect, &b->token, &b->p.request.value, b->id.policy);
	grant_untold(g);
}

/* Nobody waits any more; the item, if it cannot be taken back, brings the truth later. */
static void
begin_abandon(struct begin *b)
{
	bool asked = b->call.asked && b->call.item.statement == b->statement;

	waiting_remove(&b->waiter);
	if (!call_take_back(&b->call))
		return;
	end_ask(b);
	if (asked && b->call.item.resent)
		begin_lost(b);
	call_end(&b->call);
}

/* ---- answers ---- */

static void
begin_reply(struct begin *b, struct buf *object, const char *decision, const struct batch_row *row,
    struct grant *g)
{
	begin_answer_tell(&b->call, &b->p, &b->id, object, decision, row, g);
}

/* The time of one that waits is over. An item that cannot be taken back brings the rest later. */
static void
reply_parked(struct begin *b)
{
	if (b->waiter.unknown)
		begin_answer_next_probe(&b->parked, b->demand.has_next, b->demand.next_probe_at_us);
	else
		begin_answer_retry(&b->parked);
	begin_reply(b, &b->parked, b->waiter.unknown ? "unknown" : "busy", NULL, NULL);
	if (!call_take_back(&b->call))
		return;
	end_ask(b);
	call_end(&b->call);
}

static int64_t
wait_end_ms(const struct begin *b)
{
	return b->wait_until_ms < b->answer_by_ms ? b->wait_until_ms : b->answer_by_ms;
}

/* Until the effect changes, its time is over, or (at_ms) it is to ask for a probe once more. */
static void
begin_park(struct begin *b, int64_t at_ms)
{
	int64_t end_ms = wait_end_ms(b);

	call_clear_due(&b->call);
	waiting_add(&b->waiter, &b->id.effect, at_ms < end_ms ? at_ms : end_ms);
}

/* It met unknown, and its caller has time: a probe out of turn, if there may be one. */
static void
begin_demand(struct begin *b)
{
	int64_t now_ms = loop_now_ms(), end_ms = wait_end_ms(b);
	int64_t deadline_ms = now_ms + call_config()->request_timeout_ms;

	if (end_ms <= now_ms) {
		reply_parked(b);
		return;
	}
	if (deadline_ms > end_ms)
		deadline_ms = end_ms;
	if (demand_ask(&b->demand, &b->call, &b->id, now_ms - b->call.r->received_ms, deadline_ms))
		call_set_due(&b->call, deadline_ms);
	else
		begin_park(b, b->demand.again_ms);
}

/* The effect changed, or so it seems. */
static void
begin_again(struct begin *b)
{
	b->waited_ms = loop_now_ms() - b->call.r->received_ms;
	b->deadline_ms = loop_now_ms() + call_config()->request_timeout_ms;
	if (b->deadline_ms > b->answer_by_ms)
		b->deadline_ms = b->answer_by_ms;
	begin_ask(b);
}

static void
begin_wake(struct waiter *w, bool timed_out)
{
	struct begin *b = (struct begin *)(void *)((char *)w - offsetof(struct begin, waiter));

	if (b->self_wait) {
		b->self_wait = false;
		begin_ask(b);
		return;
	}
	if (!timed_out)
		begin_again(b);
	else if (b->waiter.unknown)
		begin_demand(b);
	else
		reply_parked(b);
}

static void
row_busy(struct begin *b, const struct batch_row *row)
{
	const struct begin_asked asked = asked_of(b);
	int64_t now_ms = loop_now_ms();

	b->waiter.unknown = false;
	if (b->p.request.set && grant_asks(&b->p.request.value) > 0) {
		/* perhaps busy against an earlier begin of our own caller, whose answer is not here
		 * yet */
		b->self_wait = true;
		waiting_add(&b->waiter, &b->id.effect, now_ms + SELF_WAIT_MS);
		return;
	}
	if (b->p.request.set && !b->regrant) {
		/* it was so: that one ended, and nobody was told its grant */
		b->regrant = grant_ask(&b->p.request.value, &b->id.effect);
		b->asking = true;
		if (b->regrant) {
			begin_send(b);
			return;
		}
		end_ask(b);
	}
	buf_clear(&b->parked);
	begin_answer_busy(&b->parked, &asked, row);
	if (wait_end_ms(b) <= now_ms)
		reply_parked(b);
	else
		begin_park(b, INT64_MAX);
}

static void
row_unknown(struct begin *b, const struct batch_row *row)
{
	const struct begin_asked asked = asked_of(b);

	buf_clear(&b->parked);
	begin_answer_unknown(&b->parked, &asked, row);
	b->waiter.unknown = true;
	b->demand.has_next = !batch_null(row, BEGIN_NEXT_PROBE_AT);
	b->demand.next_probe_at_us = batch_instant(row, BEGIN_NEXT_PROBE_AT);
	begin_demand(b);
}

/* What became of the wish for a probe. */
static void
row_demand(struct begin *b, const struct batch_row *row)
{
	enum demand_answer answer = demand_row(&b->demand, row);

	if (!b->call.r)
		call_end(&b->call);
	else if (answer == DEMAND_MOVED)
		begin_again(b);
	else if (answer == DEMAND_NONE || wait_end_ms(b) <= loop_now_ms())
		reply_parked(b);
	else
		begin_park(b, b->demand.again_ms);
}

static void
row_run(struct begin *b, const struct batch_row *row)
{
	const struct begin_asked asked = asked_of(b);
	struct buf object = {0};
	struct uuid token = b->token;
	const char *decision;
	struct grant *g;
	bool told;

	batch_uuid(row, BEGIN_TOKEN, &token);
	g = grant_add(&b->id.effect, &token, request_of(b), b->id.policy);
	told = grant_told(g);
	if (!batch_null(row, BEGIN_TWIN))
		stats_count(b->id.ns, b->p.who.tool, "duplicate", 0);
	if (!batch_null(row, BEGIN_SINCE)) /* granted over an attempt that is open since then */
		stats_count(b->id.ns, b->p.who.tool, "retried", 0);
	if (!b->call.r) {
		if (b->p.request.set && b->told_unavailable)
			grant_untold(g);
		else if (!told)
			owed_not_told(&b->id.effect, &token, request_of(b));
		call_end(&b->call);
		return;
	}
	if (loop_now_ms() - b->call.r->received_ms - b->waited_ms >
	    batch_int8(row, BEGIN_LEASE_MS)) {
		begin_answer_withheld(&object, &asked, row);
		begin_reply(b, &object, "unknown", row, NULL);
		if (!told)
			owed_not_told(&b->id.effect, &token, request_of(b));
	} else {
		if (b->p.bind)
			grant_bind(g, b->call.r->connection);
		begin_answer_row(&object, &asked, row, &decision);
		grant_telling(g);
		begin_reply(b, &object, decision, row, g);
	}
	buf_free(&object);
	call_end(&b->call);
}

static void
begin_row(struct call *c, const struct batch_row *row)
{
	struct begin *b = (struct begin *)c;
	const struct begin_asked asked = asked_of(b);
	struct buf object = {0};
	const char *decision;

	if (c->item.statement == &ledger_register_tools) {
		if (c->r)
			begin_send(b);
		else
			begin_abandon(b);
		return;
	}
	if (call_answer_is(row, "no_tool") && c->r && b->n_registered < REGISTRATIONS_MAX) {
		begin_register(b);
		return;
	}
	end_ask(b);
	if (c->item.statement == &ledger_probe_now) {
		row_demand(b, row);
		return;
	}
	b->counted = true;
	if (!call_answer_is(row, "replay")) /* that is counted when it is told */
		stats_count_all(
		    b->id.ns, b->p.who.tool, batch_text(row, BEGIN_COUNTED, NULL), false);
	if (call_answer_is(row, "run")) {
		row_run(b, row);
		return;
	}
	if (!c->r) {
		call_end(c);
		return;
	}
	if (call_answer_is(row, "busy")) {
		row_busy(b, row);
		return;
	}
	if (call_answer_is(row, "unknown")) {
		row_unknown(b, row);
		return;
	}
	if (!begin_answer_row(&object, &asked, row, &decision)) {
		call_strange_row(c, row);
	} else {
		begin_reply(b, &object, decision, row, NULL);
		call_end(c);
	}
	buf_free(&object);
}

static void
begin_failed(struct call *c, int err)
{
	struct begin *b = (struct begin *)c;

	end_ask(b);
	if (c->item.statement == &ledger_probe_now) {
		/* what the ledger said of the effect before stands, as far as anybody knows */
		if (c->r)
			reply_parked(b);
		else
			call_end(c);
		return;
	}
	if (c->r && err == ERR_UNAVAILABLE) {
		b->told_unavailable = true;
		call_unavailable(c, NULL);
	} else {
		call_error(c, err, NULL);
	}
	if (c->item.resent && c->item.statement == b->statement)
		begin_lost(b);
	call_end(c);
}

static void
begin_late(struct call *c)
{
	struct begin *b = (struct begin *)c;

	if (c->asked && c->item.statement == &ledger_probe_now) {
		reply_parked(b);
		return;
	}
	b->told_unavailable = true;
	call_unavailable(c, NULL);
	begin_abandon(b);
}

static void
begin_gone(struct call *c)
{
	begin_abandon((struct begin *)c);
}

static void
begin_drain(struct call *c)
{
	struct begin *b = (struct begin *)c;

	/* one that is with the ledger now, or is woken once more, must not be parked after this */
	b->wait_until_ms = 0;
	if (!b->waiter.effect || b->self_wait)
		return;
	waiting_remove(&b->waiter);
	reply_parked(b);
}

static void
begin_clear(struct call *c)
{
	struct begin *b = (struct begin *)c;

	assert(!b->asking && !b->demand.asking && !b->waiter.effect);
	begin_params_clear(&b->p);
	identity_clear(&b->id);
	tool_unref(b->id.policy);
	buf_free(&b->kept);
	buf_free(&b->parked);
}

static const struct call_kind kind = {
    .row = begin_row,
    .failed = begin_failed,
    .late = begin_late,
    .gone = begin_gone,
    .drain = begin_drain,
    .clear = begin_clear,
};

/* ---- the request ---- */

static void
begin_pass(struct request *r, const struct begin_params *p, const struct tool_policy *policy)
{
	struct buf line = {0};

	begin_answer_log(r, p, policy->ns, NULL, "pass", NULL);
	call_line(r, &line);
	begin_answer_pass(&line, policy);
	buf_add_char(&line, '}');
	call_send(r, &line);
}

/* Takes the contents of `p` and `id`. */
static void
begin_start(struct request *r, const struct begin_params *p, const struct identity *id,
    const struct batch_statement *statement, const struct param_uuid *business)
{
	int64_t deadline_ms = call_deadline(r);
	struct begin *b;

	if (p->deadline_ms.set)
		deadline_ms = r->received_ms + p->deadline_ms.value;
	b = call_new(r, &kind, sizeof(*b), deadline_ms);
	b->p = *p;
	b->id = *id;
	b->statement = statement;
	b->business = *business;
	tool_ref(b->id.policy);
	b->keeps = identity_kept(&r->rpc.doc, p->who.args, b->id.policy, &b->kept);
	b->answer_by_ms = p->deadline_ms.set ? deadline_ms : INT64_MAX;
	b->wait_until_ms = r->received_ms + p->wait_ms.value;
	b->deadline_ms = deadline_ms;
	b->waiter.wake = begin_wake;
	begin_ask(b);
}

void
begin_call(struct request *r)
{
	const struct batch_statement *statement;
	struct begin_params p = {0};
	struct param_uuid business = {0};
	struct tool_policy *policy;
	struct identity id;
	const char *ns;

	if (!begin_params_read(&p, r))
		goto out;
	policy = begin_params_policy(r, &p, false, &ns);
	if (!policy)
		goto out;
	if (!policy->guarded) {
		begin_pass(r, &p, policy);
		goto out;
	}
	if (!begin_params_mean(r, &p, ns, policy, &id, &statement, &business))
		goto out;
	begin_start(r, &p, &id, statement, &business);
	return;
out:
	begin_params_clear(&p);
}
