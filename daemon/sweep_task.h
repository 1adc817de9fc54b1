/*
 * One thing that a sweep gave this daemon to do, until the ledger knows what became of it: a probe
 * and its verdict, or a notice and whether it was taken.
 */
#ifndef EFFECTD_SWEEP_TASK_H
#define EFFECTD_SWEEP_TASK_H

#include "digest.h"
#include "notify.h"
#include "tool.h"

#include <stdbool.h>
#include <stdint.h>

/* As the row of effect.sweep has it; text is copied by sweep_task_*(). */
struct sweep_order {
	struct uuid effect;
	const char *ns, *tool, *key;
	int32_t attempt;
	int64_t policy; /* version */
	int32_t probe_no, notice_no;
	int64_t probe_timeout_ms;
	int64_t claimed_at_us, since_us; /* Unix microseconds */
	const char *kept, *reason;	 /* NULL = none */
};

/* `ended` is called whenever a probe or a notice ended, so that there is room for another. */
void sweep_task_init(void (*ended)(void));
/* Starts the probe, or tells the ledger at once why not. `tools`: where to look if the row's own
 * version is not here. */
void sweep_task_probe(const struct sweep_order *order, struct tool_set *tools);
/* Sends the notice as soon as there is room. */
void sweep_task_notify(const struct sweep_order *order, const struct notify_to *to);
/* How many probes could be started now. */
unsigned sweep_task_probe_room(void);
/* Is no notice waiting for room? */
bool sweep_task_notify_room(void);
/* Ends what runs, without a word to the ledger. */
void sweep_task_stop(void);

#endif
