/*
 * Log lines: one line a call whatever a value holds, levels, both formats, the journal's prefix.
 * The line is read back through a pipe in the place of stderr.
 */
#include "log.h"
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int saved_stderr, reader;
static char text[8192];

static void
setup(void)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	saved_stderr = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	reader = ends[0];
	unsetenv("JOURNAL_STREAM");
	log_init(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
}

static void
teardown(void)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(reader);
}

/* What came since the last call, without the timestamp of its one line. */
static const char *
logged(void)
{
	ssize_t n = read(reader, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	if (text[0] != '2')
		return text;
	ck_assert_uint_ge(strlen(text), strlen("2026-01-01T00:00:00.000Z "));
	ck_assert_int_eq(text[10], 'T');
	ck_assert_int_eq(text[23], 'Z');
	return text + 25;
}

START_TEST(line_holds_its_members_in_order)
{
	struct log_line l;

	ck_assert(log_start(&l, LOG_LEVEL_INFO, "begin"));
	log_str(&l, "ns", "default");
	log_str(&l, "call", NULL);
	log_int(&l, "attempt", -1);
	log_ms(&l, "ms", 12345);
	log_end(&l);
	ck_assert_str_eq(logged(), "info event=begin ns=default attempt=-1 ms=12.345\n");
}
END_TEST

START_TEST(line_stays_one_line_whatever_a_value_holds)
{
	struct log_line l;
	static const char value[] = "a\nb\r\"\\=\x1b[31m\x7f\xc2\x9b\xc3\xa9\xff\0z"
				    "\xe2\x80\xae\xf3\xa0\x81\x81\xed\xa0\x80";

	ck_assert(log_start(&l, LOG_LEVEL_WARNING, "x"));
	log_strn(&l, "key", value, sizeof value - 1);
	log_str(&l, "empty", "");
	log_str(&l, "blank", "a b");
	log_str(&l, "equals", "a=b");
	log_end(&l);
	ck_assert_str_eq(logged(),
	    "warning event=x key=\"a\\u000ab\\u000d\\\"\\\\=\\u001b[31m\\u007f"
	    "\\u009b\xc3\xa9\\ufffd\\u0000z\\u202e\\udb40\\udc41\\ufffd\\ufffd\\ufffd\" empty=\"\" "
	    "blank=\"a b\" "
	    "equals=\"a=b\"\n");
}
END_TEST

START_TEST(level_decides_what_is_written)
{
	struct log_line l;

	ck_assert(!log_start(&l, LOG_LEVEL_DEBUG, "x"));
	log_str(&l, "k", "v");
	log_end(&l);
	log_debug("x", "not wanted");
	ck_assert_str_eq(logged(), "");
	log_init(LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT);
	log_debug("x", "tried %d times", 3);
	ck_assert_str_eq(logged(), "debug event=x msg=\"tried 3 times\"\n");
	log_init(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	log_warn("x", "not wanted");
	log_error("x", "wanted");
	ck_assert_str_eq(logged(), "error event=x msg=wanted\n");
}
END_TEST

START_TEST(json_is_one_object_a_line)
{
	struct log_line l;
	const char *from;

	log_init(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	ck_assert(log_start(&l, LOG_LEVEL_INFO, "begin"));
	log_str(&l, "tool", "a\"b");
	log_int(&l, "attempt", 2);
	log_end(&l);
	from = logged();
	ck_assert(strncmp(from, "{\"ts\":\"2", 8) == 0);
	ck_assert_str_eq(strstr(from, "\",\"level\""),
	    "\",\"level\":\"info\",\"event\":\"begin\",\"tool\":\"a\\\"b\",\"attempt\":2}\n");
}
END_TEST

START_TEST(journal_gets_priorities_only_where_stderr_is_the_journal)
{
	char stream[64];
	struct stat st;

	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	log_warn("x", "m");
	/* what this machine's own journal takes does not come here */
	ck_assert(
	    access("/run/systemd/journal/socket", W_OK) == 0 || strncmp(logged(), "<4>2", 4) == 0);
	snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	log_warn("x", "m");
	ck_assert_str_eq(logged(), "warning event=x msg=m\n");
}
END_TEST

START_TEST(names_of_levels_and_formats)
{
	enum log_level level = LOG_LEVEL_ERROR;
	enum log_format format = LOG_FORMAT_JSON;

	ck_assert(log_level_parse("debug", &level) && level == LOG_LEVEL_DEBUG);
	ck_assert(!log_level_parse("loud", &level) && level == LOG_LEVEL_DEBUG);
	ck_assert(log_format_parse("text", &format) && format == LOG_FORMAT_TEXT);
	ck_assert(!log_format_parse("xml", &format) && format == LOG_FORMAT_TEXT);
	ck_assert_str_eq(log_level_name(LOG_LEVEL_WARNING), "warning");
}
END_TEST

START_TEST(full_pipe_loses_the_line_and_nothing_else)
{
	struct log_line l;
	int n = 0;

	while (write(STDERR_FILENO, text, 1) == 1)
		n++;
	ck_assert_int_gt(n, 0);
	ck_assert(log_start(&l, LOG_LEVEL_INFO, "x"));
	log_end(&l);
	ck_assert(log_start(&l, LOG_LEVEL_INFO, "y"));
	log_end(&l);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("log");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, line_holds_its_members_in_order);
	tcase_add_test(tc, line_stays_one_line_whatever_a_value_holds);
	tcase_add_test(tc, level_decides_what_is_written);
	tcase_add_test(tc, json_is_one_object_a_line);
	tcase_add_test(tc, journal_gets_priorities_only_where_stderr_is_the_journal);
	tcase_add_test(tc, names_of_levels_and_formats);
	tcase_add_test(tc, full_pipe_loses_the_line_and_nothing_else);
	return tap_run("log", tc);
}
