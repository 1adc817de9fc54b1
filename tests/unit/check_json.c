/*
 * The scanner: what it takes, what it refuses and where it says the fault is; hostile sizes; that
 * the opaque value hides nothing but itself.
 */
#include "alloc.h"
#include "json.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct json_doc doc;
static struct json_error error;

static void
teardown(void)
{
	json_free(&doc);
}

static int
scan(const char *text)
{
	return json_scan(&doc, text, strlen(text), "/params/result", &error);
}

static void
refuse(const char *text, int err, enum json_fault fault, const char *pointer)
{
	ck_assert_msg(scan(text) == err, "%s", text);
	ck_assert_msg(error.fault == fault, "%s: fault %d", text, error.fault);
	ck_assert_msg(strcmp(error.pointer, pointer) == 0, "%s: %s", text, error.pointer);
}

static void
accept(const char *text)
{
	ck_assert_msg(scan(text) == 0, "%s: fault %d at %zu", text, error.fault, error.offset);
	ck_assert_int_eq(error.fault, JSON_OK);
	ck_assert_str_eq(error.pointer, "");
}

START_TEST(grammar_is_that_of_rfc_8259)
{
	static const char *const good[] = {"0", "-0", "1", "-1", "10", "0.5", "1e5", "1E+5", "1e-5",
	    "0e0", "\"\"", "true", "false", "null", "[]", "{}", " [ ] ", "\t{\r\n}", "[1,2]",
	    "{\"a\":1,\"b\":[]}", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", "\"\x7f\"",
	    "[[],{},\"\"]", "{\"\":0}"};
	static const char *const bad[] = {"", " ", "01", "-01", "1.", ".5", "+1", "-", "1e", "1e+",
	    "NaN", "Infinity", "-Infinity", "0x10", "1_0", "tru", "True", "nul", "\"", "\"\\x\"",
	    "\"\\u12\"", "\"\\u12g4\"", "\"\t\"", "\"\n\"", "\"\x1f\"", "'a'", "[", "]", "{", "}",
	    "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{1:2}", "{\"a\"}", "{\"a\":}",
	    "{\"a\":1,}", "{,}", "{\"a\" 1}", "{\"a\":1]", "{a:1}", "1 2", "[] []", "[]x", "//",
	    "[1]//", "\xef\xbb\xbf[]", "\xc2\xa0[]", "\"\\\"", "\"\\", "\"\\u\"", "-a",
	    "{\"a\":1 \"b\":2}", "\f[]", "nullx", "00", "1.e5", "[\"a\",\n\"b]"};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		accept(good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_msg(scan(bad[i]) == ERR_PARSE, "%s", bad[i]);
		ck_assert_int_eq(error.fault, JSON_GRAMMAR);
		ck_assert_uint_eq(doc.n_nodes, 0);
		ck_assert_uint_le(error.offset, strlen(bad[i]));
	}
	/* a NUL byte is no white space and no end */
	ck_assert_int_eq(json_scan(&doc, "[]\0", 3, NULL, &error), ERR_PARSE);
	ck_assert_int_eq(json_scan(&doc, "\"a\0\"", 4, NULL, &error), ERR_PARSE);
	ck_assert_uint_eq(error.offset, 2);
}
END_TEST

/* Every cut of a text is refused, wherever an eight-byte word or an escape is torn; no byte behind
 * it is read. */
START_TEST(every_cut_is_refused)
{
	static const char text[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":12345,\"params\":{\"a\\u00e9\\ud83d\\ude00\":"
	    "[true,false,null,-1.5e+10],\"result\":{\"x\":[\"\xc3\xa9\"]}}}";

	for (size_t len = 0; len < sizeof text - 1; len++) {
		char *cut = xmalloc(len + 1);

		memcpy(cut, text, len);
		cut = xrealloc(cut, len ? len : 1); /* so that the sanitizer sees its end */
		ck_assert_int_eq(json_scan(&doc, cut, len, "/params/result", &error), ERR_PARSE);
		free(cut);
	}
	accept(text);
}
END_TEST

START_TEST(spans_names_and_siblings_are_exact)
{
	static const char text[] = " {\"a\" : [ 1 , \"x\" ] , \"b\":{} } ";
	uint32_t a, b, node;

	accept(text);
	ck_assert_int_eq(doc.nodes[0].type, JSON_OBJECT);
	ck_assert_uint_eq(doc.nodes[0].start, 1);
	ck_assert_uint_eq(doc.nodes[0].end, strlen(text) - 1);
	ck_assert_uint_eq(doc.nodes[0].n_children, 2);
	a = json_member(&doc, 0, "a");
	b = json_member(&doc, 0, "b");
	ck_assert_uint_eq(a, 1);
	ck_assert_uint_eq(doc.nodes[a].next, b);
	ck_assert_uint_eq(doc.nodes[b].next, 0);
	ck_assert_int_eq(strncmp(text + doc.nodes[a].start, "[ 1 , \"x\" ]", 11), 0);
	ck_assert_uint_eq(doc.nodes[a].end - doc.nodes[a].start, 11);
	ck_assert_uint_eq(doc.nodes[a].name_end - doc.nodes[a].name_start, 3);
	ck_assert_uint_eq(doc.nodes[a].n_children, 2);
	ck_assert_uint_eq(doc.nodes[b].n_children, 0);
	ck_assert(json_pointer(&doc, 0, "/a/1", &node));
	ck_assert_int_eq(doc.nodes[node].type, JSON_STRING);
	ck_assert_uint_eq(doc.nodes[node].name_end, 0);
}
END_TEST

/* case 46 */
START_TEST(duplicate_members_are_refused_also_escaped_and_nested)
{
	refuse("{\"args\":{\"amount\":1,\"amount\":2}}", ERR_INVALID_PARAMS, JSON_DUPLICATE,
	    "/args/amount");
	refuse("{\"a\":1,\"\\u0061\":2}", ERR_INVALID_PARAMS, JSON_DUPLICATE, "/a");
	refuse("{\"a\\/b\":1,\"a/b\":2}", ERR_INVALID_PARAMS, JSON_DUPLICATE, "/a~1b");
	refuse("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", ERR_INVALID_PARAMS, JSON_DUPLICATE,
	    "/\xf0\x9f\x98\x80");
	refuse("[0,[{\"x\":[{},{\"y\":0,\"y\":0}]}]]", ERR_INVALID_PARAMS, JSON_DUPLICATE,
	    "/1/0/x/1/y");
	refuse("{\"\":1,\"\":1}", ERR_INVALID_PARAMS, JSON_DUPLICATE, "/");
	accept("{\"a\":1,\"A\":2,\"a\\u0000\":3,\"\":4,\"ab\":5}");
	accept("{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}");
}
END_TEST

/* Processor time of a scan of an object of n members. */
static clock_t
members_cost(int n, bool escaped, bool twin)
{
	size_t cap = (size_t)n * 24 + 64, len = 0;
	char *text = xmalloc(cap);
	int expected = twin ? ERR_INVALID_PARAMS : 0;
	clock_t cost;

	text[len++] = '{';
	for (int i = 0; i < n; i++)
		len += (size_t)sprintf(text + len,
		    escaped ? "%s\"\\u0061%d\":0" : "%s\"a%d\":0", i ? "," : "",
		    twin && i == n - 1 ? 5 : i);
	text[len++] = '}';
	cost = clock();
	ck_assert_int_eq(json_scan(&doc, text, len, NULL, &error), expected);
	cost = clock() - cost;
	if (expected)
		ck_assert_str_eq(error.pointer, "/a5");
	free(text);
	return cost;
}

/* case 46: no quadratic search, neither with plain nor with escaped names, whatever their order. A
 * search of each among all would cost a hundred times as much for ten times the members. */
START_TEST(ten_times_the_members_cost_about_ten_times_as_much)
{
	for (int variant = 0; variant < 4; variant++) {
		clock_t few = 0, many;

		for (int i = 0; i < 3; i++)
			few += members_cost(10000, variant & 1, variant & 2);
		many = members_cost(100000, variant & 1, variant & 2);
		ck_assert_msg(many < 45 * (few / 3 + CLOCKS_PER_SEC / 1000),
		    "%ld for ten times %ld", (long)many, (long)few / 3);
	}
}
END_TEST

/* Pairs up to sixteen members, sorting beyond: both find a twin at every two places, and the
 * earliest one. */
START_TEST(a_duplicate_is_found_at_any_two_places)
{
	for (int n = 2; n <= 40; n += n < 20 ? 1 : 5) {
		for (int first = 0; first < n; first++) {
			for (int second = first + 1; second < n; second++) {
				char text[2048] = "{", pointer[16];

				for (int i = 0; i < n; i++)
					sprintf(text + strlen(text), "%s\"%d\":{}", i ? "," : "",
					    (i == second ? first : i) * 7919 % 1000);
				strcat(text, "}");
				sprintf(pointer, "/%d", first * 7919 % 1000);
				refuse(text, ERR_INVALID_PARAMS, JSON_DUPLICATE, pointer);
				ck_assert_uint_eq(error.member, 0);
			}
		}
	}
}
END_TEST

START_TEST(the_earliest_of_many_duplicates_is_told)
{
	for (int n = 8; n <= 80; n += 8) {
		char text[2048] = "{\"z\":0,\"b\":0,\"z\":0";

		for (int i = 0; i < n; i++)
			sprintf(text + strlen(text), ",\"%c%d\":0", 'a' + i % 3, i / 6);
		strcat(text, "}");
		refuse(text, ERR_INVALID_PARAMS, JSON_DUPLICATE, "/z");
		ck_assert_uint_eq(error.offset, (size_t)(strrchr(text, 'z') - 1 - text));
	}
}
END_TEST

/* Every byte at every place of a long string: eight are looked at together. */
START_TEST(no_byte_hides_in_a_word)
{
	char text[32];

	for (int c = 0; c < 256; c++) {
		for (size_t at = 1; at < 25; at++) {
			int expected = c < 0x20 || c == '"' || c == '\\' ? ERR_PARSE
			    : c >= 0x80					 ? ERR_INVALID_PARAMS
									 : 0;

			memset(text, 'u', sizeof text);
			text[0] = text[25] = '"';
			text[at] = (char)c;
			ck_assert_msg(json_scan(&doc, text, 26, NULL, &error) == expected,
			    "byte %d at %zu", c, at);
			if (c >= 0x80)
				ck_assert_uint_eq(error.offset, at);
		}
	}
}
END_TEST

/* case 44 */
START_TEST(lone_surrogates_are_refused_and_pairs_taken)
{
	refuse("{\"k\":\"\\uD800\"}", ERR_INVALID_PARAMS, JSON_SURROGATE, "/k");
	refuse("{\"\\uDC00\":1}", ERR_INVALID_PARAMS, JSON_SURROGATE, "/\xef\xbf\xbd");
	refuse("{\"k\":\"\\uDC00\\uD800\"}", ERR_INVALID_PARAMS, JSON_SURROGATE, "/k");
	refuse("[\"\\ud83d\\u0041\"]", ERR_INVALID_PARAMS, JSON_SURROGATE, "/0");
	refuse("[\"\\ud83dx\\ude00\"]", ERR_INVALID_PARAMS, JSON_SURROGATE, "/0");
	refuse("[\"\\ud83d\\ud83d\\ude00\"]", ERR_INVALID_PARAMS, JSON_SURROGATE, "/0");
	refuse("[\"\\ud83d\"]", ERR_INVALID_PARAMS, JSON_SURROGATE, "/0");
	refuse("\"\\ud83d\\uZZZZ\"", ERR_PARSE, JSON_GRAMMAR, "");
	accept("{\"k\":\"\\uD83D\\uDE00 \\ud83d\\ude00\"}");
}
END_TEST

START_TEST(only_valid_utf8_is_taken)
{
	static const char *const good[] = {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
	    "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
	    "12345678\xc3\xa9"};
	static const char *const bad[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2",
	    "\xc2\x41", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80", "\xed\xbf\xbf",
	    "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
	    "\xfe", "1234567\xc3", "\xe2\x82\xc3\xa9"};
	char text[64];

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ck_assert(json_utf8(good[i], strlen(good[i])));
		snprintf(text, sizeof text, "{\"%s\":\"%s\"}", good[i], good[i]);
		accept(text);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_msg(!json_utf8(bad[i], strlen(bad[i])), "%zu", i);
		snprintf(text, sizeof text, "{\"k\":\"%s\"}", bad[i]);
		refuse(text, ERR_INVALID_PARAMS, JSON_UTF8, "/k");
		snprintf(text, sizeof text, "{\"%s\":1}", bad[i]);
		ck_assert_int_eq(scan(text), ERR_INVALID_PARAMS);
		ck_assert_int_eq(error.fault, JSON_UTF8);
		ck_assert_msg(json_utf8(error.pointer, strlen(error.pointer)), "%zu", i);
		/* outside a string it is no JSON at all */
		snprintf(text, sizeof text, "[1%s]", bad[i]);
		ck_assert_int_eq(scan(text), ERR_PARSE);
	}
}
END_TEST

/* case 47: 1e-400 is taken, as 0 */
START_TEST(overflow_is_refused_and_underflow_taken)
{
	char text[1200] = "";

	refuse("{\"v\":1e400}", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/v");
	refuse("{\"v\":-1e400}", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/v");
	refuse("[1e99999999999999999999]", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/0");
	refuse("[1.7976931348623159e308]", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/0");
	refuse("[0.00017976931348623159e312]", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/0");
	accept("{\"v\":1e-400}");
	accept("[1.7976931348623157e308,-1.7976931348623157E+308,1e-99999999999999999999]");
	accept("[0e400,0.0e99999999999,-0e400]");
	memset(text, '9', 400);
	refuse(text, ERR_INVALID_PARAMS, JSON_OVERFLOW, "");
	memset(text, '9', 308);
	text[308] = '\0';
	accept(text);
	strcat(text, "e-5");
	accept(text);
	/* 400 digits and an exponent that brings them home */
	memset(text, '1', 400);
	strcpy(text + 400, "e-200");
	accept(text);
}
END_TEST

/* case 115 */
START_TEST(depth_ends_at_64_and_brackets_without_end_are_harmless)
{
	enum { N = 100000 };
	char *text = xmalloc(2 * N + 64);

	for (int depth = 1; depth <= 66; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		ck_assert_int_eq(json_scan(&doc, text, 2 * (size_t)depth, NULL, &error),
		    depth <= 64 ? 0 : ERR_PARSE);
		ck_assert_int_eq(error.fault, depth <= 64 ? JSON_OK : JSON_DEPTH);
	}
	memset(text, '[', N);
	ck_assert_int_eq(json_scan(&doc, text, N, "/params/result", &error), ERR_PARSE);
	ck_assert_int_eq(error.fault, JSON_DEPTH);
	for (int i = 0; i < 5 * N / 5; i += 5)
		memcpy(text + i, "{\"a\":", 5);
	ck_assert_int_eq(json_scan(&doc, text, N, "/params/result", &error), ERR_PARSE);
	ck_assert_int_eq(error.fault, JSON_DEPTH);

	/* inside the result there is no limit, and the brackets are still paired by kind */
	for (int variant = 0; variant < 3; variant++) {
		static const char head[] = "{\"params\":{\"result\":";
		size_t len = sizeof head - 1;

		memcpy(text, head, len);
		memset(text + len, '[', N / 2);
		memset(text + len + N / 2, ']', N / 2);
		len += N;
		if (variant == 1)
			text[len - 7] = '}';
		if (variant == 2)
			len--;
		text[len++] = '}';
		text[len++] = '}';
		ck_assert_int_eq(json_scan(&doc, text, len, "/params/result", &error),
		    variant == 0 ? 0 : ERR_PARSE);
	}
	free(text);
}
END_TEST

/* case 111 (the scanner's side): a result may hold whatever JSON's grammar lets pass */
START_TEST(the_opaque_value_is_cut_out_whatever_it_holds)
{
	static const char *const values[] = {"null", "1e400", "\"\\ud800\"", "\"\xff\xc3\"",
	    "{\"a\":1,\"a\":2}", "[1e999,{\"\\udc00\":[]}]", "{}", "[]", "\"a\\u0000b\"", "-0",
	    "true", "{\"result\":{\"result\":1},\"params\":[[[{}]]]}"};
	char text[256];

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		uint32_t node;

		for (int before = 0; before < 2; before++) {
			snprintf(text, sizeof text,
			    before ? "{\"params\":{\"a\":1,\"result\" : %s ,\"b\":2},\"id\":1}"
				   : "{\"params\":{\"re\\u0073ult\":%s}}",
			    values[i]);
			accept(text);
			ck_assert(json_pointer(&doc, 0, "/params/result", &node));
			ck_assert_int_eq(doc.nodes[node].type, JSON_OPAQUE);
			ck_assert_uint_eq(doc.nodes[node].n_children, 0);
			ck_assert_uint_eq(
			    doc.nodes[node].end - doc.nodes[node].start, strlen(values[i]));
			ck_assert_int_eq(
			    strncmp(text + doc.nodes[node].start, values[i], strlen(values[i])), 0);
			ck_assert_uint_eq(doc.n_nodes, before ? 6 : 3);
		}
	}
}
END_TEST

START_TEST(nothing_is_smuggled_through_the_opaque_value)
{
	static const char *const bad[] = {"\"\n\"", "\"\\x\"", "[1,]", "{\"a\"}", "[}", "01", "nul",
	    "\"", "{]", "", "[1}", "{\"a\":1]", "{a:1}", "1 2", "[[]", "{\"a\":1,}", "[\"\\u12\"]",
	    "+1"};
	char text[256];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "{\"params\":{\"result\":%s},\"id\":1}", bad[i]);
		ck_assert_msg(scan(text) == ERR_PARSE, "%s", text);
	}
	/* a second result is a duplicate; elsewhere the name means nothing */
	refuse("{\"params\":{\"result\":1,\"result\":[1e400]}}", ERR_INVALID_PARAMS, JSON_DUPLICATE,
	    "/params/result");
	refuse("{\"params\":{\"result\":1,\"re\\u0073ult\":2}}", ERR_INVALID_PARAMS, JSON_DUPLICATE,
	    "/params/result");
	refuse("{\"result\":[1e400]}", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/result/0");
	refuse("{\"params\":{\"args\":{\"result\":1e400}}}", ERR_INVALID_PARAMS, JSON_OVERFLOW,
	    "/params/args/result");
	refuse("{\"x\":{\"params\":{\"result\":1e400}}}", ERR_INVALID_PARAMS, JSON_OVERFLOW,
	    "/x/params/result");
	refuse("{\"params\":[{\"result\":1e400}]}", ERR_INVALID_PARAMS, JSON_OVERFLOW,
	    "/params/0/result");
	refuse("[{\"params\":{\"result\":1e400}}]", ERR_INVALID_PARAMS, JSON_OVERFLOW,
	    "/0/params/result");
	refuse("{\"params\":{\"result\":1},\"params\":{\"result\":2}}", ERR_INVALID_PARAMS,
	    JSON_DUPLICATE, "/params");
	refuse("{\"params\":{},\"meta\":{\"result\":1e400}}", ERR_INVALID_PARAMS, JSON_OVERFLOW,
	    "/meta/result");
	refuse("{\"params\":{\"a\":{}},\"meta\":{\"result\":1e400}}", ERR_INVALID_PARAMS,
	    JSON_OVERFLOW, "/meta/result");
	refuse("{\"params\":{\"x\":{}},\"params\":{\"result\":1e400}}", ERR_INVALID_PARAMS,
	    JSON_DUPLICATE, "/params");
	refuse("{\"params\":{\"a\":{},\"result\":[[]],\"z\":1e400}}", ERR_INVALID_PARAMS,
	    JSON_OVERFLOW, "/params/z");
	refuse(
	    "{\"params\":{\"Result\":1e400}}", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/params/Result");
}
END_TEST

START_TEST(a_fault_tells_its_member_offset_and_pointer)
{
	static const char in_args[] = "{\"id\":1,\"params\":{\"a\":[1,{\"b\":1e400}]},\"x\":1e400}";

	refuse(in_args, ERR_INVALID_PARAMS, JSON_OVERFLOW, "/params/a/1/b");
	ck_assert_uint_eq(error.member, json_member(&doc, 0, "params"));
	ck_assert_uint_eq(error.offset, (size_t)(strstr(in_args, "1e400") - in_args));
	ck_assert_uint_ne(json_member(&doc, 0, "x"), 0);
	refuse("{\"params\":1e400}", ERR_INVALID_PARAMS, JSON_OVERFLOW, "/params");
	ck_assert_uint_eq(error.member, 1);
	refuse("{\"params\":{},\"params\":{}}", ERR_INVALID_PARAMS, JSON_DUPLICATE, "/params");
	ck_assert_uint_eq(error.member, 0);
	refuse("{\"params\":{\"x\":0,\"x\":0}}", ERR_INVALID_PARAMS, JSON_DUPLICATE, "/params/x");
	ck_assert_uint_eq(error.member, 1);
	refuse("{\"a\\ud800\":1}", ERR_INVALID_PARAMS, JSON_SURROGATE, "/a\xef\xbf\xbd");
	ck_assert_uint_eq(error.member, 0);
	refuse("{\"p\":{\"a\\ud800\":1}}", ERR_INVALID_PARAMS, JSON_SURROGATE, "/p/a\xef\xbf\xbd");
	ck_assert_uint_eq(error.member, 1);
	refuse("{\"a/b~c\\u0000\":{\"\":[\"\\ud800\"]}}", ERR_INVALID_PARAMS, JSON_SURROGATE,
	    "/a~1b~0c\xef\xbf\xbd//0");
	refuse("1e400", ERR_INVALID_PARAMS, JSON_OVERFLOW, "");
	/* the grammar beats what was noted before */
	ck_assert_int_eq(scan("[1e400"), ERR_PARSE);
	ck_assert_int_eq(json_scan(&doc, "[1e400]", 7, NULL, NULL), ERR_INVALID_PARAMS);
}
END_TEST

START_TEST(a_long_pointer_is_cut_at_a_characters_edge)
{
	char text[2048];

	for (int lead = 0; lead < 8; lead++) {
		strcpy(text, "{\"");
		memset(text + 2, 'x', (size_t)lead);
		text[2 + lead] = '\0';
		for (int i = 0; i < 150; i++)
			strcat(text, i % 2 ? "\xe2\x82\xac" : "~");
		strcat(text, "\":[1e400]}");
		ck_assert_int_eq(scan(text), ERR_INVALID_PARAMS);
		ck_assert_uint_ge(strlen(error.pointer), 250);
		ck_assert_uint_lt(strlen(error.pointer), JSON_POINTER_BYTES);
		ck_assert(json_pointer_valid(error.pointer));
	}
}
END_TEST

/* One doc, thousands of broken lines: nothing of an earlier one shows, nothing is read outside
 * (sanitizers). */
START_TEST(mutated_lines_never_break_the_scanner)
{
	static const char seed_line[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u00e9\",\"method\":\"begin\",\"params\":{\"args\":"
	    "{\"a\":[1,-2.5e3,null,true],\"\\ud83d\\ude00\":\"\xf0\x9f\x98\x80\"},"
	    "\"result\":[{\"x\":1}]}}";
	static const char bytes[] =
	    "{}[]\",:\\u0dD8eE+-.019tfn \t\x00\x1f\x7f\x80\xbf\xc3\xed\xf0\xff";
	const char *chosen = getenv("SEED");
	unsigned seed = chosen ? (unsigned)strtoul(chosen, NULL, 10) : (unsigned)time(NULL);

	printf("# seed %u\n", seed);
	for (int round = 0; round < 100000; round++) {
		size_t len = sizeof seed_line - 1;
		char *line = xmalloc(len);

		memcpy(line, seed_line, len);
		for (int i = rand_r(&seed) % 4; i >= 0; i--)
			line[(size_t)rand_r(&seed) % len] =
			    bytes[(size_t)rand_r(&seed) % (sizeof bytes - 1)];
		int err = json_scan(&doc, line, len, "/params/result", &error);

		ck_assert_int_eq(err == 0, error.fault == JSON_OK);
		ck_assert_int_eq(err == ERR_PARSE, error.fault >= JSON_DEPTH);
		ck_assert(json_utf8(error.pointer, strlen(error.pointer)));
		for (uint32_t i = 0; i < doc.n_nodes; i++) {
			ck_assert_uint_lt(doc.nodes[i].start, doc.nodes[i].end);
			ck_assert_uint_le(doc.nodes[i].end, len);
			ck_assert(doc.nodes[i].next == 0 || doc.nodes[i].next > i);
		}
		free(line);
	}
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("json");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, grammar_is_that_of_rfc_8259);
	tcase_add_test(tc, every_cut_is_refused);
	tcase_add_test(tc, spans_names_and_siblings_are_exact);
	tcase_add_test(tc, duplicate_members_are_refused_also_escaped_and_nested);
	tcase_add_test(tc, ten_times_the_members_cost_about_ten_times_as_much);
	tcase_add_test(tc, a_duplicate_is_found_at_any_two_places);
	tcase_add_test(tc, the_earliest_of_many_duplicates_is_told);
	tcase_add_test(tc, no_byte_hides_in_a_word);
	tcase_add_test(tc, lone_surrogates_are_refused_and_pairs_taken);
	tcase_add_test(tc, only_valid_utf8_is_taken);
	tcase_add_test(tc, overflow_is_refused_and_underflow_taken);
	tcase_add_test(tc, depth_ends_at_64_and_brackets_without_end_are_harmless);
	tcase_add_test(tc, the_opaque_value_is_cut_out_whatever_it_holds);
	tcase_add_test(tc, nothing_is_smuggled_through_the_opaque_value);
	tcase_add_test(tc, a_fault_tells_its_member_offset_and_pointer);
	tcase_add_test(tc, a_long_pointer_is_cut_at_a_characters_edge);
	tcase_add_test(tc, mutated_lines_never_break_the_scanner);
	return tap_run("json", tc);
}
