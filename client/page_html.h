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
/* Appends text[0, len) for an element or an attribute in double quotes: markup as entities, what is
 * not seen as the escapes of show_utf8(). */
void page_html_text(struct buf *out, const char *text, size_t len);

#endif
