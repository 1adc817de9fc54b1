/*
 * The pool, its connections and the schema's installation against a real private PostgreSQL:
 * backends that die, a database that goes and comes back, a commit that waits for a standby, a
 * server that answers nothing.
 */
#include "ledger.h"
/* case 107: the connection goes while a client works; what is asked later finds another */
START_TEST(terminated_connections_are_replaced_at_once)
{
	start(4, 5000);
	until(all_free);
	for (unsigned round = 0; round < 5; round++) {
		cluster_sql("select pg_terminate_backend(pid) from pg_stat_activity"
			    " where application_name = 'effectd'");
		add_plain(20);
		until(all_done);
	}
	check_all();
	stop();
}
END_TEST

/* case 105 */
START_TEST(a_table_altered_under_way_does_no_harm)
{
	start(2, 5000);
	add_plain(10);
	until(all_done);
	cluster_sql("alter table t.entry add column later text");
	add_plain(10);
	until(all_done);
	cluster_sql(
	    "drop function t.scalar; create function t.scalar(p_word text, p_n int)"
	    " returns table (a text, b int, c int) language sql as $$ select p_word, 1, 2 $$");
	add_to(&scalar, "a", PATIENCE_MS);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[20].n_rows, 1);
	stop();
}
END_TEST

static bool
stalled(void)
{
	return cluster_number(
		   "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") > 0;
}

/* The new setting reaches the server when it likes: items are added until one waits. */
static bool
one_stalls(void)
{
	if (all_done())
		add_to(&act, "a", INT64_MAX);
	return stalled();
}

/* No commit ends any more; the newest entry is the one that waits. */
static void
stall_commits(void)
{
	cluster_sql("alter system set synchronous_standby_names = 'nobody'");
	cluster_sql("select pg_reload_conf()");
	until(one_stalls);
}

static void
end_stall(void)
{
	cluster_sql("alter system reset synchronous_standby_names");
	cluster_sql("select pg_reload_conf()");
}

static int64_t stall_until_ms;

static bool
stall_time_over(void)
{
	return loop_now_ms() >= stall_until_ms;
}

START_TEST(a_commit_that_waits_for_a_standby_is_waited_for_and_no_backends_pile_up)
{
	start(2, 500);
	until(all_free);
	stall_commits();
	stall_until_ms = loop_now_ms() + 2000; /* several looks at it */
	until(stall_time_over);
	ck_assert_uint_eq(n_done, n_entries - 1);
	ck_assert_int_eq(
	    cluster_number("select count(*) from pg_stat_activity where wait_event = 'SyncRep'"),
	    1);
	ck_assert_int_le(
	    cluster_number(
		"select count(*) from pg_stat_activity where application_name = 'effectd'"),
	    3);
	end_stall();
	until(all_done);
	check_all();
	ck_assert(!entries[n_entries - 1].resent && entries[n_entries - 1].err == 0);
	stop();
}
END_TEST

START_TEST(a_wait_for_a_standby_that_is_cancelled_is_no_answer)
{
	start(2, 5000);
	until(all_free);
	stall_commits();
	cluster_sql(
	    "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
	until(stalled);
	ck_assert_uint_eq(n_done, n_entries - 1);
	end_stall();
	until(all_done);
	check_all();
	ck_assert(entries[n_entries - 1].resent && entries[n_entries - 1].db_resent);
	stop();
}
END_TEST

START_TEST(the_pool_is_back_within_two_seconds_of_the_database)
{
	int64_t from_ms;

	start(4, 5000);
	until(all_free);
	cluster_down("fast");
	until(is_down);
	ck_assert_str_ne(pgpool_status()->error, "");
	add_to(&act, "x", 300);
	until(all_done);
	ck_assert_int_eq(entries[0].err, ERR_UNAVAILABLE);
	add_to(&act, "plain kept", INT64_MAX);
	stall_until_ms = loop_now_ms() + 2500; /* the back-off is at its longest now */
	until(stall_time_over);
	cluster_up();
	from_ms = loop_now_ms();
	until(all_done);
	ck_assert_int_le(loop_now_ms() - from_ms, 2000);
	until(all_free);
	check_all();
	ck_assert_str_eq(pgpool_status()->error, "");
	stop();
}
END_TEST

/* case 128: the server takes the connection and never answers */
START_TEST(a_server_that_never_answers_is_given_up_and_found_again)
{
	long pid;

	start(2, 300);
	until(all_free);
	pid = cluster_number("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
	cluster_sh("kill -STOP %ld", pid);
	cluster_sh("pkill -STOP -P %ld", pid);
	add_to(&act, "x", 400);
	until(all_done);
	cluster_sh("pkill -CONT -P %ld", pid);
	cluster_sh("kill -CONT %ld", pid);
	add_to(&act, "plain kept", INT64_MAX);
	until(all_done);
	ck_assert_int_eq(entries[1].err, 0);
	stop();
}
END_TEST

START_TEST(a_database_without_the_schema_is_down_and_says_what_to_do)
{
	cluster_sql("alter schema effect rename to effect_hidden");
	start(2, 300);
	add_to(&act, "x", 200);
	until(all_done);
	ck_assert_int_eq(entries[0].err, ERR_UNAVAILABLE);
	ck_assert_ptr_nonnull(strstr(pgpool_status()->error, "effectctl db migrate"));
	cluster_sql("alter schema effect_hidden rename to effect");
	until(is_up);
	stop();
}
END_TEST

START_TEST(a_missing_schema_is_installed_where_auto_migrate_is_on)
{
	cluster_sql("drop schema effect cascade");
	start(2, 3000);
	config.auto_migrate = CONFIG_MIGRATE_ON;
	until(is_up);
	ck_assert_int_eq(pgpool_status()->schema_version, schema_version());
	stop();
}
END_TEST

START_TEST(a_newer_schema_is_left_alone)
{
	char *error = NULL;

	cluster_sql("insert into effect.schema_version (version) values (9999)");
	ck_assert_int_eq(schema_migrate(cluster_conninfo, &error), ERR_CONFLICT);
	ck_assert_ptr_nonnull(strstr(error, "9999"));
	free(error);
	start(2, 300);
	config.auto_migrate = CONFIG_MIGRATE_ON;
	add_to(&act, "x", 200);
	until(all_done);
	ck_assert_ptr_nonnull(strstr(pgpool_status()->error, "9999"));
	stop();
	cluster_sql("delete from effect.schema_version where version = 9999");
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("pgpool");

	tcase_add_test(tc, terminated_connections_are_replaced_at_once);
	tcase_add_test(tc, a_table_altered_under_way_does_no_harm);
	tcase_add_test(tc, a_commit_that_waits_for_a_standby_is_waited_for_and_no_backends_pile_up);
	tcase_add_test(tc, a_wait_for_a_standby_that_is_cancelled_is_no_answer);
	tcase_add_test(tc, the_pool_is_back_within_two_seconds_of_the_database);
	tcase_add_test(tc, a_server_that_never_answers_is_given_up_and_found_again);
	tcase_add_test(tc, a_database_without_the_schema_is_down_and_says_what_to_do);
	tcase_add_test(tc, a_missing_schema_is_installed_where_auto_migrate_is_on);
	tcase_add_test(tc, a_newer_schema_is_left_alone);
	return ledger_run("pgpool", tc);
}
