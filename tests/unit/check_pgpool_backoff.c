/*
 * When the pool connects again. Its way to the cluster is a symbolic link, which a test turns to a
 * listener of its own that counts who comes and closes at once. That something happens at once is
 * told by order: before a timer shorter than the shortest back-off. That it does not happen earlier
 * than a back-off is told by the clock, which no busy machine can falsify.
 */
#include "ledger.h"
#include "pgconn.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKOFF_MIN_MS 25 /* half of the first */
#define AT_ONCE_MS 20
#define TRIES_MAX 16

static char door_dir[80], door_path[100], fake_path[100], real_path[100], door_conninfo[160];
static int fake_fd;
static struct event *fake_event;
static struct loop_timer *mark;
static bool mark_fired, first_at_once;
static int64_t tries_ms[TRIES_MAX], down_ms;
static unsigned n_tries, n_wanted;

static void
mark_cb(void *arg)
{
	(void)arg;
	mark_fired = true;
}

/* Whoever comes is counted and refused; the first one is asked whether the mark came before. */
static void
fake_cb(evutil_socket_t fd, short what, void *arg)
{
	int peer = accept(fd, NULL, NULL);

	(void)what;
	(void)arg;
	if (peer < 0)
		return;
	close(peer);
	if (n_tries == 0)
		first_at_once = !mark_fired;
	if (n_tries < TRIES_MAX)
		tries_ms[n_tries++] = loop_now_ms();
}

static void
changed(void)
{
	if (pgpool_status()->up || down_ms)
		return;
	down_ms = loop_now_ms();
	loop_timer_set(mark, AT_ONCE_MS);
}

static void
door_to(const char *path)
{
	char next[140];

	snprintf(next, sizeof next, "%s.next", door_path);
	ck_assert_int_eq(symlink(path, next), 0);
	ck_assert_int_eq(rename(next, door_path), 0);
}

static void
listen_fake(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof at.sun_path, "%s", fake_path);
	unlink(fake_path);
	fake_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fake_fd, (struct sockaddr *)&at, sizeof at), 0);
	ck_assert_int_eq(listen(fake_fd, 16), 0);
}

static void
begin(int connections, const char *way)
{
	snprintf(door_dir, sizeof door_dir, "%s/door", cluster_dir);
	snprintf(door_path, sizeof door_path, "%s/.s.PGSQL.5432", door_dir);
	snprintf(fake_path, sizeof fake_path, "%s/fake", door_dir);
	snprintf(real_path, sizeof real_path, "%s/.s.PGSQL.5432", cluster_dir);
	snprintf(door_conninfo, sizeof door_conninfo, "host=%s user=postgres dbname=postgres",
	    door_dir);
	ck_assert(mkdir(door_dir, 0755) == 0 || errno == EEXIST);
	unlink(door_path);
	listen_fake();
	door_to(way);
	config.database = door_conninfo;
	config.owner_database = "";
	config.database_connections = connections;
	config.auto_migrate = CONFIG_MIGRATE_OFF;
	config.request_timeout_ms = 5000;
	loop_init();
	loop_add_pass_end(look_hook);
	tick = loop_timer_new(tick_cb, NULL);
	guard = loop_timer_new(guard_cb, NULL);
	mark = loop_timer_new(mark_cb, NULL);
	fake_event = event_new(loop_base, fake_fd, EV_READ | EV_PERSIST, fake_cb, NULL);
	event_add(fake_event, NULL);
	loop_timer_set(tick, 10);
	n_tries = 0;
	mark_fired = first_at_once = false;
	down_ms = 1; /* no going down is looked for */
	pgpool_start(&config, changed);
}

static void
end(void)
{
	pgpool_stop();
	event_free(fake_event);
	close(fake_fd);
	loop_timer_free(mark);
	loop_timer_free(tick);
	loop_timer_free(guard);
	loop_free();
}

static bool
came(void)
{
	return n_tries >= n_wanted;
}

static void
until_tries(unsigned n)
{
	n_wanted = n;
	until(came);
}

/* From now on whoever connects is refused, and the next going down is looked for. */
static void
refuse(void)
{
	door_to(fake_path);
	n_tries = 0;
	mark_fired = first_at_once = false;
	down_ms = 0;
}

static void
terminate(void)
{
	cluster_sql("select pg_terminate_backend(pid, 10000) from pg_stat_activity"
		    " where application_name = 'effectd'");
}

static int64_t steady_ms;

static bool
steady(void)
{
	return loop_now_ms() >= steady_ms;
}

static void
until_steady(void)
{
	steady_ms = loop_now_ms() + 1050; /* longer than what counts as a failure in a row */
	until(steady);
}

/* The n-th gap after the first try is the n-th back-off, at least; they double up to a second. */
static void
check_gaps(unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		int64_t least_ms = BACKOFF_MIN_MS << (i - 1);

		if (least_ms > 500)
			least_ms = 500;
		/* the stamps are of the accepts: a millisecond for each */
		ck_assert_int_ge(tries_ms[i] - tries_ms[i - 1] + 2, least_ms);
	}
}

START_TEST(a_ledger_that_is_away_from_the_start_is_tried_at_once_by_one_then_ever_more_rarely)
{
	begin(4, "/nonexistent/s");
	refuse();
	loop_timer_set(mark, AT_ONCE_MS);
	until_tries(7);
	check_gaps(7);
	door_to(real_path);
	until(all_free);
	end();
}
END_TEST

START_TEST(a_connection_that_was_steady_is_replaced_at_once)
{
	begin(1, real_path);
	for (unsigned round = 0; round < 2; round++) {
		until(is_up);
		until_steady();
		refuse();
		terminate();
		until_tries(5);
		ck_assert(first_at_once);
		check_gaps(5);
		door_to(real_path);
	}
	until(is_up);
	end();
}
END_TEST

/* Not only one that is idle or at work: also while it is asked for the clock, or checked again. */
START_TEST(so_is_one_that_is_lost_in_its_refresh_or_its_check)
{
	begin(1, real_path);
	for (unsigned round = 0; round < 2; round++) {
		until(is_up);
		until_steady();
		refuse();
		if (round == 0)
			pgpool_clock_jumped();
		else
			pgpool_recheck(pgpool_free_connection());
		terminate();
		ck_assert_ptr_null(pgpool_free_connection());
		until_tries(1);
		ck_assert(first_at_once);
		door_to(real_path);
	}
	until(is_up);
	end();
}
END_TEST

START_TEST(one_that_was_lost_soon_waits_for_50_ms_with_jitter)
{
	int64_t shortest_ms = INT64_MAX, longest_ms = 0;

	begin(1, real_path);
	for (unsigned round = 0; round < 12; round++) {
		int64_t gap_ms;

		until(is_up);
		refuse();
		terminate();
		until_tries(1);
		gap_ms = tries_ms[0] - down_ms;
		ck_assert(!first_at_once);
		ck_assert_int_ge(gap_ms + 1, BACKOFF_MIN_MS);
		if (gap_ms < shortest_ms)
			shortest_ms = gap_ms;
		if (gap_ms > longest_ms)
			longest_ms = gap_ms;
		door_to(real_path);
	}
	/* the shortest of twelve was not held up by anything else */
	ck_assert_int_le(shortest_ms, 50);
	ck_assert_int_lt(shortest_ms, longest_ms);
	until(is_up);
	end();
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("pgpool_backoff");

	tcase_add_test(tc,
	    a_ledger_that_is_away_from_the_start_is_tried_at_once_by_one_then_ever_more_rarely);
	tcase_add_test(tc, a_connection_that_was_steady_is_replaced_at_once);
	tcase_add_test(tc, so_is_one_that_is_lost_in_its_refresh_or_its_check);
	tcase_add_test(tc, one_that_was_lost_soon_waits_for_50_ms_with_jitter);
	return ledger_run("pgpool_backoff", tc);
}
