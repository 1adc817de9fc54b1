/*
 * Tells the ledger which policies are in force: for callers that claim by SQL and ask no daemon
 * (effect.begin_here). A begin over the wire does not wait for it, and registers what is missing.
 */
#ifndef EFFECTD_POLICIES_H
#define EFFECTD_POLICIES_H

#include "access.h"
#include "config.h"
#include "tool.h"

/*
 * What is in force from now on, and told when the ledger is there; all three are borrowed until the
 * next call.
 */
void policies_use(const struct config *config, const struct access *access, struct tool_set *tools);
/* The ledger is there, perhaps another one than before: all of it is told anew. */
void policies_tell(void);
void policies_stop(void);

#endif
