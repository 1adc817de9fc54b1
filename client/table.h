/*
 * Tables for people, by libsmartcols: columns that fit the terminal, every cell safe for it.
 */
#ifndef EFFECTD_TABLE_H
#define EFFECTD_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct table;

/* Where the terminal is too narrow for it, a column ... */
enum table_fit { TABLE_WHOLE, TABLE_CUT, TABLE_WRAP };

struct table_column {
	const char *name;
	double width; /* as a share of the terminal (0.3), or as columns (10) */
	enum table_fit fit;
	bool right;
	size_t terminal_min; /* left out on a narrower terminal; 0 = always there */
};

/* How many columns standard output has: the terminal's, else $COLUMNS, else 0, which is any. */
size_t table_terminal(void);

/* columns[0, n) is copied. */
struct table *table_new(const struct table_column *columns, size_t n);
/* Starts a row; its cells are empty until set. */
void table_row(struct table *table);
/* Sets a cell of the newest row; `text` comes from the wire and is escaped here. NULL leaves it
 * empty. */
void table_cell(struct table *table, size_t column, const char *text);
void table_cell_int(struct table *table, size_t column, long long value);
/* Prints to stdout (nothing at all if there are no rows) and frees. */
void table_end(struct table *table);

#endif
