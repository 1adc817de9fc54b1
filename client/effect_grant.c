/*
 * Grants. Promise: from the moment on which the caller sees a `run`, giving it back needs no
 * memory. An answer owns its ticket; the ledger knows its grants, and outlives none of what they
 * point to.
 */
#include "effect_grant.h"

#include "effect_sys.h"

#include <string.h>

#define SPAN_MS_MAX (INT64_C(1) << 40)

static int64_t
bounded(int64_t ms)
{
	return ms < 0 ? 0 : ms > SPAN_MS_MAX ? SPAN_MS_MAX : ms;
}

int64_t
effect_grant_span_ms(const struct effect_json_span *result)
{
	int64_t lease_ms = 0, waited_ms = 0;

	/* both 0 where they are absent or no integers */
	(void)effect_answer_find_int(result, "lease_ms", &lease_ms);
	(void)effect_answer_find_int(result, "waited_ms", &waited_ms);
	return bounded(lease_ms) + bounded(waited_ms);
}

/* What the ledger holds of it. */
static void
grant_let_go(struct effect_answer *answer)
{
	struct effect_grant *g = &answer->grant;
	struct effect_call *extend;

	if (!g->ledger)
		return;
	if (g->extend_call && (extend = effect_call_find(g->ledger, g->extend_call)))
		effect_call_drop(extend);
	LIST_REMOVE(answer, grant.link);
	effect_timer_drop(&g->ledger->timers, &g->timer);
	effect_call_free(g->ticket);
	g->ticket = NULL;
	g->ledger = NULL;
	g->extend_call = 0;
	g->keeping = false;
}

bool
effect_grant_init(struct effect_answer *answer, struct effect_call *begin)
{
	struct effect_ledger *ledger = begin->ledger;
	struct effect_grant *g = &answer->grant;

	if (!effect_timer_reserve(&ledger->timers))
		return false;
	effect_call_take(begin);
	begin->cb = NULL;
	g->ledger = ledger;
	g->serial = ledger->next_serial++;
	g->pid = ledger->pid;
	g->ticket = begin;
	g->fresh_until_ms = begin->sent_ms + effect_grant_span_ms(&answer->whole);
	g->lease_ms = bounded(effect_answer_int(answer, "lease_ms", 0));
	g->lease_ask_ms = begin->lease_ms;
	g->lease_from_ms = g->fresh_until_ms - g->lease_ms;
	g->lease_until_ms = g->fresh_until_ms;
	answer->let_go = grant_let_go;
	LIST_INSERT_HEAD(&ledger->grants, answer, grant.link);
	return true;
}

bool
effect_grant_ids(const struct effect_answer *answer, struct effect_json_span *ret_effect,
    struct effect_json_span *ret_token)
{
	return answer && answer->kind == EFFECT_RUN &&
	    effect_answer_find(&answer->whole, "effect", ret_effect) &&
	    effect_answer_find(&answer->whole, "token", ret_token);
}

void
effect_grant_give_back(struct effect_answer *answer, const char *reason)
{
	struct effect_json_span effect, token;
	struct effect_call *ticket = answer->grant.ticket;

	if (ticket && effect_grant_ids(answer, &effect, &token)) {
		answer->grant.ticket = NULL;
		effect_call_give_back(ticket, &effect, &token, reason, EFFECT_LATE, NULL);
	}
	answer->kind = EFFECT_LATE;
	grant_let_go(answer);
}

int64_t
effect_grant_due_ms(const struct effect_answer *answer)
{
	return answer->grant.lease_from_ms + answer->grant.lease_ms / 3;
}

void
effect_grant_extended(
    struct effect_ledger *ledger, uint64_t serial, int64_t sent_ms, int64_t lease_ms)
{
	struct effect_answer *answer;
	struct effect_grant *g;

	LIST_FOREACH (answer, &ledger->grants, grant.link)
		if (answer->grant.serial == serial)
			break;
	if (!answer)
		return;
	g = &answer->grant;
	if (lease_ms > 0)
		g->lease_ms = bounded(lease_ms);
	if (sent_ms + g->lease_ms > g->lease_until_ms) {
		g->lease_from_ms = sent_ms;
		g->lease_until_ms = sent_ms + g->lease_ms;
	}
	if (g->keeping)
		effect_timer_set(&ledger->timers, &g->timer, effect_grant_due_ms(answer));
}

void
effect_grant_orphan_all(struct effect_ledger *ledger)
{
	struct effect_answer *answer;

	while ((answer = LIST_FIRST(&ledger->grants)))
		grant_let_go(answer);
}
