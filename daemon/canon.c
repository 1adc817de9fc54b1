/*
 * The canonical form. Numbers mostly need no double: a literal of at most 15 significant digits is
 * the shortest spelling of its double by itself (two such decimals never share one), so that laying
 * its digits out anew is all; only longer literals and the very small go through libc. Recursion is
 * bounded by the scanner's depth. Owns no memory but scratch within a call.
 */
#include "canon.h"

#include "alloc.h"
#include "json_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_DIGITS 15		/* DBL_DIG: decimals of so many digits survive a double */
#define SHORTEST_DIGITS_MAX 17	/* what tells every double from its neighbours */
#define NORMAL_POINT_MIN (-300) /* well above the subnormals, where EXACT_DIGITS does not hold */
#define NORMAL_POINT_MAX 308
#define REFS_ON_STACK 16

struct skips {
	uint32_t *nodes;
	size_t n;
};

/* ECMAScript's Number::toString of 0.DIGITS * 10^point, n digits. */
static void
add_layout(struct buf *out, bool negative, const char *digits, int n, int point)
{
	static const char zeros[] = "000000000000000000000";

	assert(n > 0 && n <= SHORTEST_DIGITS_MAX);
	if (negative)
		buf_add_char(out, '-');
	if (n <= point && point <= 21) {
		buf_add(out, digits, (size_t)n);
		buf_add(out, zeros, (size_t)(point - n));
	} else if (0 < point && point <= 21) {
		buf_add(out, digits, (size_t)point);
		buf_add_char(out, '.');
		buf_add(out, digits + point, (size_t)(n - point));
	} else if (-6 < point && point <= 0) {
		buf_add_str(out, "0.");
		buf_add(out, zeros, (size_t)-point);
		buf_add(out, digits, (size_t)n);
	} else {
		buf_add_char(out, digits[0]);
		if (n > 1) {
			buf_add_char(out, '.');
			buf_add(out, digits + 1, (size_t)(n - 1));
		}
		buf_printf(out, "e%+d", point - 1);
	}
}

/*
 * Digits of `value` rounded to n of them, and its decimal point. printf(3) is asked, but its
 * decimal point, which is the locale's, is passed over.
 */
static struct json_decimal
round_to(double value, int n)
{
	char text[64];
	const char *p;
	struct json_decimal d = {0};

	snprintf(text, sizeof(text), "%.*e", n - 1, value);
	for (p = text; *p != 'e'; p++) {
		if (*p >= '0' && *p <= '9')
			d.digits[d.n_digits++] = *p;
	}
	assert(d.n_digits == (size_t)n);
	d.point = strtol(p + 1, NULL, 10) + 1;
	while (d.n_digits > 1 && d.digits[d.n_digits - 1] == '0')
		d.n_digits--;
	return d;
}

static bool
reads_back(const struct json_decimal *d, double value)
{
	char text[64];
	int len;

	len = snprintf(text, sizeof(text), "%.*se%d", (int)d->n_digits, d->digits,
	    (int)(d->point - (int64_t)d->n_digits));
	return json_double(text, (size_t)len) == value;
}

static bool
is_power_of_two(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (bits & ((UINT64_C(1) << 52) - 1)) == 0;
}

/* One more in the n-th digit. */
static void
step_up(struct json_decimal *d, size_t n)
{
	while (d->n_digits < n)
		d->digits[d->n_digits++] = '0';
	while (d->n_digits > 0 && d->digits[d->n_digits - 1] == '9')
		d->n_digits--;
	if (d->n_digits == 0) {
		d->digits[d->n_digits++] = '1';
		d->point++;
	} else {
		d->digits[d->n_digits - 1]++;
	}
}

/* n digits that read back as `value`. */
static bool
in_digits(double value, int n, struct json_decimal *ret)
{
	*ret = round_to(value, n);
	if (n == SHORTEST_DIGITS_MAX || reads_back(ret, value))
		return true;
	/*
	 * Above a power of two doubles lie twice as far apart as below it: there the next
	 * decimal above may read back although the nearest, below, does not.
	 */
	if (!is_power_of_two(value))
		return false;
	step_up(ret, (size_t)n);
	return reads_back(ret, value);
}

/*
 * The shortest digits that read back as `value`, which is positive and came of n_max digits. What
 * so many digits can say, more can say, too: their number is searched for by halves.
 */
static struct json_decimal
shortest(double value, size_t n_max)
{
	int high = n_max < SHORTEST_DIGITS_MAX ? (int)n_max : SHORTEST_DIGITS_MAX, n;
	/* from 15 digits on a normal number needs no shorter try: those would end in zeros */
	int low = value >= 1e-290 && high > EXACT_DIGITS ? EXACT_DIGITS : 1;
	struct json_decimal d, found = {0};

	while (low < high) {
		n = (low + high) / 2;
		if (in_digits(value, n, &d)) {
			found = d;
			high = n;
		} else {
			low = n + 1;
		}
	}
	if (found.n_digits == 0 && !in_digits(value, low, &found))
		assert(!"a number does not read back");
	return found;
}

static bool
same_digits(const struct json_decimal *a, const struct json_decimal *b)
{
	return a->n_digits == b->n_digits && a->point == b->point &&
	    memcmp(a->digits, b->digits, a->n_digits) == 0;
}

void
canon_number(struct buf *out, const char *text, size_t len)
{
	struct json_decimal exact, d;
	double value;

	/* nearly all: a short integer, which is canonical but for -0 */
	if (len <= EXACT_DIGITS && (text[0] != '-' || text[1] != '0')) {
		size_t i = text[0] == '-';

		while (i < len && text[i] >= '0' && text[i] <= '9')
			i++;
		if (i == len) {
			buf_add(out, text, len);
			return;
		}
	}
	exact = json_text_decimal(text, len);
	d = exact;
	if (exact.n_digits > EXACT_DIGITS || exact.point < NORMAL_POINT_MIN ||
	    exact.point > NORMAL_POINT_MAX) {
		value = json_double(text, len);
		if (value < 0)
			value = -value;
		if (value == 0) {
			d.n_digits = 0;
		} else {
			d = shortest(value, exact.n_digits);
			if (exact.integer && !same_digits(&exact, &d)) {
				buf_add(out, text, len);
				return;
			}
		}
	}
	if (d.n_digits == 0)
		buf_add_char(out, '0');
	else
		add_layout(out, exact.negative, d.digits, (int)d.n_digits, (int)d.point);
}

/* The text between two quotes, with no escape but those RFC 8785 has. */
static void
add_string(struct buf *out, const struct json_ref *text)
{
	char small[256], *plain = small;
	size_t len;

	if (!text->escaped) {
		buf_add(out, text->name - 1, (size_t)text->len + 2);
		return;
	}
	if (text->len > sizeof(small))
		plain = xmalloc(text->len);
	len = json_text_unescape(text->name, text->len, plain);
	buf_json_string(out, plain, len);
	if (plain != small)
		free(plain);
}

static bool
is_skipped(const struct skips *skips, uint32_t node)
{
	size_t i;

	for (i = 0; i < skips->n; i++) {
		if (skips->nodes[i] == node)
			return true;
	}
	return false;
}

static void add_node(
    struct buf *out, const struct json_doc *doc, uint32_t node, const struct skips *skips);

static void
add_array(struct buf *out, const struct json_doc *doc, uint32_t node, const struct skips *skips)
{
	uint32_t i, n = doc->nodes[node].n_children, child = node + 1;
	bool first = true;

	buf_add_char(out, '[');
	for (i = 0; i < n; i++, child = doc->nodes[child].next) {
		if (is_skipped(skips, child))
			continue;
		if (!first)
			buf_add_char(out, ',');
		first = false;
		add_node(out, doc, child, skips);
	}
	buf_add_char(out, ']');
}

static void
add_object(struct buf *out, const struct json_doc *doc, uint32_t node, const struct skips *skips)
{
	struct json_ref small[REFS_ON_STACK], *refs = small;
	uint32_t i, n = doc->nodes[node].n_children;
	bool first = true;

	if (n > REFS_ON_STACK)
		refs = xmalloc(n * sizeof(*refs));
	json_sorted(doc, node, refs);
	buf_add_char(out, '{');
	for (i = 0; i < n; i++) {
		if (is_skipped(skips, refs[i].node))
			continue;
		if (!first)
			buf_add_char(out, ',');
		first = false;
		add_string(out, &refs[i]);
		buf_add_char(out, ':');
		add_node(out, doc, refs[i].node, skips);
	}
	buf_add_char(out, '}');
	if (refs != small)
		free(refs);
}

static void
add_node(struct buf *out, const struct json_doc *doc, uint32_t node, const struct skips *skips)
{
	const struct json_node *n = &doc->nodes[node];
	struct json_ref text;

	switch (n->type) {
	case JSON_NULL:
		buf_add_str(out, "null");
		break;
	case JSON_FALSE:
		buf_add_str(out, "false");
		break;
	case JSON_TRUE:
		buf_add_str(out, "true");
		break;
	case JSON_NUMBER:
		canon_number(out, doc->text + n->start, n->end - n->start);
		break;
	case JSON_STRING:
		text = json_text_ref(doc->text, n->start, n->end, node);
		add_string(out, &text);
		break;
	case JSON_ARRAY:
		add_array(out, doc, node, skips);
		break;
	case JSON_OBJECT:
		add_object(out, doc, node, skips);
		break;
	case JSON_OPAQUE:
		assert(!"an opaque value has no canonical form");
	}
}

void
canon_value(
    struct buf *out, const struct json_doc *doc, uint32_t node, char *const *skip, size_t n_skip)
{
	struct skips skips = {0};
	size_t i;

	assert(node < doc->n_nodes);
	if (n_skip > 0)
		skips.nodes = xmalloc(n_skip * sizeof(*skips.nodes));
	for (i = 0; i < n_skip; i++)
		skips.n += json_pointer(doc, node, skip[i], &skips.nodes[skips.n]);
	if (is_skipped(&skips, node))
		buf_add_str(out, "{}");
	else
		add_node(out, doc, node, &skips);
	free(skips.nodes);
}
