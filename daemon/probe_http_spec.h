/*
 * What a policy's http probe is: where it asks, what it sends, and which answers mean what. Read
 * from the policy once, then immutable and shared by reference. Pure. Filling in the templates and
 * judging an answer is probe_judge.c's, asking is probe_http.c's.
 *
 * Templates are those of probe_template.h, with `{credential:NAME}` in headers only.
 */
#ifndef EFFECTD_PROBE_HTTP_SPEC_H
#define EFFECTD_PROBE_HTTP_SPEC_H

#include "errors.h"
#include "http_net.h"
#include "probe_template.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

#define PROBE_HTTP_STATUSES_MAX 16
#define PROBE_HTTP_VALUES_MAX 16
#define PROBE_HTTP_HEADERS_MAX 16
#define PROBE_HTTP_CREDENTIALS_MAX 8
#define PROBE_HTTP_NETS_MAX 16

/* The body's value at `pointer` must be this one. */
struct probe_http_value {
	char *pointer;
	char *text;	/* template, of a string; else canonical JSON */
	bool is_string; /* a template */
};

/* All of it must hold. */
struct probe_http_rule {
	bool given;
	long statuses[PROBE_HTTP_STATUSES_MAX]; /* one of them; n_statuses 0: any */
	size_t n_statuses;
	struct probe_http_value values[PROBE_HTTP_VALUES_MAX];
	size_t n_values;
	char *after; /* pointer of an instant not before the claim; NULL: none */
};

struct probe_http_spec {
	unsigned refs;
	char *json; /* the member as the policy has it */
	char *url;  /* template */
	struct probe_template_pair headers[PROBE_HTTP_HEADERS_MAX]; /* values are templates */
	size_t n_headers;
	struct probe_template_pair credentials[PROBE_HTTP_CREDENTIALS_MAX]; /* value: file */
	size_t n_credentials;
	struct probe_http_rule landed, failed, absent;
	char *result;  /* pointer into the body; NULL: the whole body is the result */
	char *ca_file; /* NULL: the system's */
	struct http_net nets[PROBE_HTTP_NETS_MAX];
	size_t n_nets;
};

/*
 * Reads the object `v`. NULL: *ret_pointer (relative to it) and *ret_why, both owned by the caller,
 * say what is wrong.
 */
struct probe_http_spec *probe_http_spec_parse(
    const cJSON *v, char **ret_pointer, char **ret_why) must_check;
struct probe_http_spec *probe_http_spec_ref(struct probe_http_spec *spec);
void probe_http_spec_unref(struct probe_http_spec *spec); /* NULL is fine */

/*
 * Does every `{/pointer}` stand at or under one of `keep`? False: *ret_why, owned. To be asked once
 * all of the policy is read.
 */
bool probe_http_spec_keeps(const struct probe_http_spec *spec, char *const *keep, size_t n_keep,
    char **ret_why) must_check;
/* Is `absent` said by nothing but the status? Such an answer may come from anybody on the way. */
bool probe_http_spec_absent_by_status(const struct probe_http_spec *spec);
/* Is `landed` tied to this effect (its provider key, id or key is asked for or looked at) or to a
 * time after the claim? Else an earlier effect could be taken for this one. */
bool probe_http_spec_tied(const struct probe_http_spec *spec);

#endif
