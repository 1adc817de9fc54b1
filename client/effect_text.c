/*
 * A growing text. Promise: after a failure nothing is written any more, and what was there stays
 * whole memory, to be freed as ever.
 */
#include "effect_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_BYTES_MIN 256

bool
effect_text_reserve(struct effect_text *text, size_t room)
{
	size_t cap = text->cap < CAP_BYTES_MIN ? CAP_BYTES_MIN : text->cap;
	char *data;

	if (text->failed)
		return false;
	if (room <= text->cap - text->len)
		return true;
	text->failed = room > SIZE_MAX / 4 || text->len > SIZE_MAX / 4;
	while (!text->failed && cap - text->len < room)
		cap *= 2;
	data = text->failed ? NULL : realloc(text->data, cap);
	if (!data) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->cap = cap;
	return true;
}

void
effect_text_add(struct effect_text *text, const char *data, size_t len)
{
	if (len == 0 || !effect_text_reserve(text, len))
		return;
	memcpy(text->data + text->len, data, len);
	text->len += len;
}

void
effect_text_str(struct effect_text *text, const char *str)
{
	effect_text_add(text, str, strlen(str));
}

void
effect_text_string(struct effect_text *text, const char *str, size_t max)
{
	size_t len = strnlen(str, max), run = 0;
	char escape[8];

	if (str[len] != '\0') /* cut: not inside of a character */
		while (len > 0 && ((unsigned char)str[len] & 0xc0) == 0x80)
			len--;
	effect_text_str(text, "\"");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)str[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		effect_text_add(text, str + run, i - run);
		snprintf(escape, sizeof escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
		effect_text_str(text, escape);
		run = i + 1;
	}
	effect_text_add(text, str + run, len - run);
	effect_text_str(text, "\"");
}

static void
add_name(struct effect_text *text, const char *name)
{
	effect_text_str(text, ",\"");
	effect_text_str(text, name);
	effect_text_str(text, "\":");
}

void
effect_text_member(struct effect_text *text, const char *name, const char *value)
{
	if (!value)
		return;
	add_name(text, name);
	effect_text_string(text, value, SIZE_MAX);
}

void
effect_text_member_int(struct effect_text *text, const char *name, int64_t value)
{
	char digits[24];

	add_name(text, name);
	snprintf(digits, sizeof digits, "%" PRId64, value);
	effect_text_str(text, digits);
}

void
effect_text_json(struct effect_text *text, const char *json, size_t len)
{
	size_t from = text->len;

	effect_text_add(text, json, len);
	if (text->failed)
		return;
	for (size_t i = from; i < text->len; i++)
		if (text->data[i] == '\n' || text->data[i] == '\r')
			text->data[i] = ' ';
}
