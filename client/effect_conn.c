/*
 * The socket. Promises: close-on-exec from its first moment, never a signal, never shut down (a
 * copy that a child lets go must not end its parent's); bytes without LF at the end of the stream
 * are no line. Owns the descriptor and the buffer, which is there from the start, so that a short
 * answer needs no memory to be read.
 */
#include "effect_conn.h"

#include "effect_sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_BYTES 16384
#define IN_KEEP_BYTES 262144	   /* a larger buffer is given back when it is empty */
#define LINE_BYTES_MAX (64U << 20) /* the daemon's largest max_line */
#define PAUSE_MS_MIN 50
#define PAUSE_MS_MAX 1000

bool
effect_conn_init(struct effect_conn *conn, const char *path)
{
	*conn = (struct effect_conn){.fd = -1, .in_cap = IN_BYTES};
	effect_path_init(&conn->path, path);
	if (!effect_sys_random(&conn->seed, sizeof conn->seed) || conn->seed == 0)
		conn->seed = (uint64_t)effect_sys_now_ms() * 2 + 1; /* it is only a jitter */
	conn->in = malloc(conn->in_cap);
	return conn->in != NULL;
}

void
effect_conn_free(struct effect_conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	free(conn->in);
	*conn = (struct effect_conn){.fd = -1};
}

int64_t
effect_conn_jittered(struct effect_conn *conn, int64_t base_ms)
{
	conn->seed ^= conn->seed << 13;
	conn->seed ^= conn->seed >> 7;
	conn->seed ^= conn->seed << 17;
	return base_ms + (int64_t)(conn->seed % (uint64_t)(base_ms / 2 + 1));
}

/* After a failure: each one in a row waits twice as long. */
static void
put_off(struct effect_conn *conn, int64_t now_ms)
{
	int64_t pause_ms = PAUSE_MS_MAX;

	if (conn->n_failed < 5)
		pause_ms = PAUSE_MS_MIN << conn->n_failed;
	if (pause_ms > PAUSE_MS_MAX)
		pause_ms = PAUSE_MS_MAX;
	conn->n_failed++;
	conn->due_ms = now_ms + effect_conn_jittered(conn, pause_ms);
}

static void
say(struct effect_conn *conn, const char *what, int error)
{
	char text[96];

	/* the GNU one: it may answer with a text of its own instead of filling ours */
	snprintf(conn->why, sizeof conn->why, "%s: %s", what, strerror_r(error, text, sizeof text));
}

bool
effect_conn_open(struct effect_conn *conn, int64_t now_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = effect_path_now(&conn->path);
	char what[32 + sizeof address.sun_path];
	int fd = -1;

	snprintf(what, sizeof what, "cannot connect to '%s'", path);
	if (conn->path.too_long) {
		say(conn, "cannot connect to the socket", ENAMETOOLONG);
		goto failed;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* it connects at once, or the listener's queue is full (EAGAIN) */
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		say(conn, what, errno);
		goto failed;
	}
	conn->fd = fd;
	conn->in_len = conn->in_done = conn->in_scanned = 0;
	conn->starved_until_ms = 0;
	return true;
failed:
	if (fd >= 0)
		close(fd);
	put_off(conn, now_ms);
	return false;
}

void
effect_conn_close(struct effect_conn *conn, int64_t now_ms, bool asked)
{
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	conn->in_len = conn->in_done = conn->in_scanned = 0;
	if (asked || conn->n_failed > 0)
		put_off(conn, now_ms);
	else
		conn->due_ms = now_ms; /* the daemon went while nobody asked: no reason to wait */
}

void
effect_conn_forget(struct effect_conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	conn->in_len = conn->in_done = conn->in_scanned = 0;
	conn->due_ms = 0;
	conn->n_failed = 0;
	conn->seed ^= (uint64_t)getpid() << 20; /* not in step with its parent */
	conn->seed += conn->seed == 0;
}

enum effect_conn_io
effect_conn_send(struct effect_conn *conn, const struct iovec *pieces, size_t n, size_t *ret_sent)
{
	struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = n};
	ssize_t sent;

	do
		sent = sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM)
			return EFFECT_CONN_WAIT;
		say(conn, "cannot send", errno);
		return EFFECT_CONN_LOST;
	}
	*ret_sent = (size_t)sent;
	return EFFECT_CONN_DONE;
}

/* Room for more at the end of the buffer, what is done with taken out first. */
static enum effect_conn_io
make_room(struct effect_conn *conn, int64_t now_ms)
{
	size_t cap;
	char *in;

	if (conn->in_done > 0) {
		conn->in_len -= conn->in_done;
		conn->in_scanned -= conn->in_done;
		memmove(conn->in, conn->in + conn->in_done, conn->in_len);
		conn->in_done = 0;
	}
	if (conn->in_len == 0 && conn->in_cap > IN_KEEP_BYTES) {
		in = realloc(conn->in, IN_BYTES);
		conn->in = in ? in : conn->in;
		conn->in_cap = in ? IN_BYTES : conn->in_cap;
	}
	if (conn->in_len < conn->in_cap)
		return EFFECT_CONN_DONE;
	if (conn->in_len > LINE_BYTES_MAX) {
		snprintf(conn->why, sizeof conn->why, "a line of the daemon does not end");
		return EFFECT_CONN_LOST;
	}
	cap = conn->in_cap > 0 ? conn->in_cap * 2 : IN_BYTES;
	in = realloc(conn->in, cap);
	if (!in) {
		conn->starved_until_ms = now_ms + PAUSE_MS_MIN;
		return EFFECT_CONN_STARVED;
	}
	conn->in = in;
	conn->in_cap = cap;
	return EFFECT_CONN_DONE;
}

enum effect_conn_io
effect_conn_recv(struct effect_conn *conn, int64_t now_ms)
{
	enum effect_conn_io io;
	ssize_t n;

	if (now_ms < conn->starved_until_ms)
		return EFFECT_CONN_STARVED;
	io = make_room(conn, now_ms);
	if (io != EFFECT_CONN_DONE)
		return io;
	conn->starved_until_ms = 0;
	do
		n = recv(
		    conn->fd, conn->in + conn->in_len, conn->in_cap - conn->in_len, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		conn->in_len += (size_t)n;
		return EFFECT_CONN_DONE;
	}
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return EFFECT_CONN_WAIT;
	if (n < 0 && (errno == ENOBUFS || errno == ENOMEM)) {
		conn->starved_until_ms = now_ms + PAUSE_MS_MIN;
		return EFFECT_CONN_STARVED;
	}
	if (n == 0)
		snprintf(conn->why, sizeof conn->why, "the daemon closed the connection");
	else
		say(conn, "cannot read", errno);
	return EFFECT_CONN_LOST;
}

bool
effect_conn_line(struct effect_conn *conn, const char **ret_line, size_t *ret_len)
{
	char *lf = NULL;

	if (conn->fd >= 0 && conn->in_scanned < conn->in_len)
		lf = memchr(conn->in + conn->in_scanned, '\n', conn->in_len - conn->in_scanned);
	if (!lf) {
		conn->in_scanned = conn->in_len;
		return false;
	}
	*ret_line = conn->in + conn->in_done;
	*ret_len = (size_t)(lf - *ret_line);
	conn->in_done = conn->in_scanned = (size_t)(lf + 1 - conn->in);
	return true;
}

void
effect_conn_good(struct effect_conn *conn)
{
	conn->n_failed = 0;
}
