/*
 * Text for mail. Promise: no line but a command is wider than PAGE_TEXT_COLUMNS, and nothing of the
 * page's texts is more than text (show.h). Owns nothing.
 */
#include "page_text.h"

#include "bars.h"
#include "command.h"
#include "show.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN_MIN 8
#define GAP_MAX 2 /* between columns; 1 where there is no room */
#define CELLS_MAX (2 * PAGE_COLUMNS_MAX)

static void
add_blanks(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_add_char(out, ' ');
}

/* How much of an escaped text has room in `columns`: whole characters, whole escapes where it can
 * be helped. */
static size_t
fitting(const char *text, size_t len, size_t columns)
{
	size_t at = 0, next;

	while (at < len) {
		for (next = at + 1; next < len && ((unsigned char)text[next] & 0xc0) == 0x80;
		     next++)
			;
		if (show_width(text, next) > columns)
			break;
		at = next;
	}
	return at;
}

/* A text in lines that are indented; broken at blanks, and within a word that has no room. */
static void
add_wrapped(struct buf *out, size_t first, size_t indent, const char *text)
{
	size_t room = PAGE_TEXT_COLUMNS - first, len, cut;
	struct buf safe = {0};
	const char *at;

	show_text(&safe, text, strlen(text));
	at = buf_str(&safe);
	len = safe.len;
	while ((cut = fitting(at, len, room)) < len) {
		for (size_t i = cut; i > 0; i--) {
			if (at[i] == ' ') {
				cut = i;
				break;
			}
		}
		buf_add(out, at, cut);
		while (cut < len && at[cut] == ' ')
			cut++;
		at += cut;
		len -= cut;
		buf_add_char(out, '\n');
		add_blanks(out, indent);
		room = PAGE_TEXT_COLUMNS - indent;
	}
	buf_add(out, at, len);
	buf_add_char(out, '\n');
	buf_free(&safe);
}

static void
add_section(struct buf *out, const struct page_block *b)
{
	size_t start = out->len;

	show_text(out, b->text, strlen(b->text));
	if (b->more) {
		buf_add_str(out, ": ");
		show_text(out, b->more, strlen(b->more));
	}
	start = show_width(out->data + start, out->len - start);
	buf_add_char(out, '\n');
	if (b->tone == PAGE_MUTED)
		return;
	for (size_t i = 0; i < start && i < PAGE_TEXT_COLUMNS; i++)
		buf_add_char(out, '-');
	buf_add_char(out, '\n');
}

static void
add_line(struct buf *out, const struct page_block *b)
{
	add_wrapped(out, 0, 2, b->text);
}

/* `tool  key`, whichever there is. */
static void
add_whose(struct buf *out, const struct page_block *b)
{
	struct buf whose = {0};

	buf_add_str(&whose, b->whose ? b->whose : "");
	if (b->key) {
		buf_add_str(&whose, whose.len > 0 ? "  " : "");
		buf_add_str(&whose, b->key);
	}
	if (whose.len > 0)
		add_wrapped(out, 2, 4, buf_str(&whose));
	else
		out->len -= 2;
	buf_free(&whose);
}

static void
add_finding(struct buf *out, const struct page_block *b)
{
	bool owned = b->whose || b->key;

	if (b->more) {
		buf_add_char(out, '\n');
		add_wrapped(out, 0, 2, b->more);
	}
	buf_add_str(out, b->tone == PAGE_ADVICE ? "- " : "! ");
	if (owned) {
		add_whose(out, b);
		add_blanks(out, 2);
	}
	add_wrapped(out, 2, 2, b->text ? b->text : "");
	if (b->command) {
		add_blanks(out, 4);
		command_add(out, b->command);
		buf_add_char(out, '\n');
	}
}

static void
add_item(struct buf *out, const struct page_block *b)
{
	add_blanks(out, 2);
	add_whose(out, b);
	if (b->text && *b->text) {
		add_blanks(out, 4);
		add_wrapped(out, 4, 4, b->text);
	}
	if (b->more) {
		add_blanks(out, 4);
		add_wrapped(out, 4, 4, b->more);
	}
}

/* ---- tables ---- */

/* A table's columns as text has them: what stands under a value is one of its own. */
struct grid {
	const struct page_block *block;
	struct {
		const char *name;
		size_t column, width;
		bool under, right;
	} columns[CELLS_MAX];
	size_t n, gap;
};

/* The text of a cell, escaped. */
static void
add_cell(struct buf *out, const struct page_cell *cell, bool under)
{
	const char *text = under ? cell->under : cell->text;

	if (!under && cell->n_bars > 0)
		bars_add(out, cell->bars, cell->n_bars, false);
	else if (text)
		show_text(out, text, strlen(text));
}

static size_t
widest(const struct grid *grid, size_t i)
{
	size_t n = strlen(grid->columns[i].name), width;
	struct buf cell = {0};

	for (size_t row = 0; row < grid->block->n_rows; row++) {
		buf_clear(&cell);
		add_cell(&cell,
		    &grid->block->cells[row * grid->block->n_columns + grid->columns[i].column],
		    grid->columns[i].under);
		width = show_width(cell.data, cell.len);
		n = width > n ? width : n;
	}
	buf_free(&cell);
	return n;
}

/* Takes room from the gaps, then from the widest column that is no number, until all have room. */
static void
squeeze(struct grid *grid)
{
	size_t all, most;

	for (;;) {
		all = 0;
		most = SIZE_MAX;
		for (size_t i = 0; i < grid->n; i++) {
			all += grid->columns[i].width + (i > 0 ? grid->gap : 0);
			if (!grid->columns[i].right && grid->columns[i].width > COLUMN_MIN &&
			    (most == SIZE_MAX ||
				grid->columns[i].width > grid->columns[most].width))
				most = i;
		}
		if (all <= PAGE_TEXT_COLUMNS)
			return;
		if (grid->gap > 1)
			grid->gap = 1;
		else if (most != SIZE_MAX)
			grid->columns[most].width--;
		else
			grid->n--;
	}
}

static void
add_column(struct grid *grid, size_t column, bool under)
{
	const struct page_column *head = &grid->block->columns[column];

	grid->columns[grid->n].name = under ? head->under : head->name;
	grid->columns[grid->n].column = column;
	grid->columns[grid->n].under = under;
	grid->columns[grid->n].right = head->right;
	grid->columns[grid->n].width = widest(grid, grid->n);
	grid->n++;
}

static void
plan(struct grid *grid)
{
	for (size_t i = 0; i < grid->block->n_columns; i++) {
		add_column(grid, i, false);
		if (grid->block->columns[i].under)
			add_column(grid, i, true);
	}
	squeeze(grid);
}

/* One cell in its column's width; a text that was cut ends in `~`. */
static void
add_field(struct buf *out, const struct grid *grid, size_t i, const char *text, size_t len)
{
	size_t width = grid->columns[i].width, has = show_width(text, len);
	bool last = i + 1 == grid->n;

	if (i > 0)
		add_blanks(out, grid->gap);
	if (has > width) {
		len = fitting(text, len, width - 1);
		has = show_width(text, len);
		buf_add(out, text, len);
		buf_add_char(out, '~');
		add_blanks(out, last ? 0 : width - has - 1);
		return;
	}
	if (grid->columns[i].right)
		add_blanks(out, width - has);
	buf_add(out, text, len);
	if (!grid->columns[i].right && !last)
		add_blanks(out, width - has);
}

static void
add_table(struct buf *out, const struct page_block *b)
{
	struct grid grid = {.block = b, .gap = GAP_MAX};
	struct buf cell = {0};

	plan(&grid);
	for (size_t i = 0; i < grid.n; i++)
		add_field(out, &grid, i, grid.columns[i].name, strlen(grid.columns[i].name));
	buf_add_char(out, '\n');
	for (size_t row = 0; row < b->n_rows; row++) {
		for (size_t i = 0; i < grid.n; i++) {
			buf_clear(&cell);
			add_cell(&cell, &b->cells[row * b->n_columns + grid.columns[i].column],
			    grid.columns[i].under);
			add_field(out, &grid, i, buf_str(&cell), cell.len);
		}
		while (out->data[out->len - 1] == ' ')
			out->len--;
		buf_add_char(out, '\n');
	}
	buf_free(&cell);
}

static bool
is_muted(const struct page_block *b)
{
	return b->kind == PAGE_SECTION && b->tone == PAGE_MUTED;
}

void
page_text(struct buf *out, const struct page *page)
{
	static void (*const adds[])(struct buf *, const struct page_block *) = {
	    [PAGE_SECTION] = add_section,
	    [PAGE_LINE] = add_line,
	    [PAGE_FINDING] = add_finding,
	    [PAGE_ITEM] = add_item,
	    [PAGE_TABLE] = add_table};
	struct buf head = {0};

	buf_printf(&head, "%s: %s", page->title, page->headline);
	add_wrapped(out, 0, 2, buf_str(&head));
	add_wrapped(out, 0, 2, page->window);
	for (size_t i = 0; i < page->n_blocks; i++) {
		const struct page_block *b = &page->blocks[i];

		/* sections that have nothing to say stand together */
		if (b->kind == PAGE_SECTION &&
		    (b->tone != PAGE_MUTED || !is_muted(&page->blocks[i - (i > 0)])))
			buf_add_char(out, '\n');
		adds[b->kind](out, b);
	}
	buf_free(&head);
}
