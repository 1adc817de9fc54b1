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

/* What became of a probe, for whoever asked for it; valid during the call. */
struct sweep_word {
	int err;	     /* it could not be recorded, or the daemon is stopping */
	const char *verdict; /* the ledger's word for it; `unasked`: there was no room after all */
	const char *reason;  /* NULL = none */
	const char *result;  /* as it may be told, secrets taken out; NULL = none */
	size_t result_len;
	/* What it has decided; state NULL = nothing was recorded: */
	const char *state, *outcome, *why; /* of the row, in words */
	bool counts;			   /* it is one more absent in a row: */
	int32_t absent_n, absent_needed;
};

/* Who waits for a probe's word himself. */
struct sweep_asker {
	/* Called once, perhaps at once, unless sweep_task_leave() came first. */
	void (*told)(struct sweep_asker *asker, const struct sweep_word *word);
	bool look;	   /* the word is told and not recorded */
	struct task *task; /* sweep_task.c's own; NULL = it does not wait */
};

/* `ended` is called whenever a probe or a notice ended, so that there is room for another. */
void sweep_task_init(void (*ended)(void));
/* Starts the probe, or tells the ledger at once why not. `tools`: where to look if the row's own
 * version is not here. */
void sweep_task_probe(const struct sweep_order *order, struct tool_set *tools);
/* The same for somebody who waits for its word. */
void sweep_task_ask(
    const struct sweep_order *order, struct tool_set *tools, struct sweep_asker *asker);
/* He waits no more: a look ends, what is to be recorded is. Nothing if he does not wait. */
void sweep_task_leave(struct sweep_asker *asker);
/* Sends the notice as soon as there is room. */
void sweep_task_notify(const struct sweep_order *order, const struct notify_to *to);
/* Is a probe of this tool among those that could be started now? */
bool sweep_task_tool_room(const char *ns, const char *tool);
/* How many probes could be started now. */
unsigned sweep_task_probe_room(void);
/* Is no notice waiting for room? */
bool sweep_task_notify_room(void);
/* Ends probes without a word to the ledger, and starts nothing more. Notices under way go on:
 * somebody may have been told already, and would be told again. */
void sweep_task_stop(void);
/* Is no notice under way? */
bool sweep_task_idle(void);
/* Ends them, too. */
void sweep_task_kill(void);

#endif
