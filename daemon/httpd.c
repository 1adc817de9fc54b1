/*
 * evhttp does the protocol. What it does not do stands here: it neither bounds the number of its
 * connections nor their life, and tells nobody when one ends. So each gets its bufferevent from us,
 * with a reference of ours on it: evhttp's own free takes its callbacks off it, which the next end
 * of a pass sees. While all slots are taken the listener rests, and whoever comes waits in the
 * kernel's queue.
 *
 * Owns the page that was rendered last; replies hold references to it.
 */
#include "httpd.h"

#include "alloc.h"
#include "buf.h"
#include "log.h"
#include "loop.h"
#include "loopback.h"
#include "pgpool.h"
#include "scrape.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#define CONNECTIONS_MAX 16
#define FEW_FDS 512 /* fewer descriptors than this: */
#define CONNECTIONS_MAX_FEW 2
#define PAUSE_MS 500 /* out of descriptors: the next try */
#define BACKLOG 128
#define HEADERS_BYTES_MAX 8192
#define BODY_BYTES_MAX 1024 /* of requests, which have none */
#define IDLE_S 5	    /* without a byte read or written */
#define LIFE_MS 15000	    /* however busy */
#define PAGE_MS 100	    /* scrapes that are closer together share a page */
#define ANY_METHOD 0xffff
#define STATUS_MISDIRECTED 421
#define EXIT_HELD 73

struct page {
	unsigned refs;
	struct buf text;
};

struct slot {
	struct bufferevent *bev; /* NULL: free */
	int64_t until_ms;
};

static struct evhttp *http;
static struct evconnlistener *listener; /* http's */
static struct slot slots[CONNECTIONS_MAX];
static unsigned n_taken, slots_max;
static struct loop_timer *life_timer, *pause_timer;
static struct page *page;
static int64_t page_ms;

/* ---- the page ---- */

static void
page_unref(struct page *p)
{
	if (!p || --p->refs > 0)
		return;
	buf_free(&p->text);
	free(p);
}

static void
page_unref_cb(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	page_unref(arg);
}

static struct page *
page_now(void)
{
	int64_t now_ms = loop_now_ms();

	if (page && now_ms - page_ms < PAGE_MS)
		return page;
	page_unref(page);
	page = xcalloc(1, sizeof *page);
	page->refs = 1;
	page_ms = now_ms;
	scrape_page(&page->text);
	return page;
}

/* ---- replies ---- */

static void
reply(struct evhttp_request *req, int status, const char *reason, struct evbuffer *body)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req);

	evhttp_add_header(headers, "Connection", "close");
	evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_send_reply(req, status, reason, body);
	evbuffer_free(body);
}

static void
reply_text(struct evhttp_request *req, int status, const char *reason, const char *text)
{
	struct evbuffer *body = evbuffer_new();

	assert(body);
	evbuffer_add_printf(body, "%s\n", text);
	evhttp_add_header(
	    evhttp_request_get_output_headers(req), "Content-Type", "text/plain; charset=utf-8");
	reply(req, status, reason, body);
}

static void
reply_metrics(struct evhttp_request *req)
{
	struct evbuffer *body = evbuffer_new();
	struct page *p = page_now();

	assert(body);
	p->refs++;
	if (evbuffer_add_reference(body, p->text.data, p->text.len, page_unref_cb, p) < 0)
		page_unref(p);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Type",
	    "text/plain; version=0.0.4; charset=utf-8");
	reply(req, HTTP_OK, "OK", body);
}

static void
reply_ready(struct evhttp_request *req)
{
	const struct pgpool_status *status = pgpool_status();
	struct buf text = {0};

	if (status->up) {
		reply_text(req, HTTP_OK, "OK", "ready");
		return;
	}
	buf_add_str(&text, "not ready: the ledger is away since ");
	buf_instant(&text, status->since_us);
	buf_printf(&text, ": %s", status->error[0] ? status->error : "not connected yet");
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\n')
			text.data[i] = ' ';
	reply_text(req, HTTP_SERVUNAVAIL, "Service Unavailable", buf_str(&text));
	buf_free(&text);
}

/* A page in a browser of this host can have its own name lead to the loopback, and would then read
 * what is served here: it is known by that name. Whoever means this port says an address. */
static bool
is_meant_here(struct evhttp_request *req)
{
	const char *host = evhttp_request_get_host(req);
	struct in_addr address;

	return !host || host[0] == '[' || strcasecmp(host, "localhost") == 0 ||
	    inet_pton(AF_INET, host, &address) == 1;
}

static void
request_cb(struct evhttp_request *req, void *arg)
{
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(req));
	bool metrics = path && strcmp(path, "/metrics") == 0;
	bool health = path && strcmp(path, "/healthz") == 0;
	bool ready = path && strcmp(path, "/readyz") == 0;

	(void)arg;
	if (!is_meant_here(req)) {
		reply_text(req, STATUS_MISDIRECTED, "Misdirected Request",
		    "the host must be an address or localhost");
	} else if (!metrics && !health && !ready) {
		reply_text(req, HTTP_NOTFOUND, "Not Found",
		    "there are /metrics, /healthz and /readyz, and nothing else");
	} else if (evhttp_request_get_command(req) != EVHTTP_REQ_GET) {
		evhttp_add_header(evhttp_request_get_output_headers(req), "Allow", "GET");
		reply_text(req, HTTP_BADMETHOD, "Method Not Allowed", "GET only");
	} else if (metrics) {
		reply_metrics(req);
	} else if (ready) {
		reply_ready(req);
	} else {
		reply_text(req, HTTP_OK, "OK", "ok");
	}
}

/* ---- connections ---- */

static void
slot_give_back(struct slot *s)
{
	bufferevent_decref(s->bev);
	s->bev = NULL;
	n_taken--;
}

/* Has evhttp given the connection up? */
static bool
slot_over(const struct slot *s)
{
	void *connection = NULL;

	bufferevent_getcb(s->bev, NULL, NULL, NULL, &connection);
	return connection == NULL;
}

static void
listen_if_room(void)
{
	if (listener && n_taken < slots_max && !loop_timer_armed(pause_timer))
		evconnlistener_enable(listener);
}

void
httpd_look(void)
{
	if (n_taken == 0)
		return;
	for (struct slot *s = slots; s < slots + CONNECTIONS_MAX; s++)
		if (s->bev && slot_over(s))
			slot_give_back(s);
	listen_if_room();
}

/* A connection that is cut here is evhttp's to end: it sees the end of its stream. */
static void
life_cb(void *arg)
{
	int64_t now_ms = loop_now_ms(), next_ms = INT64_MAX;

	(void)arg;
	for (struct slot *s = slots; s < slots + CONNECTIONS_MAX; s++) {
		if (!s->bev)
			continue;
		if (s->until_ms <= now_ms) {
			shutdown(bufferevent_getfd(s->bev), SHUT_RDWR);
			s->until_ms = now_ms + LIFE_MS;
		}
		if (s->until_ms < next_ms)
			next_ms = s->until_ms;
	}
	if (next_ms != INT64_MAX)
		loop_timer_set(life_timer, next_ms - now_ms);
}

/* evhttp asks for it right after it has accepted one. */
static struct bufferevent *
connection_cb(struct event_base *base, void *arg)
{
	struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	struct slot *s = slots;

	(void)arg;
	assert(bev && n_taken < slots_max);
	while (s->bev)
		s++;
	bufferevent_incref(bev);
	*s = (struct slot){.bev = bev, .until_ms = loop_now_ms() + LIFE_MS};
	if (++n_taken == slots_max)
		evconnlistener_disable(listener);
	if (!loop_timer_armed(life_timer))
		loop_timer_set(life_timer, LIFE_MS);
	return bev;
}

/* ---- the listener ---- */

static void
pause_cb(void *arg)
{
	(void)arg;
	listen_if_room();
}

/* No descriptor is left, say: whoever asks for one stays in the queue, and is not asked about in
 * each pass. */
static void
accept_failed_cb(struct evconnlistener *failed, void *arg)
{
	(void)arg;
	evconnlistener_disable(failed);
	loop_timer_set(pause_timer, PAUSE_MS);
}

static unsigned
connections_max(void)
{
	struct rlimit limit;
	bool few = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FEW_FDS;

	return few ? CONNECTIONS_MAX_FEW : CONNECTIONS_MAX;
}

unsigned
httpd_fds_max(void)
{
	return listener ? slots_max + 1 : 0;
}

static void
say_where(const struct config *config)
{
	struct sockaddr_in6 bound = {0}; /* or a sockaddr_in, whose port is at the same place */
	socklen_t len = sizeof bound;

	static_assert(
	    offsetof(struct sockaddr_in6, sin6_port) == offsetof(struct sockaddr_in, sin_port),
	    "a port is where it is");
	if (getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&bound, &len) < 0)
		return;
	log_info("metrics", "metrics are at http://%.*s:%u/metrics",
	    (int)(strrchr(config->metrics_listen, ':') - config->metrics_listen),
	    config->metrics_listen, ntohs(bound.sin6_port));
}

int
httpd_open(const struct config *config, char **ret_error)
{
	const struct timeval idle = {.tv_sec = IDLE_S};
	struct sockaddr_storage address;
	socklen_t len;

	assert(!http);
	if (!*config->metrics_listen)
		return 0;
	if (!loopback_parse(config->metrics_listen, &address, &len))
		assert(!"config_load() lets only such through");
	listener = evconnlistener_new_bind(loop_base, NULL, NULL,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, BACKLOG,
	    (struct sockaddr *)&address, (int)len);
	if (!listener) {
		int why = errno;

		*ret_error = xasprintf(
		    "cannot listen on '%s' for metrics: %s", config->metrics_listen, strerror(why));
		return why == EADDRINUSE ? EXIT_HELD : EX_OSERR;
	}
	http = evhttp_new(loop_base);
	assert(http);
	evhttp_set_max_headers_size(http, HEADERS_BYTES_MAX);
	evhttp_set_max_body_size(http, BODY_BYTES_MAX);
	evhttp_set_allowed_methods(http, ANY_METHOD);
	evhttp_set_timeout_tv(http, &idle);
	evhttp_set_bevcb(http, connection_cb, NULL);
	evhttp_set_gencb(http, request_cb, NULL);
	slots_max = connections_max();
	life_timer = loop_timer_new(life_cb, NULL);
	pause_timer = loop_timer_new(pause_cb, NULL);
	evconnlistener_set_error_cb(listener, accept_failed_cb);
	if (!evhttp_bind_listener(http, listener))
		assert(!"no memory");
	say_where(config);
	return 0;
}

void
httpd_stop(void)
{
	if (!http)
		return;
	evhttp_free(http);
	http = NULL;
	listener = NULL;
	for (struct slot *s = slots; s < slots + CONNECTIONS_MAX; s++)
		if (s->bev)
			slot_give_back(s);
	loop_timer_free(life_timer);
	loop_timer_free(pause_timer);
	life_timer = pause_timer = NULL;
	page_unref(page);
	page = NULL;
}
