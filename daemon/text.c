/*
 * Durations, whole numbers and nearest names: the small spellings that config files and policy
 * files have in common. Promise: no value wraps round, whatever digits come. Owns no memory. What a
 * key or member means does not belong here.
 */
#include "text.h"

#include "limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGITS_MAX 9
#define DIGITS_INT_MAX 18 /* 10^18 - 1 < 2^63: no digit can overflow */
#define WORD_BYTES_MAX 64 /* longer words are near to nothing of ours */

static const struct {
	const char *name;
	int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

#define N_UNITS (sizeof units / sizeof units[0])

/* Reads at most `max` digits (by hand: isdigit() and strtoll() follow the locale and take signs and
 * spaces). */
static size_t
read_digits(const char *text, size_t max, int64_t *ret_value)
{
	int64_t value = 0;
	size_t i;

	for (i = 0; i < max && text[i] >= '0' && text[i] <= '9'; i++)
		value = value * 10 + (text[i] - '0');
	*ret_value = value;
	return i;
}

bool
text_duration_ms(const char *text, int64_t *ret_ms)
{
	size_t i, n_digits;
	int64_t n;

	n_digits = read_digits(text, DIGITS_MAX, &n);
	if (n_digits == 0)
		return false;
	for (i = 0; i < N_UNITS; i++) {
		if (strcmp(text + n_digits, units[i].name) != 0)
			continue;
		if (n > DURATION_DAYS_MAX * units[0].ms / units[i].ms)
			return false;
		*ret_ms = n * units[i].ms;
		return true;
	}
	return false;
}

void
text_duration(int64_t ms, char ret[TEXT_DURATION_BYTES])
{
	size_t i = 0;
	int len;

	assert(ms >= 0);
	if (ms == 0)
		i = N_UNITS - 2; /* "0s" reads better than "0d" */
	while (ms % units[i].ms != 0)
		i++;
	len = snprintf(ret, TEXT_DURATION_BYTES, "%" PRId64 "%s", ms / units[i].ms, units[i].name);
	assert(len > 0 && len < TEXT_DURATION_BYTES);
}

bool
text_int(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	size_t n_digits;
	int64_t n;

	n_digits = read_digits(text, DIGITS_INT_MAX, &n);
	if (n_digits == 0 || text[n_digits] != '\0' || (n_digits > 1 && text[0] == '0'))
		return false; /* a leading zero means octal to some readers, so it means nothing
				 here */
	if (n < min || n > max)
		return false;
	*ret_value = n;
	return true;
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost one
 * each. */
static unsigned
distance(const char *a, size_t len_a, const char *b, size_t len_b)
{
	unsigned rows[3][WORD_BYTES_MAX + 1], *above2, *above, *row, *free_row;
	size_t i, j;

	above2 = rows[0];
	above = rows[1];
	row = rows[2];
	for (j = 0; j <= len_b; j++)
		above[j] = (unsigned)j;
	memset(above2, 0, sizeof rows[0]); /* read from row 2 on only, when it holds row 0 */
	for (i = 1; i <= len_a; i++) {
		row[0] = (unsigned)i;
		for (j = 1; j <= len_b; j++) {
			row[j] = least(least(above[j] + 1, row[j - 1] + 1),
			    above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], above2[j - 2] + 1);
		}
		free_row = above2;
		above2 = above;
		above = row;
		row = free_row;
	}
	return above[len_b];
}

const char *
text_nearest(const char *word, const char *const *names, size_t n)
{
	size_t i, len, name_len;
	unsigned d, best_d;
	const char *best = NULL;

	len = strlen(word);
	if (len > WORD_BYTES_MAX)
		return NULL;
	best_d =
	    (unsigned)(len + 2) / 3 + 1; /* one slip in each three letters is still the same word */
	for (i = 0; i < n; i++) {
		name_len = strlen(names[i]);
		assert(name_len <= WORD_BYTES_MAX);
		d = distance(word, len, names[i], name_len);
		if (d < best_d) {
			best_d = d;
			best = names[i];
		}
	}
	return best;
}

/* `n` digits at *at, which moves behind them; -1: there are none. */
static int
digits(const char **at, const char *end, int n)
{
	int value = 0;

	for (; n > 0; n--, (*at)++) {
		if (*at == end || **at < '0' || **at > '9')
			return -1;
		value = 10 * value + (**at - '0');
	}
	return value;
}

static bool
skip_char(const char **at, const char *end, const char *any)
{
	if (*at == end || !**at || !strchr(any, **at))
		return false;
	(*at)++;
	return true;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar; false: there is no such day. */
static bool
day_number(int year, int month, int day, int64_t *ret)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31},
			 before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	int past = year - 1;

	if (year < 1 || month < 1 || month > 12 || day < 1 ||
	    day > lengths[month - 1] + (month == 2 && leap))
		return false;
	*ret = (int64_t)past * 365 + past / 4 - past / 100 + past / 400 + before[month - 1] +
	    (month > 2 && leap) + day - 1 - 719162;
	return true;
}

/* Seconds since midnight, and microseconds. A leap second is the first one of the next minute. */
static bool
read_clock(const char **at, const char *end, int64_t *ret_us)
{
	int hour = digits(at, end, 2);
	int minute = skip_char(at, end, ":") ? digits(at, end, 2) : -1;
	int second = skip_char(at, end, ":") ? digits(at, end, 2) : -1;
	int64_t unit = 100000, us = 0;
	const char *first;

	if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
		return false;
	if (skip_char(at, end, ".")) {
		for (first = *at; *at < end && **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
			us += unit * (**at - '0');
		if (*at == first)
			return false;
	}
	*ret_us = ((hour * 60 + minute) * 60 + second) * INT64_C(1000000) + us;
	return true;
}

/* How far the clock that was read is ahead of UTC, in minutes. */
static bool
read_offset(const char **at, const char *end, bool utc, int *ret)
{
	int sign = *at < end && **at == '-' ? -1 : 1, hours, minutes;

	*ret = 0;
	if (*at == end)
		return utc;
	if (skip_char(at, end, "Zz"))
		return true;
	if (!skip_char(at, end, "+-"))
		return false;
	hours = digits(at, end, 2);
	minutes = skip_char(at, end, ":") ? digits(at, end, 2) : -1;
	*ret = sign * (hours * 60 + minutes);
	return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

bool
text_instant(const char *text, size_t len, bool utc, int64_t *ret_us)
{
	const char *at = text, *end = text + len;
	int year = digits(&at, end, 4);
	int month = skip_char(&at, end, "-") ? digits(&at, end, 2) : -1;
	int day = skip_char(&at, end, "-") ? digits(&at, end, 2) : -1;
	int64_t days, clock_us;
	int offset;

	if (!day_number(year, month, day, &days) || !skip_char(&at, end, "Tt ") ||
	    !read_clock(&at, end, &clock_us) || !read_offset(&at, end, utc, &offset) || at != end)
		return false;
	*ret_us = days * INT64_C(86400000000) + clock_us - offset * INT64_C(60000000);
	return true;
}

bool
text_instant_us(const char *text, int64_t *ret_us)
{
	size_t len = strlen(text), n_fraction;

	if (len < sizeof "2026-11-30T04:29:12Z" - 1 || text[10] != 'T' || text[len - 1] != 'Z')
		return false;
	n_fraction = len - (sizeof "2026-11-30T04:29:12Z" - 1);
	/* no leap second: the ledger knows none */
	return text[17] != '6' && n_fraction <= 1 + DIGITS_MAX &&
	    text_instant(text, len, false, ret_us);
}

/* How many bytes the control character at text[i] has (C0, DEL: one; C1: two); 0: it is none. */
static size_t
control_len(const char *text, size_t len, size_t i)
{
	const unsigned char *p = (const unsigned char *)text + i;

	if (p[0] < 0x20 || p[0] == 0x7f)
		return 1;
	return p[0] == 0xc2 && i + 1 < len && p[1] >= 0x80 && p[1] < 0xa0 ? 2 : 0;
}

bool
text_has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (control_len(text, len, i) > 0)
			return true;
	return false;
}

void
text_blank_control(char *text, size_t len)
{
	size_t n;

	for (size_t i = 0; i < len; i++)
		if ((n = control_len(text, len, i)) > 0) {
			memset(text + i, '?', n);
			i += n - 1;
		}
}

const char *
text_http_host(const char *url)
{
	static const char *const schemes[] = {"https://", "http://"};

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			return url + strlen(schemes[i]);
	return NULL;
}
