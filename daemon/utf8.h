/*
 * UTF-8, character by character, and which characters a person must not be shown as they are.
 * Pure.
 */
#ifndef EFFECTD_UTF8_H
#define EFFECTD_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at text[0, len), len > 0: how many bytes it has, its code point in *ret. 0 (ret
 * untouched): there is none, be it a surrogate, too long a form or cut short. */
size_t utf8_char(const char *text, size_t len, uint32_t *ret);
/* Does it move the cursor, turn the writing's direction, or is it not seen at all? Whoever shows
 * it, in a terminal or a log, shows an escape. */
bool utf8_misleads(uint32_t c);

#endif
