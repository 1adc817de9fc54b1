/*
 * One HTTP request beside the loop: libcurl's multi interface on libevent. For probes and webhooks;
 * knows neither. TLS is verified, nothing is redirected, no proxy is used whatever the environment
 * says, the answer's body is bounded, and one deadline holds for all of it, the resolver included.
 */
#ifndef EFFECTD_HTTP_H
#define EFFECTD_HTTP_H

#include "http_net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_call;

/* All of it is copied. */
struct http_spec {
	const char *url;
	const char *const *headers; /* n_headers lines "Name: value" */
	size_t n_headers;
	const char *body; /* NULL: a GET, else a POST of these bytes */
	size_t body_len;
	const char *ca_file;	     /* NULL: the system's authorities */
	const struct http_net *nets; /* n_nets; none: any address */
	size_t n_nets;
	size_t body_max; /* bytes of the answer's */
	int64_t timeout_ms;
};

struct http_result {
	const char *why; /* NULL: there is an answer; else why not, one line, without any header */
	long status;
	const char *body; /* not NUL-terminated; valid during `done` */
	size_t body_len;
};

/*
 * Starts it. `done` is called exactly once, later, from the loop, unless http_cancel() came first.
 * NULL: it could not be started, *ret_why (owned by the caller) is one line.
 */
struct http_call *http_start(const struct http_spec *spec,
    void (*done)(void *arg, const struct http_result *result), void *arg, char **ret_why);
/* Ends it; `done` is not called. */
void http_cancel(struct http_call *call);

void http_init(void); /* after loop_init() */
void http_stop(void); /* before loop_free(): cancels what still runs */

#endif
