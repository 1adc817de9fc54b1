/*
 * Strings and numbers of JSON as text. Names are compared here and only here, so that the scanner's
 * duplicates, the look-ups and the canonical order agree on what one name is. Numbers are read
 * without a decimal point: what strtod(3) takes for one differs with the locale.
 */
#include "json_text.h"

#include "alloc.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPONENT_MAX INT64_C(1000000000000000)

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_continuation(char c)
{
	return ((uint8_t)c & 0xc0) == 0x80;
}

size_t
json_text_char(const char *p, const char *end)
{
	uint8_t lead = (uint8_t)p[0], second = end - p > 1 ? (uint8_t)p[1] : 0;

	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4 || !is_continuation((char)second))
		return 0;
	if (lead < 0xe0)
		return 2;
	if (end - p < 3 || !is_continuation(p[2]))
		return 0;
	if (lead < 0xf0) {
		/* E0 80..9F is overlong, ED A0..BF a surrogate */
		if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f))
			return 0;
		return 3;
	}
	if (end - p < 4 || !is_continuation(p[3]))
		return 0;
	if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
		return 0;
	return 4;
}

bool
json_text_utf8(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	uint64_t w;
	size_t n;

	while (p < end) {
		if (end - p >= 8) {
			memcpy(&w, p, sizeof(w));
			if (!(w & UINT64_C(0x8080808080808080))) {
				p += 8;
				continue;
			}
		}
		n = json_text_char(p, end);
		if (n == 0)
			return false;
		p += n;
	}
	return true;
}

size_t
json_text_encode(uint32_t cp, char out[4])
{
	assert(cp <= 0x10ffff);
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

/* Four hexadecimal digits, or -1. */
static int32_t
hex4(const char *p, const char *end)
{
	int32_t v = 0;
	int i;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		char c = p[i];

		if (is_digit(c))
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v = v << 4 | (c - 'A' + 10);
		else
			return -1;
	}
	return v;
}

static bool
is_surrogate(uint32_t cp)
{
	return cp >= 0xd800 && cp <= 0xdfff;
}

/* The escape at p (a backslash): its length, a pair of surrogates being one; 0 if it is none. */
static size_t
escape(const char *p, const char *end, uint32_t *ret_cp)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *found;
	int32_t first, second;

	if (end - p < 2)
		return 0;
	if (p[1] != 'u') {
		found = memchr(plain, p[1], sizeof(plain) - 1);
		if (!found)
			return 0;
		*ret_cp = (uint8_t)meant[found - plain];
		return 2;
	}
	first = hex4(p + 2, end);
	if (first < 0)
		return 0;
	*ret_cp = (uint32_t)first;
	if (first < 0xd800 || first > 0xdbff || end - p < 12 || p[6] != '\\' || p[7] != 'u')
		return 6;
	second = hex4(p + 8, end);
	if (second < 0xdc00 || second > 0xdfff)
		return 6;
	*ret_cp = 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00);
	return 12;
}

/*
 * Is there, among eight bytes, a quote, a backslash, a control character or one beyond ASCII? The
 * usual trick: a byte less than n borrows into its top bit. May only err towards yes.
 */
static bool
special_8(const char *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
	uint64_t w, quote, backslash;

	memcpy(&w, p, sizeof(w));
	quote = w ^ ones * '"';
	backslash = w ^ ones * '\\';
	return ((w | (w - ones * 0x20) | (quote - ones) | (backslash - ones)) & highs) != 0;
}

static const char *
skip_plain(const char *p, const char *end)
{
	while (end - p >= 8 && !special_8(p))
		p += 8;
	while (p < end && (uint8_t)*p >= 0x20 && (uint8_t)*p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
}

const char *
json_text_string(const char *p, const char *end, enum json_fault *ret_fault, const char **ret_at)
{
	enum json_fault fault;
	uint32_t cp;
	size_t n;

	*ret_fault = JSON_OK;
	for (;;) {
		p = skip_plain(p, end);
		if (p == end || (uint8_t)*p < 0x20)
			break;
		if (*p == '"')
			return p + 1;
		if (*p == '\\') {
			n = escape(p, end, &cp);
			if (n == 0)
				break;
			fault = is_surrogate(cp) ? JSON_SURROGATE : JSON_OK;
		} else {
			n = json_text_char(p, end);
			fault = n == 0 ? JSON_UTF8 : JSON_OK;
			n += n == 0; /* a quote behind a cut character still ends the string */
		}
		if (fault != JSON_OK && *ret_fault == JSON_OK) {
			*ret_fault = fault;
			*ret_at = p;
		}
		p += n;
	}
	*ret_at = p;
	return NULL;
}

size_t
json_text_next(const char **p, const char *end, char out[4])
{
	uint32_t cp = 0;
	size_t n;

	assert(*p < end);
	if (**p == '\\') {
		n = escape(*p, end, &cp);
		assert(n > 0);
		*p += n;
		return json_text_encode(cp, out);
	}
	n = json_text_char(*p, end);
	if (n == 0)
		n = 1;
	memcpy(out, *p, n);
	*p += n;
	return n;
}

size_t
json_text_unescape(const char *text, size_t len, char *out)
{
	const char *p = text, *end = text + len, *backslash;
	char *at = out;

	while (p < end) {
		backslash = memchr(p, '\\', (size_t)(end - p));
		if (!backslash)
			backslash = end;
		memcpy(at, p, (size_t)(backslash - p));
		at += backslash - p;
		p = backslash;
		if (p < end) {
			char c[4];
			size_t n = json_text_next(&p, end, c);

			memcpy(at, c, n);
			at += n;
		}
	}
	return (size_t)(at - out);
}

struct json_ref
json_text_ref(const char *text, uint32_t start, uint32_t end, uint32_t node)
{
	struct json_ref ref = {.name = text + start + 1, .len = end - start - 2, .node = node};

	assert(end - start >= 2 && text[start] == '"');
	ref.escaped = memchr(ref.name, '\\', ref.len) != NULL;
	return ref;
}

/*
 * A name's unescaped bytes, one after the other; -1 at the end. In a name that is not escaped, as
 * one that is looked for, a backslash is itself.
 */
struct reader {
	const char *p, *end;
	bool escaped;
	char pending[4];
	uint8_t n_pending, n_read;
};

static struct reader
reader_of(const struct json_ref *ref)
{
	return (struct reader){
	    .p = ref->name, .end = ref->name + ref->len, .escaped = ref->escaped};
}

static int
read_byte(struct reader *r)
{
	if (r->n_read == r->n_pending) {
		if (r->p == r->end)
			return -1;
		if (!r->escaped)
			return (uint8_t)*r->p++;
		r->n_pending = (uint8_t)json_text_next(&r->p, r->end, r->pending);
		r->n_read = 0;
	}
	return (uint8_t)r->pending[r->n_read++];
}

/*
 * Where two names first differ, bytes of UTF-8 order as UTF-16 units do, but for one thing:
 * surrogates (leads F0..F4) stand below U+E000..U+FFFF (leads EE, EF).
 */
static int
utf16_weight(int byte)
{
	return byte == 0xee || byte == 0xef ? byte + 0x10 : byte;
}

int
json_text_cmp(const struct json_ref *a, const struct json_ref *b)
{
	struct reader ra = reader_of(a), rb = reader_of(b);
	uint32_t n = a->len < b->len ? a->len : b->len, i = 0;
	int ca, cb;

	if (!a->escaped && !b->escaped) {
		while (i < n && a->name[i] == b->name[i])
			i++;
		ca = i < a->len ? (uint8_t)a->name[i] : -1;
		cb = i < b->len ? (uint8_t)b->name[i] : -1;
		return utf16_weight(ca) - utf16_weight(cb);
	}
	do {
		ca = read_byte(&ra);
		cb = read_byte(&rb);
	} while (ca == cb && ca >= 0);
	return utf16_weight(ca) - utf16_weight(cb);
}

bool
json_text_equal(const struct json_ref *a, const struct json_ref *b)
{
	if (!a->escaped && !b->escaped)
		return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
	return json_text_cmp(a, b) == 0;
}

bool
json_text_is_token(const struct json_ref *name, const char *token, size_t len)
{
	struct reader r = reader_of(name);
	const char *end = token + len;
	char c;

	if (!name->escaped && !memchr(token, '~', len))
		return name->len == len && memcmp(name->name, token, len) == 0;
	while (token < end) {
		c = *token++;
		if (c == '~') {
			assert(token < end && (*token == '0' || *token == '1'));
			c = *token++ == '0' ? '~' : '/';
		}
		if (read_byte(&r) != (uint8_t)c)
			return false;
	}
	return read_byte(&r) < 0;
}

bool
json_text_add_token(char pointer[JSON_POINTER_BYTES], size_t *len, const char *p, const char *end)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	char c[4];
	size_t n;

	if (*len + 1 >= JSON_POINTER_BYTES)
		return false;
	pointer[(*len)++] = '/';
	while (p < end) {
		n = json_text_next(&p, end, c);
		if (json_text_char(c, c + n) != n || c[0] == '\0') {
			memcpy(c, replacement, 3);
			n = 3;
		} else if (c[0] == '~' || c[0] == '/') {
			c[1] = c[0] == '~' ? '0' : '1';
			c[0] = '~';
			n = 2;
		}
		if (*len + n >= JSON_POINTER_BYTES)
			return false;
		memcpy(pointer + *len, c, n);
		*len += n;
	}
	return true;
}

bool
json_text_is_pointer(const char *text, size_t len)
{
	size_t i;

	if (len > 0 && text[0] != '/')
		return false;
	for (i = 0; i < len; i++) {
		if (text[i] == '~' && (i + 1 == len || (text[i + 1] != '0' && text[i + 1] != '1')))
			return false;
	}
	return json_text_utf8(text, len);
}

bool
json_text_index(const char *token, size_t len, uint32_t *ret_index)
{
	uint64_t index = 0;
	size_t i;

	if (len == 0 || len > 10 || (len > 1 && token[0] == '0'))
		return false;
	for (i = 0; i < len; i++) {
		if (!is_digit(token[i]))
			return false;
		index = index * 10 + (uint64_t)(token[i] - '0');
	}
	if (index > UINT32_MAX)
		return false;
	*ret_index = (uint32_t)index;
	return true;
}

static const char *
skip_digits(const char *p, const char *end)
{
	while (p < end && is_digit(*p))
		p++;
	return p;
}

const char *
json_text_number(const char *p, const char *end)
{
	const char *digits;

	if (p < end && *p == '-')
		p++;
	if (p == end || !is_digit(*p))
		return NULL;
	p = *p == '0' ? p + 1 : skip_digits(p, end);
	if (p < end && *p == '.') {
		digits = ++p;
		p = skip_digits(p, end);
		if (p == digits)
			return NULL;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		digits = p;
		p = skip_digits(p, end);
		if (p == digits)
			return NULL;
	}
	return p;
}

bool
json_text_int(const char *text, size_t len, int64_t *ret_value)
{
	const char *p = text, *end = text + len;
	bool negative = *p == '-';
	uint64_t bound = (uint64_t)INT64_MAX + negative, v = 0, digit;

	for (p += negative; p < end; p++) {
		if (!is_digit(*p))
			return false;
		digit = (uint64_t)(*p - '0');
		if (v > (bound - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*ret_value = (int64_t)(negative ? -v : v);
	return true;
}

/* [+-]digits up to end, saturating. */
static int64_t
read_exponent(const char *p, const char *end)
{
	bool negative = *p == '-';
	int64_t v = 0;

	for (p += *p == '-' || *p == '+'; p < end; p++) {
		if (v < EXPONENT_MAX)
			v = v * 10 + (*p - '0');
	}
	if (v > EXPONENT_MAX)
		v = EXPONENT_MAX;
	return negative ? -v : v;
}

struct json_decimal
json_text_decimal(const char *text, size_t len)
{
	struct json_decimal d = {.negative = *text == '-', .integer = true};
	const char *p = text + d.negative, *end = text + len;
	size_t n = 0; /* digits from the first that is not zero */

	for (; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			d.integer = false;
			continue;
		}
		if (n > 0 || *p != '0') {
			if (n < sizeof(d.digits))
				d.digits[n] = *p;
			n++;
			if (*p != '0')
				d.n_digits = n;
			d.point += d.integer;
		} else if (!d.integer) {
			d.point--; /* a zero between the point and the first digit */
		}
	}
	if (p < end) {
		d.integer = false;
		d.point += read_exponent(p + 1, end);
	}
	return d;
}

/*
 * The digits are handed over as a whole number with an exponent, so that strtod(3) meets no decimal
 * point and the locale does not count.
 */
double
json_text_double(const char *text, size_t len)
{
	struct json_decimal d = json_text_decimal(text, len);
	char small[128], *copy = small, *at;
	size_t need = d.n_digits + sizeof("-e-9223372036854775808"), n = 0;
	double value;

	if (d.n_digits == 0)
		return d.negative ? -0.0 : 0.0;
	if (need > sizeof(small))
		copy = xmalloc(need);
	at = copy;
	if (d.negative)
		*at++ = '-';
	for (text += d.negative; n < d.n_digits; text++) {
		if (*text != '.' && (n > 0 || *text != '0')) {
			*at++ = *text;
			n++;
		}
	}
	snprintf(at, need - (size_t)(at - copy), "e%lld", (long long)(d.point - (int64_t)n));
	value = strtod(copy, NULL);
	if (copy != small)
		free(copy);
	return value;
}

bool
json_text_overflows(const char *text, size_t len)
{
	struct json_decimal d;

	if (len <= 300 && !memchr(text, 'e', len) && !memchr(text, 'E', len))
		return false;
	d = json_text_decimal(text, len);
	if (d.n_digits == 0 || d.point <= 308)
		return false;
	return d.point > 309 || isinf(json_text_double(text, len));
}
