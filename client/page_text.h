/*
 * A page as text for mail: 78 columns, its own marks in ASCII.
 */
#ifndef EFFECTD_PAGE_TEXT_H
#define EFFECTD_PAGE_TEXT_H

#include "buf.h"
#include "page.h"

#define PAGE_TEXT_COLUMNS 78

/* Appends it, safe for a terminal. Only commands, which are pasted, may be longer than a line. */
void page_text(struct buf *out, const struct page *page);

#endif
