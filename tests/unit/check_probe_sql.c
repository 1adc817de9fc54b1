/*
 * Sql probes: which policies load, and against a real server what a query's rows mean, that nothing
 * is written, and that an error, a lost connection and silence are no knowledge.
 */
#include "alloc.h"
#include "buf.h"
#include "child.h"
#include "cluster.h"
#include "loop.h"
#include "probe.h"
#include "probe_sql_spec.h"
#include "probing.h"
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define KEY "00000000-0000-0000-0000-000000000007"

/* ---- policies ---- */

static struct probe_sql_spec *
parse(const char *text, char **ret_pointer, char **ret_why)
{
	cJSON *v = cJSON_Parse(text);
	struct probe_sql_spec *spec;

	ck_assert_msg(v != NULL, "%s", text);
	spec = probe_sql_spec_parse(v, ret_pointer, ret_why);
	cJSON_Delete(v);
	return spec;
}

static void
refused(const char *text, const char *want_pointer, const char *want_why)
{
	char *pointer = NULL, *why = NULL;
	struct probe_sql_spec *spec = parse(text, &pointer, &why);

	ck_assert_msg(spec == NULL, "%s loads", text);
	ck_assert_str_eq(pointer, want_pointer);
	ck_assert_msg(strstr(why, want_why) != NULL, "%s: %s", text, why);
	free(pointer);
	free(why);
}

static struct probe_sql_spec *
good(const char *text)
{
	char *pointer = NULL, *why = NULL;
	struct probe_sql_spec *spec = parse(text, &pointer, &why);

	ck_assert_msg(spec != NULL, "%s: %s %s", text, pointer, why);
	return spec;
}

#define QUERY "\"query\":\"select 1 from t where k = $1\",\"params\":[\"{key}\"]"

START_TEST(what_can_never_be_asked_does_not_load)
{
	refused("[]", "", "must be an object");
	refused("{}", "", "'query' is missing");
	refused("{\"query\":\"\"}", "/query", "must be a string");
	refused("{\"query\":1}", "/query", "must be a string");
	refused("{\"query\":\"select 1; \"}", "/query", "without a ';'");
	refused("{\"query\":\" \"}", "/query", "one query");
	refused("{\"query\":\"select $1\"}", "/query", "names $1, and there are 0 params");
	refused("{\"query\":\"select $1, $10\",\"params\":[\"\"]}", "/query", "names $10");
	refused("{\"query\":\"select $2\",\"params\":[\"\",\"\"]}", "/query", "does not name $1");
	refused("{\"query\":\"select 1\",\"params\":\"{key}\"}", "/params", "must be an array");
	refused("{\"query\":\"select $1\",\"params\":[1]}", "/params", "must hold strings");
	refused("{\"query\":\"select $1\",\"params\":[\"{keys}\"]}", "/params",
	    "unknown placeholder '{keys}'");
	refused("{\"query\":\"select 1\",\"parms\":[]}", "", "the nearest is 'params'");
	refused("{" QUERY ",\"database\":\"\"}", "/database", "must be a libpq connection string");
	refused("{" QUERY ",\"database\":\"host\"}", "/database", "must be a libpq");
	refused("{" QUERY ",\"database\":\"service=books\"}", "/database", "not a service");
	refused("{" QUERY ",\"database\":\"host=a,b,c,d,e,f,g,h,i\"}", "/database", "at most 8");
	refused("{" QUERY ",\"database\":\"host=a\",\"password_file\":\"../p\"}", "/password_file",
	    "absolute path");
	refused("{" QUERY ",\"password_file\":\"p\"}", "/password_file", "needs a 'database'");
}
END_TEST

START_TEST(no_password_gets_into_a_policy_or_a_fault)
{
	static const char *const databases[] = {"host=a password=s3cret",
	    "host=a sslpassword=s3cret", "postgresql://u:s3cret@h/d", "postgresql://u:s3cret@h:x/d",
	    "host=a password=s3cret s3cret", "host=a password='s3cret", "postgresql://u:s3cret@[h"};
	char text[512];

	for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
		char *pointer = NULL, *why = NULL;

		snprintf(text, sizeof text, "{" QUERY ",\"database\":\"%s\"}", databases[i]);
		ck_assert_msg(!parse(text, &pointer, &why), "%s loads", text);
		ck_assert_str_eq(pointer, "/database");
		ck_assert_msg(!strstr(why, "s3cret"), "%s", why);
		free(pointer);
		free(why);
	}
}
END_TEST

START_TEST(what_lint_and_loader_ask_of_a_spec)
{
	struct probe_sql_spec *spec =
	    good("{\"query\":\"select $1, $2\",\"params\":[\"{/order}\",\"{tool}\"],"
		 "\"database\":\"host=a target_session_attrs=prefer-standby\"}");
	char *keep[] = {(char[]){"/order"}}, *why = NULL;

	ck_assert(probe_sql_spec_keeps(spec, keep, 1, &why));
	ck_assert(!probe_sql_spec_keeps(spec, keep, 0, &why));
	ck_assert_str_eq(why, "'{/order}' is not among what 'keep' stores");
	free(why);
	ck_assert(!probe_sql_spec_tied(spec) && spec->on_standby);
	probe_sql_spec_unref(spec);
	spec = good("{\"query\":\"select $1\",\"params\":[\"{claimed_at}\"],"
		    "\"database\":\"target_session_attrs=primary\"}");
	ck_assert(probe_sql_spec_tied(spec) && !spec->on_standby);
	probe_sql_spec_unref(spec);
}
END_TEST

/* ---- a real server ---- */

struct asked {
	struct probe *probe;
	bool done;
	enum probe_verdict verdict;
	char *result, *reason; /* NULL = none */
};

static void
done_cb(void *arg, const struct probe_answer *answer)
{
	struct asked *a = arg;

	ck_assert(!a->done);
	a->done = true;
	a->verdict = answer->verdict;
	a->result = answer->result ? xstrndup(answer->result, answer->result_len) : NULL;
	a->reason = answer->reason ? xstrdup(answer->reason) : NULL;
	probing_ended();
}

/* False: it could not be started, a->reason says why. */
static bool
ask(struct asked *a, const char *query, const char *params, const char *database,
    int64_t timeout_ms)
{
	char *text = xasprintf(
	    "{\"query\":\"%s\",\"params\":[%s],\"database\":\"%s\"}", query, params, database);
	struct probe_sql_spec *spec = good(text);
	struct probe_ask question = {.sql = spec,
	    .timeout_ms = timeout_ms,
	    .effect = {{[15] = 7}},
	    .ns = "default",
	    .tool = "refund",
	    .key = "o'1; drop table t.refund --",
	    .attempt = 2,
	    .claimed_at_us = INT64_C(1764460800500007), /* 2025-11-30T00:00:00.500007Z */
	    .kept = "{\"/order\":1042}"};

	*a = (struct asked){0};
	a->probe = probe_start(&question, done_cb, a, &a->reason);
	n_open += a->probe != NULL;
	probe_sql_spec_unref(spec); /* it lives as long as the probe */
	free(text);
	return a->probe != NULL;
}

static void
asked_free(struct asked *a)
{
	free(a->result);
	free(a->reason);
}

static void
verdict(const char *query, const char *params, enum probe_verdict want, const char *want_text)
{
	const char *got;
	struct asked a;

	ck_assert_msg(ask(&a, query, params, cluster_conninfo, 10000), "%s", a.reason);
	loop_run();
	ck_assert(a.done);
	ck_assert_msg(a.verdict == want, "%s: %s, %s %s", query, probe_verdict_name(a.verdict),
	    a.result ? a.result : "", a.reason ? a.reason : "");
	ck_assert(!a.result == (want != PROBE_LANDED));
	got = a.result ? a.result : a.reason;
	ck_assert_msg(!want_text || (got && strstr(got, want_text)), "%s: %s", query, got);
	if (a.result)
		ck_assert_str_eq(a.result, want_text);
	asked_free(&a);
}

#define LANDED(query, params, result) verdict(query, params, PROBE_LANDED, result)
#define ABSENT(query, params) verdict(query, params, PROBE_ABSENT, NULL)
#define DOUBT(query, params, reason) verdict(query, params, PROBE_INCONCLUSIVE, reason)

START_TEST(a_row_is_landed_with_that_row_and_none_is_absent)
{
	cluster_sql(
	    "drop schema if exists t cascade; create schema t;"
	    "create table t.refund (id uuid primary key, key text, n int, amount numeric,"
	    " at timestamptz, doc json, docb jsonb);"
	    "insert into t.refund values ('" KEY "', 'o''1; drop table t.refund --', 1042, 12.50,"
	    " '2025-11-30 00:00:01+00', '{\"b\" : 1.0,  \"a\":\"\\ud800\", \"a\":1e400}',"
	    " '{\"b\": 1.0}')");
	/* one column: its value; json as the provider spelled it */
	LANDED("select n from t.refund where id = $1", "\"{provider_key}\"", "1042");
	LANDED("select amount from t.refund where key = $1", "\"{key}\"", "12.50");
	LANDED("select doc from t.refund where n = $1", "\"{/order}\"",
	    "{\"b\" : 1.0,  \"a\":\"\\ud800\", \"a\":1e400}");
	LANDED("select docb from t.refund", "", "{\"b\": 1.0}");
	LANDED("select key from t.refund", "", "\"o'1; drop table t.refund --\"");
	LANDED("select true", "", "true");
	LANDED("select null::text", "", "null");
	LANDED("select array[1,2]", "", "[1,2]");
	LANDED("select 1 as \\\"a~/\\\\b\\n\\\"", "", "1");
	LANDED("select 'NaN'::float8", "", "\"NaN\"");
	/* several: an object by column, in their order */
	LANDED("select n, amount, null as nothing from t.refund", "",
	    "{\"n\":1042,\"amount\":12.50,\"nothing\":null}");
	LANDED("select from t.refund", "", "{}");
	/* every kind of query that reads */
	LANDED("with r as (select n from t.refund) select n from r -- the newest", "", "1042");
	LANDED("values (7)", "", "7");
	LANDED("select $1 || '/' || $2 || '/' || $3", "\"{tool}\",\"{namespace}\",\"{attempt}\"",
	    "\"refund/default/2\"");
	/* tied to a time after the claim, as exact as the ledger has it */
	LANDED("select n from t.refund where at >= $1", "\"{claimed_at}\"", "1042");
	ABSENT("select n from t.refund where at < $1", "\"{claimed_at}\"");
	LANDED("select $1::timestamptz at time zone 'UTC'", "\"{claimed_at}\"",
	    "\"2025-11-30T00:00:00.500007\"");
	ABSENT("select n from t.refund where key = $1", "\"x{key}\"");
	ABSENT("select 1 where false", "");
}
END_TEST

/* case 79 for sql probes */
START_TEST(what_is_no_clear_answer_is_inconclusive)
{
	DOUBT("select n from t.refund union all select 2", "", "more than one row");
	DOUBT("select 1 from pg_class a, pg_class b, pg_class c, pg_class d", "",
	    "more than one row");
	DOUBT("select repeat('x', 65524)", "", "a row of more than 65536 bytes");
	DOUBT("select repeat('x', 100000000)", "", "a row of more than 65536 bytes");
	LANDED("select length(repeat('x', 65523))", "", "65523");
	DOUBT("select n from t.nobody", "", "42P01: relation \"t.nobody\" does not exist");
	DOUBT("select nothing from t.refund", "", "42703: ");
	DOUBT("select 1 / (n - 1042) from t.refund", "", "22012: division by zero");
	DOUBT("select n from t.refund where id = $1", "\"{key}\"", "22P02: ");
	DOUBT("select n frm t.refund", "", "42601: ");
	DOUBT("select 1 /* where", "", "42601: ");
	DOUBT("select '$1'", "\"\"", "42P18: ");
	DOUBT("select 1; select 2", "", "42601: ");
	DOUBT("copy t.refund to stdout", "", "42601: ");
	/* whatever the text is, the reason can be stored */
	DOUBT("select ('\xc3\xa9' || repeat('\xc3\xa4', 300))::int", "", "22P02: ");
}
END_TEST

START_TEST(a_probe_writes_nothing)
{
	cluster_sql("create sequence t.s; create function t.write() returns int language sql as"
		    " $$ insert into t.refund (id) values (gen_random_uuid()) returning 1 $$;"
		    "create function t.dare() returns int language plpgsql as $$ begin"
		    " perform set_config('transaction_read_only', 'off', false);"
		    " perform set_config('default_transaction_read_only', 'off', false);"
		    " insert into t.refund (id) values (gen_random_uuid()); return 1; end $$");
	DOUBT("select t.write()", "", "25006: cannot execute INSERT in a read-only transaction");
	DOUBT("select t.dare()", "", "25001: ");
	DOUBT("select nextval('t.s')", "", "25006: ");
	DOUBT("select n from t.refund for update", "", "25006: ");
	DOUBT("insert into t.refund (id) values (gen_random_uuid()) returning 1", "", "42601: ");
	DOUBT("delete from t.refund returning 1", "", "42601: ");
	DOUBT("with d as (delete from t.refund returning 1) select * from d", "", "0A000: ");
	DOUBT("commit", "", "42601: ");
	ck_assert_int_eq(cluster_number("select count(*) from t.refund"), 1);
	ck_assert_int_eq(
	    cluster_number("select case when is_called then 1 else 0 end from t.s"), 0);
}
END_TEST

static void
until_no_backend_asks(void)
{
	for (int i = 0; cluster_number("select count(*) from pg_stat_activity"
				       " where application_name = 'effectd probe'") > 0;
	     i++) {
		ck_assert_int_lt(i, 1000);
		usleep(10000);
	}
}

START_TEST(silence_ends_at_its_time_on_both_sides)
{
	struct asked a;

	ck_assert(ask(&a, "select pg_sleep(1000)", "", cluster_conninfo, 400));
	loop_run();
	ck_assert_int_eq(a.verdict, PROBE_INCONCLUSIVE);
	ck_assert_msg(strcmp(a.reason, "timed out") == 0 || strncmp(a.reason, "57014: ", 7) == 0,
	    "%s", a.reason);
	asked_free(&a);
	/* the server does not work on for nobody */
	until_no_backend_asks();
}
END_TEST

START_TEST(a_lock_is_told_from_a_slow_query)
{
	PGconn *holder = PQconnectdb(cluster_conninfo);
	struct asked a;

	PQclear(PQexec(holder, "begin; lock table t.refund"));
	ck_assert(ask(&a, "select n from t.refund", "", cluster_conninfo, 2000));
	loop_run();
	ck_assert_int_eq(a.verdict, PROBE_INCONCLUSIVE);
	ck_assert_msg(strncmp(a.reason, "55P03: ", 7) == 0, "%s", a.reason);
	asked_free(&a);
	PQfinish(holder);
}
END_TEST

static void
terminate_cb(void *arg)
{
	struct loop_timer **again = arg;

	if (cluster_number("select count(pg_terminate_backend(pid)) from pg_stat_activity where"
			   " application_name = 'effectd probe' and query like '%pg_sleep%'") == 0)
		loop_timer_set(*again, 10);
}

START_TEST(a_connection_that_is_lost_says_nothing)
{
	struct loop_timer *terminate = loop_timer_new(terminate_cb, &terminate);
	struct asked a;

	loop_timer_set(terminate, 10);
	ck_assert(ask(&a, "select 1 from pg_sleep(1000)", "", cluster_conninfo, 20000));
	loop_run();
	ck_assert_int_eq(a.verdict, PROBE_INCONCLUSIVE);
	ck_assert_msg(strncmp(a.reason, "57P01: ", 7) == 0, "%s", a.reason);
	asked_free(&a);
	loop_timer_free(terminate);
}
END_TEST

START_TEST(a_cancelled_probe_is_never_told_and_leaves_no_connection)
{
	struct asked cancelled, other;

	ck_assert(ask(&cancelled, "select pg_sleep(2)", "", cluster_conninfo, 20000));
	probe_cancel(cancelled.probe);
	n_open--;
	/* while it looks a name up, too */
	ck_assert(ask(&cancelled, "select 1", "", "host=localhost", 20000));
	probe_cancel(cancelled.probe);
	n_open--;
	ck_assert(ask(&other, "select 1", "", cluster_conninfo, 20000));
	loop_run();
	ck_assert(!cancelled.done && other.done);
	asked_free(&other);
	until_no_backend_asks();
}
END_TEST

/* ---- servers that are none ---- */

static void
doubt_at(const char *database, const char *want)
{
	struct asked a;

	ck_assert_msg(ask(&a, "select 1", "", database, 3000), "%s", a.reason);
	loop_run();
	ck_assert_int_eq(a.verdict, PROBE_INCONCLUSIVE);
	ck_assert_msg(strstr(a.reason, want) != NULL, "%s: %s", database, a.reason);
	asked_free(&a);
}

START_TEST(whoever_cannot_be_reached_has_said_nothing)
{
	char database[256];

	snprintf(database, sizeof database, "host=%s user=nobody dbname=postgres", cluster_dir);
	doubt_at(database, "28000: role \"nobody\" does not exist");
	snprintf(database, sizeof database, "host=%s user=postgres dbname=none", cluster_dir);
	doubt_at(database, "3D000: ");
	doubt_at("host=/nonexistent user=a", "No such file or directory");
	doubt_at("host=127.0.0.1 port=1", "Connection refused");
	/* a name is looked up beside the loop; all of its addresses are tried */
	doubt_at("host=localhost port=1", "127.0.0.1");
	doubt_at("host='-x' port=1", "cannot resolve '-x'");
}
END_TEST

START_TEST(the_next_host_has_its_turn)
{
	char database[256];
	struct asked a;

	snprintf(database, sizeof database,
	    "host=-x,/nonexistent,localhost,%s port=1,1,1,5432 user=postgres dbname=postgres",
	    cluster_dir);
	ck_assert(ask(&a, "select current_setting('application_name')", "", database, 10000));
	loop_run();
	ck_assert_msg(a.verdict == PROBE_LANDED, "%s", a.reason);
	ck_assert_str_eq(a.result, "\"effectd probe\"");
	asked_free(&a);
}
END_TEST

START_TEST(a_server_that_never_answers_is_not_waited_for)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/effectd-ck-XXXXXX", database[128];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct asked a;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	snprintf(database, sizeof database, "host=%s user=a", dir);
	ck_assert(ask(&a, "select 1", "", database, 500));
	loop_run();
	ck_assert_int_eq(a.verdict, PROBE_INCONCLUSIVE);
	ck_assert_msg(strstr(a.reason, "took too long") != NULL, "%s", a.reason);
	asked_free(&a);
	close(fd);
	unlink(address.sun_path);
	rmdir(dir);
}
END_TEST

static void
add_message(struct buf *out, char type, const char *body, size_t len)
{
	uint32_t n = htonl((uint32_t)len + 4);

	buf_add_char(out, type);
	buf_add(out, &n, sizeof n);
	buf_add(out, body, len);
}

#define MESSAGE(out, type, literal) add_message(out, type, literal, sizeof literal - 1)

/* One statement's one row of one text column. */
static void
add_row(struct buf *out, const char *text)
{
	uint32_t len = htonl((uint32_t)strlen(text));
	struct buf row = {0};

	MESSAGE(out, '1', "");
	MESSAGE(out, '2', "");
	MESSAGE(out, 'T', "\0\1l\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
	buf_add(&row, "\0\1", 2);
	buf_add(&row, &len, sizeof len);
	buf_add_str(&row, text);
	add_message(out, 'D', row.data, row.len);
	MESSAGE(out, 'C', "SELECT 1\0");
	buf_free(&row);
}

/* In a process of its own: takes one connection, lets it in, and answers whatever it asks. */
static pid_t
serve(int fd, const char *line)
{
	struct buf welcome = {0}, rows = {0};
	char asked[8192];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	MESSAGE(&welcome, 'R', "\0\0\0\0");
	MESSAGE(&welcome, 'S', "server_version\00015.0\0");
	MESSAGE(&welcome, 'S', "client_encoding\0UTF8\0");
	MESSAGE(&welcome, 'S', "in_hot_standby\0off\0");
	MESSAGE(&welcome, 'S', "default_transaction_read_only\0off\0");
	MESSAGE(&welcome, 'Z', "I");
	add_row(&rows, "");
	add_row(&rows, line);
	MESSAGE(&rows, 'Z', "I");
	fd = accept(fd, NULL, NULL);
	if (read(fd, asked, sizeof asked) > 0 && write(fd, welcome.data, welcome.len) > 0 &&
	    read(fd, asked, sizeof asked) > 0 && write(fd, rows.data, rows.len) > 0)
		while (read(fd, asked, sizeof asked) > 0)
			;
	_exit(0);
}

START_TEST(what_a_server_makes_up_is_no_row)
{
	static const char *const lines[] = {"x", "{", "{ab", "{\"a", "{\"a\\", "[1,2]", "[\"a\":1]",
	    "{\"a\":1", "{\"a\":1}x", "{\"a\":1},\"decision\":\"run\"",
	    "{\"a\":1}},{\"b\":{\"c\":1}", "\"a\"", "7", " "};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/effectd-ck-XXXXXX", database[128];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
	struct asked a;
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	snprintf(database, sizeof database, "host=%s user=a", dir);
	for (size_t i = 0; i <= sizeof lines / sizeof lines[0]; i++) {
		bool made_up = i < sizeof lines / sizeof lines[0];

		pid = serve(fd, made_up ? lines[i] : "{\"a\":1}");
		ck_assert(ask(&a, "select 1", "", database, 10000));
		loop_run();
		ck_assert_msg(a.verdict == (made_up ? PROBE_INCONCLUSIVE : PROBE_LANDED),
		    "%s: %s %s", made_up ? lines[i] : "a row", probe_verdict_name(a.verdict),
		    a.reason ? a.reason : "");
		ck_assert(!made_up || strcmp(a.reason, "a row that is no JSON object") == 0);
		asked_free(&a);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fd);
	unlink(address.sun_path);
	rmdir(dir);
}
END_TEST

START_TEST(what_cannot_be_filled_in_is_not_asked)
{
	struct asked a;

	ck_assert(!ask(&a, "select $1", "\"{/line}\"", cluster_conninfo, 1000));
	ck_assert_str_eq(a.reason, "there is no usable value at '/line' of the args");
	asked_free(&a);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("probe_sql");
	int status;

	cluster_start();
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_can_never_be_asked_does_not_load);
	tcase_add_test(tc, no_password_gets_into_a_policy_or_a_fault);
	tcase_add_test(tc, what_lint_and_loader_ask_of_a_spec);
	tcase_add_test(tc, a_row_is_landed_with_that_row_and_none_is_absent);
	tcase_add_test(tc, what_is_no_clear_answer_is_inconclusive);
	tcase_add_test(tc, a_probe_writes_nothing);
	tcase_add_test(tc, silence_ends_at_its_time_on_both_sides);
	tcase_add_test(tc, a_lock_is_told_from_a_slow_query);
	tcase_add_test(tc, a_connection_that_is_lost_says_nothing);
	tcase_add_test(tc, a_cancelled_probe_is_never_told_and_leaves_no_connection);
	tcase_add_test(tc, whoever_cannot_be_reached_has_said_nothing);
	tcase_add_test(tc, the_next_host_has_its_turn);
	tcase_add_test(tc, a_server_that_never_answers_is_not_waited_for);
	tcase_add_test(tc, what_a_server_makes_up_is_no_row);
	tcase_add_test(tc, what_cannot_be_filled_in_is_not_asked);
	status = tap_run("probe_sql", tc);
	cluster_remove();
	return status;
}
