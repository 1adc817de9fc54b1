/*
 * Counters by tool stand in one struct a tool, a number for each word of the table; all else in
 * arrays. The labels of a tool are escaped once, when it is first named, so that a page costs
 * little more than its copying. Owns everything it counts in. Pure: what is asked for at a scrape
 * comes by the caller's callback.
 */
#include "metrics.h"

#include "alloc.h"
#include "hash.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define TOOLS_MAX 16384 /* pairs of namespace and tool */
#define BOUNDS_MAX 15
#define MICROSECONDS 1000000
#define HALF_MS_US 500
#define MS_MAX 1000000000000 /* 30 years: what is longer is no time that anything took */

enum metric_type { COUNTER, GAUGE, HISTOGRAM };
enum bounds { TIMES, SIZES };

static const struct {
	const char *name, *help;
	enum metric_type type;
} families[] = {
#define METRIC(id, name, type, help) [METRIC_##id] = {name, help, type},
#include "metrics.def"
#undef METRIC
};

static const char *const type_names[] = {
    [COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram"};

static const struct word {
	const char *word;
	enum metric family;
	const char *label, *value;
} words[] = {
#define METRIC_WORD(word, id, label, value) {word, METRIC_##id, label, value},
#include "metrics.def"
#undef METRIC_WORD
};

#define N_WORDS (sizeof words / sizeof *words)

static const struct {
	enum metric family;
	const char *label, *value;
} counts[] = {
#define METRIC_COUNT(count, id, label, value) {METRIC_##id, label, value},
#include "metrics.def"
#undef METRIC_COUNT
};

static const struct {
	enum metric family;
	enum bounds bounds;
	const char *label, *value;
} histograms[] = {
#define METRIC_HISTOGRAM(histogram, id, label, value, bounds) {METRIC_##id, bounds, label, value},
#include "metrics.def"
#undef METRIC_HISTOGRAM
};

/* Upper bounds, in microseconds and in pieces, and as they are told. */
static const struct bound {
	int64_t value;
	const char *le;
} bounds_of[][BOUNDS_MAX] = {
    [TIMES] = {{500, "0.0005"}, {1000, "0.001"}, {2000, "0.002"}, {5000, "0.005"}, {10000, "0.01"},
	{25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"}, {250000, "0.25"}, {500000, "0.5"},
	{1000000, "1"}, {2500000, "2.5"}, {5000000, "5"}, {10000000, "10"}, {30000000, "30"}},
    [SIZES] = {{1, "1"}, {2, "2"}, {4, "4"}, {8, "8"}, {16, "16"}, {32, "32"}, {64, "64"},
	{128, "128"}, {256, "256"}, {512, "512"}, {1024, "1024"}},
};

struct metrics_tool {
	struct metrics_tool *next; /* of its bucket */
	struct metrics_tool *next_tool;
	char *ns, *tool;
	struct buf labels; /* namespace="..",tool=".." */
	bool expected[N_WORDS];
	uint64_t n[N_WORDS];
};

struct histogram {
	uint64_t n[BOUNDS_MAX + 1]; /* not yet cumulative; the last: above all bounds */
	int64_t sum;
};

static struct metrics_tool *buckets[BUCKETS];
static struct metrics_tool *first_tool, **last_tool = &first_tool;
static unsigned n_tools;
static uint64_t counted[METRIC_COUNT_N];
static struct histogram observed[METRIC_HISTOGRAM_N];

/* ---- tools ---- */

static struct metrics_tool **
tool_bucket(const char *ns, const char *tool)
{
	return &buckets[hash_text(hash_text(HASH_SEED, ns), tool) % BUCKETS];
}

static struct metrics_tool *
tool_named(const char *ns, const char *tool)
{
	struct metrics_tool *t = *tool_bucket(ns, tool);

	while (t && (strcmp(t->tool, tool) != 0 || strcmp(t->ns, ns) != 0))
		t = t->next;
	return t;
}

static struct metrics_tool *
tool_new(const char *ns, const char *tool)
{
	struct metrics_tool *t = xcalloc(1, sizeof *t), **bucket = tool_bucket(ns, tool);

	t->ns = xstrdup(ns);
	t->tool = xstrdup(tool);
	metrics_label(&t->labels, "namespace", ns);
	metrics_label(&t->labels, "tool", tool);
	t->next = *bucket;
	*bucket = t;
	*last_tool = t;
	last_tool = &t->next_tool;
	n_tools++;
	return t;
}

/* Its own, or that of the others of its namespace, or of all. */
static struct metrics_tool *
tool_counted(const char *ns, const char *tool)
{
	struct metrics_tool *t = tool_named(ns, tool);

	if (!t)
		t = tool_named(ns, METRICS_OTHER);
	if (!t)
		t = tool_named(METRICS_OTHER, METRICS_OTHER);
	return t ? t : tool_new(METRICS_OTHER, METRICS_OTHER);
}

static bool
is_expected(const struct word *w, enum metrics_kind kind)
{
	bool pass = strcmp(w->word, "pass") == 0, run = strcmp(w->word, "run") == 0;
	bool executed = strcmp(w->word, "ran") == 0 || strcmp(w->word, "tool_failed") == 0;

	if (w->family == METRIC_DUPLICATES || w->family == METRIC_ESCALATIONS)
		return kind != METRICS_PASSED;
	if (w->family != METRIC_BEGINS)
		return false;
	if (kind == METRICS_PASSED)
		return pass;
	return !pass && (kind == METRICS_EXECUTED ? !run : !executed);
}

void
metrics_tool(const char *ns, const char *tool, enum metrics_kind kind)
{
	struct metrics_tool *t;

	if (!tool_named(ns, METRICS_OTHER))
		tool_new(ns, METRICS_OTHER);
	t = tool_named(ns, tool);
	if (!t && n_tools >= TOOLS_MAX)
		return;
	if (!t)
		t = tool_new(ns, tool);
	for (size_t i = 0; i < N_WORDS; i++)
		t->expected[i] |= is_expected(&words[i], kind);
}

bool
metrics_knows(const char *ns, const char *tool)
{
	return tool_named(ns, tool) != NULL;
}

void
metrics_free(void)
{
	struct metrics_tool *t;

	while ((t = first_tool)) {
		first_tool = t->next_tool;
		buf_free(&t->labels);
		free(t->ns);
		free(t->tool);
		free(t);
	}
	last_tool = &first_tool;
	n_tools = 0;
	memset(buckets, 0, sizeof buckets);
	memset(counted, 0, sizeof counted);
	memset(observed, 0, sizeof observed);
}

/* ---- counting ---- */

/* `most`: what the value may have been before it was rounded. */
static void
observe(enum metric_histogram histogram, int64_t value, int64_t most)
{
	const struct bound *bounds = bounds_of[histograms[histogram].bounds];
	struct histogram *h = &observed[histogram];
	int i = 0;

	while (i < BOUNDS_MAX && bounds[i].le && most > bounds[i].value)
		i++;
	h->n[i]++;
	h->sum += value;
}

/* It took up to a millisecond more than is known: never told as quicker than it was. */
static void
observe_ms(enum metric_histogram histogram, int64_t ms)
{
	assert(histograms[histogram].bounds == TIMES);
	if (ms < 0)
		ms = 0;
	if (ms > MS_MAX)
		ms = MS_MAX;
	observe(histogram, ms * 1000 + HALF_MS_US, (ms + 1) * 1000);
}

/* In which histogram the time belongs in which this decision was told. */
static enum metric_histogram
begin_histogram(const char *decision)
{
	if (strcmp(decision, "run") == 0 || strcmp(decision, "ran") == 0)
		return METRIC_HISTOGRAM_BEGIN_GRANTED;
	if (strcmp(decision, "replay") == 0)
		return METRIC_HISTOGRAM_BEGIN_REPLAYED;
	if (strcmp(decision, "pass") == 0)
		return METRIC_HISTOGRAM_BEGIN_PASSED;
	return METRIC_HISTOGRAM_BEGIN_REFUSED;
}

void
metrics_word(const char *ns, const char *tool, const char *word, int64_t ms)
{
	size_t i = 0;

	while (i < N_WORDS && strcmp(words[i].word, word) != 0)
		i++;
	if (i == N_WORDS)
		return;
	tool_counted(ns, tool)->n[i]++;
	if (words[i].family == METRIC_BEGINS)
		observe_ms(begin_histogram(word), ms);
	else if (words[i].family == METRIC_PROBES)
		observe_ms(METRIC_HISTOGRAM_PROBE_TIME, ms);
}

uint64_t
metrics_told(const char *ns, const char *tool, const char *word)
{
	const struct metrics_tool *t = tool_named(ns, tool);
	size_t i = 0;

	while (i < N_WORDS && strcmp(words[i].word, word) != 0)
		i++;
	return t && i < N_WORDS ? t->n[i] : 0;
}

void
metrics_each_decision(
    void (*cb)(void *arg, const char *ns, const char *tool, const char *decision, uint64_t n),
    void *arg)
{
	for (const struct metrics_tool *t = first_tool; t; t = t->next_tool)
		for (size_t i = 0; i < N_WORDS; i++)
			if (words[i].family == METRIC_BEGINS && t->n[i] > 0)
				cb(arg, t->ns, t->tool, words[i].word, t->n[i]);
}

void
metrics_add(enum metric_count count, uint64_t n)
{
	counted[count] += n;
}

void
metrics_observe(enum metric_histogram histogram, int64_t value)
{
	observe(histogram, value, value);
}

/* ---- the text ---- */

void
metrics_label(struct buf *labels, const char *name, const char *value)
{
	if (labels->len > 0)
		buf_add_char(labels, ',');
	buf_add_str(labels, name);
	buf_add_str(labels, "=\"");
	for (; *value; value++) {
		if (*value == '\n') {
			buf_add_str(labels, "\\n");
			continue;
		}
		if (*value == '\\' || *value == '"')
			buf_add_char(labels, '\\');
		buf_add_char(labels, *value);
	}
	buf_add_char(labels, '"');
}

/* NAME SUFFIX{labels,label="value"} and a blank; value NULL: no such label. */
static void
add_series(struct buf *out, enum metric id, const char *suffix, const struct buf *labels,
    const char *label, const char *value)
{
	bool any = labels && labels->len > 0;

	buf_add_str(out, families[id].name);
	buf_add_str(out, suffix);
	if (any || value)
		buf_add_char(out, '{');
	if (any)
		buf_add(out, labels->data, labels->len);
	if (value) {
		buf_add_str(out, any ? "," : "");
		buf_add_str(out, label);
		buf_add_str(out, "=\"");
		buf_add_str(out, value); /* a word of the tables: nothing to escape */
		buf_add_char(out, '"');
	}
	if (any || value)
		buf_add_char(out, '}');
	buf_add_char(out, ' ');
}

static void
add_count(struct buf *out, uint64_t n)
{
	buf_add_int(out, (int64_t)n);
	buf_add_char(out, '\n');
}

void
metrics_row(struct buf *out, enum metric id, const struct buf *labels, double value)
{
	add_series(out, id, "", labels, NULL, NULL);
	if (value == trunc(value) && fabs(value) < 1e15)
		buf_add_int(out, (int64_t)value);
	else
		buf_printf(out, "%.17g", value);
	buf_add_char(out, '\n');
}

static bool
render_words(struct buf *out, enum metric id)
{
	bool any = false;

	for (size_t i = 0; i < N_WORDS; i++)
		any |= words[i].family == id;
	for (const struct metrics_tool *t = any ? first_tool : NULL; t; t = t->next_tool)
		for (size_t i = 0; i < N_WORDS; i++) {
			if (words[i].family != id || (t->n[i] == 0 && !t->expected[i]))
				continue;
			add_series(out, id, "", &t->labels, words[i].label, words[i].value);
			add_count(out, t->n[i]);
		}
	return any;
}

static bool
render_counts(struct buf *out, enum metric id)
{
	bool any = false;

	for (int i = 0; i < METRIC_COUNT_N; i++) {
		if (counts[i].family != id)
			continue;
		any = true;
		add_series(out, id, "", NULL, counts[i].label, counts[i].value);
		add_count(out, counted[i]);
	}
	return any;
}

static void
render_histogram(struct buf *out, enum metric id, enum metric_histogram histogram)
{
	const char *label = histograms[histogram].label, *value = histograms[histogram].value;
	const struct bound *bounds = bounds_of[histograms[histogram].bounds];
	const struct histogram *h = &observed[histogram];
	struct buf labels = {0};
	uint64_t n = 0;
	int i;

	if (label)
		metrics_label(&labels, label, value);
	for (i = 0; i < BOUNDS_MAX && bounds[i].le; i++) {
		n += h->n[i];
		add_series(out, id, "_bucket", &labels, "le", bounds[i].le);
		add_count(out, n);
	}
	n += h->n[i];
	add_series(out, id, "_bucket", &labels, "le", "+Inf");
	add_count(out, n);
	add_series(out, id, "_sum", &labels, NULL, NULL);
	if (histograms[histogram].bounds == TIMES)
		buf_printf(out, "%.6f\n", (double)h->sum / MICROSECONDS);
	else
		add_count(out, (uint64_t)h->sum);
	add_series(out, id, "_count", &labels, NULL, NULL);
	add_count(out, n);
	buf_free(&labels);
}

void
metrics_render(struct buf *out, void (*ask)(void *arg, struct buf *out, enum metric id), void *arg)
{
	for (enum metric id = 0; id < METRIC_N; id++) {
		buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", families[id].name,
		    families[id].help, families[id].name, type_names[families[id].type]);
		if (families[id].type == HISTOGRAM) {
			for (int i = 0; i < METRIC_HISTOGRAM_N; i++)
				if (histograms[i].family == id)
					render_histogram(out, id, (enum metric_histogram)i);
		} else if (!render_words(out, id) && !render_counts(out, id)) {
			ask(arg, out, id);
		}
	}
}
