/*
 * The batch layer against a real private PostgreSQL: every way a call can go wrong, and that each
 * item got exactly one done all the same.
 */
#include "ledger.h"

START_TEST(each_item_gets_its_own_row_and_what_queued_leaves_together)
{
	start(4, 5000);
	until(is_up);
	add_plain(256);
	until(all_done);
	check_all();
	ck_assert_int_eq(cluster_number("select max(n) from t.entry"), 256);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where not resent"), 256);
	stop();
}
END_TEST

START_TEST(more_than_batch_max_goes_in_several_calls)
{
	start(2, 5000);
	add_plain(700);
	until(all_done);
	check_all();
	ck_assert_int_eq(cluster_number("select max(n) from t.entry"), 256);
	stop();
}
END_TEST

START_TEST(one_bad_item_of_twenty_fails_alone)
{
	start(4, 5000);
	add_plain(12);
	add("bad");
	add_plain(7);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[12].err, ERR_INTERNAL);
	/* nothing of a refused call was kept: each of the others stands once */
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 19);
	stop();
}
END_TEST

/* case 126 */
START_TEST(a_backend_that_dies_within_a_call_is_replaced_and_all_are_sent_again)
{
	start(4, 5000);
	add_plain(7);
	add("terminate");
	add_plain(12);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[7].err, 0);
	for (unsigned i = 0; i < n_entries; i++)
		ck_assert(entries[i].resent && entries[i].db_resent);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 20);
	stop();
}
END_TEST

/* case 126 */
START_TEST(a_big_result_among_twenty_comes_whole)
{
	start(4, 5000);
	add_plain(10);
	add("big");
	add_plain(9);
	until(all_done);
	check_all();
	ck_assert_uint_eq(entries[10].val_len, 1048576);
	stop();
}
END_TEST

/* case 102: committed, but the answer did not come */
START_TEST(an_answer_lost_behind_the_commit_is_asked_for_again)
{
	setenv("EFFECTD_FAULT", "batch.answered:fail", 1);
	start(1, 5000);
	add_plain(5);
	until(all_done);
	check_all();
	for (unsigned i = 0; i < n_entries; i++)
		ck_assert(entries[i].resent && entries[i].db_resent);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where resent"), 5);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where not resent"), 5);
	unsetenv("EFFECTD_FAULT");
	stop();
}
END_TEST

/* case 100 */
START_TEST(serialization_failures_and_deadlocks_are_tried_again_unseen)
{
	static const char *const words[] = {"serial", "deadlock", "diskfull", "nofunction"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		start(2, 5000);
		add_plain(3);
		add(words[i]);
		until(all_done);
		check_all();
		ck_assert_int_eq(entries[3].err, 0);
		ck_assert(!entries[3].resent);
		stop();
	}
}
END_TEST

/* The rows come before the commit does: what they say is no answer yet. */
START_TEST(rows_whose_commit_fails_are_not_told)
{
	start(2, 5000);
	add_plain(3);
	add("commit");
	until(all_done);
	check_all();
	ck_assert_int_eq(cluster_number("select last_value from t.hit"), 2);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 4);
	stop();
}
END_TEST

/* cases 7 and 100: one entry that fails without end ends alone, in time */
START_TEST(an_entry_whose_row_is_never_free_spares_its_neighbours)
{
	start(2, 5000);
	until(is_up);
	add_plain(100);
	add_to(&act, "contended", 2000);
	add_plain(27);
	until(all_done);
	check_all();
	for (unsigned i = 0; i < n_entries; i++) {
		ck_assert_int_eq(entries[i].err, i == 100 ? ERR_UNAVAILABLE : 0);
		ck_assert_int_le(entries[i].done_ms, entries[100].done_ms - (i == 100 ? 0 : 500));
	}
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 127);
	stop();
}
END_TEST

START_TEST(errors_do_not_pile_up_prepared_statements)
{
	start(1, 5000);
	for (int i = 0; i < 20; i++) {
		add("bad");
		until(all_done);
	}
	add("prepared");
	until(all_done);
	ck_assert_int_eq(entries[20].err, 0);
	ck_assert_int_le(cluster_number("select last_value from t.hit"), 2);
	stop();
}
END_TEST

/* what a transaction pooler does: the next call finds a server connection without our statements */
START_TEST(statements_that_are_gone_are_sent_whole_from_then_on)
{
	start(1, 5000);
	add("forget");
	until(all_done);
	add_plain(3);
	until(all_done);
	add_plain(3);
	until(all_done);
	check_all();
	for (unsigned i = 0; i < n_entries; i++)
		ck_assert(entries[i].err == 0 && !entries[i].resent);
	stop();
}
END_TEST

/* case 105: also where the statement was prepared before */
START_TEST(a_function_made_anew_is_called_by_statements_prepared_before)
{
	start(1, 5000);
	add_plain(3);
	until(all_done);
	cluster_sql("alter table t.entry add column more integer");
	add_plain(3);
	until(all_done);
	check_all();
	stop();
}
END_TEST

/* case 104 */
START_TEST(a_read_only_connection_is_dropped_and_the_call_goes_elsewhere)
{
	start(1, 5000);
	until(is_up);
	add_plain(3);
	add("readonly");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[3].err, 0);
	stop();
}
END_TEST

START_TEST(a_warning_on_a_write_is_no_answer)
{
	start(2, 5000);
	add_plain(2);
	add("warn");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[2].err, 0);
	ck_assert(entries[2].resent && entries[2].db_resent);
	stop();
}
END_TEST

START_TEST(a_warning_on_a_read_is_nothing)
{
	start(2, 5000);
	add_to(&look, "warn", PATIENCE_MS);
	until(all_done);
	ck_assert_int_eq(entries[0].err, 0);
	ck_assert(!entries[0].resent);
	stop();
}
END_TEST

START_TEST(an_item_answered_retry_goes_alone_until_it_is_answered)
{
	start(2, 5000);
	add_plain(4);
	add("retry");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[4].err, 0);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where word = 'retry'"), 4);
	ck_assert_int_eq(
	    cluster_number("select count(*) from t.entry where word = 'retry' and n = 1"), 3);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where word <> 'retry'"), 4);
	stop();
}
END_TEST

START_TEST(retry_without_end_is_unavailable_at_the_deadline)
{
	int64_t from_ms;

	start(2, 5000);
	until(is_up);
	from_ms = loop_now_ms();
	add_to(&act, "always", 600);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].err, ERR_UNAVAILABLE);
	ck_assert_int_ge(entries[0].done_ms - from_ms, 600);
	ck_assert_int_le(entries[0].done_ms - from_ms, 1500);
	/* its remaining time shrinks from call to call */
	ck_assert_int_eq(
	    cluster_number(
		"select count(*) from (select within, lag(within) over (order by asked) l"
		" from t.entry) x where within >= l"),
	    0);
	stop();
}
END_TEST

START_TEST(an_entry_that_came_late_is_asked_again_with_a_fresh_clock)
{
	start(2, 5000);
	add("late");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].err, 0);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 2);
	stop();
}
END_TEST

START_TEST(the_clock_told_is_never_ahead_and_close)
{
	char *value;
	double behind_ms;

	start(1, 5000);
	until(is_up);
	add_plain(1);
	until(all_done);
	value = cluster_value("create table t.now as select clock_timestamp() c; select 0");
	free(value);
	value = cluster_value("select extract(epoch from now() - max(asked)) * 1000 from t.entry");
	behind_ms = atof(value);
	free(value);
	ck_assert_msg(behind_ms > 0 && behind_ms < 5000, "%f", behind_ms);
	stop();
}
END_TEST

START_TEST(a_missing_or_double_row_is_that_items_internal_error)
{
	start(2, 5000);
	add_plain(1);
	add("missing");
	add("twice");
	add_plain(1);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[1].err, ERR_INTERNAL);
	ck_assert_int_eq(entries[2].err, ERR_INTERNAL);
	stop();
}
END_TEST

START_TEST(a_single_statement_gives_the_whole_result)
{
	start(2, 5000);
	add_to(&scalar, "it's \\ \"quoted\"", PATIENCE_MS);
	add_to(&scalar, "b", PATIENCE_MS);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].n_rows, 3);
	ck_assert_int_eq(entries[1].n_rows, 3);
	stop();
}
END_TEST

/* It has a connection of its own: also where the config has but one, nobody waits for it. */
START_TEST(a_slow_statement_times_out_alone)
{
	start(1, 5000);
	until(all_free);
	add_to(&slow, "30", PATIENCE_MS);
	add_to(&slow, "0", PATIENCE_MS);
	add_plain(3);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].err, ERR_OVERLOADED);
	ck_assert_int_eq(entries[1].err, 0);
	ck_assert_int_gt(entries[0].done_ms, entries[4].done_ms);
	stop();
}
END_TEST

START_TEST(a_lot_that_keeps_killing_its_backend_spares_its_neighbours)
{
	start(2, 5000);
	add_plain(5);
	add_to(&act, "crash", 3000);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[5].err, ERR_UNAVAILABLE);
	stop();
}
END_TEST

static PGconn *holder;

static bool
somebody_waits(void)
{
	return cluster_number(
		   "select count(*) from pg_locks where locktype = 'advisory' and not granted") > 0;
}

static void
hold_lock(void)
{
	holder = PQconnectdb(cluster_conninfo);
	PQclear(PQexec(holder, "select pg_advisory_lock(1)"));
}

START_TEST(cancel_takes_a_queued_item_out_and_leaves_one_in_flight)
{
	struct entry *in_flight, *queued;

	start(1, 5000);
	until(is_up);
	hold_lock();
	in_flight = add("wait");
	until(somebody_waits);
	queued = add("plain");
	ck_assert(!batch_cancel(&in_flight->item));
	ck_assert(batch_cancel(&queued->item));
	n_entries--;
	PQfinish(holder);
	until(all_done);
	ck_assert_int_eq(in_flight->err, 0);
	ck_assert_int_eq(queued->n_done, 0);
	ck_assert_uint_eq(batch_queued() + batch_in_flight(), 0);
	stop();
}
END_TEST

static int n_waiting;

static bool
all_wait(void)
{
	return cluster_number("select count(*) from pg_locks where locktype = 'advisory' and not "
			      "granted") == n_waiting;
}

static bool
last_done(void)
{
	return entries[n_entries - 1].n_done > 0;
}

/* As many as there are processors are under way, so that a small one more gathers company; none
 * comes, and no answer either. */
START_TEST(calls_that_hang_do_not_keep_a_small_one)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (n_cpus > 8)
		n_cpus = 8;
	start((int)n_cpus + 1, 5000);
	until(is_up);
	hold_lock();
	for (n_waiting = 1; n_waiting <= n_cpus; n_waiting++) {
		add("wait");
		until(all_wait);
	}
	add("plain");
	until(last_done);
	ck_assert_int_eq(entries[n_entries - 1].err, 0);
	ck_assert_int_eq(entries[0].n_done, 0);
	PQfinish(holder);
	until(all_done);
	check_all();
	stop();
}
END_TEST

START_TEST(an_item_in_flight_outlives_its_deadline_and_gets_the_truth)
{
	start(1, 5000);
	until(is_up);
	hold_lock();
	add_to(&act, "wait", 1000);
	until(somebody_waits);
	add_to(&act, "x", 300);
	while (!entries[1].n_done) {
		n_done = 0;
		n_entries = 1;
		until(all_done);
	}
	ck_assert_int_eq(entries[1].err, ERR_UNAVAILABLE);
	ck_assert_int_eq(entries[0].n_done, 0);
	n_done = 0;
	PQfinish(holder);
	until(all_done);
	ck_assert_int_eq(entries[0].err, 0);
	stop();
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("batch");

	tcase_add_test(tc, each_item_gets_its_own_row_and_what_queued_leaves_together);
	tcase_add_test(tc, more_than_batch_max_goes_in_several_calls);
	tcase_add_test(tc, one_bad_item_of_twenty_fails_alone);
	tcase_add_test(tc, a_backend_that_dies_within_a_call_is_replaced_and_all_are_sent_again);
	tcase_add_test(tc, a_big_result_among_twenty_comes_whole);
	tcase_add_test(tc, an_answer_lost_behind_the_commit_is_asked_for_again);
	tcase_add_test(tc, serialization_failures_and_deadlocks_are_tried_again_unseen);
	tcase_add_test(tc, rows_whose_commit_fails_are_not_told);
	tcase_add_test(tc, an_entry_whose_row_is_never_free_spares_its_neighbours);
	tcase_add_test(tc, errors_do_not_pile_up_prepared_statements);
	tcase_add_test(tc, statements_that_are_gone_are_sent_whole_from_then_on);
	tcase_add_test(tc, a_function_made_anew_is_called_by_statements_prepared_before);
	tcase_add_test(tc, a_read_only_connection_is_dropped_and_the_call_goes_elsewhere);
	tcase_add_test(tc, a_warning_on_a_write_is_no_answer);
	tcase_add_test(tc, a_warning_on_a_read_is_nothing);
	tcase_add_test(tc, an_item_answered_retry_goes_alone_until_it_is_answered);
	tcase_add_test(tc, retry_without_end_is_unavailable_at_the_deadline);
	tcase_add_test(tc, an_entry_that_came_late_is_asked_again_with_a_fresh_clock);
	tcase_add_test(tc, the_clock_told_is_never_ahead_and_close);
	tcase_add_test(tc, a_missing_or_double_row_is_that_items_internal_error);
	tcase_add_test(tc, a_single_statement_gives_the_whole_result);
	tcase_add_test(tc, a_slow_statement_times_out_alone);
	tcase_add_test(tc, a_lot_that_keeps_killing_its_backend_spares_its_neighbours);
	tcase_add_test(tc, cancel_takes_a_queued_item_out_and_leaves_one_in_flight);
	tcase_add_test(tc, calls_that_hang_do_not_keep_a_small_one);
	tcase_add_test(tc, an_item_in_flight_outlives_its_deadline_and_gets_the_truth);
	return ledger_run("batch", tc);
}
