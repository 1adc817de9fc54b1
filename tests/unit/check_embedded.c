/*
 * The embedded database, for real: made, lost, adopted, stopped; and the places where it must not
 * be made.
 */
#include "embedded.h"
#include "ledger.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

static char state_dir[64];
static bool stopped;

static void
stopped_hook(void)
{
	stopped = true;
}

static bool
is_stopped(void)
{
	return stopped;
}

static void
make_state_dir(mode_t mode)
{
	strcpy(state_dir, "/tmp/effectd-ck-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state_dir));
	ck_assert_int_eq(chmod(state_dir, mode), 0);
}

static void
remove_state_dir(void)
{
	char line[128];

	snprintf(line, sizeof line, "rm -rf %s", state_dir);
	ck_assert_int_eq(system(line), 0);
}

static void
begin(void)
{
	memset(&config, 0, sizeof config);
	config.state_dir = state_dir;
	config.database = "embedded";
	config.database_user = "postgres";
	config.owner_database = "";
	config.database_connections = 2;
	config.request_timeout_ms = 5000;
	loop_init();
	batch_init(16);
	loop_add_pass_end(batch_flush);
	loop_add_pass_end(look_hook);
	tick = loop_timer_new(tick_cb, NULL);
	guard = loop_timer_new(guard_cb, NULL);
	loop_timer_set(tick, 10);
}

static void
start_embedded(bool has_instance)
{
	char *error = NULL;

	begin();
	ck_assert_msg(embedded_start(&config, has_instance, &error) == 0, "%s", error);
	pgpool_start(&config, NULL);
}

static long
postmaster(void)
{
	char path[128], line[32] = "0";
	FILE *f;

	snprintf(path, sizeof path, "%s/pg/data/postmaster.pid", state_dir);
	f = fopen(path, "r");
	if (f) {
		ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
		fclose(f);
	}
	return atol(line);
}

static void
stop_embedded(void)
{
	pgpool_stop();
	stopped = false;
	embedded_stop(stopped_hook);
	until(is_stopped);
	ck_assert_int_eq(postmaster(), 0);
	batch_free();
	loop_timer_free(tick);
	loop_timer_free(guard);
	loop_free();
}

static void
point_cluster_at_it(void)
{
	snprintf(cluster_conninfo, sizeof cluster_conninfo, "%s", embedded_conninfo());
}

START_TEST(it_is_made_serves_survives_its_servers_death_and_stops)
{
	long first;

	make_state_dir(0711);
	start_embedded(false);
	ck_assert_str_ne(embedded_error(), "");
	until(is_up);
	ck_assert_str_eq(embedded_error(), "");
	point_cluster_at_it();
	ck_assert_int_eq(pgpool_status()->schema_version, schema_version());
	ck_assert_int_eq(cluster_number("select count(*) from pg_database where datname = 'effectd'"
					" and pg_encoding_to_char(encoding) = 'UTF8'"),
	    1);
	ck_assert_int_eq(
	    cluster_number("select count(*) from pg_settings where (name, setting) in"
			   " (('data_checksums', 'on'), ('fsync', 'on'), ('listen_addresses', ''),"
			   " ('synchronous_commit', 'on'))"),
	    4);
	first = postmaster();
	ck_assert_int_eq(kill((pid_t)first, SIGKILL), 0);
	until(is_down);
	until(is_up);
	ck_assert_int_ne(postmaster(), first);
	stop_embedded();
	/* and once more where it was */
	start_embedded(true);
	until(is_up);
	stop_embedded();
	remove_state_dir();
}
END_TEST

START_TEST(one_that_a_killed_daemon_left_running_is_adopted)
{
	long first;

	make_state_dir(0711);
	start_embedded(false);
	until(is_up);
	first = postmaster();
	/* what a killed daemon does: nothing */
	pgpool_stop();
	embedded_stop(NULL);
	batch_free();
	loop_timer_free(tick);
	loop_timer_free(guard);
	loop_free();

	start_embedded(true);
	until(is_up);
	ck_assert_int_eq(postmaster(), first);
	stop_embedded();
	remove_state_dir();
}
END_TEST

static void
refused(bool has_instance, const char *dir, const char *word)
{
	char *error = NULL;

	begin();
	config.state_dir = (char *)dir;
	ck_assert_int_eq(embedded_start(&config, has_instance, &error), ERR_INVALID_PARAMS);
	ck_assert_msg(strstr(error, word), "%s", error);
	free(error);
	batch_free();
	loop_timer_free(tick);
	loop_timer_free(guard);
	loop_free();
}

START_TEST(no_empty_ledger_is_put_where_one_was_lost)
{
	make_state_dir(0711);
	refused(true, state_dir, "is gone");
	ck_assert_int_eq(rmdir(state_dir), 0); /* nothing was made */
}
END_TEST

START_TEST(a_folder_that_the_databases_user_cannot_enter_is_named)
{
	if (geteuid())
		return; /* there is but one user then */
	make_state_dir(0700);
	refused(false, state_dir, state_dir);
	remove_state_dir();
}
END_TEST

START_TEST(a_path_too_long_for_a_socket_is_refused)
{
	char dir[120];

	memset(dir, 'x', sizeof dir);
	dir[0] = '/';
	dir[sizeof dir - 1] = '\0';
	refused(false, dir, "too long");
}
END_TEST

START_TEST(a_making_that_was_cut_short_is_begun_again)
{
	char line[512];

	make_state_dir(0711);
	snprintf(line, sizeof line,
	    "mkdir -p %s/pg/data.new/base && touch %s/pg/data.new/PG_VERSION && chmod 711 %s/pg && "
	    "{ [ $(id -u) -ne 0 ] || chown -R postgres %s/pg; }",
	    state_dir, state_dir, state_dir, state_dir);
	ck_assert_int_eq(system(line), 0);
	start_embedded(true);
	until(is_up);
	stop_embedded();
	remove_state_dir();
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("embedded");

	tcase_add_test(tc, it_is_made_serves_survives_its_servers_death_and_stops);
	tcase_add_test(tc, one_that_a_killed_daemon_left_running_is_adopted);
	tcase_add_test(tc, no_empty_ledger_is_put_where_one_was_lost);
	tcase_add_test(tc, a_folder_that_the_databases_user_cannot_enter_is_named);
	tcase_add_test(tc, a_path_too_long_for_a_socket_is_refused);
	tcase_add_test(tc, a_making_that_was_cut_short_is_begun_again);
	return tap_run("embedded", tc);
}
