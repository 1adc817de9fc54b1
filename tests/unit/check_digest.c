/*
 * Ids against vectors made by another implementation, SHA-256 against FIPS 180's examples, UUID
 * text.
 */
#include "digest.h"
#include "tap.h"
#include "vectors.h"

#include <string.h>

START_TEST(sha256_is_sha256)
{
	uint8_t hash[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1], million[1000];

	digest_sha256("abc", 3, hash);
	digest_hex(hash, sizeof hash, hex);
	ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	digest_sha256(NULL, 0, hash);
	digest_hex(hash, sizeof hash, hex);
	ck_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	memset(million, 0, sizeof million);
	digest_sha256(million, sizeof million, hash);
	digest_hex(hash, sizeof hash, hex);
	ck_assert_str_eq(hex, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
	digest_hex(hash, 0, hex);
	ck_assert_str_eq(hex, "");
}
END_TEST

/* by sha256sum over the same bytes */
START_TEST(business_hashes_are_of_their_parts)
{
	struct uuid a = digest_business("default", "refund", "7:3", 3), b;
	char text[UUID_TEXT_BYTES];

	uuid_text(&a, text);
	ck_assert_str_eq(text, "1205d579-f301-70a2-3451-05dd85339a0e");
	b = digest_business("default", "refun", "d7:3", 4);
	ck_assert(!uuid_equal(&a, &b));
}
END_TEST

/* case 39: namespace and tool are parts of the id, and parts do not run into each other */
START_TEST(effect_ids_are_those_of_the_vectors)
{
	struct vectors v = vectors_read("ids.json");
	struct uuid seen[64];
	size_t n_seen = 0, ns_len, tool_len, key_len;

	for (uint32_t row = vectors_rows(&v, "effects"); row; row = v.doc.nodes[row].next) {
		char *ns = vectors_string(&v, row, "namespace", &ns_len);
		char *tool = vectors_string(&v, row, "tool", &tool_len);
		char *key = vectors_string(&v, row, "key", &key_len);
		char *effect = vectors_string(&v, row, "effect", NULL);
		struct uuid id = digest_effect_id(ns, ns_len, tool, tool_len, key, key_len);
		char text[UUID_TEXT_BYTES];

		uuid_text(&id, text);
		ck_assert_str_eq(text, effect);
		ck_assert_int_eq(text[14], '8');
		for (size_t i = 0; i < n_seen; i++)
			ck_assert(!uuid_equal(&seen[i], &id));
		seen[n_seen++] = id;
		free(ns);
		free(tool);
		free(key);
		free(effect);
	}
	ck_assert_uint_ge(n_seen, 10);
	vectors_free(&v);
}
END_TEST

START_TEST(fingerprints_and_policy_versions_are_those_of_the_vectors)
{
	struct vectors v = vectors_read("ids.json");
	char hex[33], number[32];
	size_t len;

	for (uint32_t row = vectors_rows(&v, "fingerprints"); row; row = v.doc.nodes[row].next) {
		char *canonical = vectors_string(&v, row, "canonical", &len);
		char *expected = vectors_string(&v, row, "fingerprint", NULL);
		struct uuid print = digest_fingerprint(canonical, len);

		digest_hex(print.b, sizeof print.b, hex);
		ck_assert_str_eq(hex, expected);
		free(canonical);
		free(expected);
	}
	for (uint32_t row = vectors_rows(&v, "policy_versions"); row; row = v.doc.nodes[row].next) {
		char *ns = vectors_string(&v, row, "namespace", NULL);
		char *tool = vectors_string(&v, row, "tool", NULL);
		char *policy = vectors_string(&v, row, "policy", NULL);
		char *version = vectors_string(&v, row, "version", NULL);

		snprintf(number, sizeof number, "%lld",
		    (long long)digest_policy_version(ns, tool, policy));
		ck_assert_str_eq(number, version);
		free(ns);
		free(tool);
		free(policy);
		free(version);
	}
	vectors_free(&v);
}
END_TEST

START_TEST(uuids_are_read_in_any_case_and_written_in_lower)
{
	static const char lower[] = "00112233-4455-8677-8899-aabbccddeeff";
	static const char *const bad[] = {"", "00112233-4455-8677-8899-aabbccddeef",
	    "00112233-4455-8677-8899-aabbccddeeff0", "{0112233-4455-8677-8899-aabbccddeef}",
	    "00112233445586778899aabbccddeeff0000", "00112233-4455-8677-8899-aabbccddeefg",
	    "00112233_4455-8677-8899-aabbccddeeff", "001122334-455-8677-8899-aabbccddeeff",
	    " 0112233-4455-8677-8899-aabbccddeeff", "0x112233-4455-8677-8899-aabbccddeeff"};
	struct uuid u, same, before;
	char text[UUID_TEXT_BYTES];

	ck_assert(uuid_parse(lower, 36, &u));
	ck_assert_int_eq(u.b[0], 0x00);
	ck_assert_int_eq(u.b[15], 0xff);
	uuid_text(&u, text);
	ck_assert_str_eq(text, lower);
	ck_assert(uuid_parse("00112233-4455-8677-8899-AABBCCDDEEFF", 36, &same));
	ck_assert(uuid_equal(&u, &same));
	before = u;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_msg(!uuid_parse(bad[i], strlen(bad[i]), &u), "%s", bad[i]);
		ck_assert(uuid_equal(&u, &before));
	}
	ck_assert(!uuid_is_nil(&u));
	ck_assert(uuid_parse("00000000-0000-0000-0000-000000000000", 36, &u));
	ck_assert(uuid_is_nil(&u));
}
END_TEST

START_TEST(random_uuids_are_version_4_and_differ)
{
	struct uuid a, b;

	for (int i = 0; i < 1000; i++) {
		a = uuid_random();
		b = uuid_random();
		ck_assert(!uuid_equal(&a, &b));
		ck_assert_int_eq(a.b[6] >> 4, 4);
		ck_assert_int_eq(a.b[8] >> 6, 2);
	}
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("digest");

	tcase_add_test(tc, sha256_is_sha256);
	tcase_add_test(tc, business_hashes_are_of_their_parts);
	tcase_add_test(tc, effect_ids_are_those_of_the_vectors);
	tcase_add_test(tc, fingerprints_and_policy_versions_are_those_of_the_vectors);
	tcase_add_test(tc, uuids_are_read_in_any_case_and_written_in_lower);
	tcase_add_test(tc, random_uuids_are_version_4_and_differ);
	return tap_run("digest", tc);
}
