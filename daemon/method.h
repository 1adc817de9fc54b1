/*
 * The methods as the daemon's other parts see them: the table (method_find() is declared in
 * request.h), what they work with, and what has to be told to them.
 */
#ifndef EFFECTD_METHOD_H
#define EFFECTD_METHOD_H

#include "config.h"
#include "digest.h"
#include "tool.h"

/* Once at start, after loop_init(). Sets up grants and waiting, too. */
void method_init(const struct config *config, struct tool_set *tools);
/* After a reload: both are borrowed from now on. */
void method_use(const struct config *config, struct tool_set *tools);
/* While there still is a ledger: the transactions of executions end, what was not committed is
 * rolled back. */
void method_stop(void);
/* Such transactions that somebody may wait for. */
unsigned method_n_open(void);
/* At the end, when no request is left and the ledger's items have ended. */
void method_free(void);
/* For client_init(): a claim's bound connection was closed by its peer. */
void method_bound_closed(void *arg, const struct uuid *effect, const struct uuid *token);
/* Claims to give back and kept completes that the ledger has not taken yet. */
unsigned method_n_owed(void);

#endif
