/*
 * A page as one HTML document that mail clients show: tables and inline styles, nothing from
 * elsewhere, nothing that runs.
 */
#ifndef EFFECTD_PAGE_HTML_H
#define EFFECTD_PAGE_HTML_H

#include "buf.h"
#include "page.h"

/* Appends the document, in UTF-8. */
void page_html(struct buf *out, const struct page *page);

#endif
