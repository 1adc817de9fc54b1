/*
 * One question and its four answers. Promise: what the ledger gave us to probe is probed, or given
 * back at once; so many are asked for at a time as there is room.
 *
 * Running probes does not belong here (sweep_task.c), nor what becomes of the caller (begin.c).
 */
#include "demand.h"

#include "fault.h"
#include "ledger.h"
#include "loop.h"

#include <assert.h>
#include <string.h>

#define ROOM_MS_MIN 300 /* when there was no room: look again after this */
#define ROOM_MS_MAX 700

static unsigned n_asking;

bool
demand_ask(struct demand *d, struct call *c, const struct identity *id, int64_t waited_ms,
    int64_t deadline_ms)
{
	struct pgvalue *v = c->item.columns;

	assert(!d->asking);
	if (n_asking >= sweep_task_probe_room() ||
	    !sweep_task_tool_room(id->ns, id->policy->name)) {
		d->again_ms = loop_now_ms() + call_random(ROOM_MS_MIN, ROOM_MS_MAX);
		return false;
	}
	d->asking = true;
	n_asking++;
	v[PROBE_NOW_P_ID] = pg_uuid(&id->effect);
	v[PROBE_NOW_P_SCOPE] = pg_null(); /* begin has judged who may */
	v[PROBE_NOW_P_WAITED_MS] = pg_int4((int32_t)waited_ms);
	call_ask(c, &ledger_probe_now, deadline_ms);
	return true;
}

void
demand_end(struct demand *d)
{
	assert(!d->asking || n_asking > 0);
	n_asking -= d->asking;
	d->asking = false;
}

bool
demand_order(const struct batch_row *row, struct sweep_order *ret)
{
	*ret = (struct sweep_order){.ns = batch_text(row, PROBE_NAMESPACE, NULL),
	    .tool = batch_text(row, PROBE_TOOL, NULL),
	    .key = batch_text(row, PROBE_KEY, NULL),
	    .attempt = batch_int4(row, PROBE_ATTEMPT),
	    .policy = batch_int8(row, PROBE_POLICY),
	    .probe_no = batch_int4(row, PROBE_NO),
	    .probe_timeout_ms = batch_int8(row, PROBE_TIMEOUT_MS),
	    .claimed_at_us = batch_instant(row, PROBE_CLAIMED_AT),
	    .kept = batch_text(row, PROBE_KEPT, NULL)};
	ret->since_us =
	    batch_null(row, PROBE_SINCE) ? ret->claimed_at_us : batch_instant(row, PROBE_SINCE);
	return batch_uuid(row, PROBE_EFFECT, &ret->effect);
}

bool
demand_taken(const struct batch_row *row, struct sweep_order *ret)
{
	if (!call_answer_is(row, "probe"))
		return false;
	fault_point("demand.taken");
	return demand_order(row, ret);
}

enum demand_answer
demand_row(struct demand *d, const struct batch_row *row)
{
	struct sweep_order order;

	d->again_ms = INT64_MAX;
	d->has_next = !batch_null(row, PROBE_NEXT_AT);
	d->next_probe_at_us = batch_instant(row, PROBE_NEXT_AT);
	if (demand_taken(row, &order)) {
		sweep_task_probe(&order, call_tools());
		return DEMAND_WAIT;
	}
	if (call_answer_is(row, "wait")) {
		if (!batch_null(row, PROBE_IN_MS))
			d->again_ms = loop_now_ms() + batch_int8(row, PROBE_IN_MS) + 1;
		return DEMAND_WAIT;
	}
	return call_answer_is(row, "none") ? DEMAND_NONE : DEMAND_MOVED;
}
