/*
 * Canonical JSON against vectors whose numbers, strings and order were made by V8, and as two
 * properties: however a document is spelt, its fingerprint is one; no two integers share one.
 */
#include "canon.h"
#include "comma_locale.h"
#include "digest.h"
#include "tap.h"
#include "vectors.h"

#include <locale.h>
#include <string.h>
#include <time.h>

#define SKIPS_MAX 8
#define N_DOCUMENTS 10000	   /* some seconds under the sanitizers */
#define N_DOCUMENTS_TORTURE 100000 /* with EFFECTD_TORTURE */
#define N_INTEGERS 100000

static struct json_doc doc;
static struct buf out;

static void
teardown(void)
{
	json_free(&doc);
	buf_free(&out);
}

static const char *
canonical(const char *text, size_t len)
{
	struct json_error error;
	int rc = json_scan(&doc, text, len, NULL, &error);

	ck_assert_msg(rc == 0, "fault %d at %zu of %.900s", (int)error.fault, error.offset, text);
	buf_clear(&out);
	canon_value(&out, &doc, 0, NULL, 0);
	return buf_str(&out);
}

static void
same(const char *a, const char *b)
{
	char *first = strdup(canonical(a, strlen(a)));

	ck_assert_str_eq(first, canonical(b, strlen(b)));
	free(first);
}

static void
differ(const char *a, const char *b)
{
	char *first = strdup(canonical(a, strlen(a)));

	ck_assert_str_ne(first, canonical(b, strlen(b)));
	free(first);
}

static void
check_vectors(void)
{
	struct vectors v = vectors_read("canonical.json");
	char *skip[SKIPS_MAX], hex[33];
	size_t text_len, expected_len, n_skip, n_rows = 0;
	uint32_t child;

	for (uint32_t row = vectors_rows(&v, "canonical"); row; row = v.doc.nodes[row].next) {
		char *text = vectors_string(&v, row, "text", &text_len);
		char *expected = vectors_string(&v, row, "canonical", &expected_len);
		char *print = vectors_string(&v, row, "fingerprint", NULL);
		uint32_t list = json_member(&v.doc, row, "skip");
		struct uuid got;

		n_skip = 0;
		for (child = list ? list + 1 : 0; child; child = v.doc.nodes[child].next)
			skip[n_skip++] = json_string(&v.doc, child, NULL);
		ck_assert_msg(json_scan(&doc, text, text_len, NULL, NULL) == 0, "%s", text);
		buf_clear(&out);
		canon_value(&out, &doc, 0, skip, n_skip);
		ck_assert_str_eq(buf_str(&out), expected);
		ck_assert_uint_eq(out.len, expected_len);
		got = digest_fingerprint(out.data, out.len);
		digest_hex(got.b, sizeof got.b, hex);
		ck_assert_str_eq(hex, print);
		while (n_skip > 0)
			free(skip[--n_skip]);
		free(text);
		free(expected);
		free(print);
		n_rows++;
	}
	ck_assert_uint_ge(n_rows, 80);
	vectors_free(&v);
}

/* cases 42, 48, 49 */
START_TEST(canonical_forms_are_those_of_the_vectors)
{
	check_vectors();
}
END_TEST

START_TEST(no_locale_counts)
{
	comma_locale_set();
	check_vectors();
	setlocale(LC_ALL, "C");
}
END_TEST

/* cases 44, 46, 47: what has no canonical form never gets that far */
START_TEST(refused_vectors_are_refused_by_the_scanner)
{
	static const char *const names[] = {[JSON_DUPLICATE] = "duplicate",
	    [JSON_SURROGATE] = "surrogate",
	    [JSON_OVERFLOW] = "overflow"};
	struct vectors v = vectors_read("canonical.json");
	struct json_error error;
	size_t len;

	for (uint32_t row = vectors_rows(&v, "refused"); row; row = v.doc.nodes[row].next) {
		char *text = vectors_string(&v, row, "text", &len);
		char *fault = vectors_string(&v, row, "fault", NULL);

		ck_assert_int_eq(json_scan(&doc, text, len, NULL, &error), ERR_INVALID_PARAMS);
		ck_assert_str_eq(names[error.fault], fault);
		free(text);
		free(fault);
	}
	vectors_free(&v);
}
END_TEST

/* case 41 */
START_TEST(integers_past_2_53_stay_apart)
{
	differ("{\"amount\":9007199254740992}", "{\"amount\":9007199254740993}");
	differ("{\"amount\":-9007199254740992}", "{\"amount\":-9007199254740993}");
	differ("1000000000000000000000", "1000000000000000000001");
	for (uint64_t i = UINT64_C(9007199254740900); i < UINT64_C(9007199254741100); i++) {
		char a[32], b[32];

		snprintf(a, sizeof a, "%llu", (unsigned long long)i);
		snprintf(b, sizeof b, "%llu", (unsigned long long)i + 1);
		differ(a, b);
	}
	/* the exact spelling is for integer literals alone */
	same("9007199254740993.0", "9007199254740992");
	same("9007199254740993e0", "9007199254740992");
}
END_TEST

/* case 47 */
START_TEST(underflow_is_zero_and_never_null)
{
	same("{\"v\":1e-400}", "{\"v\":0}");
	same("{\"v\":-1e-400}", "{\"v\":0}");
	differ("{\"v\":1e-400}", "{\"v\":null}");
	differ("{\"v\":5e-324}", "{\"v\":0}");
}
END_TEST

/* case 48 */
START_TEST(one_number_has_one_spelling)
{
	same("{\"q\":1.0}", "{\"q\":1}");
	same("{\"q\":1e0}", "{\"q\":1}");
	same("{\"q\":10e-1}", "{\"q\":1}");
	same("[-0,0,0.0]", "[0,-0.0,0e7]");
	same("1e15", "1000000000000000");
	same("0.000000000000000000001e21", "1");
	same("0.50000000000000000000000000000000000000000000000000", "5e-1");
	same("100000000000000000000000", "1e23");
	differ("{\"amount\":0.001}", "{\"amount\":\"0.001\"}");
	differ("\"0.001\"", "\"0.0010\"");
}
END_TEST

/* No Unicode normalisation: the two spellings of an accented letter are two strings. */
START_TEST(unicode_is_not_normalised)
{
	differ("\"\\u00e9\"", "\"e\\u0301\"");
	same("\"\\u00e9\"", "\"\xc3\xa9\"");
	same("\"\\u002f\"", "\"\\/\"");
	differ("\"x\\u0000y\"", "\"x\\u0000z\"");
	differ("{\"x\\u0000y\":1}", "{\"x\\u0000z\":1}");
}
END_TEST

/* case 35 (the fingerprint's side), case 37, second and third call */
START_TEST(skipped_members_do_not_count)
{
	char *const skip[] = {(char *)"/payment_token", (char *)"/memo"};
	static const char *const calls[] = {"{\"order\":7,\"memo\":\"a\",\"payment_token\":\"t1\"}",
	    "{\"payment_token\":\"t2\",\"memo\":\"reworded\",\"order\":7}", "{\"order\":7}"};

	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(json_scan(&doc, calls[i], strlen(calls[i]), NULL, NULL), 0);
		buf_clear(&out);
		canon_value(&out, &doc, 0, skip, 2);
		ck_assert_str_eq(buf_str(&out), "{\"order\":7}");
	}
}
END_TEST

/* A value below the root, as args stands in a line. */
START_TEST(a_part_of_a_document_has_its_own_form)
{
	static const char line[] = "{\"params\":{\"args\":{\"b\":[2.0,{\"y\":1}],\"a\":1}}}";
	char *const skip[] = {(char *)"/b/0"};
	uint32_t args;

	ck_assert_int_eq(json_scan(&doc, line, sizeof line - 1, "/params/result", NULL), 0);
	ck_assert(json_pointer(&doc, 0, "/params/args", &args));
	canon_value(&out, &doc, args, skip, 1);
	ck_assert_str_eq(buf_str(&out), "{\"a\":1,\"b\":[{\"y\":1}]}");
}
END_TEST

static unsigned seed;

static unsigned
roll(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

static void
add_space(struct buf *b)
{
	static const char *const spaces[] = {"", "", "", " ", "\n", "\t ", "\r\n"};

	buf_add_str(b, spaces[roll(7)]);
}

/* Both texts spell one value; b is the odd one. */
static void
add_number(struct buf *a, struct buf *b)
{
	int v = (int)roll(2000000) - 1000000;
	unsigned scale = roll(4);

	buf_printf(a, "%d", v);
	switch (scale) {
	case 0:
		buf_printf(b, "%d", v);
		break;
	case 1:
		buf_printf(b, "%d.000", v);
		break;
	case 2:
		buf_printf(b, v ? "%d000e-3" : "%de-3", v); /* no zero may stand before a digit */
		break;
	default:
		buf_printf(b, "%dE+0", v);
	}
}

static void
add_text(struct buf *a, struct buf *b, unsigned number)
{
	static const struct {
		const char *plain, *odd;
	} pieces[] = {{"a", "\\u0061"}, {"\xc3\xa9", "\\u00E9"},
	    {"\xf0\x9f\x98\x80", "\\ud83d\\uDE00"}, {"\\n", "\\u000a"}, {"/", "\\/"},
	    {"\xef\xac\xb3", "\\ufb33"}, {"\\u0000", "\\u0000"}};

	buf_add_char(a, '"');
	buf_add_char(b, '"');
	for (unsigned i = roll(4); i > 0; i--) {
		unsigned piece = roll(7);

		buf_add_str(a, pieces[piece].plain);
		buf_add_str(b, roll(2) ? pieces[piece].plain : pieces[piece].odd);
	}
	buf_printf(a, "%u\"", number); /* the number keeps names apart */
	buf_printf(b, "%u\"", number);
}

static void add_random(struct buf *a, struct buf *b, unsigned depth);

static void
add_members(struct buf *a, struct buf *b, unsigned depth)
{
	unsigned n = roll(24), order[24];
	struct buf parts[24] = {{0}};

	buf_add_char(a, '{');
	for (unsigned i = 0; i < n; i++) {
		if (i)
			buf_add_char(a, ',');
		add_text(a, &parts[i], i);
		buf_add_char(a, ':');
		add_space(&parts[i]);
		buf_add_char(&parts[i], ':');
		add_random(a, &parts[i], depth);
		order[i] = i;
	}
	buf_add_char(a, '}');
	buf_add_char(b, '{');
	for (unsigned i = n; i > 0; i--) {
		unsigned other = roll(i), chosen = order[other];

		order[other] = order[i - 1];
		if (i < n)
			buf_add_char(b, ',');
		add_space(b);
		buf_add(b, parts[chosen].data, parts[chosen].len);
		add_space(b);
		buf_free(&parts[chosen]);
	}
	buf_add_char(b, '}');
}

static void
add_random(struct buf *a, struct buf *b, unsigned depth)
{
	unsigned kind = roll(depth > 0 ? 6 : 4);

	add_space(b);
	if (kind == 0) {
		add_number(a, b);
	} else if (kind == 1) {
		add_text(a, b, 0);
	} else if (kind == 2) {
		buf_add_str(a, "null");
		buf_add_str(b, "null");
	} else if (kind == 3) {
		buf_add_str(a, "true");
		buf_add_str(b, "true");
	} else if (kind == 4) {
		add_members(a, b, depth - 1);
	} else {
		buf_add_char(a, '[');
		buf_add_char(b, '[');
		for (unsigned i = roll(4); i > 0; i--) {
			add_random(a, b, depth - 1);
			buf_add_str(a, i > 1 ? "," : "");
			buf_add_str(b, i > 1 ? "," : "");
		}
		buf_add_char(a, ']');
		buf_add_char(b, ']');
	}
	add_space(b);
}

static void
choose_seed(void)
{
	const char *chosen = getenv("SEED");

	seed = chosen ? (unsigned)strtoul(chosen, NULL, 10) : (unsigned)time(NULL);
	printf("# seed %u\n", seed);
}

static struct uuid
fingerprint(const char *text, size_t len)
{
	canonical(text, len);
	return digest_fingerprint(out.data, out.len);
}

/* cases 42, 46 to 49 as a property: members permuted, white space, escapes, spellings of numbers */
START_TEST(documents_keep_their_fingerprint_however_spelt)
{
	int rounds = getenv("EFFECTD_TORTURE") ? N_DOCUMENTS_TORTURE : N_DOCUMENTS;
	struct buf a = {0}, b = {0}, form = {0};

	choose_seed();
	for (int round = 0; round < rounds; round++) {
		struct uuid first, second;

		buf_clear(&a);
		buf_clear(&b);
		add_members(&a, &b, roll(3));
		first = fingerprint(a.data, a.len);
		second = fingerprint(b.data, b.len);
		ck_assert_msg(
		    uuid_equal(&first, &second), "%.900s and %.900s", buf_str(&a), buf_str(&b));
		/* and the form is its own canonical form */
		buf_clear(&form);
		buf_add(&form, out.data, out.len);
		second = fingerprint(form.data, form.len);
		ck_assert_msg(uuid_equal(&first, &second), "%.900s", buf_str(&form));
	}
	buf_free(&a);
	buf_free(&b);
	buf_free(&form);
}
END_TEST

/* More digits than 2^53 has, up to 38, now and then with a zero at the end. */
static void
add_integer(char text[48])
{
	unsigned n = 17 + roll(22), i = 0;

	if (roll(2))
		text[i++] = '-';
	text[i++] = (char)('1' + roll(9));
	while (--n > 0)
		text[i++] = (char)('0' + (roll(4) ? roll(10) : 0));
	text[i] = '\0';
}

/* case 41 as a property: mostly neighbours, which a double could not tell apart */
START_TEST(integers_past_2_53_never_share_a_fingerprint)
{
	char a[48], b[48], first_text[64], second_text[64];

	choose_seed();
	for (int round = 0; round < N_INTEGERS; round++) {
		struct uuid first, second;
		size_t digit;

		add_integer(a);
		strcpy(b, a);
		if (roll(8) == 0)
			add_integer(b);
		digit = strlen(b) - 1 - (roll(2) ? 0 : roll(4));
		b[digit] = (char)('0' + (b[digit] - '0' + 1 + (int)roll(9)) % 10);
		if (strcmp(a, b) == 0)
			continue;
		snprintf(first_text, sizeof first_text, "{\"amount\":%s}", a);
		snprintf(second_text, sizeof second_text, "{\"amount\":%s}", b);
		first = fingerprint(first_text, strlen(first_text));
		second = fingerprint(second_text, strlen(second_text));
		ck_assert_msg(!uuid_equal(&first, &second), "%s and %s", a, b);
	}
}
END_TEST

/* Each of canonicalize.jsonl: made by another implementation on V8 (make-canonicalize). */
START_TEST(canonical_forms_are_those_of_the_npm_package)
{
	const char *src = getenv("EFFECTD_SRC");
	struct json_doc row = {0};
	char path[4096], line[4096];
	int n_rows = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/tests/vectors/canonicalize.jsonl", src ? src : ".");
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "cannot open %s", path);
	while (fgets(line, sizeof line, f)) {
		char *text, *expected;
		size_t text_len, expected_len;

		ck_assert_int_eq(json_scan(&row, line, strcspn(line, "\n"), NULL, NULL), 0);
		text = json_string(&row, json_member(&row, 0, "text"), &text_len);
		expected = json_string(&row, json_member(&row, 0, "canonical"), &expected_len);
		ck_assert_str_eq(canonical(text, text_len), expected);
		ck_assert_uint_eq(out.len, expected_len);
		free(text);
		free(expected);
		n_rows++;
	}
	fclose(f);
	json_free(&row);
	ck_assert_int_ge(n_rows, 2000);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("canon");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, canonical_forms_are_those_of_the_vectors);
	tcase_add_test(tc, no_locale_counts);
	tcase_add_test(tc, refused_vectors_are_refused_by_the_scanner);
	tcase_add_test(tc, integers_past_2_53_stay_apart);
	tcase_add_test(tc, underflow_is_zero_and_never_null);
	tcase_add_test(tc, one_number_has_one_spelling);
	tcase_add_test(tc, unicode_is_not_normalised);
	tcase_add_test(tc, skipped_members_do_not_count);
	tcase_add_test(tc, a_part_of_a_document_has_its_own_form);
	tcase_add_test(tc, canonical_forms_are_those_of_the_npm_package);
	tcase_add_test(tc, documents_keep_their_fingerprint_however_spelt);
	tcase_add_test(tc, integers_past_2_53_never_share_a_fingerprint);
	return tap_run("canon", tc);
}
