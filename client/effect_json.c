/*
 * A scanner that steps over values without recursion, so that no depth of a stranger's text takes
 * the host's stack. Owns nothing.
 */
#include "effect_json.h"

#include <string.h>

#define LEVEL_BITS 64

struct scan {
	const char *at, *end;
	unsigned depth_max;
	bool count_deeper;
	size_t depth;
	uint64_t is_object[EFFECT_JSON_DEPTH_MAX / LEVEL_BITS]; /* a bit a level */
};

static void
skip_blanks(const char **at, const char *end)
{
	while (*at < end && (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r'))
		(*at)++;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Behind the closing quote of the string that begins at *at; false if it is none. */
static bool
skip_string(const char **at, const char *end)
{
	const char *p = *at + 1;

	for (; p < end && *p != '"'; p++) {
		if ((unsigned char)*p < 0x20)
			return false;
		if (*p != '\\')
			continue;
		if (++p == end)
			return false;
		if (*p == 'u') {
			for (int i = 0; i < 4; i++)
				if (++p == end || hex_digit(*p) < 0)
					return false;
		} else if (*p == '\0' || !strchr("\"\\/bfnrt", *p)) {
			return false;
		}
	}
	if (p == end)
		return false;
	*at = p + 1;
	return true;
}

static bool
skip_digits(const char **at, const char *end)
{
	const char *start = *at;

	while (*at < end && **at >= '0' && **at <= '9')
		(*at)++;
	return *at > start;
}

static bool
skip_number(const char **at, const char *end)
{
	if (**at == '-')
		(*at)++;
	if (*at < end && **at == '0')
		(*at)++;
	else if (!skip_digits(at, end))
		return false;
	if (*at < end && **at == '.') {
		(*at)++;
		if (!skip_digits(at, end))
			return false;
	}
	if (*at < end && (**at == 'e' || **at == 'E')) {
		(*at)++;
		if (*at < end && (**at == '+' || **at == '-'))
			(*at)++;
		return skip_digits(at, end);
	}
	return true;
}

static bool
skip_word(const char **at, const char *end, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(end - *at) < len || memcmp(*at, word, len) != 0)
		return false;
	*at += len;
	return true;
}

/* A string, number or word. */
static bool
skip_scalar(const char **at, const char *end, enum effect_json_type *ret_type)
{
	switch (**at) {
	case '"':
		*ret_type = EFFECT_JSON_STRING;
		return skip_string(at, end);
	case 't':
		*ret_type = EFFECT_JSON_TRUE;
		return skip_word(at, end, "true");
	case 'f':
		*ret_type = EFFECT_JSON_FALSE;
		return skip_word(at, end, "false");
	case 'n':
		*ret_type = EFFECT_JSON_NULL;
		return skip_word(at, end, "null");
	default:
		*ret_type = EFFECT_JSON_NUMBER;
		return skip_number(at, end);
	}
}

/* Deeper than is told apart, what closes fits whatever was opened. */
static bool
in_object(const struct scan *s)
{
	size_t level = s->depth - 1;

	return level < EFFECT_JSON_DEPTH_MAX &&
	    (s->is_object[level / LEVEL_BITS] >> level % LEVEL_BITS & 1);
}

static bool
open_container(struct scan *s)
{
	size_t level = s->depth;
	uint64_t bit = UINT64_C(1) << level % LEVEL_BITS;

	if (level >= s->depth_max && !s->count_deeper)
		return false;
	if (level < EFFECT_JSON_DEPTH_MAX) {
		if (*s->at == '{')
			s->is_object[level / LEVEL_BITS] |= bit;
		else
			s->is_object[level / LEVEL_BITS] &= ~bit;
	}
	s->depth++;
	s->at++;
	return true;
}

/* "name": before a value, where an object is open. */
static bool
skip_name(struct scan *s)
{
	skip_blanks(&s->at, s->end);
	if (s->at == s->end || *s->at != '"' || !skip_string(&s->at, s->end))
		return false;
	skip_blanks(&s->at, s->end);
	if (s->at == s->end || *s->at != ':')
		return false;
	s->at++;
	return true;
}

/* A container deeper than is told apart: brackets are counted, strings stepped over. */
static bool
skip_deep(struct scan *s)
{
	size_t outer = s->depth;

	do {
		if (s->at == s->end)
			return false;
		if (*s->at == '"') {
			if (!skip_string(&s->at, s->end))
				return false;
			continue;
		}
		if (*s->at == '{' || *s->at == '[')
			s->depth++;
		else if (*s->at == '}' || *s->at == ']')
			s->depth--;
		s->at++;
	} while (s->depth > outer);
	return true;
}

/* One value, or the opening of a container; *ret_whole: it is over. */
static bool
step_value(struct scan *s, bool *ret_whole)
{
	enum effect_json_type type;

	skip_blanks(&s->at, s->end);
	if (s->at == s->end)
		return false;
	*ret_whole = true;
	if (*s->at != '{' && *s->at != '[')
		return skip_scalar(&s->at, s->end, &type);
	if (s->depth >= EFFECT_JSON_DEPTH_MAX && s->count_deeper)
		return skip_deep(s);
	if (!open_container(s))
		return false;
	skip_blanks(&s->at, s->end);
	if (s->at < s->end && *s->at == (in_object(s) ? '}' : ']')) {
		s->at++;
		s->depth--;
		return true;
	}
	*ret_whole = false;
	return !in_object(s) || skip_name(s);
}

/* Behind a value inside a container: closes what ends here. *ret_more: another value follows. */
static bool
step_behind(struct scan *s, bool *ret_more)
{
	*ret_more = false;
	while (s->depth > 0) {
		skip_blanks(&s->at, s->end);
		if (s->at == s->end)
			return false;
		if (*s->at == ',') {
			s->at++;
			*ret_more = true;
			return !in_object(s) || skip_name(s);
		}
		if (*s->at != (in_object(s) ? '}' : ']'))
			return false;
		s->at++;
		s->depth--;
	}
	return true;
}

static enum effect_json_type
type_of(char first)
{
	switch (first) {
	case '{':
		return EFFECT_JSON_OBJECT;
	case '[':
		return EFFECT_JSON_ARRAY;
	case '"':
		return EFFECT_JSON_STRING;
	case 't':
		return EFFECT_JSON_TRUE;
	case 'f':
		return EFFECT_JSON_FALSE;
	case 'n':
		return EFFECT_JSON_NULL;
	default:
		return EFFECT_JSON_NUMBER;
	}
}

/* The value at *at, blanks before it skipped; leaves *at behind it. */
static bool
skip_value(const char **at, const char *end, unsigned depth_max, bool count_deeper,
    struct effect_json_span *ret)
{
	struct scan s = {.at = *at, .end = end, .depth_max = depth_max};
	bool whole, more = true;
	const char *start;

	s.count_deeper = count_deeper;
	skip_blanks(&s.at, end);
	start = s.at;
	while (more)
		if (!step_value(&s, &whole) || (whole && !step_behind(&s, &more)))
			return false;
	*ret = (struct effect_json_span){start, (size_t)(s.at - start), type_of(*start)};
	*at = s.at;
	return true;
}

bool
effect_json_one(
    const char *text, size_t len, unsigned depth_max, struct effect_json_span *ret_value)
{
	const char *at = text, *end = text + len;

	if (!skip_value(&at, end, depth_max, false, ret_value))
		return false;
	skip_blanks(&at, end);
	return at == end;
}

void
effect_json_walk(struct effect_json_walk *walk, const char *text, size_t len)
{
	*walk = (struct effect_json_walk){.at = text, .end = text + len};
	walk->broken = len == 0 || *text != '{';
	if (!walk->broken)
		walk->at++;
}

bool
effect_json_next(struct effect_json_walk *walk, struct effect_json_span *ret_name,
    struct effect_json_span *ret_value)
{
	if (walk->broken)
		return false;
	walk->broken = true; /* until the member is whole */
	skip_blanks(&walk->at, walk->end);
	if (walk->at == walk->end)
		return false;
	if (*walk->at == '}') {
		walk->at++;
		walk->broken = false;
		return false;
	}
	if (walk->begun) {
		if (*walk->at++ != ',')
			return false;
		skip_blanks(&walk->at, walk->end);
	}
	walk->begun = true;
	*ret_name = (struct effect_json_span){.at = walk->at, .type = EFFECT_JSON_STRING};
	if (walk->at == walk->end || *walk->at != '"' || !skip_string(&walk->at, walk->end))
		return false;
	ret_name->len = (size_t)(walk->at - ret_name->at);
	skip_blanks(&walk->at, walk->end);
	if (walk->at == walk->end || *walk->at++ != ':')
		return false;
	if (!skip_value(&walk->at, walk->end, EFFECT_JSON_DEPTH_MAX, true, ret_value))
		return false;
	walk->broken = false;
	return true;
}

bool
effect_json_is(const struct effect_json_span *string, const char *text)
{
	size_t len = strlen(text);

	return string->len == len + 2 && memcmp(string->at + 1, text, len) == 0;
}

static char *
put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

static uint32_t
four_digits(const char *p)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 4 | (uint32_t)hex_digit(p[i]);
	return value;
}

/* \uXXXX at `p` (its first digit), and its other half if there is one. Returns what is behind. */
static const char *
read_unicode(const char *p, const char *end, uint32_t *ret)
{
	uint32_t c = four_digits(p), low;

	p += 4;
	*ret = c >= 0xd800 && c < 0xe000 ? 0xfffd : c;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		low = four_digits(p + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			*ret = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			p += 6;
		}
	}
	return p;
}

size_t
effect_json_unescape(const struct effect_json_span *string, char *to)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *p = string->at + 1, *end = string->at + string->len - 1;
	char *start = to;
	uint32_t c;

	while (p < end) {
		if (*p != '\\') {
			*to++ = *p++;
		} else if (p[1] == 'u') {
			p = read_unicode(p + 2, end, &c);
			to = put_utf8(to, c);
		} else {
			*to++ = meant[strchr(letters, p[1]) - letters];
			p += 2;
		}
	}
	*to = '\0';
	return (size_t)(to - start);
}

bool
effect_json_int(const struct effect_json_span *number, int64_t *ret_value)
{
	const char *p = number->at, *end = number->at + number->len;
	bool minus = p < end && *p == '-';
	int64_t value = 0;

	if (number->type != EFFECT_JSON_NUMBER)
		return false;
	for (p += minus; p < end; p++) {
		int digit = *p - '0';

		if (digit < 0 || digit > 9)
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    (minus ? __builtin_sub_overflow(value, digit, &value)
			   : __builtin_add_overflow(value, digit, &value)))
			return false;
	}
	*ret_value = value;
	return true;
}
