/*
 * Canonical JSON: RFC 8785 with one documented extension (an integer literal whose RFC 8785 form denotes another
 * integer keeps its exact digits). Members sort by UTF-16 code units; numbers are spelt as ECMAScript does. Pure,
 * independent of the locale.
 */
#ifndef EFFECTD_CANON_H
#define EFFECTD_CANON_H

#include "buf.h"
#include "json.h"

/*
 * Appends the canonical form of `node` to `out`, leaving out what stands at the RFC 6901 pointers `skip[0, n_skip)` (relative to `node`;
 * an array element is left out as if the array were shorter). The doc must have been scanned without fault under `node`.
 */
void canon_value(struct buf *out, const struct json_doc *doc, uint32_t node, char *const *skip, size_t n_skip);
/* The canonical spelling of one number literal text[0, len) (valid by the grammar, within double range). */
void canon_number(struct buf *out, const char *text, size_t len);

#endif
