/*
 * The thin layer over libsmartcols. Promise: cells are escaped by our own rule (show.c), as the
 * library's own encoding knows no bidirectional overrides. Memory: the table owns all cells; out of
 * memory ends the program.
 */
#include "table.h"

#include "alloc.h"
#include "buf.h"
#include "show.h"
#include "text.h"

#include <assert.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_MAX 64
#define TERMINAL_MAX 10000

struct table {
	struct libscols_table *scols;
	bool hidden[COLUMNS_MAX];
	struct libscols_line *line; /* the newest row, borrowed */
};

/* libsmartcols only fails for want of memory. */
static void
sure(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "effectctl: out of memory\n");
		exit(CTL_BUG);
	}
}

size_t
table_terminal(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int64_t n;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col > 0)
		return size.ws_col;
	return columns && text_int(columns, 1, TERMINAL_MAX, &n) ? (size_t)n : 0;
}

struct table *
table_new(const struct table_column *columns, size_t n)
{
	static const int fits[] = {
	    [TABLE_WHOLE] = 0, [TABLE_CUT] = SCOLS_FL_TRUNC, [TABLE_WRAP] = SCOLS_FL_WRAP};
	struct table *table = xcalloc(1, sizeof *table);
	int flags;

	assert(n <= COLUMNS_MAX);
	table->scols = scols_new_table();
	sure(table->scols ? 0 : -1);
	sure(scols_table_enable_noencoding(table->scols, 1));
	for (size_t i = 0; i < n; i++) {
		flags = fits[columns[i].fit] | (columns[i].right ? SCOLS_FL_RIGHT : 0);
		table->hidden[i] = isatty(STDOUT_FILENO) &&
		    scols_table_get_termwidth(table->scols) < columns[i].terminal_min;
		if (table->hidden[i])
			flags |= SCOLS_FL_HIDDEN;
		if (!scols_table_new_column(table->scols, columns[i].name, columns[i].width, flags))
			sure(-1);
	}
	return table;
}

void
table_row(struct table *table)
{
	table->line = scols_table_new_line(table->scols, NULL);
	sure(table->line ? 0 : -1);
}

void
table_cell(struct table *table, size_t column, const char *text)
{
	struct buf safe = {0};

	if (!text || table->hidden[column])
		return;
	show_text(&safe, text, strlen(text));
	sure(scols_line_set_data(table->line, column, buf_str(&safe)));
	buf_free(&safe);
}

void
table_cell_int(struct table *table, size_t column, long long value)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", value);
	table_cell(table, column, text);
}

void
table_end(struct table *table)
{
	if (table->line)
		sure(scols_print_table(table->scols));
	scols_unref_table(table->scols);
	free(table);
}
