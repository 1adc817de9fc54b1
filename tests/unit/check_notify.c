/* A notice as a webhook: what is posted, and that receivers' libraries will find it signed. */
#include "notify_webhook.h"
#include "tap.h"

#include "json.h"

#include <string.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/* The example of the Standard Webhooks specification and its libraries. */
START_TEST(signature_is_the_published_one)
{
	static const char body[] = "{\"test\": 2432232314}";
	struct buf out = {0};

	ck_assert(notify_webhook_sign(
	    SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, strlen(body), &out));
	ck_assert_str_eq(buf_str(&out), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
	ck_assert(notify_webhook_sign("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	    "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, strlen(body), &out));
	ck_assert_msg(strncmp(buf_str(&out) + 47, " v1,", 4) == 0, "%s", buf_str(&out));
	buf_free(&out);
}
END_TEST

START_TEST(secret_that_is_none_signs_nothing)
{
	static const char *const bad[] = {"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	    "whsec_MfKQ9r8", "whsec_Mf Q9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	    "whsec_====", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La"};
	struct buf out = {0};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		ck_assert_msg(!notify_webhook_sign(bad[i], "id", 1, "x", 1, &out), "%s", bad[i]);
	ck_assert_uint_eq(out.len, 0);
	buf_free(&out);
}
END_TEST

START_TEST(body_is_one_object_and_tells_the_story)
{
	struct notice notice = {.ns = "payments",
	    .tool = "refund \"order\"",
	    .key = "refund:1042:3",
	    .attempt = 2,
	    .notice_no = 3,
	    .since_us = INT64_C(1764460800000000),
	    .reason = "there is no probe"};
	struct json_doc doc = {0};
	struct buf out = {0};
	uint32_t data;

	notify_webhook_body(&notice, &out);
	ck_assert_int_eq(json_scan(&doc, out.data, out.len, NULL, NULL), 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&out),
	    "{\"type\":\"effect.escalated.reminder\",\"timestamp\":\"2025-11-30T00:00:00.000Z\","));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "\"attempt\":2"));
	data = json_member(&doc, 0, "data");
	ck_assert_uint_eq(doc.nodes[data].n_children, 9);
	json_free(&doc);
	buf_free(&out);
}
END_TEST

START_TEST(id_is_that_of_the_notice_and_not_of_the_try)
{
	struct notice first = {
	    .ns = "n", .tool = "t", .key = "k", .attempt = 1, .notice_no = 1, .since_us = 1};
	struct notice others[] = {first, first, first, first};
	struct uuid id = notice_id(&first), again = notice_id(&first), other;

	ck_assert_mem_eq(&id, &again, sizeof id);
	others[0].notice_no = 2;
	others[1].attempt = 2;
	others[2].since_us = 2;
	others[3].effect.b[15] = 1;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		other = notice_id(&others[i]);
		ck_assert_msg(memcmp(&id, &other, sizeof id) != 0, "the %zu. one", i);
	}
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("notify");

	tcase_add_test(tc, signature_is_the_published_one);
	tcase_add_test(tc, secret_that_is_none_signs_nothing);
	tcase_add_test(tc, body_is_one_object_and_tells_the_story);
	tcase_add_test(tc, id_is_that_of_the_notice_and_not_of_the_try);
	return tap_run("notify", tc);
}
