/*
 * The page of metrics: what metrics.c has counted, and what the other modules are asked for at that
 * moment. Everything comes from memory and /proc; the ledger is never asked.
 */
#ifndef EFFECTD_SCRAPE_H
#define EFFECTD_SCRAPE_H

#include "access.h"
#include "buf.h"
#include "config.h"
#include "tool.h"

/*
 * What is in force from now on, borrowed until the next call: the tools of these policies have
 * series under their own names. Counts go on.
 */
void scrape_use(const struct config *config, const struct access *access, struct tool_set *tools);
/* A reload was taken or refused. */
void scrape_reloaded(bool taken);
void scrape_page(struct buf *out);

#endif
