/*
 * The templates of probes: which are let in, what is put in the place of a placeholder, and that
 * nothing of a stranger's ends the text that it stands in.
 */
#include "alloc.h"
#include "probe_template.h"
#include "tap.h"

#include <string.h>

static char *const texts[] = {(char[]){"s3cret"}};
static const struct probe_template_pair credentials[] = {{(char[]){"bank"}, (char[]){"file"}}};

static struct probe_ask ask = {.ns = "payments",
    .tool = "refund",
    .key = "refund:1042/3 \xc3\xa9",
    .attempt = 2,
    .claimed_at_us = INT64_C(1764460800500007),
    .kept = "{\"/a/b\":{\"c\":\"x y\",\"n\":1e2,\"o\":[]},\"/order\":1042,\"/line\":\"3\\n4\","
	    "\"/nul\":\"a\\u0000b\"}"};

static void
filled(const char *template, bool encode, const char *want)
{
	struct probe_template_values values = {.ask = &ask,
	    .encode = encode,
	    .credentials = credentials,
	    .credential_texts = texts,
	    .n_credentials = 1};
	struct buf out = {0};
	char *why = NULL;
	bool ok;

	ck_assert_msg(probe_template_check(template, credentials, 1, &why), "%s", why);
	ok = probe_template_fill(template, &values, &out, &why);
	ck_assert_msg(ok == (want != NULL), "%s: %s", template, why ? why : buf_str(&out));
	if (want)
		ck_assert_str_eq(buf_str(&out), want);
	free(why);
	buf_free(&out);
}

START_TEST(placeholders_are_filled_in_and_encoded_for_urls)
{
	filled("{provider_key}={effect}", true,
	    "00000000-0000-0000-0000-000000000000=00000000-0000-0000-0000-000000000000");
	filled("/{key}?n={namespace}&t={tool}&a={attempt}", true,
	    "/refund%3A1042%2F3%20%C3%A9?n=payments&t=refund&a=2");
	filled("{key}", false, "refund:1042/3 \xc3\xa9");
	filled("{/order}-{/a/b/c}-{/a/b/n}", true, "1042-x%20y-100");
	filled("since {claimed_at}", false, "since 2025-11-30T00:00:00.500007Z");
	filled("Bearer {credential:bank}", false, "Bearer s3cret");
	filled("none at all", false, "none at all");
}
END_TEST

START_TEST(what_is_no_single_value_fills_nothing)
{
	filled("{/line}", true, "3%0A4");
	filled("{/line}", false, NULL); /* would end a header's line */
	filled("{/nul}", false, NULL);
	filled("{/a/b/o}", true, NULL);
	filled("{/a/b}", true, NULL);
	filled("{/nobody}", true, NULL);
}
END_TEST

static void
refused(const char *template, const char *want)
{
	char *why = NULL;

	ck_assert_msg(!probe_template_check(template, credentials, 1, &why), "%s", template);
	ck_assert_msg(strstr(why, want) != NULL, "%s: %s", template, why);
	free(why);
}

START_TEST(every_brace_belongs_to_a_placeholder_that_is_known)
{
	char longest[300] = "{/", *why = NULL;

	refused("{key", "no other half");
	refused("key}", "no other half");
	refused("{{key}}", "no other half");
	refused("{}", "unknown placeholder '{}'");
	refused("{args}", "unknown placeholder '{args}'");
	refused("{Key}", "unknown placeholder");
	refused("{/a~}", "unknown placeholder");
	refused("{credential:other}", "unknown placeholder");
	ck_assert(!probe_template_check("{credential:bank}", NULL, 0, &why));
	free(why);
	/* the longest name that is let in is read, too */
	memset(longest + 2, 'x', 254);
	strcpy(longest + 256, "}");
	filled(longest, true, NULL);
	strcpy(longest + 256, "x}");
	refused(longest, "over 255 bytes");
}
END_TEST

START_TEST(what_is_asked_with_must_be_kept)
{
	char *keep[] = {(char[]){"/order"}, (char[]){"/a/b"}}, *why = NULL;

	ck_assert(probe_template_keeps("{key} {/order} {/a/b/c}", keep, 2, &why));
	ck_assert(!probe_template_keeps("{key} {/order} {/a}", keep, 2, &why));
	ck_assert_str_eq(why, "'{/a}' is not among what 'keep' stores");
	free(why);
}
END_TEST

START_TEST(the_effect_or_the_instant_of_its_claim_ties)
{
	static const char *const ties[] = {
	    "{provider_key}", "x-{effect}", "{key}!", "{claimed_at}"};

	for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
		ck_assert_msg(probe_template_ties(ties[i]), "%s", ties[i]);
	ck_assert(!probe_template_ties("{/order} {tool} {namespace} {attempt} key"));
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("probe_template");

	tcase_add_test(tc, placeholders_are_filled_in_and_encoded_for_urls);
	tcase_add_test(tc, what_is_no_single_value_fills_nothing);
	tcase_add_test(tc, every_brace_belongs_to_a_placeholder_that_is_known);
	tcase_add_test(tc, what_is_asked_with_must_be_kept);
	tcase_add_test(tc, the_effect_or_the_instant_of_its_claim_ties);
	return tap_run("probe_template", tc);
}
