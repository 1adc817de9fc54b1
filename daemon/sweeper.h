/*
 * Ends what stayed open: takes due rows from the ledger, asks providers by probes, tells people by
 * the notifier, and brings back what was found out. A client without a socket.
 */
#ifndef EFFECTD_SWEEPER_H
#define EFFECTD_SWEEPER_H

#include "config.h"
#include "tool.h"

/* `config` is borrowed for good; its values are read anew at each sweep. Begins at once. */
void sweeper_start(const struct config *config);
/* The policies by which rows are probed whose own version this process does not hold. Borrowed
 * until the next call has returned. */
void sweeper_use(struct tool_set *tools);
/*
 * No more sweeps; probes under way are ended, and their rows are due again by themselves. Verdicts
 * that are with the ledger end by themselves, and so do notices: see sweeper_idle().
 */
void sweeper_stop(void);
/* After sweeper_stop(): is every notice that was under way at its end? */
bool sweeper_idle(void);
/* Ends them without a word to the ledger: they will be sent again. */
void sweeper_kill(void);

#endif
