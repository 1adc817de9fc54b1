/*
 * Making the daily page. Promise: a report that could not be had is told on the page, counts as
 * something to look at, and takes none of the others with it. Owns the reports while it is made.
 */
#include "daily.h"

#include "alloc.h"
#include "daily_section.h"
#include "finding.h"
#include "report_value.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_MAX 1e15	/* what is more was not counted */
#define ALIKE_MAX 3	/* of findings of one kind: the section has more of them */
#define ROWS_ASKED 1000 /* so that findings find their keys, and tools their day before */

struct daily {
	const struct ctl *ctl;
	struct report_query query;
	struct report reports[DAILY_REPORTS], before;
	int codes[DAILY_REPORTS]; /* 0: the report is there */
	char *whys[DAILY_REPORTS];
	bool has_before;
	struct finding_list findings;
	size_t n_failed;
};

/* ---- asking ---- */

/* All reports are about the window that the first one was answered for: by the ledger's clock. */
static void
take_window(struct daily *d, const struct report *report)
{
	int64_t us;

	assert(report->from && report->to);
	if (text_instant(report->from, strlen(report->from), false, &us))
		d->query.from_ms = us / 1000;
	if (text_instant(report->to, strlen(report->to), false, &us))
		d->query.to_ms = us / 1000;
}

static void
ask_before(struct daily *d)
{
	struct report_query query = d->query;
	char *why = NULL;

	query.name = daily_section_names[0];
	query.to_ms = d->query.from_ms;
	query.from_ms = query.to_ms - (d->query.to_ms - d->query.from_ms);
	if (query.from_ms < 0)
		return;
	d->has_before = report_ask(d->ctl, &query, &d->before, &why) == CTL_OK;
	free(why);
}

static void
ask_all(struct daily *d)
{
	size_t n_silent = 0;

	for (size_t i = 0; i < DAILY_REPORTS; i++) {
		d->query.name = daily_section_names[i];
		if (n_silent >= 2) {
			d->codes[i] = CTL_UNAVAILABLE;
			d->whys[i] = xstrdup("not asked for, as two in a row had no answer");
		} else {
			d->codes[i] = report_ask(d->ctl, &d->query, &d->reports[i], &d->whys[i]);
		}
		n_silent = d->codes[i] == CTL_UNAVAILABLE ? n_silent + 1 : 0;
		d->n_failed += d->codes[i] != CTL_OK;
		if (d->codes[i])
			continue;
		finding_take(&d->findings, &d->reports[i]);
		if (i == 0) {
			take_window(d, &d->reports[0]);
			ask_before(d);
		}
	}
	finding_sort(&d->findings);
}

/* ---- the head ---- */

static void
add_window(struct buf *out, const struct daily *d)
{
	const struct report *known = NULL;

	for (size_t i = 0; i < DAILY_REPORTS && !known; i++)
		if (!d->codes[i])
			known = &d->reports[i];
	if (!known) {
		buf_add_str(out, "to see what is wrong: effectctl status");
		return;
	}
	daily_section_instant(out, known->from);
	buf_add_str(out, " to ");
	daily_section_instant(out, known->to);
	buf_add_str(out, " UTC");
	if (d->query.ns)
		buf_printf(out, ", namespace %s", d->query.ns);
	if (d->query.tool)
		buf_printf(out, ", tool %s", d->query.tool);
}

static void
set_headline(struct daily *d, struct page *page)
{
	size_t n = d->findings.n_warnings + d->n_failed;

	if (d->n_failed == DAILY_REPORTS) {
		page->headline = xstrdup("no report could be had");
		page->tone = PAGE_FAULT;
	} else if (n > 0) {
		page->headline = xasprintf("%zu thing%s to look at", n, n == 1 ? "" : "s");
		page->tone = d->n_failed > 0 ? PAGE_FAULT : PAGE_WARNING;
	} else {
		page->headline = xstrdup("nothing to look at");
		page->tone = PAGE_GOOD;
	}
}

static void
set_head(struct daily *d, struct page *page)
{
	struct buf window = {0};
	char host[256] = "";

	if (gethostname(host, sizeof host - 1) < 0 || !host[0])
		strcpy(host, "this host");
	page->title = xasprintf("effectd on %s", host);
	set_headline(d, page);
	add_window(&window, d);
	buf_str(&window);
	page->window = window.data;
}

/* Sums of all tools: `18,412 calls of 12 tools, 2,112 of them repeats that were caught`. */
static void
add_totals(const struct daily *d, struct page *page)
{
	double calls = 0, repeats = 0, calls_before = 0, n;
	struct buf out = {0};
	char *change;

	if (d->codes[0] || d->reports[0].n_rows == 0)
		return;
	for (size_t row = 0; row < d->reports[0].n_rows; row++) {
		calls += report_number(&d->reports[0], row, "calls", &n) ? n : 0;
		repeats += report_number(&d->reports[0], row, "replays", &n) ? n : 0;
	}
	for (size_t row = 0; d->has_before && row < d->before.n_rows; row++)
		calls_before += report_number(&d->before, row, "calls", &n) ? n : 0;
	if (calls > COUNT_MAX || repeats > COUNT_MAX)
		return;
	report_value_int(&out, (int64_t)calls);
	buf_add_str(&out, calls == 1 ? " call" : " calls");
	change = daily_section_change(calls, calls_before);
	if (change)
		buf_printf(&out, " (%s)", change);
	buf_add_str(&out, " of ");
	report_value_int(&out, d->reports[0].n);
	buf_add_str(&out, d->reports[0].n == 1 ? " tool; " : " tools; ");
	report_value_int(&out, (int64_t)repeats);
	buf_add_str(&out, repeats == 1 ? " repeat was caught" : " repeats were caught");
	page_line(page, PAGE_PLAIN, "%s", buf_str(&out));
	free(change);
	buf_free(&out);
}

/* What the counts lack, once, though every report that counts says so. */
static void
add_missing(const struct daily *d, struct page *page)
{
	const struct report *report = NULL;
	struct buf at = {0};

	for (size_t i = 0; i < DAILY_REPORTS && !report; i++)
		if (!d->codes[i] && d->reports[i].n_missing > 0)
			report = &d->reports[i];
	for (size_t i = 0; report && i < report->n_missing; i++) {
		const struct report_missing *m = &report->missing[i];

		buf_clear(&at);
		daily_section_instant(&at, m->after ? m->after : "an unknown time");
		page_line(page, PAGE_WARNING,
		    "Not counted: what daemon %s on %s was told in up to 10 s after %s, when it "
		    "was "
		    "killed.",
		    m->instance ? m->instance : "?", m->host ? m->host : "?", buf_str(&at));
	}
	buf_free(&at);
}

/* ---- findings ---- */

/* Which of the reports a finding is of; DAILY_REPORTS: none of them. */
static size_t
report_of(const struct report_finding *f)
{
	size_t i;

	for (i = 0; i < DAILY_REPORTS; i++)
		if (f->report && !strcmp(f->report, daily_section_names[i]))
			break;
	return i;
}

/* The key of an effect, if a row of its report has it. Owned. */
static char *
key_of(const struct daily *d, const struct report_finding *f)
{
	size_t which = report_of(f);
	const struct report *report = which < DAILY_REPORTS ? &d->reports[which] : NULL;
	char *effect;
	bool found;

	for (size_t row = 0; report && f->effect && row < report->n_rows; row++) {
		effect = report_text(report, row, "effect");
		found = effect && !strcmp(effect, f->effect);
		free(effect);
		if (found)
			return report_text(report, row, "key");
	}
	return NULL;
}

/* `Stuck: 6 [unknown_old]` */
static char *
caption(const struct report_finding *f, size_t n_alike)
{
	size_t which = report_of(f);
	const char *title = which < DAILY_REPORTS ? daily_section_title(which) : "Other";

	return n_alike > 1 ? xasprintf("%s: %zu [%s]", title, n_alike, f->code ? f->code : "?")
			   : xasprintf("%s [%s]", title, f->code ? f->code : "?");
}

/* n_alike: how many there are of its kind, on the first of them. */
static void
add_finding(
    const struct daily *d, struct page *page, const struct report_finding *f, size_t n_alike)
{
	struct page_block *block = page_add(page, PAGE_FINDING);
	struct buf whose = {0};

	block->tone = f->warning ? PAGE_WARNING : PAGE_ADVICE;
	finding_whose(&whose, f);
	block->whose = whose.len > 0 ? xstrdup(buf_str(&whose)) : NULL;
	block->key = key_of(d, f);
	block->text = xstrdup(f->text ? f->text : "");
	block->command = f->next && *f->next ? xstrdup(f->next) : NULL;
	if (n_alike > 0)
		block->more = caption(f, n_alike);
	buf_free(&whose);
}

/* Those of one kind, which begin at `at`. */
static void
add_kind(const struct daily *d, struct page *page, size_t at, size_t n_alike)
{
	const struct report_finding *first = d->findings.items[at];

	for (size_t i = 0; i < n_alike && i < ALIKE_MAX; i++)
		add_finding(d, page, d->findings.items[at + i], i == 0 ? n_alike : 0);
	if (n_alike > ALIKE_MAX)
		page_line(page, PAGE_MUTED, "and %zu more of this kind: effectctl report %s",
		    n_alike - ALIKE_MAX,
		    report_of(first) < DAILY_REPORTS ? first->report : "daily");
}

/* A report that is missing hides what it would have said. */
static void
add_failed(const struct daily *d, struct page *page)
{
	struct page_block *block;

	for (size_t i = 0; i < DAILY_REPORTS; i++) {
		if (!d->codes[i])
			continue;
		block = page_add(page, PAGE_FINDING);
		block->tone = PAGE_FAULT;
		block->more = xstrdup(daily_section_title(i));
		block->text = xasprintf("this report could not be had: %s", d->whys[i]);
		block->command = xasprintf("effectctl report %s", daily_section_names[i]);
	}
}

static void
add_findings(const struct daily *d, struct page *page)
{
	size_t n_alike, n_advice = d->findings.n - d->findings.n_warnings;
	struct buf count = {0};

	if ((d->findings.n == 0 && d->n_failed == 0) || d->n_failed == DAILY_REPORTS)
		return;
	if (d->n_failed > 0)
		buf_printf(&count, "%zu report%s missing%s", d->n_failed,
		    d->n_failed == 1 ? " is" : "s are", d->findings.n > 0 ? ", " : "");
	finding_count(&count, d->findings.n_warnings, n_advice);
	page_section(page, PAGE_PLAIN, "What to look at", buf_str(&count));
	add_failed(d, page);
	for (size_t i = 0; i < d->findings.n; i += n_alike) {
		n_alike = finding_alike(&d->findings, i);
		add_kind(d, page, i, n_alike);
	}
	buf_free(&count);
}

/* ---- the rest ---- */

static void
add_sections(const struct daily *d, struct page *page)
{
	for (size_t i = 0; i < DAILY_REPORTS; i++) {
		if (d->codes[i]) {
			page_section(page, PAGE_PLAIN, daily_section_title(i), "could not be had");
			page_line(page, PAGE_FAULT, "%s", d->whys[i]);
			continue;
		}
		daily_section(page, i, &d->reports[i], d->has_before ? &d->before : NULL,
		    d->query.limit >= 0 ? (size_t)d->query.limit : 0);
	}
}

static int
exit_code(const struct daily *d)
{
	for (size_t i = 0; i < DAILY_REPORTS; i++)
		if (d->codes[i])
			return d->codes[i];
	return d->findings.n_warnings > 0 ? CTL_FINDINGS : CTL_OK;
}

int
daily_page(const struct ctl *ctl, const struct report_query *query, struct page *ret)
{
	struct daily d = {.ctl = ctl, .query = *query};
	int64_t limit = query->limit;
	int code;

	*ret = (struct page){0};
	d.query.limit = ROWS_ASKED;
	ask_all(&d);
	d.query.limit = limit;
	set_head(&d, ret);
	add_totals(&d, ret);
	add_missing(&d, ret);
	add_findings(&d, ret);
	add_sections(&d, ret);
	code = exit_code(&d);
	for (size_t i = 0; i < DAILY_REPORTS; i++) {
		report_free(&d.reports[i]);
		free(d.whys[i]);
	}
	report_free(&d.before);
	free(d.findings.items);
	return code;
}
