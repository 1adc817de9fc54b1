/*
 * Reading JSON in place: finds where values begin and end, and hands out raw spans, because the
 * bytes of a recorded result are not ours to print anew. Allocates nothing and cannot fail but by
 * what the text says. Pure. Grammar of RFC 8259; UTF-8 and the range of numbers are the daemon's to
 * judge.
 */
#ifndef EFFECT_JSON_H
#define EFFECT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum effect_json_type {
	EFFECT_JSON_NULL,
	EFFECT_JSON_FALSE,
	EFFECT_JSON_TRUE,
	EFFECT_JSON_NUMBER,
	EFFECT_JSON_STRING,
	EFFECT_JSON_ARRAY,
	EFFECT_JSON_OBJECT
};

/* A value's raw text, quotes of a string included; borrowed. */
struct effect_json_span {
	const char *at;
	size_t len;
	enum effect_json_type type;
};

/* Containers inside each other that are told apart. Deeper ones are refused, or only counted. */
#define EFFECT_JSON_DEPTH_MAX 4096

/*
 * Is text[0, len) one JSON value, blanks around it allowed, nested no deeper than `depth_max` (at
 * most EFFECT_JSON_DEPTH_MAX)? Sets the span of the value.
 */
bool effect_json_one(
    const char *text, size_t len, unsigned depth_max, struct effect_json_span *ret_value);

/* A walk over the members of an object. */
struct effect_json_walk {
	const char *at, *end;
	bool begun, broken;
};
/* `text` begins with the object's brace; nothing is known to be sound yet. */
void effect_json_walk(struct effect_json_walk *walk, const char *text, size_t len);
/*
 * The next member. False at the closing brace, or where the text is no JSON: then walk->broken.
 * After the closing brace walk->at stands behind it. A value that nests deeper than
 * EFFECT_JSON_DEPTH_MAX is found by counting: its brackets balance, but may be of the wrong kind.
 */
bool effect_json_next(struct effect_json_walk *walk, struct effect_json_span *ret_name,
    struct effect_json_span *ret_value);

/* Does the string or name read `text`? (One that is escaped differs.) */
bool effect_json_is(const struct effect_json_span *string, const char *text);
/*
 * Unescapes a string into `to`, which has room for string->len bytes; adds a NUL and returns the
 * length without it. A lone surrogate becomes U+FFFD. `to` may be where the string stands.
 */
size_t effect_json_unescape(const struct effect_json_span *string, char *to);
/* An integer literal within int64; false otherwise. */
bool effect_json_int(const struct effect_json_span *number, int64_t *ret_value);

#endif
