/* What is stored and shown as a reason is one bounded line of UTF-8, whatever it was made of. */
#include "limits.h"
#include "reason.h"
#include "tap.h"

#include <string.h>

static void
tamed(const char *text, const char *want)
{
	char *copy = strdup(text);

	reason_tame(copy);
	ck_assert_str_eq(copy, want);
	free(copy);
}

START_TEST(good_text_stays_as_it_is)
{
	tamed("", "");
	tamed("22P02: invalid input", "22P02: invalid input");
	tamed("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}
END_TEST

START_TEST(what_is_cut_within_a_character_ends_before_it)
{
	char text[2000] = "x", want[2000] = "x";

	tamed("a\xc3", "a");
	tamed("a\xe2\x82", "a");
	tamed("a\xf0\x9f\x98", "a");
	while (strlen(text) < 1200)
		strcat(text, "\xc3\xa4");
	while (strlen(want) < REASON_BYTES_MAX - 1)
		strcat(want, "\xc3\xa4");
	ck_assert_uint_eq(strlen(want), 999);
	tamed(text, want);
}
END_TEST

START_TEST(what_is_no_text_becomes_one)
{
	tamed("Verbindung f\xfcr \xabx\xbb fehlgeschlagen", "Verbindung f?r ?x? fehlgeschlagen");
	tamed("\xff\xff\xff\xff\xff\xff", "??????");
	tamed("\xff", "?");
	tamed("f\xfcr", "f?r");
	tamed("one\ntwo\tthree\x7f", "one?two?three?");
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("reason");

	tcase_add_test(tc, good_text_stays_as_it_is);
	tcase_add_test(tc, what_is_cut_within_a_character_ends_before_it);
	tcase_add_test(tc, what_is_no_text_becomes_one);
	return tap_run("reason", tc);
}
