/*
 * Commands that the wire suggests: those of plain and quoted words come out as the same words, safe
 * to look at; anything that a shell would do more with comes out as a remark.
 */
#include "command.h"
#include "show.h"
#include "tap.h"

#include <string.h>

static void
shows(const char *line, const char *expected, bool command)
{
	struct buf out = {0};

	ck_assert_msg(command_add(&out, line) == command, "%s", line);
	ck_assert_str_eq(buf_str(&out), expected);
	buf_free(&out);
}

START_TEST(plain_commands_stay_as_they_are)
{
	static const char *const lines[] = {
	    "effectctl explain 6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b",
	    "effectctl report stuck --namespace default --tool refund_order",
	    "effectctl get --tool t --key 'refund 1042'", "effectctl get --key 'it'\\''s'",
	    "effectctl get --key ''"};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		shows(lines[i], lines[i], true);
	shows("  effectctl   list ", "effectctl list", true);
	shows("effectctl get --key=\"a b\"", "effectctl get '--key=a b'", true);
}
END_TEST

START_TEST(words_that_are_not_safe_to_look_at_are_quoted_anew)
{
	shows("effectctl get --key 'a\xe2\x80\xae"
	      "b'",
	    "effectctl get --key $'a\\xe2\\x80\\xaeb'", true);
	shows("effectctl get --key 'a\x1b[2J'", "effectctl get --key $'a\\x1b[2J'", true);
	shows("effectctl get --key 'a\nreboot'", "effectctl get --key $'a\\x0areboot'", true);
	shows("effectctl get --key $'a\\x1b\\\\\\'\\n'",
	    "effectctl get --key $'a\\x1b\\\\\\'\\x0a'", true);
}
END_TEST

START_TEST(what_a_shell_would_do_more_with_is_a_remark)
{
	static const char *const lines[] = {"effectctl list; reboot", "effectctl list && reboot",
	    "a | sh", "a > /etc/passwd", "$(reboot)", "`reboot`", "a $HOME", "a \"$(reboot)\"",
	    "a *", "a ~", "a # b", "a !!", "a {b,c}", "a 'b", "a \"b", "a $'b", "a $'\\u202e'",
	    "a $'\\x00'", "a\tb"};
	struct buf out = {0};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		buf_clear(&out);
		ck_assert_msg(!command_add(&out, lines[i]), "%s", lines[i]);
		ck_assert_msg(out.len > 2 && !memcmp(out.data, "# ", 2), "%s", buf_str(&out));
		ck_assert_msg(!strpbrk(buf_str(&out), "\n\t\r\x1b"), "%s", lines[i]);
	}
	buf_free(&out);
	shows("a\nreboot", "# a\\nreboot", false);
	shows("a\\", "# a\\\\", false);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("command");

	tcase_add_test(tc, plain_commands_stay_as_they_are);
	tcase_add_test(tc, words_that_are_not_safe_to_look_at_are_quoted_anew);
	tcase_add_test(tc, what_a_shell_would_do_more_with_is_a_remark);
	return tap_run("command", tc);
}
