/*
 * What was decided, how often and how fast: counts per (minute, namespace, tool, decision) with a
 * log2 histogram of milliseconds, gathered in memory and added to effect.stat every few seconds, so
 * that all daemons' numbers end up in one place. Counting never fails and never waits; while the
 * ledger is away the counts are kept (bounded: past that, minutes are merged, then new names are
 * dropped and their number is logged).
 */
#ifndef EFFECTD_STATS_H
#define EFFECTD_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* One decision taken `ms` milliseconds after its line was read. Strings are copied. */
void stats_count(const char *ns, const char *tool, const char *decision, int64_t ms);

/* Open rows as the ledger last told (info, metrics). False while it never did: the rets are then
 * untouched. */
bool stats_open_counts(int64_t *ret_pending, int64_t *ret_unknown, int64_t *ret_escalated);
/* The sweeper tells them. */
void stats_set_open_counts(int64_t pending, int64_t unknown, int64_t escalated);

#endif
