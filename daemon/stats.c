/*
 * Counts in memory. Promise: one hash look-up a count, no more than ENTRIES_MAX entries however
 * many names come. Bringing them to the ledger is flush.c's. Owns its entries until they are
 * taken.
 */
#include "stats.h"

#include "alloc.h"
#include "hash.h"
#include "log.h"
#include "metrics.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRIES_MAX 8192
#define BUCKETS 4096
#define MINUTE_S 60
#define DECISION_BYTES 32
#define NAME_SLOTS (STATS_NAMES_MAX * 2)
#define DAY_US (INT64_C(86400) * 1000000)

static LIST_HEAD(, stats_entry) buckets[BUCKETS]; /* by name; of one name the newest minute first */
static TAILQ_HEAD(, stats_entry) entries = TAILQ_HEAD_INITIALIZER(entries); /* oldest first */
static unsigned n_entries;
static int64_t n_dropped, n_dropped_untold;
static struct stats_name {
	char *ns, *tool;
} names[NAME_SLOTS]; /* of today, of tools without a policy: open addressing */
static unsigned n_names;
static int64_t names_day;

static uint32_t
stats_bucket(const char *ns, const char *tool, const char *decision)
{
	return hash_text(hash_text(hash_text(HASH_SEED, ns), tool), decision) % BUCKETS;
}

static int64_t
stats_minute_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)(now.tv_sec - now.tv_sec % MINUTE_S) * 1000000;
}

static void
stats_link(struct stats_entry *e)
{
	uint32_t bucket = stats_bucket(e->ns, e->tool, e->decision);

	LIST_INSERT_HEAD(&buckets[bucket], e, hash_link);
	TAILQ_INSERT_TAIL(&entries, e, link);
	n_entries++;
}

/* The entry of this name and minute, else the name's newest, else NULL. */
static struct stats_entry *
stats_find(int64_t minute_us, const char *ns, const char *tool, const char *decision)
{
	struct stats_entry *e, *newest = NULL;

	LIST_FOREACH (e, &buckets[stats_bucket(ns, tool, decision)], hash_link) {
		if (strcmp(e->tool, tool) != 0 || strcmp(e->decision, decision) != 0 ||
		    strcmp(e->ns, ns) != 0)
			continue;
		if (e->minute_us == minute_us)
			return e;
		if (!newest)
			newest = e;
	}
	return newest;
}

/* ---- names of tools that have no policy ---- */

static void
stats_forget_names(void)
{
	for (unsigned i = 0; i < NAME_SLOTS; i++) {
		free(names[i].ns);
		free(names[i].tool);
		names[i] = (struct stats_name){NULL, NULL};
	}
	n_names = 0;
}

/* Is it one of those of today, or is there room for it to become one? */
static bool
stats_admits(int64_t minute_us, const char *ns, const char *tool)
{
	uint32_t at = hash_text(hash_text(HASH_SEED, ns), tool) % NAME_SLOTS;

	if (minute_us / DAY_US != names_day) {
		stats_forget_names();
		names_day = minute_us / DAY_US;
	}
	for (; names[at].ns; at = (at + 1) % NAME_SLOTS)
		if (strcmp(names[at].tool, tool) == 0 && strcmp(names[at].ns, ns) == 0)
			return true;
	if (n_names >= STATS_NAMES_MAX)
		return false;
	n_names++;
	names[at] = (struct stats_name){xstrdup(ns), xstrdup(tool)};
	return true;
}

/* The entry to count in; NULL: no room for a new name. */
static struct stats_entry *
stats_entry_of(int64_t minute_us, const char *ns, const char *tool, const char *decision)
{
	struct stats_entry *e = stats_find(minute_us, ns, tool, decision);

	if (e && e->minute_us == minute_us)
		return e;
	if (!e && strcmp(tool, STATS_OTHER) != 0 && !metrics_knows(ns, tool) &&
	    !stats_admits(minute_us, ns, tool))
		return stats_entry_of(minute_us, ns, STATS_OTHER, decision);
	if (n_entries >= ENTRIES_MAX)
		return e;
	e = xcalloc(1, sizeof *e);
	e->minute_us = minute_us;
	e->ns = xstrdup(ns);
	e->tool = xstrdup(tool);
	e->decision = xstrdup(decision);
	stats_link(e);
	return e;
}

static void
stats_drop(int64_t n)
{
	if (n_dropped_untold == 0)
		log_warn("stats",
		    "no room for the counts of another name, dropping such until there is");
	n_dropped_untold += n;
	n_dropped += n;
	metrics_add(METRIC_COUNT_COUNT_DROPPED, (uint64_t)n);
}

void
stats_count(const char *ns, const char *tool, const char *decision, int64_t ms)
{
	struct stats_entry *e = stats_entry_of(stats_minute_us(), ns, tool, decision);
	unsigned place = 0;

	metrics_word(ns, tool, decision, ms);
	if (!e) {
		stats_drop(1);
		return;
	}
	while (ms > 0 && place < STATS_LOG2_N - 1) {
		ms >>= 1;
		place++;
	}
	e->n++;
	e->ms_log2[place]++;
}

void
stats_count_all(const char *ns, const char *tool, const char *counted, bool resent)
{
	char decision[DECISION_BYTES], *end;

	if (counted && *counted == '?')
		counted = resent ? counted + 1 : NULL;
	while (counted && *counted) {
		size_t len = strspn(counted, "abcdefghijklmnopqrstuvwxyz_");
		int64_t ms;

		if (len >= sizeof decision || counted[len] != ':')
			return;
		memcpy(decision, counted, len);
		decision[len] = '\0';
		ms = strtoll(counted + len + 1, &end, 10);
		if (end == counted + len + 1)
			return;
		stats_count(ns, tool, decision, ms);
		counted = end + (*end == ' ');
	}
}

struct stats_entry *
stats_take(void)
{
	struct stats_entry *e = TAILQ_FIRST(&entries);

	if (!e)
		return NULL;
	TAILQ_REMOVE(&entries, e, link);
	LIST_REMOVE(e, hash_link);
	n_entries--;
	if (n_dropped_untold > 0)
		log_warn("stats", "dropped %lld counts for want of room",
		    (long long)n_dropped_untold);
	n_dropped_untold = 0;
	return e;
}

void
stats_give_up(struct stats_entry *e)
{
	n_dropped += e->n;
	metrics_add(METRIC_COUNT_COUNT_DROPPED, (uint64_t)e->n);
	stats_entry_free(e);
}

void
stats_entry_free(struct stats_entry *e)
{
	if (!e)
		return;
	free(e->ns);
	free(e->tool);
	free(e->decision);
	free(e);
}

unsigned
stats_n(void)
{
	return n_entries;
}

int64_t
stats_dropped(void)
{
	return n_dropped;
}
