/*
 * Words and durations as people write them in files: what the config and the tool policies spell
 * alike. Pure.
 */
#ifndef EFFECTD_TEXT_H
#define EFFECTD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_DURATION_BYTES 16 /* nine digits, a unit of two letters and a NUL fit */

/* `[0-9]{1,9}(ms|s|m|h|d)` up to 3650d -> milliseconds. False (ret untouched): malformed or out of
 * range. */
bool text_duration_ms(const char *text, int64_t *ret_ms);
/* The canonical spelling: the largest unit that divides ms (0 is "0s"). `ms` came out of
 * text_duration_ms(). */
void text_duration(int64_t ms, char ret[TEXT_DURATION_BYTES]);
/* A decimal integer without sign and leading zeros, within [min, max]. False (ret untouched)
 * otherwise. */
bool text_int(const char *text, int64_t min, int64_t max, int64_t *ret_value);
/*
 * An instant of RFC 3339 (2024-05-01T10:00:00Z, fractions, offsets; a blank for the T) as Unix
 * microseconds; what is finer is cut off. With `utc` an instant without offset is one of UTC.
 * False (ret untouched): it is none, such as one without offset, or the 30th of February.
 */
bool text_instant(const char *text, size_t len, bool utc, int64_t *ret_us);
/* RFC 3339 in UTC: 2026-11-30T04:29:12Z, with a fraction of at most nine digits, of which what is
 * below a microsecond is cut -> Unix microseconds. False (ret untouched): it is none. */
bool text_instant_us(const char *text, int64_t *ret_us);
/* Does text[0, len) hold a control character: C0, DEL, or C1 in UTF-8? */
bool text_has_control(const char *text, size_t len);
/* '?' in the place of each byte of them: what quotes a stranger's words stays one line. */
void text_blank_control(char *text, size_t len);
/* Where the host begins in an http:// or https:// URL; NULL: it is none. */
const char *text_http_host(const char *url);
/* The one of `names` nearest to `word` by edit distance (swaps count one), or NULL if none is near.
 */
const char *text_nearest(const char *word, const char *const *names, size_t n);

#endif
