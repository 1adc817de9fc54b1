/*
 * Key templates: literals and placeholders, compiled when a policy loads, expanded for each begin.
 * The rules stand in effectd-tools(5). Pure.
 */
#ifndef EFFECTD_KEY_H
#define EFFECTD_KEY_H

#include "buf.h"
#include "errors.h"
#include "json.h"

struct key_template;

#define KEY_TEMPLATE_DEFAULT "{run}/{step}/{tool}/{args}"
#define KEY_POINTER_BYTES 256 /* room for a told pointer and its NUL */

/*
 * Compiles `text`: literals, `{/json/pointer}` into args, {run}, {step}, {turn}, {tool} and {args}
 * (the fingerprint). `secret[0, n_secret)` are pointers that no placeholder may stand at or under.
 * The template owns copies of all it needs. NULL if it is refused; *ret_why is then one line that
 * the caller frees. Refused are: an empty template, control characters, invalid UTF-8, a brace
 * without its other half, an unknown placeholder, a pointer not of RFC 6901, a '%', and a pair of
 * placeholders whose literal between lacks an ASCII character that is neither letter nor digit: it
 * is what keeps their values apart.
 */
struct key_template *key_compile(
    const char *text, char *const *secret, size_t n_secret, char **ret_why);
void key_template_free(struct key_template *t);
const char *key_template_text(const struct key_template *t);
/* Does it use {args} (so that the fingerprint is needed before the key)? */
bool key_template_uses_args(const struct key_template *t);
/* Does a placeholder stand at or under this pointer into the args? */
bool key_template_uses(const struct key_template *t, const char *pointer);
/* Does its key depend on nothing of a call but its tool? All calls of the tool then are one effect.
 */
bool key_template_is_constant(const struct key_template *t);

struct key_parts {
	const struct json_doc *doc;
	uint32_t args;		       /* node of args, 0 if there are none */
	const char *run, *step, *turn; /* NULL = absent; numbers already in canonical spelling */
	const char *tool;
	const char *fingerprint_hex; /* 32 hex digits; only for {args} */
};

/*
 * Appends the key (1..255 bytes, passes key_check()) to `out`. In values ASCII letters, digits and
 * whichever of . _ ~ - no literal of the template uses stay; every other byte below 0x80 becomes
 * %XX in upper case, and so do the bytes of U+0080..U+009F, which a key may not hold. A key that
 * comes out longer than 255 bytes keeps its first 180, cut back to a character's and an escape's
 * edge, and ends in '#' and the SHA-256 of the whole.
 *
 * ERR_INVALID_PARAMS: something it derives from is missing, null, empty, an object or an array;
 * ret_pointer (KEY_POINTER_BYTES) then names the member of params ("/args/order_id", "/run"),
 * *ret_why is a static reason ("is missing"), and `out` is as it was.
 */
int key_expand(const struct key_template *t, const struct key_parts *parts, struct buf *out,
    char *ret_pointer, const char **ret_why) must_check;
/*
 * Is a given key well formed (1..255 bytes, UTF-8, no control characters: C0, DEL, C1)? NULL, or a
 * static reason.
 */
const char *key_check(const char *key, size_t len);

#endif
