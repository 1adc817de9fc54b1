/*
 * The CSV that effectctl writes: what a cell holds is that cell's, in a spreadsheet and on a
 * terminal.
 */
#include "csv.h"
#include "show.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void
expect_n(const char *from, size_t len, const char *to)
{
	struct csv csv = {0};

	csv_cell_n(&csv, from, len);
	ck_assert_str_eq(buf_str(&csv.out), to);
	buf_free(&csv.out);
}

#define CELL(from, to) expect_n(from, sizeof from - 1, to)

START_TEST(plain_cells_stay_as_they_are)
{
	CELL("refund:1042:3", "refund:1042:3");
	CELL("", "");
	CELL("two words", "two words");
	CELL("Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac", "Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac");
}
END_TEST

START_TEST(what_could_be_another_cell_is_quoted)
{
	CELL("a,b", "\"a,b\"");
	CELL("a;b", "\"a;b\"");
	CELL("say \"hi\"", "\"say \"\"hi\"\"\"");
	CELL(" a ", "\" a \"");
}
END_TEST

START_TEST(what_could_be_a_formula_is_text)
{
	CELL("=1+1", "'=1+1");
	CELL("+4930123", "'+4930123");
	CELL("-1+1", "'-1+1");
	CELL("@SUM(A1)", "'@SUM(A1)");
	CELL("  =1", "'  =1");
	CELL("\xef\xbc\x9d"
	     "1",
	    "'\xef\xbc\x9d"
	    "1");
	CELL("-", "'-");
	CELL("a;=1;b", "\"a;'=1;b\"");
	CELL("a; -1+1", "\"a;' -1+1\"");
	CELL("a;-1;", "\"a;-1;\"");
	CELL("a;\"=1\"", "\"a;'\"\"=1\"\"\"");
	CELL("-1.", "'-1.");
	CELL("=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
}
END_TEST

START_TEST(numbers_stay_numbers)
{
	CELL("-12.50", "-12.50");
	CELL("-7", "-7");
	CELL("12.5", "12.5");
	CELL("-1e-05", "-1e-05");
	CELL("1e+300", "1e+300");
	CELL("-1e", "'-1e");
}
END_TEST

START_TEST(no_cell_moves_a_cursor_or_fakes_a_line)
{
	CELL("a\r\nb", "a\\r\\nb");
	CELL("\t=1", "\\t=1");
	CELL("\x1b[2J", "\\x1b[2J");
	CELL("a\0b", "a\\x00b");
	CELL("\xe2\x80\xae", "\\u202e");
	CELL("back\\slash", "back\\\\slash");
	CELL("\xff", "\\xff");
}
END_TEST

START_TEST(a_file_is_utf_8_in_every_locale)
{
	show_set_utf8(false);
	CELL("\xc3\xbc", "\xc3\xbc");
	show_set_utf8(true);
}
END_TEST

START_TEST(lines_have_all_their_cells)
{
	struct csv csv = {0};

	csv_line(&csv, (const char *const[]){"a", "b", "c", NULL});
	csv_cell(&csv, NULL);
	csv_cell(&csv, "-3");
	csv_cell(&csv, "");
	csv_end(&csv);
	ck_assert_str_eq(buf_str(&csv.out), "a,b,c\n,-3,\n");
	buf_clear(&csv.out);
	csv_cell(&csv, "");
	csv_cell(&csv, "x");
	csv_end(&csv);
	csv_cell(&csv, "");
	csv_end(&csv);
	ck_assert_str_eq(buf_str(&csv.out), ",x\n\"\"\n");
	buf_free(&csv.out);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("csv");

	tcase_add_test(tc, plain_cells_stay_as_they_are);
	tcase_add_test(tc, what_could_be_another_cell_is_quoted);
	tcase_add_test(tc, what_could_be_a_formula_is_text);
	tcase_add_test(tc, numbers_stay_numbers);
	tcase_add_test(tc, no_cell_moves_a_cursor_or_fakes_a_line);
	tcase_add_test(tc, a_file_is_utf_8_in_every_locale);
	tcase_add_test(tc, lines_have_all_their_cells);
	return tap_run("csv", tc);
}
