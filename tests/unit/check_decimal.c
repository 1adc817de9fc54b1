/*
 * Decimal numbers: what is one number has one spelling, and nothing is guessed.
 */
#include "decimal.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
spelt(const char *from, int shift, const char *to)
{
	char text[DECIMAL_BYTES] = "untouched";

	ck_assert_msg(decimal_spell(from, strlen(from), shift, text), "%s", from);
	ck_assert_str_eq(text, to);
}

static void
refused(const char *from)
{
	char text[DECIMAL_BYTES] = "untouched";

	ck_assert_msg(!decimal_spell(from, strlen(from), 0, text), "%s", from);
	ck_assert_str_eq(text, "untouched");
}

START_TEST(one_number_has_one_spelling)
{
	spelt("12.5", 0, "12.5");
	spelt("12.50", 0, "12.5");
	spelt("+0012.500", 0, "12.5");
	spelt("1.25e1", 0, "12.5");
	spelt("125E-1", 0, "12.5");
	spelt("1e3", 0, "1000");
	spelt(".5", 0, "0.5");
	spelt("-0.05", 0, "-0.05");
	spelt("100", 0, "100");
	spelt("0.10", 0, "0.1");
	spelt("9007199254740993", 0, "9007199254740993");
	spelt("0.1000000000000000055511151231257827", 0, "0.1000000000000000055511151231257827");
}
END_TEST

START_TEST(every_zero_is_zero)
{
	spelt("0", 0, "0");
	spelt("-0.00", 0, "0");
	spelt("0e999", 0, "0");
	spelt("000", 2, "0");
}
END_TEST

START_TEST(minor_units_move_the_point)
{
	spelt("1250", 2, "12.5");
	spelt("5", 2, "0.05");
	spelt("-100", 2, "-1");
	spelt("1", 18, "0.000000000000000001");
	spelt("12.5", 1, "1.25");
}
END_TEST

START_TEST(nothing_is_guessed)
{
	static const char *const bad[] = {"", "-", "+", ".", "1.", "1.2.3", "1,250.00", "1.250,00",
	    "12,50", "1 000", " 1", "1 ", "1e", "1e+", "e5", "--1", "0x10", "NaN", "inf", "1e1001",
	    "12.50 EUR", "$5", "1e9999999999", "\xd9\xa1"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refused(bad[i]);
}
END_TEST

START_TEST(what_is_too_long_is_refused)
{
	char text[300], spelling[DECIMAL_BYTES];

	memset(text, '7', sizeof text);
	ck_assert(decimal_spell(text, 64, 0, spelling));
	ck_assert_uint_eq(strlen(spelling), 64);
	ck_assert(!decimal_spell(text, 65, 0, spelling));
	ck_assert(!decimal_spell(text, 200, 0, spelling));
	text[64] = '.';
	ck_assert(decimal_spell(text, 129, 0, spelling));
	ck_assert_uint_eq(strlen(spelling), 129);
	ck_assert(!decimal_spell(text, 130, 0, spelling));
	refused("1e64");
	spelt("1e-64", 0, "0.0000000000000000000000000000000000000000000000000000000000000001");
	refused("1e-65");
}
END_TEST

/* However many zeros stand before it, and whatever an exponent takes back, it is that number. */
START_TEST(spellings_of_any_number_agree)
{
	char text[64], spelling[DECIMAL_BYTES], want[DECIMAL_BYTES];

	for (int i = 0; i < 20000; i++) {
		long value = i * 7919L % 2000001 - 1000000;
		int places = i % 6, zeros = i % 4, power = i % 5;

		snprintf(text, sizeof text, "%ld", value);
		ck_assert(decimal_spell(text, strlen(text), places, want));
		snprintf(text, sizeof text, "%s%.*s%ld%.*se-%d", value < 0 ? "-" : "", zeros,
		    "0000", labs(value), power, "00000", places + power);
		ck_assert_msg(decimal_spell(text, strlen(text), 0, spelling), "%s", text);
		ck_assert_msg(!strcmp(spelling, want), "%s: %s, not %s", text, spelling, want);
	}
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("decimal");

	tcase_add_test(tc, one_number_has_one_spelling);
	tcase_add_test(tc, every_zero_is_zero);
	tcase_add_test(tc, minor_units_move_the_point);
	tcase_add_test(tc, nothing_is_guessed);
	tcase_add_test(tc, what_is_too_long_is_refused);
	tcase_add_test(tc, spellings_of_any_number_agree);
	return tap_run("decimal", tc);
}
