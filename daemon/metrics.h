/*
 * Counters and histograms of this process for Prometheus, and their text. Counting never fails,
 * asks nobody and costs one look-up; counters begin at zero with the process and survive reloads.
 *
 * Label sets are bounded: a series by tool exists for the tools that metrics_tool() named, and for
 * METRICS_OTHER, which stands for all others of a namespace. No key, run, effect or owner ever
 * comes here.
 */
#ifndef EFFECTD_METRICS_H
#define EFFECTD_METRICS_H

#include "buf.h"

#include <stdbool.h>
#include <stdint.h>

#define METRICS_OTHER "(other)" /* the tool, or the namespace, that is none of those named */

enum metric {
#define METRIC(id, name, type, help) METRIC_##id,
#include "metrics.def"
#undef METRIC
	METRIC_N
};

enum metric_count {
#define METRIC_COUNT(count, id, label, value) METRIC_COUNT_##count,
#include "metrics.def"
#undef METRIC_COUNT
	METRIC_COUNT_N
};

enum metric_histogram {
#define METRIC_HISTOGRAM(histogram, id, label, value, bounds) METRIC_HISTOGRAM_##histogram,
#include "metrics.def"
#undef METRIC_HISTOGRAM
	METRIC_HISTOGRAM_N
};

/* What a tool is expected to be told: which of its series are there before the first of them. */
enum metrics_kind {
	METRICS_PASSED,	 /* nothing but pass */
	METRICS_GUARDED, /* begin's decisions */
	METRICS_EXECUTED /* execute's */
};

/*
 * A tool whose series are told under its own name from now on. Strings are copied. Past a bound of
 * many thousand it is one of the others.
 */
void metrics_tool(const char *ns, const char *tool, enum metrics_kind kind);
/* Does it have series under its own name? */
bool metrics_knows(const char *ns, const char *tool);
void metrics_free(void); /* all counts and tools are forgotten */

/* What stats_count() was told; a word of which no metric is made counts nothing. */
void metrics_word(const char *ns, const char *tool, const char *word, int64_t ms);
/* How often a tool was told the word, or this was done for it; 0 for one without series of its own.
 */
uint64_t metrics_told(const char *ns, const char *tool, const char *word);
/* Calls cb for each decision of begin and execute that a tool was told, those of a tool in a row.
 */
void metrics_each_decision(
    void (*cb)(void *arg, const char *ns, const char *tool, const char *decision, uint64_t n),
    void *arg);
void metrics_add(enum metric_count count, uint64_t n);
/* In microseconds, or in pieces. */
void metrics_observe(enum metric_histogram histogram, int64_t value);

/*
 * The page, in Prometheus's text format 0.0.4. `ask` is called for each family that has no counts
 * here; it adds its rows by the two verbs below, or none.
 */
void metrics_render(
    struct buf *out, void (*ask)(void *arg, struct buf *out, enum metric id), void *arg);
/* One row: NAME{labels} value. `labels` is what metrics_label() made, or NULL. */
void metrics_row(struct buf *out, enum metric id, const struct buf *labels, double value);
/* Adds `name="value"`, escaped, behind a comma where one is needed. */
void metrics_label(struct buf *labels, const char *name, const char *value);

#endif
