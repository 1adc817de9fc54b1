/*
 * What is recorded of a command is JSON that gives the same bytes back, whatever they are; what
 * does not fit loses bytes of output, never the status.
 */
#include "recorded.h"

#include "alloc.h"
#include "json.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define ENOUGH 10000000
#define HASH "5d41402abc4b2a76b9719d911017c592"
#define ENVELOPE_BYTES 160

static struct buf text;
static struct recorded_copy copy;

static void
written(int status, const char *out, size_t len, size_t more, size_t bytes_max)
{
	struct recorded what = {.status = status,
	    .out = out,
	    .out_len = len,
	    .out_bytes = len + more,
	    .out_sha256 = HASH};

	buf_free(&text);
	recorded_write(&text, &what, bytes_max);
}

static void
read_back(void)
{
	buf_free(&copy.out);
	ck_assert(recorded_read(text.data, text.len, false, &copy));
}

static void
is_back(int status, const char *out, size_t len)
{
	read_back();
	ck_assert_int_eq(copy.status, status);
	ck_assert_uint_eq(copy.out.len, len);
	ck_assert(len == 0 || !memcmp(copy.out.data, out, len));
	ck_assert(copy.whole && copy.has_out);
	ck_assert_int_eq(copy.out_bytes, (int64_t)len);
}

START_TEST(text_is_recorded_as_text)
{
	written(0, "v1.2.3 is up\n", 13, 0, ENOUGH);
	ck_assert_str_eq(buf_str(&text), "{\"status\":0,\"stdout\":\"v1.2.3 is up\\n\"}");
	is_back(0, "v1.2.3 is up\n", 13);
	written(255, NULL, 0, 0, ENOUGH);
	ck_assert_str_eq(buf_str(&text), "{\"status\":255,\"stdout\":\"\"}");
	is_back(255, "", 0);
	written(3, "a\0\"\\\x1b\xc3\xa4", 7, 0, ENOUGH);
	ck_assert_str_eq(
	    buf_str(&text), "{\"status\":3,\"stdout\":\"a\\u0000\\\"\\\\\\u001b\xc3\xa4\"}");
	is_back(3, "a\0\"\\\x1b\xc3\xa4", 7);
}
END_TEST

START_TEST(what_is_no_text_is_recorded_in_base64)
{
	char all[256 * 3];

	written(1, "\xff\x00", 2, 0, ENOUGH);
	ck_assert_str_eq(buf_str(&text), "{\"status\":1,\"stdout_base64\":\"/wA=\"}");
	is_back(1, "\xff\x00", 2);
	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (char)(i * 7);
	for (size_t len = 250; len <= sizeof all; len++) {
		written(9, all, len, 0, ENOUGH);
		is_back(9, all, len);
	}
}
END_TEST

/* case 114, for a command: the status outlives every limit */
START_TEST(what_does_not_fit_loses_output_and_no_status)
{
	static const char *const outs[] = {"0123456789012345678901234567890123456789",
	    "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa4",
	    "\xff\xfe\xfd\xfc\xfb\xfa\xff\xfe\xfd\xfc\xfb\xfa\xff\xfe\xfd\xfc\xfb\xfa",
	    "\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02"};
	size_t before, len;

	for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
		len = strlen(outs[i]);
		before = 0;
		for (size_t max = 0; max < ENVELOPE_BYTES + 8 * len; max++) {
			written(7, outs[i], len, 1000, max);
			ck_assert(text.len <= max || max < ENVELOPE_BYTES);
			read_back();
			ck_assert_int_eq(copy.status, 7);
			ck_assert_int_eq(copy.out_bytes, (int64_t)len + 1000);
			ck_assert(!copy.whole && copy.has_out);
			ck_assert(copy.out.len >= before && copy.out.len <= len);
			ck_assert(
			    copy.out.len == 0 || !memcmp(copy.out.data, outs[i], copy.out.len));
			before = copy.out.len;
		}
		ck_assert_uint_eq(before, len);
	}
	written(0, "12345", 5, 0, 20);
	ck_assert_str_eq(buf_str(&text),
	    "{\"status\":0,\"stdout\":\"\",\"stdout_bytes\":5,\"stdout_sha256\":\"" HASH
	    "\",\"stdout_truncated\":true}");
}
END_TEST

START_TEST(text_is_not_cut_inside_a_character)
{
	char *euros = xmalloc(30001);

	for (size_t i = 0; i < 10000; i++)
		memcpy(euros + 3 * i, "\xe2\x82\xac", 3);
	for (size_t cut = 0; cut < 3; cut++) {
		written(0, euros, 29998 + cut, 5000, ENOUGH);
		read_back();
		ck_assert_uint_eq(copy.out.len, (29998 + cut) / 3 * 3);
		ck_assert(json_utf8(copy.out.data, copy.out.len));
	}
	free(euros);
}
END_TEST

static bool
reads(const char *raw, bool redacted)
{
	buf_free(&copy.out);
	copy = (struct recorded_copy){0};
	return recorded_read(raw, strlen(raw), redacted, &copy);
}

START_TEST(what_others_recorded_is_told_apart)
{
	static const char *const foreign[] = {"null", "1", "[]", "{}", "\"status\"",
	    "{\"status\":0}", "{\"stdout\":\"x\"}", "{\"status\":\"0\",\"stdout\":\"x\"}",
	    "{\"status\":256,\"stdout\":\"x\"}", "{\"status\":-1,\"stdout\":\"x\"}",
	    "{\"status\":0.5,\"stdout\":\"x\"}", "{\"status\":0,\"stdout\":null}",
	    "{\"status\":0,\"stdout\":\"x\",\"stdout_base64\":\"eA==\"}",
	    "{\"status\":0,\"stdout_base64\":\"eA=\"}", "{\"status\":0,\"stdout_base64\":\"!!!!\"}",
	    "{\"status\":0,\"stdout\":\"x\"", ""};

	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		ck_assert_msg(!reads(foreign[i], false), "%s", foreign[i]);
	ck_assert(reads(" { \"more\":1, \"stdout\" : \"x\", \"status\":4 } ", false));
	ck_assert_int_eq(copy.status, 4);
}
END_TEST

START_TEST(what_a_policy_took_out_is_not_taken_for_output)
{
	ck_assert(reads("{\"status\":4,\"stdout\":\"[secret]\"}", true));
	ck_assert(!copy.has_out && !copy.whole);
	ck_assert_uint_eq(copy.out.len, 0);
	ck_assert_int_eq(copy.status, 4);
	ck_assert(reads("{\"status\":4,\"stdout\":\"[secret]\"}", false));
	ck_assert(copy.has_out && copy.whole);
	ck_assert(reads("{\"status\":4,\"stdout\":\"x\"}", true));
	ck_assert(copy.has_out);
	buf_free(&copy.out);
	buf_free(&text);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("recorded");

	tcase_add_test(tc, text_is_recorded_as_text);
	tcase_add_test(tc, what_is_no_text_is_recorded_in_base64);
	tcase_add_test(tc, what_does_not_fit_loses_output_and_no_status);
	tcase_add_test(tc, text_is_not_cut_inside_a_character);
	tcase_add_test(tc, what_others_recorded_is_told_apart);
	tcase_add_test(tc, what_a_policy_took_out_is_not_taken_for_output);
	return tap_run("recorded", tc);
}
