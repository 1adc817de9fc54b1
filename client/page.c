/*
 * The page's memory. Owns all that is in it. What stands on a page and how it looks does not belong
 * here.
 */
#include "page.h"

#include "alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct page_block *
page_add(struct page *page, enum page_kind kind)
{
	page->blocks = xrealloc(page->blocks, (page->n_blocks + 1) * sizeof *page->blocks);
	page->blocks[page->n_blocks] = (struct page_block){.kind = kind};
	return &page->blocks[page->n_blocks++];
}

void
page_section(struct page *page, enum page_tone tone, const char *title, const char *more)
{
	struct page_block *block = page_add(page, PAGE_SECTION);

	block->tone = tone;
	block->text = xstrdup(title);
	block->more = more ? xstrdup(more) : NULL;
}

void
page_line(struct page *page, enum page_tone tone, const char *fmt, ...)
{
	struct page_block *block = page_add(page, PAGE_LINE);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	block->tone = tone;
	block->text = xmalloc((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(block->text, (size_t)n + 1, fmt, ap);
	va_end(ap);
}

struct page_cell *
page_row(struct page_block *table)
{
	size_t n = table->n_rows++ * table->n_columns;

	table->cells = xrealloc(table->cells, (n + table->n_columns) * sizeof *table->cells);
	for (size_t i = 0; i < table->n_columns; i++)
		table->cells[n + i] = (struct page_cell){.share = -1};
	return &table->cells[n];
}

static void
block_free(struct page_block *block)
{
	for (size_t i = 0; i < block->n_rows * block->n_columns; i++) {
		free(block->cells[i].text);
		free(block->cells[i].under);
	}
	free(block->cells);
	free(block->whose);
	free(block->key);
	free(block->text);
	free(block->command);
	free(block->more);
}

void
page_free(struct page *page)
{
	for (size_t i = 0; i < page->n_blocks; i++)
		block_free(&page->blocks[i]);
	free(page->blocks);
	free(page->title);
	free(page->headline);
	free(page->window);
	*page = (struct page){0};
}
