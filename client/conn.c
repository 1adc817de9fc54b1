/*
 * The socket's client. Promise: no call takes longer than its deadline, and a line is whole or it
 * is an error: bytes without LF at the end of the stream are none. Asking again is the caller's
 * (ask.c). Owns its descriptor and buffer.
 */
#include "conn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES 65536
#define LINE_BYTES_MAX \
	(256U << 20) /* nothing of ours is so long: a runaway peer must not take our memory */

int64_t
conn_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int
fail(struct conn *conn, const char *what, const char *why)
{
	snprintf(conn->why, sizeof conn->why, "%s: %s", what, why);
	return ERR_UNAVAILABLE;
}

/* Waits until the socket is ready for `events`; false past the deadline. */
static bool
wait_ready(struct conn *conn, short events, int64_t until_ms)
{
	struct pollfd pfd = {.fd = conn->fd, .events = events};
	int64_t left_ms;

	do {
		left_ms = until_ms - conn_now_ms();
		if (left_ms < 0)
			left_ms = 0;
		if (poll(&pfd, 1, left_ms > 60000 ? 60000 : (int)left_ms) > 0)
			return true;
	} while (conn_now_ms() < until_ms);
	return false;
}

int
conn_open(struct conn *conn, const char *path, int64_t until_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int64_t left_ms = until_ms - conn_now_ms();
	struct timeval left;

	*conn = (struct conn){.fd = -1};
	if (strlen(path) >= sizeof address.sun_path)
		return fail(conn, "cannot connect", "the socket's path is too long");
	memcpy(address.sun_path, path, strlen(path) + 1);
	conn->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (conn->fd < 0)
		return fail(conn, "cannot make a socket", strerror(errno));
	/* a Unix socket connects at once, unless the listener's queue is full: then this bounds the
	 * wait */
	if (left_ms < 1)
		left_ms = 1;
	left = (struct timeval){.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
	setsockopt(conn->fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof left);
	if (connect(conn->fd, (struct sockaddr *)&address, sizeof address) < 0) {
		fail(conn, "cannot connect", strerror(errno));
		close(conn->fd);
		conn->fd = -1;
		return ERR_UNAVAILABLE;
	}
	return 0;
}

int
conn_send(struct conn *conn, const char *data, size_t len, int64_t until_ms)
{
	ssize_t n;

	while (len > 0) {
		n = send(conn->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!wait_ready(conn, POLLOUT, until_ms))
				return fail(conn, "cannot send", "the daemon does not read");
		} else if (errno != EINTR) {
			return fail(conn, "cannot send", strerror(errno));
		}
	}
	return 0;
}

int
conn_recv(struct conn *conn, struct buf *line, int64_t until_ms)
{
	char data[READ_BYTES];
	size_t n_seen = 0, n_rest;
	char *lf;
	ssize_t n;

	while (!(lf = n_seen < conn->in.len
		? memchr(conn->in.data + n_seen, '\n', conn->in.len - n_seen)
		: NULL)) {
		n_seen = conn->in.len;
		if (n_seen > LINE_BYTES_MAX)
			return fail(conn, "no answer", "a line of the daemon does not end");
		if (!wait_ready(conn, POLLIN, until_ms))
			return fail(conn, "no answer", "the daemon did not answer in time");
		n = recv(conn->fd, data, sizeof data, MSG_DONTWAIT);
		if (n == 0)
			return fail(conn, "no answer", "the daemon closed the connection");
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return fail(conn, "no answer", strerror(errno));
		if (n > 0)
			buf_add(&conn->in, data, (size_t)n);
	}
	buf_clear(line);
	buf_add(line, conn->in.data, (size_t)(lf - conn->in.data));
	n_rest = conn->in.len - (size_t)(lf + 1 - conn->in.data);
	memmove(conn->in.data, lf + 1, n_rest);
	conn->in.len = n_rest;
	return 0;
}

void
conn_close(struct conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	buf_free(&conn->in);
}
