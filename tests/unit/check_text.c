/* Durations, whole numbers and nearest names, as the config and the policies spell them. */
#include "tap.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

START_TEST(durations_have_a_unit_and_an_end)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = {{"0s", 0}, {"1ms", 1}, {"60s", 60000}, {"2m", 120000}, {"24h", 86400000},
	    {"30d", 2592000000}, {"3650d", 315360000000}, {"000000001s", 1000},
	    {"999999999ms", 999999999}, {"87600h", 315360000000}, {"315360000s", 315360000000},
	    /* case 133: 2^31 ms and a year neither wrap nor turn negative */
	    {"2147484s", 2147484000}, {"365d", 31536000000}};
	static const char *const bad[] = {"", "5", "s", "-5s", "+5s", " 5s", "5 s", "5s ", "5S",
	    "0x5s", "1.5s", "1e3s", "5us", "5w", "5y", "5mss", "ms", "1h30m", "3651d", "87601h",
	    "5256001m", "315360001s", "1000000000ms", "0000000001s", "\xd9\xa3s",
	    /* case 133: 2^31, 2^53 and 2^63 ms, and more days than 64 bits hold in ms */
	    "2147483648ms", "9007199254740992ms", "9223372036854775808ms", "999999999d"};

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		int64_t ms = -1;

		ck_assert_msg(text_duration_ms(good[i].text, &ms), "%s", good[i].text);
		ck_assert_int_eq(ms, good[i].ms);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		int64_t ms = -77;

		ck_assert_msg(!text_duration_ms(bad[i], &ms), "%s", bad[i]);
		ck_assert_int_eq(ms, -77);
	}
}
END_TEST

START_TEST(durations_are_spelt_in_their_largest_unit)
{
	static const char *const pairs[][2] = {{"60s", "1m"}, {"90s", "90s"}, {"24h", "1d"},
	    {"30d", "30d"}, {"0d", "0s"}, {"0ms", "0s"}, {"1500ms", "1500ms"}, {"2000ms", "2s"},
	    {"999999999ms", "999999999ms"}, {"3650d", "3650d"}, {"36h", "36h"}};
	char text[TEXT_DURATION_BYTES];
	int64_t ms, again;

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		ck_assert(text_duration_ms(pairs[i][0], &ms));
		text_duration(ms, text);
		ck_assert_str_eq(text, pairs[i][1]);
		ck_assert(text_duration_ms(text, &again));
		ck_assert_int_eq(again, ms);
	}
}
END_TEST

START_TEST(whole_numbers_are_decimal)
{
	static const char *const bad[] = {"", "010", "00", "-5", "+5", " 5", "5 ", "64k", "0x10",
	    "1e3", "5.0", "101", "9223372036854775808", "99999999999999999999999"};
	int64_t n = -77;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		ck_assert_msg(!text_int(bad[i], 0, 100, &n) && n == -77, "%s", bad[i]);
	ck_assert(text_int("0", 0, 100, &n) && n == 0);
	ck_assert(text_int("100", 0, 100, &n) && n == 100);
	ck_assert(text_int("999999999999999999", 0, INT64_MAX, &n) && n == 999999999999999999);
	ck_assert(!text_int("4", 5, 100, &n));
}
END_TEST

START_TEST(the_nearest_name_is_near)
{
	static const char *const names[] = {
	    "socket", "socket_mode", "state_dir", "max_line", "key"};
	size_t n = sizeof names / sizeof names[0];
	char word[200];

	ck_assert_str_eq(text_nearest("sokcet", names, n), "socket");
	ck_assert_str_eq(text_nearest("sockt", names, n), "socket");
	ck_assert_str_eq(text_nearest("socket-mode", names, n), "socket_mode");
	ck_assert_str_eq(text_nearest("maxline", names, n), "max_line");
	ck_assert_str_eq(text_nearest("kye", names, n), "key");
	ck_assert_ptr_null(text_nearest("colour", names, n));
	ck_assert_ptr_null(text_nearest("", names, n));
	ck_assert_ptr_null(text_nearest("socket", names, 0));
	memset(word, 'a', sizeof word);
	word[sizeof word - 1] = '\0';
	ck_assert_ptr_null(text_nearest(word, names, n));
}
END_TEST

START_TEST(control_characters_are_found_and_blanked)
{
	char text[] = "a\tb\x7f\xc3\xa9\x1f\xc2\x9b\xc2\xa0\xc2";

	ck_assert(text_has_control(text, strlen(text)));
	ck_assert(text_has_control("a\0b", 3));
	ck_assert(!text_has_control("a b\xc3\xa9~", 6));
	ck_assert(!text_has_control("\n", 0));
	ck_assert(text_has_control("a\xc2\x80", 3) && text_has_control("\xc2\x9f", 2));
	ck_assert(!text_has_control("\xc2\xa0", 2) && !text_has_control("\xc2\x9f", 1));
	text_blank_control(text, strlen(text));
	ck_assert_str_eq(text, "a?b?\xc3\xa9???\xc2\xa0\xc2");
}
END_TEST

START_TEST(hosts_begin_behind_the_scheme)
{
	ck_assert_str_eq(text_http_host("http://h:1/x"), "h:1/x");
	ck_assert_str_eq(text_http_host("https://h"), "h");
	ck_assert_str_eq(text_http_host("http://"), "");
	ck_assert_ptr_null(text_http_host("HTTP://h"));
	ck_assert_ptr_null(text_http_host("ftp://h"));
	ck_assert_ptr_null(text_http_host("http:/h"));
	ck_assert_ptr_null(text_http_host(""));
}
END_TEST

static int64_t
instant(const char *text, bool utc)
{
	int64_t us = -77;

	ck_assert_msg(text_instant(text, strlen(text), utc, &us), "%s", text);
	return us;
}

START_TEST(instants_are_of_rfc_3339)
{
	static const char *const bad[] = {"", "2024-05-01", "2024-05-01T10:00:00",
	    "2024-05-01T10:00Z", "2024-5-01T10:00:00Z", "2024-02-30T10:00:00Z",
	    "2023-02-29T10:00:00Z", "1900-02-29T10:00:00Z", "2024-13-01T10:00:00Z",
	    "2024-00-01T10:00:00Z", "2024-05-00T10:00:00Z", "2024-05-01T24:00:00Z",
	    "2024-05-01T10:60:00Z", "2024-05-01T10:00:61Z", "2024-05-01T10:00:00.Z",
	    "2024-05-01T10:00:00+0100", "2024-05-01T10:00:00+24:00", "2024-05-01T10:00:00Z ",
	    "2024-05-01X10:00:00Z", "0000-05-01T10:00:00Z", "+024-05-01T10:00:00Z",
	    "2024-05-01T10:00:00ZZ"};
	int64_t us = -77;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		ck_assert_msg(
		    !text_instant(bad[i], strlen(bad[i]), false, &us) && us == -77, "%s", bad[i]);
	ck_assert_int_eq(instant("1970-01-01T00:00:00Z", false), 0);
	ck_assert_int_eq(instant("2024-05-01T10:00:00Z", false), INT64_C(1714557600000000));
	ck_assert_int_eq(instant("2024-05-01t10:00:00.25z", false), INT64_C(1714557600250000));
	ck_assert_int_eq(
	    instant("2024-05-01 12:00:00.1234569+02:00", false), INT64_C(1714557600123456));
	ck_assert_int_eq(instant("2024-04-30T23:30:00-10:30", false), INT64_C(1714557600000000));
	ck_assert_int_eq(instant("2024-05-01 10:00:00", true), INT64_C(1714557600000000));
	ck_assert_int_eq(instant("2024-05-01 12:00:00+02:00", true), INT64_C(1714557600000000));
	ck_assert_int_eq(instant("2016-12-31T23:59:60Z", false), INT64_C(1483228800000000));
	ck_assert_int_eq(instant("1969-12-31T23:59:59Z", false), -1000000);
	ck_assert_int_eq(instant("2000-02-29T00:00:00Z", false), INT64_C(951782400000000));
	ck_assert_int_eq(instant("2000-03-01T00:00:00Z", false), INT64_C(951868800000000));
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("text");

	tcase_add_test(tc, durations_have_a_unit_and_an_end);
	tcase_add_test(tc, durations_are_spelt_in_their_largest_unit);
	tcase_add_test(tc, whole_numbers_are_decimal);
	tcase_add_test(tc, the_nearest_name_is_near);
	tcase_add_test(tc, instants_are_of_rfc_3339);
	tcase_add_test(tc, control_characters_are_found_and_blanked);
	tcase_add_test(tc, hosts_begin_behind_the_scheme);
	return tap_run("text", tc);
}
