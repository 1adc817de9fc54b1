/*
 * Amounts. What is equal in a currency does not belong here, only what is equal as a number. Owns
 * nothing.
 */
#include "decimal.h"

#include <string.h>

#define EXPONENT_MAX 1000 /* more is refused at the digits' bound anyway, unless all are zeros */

/* A number while it is read: digits without their point, and how many stand behind it. */
struct number {
	bool negative;
	char digits[2 * DECIMAL_DIGITS_MAX];
	int n_digits;
	int n_behind; /* may be negative, or more than n_digits */
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Leading zeros are none. False: too many. */
static bool
add_digit(struct number *n, char c)
{
	if (n->n_digits == 0 && c == '0')
		return true;
	if (n->n_digits == (int)sizeof n->digits)
		return false;
	n->digits[n->n_digits++] = c;
	return true;
}

static bool
read_exponent(const char **at, const char *end, int *ret)
{
	int sign = 1;

	*ret = 0;
	if (*at < end && (**at == '+' || **at == '-'))
		sign = *(*at)++ == '-' ? -1 : 1;
	if (*at == end)
		return false;
	for (; *at < end && is_digit(**at); (*at)++)
		if ((*ret = 10 * *ret + (**at - '0')) > EXPONENT_MAX)
			return false;
	*ret *= sign;
	return *at == end;
}

static bool
read_number(const char *text, size_t len, struct number *n)
{
	const char *at = text, *end = text + len;
	int n_seen = 0, exponent = 0;
	bool behind = false;

	if (at < end && (*at == '-' || *at == '+'))
		n->negative = *at++ == '-';
	for (; at < end && (is_digit(*at) || (*at == '.' && !behind)); at++) {
		if (*at == '.') {
			behind = true;
			continue;
		}
		if (!add_digit(n, *at))
			return false;
		n->n_behind += behind;
		n_seen++;
	}
	if (n_seen == 0 || at[-1] == '.')
		return false;
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		if (!read_exponent(&at, end, &exponent))
			return false;
	}
	n->n_behind -= exponent;
	return at == end;
}

/* Zeros at the end say nothing. */
static void
trim(struct number *n)
{
	while (n->n_digits > 0 && n->digits[n->n_digits - 1] == '0') {
		n->n_digits--;
		n->n_behind--;
	}
}

bool
decimal_spell(const char *text, size_t len, int shift, char ret[DECIMAL_BYTES])
{
	struct number n = {0};
	int n_before;
	char *out = ret;

	if (!read_number(text, len, &n))
		return false;
	n.n_behind += shift;
	trim(&n);
	if (n.n_digits == 0) {
		memcpy(ret, "0", 2);
		return true;
	}
	n_before = n.n_digits - n.n_behind;
	if (n_before > DECIMAL_DIGITS_MAX || n.n_behind > DECIMAL_DIGITS_MAX)
		return false;
	if (n.negative)
		*out++ = '-';
	if (n_before <= 0)
		*out++ = '0';
	for (int i = 0; i < n_before; i++)
		*out++ = i < n.n_digits ? n.digits[i] : '0';
	if (n.n_behind > 0) {
		*out++ = '.';
		for (int i = n_before; i < 0; i++)
			*out++ = '0';
		for (int i = n_before > 0 ? n_before : 0; i < n.n_digits; i++)
			*out++ = n.digits[i];
	}
	*out = '\0';
	return true;
}
