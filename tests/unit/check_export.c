/*
 * The provider's export, read: CSV and JSON lines, and what of them is a row, is bad, or is not to
 * be read on at all.
 */
#include "export.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct export_plan plan;
static struct intake in;
static struct export *export;
static struct export_row row;
static char *why;

static void
add(struct export_source *source, const char *name)
{
	source->names[source->n++] = strdup(name);
}

static void
setup(void)
{
	plan = (struct export_plan){.ns = "default", .tool = "refund"};
	add(&plan.provider_key, "key");
	add(&plan.business_key, "order");
	add(&plan.business_key, "line");
	add(&plan.time, "at");
	plan.fields[0] = (struct export_field){
	    .name = strdup("amount"), .source = strdup("sum"), .is_amount = true};
	plan.n_fields = 1;
	export = NULL;
	why = NULL;
}

static void
teardown(void)
{
	export_close(export);
	close(in.fd);
	free(why);
	export_plan_clear(&plan);
}

/* Opens an export of these bytes; they come in pieces of at most `piece` bytes where that is not 0.
 */
static bool
opens(const char *text, size_t len)
{
	in = (struct intake){.fd = memfd_create("export", 0)};
	ck_assert_int_eq(write(in.fd, text, len), (ssize_t)len);
	lseek(in.fd, 0, SEEK_SET);
	export = export_open(&plan, &in, &why);
	return export != NULL;
}

#define OPENS(text) ck_assert_msg(opens(text, sizeof(text) - 1), "%s", why)
#define HEAD "key,order,line,at,sum\n"
#define NOT_OPEN(text, reason)                                 \
	do {                                                   \
		ck_assert(!opens(text, sizeof(text) - 1));     \
		ck_assert_msg(strstr(why, reason), "%s", why); \
		free(why);                                     \
		why = NULL;                                    \
		close(in.fd);                                  \
	} while (0)

static void
is_row(uint64_t line, const char *reference, const char *amount)
{
	ck_assert_int_eq(export_next(export, &row), EXPORT_ROW);
	ck_assert_uint_eq(row.line, line);
	ck_assert_str_eq(row.reference, reference);
	if (amount)
		ck_assert_str_eq(row.values[0], amount);
	else
		ck_assert_ptr_null(row.values[0]);
}

static void
is_bad(uint64_t line, const char *reason)
{
	ck_assert_int_eq(export_next(export, &row), EXPORT_BAD);
	ck_assert_msg(strstr(row.why, reason), "%s", row.why);
	ck_assert_uint_eq(row.line, line);
}

static void
is_end(void)
{
	ck_assert_int_eq(export_next(export, &row), EXPORT_END);
}

static bool
same_business(const char *text)
{
	struct uuid id = digest_business("default", "refund", text, strlen(text));

	return row.has_business && uuid_equal(&row.business, &id);
}

START_TEST(rows_have_what_their_columns_say)
{
	OPENS(HEAD "A3CD0000-0000-8000-8000-000000000001,1042,3,2024-05-01T10:00:00Z,12.50\r\n"
		   "other,a b,3,1714557600,\n");
	is_row(2, "A3CD0000-0000-8000-8000-000000000001", "12.5");
	ck_assert(row.has_id && row.id.b[0] == 0xa3 && row.has_time);
	ck_assert_int_eq(row.time_us, INT64_C(1714557600000000));
	ck_assert(same_business("1042:3"));
	is_row(3, "other", NULL);
	ck_assert(!row.has_id && row.has_time && row.time_us == INT64_C(1714557600000000));
	ck_assert(same_business("a%20b:3")); /* as in a key */
	is_end();
	is_end();
}
END_TEST

START_TEST(quoted_fields_hold_anything)
{
	OPENS("\xef\xbb\xbf"
	      "\"key\",order,line,at,sum,\"me\"\"mo\"\n"
	      "\"a,\"\"b\"\"\r\nc\",1,1,0,1,\"x\n\n\"\n\n\r\n"
	      "d,1,1,0,1,");
	is_row(2, "a,\"b\"\r\nc", "1");
	is_row(8, "d", "1"); /* the last line needs no end, blank ones are none */
	is_end();
}
END_TEST

START_TEST(what_breaks_the_rules_is_bad_and_the_next_row_is_read)
{
	OPENS(HEAD "a,1,1,0\n"
		   "b,1,1,0,1,1\n"
		   "c\"c,1,1,0,1\n"
		   "\"d\"d,1,1,0,1\n"
		   "e\re,1,1,0,1\n"
		   "f\xff,1,1,0,1\n"
		   "g\0g,1,1,0,1\n"
		   "h,1,1,0,1\n");
	is_bad(2, "fields");
	is_bad(3, "fields");
	is_bad(4, "a quote");
	is_bad(5, "closing quote");
	is_bad(6, "carriage return");
	is_bad(7, "UTF-8");
	is_bad(8, "NUL");
	is_row(9, "h", "1");
	is_end();
}
END_TEST

START_TEST(values_are_not_guessed_at)
{
	OPENS(HEAD "a,1,1,,1\n"
		   "b,1,1,2024-05-01,1\n"
		   "c,1,1,2024-05-01T10:00:00,1\n"
		   "d,1,1,0,\"1,5\"\n"
		   "e,1,1,17145576001714557600,1\n"
		   "f,1,1,1714557600.,1\n"
		   "g,1,1,-5,1\n"
		   ",1,,0,1\n");
	is_bad(2, "no time");
	is_bad(3, "neither of RFC 3339");
	is_bad(4, "no zone");
	is_bad(5, "decimal");
	is_bad(6, "neither");
	is_bad(7, "neither");
	is_bad(8, "neither");
	is_row(9, "line 9", "1"); /* no key, and half a business key */
	ck_assert(!row.has_business && !row.has_id);
}
END_TEST

START_TEST(seconds_and_milliseconds_are_told_apart)
{
	OPENS(HEAD "a,1,1,1714557600.25,1\na,1,1,1714557600250,1\na,1,1,99999999999,1\n"
		   "a,1,1,100000000000,1\na,1,1,1714557600250.0009,1\n");
	is_row(2, "a", "1");
	ck_assert_int_eq(row.time_us, INT64_C(1714557600250000));
	is_row(3, "a", "1");
	ck_assert_int_eq(row.time_us, INT64_C(1714557600250000));
	is_row(4, "a", "1");
	ck_assert_int_eq(row.time_us, INT64_C(99999999999000000));
	is_row(5, "a", "1");
	ck_assert_int_eq(row.time_us, INT64_C(100000000000000));
	is_row(6, "a", "1");
	ck_assert_int_eq(row.time_us, INT64_C(1714557600250000));
}
END_TEST

START_TEST(json_lines_are_rows)
{
	OPENS("{\"key\":\"a\",\"order\":1042,\"line\":\"3\",\"at\":1714557600,\"sum\":12.50}\n"
	      "\n  \n"
	      "{\"key\":\"\\u0062\\n\",\"order\":1e3,\"line\":3,\"at\":\"2024-05-01T10:00:00Z\","
	      "\"sum\":null}\r\n"
	      "{\"key\":\"c\",\"sum\":[1],\"at\":0}\n"
	      "{\"key\":\"c\",\"key\":\"d\",\"at\":0}\n"
	      "[1]\n{\n"
	      "{\"key\":\"e\",\"at\":0,\"more\":{\"deep\":[]}}");
	is_row(1, "a", "12.5");
	ck_assert(same_business("1042:3"));
	is_row(4, "b\n", NULL);
	ck_assert(same_business("1000:3"));
	is_bad(5, "an object or an array");
	is_bad(6, "twice");
	is_bad(7, "no JSON object");
	is_bad(8, "no JSON");
	is_row(9, "e", NULL);
	is_end();
}
END_TEST

START_TEST(pointers_reach_into_json)
{
	free(plan.provider_key.names[0]);
	plan.provider_key.names[0] = strdup("/meta/idem~1key/0");
	add(&plan.reference, "a/b");
	OPENS("{\"meta\":{\"idem/key\":[\"k\"]},\"a/b\":7,\"at\":0}\n{\"at\":0}\n");
	is_row(1, "7", NULL);
	is_row(2, "line 2", NULL);
}
END_TEST

START_TEST(only_rows_that_are_chosen)
{
	plan.where[0] =
	    (struct export_field){.source = strdup("status"), .value = strdup("succeeded")};
	plan.n_where = 1;
	OPENS("key,order,line,at,sum,status\na,1,1,rubbish,x,failed\nb,1,1,0,1,succeeded\nc,1,1,0,"
	      "1,\n");
	ck_assert_int_eq(export_next(export, &row), EXPORT_SKIPPED);
	is_row(3, "b", "1");
	ck_assert_int_eq(export_next(export, &row), EXPORT_SKIPPED);
	is_end();
}
END_TEST

START_TEST(an_open_quote_ends_all)
{
	OPENS(HEAD "a,1,1,0,1\n\"b,1,1,0,1\nc,1,1,0,1\n");
	is_row(2, "a", "1");
	ck_assert_int_eq(export_next(export, &row), EXPORT_LOST);
	ck_assert_uint_eq(row.line, 3);
	ck_assert_str_eq(row.why, "a quoted field does not end");
}
END_TEST

START_TEST(long_records_are_bounded)
{
	size_t len = 3 << 20;
	char *text = malloc(len + 100);

	memset(text, 'x', len);
	memcpy(text, HEAD, sizeof HEAD - 1);
	memcpy(text + len, "\na,1,1,0,1\n", 12);
	ck_assert(opens(text, len + 11));
	is_bad(2, "longer than 1 MiB");
	is_row(3, "a", "1");
	free(text);
}
END_TEST

START_TEST(what_cannot_be_opened_says_why)
{
	NOT_OPEN("", "empty");
	NOT_OPEN("\n\n", "empty");
	NOT_OPEN("key,order,line,at\n", "no column \"sum\"");
	NOT_OPEN("key,order,line,at,sum,key\n", "\"key\" twice");
	NOT_OPEN("key;order;line;at;sum\n", "--delimiter");
	NOT_OPEN("\xff\xfek\0e\0", "UTF-16");
	NOT_OPEN("\"key", "does not end");
}
END_TEST

START_TEST(what_comes_byte_by_byte_is_the_same)
{
	static const char text[] = "\xef\xbb\xbf" HEAD "\"a\r\n\",1,1,0,1\r\nb,1,1,0,2\n";
	int pipes[2];

	ck_assert_int_eq(pipe(pipes), 0);
	if (fork() == 0) {
		for (size_t i = 0; i < sizeof text - 1; i++)
			if (write(pipes[1], text + i, 1) != 1)
				_exit(1);
		_exit(0);
	}
	close(pipes[1]);
	in = (struct intake){.fd = pipes[0]};
	export = export_open(&plan, &in, &why);
	ck_assert_ptr_nonnull(export);
	is_row(2, "a\r\n", "1");
	is_row(4, "b", "2");
	is_end();
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("export");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, rows_have_what_their_columns_say);
	tcase_add_test(tc, quoted_fields_hold_anything);
	tcase_add_test(tc, what_breaks_the_rules_is_bad_and_the_next_row_is_read);
	tcase_add_test(tc, values_are_not_guessed_at);
	tcase_add_test(tc, seconds_and_milliseconds_are_told_apart);
	tcase_add_test(tc, json_lines_are_rows);
	tcase_add_test(tc, pointers_reach_into_json);
	tcase_add_test(tc, only_rows_that_are_chosen);
	tcase_add_test(tc, an_open_quote_ends_all);
	tcase_add_test(tc, long_records_are_bounded);
	tcase_add_test(tc, what_cannot_be_opened_says_why);
	tcase_add_test(tc, what_comes_byte_by_byte_is_the_same);
	return tap_run("export", tc);
}
