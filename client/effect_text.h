/*
 * A line under way: grows, and remembers if there was no memory, so that whoever writes looks once,
 * at the end.
 */
#ifndef EFFECT_TEXT_H
#define EFFECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effect_text {
	char *data; /* owned by whoever has the struct: free() */
	size_t len, cap;
	bool failed; /* no memory: what was added since is not there */
};

/* Room for `room` bytes from the start; false if there is no memory. */
bool effect_text_reserve(struct effect_text *text, size_t room);
void effect_text_add(struct effect_text *text, const char *data, size_t len);
void effect_text_str(struct effect_text *text, const char *str);
/* A JSON string, quoted and escaped, of at most `max` bytes of `str`, cut at a character's edge. */
void effect_text_string(struct effect_text *text, const char *str, size_t max);
/* ,"name":"value" (nothing if value is NULL), ,"name":N */
void effect_text_member(struct effect_text *text, const char *name, const char *value);
void effect_text_member_int(struct effect_text *text, const char *name, int64_t value);
/* JSON as it is, but line ends between its tokens as blanks: a line has one end. */
void effect_text_json(struct effect_text *text, const char *json, size_t len);

#endif
