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

/*
 * Compiles `text`. `secret[0, n_secret)` are pointers that no placeholder may stand at or under. On
 * failure returns NULL and sets *ret_why to a static or owned one-line reason (caller frees).
 */
struct key_template *key_compile(
    const char *text, char *const *secret, size_t n_secret, char **ret_why);
void key_template_free(struct key_template *t);
const char *key_template_text(const struct key_template *t);
/* Does it use {args} (so that the fingerprint is needed before the key)? */
bool key_template_uses_args(const struct key_template *t);

struct key_parts {
	const struct json_doc *doc;
	uint32_t args;		       /* node of args, 0 if there are none */
	const char *run, *step, *turn; /* NULL = absent; numbers already in canonical spelling */
	const char *tool;
	const char *fingerprint_hex; /* 32 hex digits */
};

/*
 * Appends the key (1..255 bytes) to `out`. ERR_INVALID_PARAMS: something it derives from is
 * missing, null, empty, an object or an array, or the key came out empty; ret_pointer (at least 256
 * bytes) then names the member of params ("/args/order_id", "/run"), *ret_why is a static reason.
 */
int key_expand(const struct key_template *t, const struct key_parts *parts, struct buf *out,
    char *ret_pointer, const char **ret_why) must_check;
/* Is a given key well formed (1..255 bytes, UTF-8, no control characters: C0, DEL, C1)? Returns
 * NULL or a static reason. */
const char *key_check(const char *key, size_t len);

#endif
