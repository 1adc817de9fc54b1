/*
 * A probe on demand: a begin that met `unknown`, and whose caller waits, asks the ledger to take
 * the row out of turn (effect.probe_now), starts the probe if it was given it, and else learns when
 * to ask again. That a probe of the effect is under way once, and how often it may be asked for, is
 * the ledger's to say.
 */
#ifndef EFFECTD_DEMAND_H
#define EFFECTD_DEMAND_H

#include "buf.h"
#include "call.h"
#include "identity.h"
#include "sweep_task.h"

#include <stdbool.h>
#include <stdint.h>

/* What one begin knows of its probe; zeroed at first. */
struct demand {
	bool asking;	  /* its item is with the batch, and counted against the room */
	int64_t again_ms; /* loop clock: when to ask once more; INT64_MAX = not again */
	bool has_next;	  /* the row has a next probe: */
	int64_t next_probe_at_us;
};

enum demand_answer {
	DEMAND_WAIT, /* a probe is under way, or will be: wait for its word, or until again_ms */
	DEMAND_NONE, /* none will tell */
	DEMAND_MOVED /* the row is not unknown any more: ask begin anew */
};

/*
 * Asks by the call's item, whose row goes to demand_row(). waited_ms: how long its caller has been
 * waiting. False: there is no room for a probe of this tool; nothing was asked.
 */
bool demand_ask(struct demand *d, struct call *c, const struct identity *id, int64_t waited_ms,
    int64_t deadline_ms);
/* The item is with the batch no more. Nothing if it was not. */
void demand_end(struct demand *d);
/* Starts the probe if the row says so, whether or not anybody still waits: it is taken. */
enum demand_answer demand_row(struct demand *d, const struct batch_row *row);

/* What effect.probe_look says of a row; borrows from it. False: it is no row. */
bool demand_order(const struct batch_row *row, struct sweep_order *ret);
/* The same for effect.probe_now. False: the row was not taken for a probe. */
bool demand_taken(const struct batch_row *row, struct sweep_order *ret);

#endif
