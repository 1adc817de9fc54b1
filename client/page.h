/*
 * A page of a report before it is text or HTML: headings, findings, items and tables, in order.
 * Texts are as they came, escaped by whoever renders them (page_text, page_html). The page owns
 * copies of all of them.
 */
#ifndef EFFECTD_PAGE_H
#define EFFECTD_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#define PAGE_COLUMNS_MAX 8
#define PAGE_BARS_MAX 8

enum page_tone { PAGE_PLAIN, PAGE_GOOD, PAGE_ADVICE, PAGE_WARNING, PAGE_FAULT, PAGE_MUTED };

enum page_kind {
	PAGE_SECTION, /* text: its title; more: how many; PAGE_MUTED: why there is nothing in it */
	PAGE_LINE,    /* text */
	PAGE_FINDING, /* whose, key, text, command; more: the title of its kind, on the first of it
		       */
	PAGE_ITEM,    /* whose, key, text: what there is to say of it; more: its effect */
	PAGE_TABLE
};

struct page_column {
	const char *name; /* borrowed; static */
	const char
	    *under; /* what stands below its values; in text a column of its own. NULL = none */
	bool right;
};

struct page_cell {
	char *text, *under; /* NULL = nothing */
	double share;	    /* 0..1 is a bar below the text; negative: none */
	double bars[PAGE_BARS_MAX];
	size_t n_bars; /* a histogram instead of the text */
	enum page_tone tone;
};

struct page_block {
	enum page_kind kind;
	enum page_tone tone;
	char *whose, *key, *text, *command, *more;
	/* a table */
	struct page_column columns[PAGE_COLUMNS_MAX];
	size_t n_columns, n_rows;
	struct page_cell *cells; /* n_columns a row */
};

struct page {
	char *title;	/* what it is of: `effectd on pay1` */
	char *headline; /* `3 things to look at` */
	char *window;
	enum page_tone tone;
	struct page_block *blocks;
	size_t n_blocks;
};

/* Appends a block, zeroed but for its kind; valid until the next one is appended. */
struct page_block *page_add(struct page *page, enum page_kind kind);
/* The common ones. */
void page_section(struct page *page, enum page_tone tone, const char *title, const char *more);
void page_line(struct page *page, enum page_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends a row of empty cells to a table and returns its first one. */
struct page_cell *page_row(struct page_block *table);
void page_free(struct page *page);

#endif
