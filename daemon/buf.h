/*
 * A growing byte buffer with the JSON output verbs everything of ours is written with. Output is
 * compact. The owner frees it with buf_free(); buf_clear() keeps the memory for the next use.
 */
#ifndef EFFECTD_BUF_H
#define EFFECTD_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* not NUL-terminated, but for buf_str() */
	size_t len;
	size_t cap;
};

void buf_free(struct buf *b);
void buf_clear(struct buf *b);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_add_str(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_add_int(struct buf *b, int64_t value); /* decimal */
/* Microseconds since the Unix epoch as RFC 3339 UTC with milliseconds. */
void buf_instant(struct buf *b, int64_t unix_us);
const char *buf_str(struct buf *b); /* adds a NUL behind len; valid until the next add */

/* One JSON string, quoted and escaped; `text` is valid UTF-8 of `len` bytes. */
void buf_json_string(struct buf *b, const char *text, size_t len);
/* The character `c` as a \u escape of JSON, a surrogate pair where it needs one. */
void buf_json_escape(struct buf *b, uint32_t c);
/* `,"name":` or `"name":` (no comma after an opening brace); name needs no escaping. */
void buf_json_member(struct buf *b, const char *name);
void buf_json_member_str(struct buf *b, const char *name, const char *text);
void buf_json_member_int(struct buf *b, const char *name, int64_t value);
void buf_json_member_bool(struct buf *b, const char *name, bool value);
void buf_json_member_raw(struct buf *b, const char *name, const char *raw, size_t len);
/* As buf_instant(), quoted. */
void buf_json_member_instant(struct buf *b, const char *name, int64_t unix_us);

#endif
