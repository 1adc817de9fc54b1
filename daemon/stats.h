/*
 * What was decided and what became of it, how often and how fast: counts per (minute, namespace,
 * tool, decision) with a log2 histogram of milliseconds, gathered in memory. Counting never fails
 * and never waits. While nobody takes the counts they are kept, bounded: past the bound a known
 * name's counts go to its newest minute, and new names are dropped, and that is told. Tools that no
 * policy names have a bounded number of names of their own, so that no caller fills the ledger's
 * table with names; the rest are counted as "(other)".
 */
#ifndef EFFECTD_STATS_H
#define EFFECTD_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define STATS_LOG2_N \
	40 /* histogram places: less than 1 ms, 2 ms, 4 ms ... 2^38 ms (8 years), more */
#define STATS_NAMES_MAX 256 /* of tools without a policy, a day */
#define STATS_OTHER "(other)"

/* One decision taken `ms` milliseconds after its line was read. Strings are copied. */
void stats_count(const char *ns, const char *tool, const char *decision, int64_t ms);
/*
 * What the ledger says is to be counted, as it stands in the column `counted` of its answers:
 * "completed:1234 late:1234", milliseconds by its clock. NULL is nothing. Behind a '?' stands what
 * was done before, which counts if the call was sent before and may have done it itself (resent).
 */
void stats_count_all(const char *ns, const char *tool, const char *counted, bool resent);

struct stats_entry {
	LIST_ENTRY(stats_entry) hash_link;
	TAILQ_ENTRY(stats_entry) link;
	int64_t minute_us; /* Unix microseconds, by this host's clock */
	char *ns, *tool, *decision;
	int64_t n;
	int64_t ms_log2[STATS_LOG2_N];
};

/* The oldest entry, now the caller's, or NULL. */
struct stats_entry *stats_take(void);
/* It will never be stored: its counts are dropped, and told as such. Takes it. */
void stats_give_up(struct stats_entry *entry);
void stats_entry_free(struct stats_entry *entry);
unsigned stats_n(void);	      /* entries held */
int64_t stats_dropped(void);  /* counts dropped since the start */

#endif
