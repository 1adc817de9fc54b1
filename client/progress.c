/*
 * The bar. Promise: no control character but a carriage return is written, and never a line that
 * is wider than the terminal is at that moment, so that it moves over nothing that is not its own.
 */
#include "progress.h"

#include "buf.h"
#include "conn.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DRAW_MS 100
#define LINE_MS 10000
#define BAR_COLUMNS 20
#define COLUMNS_UNKNOWN 80
#define RATE_MS_MIN 500 /* before that, a rate says nothing */

void
progress_init(struct progress *p, bool quiet)
{
	*p = (struct progress){.quiet = quiet, .terminal = isatty(STDERR_FILENO) == 1};
}

void
progress_start(struct progress *p, const char *what)
{
	p->what = what;
	p->started_ms = conn_now_ms();
	p->told_ms = p->terminal ? 0 : p->started_ms;
}

static int
terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return COLUMNS_UNKNOWN;
}

static void
add_time(struct buf *out, int64_t seconds)
{
	if (seconds < 90)
		buf_printf(out, "%lld s", (long long)seconds);
	else if (seconds < 5400)
		buf_printf(out, "%lld min", (long long)(seconds + 30) / 60);
	else
		buf_printf(out, "%lld h", (long long)(seconds + 1800) / 3600);
}

/* `45 %, 123456 rows, 61000 rows/s, 12 s left` */
static void
add_numbers(struct buf *out, const struct progress *p, double share, uint64_t n_rows, int64_t ms)
{
	if (share >= 0)
		buf_printf(out, "%d %%, ", (int)(share * 100));
	buf_printf(out, "%llu rows", (unsigned long long)n_rows);
	if (ms - p->started_ms < RATE_MS_MIN)
		return;
	buf_printf(out, ", %llu rows/s",
	    (unsigned long long)(n_rows * 1000 / (uint64_t)(ms - p->started_ms)));
	if (share > 0.01) {
		buf_add_str(out, ", ");
		add_time(
		    out, (int64_t)((double)(ms - p->started_ms) * (1 - share) / share / 1000) + 1);
		buf_add_str(out, " left");
	}
}

/* How much of the line what was drawn last may take. In a window that got narrower that is all of
 * it, the last column included, in which nothing is drawn otherwise: a terminal may go on to the
 * next line from there, but not at a return to the beginning. */
static int
n_stale(const struct progress *p, int columns)
{
	return p->n_shown > columns ? columns + 1 : p->n_shown;
}

static void
draw(struct progress *p, double share, uint64_t n_rows, int64_t ms)
{
	int columns = terminal_columns() - 1, n_full;
	struct buf line = {0};

	buf_printf(&line, "%s ", p->what);
	if (share >= 0) {
		n_full = (int)(share * BAR_COLUMNS);
		buf_add_char(&line, '[');
		for (int i = 0; i < BAR_COLUMNS; i++)
			buf_add_char(&line, i < n_full ? '#' : '.');
		buf_add_str(&line, "] ");
	}
	add_numbers(&line, p, share, n_rows, ms);
	if ((int)line.len > columns)
		line.len = columns > 0 ? (size_t)columns : 0;
	fprintf(stderr, "\r%.*s", (int)line.len, line.data);
	for (int i = (int)line.len; i < n_stale(p, columns); i++)
		fputc(' ', stderr);
	fflush(stderr);
	p->n_shown = (int)line.len;
	buf_free(&line);
}

void
progress_at(struct progress *p, double share, uint64_t n_rows)
{
	int64_t ms;
	struct buf line = {0};

	if (p->quiet)
		return;
	ms = conn_now_ms();
	if (ms - p->told_ms < (p->terminal ? DRAW_MS : LINE_MS))
		return;
	p->told_ms = ms;
	if (share > 1)
		share = 1;
	if (p->terminal) {
		draw(p, share, n_rows, ms);
		return;
	}
	add_numbers(&line, p, share, n_rows, ms);
	fprintf(stderr, "effectctl: %s: %s\n", p->what, buf_str(&line));
	buf_free(&line);
}

void
progress_clear(struct progress *p)
{
	int columns = terminal_columns() - 1;

	if (p->n_shown > 0)
		fprintf(stderr, "\r%*s\r", n_stale(p, columns), "");
	p->n_shown = 0;
}
