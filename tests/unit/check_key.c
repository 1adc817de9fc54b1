/*
 * Keys: the published vectors, what a template may not be, what no key derives from, and as a
 * property that parts never run into each other.
 */
#include "canon.h"
#include "digest.h"
#include "key.h"
#include "tap.h"
#include "vectors.h"

#include <string.h>
#include <time.h>

#define SECRETS_MAX 4

static struct vectors v;
static struct buf key;
static char pointer[KEY_POINTER_BYTES];
static const char *why;

static void
setup(void)
{
	v = vectors_read("keys.json");
}

static void
teardown(void)
{
	vectors_free(&v);
	buf_free(&key);
}

static struct key_template *
compile(const char *text)
{
	char *refused = NULL;
	struct key_template *t = key_compile(text, NULL, 0, &refused);

	ck_assert_msg(t != NULL, "%s: %s", text, refused);
	ck_assert_ptr_null(refused);
	ck_assert_str_eq(key_template_text(t), text);
	return t;
}

/* Expands the template of a vector with its parts. */
static int
expand_row(uint32_t row)
{
	char *text = vectors_string(&v, row, "template", NULL);
	char *tool = vectors_string(&v, row, "tool", NULL);
	char *run = vectors_string(&v, row, "run", NULL);
	char *step = vectors_string(&v, row, "step", NULL);
	char *turn = vectors_string(&v, row, "turn", NULL);
	struct key_template *t = compile(text);
	struct key_parts parts = {.doc = &v.doc,
	    .args = json_member(&v.doc, row, "args"),
	    .run = run,
	    .step = step,
	    .turn = turn,
	    .tool = tool};
	struct buf canonical = {0};
	struct uuid print;
	char hex[33];
	int err;

	if (key_template_uses_args(t)) {
		if (parts.args)
			canon_value(&canonical, &v.doc, parts.args, NULL, 0);
		else
			buf_add_str(&canonical, "{}");
		print = digest_fingerprint(canonical.data, canonical.len);
		digest_hex(print.b, sizeof print.b, hex);
		parts.fingerprint_hex = hex;
	}
	buf_clear(&key);
	err = key_expand(t, &parts, &key, pointer, &why);
	buf_free(&canonical);
	key_template_free(t);
	free(text);
	free(tool);
	free(run);
	free(step);
	free(turn);
	return err;
}

START_TEST(keys_are_those_of_the_vectors)
{
	for (uint32_t row = vectors_rows(&v, "keys"); row; row = v.doc.nodes[row].next) {
		size_t len;
		char *expected = vectors_string(&v, row, "key", &len);

		ck_assert_int_eq(expand_row(row), 0);
		ck_assert_str_eq(buf_str(&key), expected);
		ck_assert_uint_eq(key.len, len);
		ck_assert_msg(key_check(key.data, key.len) == NULL, "%s", expected);
		free(expected);
	}
}
END_TEST

/* case 32 */
START_TEST(nothing_derives_from_what_is_missing_null_empty_or_compound)
{
	for (uint32_t row = vectors_rows(&v, "invalid"); row; row = v.doc.nodes[row].next) {
		char *expected = vectors_string(&v, row, "pointer", NULL);

		why = NULL;
		ck_assert_int_eq(expand_row(row), ERR_INVALID_PARAMS);
		ck_assert_str_eq(pointer, expected);
		ck_assert_ptr_nonnull(why);
		ck_assert_uint_eq(key.len, 0);
		free(expected);
	}
}
END_TEST

START_TEST(bad_templates_fail_to_load)
{
	for (uint32_t row = vectors_rows(&v, "bad_templates"); row; row = v.doc.nodes[row].next) {
		char *text = vectors_string(&v, row, "template", NULL), *secret[SECRETS_MAX],
		     *reason = NULL;
		uint32_t list = json_member(&v.doc, row, "secret"), child;
		size_t n = 0;

		for (child = v.doc.nodes[list].n_children ? list + 1 : 0; child;
		     child = v.doc.nodes[child].next)
			secret[n++] = json_string(&v.doc, child, NULL);
		ck_assert_msg(key_compile(text, secret, n, &reason) == NULL, "%s", text);
		ck_assert_ptr_nonnull(reason);
		ck_assert_ptr_null(strchr(reason, '\n'));
		while (n > 0)
			free(secret[--n]);
		free(reason);
		free(text);
	}
	/* what no vector can hold, being no text */
	char *reason = NULL;

	ck_assert_ptr_null(key_compile("\xff{/a}", NULL, 0, &reason));
	free(reason);
	/* a neighbour of a secret is none */
	char *const secret[] = {(char *)"/card"};
	struct key_template *t = key_compile("{/cards}", secret, 1, &reason);

	ck_assert_ptr_nonnull(t);
	key_template_free(t);
}
END_TEST

START_TEST(a_template_tells_what_it_uses)
{
	static const struct {
		const char *text;
		bool uses_args, constant;
	} cases[] = {{KEY_TEMPLATE_DEFAULT, true, false}, {"{/args}", false, false},
	    {"nightly", false, true}, {"{tool}!", false, true}, {"{tool}:{run}", false, false},
	    {"{args}", true, false}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct key_template *t = compile(cases[i].text);

		ck_assert_int_eq(key_template_uses_args(t), cases[i].uses_args);
		ck_assert_int_eq(key_template_is_constant(t), cases[i].constant);
		key_template_free(t);
	}
	key_template_free(NULL);
}
END_TEST

/* What stood in the buffer before stays, whether a key comes behind it or not. */
START_TEST(the_key_is_appended)
{
	static const char args[] = "{\"args\":{\"a\":\"x\",\"b\":null}}";
	struct json_doc doc = {0};
	struct key_parts parts = {.doc = &doc, .args = 1, .tool = "t"};
	struct key_template *good = compile("{/a}"), *bad = compile("{/a}:{/b}");

	ck_assert_int_eq(json_scan(&doc, args, sizeof args - 1, NULL, NULL), 0);
	buf_add_str(&key, "before ");
	ck_assert_int_eq(key_expand(bad, &parts, &key, pointer, &why), ERR_INVALID_PARAMS);
	ck_assert_str_eq(pointer, "/args/b");
	ck_assert_str_eq(buf_str(&key), "before ");
	ck_assert_int_eq(key_expand(good, &parts, &key, pointer, &why), 0);
	ck_assert_str_eq(buf_str(&key), "before x");
	key_template_free(good);
	key_template_free(bad);
	json_free(&doc);
}
END_TEST

/* case 35, case 38 (the key's side): a member that the template does not name is no part of the key
 */
START_TEST(other_members_do_not_count)
{
	static const char *const calls[] = {
	    "{\"args\":{\"order\":7,\"payment_token\":\"t1\",\"idempotency_key\":\"k1\"}}",
	    "{\"args\":{\"idempotency_key\":\"k2\",\"order\":7,\"payment_token\":\"t2\"}}",
	    "{\"args\":{\"order\":\"7\"}}", "{\"args\":{\"order\":7.0}}"};
	struct key_template *t = compile("refund:{/order}");
	struct json_doc doc = {0};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		struct key_parts parts = {.doc = &doc, .args = 1, .tool = "refund"};

		ck_assert_int_eq(json_scan(&doc, calls[i], strlen(calls[i]), NULL, NULL), 0);
		buf_clear(&key);
		ck_assert_int_eq(key_expand(t, &parts, &key, pointer, &why), 0);
		ck_assert_str_eq(buf_str(&key), "refund:7");
	}
	key_template_free(t);
	json_free(&doc);
}
END_TEST

START_TEST(a_long_pointer_is_told_cut_at_a_characters_edge)
{
	char text[512] = "{/x";
	struct json_doc doc = {0};
	struct key_parts parts = {.doc = &doc, .tool = "t"};

	for (int i = 0; i < 120; i++)
		strcat(text, "\xe2\x82\xac");
	strcat(text, "}");
	struct key_template *t = compile(text);

	ck_assert_int_eq(key_expand(t, &parts, &key, pointer, &why), ERR_INVALID_PARAMS);
	ck_assert_uint_ge(strlen(pointer), KEY_POINTER_BYTES - 4);
	ck_assert(json_pointer_valid(pointer));
	key_template_free(t);
}
END_TEST

/*
 * Values made of nothing but what separates, escapes and digits: if two pairs differ, so do their
 * keys; and no key is anything but well formed.
 */
START_TEST(parts_never_run_into_each_other)
{
	static const char *const templates[] = {
	    "{run}/{step}", "{run}-{step}", "{run}.x_{step}", "a{run}:b{step}", "{run}~~{step}"};
	static const char alphabet[] = "/-._~:%2xabF#";
	const char *chosen = getenv("SEED");
	unsigned seed = chosen ? (unsigned)strtoul(chosen, NULL, 10) : (unsigned)time(NULL);

	printf("# seed %u\n", seed);
	for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
		struct key_template *t = compile(templates[i]);

		for (int round = 0; round < 20000; round++) {
			char words[4][4] = {""};
			struct buf other = {0};

			for (int w = 0; w < 4; w++) {
				for (int c = 0; c <= rand_r(&seed) % 3; c++)
					words[w][c] =
					    alphabet[(size_t)rand_r(&seed) % (sizeof alphabet - 1)];
				words[w][3] = '\0';
				ck_assert_int_ne(words[w][0], '\0');
			}
			struct key_parts a = {.run = words[0], .step = words[1]};
			struct key_parts b = {.run = words[2], .step = words[3]};
			bool equal =
			    strcmp(words[0], words[2]) == 0 && strcmp(words[1], words[3]) == 0;

			buf_clear(&key);
			ck_assert_int_eq(key_expand(t, &a, &key, pointer, &why), 0);
			ck_assert_int_eq(key_expand(t, &b, &other, pointer, &why), 0);
			ck_assert_msg((strcmp(buf_str(&key), buf_str(&other)) == 0) == equal,
			    "%s: '%s' '%s' and '%s' '%s'", templates[i], words[0], words[1],
			    words[2], words[3]);
			ck_assert_ptr_null(key_check(key.data, key.len));
			buf_free(&other);
		}
		key_template_free(t);
	}
}
END_TEST

START_TEST(given_keys_are_checked)
{
	char longest[257];

	memset(longest, 'k', sizeof longest);
	ck_assert_ptr_null(key_check("1", 1));
	ck_assert_ptr_null(key_check("refund:1042:3 \xc3\xa9\xf0\x9f\x98\x80\xc2\xa0", 22));
	ck_assert_ptr_null(key_check(longest, 255));
	ck_assert_ptr_nonnull(key_check(longest, 256));
	ck_assert_ptr_nonnull(key_check("", 0));
	ck_assert_ptr_nonnull(key_check("a\0b", 3));
	ck_assert_ptr_nonnull(key_check("a\nb", 3));
	ck_assert_ptr_nonnull(key_check("a\x7f", 2));
	ck_assert_ptr_nonnull(key_check("a\xc2\x80", 3));
	ck_assert_ptr_nonnull(key_check("\xc2\x9f", 2));
	ck_assert_ptr_nonnull(key_check("a\xff", 2));
	ck_assert_ptr_nonnull(key_check("a\xc3", 2));
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("key");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, keys_are_those_of_the_vectors);
	tcase_add_test(tc, nothing_derives_from_what_is_missing_null_empty_or_compound);
	tcase_add_test(tc, bad_templates_fail_to_load);
	tcase_add_test(tc, a_template_tells_what_it_uses);
	tcase_add_test(tc, the_key_is_appended);
	tcase_add_test(tc, other_members_do_not_count);
	tcase_add_test(tc, a_long_pointer_is_told_cut_at_a_characters_edge);
	tcase_add_test(tc, parts_never_run_into_each_other);
	tcase_add_test(tc, given_keys_are_checked);
	return tap_run("key", tc);
}
