/*
 * Writes a connection's output, one send(2) a pass where the kernel takes it all.
 *
 * Promise: each grant handed to client_out_add() is told exactly once that its line was written or
 * unwritten; and at the end of the connection the grant whose line was the very last thing written
 * is told so. When to read less because of it is the client's to judge.
 */
#include "client_out.h"

#include "alloc.h"
#include "fault.h"
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define OUT_KEEP_BYTES 16384 /* a larger buffer is given back when all is written */

struct client_out_mark {
	STAILQ_ENTRY(client_out_mark) link;
	struct grant *grant; /* held */
	uint64_t end;	     /* n_taken once its line is whole */
};

static void
client_out_event_cb(evutil_socket_t fd, short what, void *arg)
{
	struct client_out *o = arg;

	(void)fd;
	(void)what;
	o->writable_cb(o->arg);
}

void
client_out_init(
    struct client_out *o, int fd, uint64_t number, void (*writable_cb)(void *arg), void *arg)
{
	memset(o, 0, sizeof *o);
	o->fd = fd;
	o->number = number;
	o->writable_cb = writable_cb;
	o->arg = arg;
	STAILQ_INIT(&o->marks);
}

size_t
client_out_waiting(const struct client_out *o)
{
	return o->data.len - o->at;
}

int64_t
client_out_stalled_ms(const struct client_out *o, int64_t now_ms)
{
	return client_out_waiting(o) > 0 ? now_ms - o->taken_ms : -1;
}

void
client_out_add(struct client_out *o, const struct buf *line, struct grant *grant)
{
	struct client_out_mark *mark;

	if (o->broken) {
		if (grant)
			grant_unwritten(grant);
		return;
	}
	if (client_out_waiting(o) == 0)
		o->taken_ms = loop_now_ms();
	buf_add(&o->data, line->data, line->len);
	o->n_added += line->len;
	if (!grant)
		return;
	mark = xmalloc(sizeof *mark);
	mark->grant = grant_ref(grant);
	mark->end = o->n_added;
	STAILQ_INSERT_TAIL(&o->marks, mark, link);
}

static void
client_out_set_last(struct client_out *o, struct grant *grant)
{
	if (o->last)
		grant_unref(o->last);
	o->last = grant ? grant_ref(grant) : NULL;
}

static void
client_out_taken(struct client_out *o, size_t n)
{
	struct client_out_mark *mark;

	o->at += n;
	o->n_taken += n;
	o->taken_ms = loop_now_ms();
	client_out_set_last(o, NULL);
	while ((mark = STAILQ_FIRST(&o->marks)) && mark->end <= o->n_taken) {
		STAILQ_REMOVE_HEAD(&o->marks, link);
		grant_written(mark->grant, o->number);
		if (mark->end == o->n_taken)
			client_out_set_last(o, mark->grant);
		grant_unref(mark->grant);
		free(mark);
	}
}

static void
client_out_drop(struct client_out *o)
{
	struct client_out_mark *mark;

	while ((mark = STAILQ_FIRST(&o->marks))) {
		STAILQ_REMOVE_HEAD(&o->marks, link);
		grant_unwritten(mark->grant);
		grant_unref(mark->grant);
		free(mark);
	}
	buf_free(&o->data);
	o->at = 0;
}

/* Asks for the kernel's word when there is room again, only while something waits: otherwise each
 * read of the peer would wake us. */
static void
client_out_wait(struct client_out *o, bool waits)
{
	if (o->waits == waits)
		return;
	if (!o->writable)
		o->writable = event_new(
		    loop_base, o->fd, EV_WRITE | EV_ET | EV_PERSIST, client_out_event_cb, o);
	assert(o->writable);
	o->waits = waits;
	if (waits)
		event_add(o->writable, NULL);
	else
		event_del(o->writable);
}

/* The written front goes once it is the larger part. */
static void
client_out_compact(struct client_out *o)
{
	size_t waiting = client_out_waiting(o);

	if (waiting == 0) {
		if (o->data.cap > OUT_KEEP_BYTES)
			buf_free(&o->data);
		else
			buf_clear(&o->data);
		o->at = 0;
	} else if (o->at > waiting) {
		memmove(o->data.data, o->data.data + o->at, waiting);
		o->data.len = waiting;
		o->at = 0;
	}
}

static ssize_t
client_out_send(const struct client_out *o)
{
	size_t n = client_out_waiting(o);
	ssize_t n_sent;

	if (fault_due("client.half"))
		n = (n + 1) / 2;
	n_sent = send(o->fd, o->data.data + o->at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n_sent >= 0)
		fault_point("client.half");
	return n_sent;
}

enum client_out_result
client_out_write(struct client_out *o)
{
	while (client_out_waiting(o) > 0) {
		ssize_t n;

		fault_point("client.send");
		n = client_out_send(o);
		if (n >= 0) {
			fault_point("client.sent");
			client_out_taken(o, (size_t)n);
		} else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ||
		    errno == ENOMEM) {
			/* the kernel's want is no close of the peer's; the look at those who
			 * stall tries again */
			client_out_compact(o);
			client_out_wait(o, true);
			return CLIENT_OUT_WAITS;
		} else if (errno != EINTR) {
			bool reset = errno == ECONNRESET;

			o->broken = true;
			client_out_drop(o);
			client_out_wait(o, false);
			return reset ? CLIENT_OUT_RESET : CLIENT_OUT_CLOSED;
		}
	}
	client_out_compact(o);
	client_out_wait(o, false);
	return CLIENT_OUT_WRITTEN;
}

void
client_out_end(struct client_out *o, bool reset)
{
	if (o->writable)
		event_free(o->writable);
	o->writable = NULL;
	/* A line of which the kernel took a part was the last thing written, and is unwritten; then
	 * no whole one is. */
	client_out_drop(o);
	o->broken = true;
	if (o->last)
		grant_connection_end(o->last, reset);
	client_out_set_last(o, NULL);
}

void
client_out_free(struct client_out *o)
{
	assert(!o->writable && !o->last && STAILQ_EMPTY(&o->marks));
	buf_free(&o->data);
}
