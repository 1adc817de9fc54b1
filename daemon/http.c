/*
 * libcurl says which sockets and which time it waits for; both are events of the loop. A call that
 * has ended is told from a timer of its own, never from within a function of libcurl's, which must
 * not be called back there.
 *
 * Memory: the calls are this file's, each until it was told or cancelled.
 */
#include "http.h"

#include "alloc.h"
#include "buf.h"
#include "log.h"
#include "loop.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define WHY_BYTES (CURL_ERROR_SIZE + 64)

struct http_call {
	LIST_ENTRY(http_call) link;
	CURL *easy;
	struct curl_slist *headers;
	struct http_net *nets;
	size_t n_nets, body_max;
	struct buf body;
	bool too_much, ended;
	char error[CURL_ERROR_SIZE];
	char why[WHY_BYTES];
	struct loop_timer *end_timer;
	void (*done)(void *arg, const struct http_result *result);
	void *arg;
};

static CURLM *multi;
static struct loop_timer *multi_timer;
static LIST_HEAD(, http_call) calls = LIST_HEAD_INITIALIZER(calls);

static void
call_free(struct http_call *c)
{
	LIST_REMOVE(c, link);
	if (c->easy) {
		curl_multi_remove_handle(multi, c->easy);
		curl_easy_cleanup(c->easy);
	}
	curl_slist_free_all(c->headers);
	loop_timer_free(c->end_timer);
	buf_free(&c->body);
	free(c->nets);
	free(c);
}

/* ---- what libcurl asks for ---- */

static size_t
body_cb(char *data, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;

	if (size * n > c->body_max - c->body.len) {
		c->too_much = true;
		return 0;
	}
	buf_add(&c->body, data, size * n);
	return size * n;
}

/* The address that is connected to is the one that is judged: a name that resolves to another one
 * the next time gains nothing. */
static curl_socket_t
open_cb(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct http_call *c = arg;
	bool allowed = c->n_nets == 0;

	(void)purpose;
	for (size_t i = 0; i < c->n_nets && !allowed; i++)
		allowed = http_net_holds(&c->nets[i], &a->addr);
	if (!allowed) {
		snprintf(c->why, sizeof c->why, "its address is not among 'addresses'");
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static void
look_at_ended(void)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(multi, &left))) {
		struct http_call *c;
		CURLcode rc = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		if (c->too_much)
			snprintf(c->why, sizeof c->why, "the answer has more than %zu bytes",
			    c->body_max);
		else if (rc != CURLE_OK && !c->why[0])
			snprintf(c->why, sizeof c->why, "%s",
			    c->error[0] ? c->error : curl_easy_strerror(rc));
		else if (rc == CURLE_OK)
			c->why[0] = '\0';
		c->ended = true;
		loop_timer_set(c->end_timer, 0);
	}
}

static void
socket_event_cb(evutil_socket_t fd, short what, void *arg)
{
	int running, mask = 0;

	(void)arg;
	if (what & EV_READ)
		mask |= CURL_CSELECT_IN;
	if (what & EV_WRITE)
		mask |= CURL_CSELECT_OUT;
	curl_multi_socket_action(multi, fd, mask, &running);
	look_at_ended();
}

static int
socket_cb(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct event *event = socket_arg;
	short events = EV_PERSIST;

	(void)easy;
	(void)arg;
	if (event)
		event_free(event);
	event = NULL;
	if (what != CURL_POLL_REMOVE) {
		events |= (what & CURL_POLL_IN) ? EV_READ : 0;
		events |= (what & CURL_POLL_OUT) ? EV_WRITE : 0;
		event = event_new(loop_base, fd, events, socket_event_cb, NULL);
		if (!event)
			alloc_out_of_memory();
		event_add(event, NULL);
	}
	curl_multi_assign(multi, fd, event);
	return 0;
}

static void
multi_timer_cb(void *arg)
{
	int running;

	(void)arg;
	curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
	look_at_ended();
}

/* Only arms it: libcurl must not be called from here. */
static int
timer_cb(CURLM *m, long in_ms, void *arg)
{
	(void)m;
	(void)arg;
	if (in_ms < 0)
		loop_timer_clear(multi_timer);
	else
		loop_timer_set(multi_timer, in_ms);
	return 0;
}

/* ---- verbs ---- */

static void
end_cb(void *arg)
{
	struct http_call *c = arg;
	struct http_result result = {.why = c->why[0] ? c->why : NULL};

	assert(c->ended);
	if (!result.why) {
		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &result.status);
		result.body = c->body.data;
		result.body_len = c->body.len;
	}
	c->done(c->arg, &result);
	call_free(c);
}

/* Every option by itself: one that this libcurl does not know must not be left out in silence. */
#define SET(option, value) (rc = rc == CURLE_OK ? curl_easy_setopt(c->easy, option, value) : rc)

static CURLcode
call_options(struct http_call *c, const struct http_spec *spec)
{
	CURLcode rc = CURLE_OK;

	SET(CURLOPT_PRIVATE, (void *)c);
	SET(CURLOPT_ERRORBUFFER, c->error);
	SET(CURLOPT_URL, spec->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (spec->ca_file)
		SET(CURLOPT_CAINFO, spec->ca_file);
	SET(CURLOPT_NOSIGNAL, 1L);
	/* 0 would be libcurl's own ideas */
	SET(CURLOPT_TIMEOUT_MS, spec->timeout_ms > 0 ? (long)spec->timeout_ms : 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, spec->timeout_ms > 0 ? (long)spec->timeout_ms : 1L);
	/* a connection of its own for each: what a provider closes idle is no failed probe */
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_FRESH_CONNECT, 1L);
	SET(CURLOPT_OPENSOCKETFUNCTION, open_cb);
	SET(CURLOPT_OPENSOCKETDATA, c);
	SET(CURLOPT_WRITEFUNCTION, body_cb);
	SET(CURLOPT_WRITEDATA, c);
	SET(CURLOPT_HTTPHEADER, c->headers);
	SET(CURLOPT_USERAGENT, "effectd/" PACKAGE_VERSION);
	if (spec->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)spec->body_len);
		SET(CURLOPT_COPYPOSTFIELDS, spec->body);
	}
	return rc;
}

struct http_call *
http_start(const struct http_spec *spec, void (*done)(void *arg, const struct http_result *result),
    void *arg, char **ret_why)
{
	struct http_call *c = xcalloc(1, sizeof *c);
	CURLcode rc;
	CURLMcode mrc = CURLM_OK;

	assert(multi && spec->timeout_ms >= 0);
	LIST_INSERT_HEAD(&calls, c, link);
	c->done = done;
	c->arg = arg;
	c->body_max = spec->body_max;
	c->end_timer = loop_timer_new(end_cb, c);
	if (spec->n_nets > 0) {
		c->nets = xcalloc(spec->n_nets, sizeof *c->nets);
		memcpy(c->nets, spec->nets, spec->n_nets * sizeof *c->nets);
		c->n_nets = spec->n_nets;
	}
	for (size_t i = 0; i < spec->n_headers; i++) {
		struct curl_slist *longer = curl_slist_append(c->headers, spec->headers[i]);

		if (!longer)
			alloc_out_of_memory();
		c->headers = longer;
	}
	c->easy = curl_easy_init();
	if (!c->easy)
		alloc_out_of_memory();
	rc = call_options(c, spec);
	if (rc == CURLE_OK)
		mrc = curl_multi_add_handle(multi, c->easy);
	if (rc == CURLE_OK && mrc == CURLM_OK)
		return c;
	*ret_why = xstrdup(rc != CURLE_OK ? curl_easy_strerror(rc) : curl_multi_strerror(mrc));
	call_free(c);
	return NULL;
}

void
http_cancel(struct http_call *c)
{
	call_free(c);
}

void
http_init(void)
{
	CURLcode rc = curl_global_init(CURL_GLOBAL_DEFAULT);

	assert(rc == CURLE_OK && !multi);
	(void)rc;
	multi = curl_multi_init();
	if (!multi)
		alloc_out_of_memory();
	multi_timer = loop_timer_new(multi_timer_cb, NULL);
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_cb);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_cb);
}

void
http_stop(void)
{
	struct http_call *c;

	if (!multi)
		return;
	while ((c = LIST_FIRST(&calls)))
		call_free(c);
	curl_multi_cleanup(multi);
	multi = NULL;
	loop_timer_free(multi_timer);
	multi_timer = NULL;
	curl_global_cleanup();
}
