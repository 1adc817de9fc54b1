/*
 * libeffect as its hosts meet it, against a daemon that is played (effect_peer.h): both faces,
 * crowds, forks, callbacks that do what they like, and every call into the system and for memory
 * failing at its n-th, for every n until none fails. The count that matters is the peer's: a run
 * that it told is the caller's, or it is given back.
 */
#include "effect.h"
#include "effect_peer.h"
#include "tap.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stddef.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>

/* ---- what fails, and when: the linker puts these before the real ones (--wrap) ---- */

/* A definition of what stands before the real one. */
#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

enum failing {
	FAILS_NOTHING,
	FAILS_MEMORY,
	FAILS_SOCKET,
	FAILS_CONNECT,
	FAILS_SEND,
	FAILS_RECV,
	FAILS_POLL,
	FAILS_RANDOM
};

static _Thread_local enum failing failing;
static _Thread_local int fails_at, fails_with, n_failed;

static bool
fails(enum failing kind)
{
	if (failing != kind || --fails_at != 0)
		return false;
	n_failed++;
	errno = fails_with;
	return true;
}

WRAPPED(void *, malloc, size_t size)
{
	return fails(FAILS_MEMORY) ? NULL : __real_malloc(size);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	return fails(FAILS_MEMORY) ? NULL : __real_calloc(n, size);
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fails(FAILS_MEMORY) ? NULL : __real_realloc(old, size);
}

WRAPPED(int, socket, int domain, int type, int protocol)
{
	return fails(FAILS_SOCKET) ? -1 : __real_socket(domain, type, protocol);
}

WRAPPED(int, connect, int fd, const struct sockaddr *address, socklen_t len)
{
	return fails(FAILS_CONNECT) ? -1 : __real_connect(fd, address, len);
}

WRAPPED(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
	return fails(FAILS_SEND) ? -1 : __real_sendmsg(fd, message, flags);
}

WRAPPED(ssize_t, recv, int fd, void *to, size_t size, int flags)
{
	return fails(FAILS_RECV) ? -1 : __real_recv(fd, to, size, flags);
}

WRAPPED(int, poll, struct pollfd *fds, nfds_t n, int timeout_ms)
{
	return fails(FAILS_POLL) ? -1 : __real_poll(fds, n, timeout_ms);
}

WRAPPED(ssize_t, getrandom, void *to, size_t size, unsigned flags)
{
	return fails(FAILS_RANDOM) ? -1 : __real_getrandom(to, size, flags);
}

static _Thread_local bool no_clock;

WRAPPED(int, clock_gettime, clockid_t which, struct timespec *ret)
{
	return no_clock ? -1 : __real_clock_gettime(which, ret);
}

/* ---- what the tests share ---- */

static struct effect_ledger *ledger;

static struct effect_ledger *
new_ledger(void)
{
	struct effect_options options = EFFECT_OPTIONS(.socket = peer_path);

	return effect_new(&options);
}

static void
setup(void)
{
	peer_start();
	ledger = new_ledger();
	ck_assert_ptr_nonnull(ledger);
}

static void
teardown(void)
{
	effect_free(ledger);
	peer_stop();
}

static enum effect_kind
begin(const char *tool, struct effect_answer **ret_answer)
{
	struct effect_params params = EFFECT_PARAMS(.tool = tool, .key = "k");

	return effect_begin(ledger, &params, ret_answer);
}

static struct effect_answer *
grant(int64_t lease_ms)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run", .lease_ms = lease_ms);
	struct effect_answer *answer;

	ck_assert_int_eq(effect_begin(ledger, &params, &answer), EFFECT_RUN);
	return answer;
}

static enum effect_kind
complete(struct effect_answer *answer, const char *result)
{
	struct effect_report report = EFFECT_REPORT(.result = result, .result_len = strlen(result),
	    .complete_timeout_ms = 20000);

	return effect_complete(ledger, answer, &report, NULL);
}

/* One turn of a host's loop. */
static void
turn(void)
{
	struct pollfd pfd = {.fd = effect_fd(ledger), .events = (short)effect_events(ledger)};
	int timeout_ms = effect_timeout_ms(ledger);

	pfd.revents = 0;
	poll(&pfd, 1, timeout_ms < 0 || timeout_ms > 1000 ? 1000 : timeout_ms);
	effect_dispatch(ledger, pfd.revents);
}

#define TURN_UNTIL(fact)                                        \
	for (int turns_ = 0; !(fact); turns_++) {               \
		ck_assert_msg(turns_ < 100000, "never " #fact); \
		turn();                                         \
	}

/* ---- the blocking face ---- */

START_TEST(a_call_is_guarded_from_begin_to_replay)
{
	struct effect_answer *answer, *said;
	struct effect_report report = EFFECT_REPORT(.result = "{}", .result_len = 2);
	size_t len;

	ck_assert_int_eq(begin("run", &answer), EFFECT_RUN);
	ck_assert_int_eq(effect_answer_kind(answer), EFFECT_RUN);
	ck_assert_str_eq(effect_answer_text(answer, "provider_key"), PEER_EFFECT);
	ck_assert_int_eq(effect_answer_int(answer, "attempt", 0), 1);
	ck_assert_ptr_null(effect_answer_text(answer, "attempt"));
	ck_assert_ptr_null(effect_answer_text(answer, "nothing"));
	ck_assert_int_eq(effect_start(ledger, answer), EFFECT_RUN);
	ck_assert_int_gt(effect_fresh_ms(answer), 50000);
	ck_assert_int_eq(effect_extend(ledger, answer, 5000, NULL), EFFECT_OK);
	ck_assert_int_eq(effect_complete(ledger, answer, &report, &said), EFFECT_OK);
	ck_assert_str_eq(effect_answer_text(said, "state"), "done");
	ck_assert(!effect_answer_true(said, "already"));
	effect_answer_free(said);
	effect_answer_free(answer);
	ck_assert_int_eq(begin("replay", &answer), EFFECT_REPLAY);
	ck_assert_str_eq(effect_error(ledger), "");
	ck_assert_mem_eq(effect_answer_raw(answer, "result", &len), "{ \"x\" : 1.0 }", len);
	ck_assert_uint_eq(len, 13);
	effect_answer_free(answer);
	ck_assert_int_eq(begin("busy", &answer), EFFECT_BUSY);
	ck_assert_str_eq(effect_error(ledger), "begin: somebody else is making this call: wait");
	effect_answer_free(answer);
	ck_assert_int_eq(effect_call(ledger, "ping", NULL, 0, &answer), EFFECT_OK);
	ck_assert_mem_eq(effect_answer_raw(answer, NULL, &len), "{\"pong\":[1,2]}", 14);
	effect_answer_free(answer);
	ck_assert_int_eq(peer.connects, 1);
}
END_TEST

static enum effect_kind
guarded_fn(
    struct effect_ledger *of, struct effect_answer *answer, struct effect_report *report, void *arg)
{
	ck_assert_int_eq(effect_keep_now(of, answer), EFFECT_OK);
	report->result = "\"done\"";
	report->result_len = 6;
	report->reason = "because";
	return *(enum effect_kind *)arg;
}

START_TEST(a_guard_reports_what_its_function_came_to)
{
	static const enum effect_kind came_to[] = {EFFECT_OK, EFFECT_FAILED, EFFECT_TOOL_ERROR,
	    EFFECT_NOT_SENT, EFFECT_RAISED, (enum effect_kind)1000};
	struct effect_params params = EFFECT_PARAMS(.tool = "run");
	struct effect_answer *answer;
	bool ran;

	for (size_t i = 0; i < sizeof came_to / sizeof *came_to; i++) {
		enum effect_kind kind = came_to[i];

		ck_assert_int_eq(
		    effect_guard(ledger, &params, guarded_fn, &kind, &ran, &answer), kind);
		ck_assert(ran);
		effect_answer_free(answer);
	}
	ck_assert_int_eq(peer.completes, 3);
	ck_assert_int_eq(peer.releases, 1);
	ck_assert_int_eq(peer.unknowns, 2);
	params.tool = "busy";
	ck_assert_int_eq(effect_guard(ledger, &params, guarded_fn, NULL, &ran, NULL), EFFECT_BUSY);
	ck_assert(!ran);
}
END_TEST

START_TEST(a_daemon_that_goes_away_is_asked_again)
{
	struct effect_answer *answer;

	ck_assert_int_eq(begin("cut", &answer), EFFECT_RUN);
	ck_assert_int_eq(peer.begins, 2);
	peer_cut_all();
	ck_assert_int_eq(complete(answer, "1"), EFFECT_OK);
	effect_answer_free(answer);
	ck_assert_int_eq(begin("away", &answer), EFFECT_RUN);
	ck_assert_int_eq(peer.connects, 3);
	effect_answer_free(answer);
}
END_TEST

START_TEST(an_answer_that_comes_twice_is_one_answer)
{
	struct effect_answer *answer;

	ck_assert_int_eq(begin("twice", &answer), EFFECT_RUN);
	ck_assert_int_eq(complete(answer, "1"), EFFECT_OK);
	effect_answer_free(answer);
	ck_assert_int_eq(begin("twice", &answer), EFFECT_RUN);
	ck_assert_int_eq(effect_release(ledger, answer, NULL, NULL), EFFECT_OK);
	effect_answer_free(answer);
	ck_assert_int_eq(peer.releases, 1);
}
END_TEST

START_TEST(what_is_too_old_is_given_back_and_no_grant_any_more)
{
	struct effect_answer *answer = grant(40);

	while (effect_fresh_ms(answer) > 0)
		poll(NULL, 0, 1);
	ck_assert_int_eq(effect_start(ledger, answer), EFFECT_LATE);
	ck_assert_int_eq(effect_start(ledger, answer), EFFECT_LATE);
	ck_assert_int_eq(effect_flush(ledger, 10000), EFFECT_OK);
	ck_assert_int_eq(peer.releases, 1);
	ck_assert_int_eq(complete(answer, "1"), EFFECT_MISUSE);
	effect_answer_free(answer);
	ck_assert_int_eq(peer.completes, 0);
}
END_TEST

START_TEST(a_run_that_is_late_when_it_comes_is_told_when_it_is_given_back)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run", .members = "{\"lease_ms\":0}");
	struct effect_answer *answer;

	ck_assert_int_eq(effect_begin(ledger, &params, &answer), EFFECT_LATE);
	ck_assert_int_eq(peer.releases, 1);
	effect_answer_free(answer);
}
END_TEST

START_TEST(a_line_that_this_daemon_finds_too_long_goes_by_its_hash)
{
	struct effect_answer *answer = grant(0);
	size_t len = 500000;
	char *result = malloc(len + 1);

	memset(result, 'x', len);
	result[0] = result[len - 1] = '"';
	result[len] = '\0';
	peer.max_line = 100000;
	ck_assert_int_eq(complete(answer, result), EFFECT_OK);
	ck_assert_int_eq(peer.omitted, 1);
	ck_assert_int_eq(complete(answer, result), EFFECT_OK);
	ck_assert_int_eq(peer.completes, 2); /* by now it is known what is too long */
	free(result);
	effect_answer_free(answer);
}
END_TEST

START_TEST(structs_of_older_callers_are_enough)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run", .key = "k");
	struct effect_report report = EFFECT_REPORT_INIT;
	struct effect_answer *answer;

	params.size = offsetof(struct effect_params, args);
	params.args = "no JSON, and not looked at";
	ck_assert_int_eq(effect_begin(ledger, &params, &answer), EFFECT_RUN);
	report.size = offsetof(struct effect_report, omitted_bytes);
	ck_assert_int_eq(effect_complete(ledger, answer, &report, NULL), EFFECT_OK);
	effect_answer_free(answer);
	params.size = 0;
	ck_assert_int_eq(effect_begin(ledger, &params, &answer), EFFECT_MISUSE);
	ck_assert_ptr_null(answer);
}
END_TEST

/* ---- the face for event loops ---- */

struct crowd {
	int n_granted, n_done, n_other;
};

static void
crowd_done_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct crowd *crowd = arg;

	crowd->n_done += kind == EFFECT_OK;
	crowd->n_other += kind != EFFECT_OK;
	effect_answer_free(answer);
}

static void
crowd_begun_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct effect_report report = EFFECT_REPORT(.result = "1", .result_len = 1);
	struct crowd *crowd = arg;

	crowd->n_other += kind != EFFECT_RUN;
	crowd->n_granted += kind == EFFECT_RUN;
	ck_assert_int_eq(
	    effect_complete_async(ledger, answer, &report, crowd_done_cb, crowd, NULL), EFFECT_OK);
	effect_answer_free(answer);
}

static void
begin_crowd(const char *tool, int n, struct crowd *crowd)
{
	struct effect_params params =
	    EFFECT_PARAMS(.tool = tool, .key = "k", .begin_timeout_ms = 60000);

	for (int i = 0; i < n; i++)
		ck_assert_int_eq(
		    effect_begin_async(ledger, &params, crowd_begun_cb, crowd, NULL), EFFECT_OK);
}

START_TEST(thousands_of_calls_are_in_flight_and_each_ends_once)
{
	struct crowd crowd = {0};

	begin_crowd("run", 5000, &crowd);
	ck_assert_uint_eq(effect_pending(ledger), 5000);
	TURN_UNTIL(effect_pending(ledger) == 0);
	ck_assert_int_eq(crowd.n_granted, 5000);
	ck_assert_int_eq(crowd.n_done, 5000);
	ck_assert_int_eq(crowd.n_other, 0);
	ck_assert_int_eq(peer.begins, 5000);
	ck_assert_int_eq(effect_timeout_ms(ledger), -1);
}
END_TEST

START_TEST(a_crowd_that_loses_its_connection_is_asked_again_and_ends)
{
	struct crowd crowd = {0};

	begin_crowd("run", 2000, &crowd);
	for (int i = 0; i < 5; i++) {
		int done = crowd.n_done;

		TURN_UNTIL(crowd.n_done > done + 200);
		peer_cut_all();
	}
	TURN_UNTIL(effect_pending(ledger) == 0);
	ck_assert_int_eq(crowd.n_done, 2000);
	ck_assert_int_eq(crowd.n_other, 0);
	ck_assert_int_ge(peer.connects, 5);
}
END_TEST

START_TEST(begins_that_wait_hold_up_no_result)
{
	struct effect_answer *answer = grant(0);
	struct crowd crowd = {0};

	begin_crowd("hold", 1000, &crowd);
	TURN_UNTIL(peer.begins >= 1 + 192); /* three quarters of what the daemon takes at a time */
	ck_assert_int_eq(complete(answer, "1"), EFFECT_OK);
	ck_assert_int_eq(crowd.n_granted, 0);
	while (crowd.n_done < 1000) {
		peer_let_go();
		turn();
	}
	effect_answer_free(answer);
}
END_TEST

static void
never_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	(void)answer;
	(void)arg;
	ck_abort_msg("a cancelled call was told %s", effect_kind_name(kind));
}

START_TEST(a_run_that_nobody_waits_for_is_given_back)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "hold");
	uint64_t sent, queued;

	ck_assert_int_eq(effect_begin_async(ledger, &params, never_cb, NULL, &sent), EFFECT_OK);
	TURN_UNTIL(peer.begins == 1);
	ck_assert_int_eq(effect_begin_async(ledger, &params, never_cb, NULL, &queued), EFFECT_OK);
	ck_assert(effect_cancel(ledger, queued)); /* nobody has heard of it */
	ck_assert(effect_cancel(ledger, sent));
	ck_assert(!effect_cancel(ledger, sent));
	ck_assert(!effect_cancel(ledger, 4711));
	peer_let_go();
	TURN_UNTIL(effect_pending(ledger) == 0);
	ck_assert_int_eq(peer.begins, 1);
	ck_assert_int_eq(peer.releases, 1);
}
END_TEST

START_TEST(a_run_that_comes_after_its_time_is_given_back)
{
	struct effect_params params =
	    EFFECT_PARAMS(.tool = "hold", .wait_ms = EFFECT_NO_WAIT, .begin_timeout_ms = 30);
	struct effect_answer *answer;

	ck_assert_int_eq(effect_begin(ledger, &params, &answer), EFFECT_UNAVAILABLE);
	ck_assert_ptr_null(answer);
	peer_let_go();
	TURN_UNTIL(peer.releases == 1);
}
END_TEST

static void
keep_lost_cb(struct effect_answer *answer, void *arg)
{
	ck_assert_int_eq(effect_lease_left_ms(answer), 0);
	++*(int *)arg;
}

START_TEST(a_lease_is_kept_until_the_report_and_its_loss_is_told_once)
{
	struct effect_answer *answer = grant(300);
	int n_lost = 0;

	ck_assert_int_eq(effect_keep(ledger, answer, keep_lost_cb, &n_lost), EFFECT_OK);
	ck_assert_int_le(effect_keep_due_ms(answer), 100);
	TURN_UNTIL(peer.extends == 5);
	ck_assert_int_eq(n_lost, 0);
	ck_assert_int_gt(effect_lease_left_ms(answer), 0);
	peer.no_extends = true;
	TURN_UNTIL(n_lost > 0);
	ck_assert_int_eq(effect_keep_due_ms(answer), -1);
	ck_assert_int_eq(effect_keep(ledger, answer, keep_lost_cb, &n_lost), EFFECT_LOST);
	ck_assert_int_eq(complete(answer, "1"), EFFECT_OK); /* reported all the same */
	ck_assert_int_eq(n_lost, 1);
	effect_answer_free(answer);
	ck_assert_int_eq(effect_timeout_ms(ledger), -1);
}
END_TEST

static void
freeing_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run");
	struct effect_answer *none = (struct effect_answer *)&params;

	++*(int *)arg;
	effect_answer_free(answer);
	if (kind == EFFECT_CANCELLED)
		return;
	/* a callback may do everything but wait */
	ck_assert_int_eq(effect_begin(ledger, &params, &none), EFFECT_MISUSE);
	ck_assert_ptr_null(none);
	effect_dispatch(ledger, 0);
	effect_free(ledger);
	ck_assert_int_eq(effect_begin_async(ledger, &params, never_cb, NULL, NULL), EFFECT_MISUSE);
}

START_TEST(a_ledger_may_end_in_a_callback_of_its_own)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run");
	struct effect_answer *answer = grant(0);
	int n_told = 0;

	ck_assert_int_eq(effect_keep(ledger, answer, NULL, NULL), EFFECT_OK);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(
		    effect_begin_async(ledger, &params, freeing_cb, &n_told, NULL), EFFECT_OK);
	while (n_told == 0)
		turn();
	ck_assert_int_eq(n_told, 5); /* one is granted, four are cancelled */
	ck_assert_str_eq(effect_answer_text(answer, "decision"), "run");
	effect_answer_free(answer); /* a grant outlives its ledger */
	ledger = new_ledger();
}
END_TEST

START_TEST(a_ledger_may_end_in_a_callback_while_another_call_blocks)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run");
	struct effect_answer *answer;
	int n_told = 0;

	ck_assert_int_eq(effect_begin_async(ledger, &params, freeing_cb, &n_told, NULL), EFFECT_OK);
	params.tool = "hold";
	ck_assert_int_eq(effect_begin(ledger, &params, &answer), EFFECT_CANCELLED);
	ck_assert_ptr_null(answer);
	ck_assert_int_eq(n_told, 1);
	ledger = new_ledger();
}
END_TEST

/* ---- a host with a loop of its own: as libeffect(3) shows it ---- */

struct host {
	struct event_base *base;
	struct event *event; /* one-shot: it is not pending while the descriptor changes */
	int n_done;
};

static void host_event_cb(evutil_socket_t fd, short what, void *arg);

static void
host_watch(struct host *host)
{
	int events = effect_events(ledger), timeout_ms = effect_timeout_ms(ledger);
	struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	short what = 0;

	if (events & POLLIN)
		what |= EV_READ;
	if (events & POLLOUT)
		what |= EV_WRITE;
	event_del(host->event);
	event_assign(host->event, host->base, effect_fd(ledger), what, host_event_cb, host);
	event_add(host->event, timeout_ms >= 0 ? &timeout : NULL);
}

static void
host_event_cb(evutil_socket_t fd, short what, void *arg)
{
	int revents = 0;

	(void)fd;
	if (what & EV_READ)
		revents |= POLLIN;
	if (what & EV_WRITE)
		revents |= POLLOUT;
	effect_dispatch(ledger, revents);
	host_watch(arg);
}

static void
host_done_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct host *host = arg;

	ck_assert_int_eq(kind, EFFECT_OK);
	effect_answer_free(answer);
	if (++host->n_done == 300)
		event_base_loopbreak(host->base);
	if (host->n_done % 100 == 0)
		peer_cut_all(); /* the descriptor changes under the host's loop */
}

static void
host_begun_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct effect_report report = EFFECT_REPORT_INIT;

	ck_assert_int_eq(kind, EFFECT_RUN);
	ck_assert_int_eq(effect_start(ledger, answer), EFFECT_RUN);
	ck_assert_int_eq(
	    effect_complete_async(ledger, answer, &report, host_done_cb, arg, NULL), EFFECT_OK);
	effect_answer_free(answer);
}

START_TEST(a_host_with_libevent_needs_one_event)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run");
	struct host host = {.base = event_base_new()};

	host.event = event_new(host.base, -1, 0, host_event_cb, &host);
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(
		    effect_begin_async(ledger, &params, host_begun_cb, &host, NULL), EFFECT_OK);
	host_watch(&host);
	event_base_dispatch(host.base);
	ck_assert_int_eq(host.n_done, 300);
	event_free(host.event);
	event_base_free(host.base);
}
END_TEST

/* ---- forks, descriptors, signals ---- */

START_TEST(without_a_clock_nothing_is_fresh)
{
	struct effect_answer *answer = grant(0), *none;
	enum effect_kind started, begun;

	no_clock = true;
	started = effect_start(ledger, answer);
	begun = begin("run", &none);
	no_clock = false;
	ck_assert_int_eq(started, EFFECT_LATE);
	ck_assert_int_eq(begun, EFFECT_ESYSTEM);
	ck_assert_ptr_null(none);
	effect_answer_free(answer);
}
END_TEST

/* The child: what it does must be its own; exits with the line at which it was not. */
static int
in_child(struct effect_answer *parents, int parents_fd)
{
	struct effect_answer *answer;

	if (effect_fd(ledger) != -1)
		return __LINE__ % 256;
	/* its parent may start the call, so that it may not */
	if (effect_start(ledger, parents) != EFFECT_MISUSE || effect_fresh_ms(parents) == 0)
		return __LINE__ % 256;
	if (begin("run", &answer) != EFFECT_RUN)
		return __LINE__ % 256;
	/* it may hold the same number; what it refers to must be another connection */
	if (peer.connects == 1 && effect_fd(ledger) == parents_fd)
		return __LINE__ % 256;
	if (complete(answer, "1") != EFFECT_OK || effect_pending(ledger) != 0)
		return __LINE__ % 256;
	effect_answer_free(answer);
	effect_answer_free(parents);
	effect_free(ledger);
	return 0;
}

START_TEST(a_child_has_a_connection_of_its_own_and_none_of_its_parents_calls)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "hold");
	struct effect_answer *answer = grant(0);
	struct crowd crowd = {0};
	int status;
	pid_t pid;

	ck_assert_int_eq(effect_keep(ledger, answer, NULL, NULL), EFFECT_OK);
	ck_assert_int_eq(
	    effect_begin_async(ledger, &params, crowd_begun_cb, &crowd, NULL), EFFECT_OK);
	TURN_UNTIL(peer.begins == 2);
	pid = fork();
	if (pid == 0)
		_exit(in_child(answer, effect_fd(ledger)));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(peer.connects, 2);
	ck_assert_int_eq(peer.completes, 1);
	peer_let_go(); /* the parent's went on */
	TURN_UNTIL(crowd.n_done == 1);
	ck_assert_int_eq(complete(answer, "1"), EFFECT_OK);
	effect_answer_free(answer);
	ck_assert_int_eq(peer.connects, 2);
}
END_TEST

static void
forking_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	pid_t *pid = arg;

	(void)kind;
	effect_answer_free(answer);
	if (*pid < 0)
		*pid = fork();
}

START_TEST(a_callback_may_fork)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "run");
	pid_t pid = -1;
	int status;

	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(
		    effect_begin_async(ledger, &params, forking_cb, &pid, NULL), EFFECT_OK);
	while (pid < 0)
		turn();
	if (pid == 0) /* the pass that it came out of has ended: the calls are not the child's */
		_exit(effect_pending(ledger) == 0 && effect_fd(ledger) == -1 ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	TURN_UNTIL(effect_pending(ledger) == 0);
	ck_assert_int_eq(peer.connects, 1);
}
END_TEST

START_TEST(descriptors_are_closed_by_exec_and_no_signal_comes)
{
	struct effect_answer *answer = grant(0);

	ck_assert_ptr_eq(signal(SIGPIPE, SIG_DFL), SIG_DFL);
	ck_assert_int_eq(fcntl(effect_fd(ledger), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	for (int i = 0; i < 20; i++) {
		peer_cut_all();
		ck_assert_int_eq(complete(answer, "1"), EFFECT_OK);
	}
	effect_answer_free(answer);
}
END_TEST

START_TEST(nobody_there_is_unavailable_and_the_reason_is_told)
{
	struct effect_options options = EFFECT_OPTIONS(.socket = "/tmp/check_effect.nobody");
	struct effect_params params =
	    EFFECT_PARAMS(.tool = "run", .wait_ms = EFFECT_NO_WAIT, .begin_timeout_ms = 120);
	struct effect_ledger *other = effect_new(&options);
	struct effect_answer *answer;

	ck_assert_int_eq(effect_begin(other, &params, &answer), EFFECT_UNAVAILABLE);
	ck_assert_str_eq(effect_error(other),
	    "begin: the ledger could not be reached in time: cannot connect to "
	    "'/tmp/check_effect.nobody': No such file or directory");
	effect_free(other);
	effect_free(NULL);
	effect_answer_free(NULL);
}
END_TEST

/* ---- the n-th call fails ---- */

static const char *wrong; /* what of a scene was, or NULL: no assertion while memory fails */

/* Is it one of the ends that such a failure may have? */
static void
fair(const char *what, enum effect_kind kind, enum effect_kind good)
{
	if (kind != good && kind != EFFECT_ENOMEM && kind != EFFECT_ESYSTEM && kind != EFFECT_LOST)
		wrong = what;
	if (kind != good && effect_error(ledger)[0] == '\0')
		wrong = "a failure without a reason";
}

/* begin, keep, extend, complete, and what is given back. True: the caller was told run. */
static bool
scene(void)
{
	struct effect_report report = EFFECT_REPORT_INIT;
	static char result[40000];
	struct effect_answer *answer, *said;
	enum effect_kind kind;

	memset(result, ' ', sizeof result);
	result[0] = '1';
	report.result = result;
	report.result_len = sizeof result;
	ledger = new_ledger();
	if (!ledger)
		return false;
	kind = begin("run", &answer);
	fair("begin", kind, EFFECT_RUN);
	if (kind == EFFECT_RUN) {
		fair("keep", effect_keep_now(ledger, answer), EFFECT_OK);
		fair("extend", effect_extend(ledger, answer, 5000, &said), EFFECT_OK);
		effect_answer_free(said);
		fair("complete", effect_complete(ledger, answer, &report, NULL), EFFECT_OK);
	}
	effect_answer_free(answer);
	effect_free(ledger);
	return kind == EFFECT_RUN;
}

/* Fails the n-th of that kind, for every n until none fails. */
static void
fail_each(enum failing kind, int error)
{
	/* an answer may be lost with its connection, and what it told is told once more */
	bool loses =
	    (kind == FAILS_RECV || kind == FAILS_SEND) && error != EINTR && error != EAGAIN;
	int n = 0, n_told;

	do {
		n++;
		peer.runs = peer.releases = 0;
		n_failed = 0;
		failing = kind;
		fails_at = n;
		fails_with = error;
		n_told = scene();
		failing = FAILS_NOTHING;
		ck_assert_msg(!wrong, "%s, at the %d. failure with %s", wrong, n, strerror(error));
		/* what is not the caller's went back */
		if (!loses)
			ck_assert_int_eq(peer.runs, n_told + peer.releases);
		ck_assert_int_lt(n, 200);
	} while (n_failed > 0);
	ck_assert_int_gt(n, 1); /* it was asked for at all */
	ck_assert_int_eq(n_told, 1);
	ledger = new_ledger();
}

static const struct {
	enum failing kind;
	int error;
} failures[] = {{FAILS_MEMORY, ENOMEM}, {FAILS_SOCKET, EMFILE}, {FAILS_CONNECT, EAGAIN},
    {FAILS_CONNECT, ECONNREFUSED}, {FAILS_CONNECT, EACCES}, {FAILS_SEND, EPIPE},
    {FAILS_SEND, EAGAIN}, {FAILS_SEND, ENOBUFS}, {FAILS_SEND, EINTR}, {FAILS_RECV, ECONNRESET},
    {FAILS_RECV, ENOMEM}, {FAILS_RECV, EINTR}, {FAILS_RECV, EAGAIN}, {FAILS_POLL, ENOMEM},
    {FAILS_POLL, EINTR}, {FAILS_RANDOM, ENOSYS}, {FAILS_RANDOM, EINTR}};

START_TEST(any_call_into_the_system_may_fail)
{
	effect_free(ledger);
	fail_each(failures[_i].kind, failures[_i].error);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("effect");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_call_is_guarded_from_begin_to_replay);
	tcase_add_test(tc, a_guard_reports_what_its_function_came_to);
	tcase_add_test(tc, a_daemon_that_goes_away_is_asked_again);
	tcase_add_test(tc, an_answer_that_comes_twice_is_one_answer);
	tcase_add_test(tc, what_is_too_old_is_given_back_and_no_grant_any_more);
	tcase_add_test(tc, a_run_that_is_late_when_it_comes_is_told_when_it_is_given_back);
	tcase_add_test(tc, a_line_that_this_daemon_finds_too_long_goes_by_its_hash);
	tcase_add_test(tc, structs_of_older_callers_are_enough);
	tcase_add_test(tc, thousands_of_calls_are_in_flight_and_each_ends_once);
	tcase_add_test(tc, a_crowd_that_loses_its_connection_is_asked_again_and_ends);
	tcase_add_test(tc, begins_that_wait_hold_up_no_result);
	tcase_add_test(tc, a_run_that_nobody_waits_for_is_given_back);
	tcase_add_test(tc, a_run_that_comes_after_its_time_is_given_back);
	tcase_add_test(tc, a_lease_is_kept_until_the_report_and_its_loss_is_told_once);
	tcase_add_test(tc, a_ledger_may_end_in_a_callback_of_its_own);
	tcase_add_test(tc, a_ledger_may_end_in_a_callback_while_another_call_blocks);
	tcase_add_test(tc, a_host_with_libevent_needs_one_event);
	tcase_add_test(tc, a_child_has_a_connection_of_its_own_and_none_of_its_parents_calls);
	tcase_add_test(tc, a_callback_may_fork);
	tcase_add_test(tc, without_a_clock_nothing_is_fresh);
	tcase_add_test(tc, descriptors_are_closed_by_exec_and_no_signal_comes);
	tcase_add_test(tc, nobody_there_is_unavailable_and_the_reason_is_told);
	tcase_add_loop_test(
	    tc, any_call_into_the_system_may_fail, 0, (int)(sizeof failures / sizeof *failures));
	return tap_run("effect", tc);
}
