/*
 * What effectctl prints for people: nothing that came over the wire moves a cursor, turns a line
 * around or fakes another.
 */
#include "show.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(from, to) expect(show_text, from, sizeof from - 1, to)
#define JSON(from, to) expect(show_json, from, sizeof from - 1, to)

static void
expect(
    void (*show)(struct buf *, const char *, size_t), const char *from, size_t len, const char *to)
{
	struct buf out = {0};

	show(&out, from, len);
	ck_assert_str_eq(buf_str(&out), to);
	buf_free(&out);
}

START_TEST(plain_text_stays_as_it_is)
{
	TEXT("refund:1042:3", "refund:1042:3");
	TEXT("", "");
	TEXT("Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x98\x80",
	    "Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x98\x80");
}
END_TEST

START_TEST(controls_come_out_as_escapes)
{
	TEXT("a\nb\tc\rd", "a\\nb\\tc\\rd");
	TEXT("\x1b[2J\x07", "\\x1b[2J\\a");
	TEXT("a\0b", "a\\x00b");
	TEXT("\x7f", "\\x7f");
	TEXT("\xc2\x9b"
	     "31m",
	    "\\u009b31m"); /* C1: CSI in one character */
	TEXT("back\\slash", "back\\\\slash");
}
END_TEST

START_TEST(direction_and_invisible_characters_come_out_as_escapes)
{
	TEXT("\xe2\x80\xae"
	     "evil",
	    "\\u202eevil");
	TEXT("\xe2\x81\xa6", "\\u2066");
	TEXT("\xe2\x80\x8b", "\\u200b");
	TEXT("\xe2\x80\xa8", "\\u2028");
	TEXT("\xef\xbb\xbf", "\\ufeff");
	TEXT("\xf3\xa0\x81\x81", "\\U000e0041"); /* tag characters */
}
END_TEST

START_TEST(words_for_a_shell_are_that_text_again)
{
	static const char *const words[][2] = {{"refund:1042:3", "refund:1042:3"}, {"", "''"},
	    {"a b", "'a b'"}, {"it's", "'it'\\''s'"},
	    {"$(reboot) `x` \\ \"", "'$(reboot) `x` \\ \"'"},
	    {"Gr\xc3\xbc\xc3\x9f\x65", "'Gr\xc3\xbc\xc3\x9f\x65'"}, {"~", "'~'"}, {"a=b", "'a=b'"},
	    {"a\nb", "$'a\\x0ab'"}, {"\x1b[2Jit's \\", "$'\\x1b[2Jit\\'s \\\\'"},
	    {"\xe2\x80\xae"
	     "evil",
		"$'\\xe2\\x80\\xaeevil'"}};
	struct buf out = {0};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		buf_clear(&out);
		show_shell(&out, words[i][0]);
		ck_assert_str_eq(buf_str(&out), words[i][1]);
	}
	buf_free(&out);
}
END_TEST

START_TEST(broken_utf8_comes_out_byte_by_byte)
{
	TEXT("\xff", "\\xff");
	TEXT("\xc3", "\\xc3");
	TEXT("\xc0\x9b", "\\xc0\\x9b");			  /* overlong */
	TEXT("\xed\xa0\x80", "\\xed\\xa0\\x80");	  /* a surrogate */
	TEXT("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* past U+10FFFF */
	TEXT("\xe2\x82", "\\xe2\\x82");
}
END_TEST

START_TEST(json_stays_the_same_value)
{
	JSON("{\"a\":\"\\u001b\\\\\"}", "{\"a\":\"\\u001b\\\\\"}");
	JSON("{\n\t\"a\": 1}", "{  \"a\": 1}"); /* no result can fake a line of ours */
	JSON("\"\x7f\xc2\x9b\"", "\"\\u007f\\u009b\"");
	JSON("\"\xe2\x80\xae\"", "\"\\u202e\"");
	JSON("\"\xf3\xa0\x81\x81\"", "\"\\udb40\\udc41\"");
	JSON("\"\xc3\xbc\"", "\"\xc3\xbc\"");
}
END_TEST

START_TEST(another_character_set_gets_ascii_only)
{
	show_set_utf8(false);
	TEXT("\xc5\x9b\x78", "\\u015bx"); /* its second byte is CSI to a Latin-1 terminal */
	JSON("\"\xc3\xbc\"", "\"\\u00fc\"");
	show_set_utf8(true);
}
END_TEST

START_TEST(every_error_has_its_exit_code)
{
	ck_assert_int_eq(show_error_exit(err_code(ERR_INVALID_PARAMS)), CTL_INPUT);
	ck_assert_int_eq(show_error_exit(err_code(ERR_UNKNOWN_METHOD)), CTL_INPUT);
	ck_assert_int_eq(show_error_exit(err_code(ERR_UNAVAILABLE)), CTL_UNAVAILABLE);
	ck_assert_int_eq(show_error_exit(err_code(ERR_INTERNAL)), CTL_BUG);
	ck_assert_int_eq(show_error_exit(err_code(ERR_OVERLOADED)), CTL_BUSY);
	ck_assert_int_eq(show_error_exit(err_code(ERR_DENIED)), CTL_DENIED);
	ck_assert_int_eq(show_error_exit(err_code(ERR_NOT_FOUND)), CTL_NOT_FOUND);
	ck_assert_int_eq(show_error_exit(err_code(ERR_NOT_OWNER)), CTL_CONFLICT);
	ck_assert_int_eq(show_error_exit(err_code(ERR_CONFLICT)), CTL_CONFLICT);
	ck_assert_int_eq(show_error_exit(-1), CTL_BUG);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("show");

	tcase_add_test(tc, plain_text_stays_as_it_is);
	tcase_add_test(tc, controls_come_out_as_escapes);
	tcase_add_test(tc, direction_and_invisible_characters_come_out_as_escapes);
	tcase_add_test(tc, words_for_a_shell_are_that_text_again);
	tcase_add_test(tc, broken_utf8_comes_out_byte_by_byte);
	tcase_add_test(tc, json_stays_the_same_value);
	tcase_add_test(tc, another_character_set_gets_ascii_only);
	tcase_add_test(tc, every_error_has_its_exit_code);
	return tap_run("show", tc);
}
