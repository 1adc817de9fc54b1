/*
 * A daemon that a unit test of libeffect plays: a thread that answers lines on a Unix socket, one
 * test program, one peer. What it does with a begin is the begin's tool:
 *
 *	run	grants it; lease_ms of the params is the lease, else a minute
 *	twice	as run, and says it twice
 *	busy	says so
 *	replay	a recorded result
 *	hold	nothing, until peer_let_go(): then each is granted
 *	cut	of the first one's answer only a half, and the end of the connection
 *	away	the first two are told unavailable, then as run
 */
#ifndef EFFECTD_TESTS_EFFECT_PEER_H
#define EFFECTD_TESTS_EFFECT_PEER_H

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PEER_CONNS 32
#define PEER_IN_BYTES (4 << 20)
#define PEER_LINE_BYTES 1024
#define PEER_EFFECT "6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b"

/* What it saw, and how it is to behave. */
static struct {
	atomic_int connects, begins, runs, completes, omitted, releases, unknowns, extends;
	atomic_int max_line;	  /* a longer one is answered by an error without an id */
	atomic_bool no_extends;	  /* are refused: not_owner */
	atomic_bool no_completes; /* are never answered */
} peer;
static char peer_path[64];

struct peer_conn {
	int fd;
	size_t n;
	char *in;
};

static struct peer_conn peer_conns[PEER_CONNS];
static long long peer_held[4096];
static int peer_held_conn[4096], peer_n_held, peer_n_odd;
static int peer_listener, peer_wake[2];
static pthread_t peer_thread;

static void
peer_send(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0)
			return; /* it is gone: the test's own doing */
		text += n;
		len -= (size_t)n;
	}
}

static void
peer_say(int fd, long long id, const char *result)
{
	char line[PEER_LINE_BYTES];
	int len = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%lld,%s}\n", id, result);

	peer_send(fd, line, (size_t)len);
}

static int
peer_run_text(char *to, size_t size, long long lease_ms)
{
	return snprintf(to, size,
	    "\"result\":{\"decision\":\"run\",\"next\":\"execute\",\"advice\":\"once\","
	    "\"effect\":\"" PEER_EFFECT "\",\"key\":\"k\",\"attempt\":1,"
	    "\"token\":\"9b1e6a52-7c1d-4a51-8f0b-2f7f0c%06d\",\"lease_ms\":%lld,"
	    "\"provider_key\":\"" PEER_EFFECT "\"}",
	    ++peer.runs, lease_ms);
}

static void
peer_grant(int fd, long long id, long long lease_ms)
{
	char run[PEER_LINE_BYTES];

	peer_run_text(run, sizeof run, lease_ms);
	peer_say(fd, id, run);
}

static bool
peer_is_tool(const char *line, const char *tool)
{
	char member[32];

	snprintf(member, sizeof member, "\"tool\":\"%s\"", tool);
	return strstr(line, member) != NULL;
}

/* False: the connection is to be closed. */
static bool
peer_begin(int i, const char *line, long long id)
{
	static const char busy[] = "\"result\":{\"decision\":\"busy\",\"next\":\"wait\","
				   "\"advice\":\"wait\",\"retry_after_ms\":10}";
	static const char replay[] =
	    "\"result\":{\"decision\":\"replay\",\"outcome\":\"succeeded\","
	    "\"result\":{ \"x\" : 1.0 },\"result_state\":\"kept\"}";
	static const char away[] = "\"error\":{\"code\":-32001,\"message\":\"away\",\"data\":{"
				   "\"name\":\"unavailable\",\"retry_after_ms\":1}}";
	const char *lease = strstr(line, "\"lease_ms\":");
	long long lease_ms = lease ? atoll(lease + 11) : 60000;
	int fd = peer_conns[i].fd;
	char run[PEER_LINE_BYTES];

	peer.begins++;
	if (peer_is_tool(line, "busy")) {
		peer_say(fd, id, busy);
	} else if (peer_is_tool(line, "replay")) {
		peer_say(fd, id, replay);
	} else if (peer_is_tool(line, "hold")) {
		peer_held[peer_n_held] = id;
		peer_held_conn[peer_n_held++] = i;
	} else if (peer_is_tool(line, "away") && peer_n_odd++ < 2) {
		peer_say(fd, id, away);
	} else if (peer_is_tool(line, "cut") && peer_n_odd++ == 0) {
		peer_run_text(run, sizeof run, lease_ms);
		peer_send(fd, run, 60);
		return false;
	} else {
		peer_run_text(run, sizeof run, lease_ms);
		peer_say(fd, id, run);
		if (peer_is_tool(line, "twice"))
			peer_say(fd, id, run);
	}
	return true;
}

static bool
peer_answer(int i, const char *line, size_t len)
{
	const char *id_text = strstr(line, "\"id\":"), *method = strstr(line, "\"method\":\"");
	static const char nameless[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{"
				       "\"code\":-32600,\"message\":\"invalid request\"}}\n";
	long long id = id_text ? atoll(id_text + 5) : 0;
	int fd = peer_conns[i].fd;

	if (len > (size_t)peer.max_line) {
		peer_send(fd, nameless, sizeof nameless - 1);
		return true;
	}
	method += 10;
	if (strncmp(method, "begin", 5) == 0)
		return peer_begin(i, line, id);
	if (strncmp(method, "complete", 8) == 0) {
		peer.completes++;
		peer.omitted += strstr(line, "\"omitted\":") != NULL;
		if (!peer.no_completes)
			peer_say(fd, id, "\"result\":{\"state\":\"done\",\"already\":false}");
	} else if (strncmp(method, "release", 7) == 0) {
		peer.releases++;
		peer_say(fd, id, "\"result\":{\"state\":\"released\",\"already\":false}");
	} else if (strncmp(method, "unknown", 7) == 0) {
		peer.unknowns++;
		peer_say(fd, id, "\"result\":{\"state\":\"unknown\",\"next_probe_at\":null}");
	} else if (strncmp(method, "extend", 6) == 0) {
		peer.extends++;
		peer_say(fd, id,
		    peer.no_extends ? "\"error\":{\"code\":-32005,\"message\":\"not the owner\"}"
				    : "\"result\":{\"state\":\"pending\"}");
	} else {
		peer_say(fd, id, "\"result\":{\"pong\":[1,2]}");
	}
	return true;
}

static void
peer_close(int i)
{
	close(peer_conns[i].fd);
	peer_conns[i].fd = -1;
	peer_conns[i].n = 0;
}

static void
peer_read(int i)
{
	struct peer_conn *c = &peer_conns[i];
	ssize_t n = recv(c->fd, c->in + c->n, PEER_IN_BYTES - 1 - c->n, 0);
	char *lf, *line = c->in;

	if (n <= 0) {
		peer_close(i);
		return;
	}
	c->n += (size_t)n;
	c->in[c->n] = '\0';
	while ((lf = memchr(line, '\n', c->n - (size_t)(line - c->in)))) {
		*lf = '\0';
		if (!peer_answer(i, line, (size_t)(lf - line))) {
			peer_close(i);
			return;
		}
		line = lf + 1;
	}
	c->n -= (size_t)(line - c->in);
	memmove(c->in, line, c->n);
}

static void
peer_accept(void)
{
	int fd = accept4(peer_listener, NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd >= 0 && i < PEER_CONNS; i++) {
		if (peer_conns[i].fd < 0) {
			peer_conns[i].fd = fd;
			peer.connects++;
			return;
		}
	}
}

static void
peer_grant_held(void)
{
	int n = peer_n_held;

	peer_n_held = 0;
	for (int i = 0; i < n; i++)
		if (peer_conns[peer_held_conn[i]].fd >= 0)
			peer_grant(peer_conns[peer_held_conn[i]].fd, peer_held[i], 60000);
}

static void *
peer_loop(void *arg)
{
	struct pollfd fds[2 + PEER_CONNS];
	char word;

	(void)arg;
	while (true) {
		fds[0] = (struct pollfd){.fd = peer_listener, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = peer_wake[0], .events = POLLIN};
		for (int i = 0; i < PEER_CONNS; i++)
			fds[2 + i] = (struct pollfd){.fd = peer_conns[i].fd, .events = POLLIN};
		poll(fds, 2 + PEER_CONNS, -1);
		if (fds[1].revents && (read(peer_wake[0], &word, 1) != 1 || word == 's'))
			return NULL;
		if (fds[1].revents)
			peer_grant_held();
		for (int i = 0; i < PEER_CONNS; i++)
			if (fds[2 + i].revents && peer_conns[i].fd == fds[2 + i].fd)
				peer_read(i);
		if (fds[0].revents)
			peer_accept();
	}
}

static inline void
peer_start(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(&peer, 0, sizeof peer);
	peer.max_line = 1048576;
	peer_n_held = peer_n_odd = 0;
	snprintf(peer_path, sizeof peer_path, "/tmp/check_effect.%d", (int)getpid());
	unlink(peer_path);
	memcpy(address.sun_path, peer_path, sizeof peer_path);
	for (int i = 0; i < PEER_CONNS; i++)
		peer_conns[i] = (struct peer_conn){.fd = -1, .in = malloc(PEER_IN_BYTES)};
	peer_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(peer_listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(peer_listener, 16), 0);
	ck_assert_int_eq(pipe2(peer_wake, O_CLOEXEC), 0);
	ck_assert_int_eq(pthread_create(&peer_thread, NULL, peer_loop, NULL), 0);
}

static inline void
peer_stop(void)
{
	ck_assert_int_eq(write(peer_wake[1], "s", 1), 1);
	pthread_join(peer_thread, NULL);
	for (int i = 0; i < PEER_CONNS; i++) {
		if (peer_conns[i].fd >= 0)
			close(peer_conns[i].fd);
		free(peer_conns[i].in);
	}
	close(peer_listener);
	close(peer_wake[0]);
	close(peer_wake[1]);
	unlink(peer_path);
}

/*
 * Ends every connection, as a daemon that is killed; new ones are taken. Without a lock: the thread
 * may be in a send() that nobody reads.
 */
static inline void
peer_cut_all(void)
{
	for (int i = 0; i < PEER_CONNS; i++) {
		int fd = peer_conns[i].fd;

		if (fd >= 0)
			shutdown(fd, SHUT_RDWR);
	}
}

/* Grants what is held. */
static inline void
peer_let_go(void)
{
	ck_assert_int_eq(write(peer_wake[1], "g", 1), 1);
}

#endif
