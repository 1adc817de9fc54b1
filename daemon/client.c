/*
 * One connection: cuts the stream into lines, makes requests of them, and gathers the replies that
 * the end of the pass writes (client_out.c).
 *
 * Promises: a line is begun whole or not at all; no more than the config's limits is ever kept of
 * one peer; what a peer sent before it closed is begun before the close is told; a half-close is no
 * close. What a line means does not belong here.
 *
 * Edge-triggered: the kernel says once that bytes came, `may_read` remembers it, so that
 * back-pressure costs no system call and a hang-up is seen even while nothing is read. Memory: a
 * client owns its buffers, its peer and its requests; a request lives until the end of the pass in
 * which it was answered.
 */
#include "client.h"

#include "alloc.h"
#include "client_out.h"
#include "client_request.h"
#include "gauges.h"
#include "grant.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "request.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536   /* one read */
#define IN_KEEP_BYTES 4096 /* a larger buffer is given back when it is empty */

enum client_end { CLIENT_PEER, CLIENT_OURS };

struct client {
	TAILQ_ENTRY(client) link;    /* in `clients` */
	TAILQ_ENTRY(client) touched; /* in `touched_clients` while is_touched */
	bool is_touched;
	int fd;
	uint64_t number; /* never reused in this boot */
	struct access_peer peer;
	struct event *readable;
	bool may_read;	 /* bytes, or the stream's end, may wait in the kernel */
	bool paused;	 /* above a high mark, until below the low one */
	bool discarding; /* in a line that was too long */
	bool eof;	 /* no more bytes will come; answers still go out */
	bool hung_up;	 /* the peer closed: nobody can read an answer */
	bool reset;	 /* and had answers unread */
	struct buf in;	 /* what came and is not begun yet */
	size_t scanned;	 /* bytes at its start known to hold no LF */
	struct client_out out;
	struct client_requests requests; /* in flight */
	unsigned n_requests;
};

TAILQ_HEAD(client_list, client);

static struct client_list clients = TAILQ_HEAD_INITIALIZER(clients);
static struct client_list touched_clients = TAILQ_HEAD_INITIALIZER(touched_clients);
static unsigned n_clients, n_requests;
static uint64_t last_number;
static bool draining;
static const struct config *config;
static void (*bound_closed)(void *arg, const struct uuid *effect, const struct uuid *token);
static struct loop_timer *stall_timer;
static bool stall_timer_set;

/* The end of the pass has to look at it. */
static void
client_touch(struct client *c)
{
	if (c->is_touched)
		return;
	c->is_touched = true;
	TAILQ_INSERT_TAIL(&touched_clients, c, touched);
}

static void
client_untouch(struct client *c)
{
	if (!c->is_touched)
		return;
	c->is_touched = false;
	TAILQ_REMOVE(&touched_clients, c, touched);
}

/* Answered or given up. */
static void
client_end_request(struct client_request *q)
{
	struct client *c = q->client;

	assert(c->n_requests > 0 && n_requests > 0);
	TAILQ_REMOVE(&c->requests, q, link);
	c->n_requests--;
	gauges_set_clients(n_clients, --n_requests);
	client_request_end(q);
}

static void
client_reply(struct request *r, const struct buf *line, struct grant *grant)
{
	struct client_request *q = r->client;
	struct client *c = q->client;

	assert(c);
	client_out_add(&c->out, line, grant);
	client_touch(c);
	client_end_request(q);
}

/* An answer without a request behind it. */
static void
client_error(struct client *c, const struct rpc_line *line, int err, const char *message,
    const struct rpc_error_data *data)
{
	struct buf out = {0};

	rpc_error(&out, line ? line->id : NULL, line ? line->id_len : 0, err, message, data);
	client_out_add(&c->out, &out, NULL);
	client_touch(c);
	buf_free(&out);
}

static void
client_line(struct client *c, const char *line, size_t len)
{
	struct client_request *q = client_request_new(line, len);
	struct rpc_line *rpc = &q->r.rpc;

	rpc_parse(rpc, q->r.line, len);
	if (rpc->blank || rpc->notification) {
		client_request_drop(q);
		return;
	}
	if (rpc->error) {
		struct rpc_error_data data = {.why = rpc->why,
		    .pointer = rpc->error == ERR_INVALID_PARAMS ? rpc->pointer : NULL};

		client_error(c, rpc, rpc->error, NULL, &data);
		client_request_drop(q);
		return;
	}
	q->r.method = method_find(rpc->method);
	if (!q->r.method) {
		client_error(c, rpc, ERR_UNKNOWN_METHOD, NULL, NULL);
		client_request_drop(q);
		return;
	}
	q->client = c;
	q->r.peer = &c->peer;
	q->r.connection = c->number;
	q->r.received_ms = loop_now_ms();
	q->r.reply = client_reply;
	TAILQ_INSERT_TAIL(&c->requests, q, link);
	c->n_requests++;
	gauges_set_clients(n_clients, ++n_requests);
	q->r.method->call(&q->r);
}

/* Is there no room for another line now? With hysteresis, so that a full pipe moves in strides. */
static bool
client_paused(struct client *c)
{
	unsigned requests_high = (unsigned)config->max_inflight;
	size_t out_high = (size_t)config->max_output / 2, waiting = client_out_waiting(&c->out);

	if (c->hung_up) /* what came before the close is begun; it is no more than the buffers held
			 */
		return false;
	if (c->paused)
		c->paused = c->n_requests > requests_high / 2 || waiting > out_high / 2;
	else
		c->paused = c->n_requests >= requests_high || waiting >= out_high;
	return c->paused;
}

/* `len` without the CR before the LF. */
static size_t
client_line_len(const char *line, size_t len)
{
	return len > 0 && line[len - 1] == '\r' ? len - 1 : len;
}

static void
client_too_long(struct client *c)
{
	struct rpc_error_data data = {.why = "the line is longer than max_line"};

	client_error(c, NULL, ERR_INVALID_REQUEST, NULL, &data);
}

/* Begins the whole lines of text[0, len) while there is room. Returns the bytes that are done with.
 */
static size_t
client_lines(struct client *c, const char *text, size_t len)
{
	size_t at = 0, max_line = (size_t)config->max_line;

	while (at < len && !draining && (c->discarding || !client_paused(c))) {
		const char *line = text + at;
		const char *lf = memchr(line + c->scanned, '\n', len - at - c->scanned);

		if (lf) {
			size_t line_len = client_line_len(line, (size_t)(lf - line));

			at += (size_t)(lf - line) + 1;
			c->scanned = 0;
			if (c->discarding)
				c->discarding = false;
			else if (line_len > max_line)
				client_too_long(c);
			else
				client_line(c, line, line_len);
		} else if (c->discarding || client_line_len(line, len - at) > max_line) {
			if (!c->discarding)
				client_too_long(c);
			c->discarding = true;
			c->scanned = 0;
			return len;
		} else {
			c->scanned = len - at;
			break;
		}
	}
	return at;
}

/* Goes on with the bytes that waited. */
static void
client_buffered(struct client *c)
{
	size_t used;

	if (c->in.len == c->scanned)
		return;
	used = client_lines(c, c->in.data, c->in.len);
	if (used == 0)
		return;
	c->in.len -= used;
	memmove(c->in.data, c->in.data + used, c->in.len);
	if (c->in.len == 0 && c->in.cap > IN_KEEP_BYTES)
		buf_free(&c->in);
}

static void
client_take(struct client *c, const char *data, size_t len)
{
	size_t used = 0;

	if (c->in.len == 0)
		used = client_lines(c, data, len);
	buf_add(&c->in, data + used, len - used);
	if (used == 0)
		client_buffered(c);
}

/* A close and no mere half-close? */
static bool
client_peer_hung_up(const struct client *c)
{
	struct pollfd pfd = {.fd = c->fd};

	return poll(&pfd, 1, 0) > 0 && (pfd.revents & (POLLHUP | POLLERR));
}

/*
 * Reads to the end of what the kernel holds (an edge comes only once), but at most one full buffer
 * a pass unless the peer has hung up: others want their turn.
 */
static void
client_read(struct client *c)
{
	static char scratch[READ_BYTES];
	ssize_t n;

	while (c->may_read && !c->eof && !draining && !client_paused(c)) {
		n = recv(c->fd, scratch, sizeof scratch, MSG_DONTWAIT);
		if (n > 0) {
			client_take(c, scratch, (size_t)n);
			if ((size_t)n == sizeof scratch && !c->hung_up)
				break;
		} else if (n == 0) {
			c->eof = true;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			c->may_read = false;
		} else if (errno != EINTR) {
			c->reset = c->reset || errno == ECONNRESET;
			c->eof = c->hung_up = true;
		}
	}
	/* the close may have come with the same edge as what is not read yet */
	if ((c->eof || c->paused || draining) && !c->hung_up && client_peer_hung_up(c))
		c->hung_up = true;
}

static void
client_readable_cb(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;

	(void)fd;
	(void)what;
	c->may_read = true;
	client_buffered(c);
	client_read(c);
	client_touch(c);
}

static void
client_writable_cb(void *arg)
{
	client_touch(arg);
}

static void
client_free(void *object)
{
	struct client *c = object;

	buf_free(&c->in);
	client_out_free(&c->out);
	access_peer_clear(&c->peer);
	free(c);
}

/* The one way out: tells requests, grants and (if the peer closed) bound claims; the struct goes at
 * the end of the pass. */
static void
client_end(struct client *c, enum client_end how)
{
	struct client_request *q;

	while ((q = TAILQ_FIRST(&c->requests))) {
		client_end_request(q);
		if (q->r.method->gone)
			q->r.method->gone(&q->r);
	}
	client_out_end(&c->out, c->reset);
	if (how == CLIENT_PEER)
		grant_each_bound(c->number, bound_closed, NULL);
	client_untouch(c);
	TAILQ_REMOVE(&clients, c, link);
	gauges_set_clients(--n_clients, n_requests);
	event_free(c->readable);
	close(c->fd);
	c->fd = -1;
	loop_defer_free(client_free, c);
}

/* The peer closed: what it sent before is begun first, then its end is told. */
static void
client_hang_up(struct client *c)
{
	assert(c->hung_up);
	c->may_read = true; /* a failed send may be the first we hear of it */
	client_buffered(c);
	client_read(c);
	client_end(c, CLIENT_PEER);
}

void
client_resume(void)
{
	struct client *c, *next;

	for (c = TAILQ_FIRST(&touched_clients); c; c = next) {
		next = TAILQ_NEXT(c, touched);
		if (draining)
			continue;
		if (c->hung_up) {
			client_hang_up(c);
		} else {
			client_buffered(c);
			client_read(c);
		}
	}
}

/* After a half-close: nothing in flight, all written, no claim that the connection still stands
 * for. */
static bool
client_done(struct client *c)
{
	return c->eof && c->n_requests == 0 && c->in.len == c->scanned &&
	    client_out_waiting(&c->out) == 0 && !grant_has_bound(c->number);
}

/* Is there something the next pass can do at once? */
static bool
client_wants_pass(struct client *c)
{
	if (draining)
		return false;
	if (c->hung_up)
		return true;
	return (c->in.len > c->scanned || (c->may_read && !c->eof)) && !client_paused(c);
}

static void
client_stall_look(void)
{
	if (!stall_timer_set)
		loop_timer_set(stall_timer, CLIENT_STALL_LOOK_MS);
	stall_timer_set = true;
}

static void
client_write(struct client *c)
{
	switch (client_out_write(&c->out)) {
	case CLIENT_OUT_WRITTEN:
		break;
	case CLIENT_OUT_WAITS:
		client_stall_look();
		break;
	case CLIENT_OUT_RESET:
		c->reset = true;
		/* fall through */
	case CLIENT_OUT_CLOSED:
		c->hung_up = true;
		break;
	}
}

/* Too long without taking anything: sooner if more than max_output waits. */
static bool
client_stalled(const struct client *c, int64_t now_ms)
{
	int64_t stalled_ms = client_out_stalled_ms(&c->out, now_ms);

	if (stalled_ms >= CLIENT_STALL_FULL_MS &&
	    client_out_waiting(&c->out) > (size_t)config->max_output)
		return true;
	return stalled_ms >= CLIENT_STALL_MS;
}

static void
client_stall_cb(void *arg)
{
	struct client *c, *next;
	int64_t now_ms = loop_now_ms();

	(void)arg;
	stall_timer_set = false;
	for (c = TAILQ_FIRST(&clients); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (client_out_waiting(&c->out) == 0)
			continue;
		if (client_stalled(
			c, now_ms)) /* one more try: it may have been this host that slept */
			client_write(c);
		if (client_stalled(c, now_ms)) {
			log_warn("cut_off",
			    "a peer of uid %ld takes no answers, closing its connection",
			    (long)c->peer.uid);
			metrics_add(METRIC_COUNT_PEER_CUT_OFF, 1);
			client_end(c, CLIENT_OURS);
		} else {
			client_touch(c);
			client_stall_look();
		}
	}
}

void
client_flush(void)
{
	struct client_list again = TAILQ_HEAD_INITIALIZER(again);
	struct client *c;

	while ((c = TAILQ_FIRST(&touched_clients))) {
		client_untouch(c);
		client_write(c);
		if (!c->hung_up && client_done(c)) {
			client_end(c, CLIENT_OURS);
		} else if (client_wants_pass(c)) {
			c->is_touched = true;
			TAILQ_INSERT_TAIL(&again, c, touched);
		}
	}
	if (!TAILQ_EMPTY(&again)) {
		TAILQ_CONCAT(&touched_clients, &again, touched);
		loop_again();
	}
	client_request_sweep();
}

void
client_init(const struct config *live_config,
    void (*bound_closed_cb)(void *arg, const struct uuid *effect, const struct uuid *token))
{
	config = live_config;
	bound_closed = bound_closed_cb;
	stall_timer = loop_timer_new(client_stall_cb, NULL);
}

void
client_new(int fd, const struct access_peer *peer)
{
	struct client *c = xcalloc(1, sizeof *c);

	assert(config && !draining);
	c->fd = fd;
	c->peer = *peer;
	c->number = ++last_number;
	TAILQ_INIT(&c->requests);
	TAILQ_INSERT_TAIL(&clients, c, link);
	gauges_set_clients(++n_clients, n_requests);
	c->readable = event_new(loop_base, fd, EV_READ | EV_ET | EV_PERSIST, client_readable_cb, c);
	client_out_init(&c->out, fd, c->number, client_writable_cb, c);
	assert(c->readable);
	if (event_add(c->readable, NULL) < 0)
		client_end(c, CLIENT_OURS);
}

unsigned
client_n(void)
{
	return n_clients;
}

unsigned
client_n_requests(void)
{
	return n_requests;
}

void
client_judge_all(const struct access *access)
{
	struct client *c;

	TAILQ_FOREACH (c, &clients, link)
		access_peer_judge(&c->peer, access);
}

void
client_drain(void)
{
	struct client_request *q, *next;
	struct client *c;

	draining = true;
	TAILQ_FOREACH (c, &clients, link) {
		for (q = TAILQ_FIRST(&c->requests); q; q = next) {
			next = TAILQ_NEXT(q, link);
			if (q->r.method->drain)
				q->r.method->drain(&q->r);
		}
	}
}

bool
client_idle(void)
{
	struct client *c;

	if (n_requests > 0)
		return false;
	TAILQ_FOREACH (c, &clients, link) {
		if (client_out_waiting(&c->out) > 0)
			return false;
	}
	return true;
}

void
client_close_all(void)
{
	struct client *c;

	while ((c = TAILQ_FIRST(&clients)))
		client_end(c, CLIENT_OURS);
	client_request_free_all();
	loop_timer_free(stall_timer);
	stall_timer = NULL;
}
