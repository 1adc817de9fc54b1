/*
 * A connection against a peer that does as it likes: lines in any pieces, limits and back-pressure,
 * the two kinds of close, and what grants learn of their lines. Methods are this file's own: the
 * client knows none.
 */
#include "alloc.h"
#include "client.h"
#include "grant.h"
#include "loop.h"
#include "request.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEADLINE_MS 20000
#define PARKED_MAX 4096

static struct config config;
static struct loop_timer *deadline;
static int peer = -1;  /* the other end */
static struct buf got; /* what came to it */
static bool got_end;   /* and then the end */
static struct request *parked[PARKED_MAX];
static unsigned n_parked, n_calls, n_gone, n_bound_closed, parked_most;
static struct grant *granted;
static struct tool_policy policy = {.refs = 1000};
static bool (*wanted)(void);

/* ---- methods ---- */

static void
answer(struct request *r, struct grant *grant)
{
	struct buf line = {0};

	rpc_result_begin(&line, r->rpc.id, r->rpc.id_len);
	buf_add_str(&line, "{}");
	rpc_result_end(&line);
	r->reply(r, &line, grant);
	buf_free(&line);
}

static void
echo_call(struct request *r)
{
	n_calls++;
	answer(r, NULL);
}

/* A large answer: 400 kB, more than a socket takes at once. */
static void
big_call(struct request *r)
{
	struct buf line = {0};

	n_calls++;
	for (int i = 0; i < 40000; i++)
		buf_add_str(&line, "0123456789");
	buf_add_char(&line, '\n');
	r->reply(r, &line, NULL);
	buf_free(&line);
}

static void
park_call(struct request *r)
{
	n_calls++;
	ck_assert_uint_lt(n_parked, PARKED_MAX);
	parked[n_parked++] = r;
	if (n_parked > parked_most)
		parked_most = n_parked;
}

static void
park_gone(struct request *r)
{
	n_gone++;
	for (unsigned i = 0; i < n_parked; i++) {
		if (parked[i] == r) {
			parked[i] = parked[--n_parked];
			return;
		}
	}
	ck_abort_msg("an answered request is gone");
}

static void
unpark(unsigned n)
{
	while (n-- > 0 && n_parked > 0)
		answer(parked[--n_parked], NULL);
}

static void
park_drain(struct request *r)
{
	park_gone(r);
	n_gone--;
	answer(r, NULL);
}

static void
run_call(struct request *r)
{
	struct uuid effect = {{1}}, token = {{2}}, request = {{3}};

	n_calls++;
	granted = grant_add(&effect, &token, &request, &policy);
	grant_telling(granted);
	answer(r, granted);
}

static void
bound_run_call(struct request *r)
{
	struct uuid effect = {{1}}, token = {{2}}, request = {{3}};

	grant_bind(grant_add(&effect, &token, &request, &policy), r->connection);
	run_call(r);
}

static const struct method methods[] = {
    {"echo", 0, echo_call, NULL, NULL},
    {"big", 0, big_call, NULL, NULL},
    {"park", 0, park_call, park_gone, park_drain},
    {"run", 0, run_call, NULL, NULL},
    {"bound_run", 0, bound_run_call, NULL, NULL},
};

const struct method *
method_find(const char *name)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

/* ---- the stage ---- */

static void
bound_closed_cb(void *arg, const struct uuid *effect, const struct uuid *token)
{
	(void)arg;
	(void)effect;
	(void)token;
	n_bound_closed++;
}

static void
deadline_cb(void *arg)
{
	(void)arg;
	ck_abort_msg("what was waited for did not come");
}

static void
peer_read(void)
{
	char bytes[65536];
	ssize_t n;

	while (peer >= 0 && !got_end) {
		n = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);
		if (n > 0)
			buf_add(&got, bytes, (size_t)n);
		else if (n == 0 || errno == ECONNRESET)
			got_end = true;
		else
			break;
	}
}

static void
look_hook(void)
{
	if (wanted && wanted())
		loop_stop();
	else
		loop_again();
}

static void
run_until(bool (*condition)(void))
{
	wanted = condition;
	loop_timer_set(deadline, DEADLINE_MS);
	loop_again(); /* the first pass may have nothing to wait for */
	loop_run();
	wanted = NULL;
	loop_timer_clear(deadline);
}

static unsigned n_passes;

static bool
passes_are_over(void)
{
	return n_passes-- == 0;
}

static void
run_passes(unsigned n)
{
	n_passes = n;
	run_until(passes_are_over);
}

static void
connect_peer(void)
{
	struct access_peer who = {0};
	int fds[2];

	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	peer = fds[1];
	client_new(fds[0], &who);
}

static void
setup(void)
{
	static bool grants;

	loop_init();
	if (!grants)
		grant_init(100);
	grants = true;
	config.max_line = 100;
	config.max_inflight = 8;
	config.max_output = 1 << 20;
	client_init(&config, bound_closed_cb);
	loop_add_pass_end(client_resume);
	loop_add_pass_end(client_flush);
	loop_add_pass_end(look_hook);
	deadline = loop_timer_new(deadline_cb, NULL);
	n_parked = n_calls = n_gone = n_bound_closed = parked_most = 0;
	granted = NULL;
	got_end = false;
	connect_peer();
}

static void
teardown(void)
{
	struct uuid effect = {{1}}, token = {{2}};

	client_close_all();
	grant_forget(&effect, &token);
	loop_timer_free(deadline);
	loop_free();
	if (peer >= 0)
		close(peer);
	peer = -1;
	buf_free(&got);
}

static void
say(const char *text)
{
	size_t len = strlen(text);

	ck_assert_int_eq(send(peer, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

static unsigned
count(const char *what)
{
	const char *at = buf_str(&got);
	unsigned n = 0;

	while ((at = strstr(at, what))) {
		at += strlen(what);
		n++;
	}
	return n;
}

static bool
is_over(void)
{
	peer_read();
	return got_end;
}

static bool
no_client(void)
{
	return client_n() == 0;
}

#define LINE(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}\n"

/* ---- lines ---- */

static bool
three_answers(void)
{
	peer_read();
	return count("\"result\"") == 3;
}

/* case 117 */
START_TEST(lines_come_in_any_pieces)
{
	const char *line = LINE("1", "echo");

	for (const char *p = line; *p; p++) {
		say((char[]){*p, '\0'});
		run_passes(2);
	}
	say("\n \t\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\"}\r\n" LINE(
	    "3", "echo") "{\"jsonrpc\":\"2.0\",\"id\":4");
	run_until(three_answers);
	ck_assert_uint_eq(n_calls, 3);
	ck_assert_uint_eq(count("\"id\":1,") + count("\"id\":2,") + count("\"id\":3,"), 3);
	ck_assert_uint_eq(count("error"), 0);
}
END_TEST

static bool
an_answer_after_errors(void)
{
	peer_read();
	return count("\"result\"") == 1;
}

START_TEST(a_line_too_long_is_told_once_and_thrown_away)
{
	char blanks[101];

	memset(blanks, ' ', 100);
	blanks[100] = '\0';
	for (int i = 0; i < 50; i++) {
		say(blanks);
		run_passes(i % 2);
	}
	say("\n" LINE("1", "echo"));
	run_until(an_answer_after_errors);
	ck_assert_uint_eq(count("-32600"), 1);
	ck_assert_uint_eq(count("\"id\":null"), 1);
	/* the limit itself is a line, CR or not; one byte more is none */
	say(blanks);
	say("\r\n");
	say(blanks);
	say("\n");
	run_passes(3);
	ck_assert_uint_eq(count("error"), 1);
	say(blanks);
	say(" \n" LINE("1", "echo"));
	run_passes(5);
	peer_read();
	ck_assert_uint_eq(count("-32600"), 2);
	ck_assert_uint_eq(count("result"), 2);
}
END_TEST

START_TEST(what_is_no_request_is_answered_as_such)
{
	say("nonsense\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"none\"}\n"
	    "{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}\n" LINE("2", "echo"));
	run_until(an_answer_after_errors);
	ck_assert_uint_eq(count("-32700"), 1);
	ck_assert_uint_eq(count("-32601"), 1);
	ck_assert_uint_eq(n_calls, 1);
}
END_TEST

/* ---- limits ---- */

static unsigned n_wanted;

static bool
enough_parked(void)
{
	return n_parked == n_wanted;
}

START_TEST(no_more_than_max_inflight_are_begun)
{
	n_wanted = 8;
	for (int i = 0; i < 100; i++)
		say(LINE("1", "park"));
	run_until(enough_parked);
	run_passes(5);
	ck_assert_uint_eq(n_parked, 8);
	/* goes on below half only */
	unpark(3);
	run_passes(5);
	ck_assert_uint_eq(n_parked, 5);
	while (n_calls < 100 || n_parked > 0) {
		unpark(8);
		run_passes(3);
	}
	peer_read();
	ck_assert_uint_eq(count("result"), 100);
	ck_assert_uint_eq(parked_most, 8);
}
END_TEST

START_TEST(who_never_reads_is_cut_off_and_keeps_his_claims)
{
	int size = 4096;
	struct uuid effect = {{1}}, request = {{3}};
	struct buf lines = {0};

	config.max_output = 65536;
	setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	say(LINE("0", "bound_run"));
	for (int i = 0; i < 500; i++)
		buf_add_str(&lines, LINE("1", "big"));
	say(buf_str(&lines));
	buf_free(&lines);
	run_until(no_client);
	/* reading had stopped at half of max_output beyond what the kernel took */
	ck_assert_uint_lt(n_calls, 100);
	ck_assert_uint_eq(n_bound_closed, 0);
	ck_assert(!grant_ask(&request, &effect)); /* its line can still be read by the peer */
	grant_ask_end(&request);
}
END_TEST

/* ---- closes ---- */

START_TEST(a_half_close_is_no_close)
{
	say(LINE("1", "echo") LINE("2", "park")
		LINE("3", "bound_run") "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"echo\"}");
	shutdown(peer, SHUT_WR);
	n_wanted = 1;
	run_until(enough_parked);
	run_passes(5);
	unpark(1);
	run_passes(5);
	peer_read();
	ck_assert_uint_eq(count("result"), 3); /* bytes without an LF are no request */
	ck_assert(!got_end);		       /* a claim is bound to the connection */
	ck_assert_uint_eq(n_bound_closed + n_gone, 0);
	close(peer);
	peer = -1;
	run_until(no_client);
	ck_assert_uint_eq(n_bound_closed, 1);
}
END_TEST

START_TEST(a_half_closed_connection_ends_when_all_is_answered)
{
	say(LINE("1", "park"));
	shutdown(peer, SHUT_WR);
	n_wanted = 1;
	run_until(enough_parked);
	run_passes(5);
	ck_assert_uint_eq(client_n(), 1);
	unpark(1);
	run_until(is_over);
	ck_assert_uint_eq(count("result"), 1);
	ck_assert_uint_eq(client_n(), 0);
}
END_TEST

/* case 121 */
START_TEST(lines_before_a_close_are_begun_and_then_gone)
{
	for (int i = 0; i < 20; i++)
		say(LINE("1", "park"));
	say(LINE("2", "bound_run"));
	close(peer);
	peer = -1;
	run_until(no_client);
	ck_assert_uint_eq(n_calls, 21); /* more than max_inflight: nobody waits for room any more */
	ck_assert_uint_eq(n_gone, 20);
	ck_assert_uint_eq(n_bound_closed, 1);
	ck_assert_uint_eq(client_n_requests(), 0);
}
END_TEST

START_TEST(a_close_is_seen_while_nothing_is_read)
{
	for (int i = 0; i < 9; i++)
		say(LINE("1", "park"));
	n_wanted = 8;
	run_until(enough_parked);
	run_passes(5);
	close(peer);
	peer = -1;
	run_until(no_client);
	ck_assert_uint_eq(n_calls, 9);
	ck_assert_uint_eq(n_gone, 9);
}
END_TEST

static bool
run_told(void)
{
	return granted && grant_told(granted);
}

START_TEST(a_run_that_was_read_is_never_told_again)
{
	struct uuid effect = {{1}}, request = {{3}};

	say(LINE("1", "run"));
	run_until(run_told);
	run_passes(2);
	peer_read();
	close(peer);
	peer = -1;
	run_until(no_client);
	ck_assert(!grant_ask(&request, &effect));
	grant_ask_end(&request);
}
END_TEST

START_TEST(a_run_that_was_last_and_not_read_may_be_told_again)
{
	struct uuid effect = {{1}}, request = {{3}};

	say(LINE("1", "run"));
	run_until(run_told);
	run_passes(2);
	close(peer); /* with the answer unread: the end is a reset */
	peer = -1;
	run_until(no_client);
	ck_assert(grant_ask(&request, &effect));
	grant_ask_end(&request);
}
END_TEST

START_TEST(a_run_that_something_followed_is_never_told_again)
{
	struct uuid effect = {{1}}, request = {{3}};

	say(LINE("1", "run") LINE("2", "echo"));
	run_until(run_told);
	run_passes(2);
	close(peer);
	peer = -1;
	run_until(no_client);
	ck_assert(!grant_ask(&request, &effect));
	grant_ask_end(&request);
}
END_TEST

START_TEST(a_run_that_nobody_could_be_told_may_be_told_again)
{
	struct uuid effect = {{1}}, request = {{3}};

	say(LINE("1", "run"));
	close(peer);
	peer = -1;
	run_until(no_client);
	ck_assert(grant_ask(&request, &effect));
	grant_ask_end(&request);
}
END_TEST

/* ---- the stop; last, as it is for good ---- */

START_TEST(a_drain_answers_what_was_begun_and_begins_nothing)
{
	for (int i = 0; i < 12; i++)
		say(LINE("1", "park"));
	n_wanted = 8;
	run_until(enough_parked);
	client_drain();
	ck_assert(!client_idle());
	say(LINE("2", "echo"));
	run_until(client_idle);
	peer_read();
	ck_assert_uint_eq(count("result"), 8);
	ck_assert_uint_eq(n_calls, 8);
	ck_assert_uint_eq(n_bound_closed, 0);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("client");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, lines_come_in_any_pieces);
	tcase_add_test(tc, a_line_too_long_is_told_once_and_thrown_away);
	tcase_add_test(tc, what_is_no_request_is_answered_as_such);
	tcase_add_test(tc, no_more_than_max_inflight_are_begun);
	tcase_add_test(tc, who_never_reads_is_cut_off_and_keeps_his_claims);
	tcase_add_test(tc, a_half_close_is_no_close);
	tcase_add_test(tc, a_half_closed_connection_ends_when_all_is_answered);
	tcase_add_test(tc, lines_before_a_close_are_begun_and_then_gone);
	tcase_add_test(tc, a_close_is_seen_while_nothing_is_read);
	tcase_add_test(tc, a_run_that_was_read_is_never_told_again);
	tcase_add_test(tc, a_run_that_was_last_and_not_read_may_be_told_again);
	tcase_add_test(tc, a_run_that_something_followed_is_never_told_again);
	tcase_add_test(tc, a_run_that_nobody_could_be_told_may_be_told_again);
	tcase_add_test(tc, a_drain_answers_what_was_begun_and_begins_nothing);
	return tap_run("client", tc);
}
