/*
 * Canonical JSON: RFC 8785 with one documented extension. Members sort by UTF-16 code units,
 * strings carry the fewest escapes, numbers are spelt as ECMAScript does. Pure, independent of the
 * locale.
 *
 * The extension: an integer literal (an optional minus and digits, nothing else) whose RFC 8785
 * form denotes another integer keeps its exact digits, so that 2^53 and 2^53+1 differ.
 * 9007199254740993 stays what it is; 9007199254740993.0 and 9007199254740993e0 are no integer
 * literals and become 9007199254740992; 1000000000000000000000 is 1e+21, which denotes the same
 * integer. -0 is 0, and so is what underflows (1e-400). No Unicode normalisation.
 */
#ifndef EFFECTD_CANON_H
#define EFFECTD_CANON_H

#include "buf.h"
#include "json.h"

/*
 * Appends the canonical form of `node` to `out`, leaving out what stands at the RFC 6901 pointers
 * `skip[0, n_skip)` (valid, relative to `node`; an array element is left out as if the array were
 * shorter, all indices being those before). A pointer at nothing leaves out nothing; "" leaves out
 * everything: `{}` is written, as for no args. The doc must have been scanned without fault under
 * `node`, and the opaque value must not stand there.
 */
void canon_value(
    struct buf *out, const struct json_doc *doc, uint32_t node, char *const *skip, size_t n_skip);
/* The canonical spelling of one number literal text[0, len) (grammatical, within double range). */
void canon_number(struct buf *out, const char *text, size_t len);

#endif
