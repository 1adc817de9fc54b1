/*
 * A growing byte buffer and the JSON output verbs. Every answer of the daemon is written with it,
 * so that it is on the hot path: escaping looks at eight bytes at a time and copies runs, numbers
 * and instants are spelt without printf. Promise: what is written is compact JSON as long as the
 * caller pairs its braces. Parsing does not belong here (json.c). The struct is the caller's; its
 * memory is the buffer's until buf_free().
 */
#include "buf.h"

#include "alloc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_CAP_MIN 256
#define INT64_TEXT_BYTES 20 /* "-9223372036854775808" */
#define US_PER_MS 1000
#define MS_PER_DAY 86400000LL
/* RFC 3339 has four digits for the year: 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z. */
#define INSTANT_MS_MIN (-62167219200000LL)
#define INSTANT_MS_MAX 253402300799999LL

static char *
reserve(struct buf *b, size_t extra)
{
	size_t cap;

	assert(extra < SIZE_MAX / 4 && b->len <= b->cap);
	if (b->cap - b->len < extra) {
		cap = b->cap ? b->cap : BUF_CAP_MIN;
		while (cap - b->len < extra)
			cap *= 2;
		b->data = xrealloc(b->data, cap);
		b->cap = cap;
	}
	return b->data + b->len;
}

void
buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
}

void
buf_add(struct buf *b, const void *data, size_t len)
{
	if (len == 0)
		return; /* data may be NULL then, which memcpy forbids */
	memcpy(reserve(b, len), data, len);
	b->len += len;
}

void
buf_add_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void
buf_add_char(struct buf *b, char c)
{
	*reserve(b, 1) = c;
	b->len++;
}

void
buf_add_int(struct buf *b, int64_t value)
{
	char digits[INT64_TEXT_BYTES], *at = digits + sizeof digits;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		*--at = '-';
	buf_add(b, at, (size_t)(digits + sizeof digits - at));
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	reserve(b, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *
buf_str(struct buf *b)
{
	*reserve(b, 1) = '\0';
	return b->data;
}

/* Is there a byte below 0x20, a quote or a backslash among the eight? May only err towards yes
 * (bytes behind a hit). */
static bool
must_escape_8(const char *p)
{
	const uint64_t ones = 0x0101010101010101ULL, highs = 0x8080808080808080ULL;
	uint64_t w, quote, backslash;

	memcpy(&w, p, sizeof w);
	quote = w ^ (ones * '"');
	backslash = w ^ (ones * '\\');
	return (((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) |
		   ((backslash - ones) & ~backslash)) &
	    highs;
}

static bool
must_escape(char c)
{
	return (unsigned char)c < 0x20 || c == '"' || c == '\\';
}

/* How many bytes from p on need no escape. */
static size_t
plain_run(const char *p, const char *end)
{
	const char *at = p;

	while (end - at >= 8 && !must_escape_8(at))
		at += 8;
	while (at < end && !must_escape(*at))
		at++;
	return (size_t)(at - p);
}

static void
add_escape(struct buf *b, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char shorts[0x20] = {
	    ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
	char *out = reserve(b, 6);

	out[0] = '\\';
	if (c >= 0x20 || shorts[c]) {
		out[1] = c >= 0x20 ? (char)c : shorts[c];
		b->len += 2;
		return;
	}
	out[1] = 'u';
	out[2] = '0';
	out[3] = '0';
	out[4] = hex[c >> 4];
	out[5] = hex[c & 15];
	b->len += 6;
}

void
buf_json_escape(struct buf *b, uint32_t c)
{
	if (c < 0x10000) {
		buf_printf(b, "\\u%04x", (unsigned)c);
	} else {
		c -= 0x10000;
		buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xd800 + (c >> 10)),
		    (unsigned)(0xdc00 + (c & 0x3ff)));
	}
}

void
buf_json_string(struct buf *b, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t run;

	reserve(b, len + 2); /* enough for nearly every string */
	buf_add_char(b, '"');
	while (p < end) {
		run = plain_run(p, end);
		buf_add(b, p, run);
		p += run;
		if (p < end)
			add_escape(b, (unsigned char)*p++);
	}
	buf_add_char(b, '"');
}

void
buf_json_member(struct buf *b, const char *name)
{
	size_t len = strlen(name);
	char *out = reserve(b, len + 4);

	if (b->len > 0 && b->data[b->len - 1] != '{')
		*out++ = ',';
	*out++ = '"';
	memcpy(out, name, len);
	out += len;
	*out++ = '"';
	*out++ = ':';
	b->len = (size_t)(out - b->data);
}

void
buf_json_member_str(struct buf *b, const char *name, const char *text)
{
	buf_json_member(b, name);
	buf_json_string(b, text, strlen(text));
}

void
buf_json_member_int(struct buf *b, const char *name, int64_t value)
{
	buf_json_member(b, name);
	buf_add_int(b, value);
}

void
buf_json_member_bool(struct buf *b, const char *name, bool value)
{
	buf_json_member(b, name);
	buf_add_str(b, value ? "true" : "false");
}

void
buf_json_member_raw(struct buf *b, const char *name, const char *raw, size_t len)
{
	buf_json_member(b, name);
	buf_add(b, raw, len);
}

static char *
put_digits(char *at, unsigned value, int n_digits)
{
	for (int i = n_digits - 1; i >= 0; i--) {
		at[i] = (char)('0' + value % 10);
		value /= 10;
	}
	return at + n_digits;
}

/* Days since 1970-01-01 to year, month, day in the proleptic Gregorian calendar; March-based years
 * in 400-year eras. */
static void
civil_date(int64_t days, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	int64_t shifted = days + 719468; /* days since 0000-03-01 */
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	unsigned in_era = (unsigned)(shifted - era * 146097);
	unsigned year_in_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
	unsigned march_month = (5 * in_year + 2) / 153;

	*ret_day = in_year - (153 * march_month + 2) / 5 + 1;
	*ret_month = march_month < 10 ? march_month + 3 : march_month - 9;
	*ret_year = (unsigned)(era * 400 + year_in_era + (*ret_month <= 2));
}

void
buf_instant(struct buf *b, int64_t unix_us)
{
	int64_t ms = unix_us / US_PER_MS - (unix_us % US_PER_MS < 0), days;
	unsigned year, month, day, in_day_ms;
	char *at;

	/* infinity comes as the ends of int64: it saturates at what the format can say */
	if (ms < INSTANT_MS_MIN)
		ms = INSTANT_MS_MIN;
	if (ms > INSTANT_MS_MAX)
		ms = INSTANT_MS_MAX;
	days = ms / MS_PER_DAY - (ms % MS_PER_DAY < 0);
	in_day_ms = (unsigned)(ms - days * MS_PER_DAY);
	civil_date(days, &year, &month, &day);
	assert(year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31);

	at = reserve(b, sizeof "YYYY-MM-DDThh:mm:ss.mmmZ");
	at = put_digits(at, year, 4);
	*at++ = '-';
	at = put_digits(at, month, 2);
	*at++ = '-';
	at = put_digits(at, day, 2);
	*at++ = 'T';
	at = put_digits(at, in_day_ms / 3600000, 2);
	*at++ = ':';
	at = put_digits(at, in_day_ms / 60000 % 60, 2);
	*at++ = ':';
	at = put_digits(at, in_day_ms / 1000 % 60, 2);
	*at++ = '.';
	at = put_digits(at, in_day_ms % 1000, 3);
	*at++ = 'Z';
	b->len = (size_t)(at - b->data);
}

void
buf_json_member_instant(struct buf *b, const char *name, int64_t unix_us)
{
	buf_json_member(b, name);
	buf_add_char(b, '"');
	buf_instant(b, unix_us);
	buf_add_char(b, '"');
}
