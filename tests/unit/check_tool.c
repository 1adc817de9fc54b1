/*
 * Sets of policies: defaults and the effective JSON, files and folders, namespaces, versions and
 * references, the list for the wire. Rules of single members: check_tool_parse.c.
 */
#include "alloc.h"
#include "tap.h"
#include "tool.h"
#include "tool_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(a_name_alone_gets_every_default)
{
	struct tool_set *set = load("{\"name\": \"refund_order\"}");
	struct tool_policy *p = tool_find(set, "default", "refund_order");

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(p->class, TOOL_IRREVERSIBLE);
	ck_assert(p->guarded && !p->has_key);
	ck_assert_str_eq(key_template_text(p->key), KEY_TEMPLATE_DEFAULT);
	ck_assert_str_eq(p->json,
	    "{\"absent_needed\":2,\"class\":\"irreversible\",\"escalate_after\":\"30s\","
	    "\"hold_max\":\"1d\",\"ignore\":[],\"keep\":[],\"keep_key\":\"30d\",\"keep_result\":"
	    "\"1d\","
	    "\"key\":\"{run}/{step}/{tool}/{args}\",\"lease\":\"1m\",\"max_attempts\":3,"
	    "\"name\":\"refund_order\",\"namespace\":\"default\",\"on_error\":\"unknown\","
	    "\"on_unknown\":\"probe\",\"probe_backoff\":[\"2s\",\"8s\",\"30s\",\"2m\",\"10m\"],"
	    "\"probe_timeout\":\"10s\",\"result_max\":65536,\"result_secret\":[],\"secret\":[],"
	    "\"settle\":\"30s\"}");
	tool_set_free(set);
}
END_TEST

START_TEST(every_member_is_read)
{
	struct tool_set *set = load(
	    "{\"name\": \"r\", \"namespace\": \"pay.ments-1_\", \"class\": \"accumulate\","
	    "\"key\": \"refund:{/order_id}:{/line}\", \"ignore\": [\"/memo\"], \"secret\": "
	    "[\"/card\"],"
	    "\"result_secret\": [\"/a~1b\"], \"keep\": [\"/order_id\"], \"lease\": \"90s\","
	    "\"hold_max\": \"36h\", \"max_attempts\": 5, \"on_error\": \"failed\","
	    "\"on_unknown\": \"human\", \"probe\": {\"exec\": {\"argv\": [\"/bin/p\", \"-x\", "
	    "\"\"]}},"
	    "\"settle\": \"0s\", \"absent_needed\": 1, \"probe_timeout\": \"1500ms\","
	    "\"probe_backoff\": [\"1s\"], \"escalate_after\": \"3650d\", \"keep_result\": \"0s\","
	    "\"keep_key\": \"48h\", \"result_max\": 1000000}");
	struct tool_policy *p = tool_find(set, "pay.ments-1_", "r");

	ck_assert_ptr_null(tool_find(set, "default", "r"));
	ck_assert_int_eq(p->class, TOOL_ACCUMULATE);
	ck_assert(p->guarded && p->has_key);
	ck_assert_uint_eq(p->fingerprint_skip.n, 2);
	ck_assert_str_eq(p->fingerprint_skip.items[0], "/memo");
	ck_assert_str_eq(p->fingerprint_skip.items[1], "/card");
	ck_assert_int_eq(p->lease_ms, 90000);
	ck_assert_int_eq(p->hold_max_ms, 129600000);
	ck_assert_int_eq(p->max_attempts, 5);
	ck_assert_str_eq(p->on_error, "failed");
	ck_assert_uint_eq(p->probe_exec.n, 3);
	ck_assert_int_eq(p->escalate_after_ms, 315360000000);
	ck_assert_int_eq(p->keep_result_ms, 0);
	ck_assert_uint_eq(p->n_probe_backoff, 1);
	ck_assert_str_eq(p->json,
	    "{\"absent_needed\":1,\"class\":\"accumulate\",\"escalate_after\":\"3650d\","
	    "\"hold_max\":\"36h\",\"ignore\":[\"/memo\"],\"keep\":[\"/"
	    "order_id\"],\"keep_key\":\"2d\","
	    "\"keep_result\":\"0s\",\"key\":\"refund:{/order_id}:{/line}\",\"lease\":\"90s\","
	    "\"max_attempts\":5,\"name\":\"r\",\"namespace\":\"pay.ments-1_\",\"on_error\":"
	    "\"failed\","
	    "\"on_unknown\":\"human\",\"probe\":{\"exec\":{\"argv\":[\"/bin/p\",\"-x\",\"\"]}},"
	    "\"probe_backoff\":[\"1s\"],\"probe_timeout\":\"1500ms\",\"result_max\":1000000,"
	    "\"result_secret\":[\"/a~1b\"],\"secret\":[\"/card\"],\"settle\":\"0s\"}");
	tool_set_free(set);
}
END_TEST

START_TEST(classes_decide_what_is_guarded_and_who_settles)
{
	static const struct {
		const char *members;
		bool guarded;
		const char *on_unknown;
		int64_t escalate_ms;
	} rows[] = {
	    {"\"class\":\"read\"", false, "human", 30000},
	    {"\"class\":\"overwrite\"", false, "human", 30000},
	    {"\"class\":\"natural\"", false, "human", 30000},
	    {"\"class\":\"accumulate\"", true, "human", 30000},
	    {"\"class\":\"accumulate\",\"probe\":{\"exec\":{\"argv\":[\"/p\"]}}", true, "probe",
		900000},
	    {"\"class\":\"irreversible\"", true, "probe", 30000},
	    {"\"class\":\"irreversible\",\"probe\":{\"exec\":{\"argv\":[\"/p\"]}}", true, "probe",
		900000},
	    {"\"class\":\"irreversible\",\"on_unknown\":\"human\",\"escalate_after\":\"1s\"", true,
		"human", 1000},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char *text = xasprintf("{\"name\":\"t\",%s}", rows[i].members);
		struct tool_set *set = load(text);
		struct tool_policy *p = tool_find(set, "n", "t");

		ck_assert_msg(p->guarded == rows[i].guarded, "%s", text);
		ck_assert_str_eq(p->on_unknown, rows[i].on_unknown);
		ck_assert_int_eq(p->escalate_after_ms, rows[i].escalate_ms);
		tool_set_free(set);
		free(text);
	}
	struct tool_set *set = load("{\"name\":\"t\",\"on_unknown\":\"retry\","
				    "\"retry_window\":\"5400s\"}");
	struct tool_policy *p = tool_find(set, "n", "t");
	ck_assert_str_eq(p->on_unknown, "retry");
	ck_assert_int_eq(p->retry_window_ms, 5400000);
	ck_assert_ptr_nonnull(strstr(p->json, "\"on_unknown\":\"retry\""));
	ck_assert_ptr_nonnull(strstr(p->json, "\"retry_window\":\"90m\""));
	tool_set_free(set);
	expect_error("\"class\":\"Read\"",
	    "/class: must be read, overwrite, natural, accumulate or irreversible");
	expect_error(
	    "\"class\":3", "/class: must be read, overwrite, natural, accumulate or irreversible");
}
END_TEST

START_TEST(files_are_read_strictly)
{
	char deep[400], big[64];
	char *huge;

	ck_assert_str_eq(error_of("{\"name\":\"t\",\n\"lease\":\"2s\",\n\"lease\":\"3s\"}"),
	    "a.json: /lease: the member stands twice (line 3)");
	ck_assert_ptr_nonnull(strstr(error_of(""), "not JSON (line 1)"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":\"t\",}"), "not JSON (line 1)"));
	ck_assert_ptr_nonnull(
	    strstr(error_of("{\"name\":\"t\"}\n{\"name\":\"u\"}"), "not JSON (line 2)"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":\"t\"} // x"), "not JSON"));
	ck_assert_ptr_nonnull(strstr(error_of("\xef\xbb\xbf{\"name\":\"t\"}"), "not JSON"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":\"\\ud800\"}"), "half a surrogate pair"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":\"\xff\"}"), "not UTF-8"));
	ck_assert_ptr_nonnull(
	    strstr(error_of("{\"name\":\"t\",\"max_attempts\":1e400}"), "beyond any double"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":\"t\\u0000u\"}"), "\\u0000 is not taken"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\\u0000x\":\"t\"}"), "\\u0000 is not taken"));
	expect_good("\"ignore\":[\"/\\\\u0000\"]"); /* an escaped backslash, then letters */
	memset(deep, '[', sizeof deep);
	deep[sizeof deep - 1] = '\0';
	ck_assert_ptr_nonnull(strstr(error_of(deep), "nested too deep"));
	ck_assert_str_eq(error_of("7"), "a.json: must be an object, the policy of one tool");
	ck_assert_str_eq(error_of("[{\"name\":\"a\"},[]]"),
	    "a.json: /1: must be an object, the policy of one tool");
	write_bytes("a.json", "{\"name\":\"t\0\"}", 13);
	ck_assert_ptr_nonnull(strstr(dir_error(false), "not JSON"));
	huge = xmalloc(1048577);
	memset(huge, ' ', 1048577);
	snprintf(big, sizeof big, "{\"name\":\"t\"}");
	memcpy(huge, big, strlen(big));
	write_bytes("a.json", huge, 1048576);
	tool_set_free(load_dir(false));
	write_bytes("a.json", huge, 1048577);
	ck_assert_str_eq(dir_error(false), "a.json: is over 1048576 bytes");
	free(huge);
}
END_TEST

START_TEST(folders_are_read_in_order_and_whole)
{
	struct tool_set *set;
	char *error = NULL, path[256];
	bool missing = false;

	write_file("b.json", "[{\"name\":\"b\"},{\"name\":\"c\"}]");
	write_file("a.json", "{\"name\":\"a\"}");
	write_file("B.json", "[]");
	write_file(".hidden.json", "{");
	write_file("c.json~", "{");
	write_file("d.txt", "{");
	write_file("json", "{");
	set = load_dir(false);
	ck_assert_ptr_nonnull(tool_find(set, "n", "a"));
	ck_assert_ptr_nonnull(tool_find(set, "n", "c"));
	ck_assert_ptr_null(tool_find(set, "n", "d"));
	tool_set_free(set);
	write_file("z.json", "[{\"name\":\"z\"},{\"name\":\"b\"}]");
	snprintf(path, sizeof path,
	    "z.json: 'b': /1: has a policy for every namespace already, in %s/b.json", dir);
	ck_assert_str_eq(dir_error(false), path);
	/* the first bad one in strcmp's order, capitals first */
	write_file("Z.json", "{");
	ck_assert_ptr_nonnull(strstr(dir_error(false), "Z.json: "));
	snprintf(path, sizeof path, "%s/Z.json", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/z.json", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/y.json", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_str_eq(dir_error(false), "y.json: is not a regular file");
	rmdir(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_str_eq(dir_error(false), "y.json: is not a regular file");
	unlink(path);
	ck_assert_int_eq(symlink("b.txt", path), 0);
	ck_assert_ptr_nonnull(strstr(dir_error(false), "y.json: cannot be opened"));
	unlink(path);
	set = tool_set_load(path, false, &missing, &error);
	ck_assert(missing);
	ck_assert_ptr_null(tool_find(set, "n", "a"));
	tool_set_free(set);
	snprintf(path, sizeof path, "%s/a.json", dir);
	ck_assert_ptr_null(tool_set_load(path, false, &missing, &error));
	ck_assert(!missing);
	ck_assert_ptr_nonnull(strstr(error, "cannot be read"));
	free(error);
}
END_TEST

START_TEST(a_named_namespace_wins)
{
	struct tool_set *set = load("[{\"name\":\"t\",\"max_attempts\":1},"
				    "{\"name\":\"t\",\"namespace\":\"pay\",\"max_attempts\":2},"
				    "{\"name\":\"only\",\"namespace\":\"pay\"}]");

	ck_assert_int_eq(tool_find(set, "pay", "t")->max_attempts, 2);
	ck_assert_int_eq(tool_find(set, "other", "t")->max_attempts, 1);
	ck_assert_str_eq(tool_find(set, "other", "t")->ns, "other");
	ck_assert_ptr_eq(tool_find(set, "other", "t"), tool_find(set, "other", "t"));
	/* case 39: what is one policy in the file is two in the ledger */
	ck_assert_int_ne(tool_find(set, "a", "t")->version, tool_find(set, "b", "t")->version);
	ck_assert_ptr_null(tool_find(set, "other", "only"));
	ck_assert_ptr_null(tool_find(set, "", "nothing"));
	tool_set_free(set);
	ck_assert_ptr_nonnull(strstr(error_of("[{\"name\":\"t\",\"namespace\":\"pay\"},"
					      "{\"name\":\"t\",\"namespace\":\"pay\"}]"),
	    "'t': /1: has a policy in namespace pay already"));
}
END_TEST

START_TEST(versions_are_those_of_the_content)
{
	struct tool_set *a = load("{\"name\":\"t\",\"lease\":\"60s\",\"secret\":[\"/x\"]}");
	struct tool_set *b =
	    load("{ \"secret\": [\"/\\u0078\"], \"lease\": \"1m\", \"name\": \"t\" }");
	struct tool_set *c = load("{\"name\":\"t\",\"lease\":\"61s\",\"secret\":[\"/x\"]}");
	struct tool_policy *pa = tool_find(a, "n", "t"), *pb = tool_find(b, "n", "t"),
			   *pc = tool_find(c, "n", "t");
	int64_t version = pa->version;

	ck_assert_str_eq(pa->json, pb->json);
	ck_assert_int_eq(pa->version, pb->version);
	ck_assert_int_ne(pa->version, pc->version);
	ck_assert_int_ge(pa->version, 0);
	/* kept through a reload, found by version, gone with the last reference */
	tool_ref(pa);
	tool_set_free(a);
	tool_set_free(b);
	ck_assert_ptr_eq(tool_by_version(version), pa);
	ck_assert_str_eq(pa->name, "t");
	tool_unref(pa);
	ck_assert_ptr_null(tool_by_version(version));
	ck_assert_ptr_eq(tool_by_version(pc->version), pc);
	tool_set_free(c);
	tool_set_free(NULL);
	tool_unref(NULL);
}
END_TEST

START_TEST(unknown_tools_get_a_bounded_default)
{
	struct tool_set *set = tool_set_empty();
	struct tool_policy *first, *p = NULL;
	char name[32];
	int64_t version;

	first = tool_ref(tool_default(set, "n", "made_up"));
	ck_assert_ptr_eq(tool_default(set, "n", "made_up"), first);
	ck_assert_ptr_ne(tool_default(set, "m", "made_up"), first);
	ck_assert_int_eq(first->class, TOOL_IRREVERSIBLE);
	ck_assert(first->guarded && !first->has_key);
	ck_assert_str_eq(first->on_unknown, "probe");
	ck_assert_int_eq(first->escalate_after_ms, 30000);
	ck_assert_ptr_null(tool_find(set, "n", "made_up"));
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "t%d", i);
		p = tool_default(set, "n", name);
		ck_assert_str_eq(p->name, name);
		if (i == 0)
			version = p->version;
	}
	ck_assert_ptr_null(tool_by_version(version)); /* forgotten */
	ck_assert_ptr_eq(tool_by_version(p->version), p);
	ck_assert_ptr_eq(tool_by_version(first->version), first); /* forgotten, yet held */
	ck_assert_ptr_ne(tool_default(set, "n", "made_up"), first);
	tool_unref(first);
	tool_set_free(set);
	/* the same as a file that says nothing but the name */
	set = load("{\"name\":\"made_up\"}");
	ck_assert_str_eq(
	    tool_find(set, "n", "made_up")->json, tool_default(set, "n", "made_up")->json);
	tool_set_free(set);
}
END_TEST

static void
count_cb(void *arg, struct tool_policy *policy, const char *file)
{
	struct buf *b = arg;

	ck_assert_str_eq(strrchr(file, '/'), "/a.json");
	buf_printf(b, "%s/%s ", policy->ns, policy->name);
}

START_TEST(a_set_can_be_listed)
{
	struct tool_set *set =
	    load("[{\"name\":\"t\"},{\"name\":\"t\",\"namespace\":\"pay\","
		 "\"result_secret\":[\"/x\"]},{\"name\":\"u\",\"class\":\"read\"}]");
	char *names[] = {"pay", "dev"};
	struct buf b = {0};
	char *expected, *version;

	tool_set_each(set, "default", count_cb, &b);
	ck_assert_str_eq(buf_str(&b), "default/t pay/t default/u ");
	buf_clear(&b);
	tool_set_json(set, names, 2, NULL, &b);
	ck_assert_ptr_nonnull(strstr(buf_str(&b),
	    "\"findings\":[{\"code\":\"irreversible_without_probe\",\"level\":\"error\","
	    "\"pointer\":\"/probe\",\"text\":\""));
	ck_assert_int_eq(buf_str(&b)[0], '[');
	/* pay's own t and u, dev's two: four in all, u without findings */
	ck_assert_uint_eq(b.data[b.len - 1], ']');
	version = xasprintf("%lld", (long long)tool_find(set, "dev", "u")->version);
	expected = xasprintf("\"settle\":\"30s\",\"version\":\"%s\",\"findings\":[]}]", version);
	ck_assert_str_eq(buf_str(&b) + b.len - strlen(expected), expected);
	free(expected);
	free(version);
	expected = strstr(buf_str(&b), "\"result_secret\":[\"/x\"]");
	ck_assert_ptr_nonnull(expected);
	ck_assert_ptr_null(strstr(expected + 1, "\"result_secret\":[\"/x\"]"));
	buf_clear(&b);
	tool_set_json(set, NULL, 0, NULL, &b);
	ck_assert_str_eq(buf_str(&b), "[]");
	ck_assert(tool_set_has_result_secret(set));
	tool_set_free(set);
	set = tool_set_empty();
	ck_assert(!tool_set_has_result_secret(set));
	tool_set_free(set);
	buf_free(&b);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("tool");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_name_alone_gets_every_default);
	tcase_add_test(tc, every_member_is_read);
	tcase_add_test(tc, classes_decide_what_is_guarded_and_who_settles);
	tcase_add_test(tc, files_are_read_strictly);
	tcase_add_test(tc, folders_are_read_in_order_and_whole);
	tcase_add_test(tc, a_named_namespace_wins);
	tcase_add_test(tc, versions_are_those_of_the_content);
	tcase_add_test(tc, unknown_tools_get_a_bounded_default);
	tcase_add_test(tc, a_set_can_be_listed);
	return tap_run("tool", tc);
}
