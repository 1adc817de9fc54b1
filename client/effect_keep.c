/*
 * Keeps leases: an extend is due a third of the lease after the last one that was granted.
 * Promises: never extends what is reported on, freed or lost; says that a lease is lost when the
 * daemon says so or when it ends without an answer, and then once.
 */
#include "effect_keep.h"

#include "effect_grant.h"
#include "effect_sys.h"

#define STARVED_MS 100 /* no memory for an extend: once more after so long */

static void
lose(struct effect_answer *answer)
{
	struct effect_grant *g = &answer->grant;
	void (*lost_cb)(struct effect_answer *, void *) = g->lost_cb;

	g->keeping = false;
	g->lost = true;
	effect_timer_stop(&g->ledger->timers, &g->timer);
	if (lost_cb)
		lost_cb(answer, g->lost_arg);
}

/* Of the keeper's own extends; effect_judge.c has made the lease longer. */
static void
keep_extended_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct effect_answer *grant = arg;
	struct effect_grant *g = &grant->grant;
	bool over = effect_sys_now_ms() >= g->lease_until_ms;

	effect_answer_free(answer);
	g->extend_call = 0;
	if (!g->keeping)
		return;
	if (kind == EFFECT_LOST || over)
		lose(grant);
	else if (effect_sys_now_ms() >= effect_grant_due_ms(grant))
		/* done by somebody else's word, or refused: the end of the lease will tell */
		effect_timer_set(&g->ledger->timers, &g->timer, g->lease_until_ms);
}

enum effect_kind
effect_keep_extend(struct effect_ledger *ledger, struct effect_answer *grant, int64_t lease_ms,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call)
{
	struct effect_json_span effect, token;
	struct effect_call *call;

	if (!effect_grant_ids(grant, &effect, &token)) {
		effect_call_say(ledger, "extend: this is no grant");
		return EFFECT_MISUSE;
	}
	call = effect_call_new(ledger, EFFECT_CALL_EXTEND, cb, arg);
	if (!call ||
	    effect_line_extend(&call->line, call->id, &effect, &token, lease_ms) != EFFECT_OK) {
		effect_call_free(call);
		effect_call_say(ledger, "extend: out of memory");
		return EFFECT_ENOMEM;
	}
	call->lease_ms = lease_ms;
	call->serial = grant->grant.ledger == ledger ? grant->grant.serial : 0;
	if (ret_call)
		*ret_call = call->id;
	effect_call_start(call, grant->grant.lease_until_ms - effect_sys_now_ms());
	return EFFECT_OK;
}

static void
keep_fire_cb(struct effect_timer *timer)
{
	struct effect_answer *answer =
	    (struct effect_answer *)((char *)timer - offsetof(struct effect_answer, grant.timer));
	struct effect_grant *g = &answer->grant;
	int64_t now_ms = effect_sys_now_ms();

	if (now_ms >= g->lease_until_ms) {
		lose(answer);
		return;
	}
	/* its end is awaited by its own deadline, which is the lease's end */
	if (g->extend_call || now_ms < effect_grant_due_ms(answer)) {
		effect_timer_set(&g->ledger->timers, timer,
		    g->extend_call ? g->lease_until_ms : effect_grant_due_ms(answer));
		return;
	}
	if (effect_keep_extend(g->ledger, answer, g->lease_ask_ms, keep_extended_cb, answer,
		&g->extend_call) == EFFECT_OK)
		effect_timer_set(&g->ledger->timers, timer, g->lease_until_ms);
	else
		effect_timer_set(&g->ledger->timers, timer, now_ms + STARVED_MS);
}

enum effect_kind
effect_keep(struct effect_ledger *ledger, struct effect_answer *grant,
    void (*lost)(struct effect_answer *grant, void *arg), void *arg)
{
	struct effect_grant *g;

	effect_call_forked(ledger);
	if (!grant || grant->kind != EFFECT_RUN || grant->grant.ledger != ledger) {
		effect_call_say(ledger, "keep: this is no grant of this ledger");
		return EFFECT_MISUSE;
	}
	g = &grant->grant;
	g->lost_cb = lost;
	g->lost_arg = arg;
	if (g->lost)
		return EFFECT_LOST;
	g->timer.fire = keep_fire_cb;
	g->keeping = true;
	effect_timer_set(&ledger->timers, &g->timer, effect_grant_due_ms(grant));
	return EFFECT_OK;
}

void
effect_keep_stop(struct effect_answer *grant)
{
	struct effect_grant *g;
	struct effect_call *extend;

	if (!grant || !grant->grant.ledger)
		return;
	g = &grant->grant;
	g->keeping = false;
	effect_timer_stop(&g->ledger->timers, &g->timer);
	if (g->extend_call && (extend = effect_call_find(g->ledger, g->extend_call)))
		effect_call_drop(extend);
	g->extend_call = 0;
}

int64_t
effect_keep_due_ms(const struct effect_answer *grant)
{
	int64_t left_ms;

	if (!grant || grant->kind != EFFECT_RUN || grant->grant.lost)
		return -1;
	left_ms = effect_grant_due_ms(grant) - effect_sys_now_ms();
	return left_ms > 0 ? left_ms : 0;
}
