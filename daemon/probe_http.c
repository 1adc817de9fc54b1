/*
 * The http probe. Reads the credentials anew for each, as they are rotated under us; they stand in
 * headers only and in no reason. What the answer means is probe_judge.c's, the wire is
 * http.c's.
 */
#include "probe_http.h"

#include "alloc.h"
#include "credential.h"
#include "http.h"
#include "probe_http_spec.h"
#include "probe_judge.h"
#include "probe_template.h"

#include <stdlib.h>

#define BODY_BYTES_MAX 262144

struct probe_http {
	struct http_call *call;
	struct probe_http_spec *spec;
	struct probe_ask ask; /* its texts are below */
	char *ns, *tool, *key, *kept;
	void (*done)(void *arg, const struct probe_answer *answer);
	void *arg;
};

/* What goes out. */
struct outgoing {
	char *credentials[PROBE_HTTP_CREDENTIALS_MAX];
	char *headers[PROBE_HTTP_HEADERS_MAX];
	struct buf url;
};

static void
probe_http_free(struct probe_http *p)
{
	probe_http_spec_unref(p->spec);
	free(p->ns);
	free(p->tool);
	free(p->key);
	free(p->kept);
	free(p);
}

static void
probe_http_call_cb(void *arg, const struct http_result *result)
{
	struct probe_answer answer = {.verdict = PROBE_INCONCLUSIVE, .reason = result->why};
	struct probe_http *p = arg;
	char *reason = NULL;

	if (!result->why)
		answer = probe_judge_http(
		    p->spec, &p->ask, result->status, result->body, result->body_len, &reason);
	p->done(p->arg, &answer);
	free(reason);
	probe_http_free(p);
}

static bool
fill(struct outgoing *o, const struct probe_http_spec *spec, const struct probe_ask *ask,
    char **ret_why)
{
	struct probe_template_values values = {.ask = ask,
	    .credentials = spec->credentials,
	    .credential_texts = o->credentials,
	    .n_credentials = spec->n_credentials};

	for (size_t i = 0; i < spec->n_credentials; i++) {
		char *why = NULL;

		o->credentials[i] = credential_read(spec->credentials[i].value, &why);
		if (!o->credentials[i])
			*ret_why =
			    xasprintf("the credential '%s' %s", spec->credentials[i].name, why);
		free(why);
		if (!o->credentials[i])
			return false;
	}
	for (size_t i = 0; i < spec->n_headers; i++) {
		struct buf line = {0};
		bool filled;

		buf_printf(&line, "%s: ", spec->headers[i].name);
		filled = probe_template_fill(spec->headers[i].value, &values, &line, ret_why);
		if (filled)
			o->headers[i] = xstrdup(buf_str(&line));
		buf_free(&line);
		if (!filled)
			return false;
	}
	values.encode = true;
	values.n_credentials = 0;
	return probe_template_fill(spec->url, &values, &o->url, ret_why);
}

static void
outgoing_free(struct outgoing *o)
{
	for (size_t i = 0; i < PROBE_HTTP_CREDENTIALS_MAX; i++)
		free(o->credentials[i]);
	for (size_t i = 0; i < PROBE_HTTP_HEADERS_MAX; i++)
		free(o->headers[i]);
	buf_free(&o->url);
}

struct probe_http *
probe_http_start(const struct probe_ask *ask,
    void (*done)(void *arg, const struct probe_answer *answer), void *arg, char **ret_why)
{
	struct probe_http *p = xcalloc(1, sizeof *p);
	struct outgoing o = {0};

	p->spec = probe_http_spec_ref(ask->http);
	p->ask = *ask;
	p->ask.ns = p->ns = xstrdup(ask->ns);
	p->ask.tool = p->tool = xstrdup(ask->tool);
	p->ask.key = p->key = xstrdup(ask->key);
	p->kept = ask->kept ? xstrdup(ask->kept) : NULL;
	p->ask.kept = p->kept;
	p->done = done;
	p->arg = arg;
	if (fill(&o, p->spec, ask, ret_why))
		p->call = http_start(&(struct http_spec){.url = buf_str(&o.url),
					 .headers = (const char *const *)o.headers,
					 .n_headers = p->spec->n_headers,
					 .ca_file = p->spec->ca_file,
					 .nets = p->spec->nets,
					 .n_nets = p->spec->n_nets,
					 .body_max = BODY_BYTES_MAX,
					 .timeout_ms = ask->timeout_ms},
		    probe_http_call_cb, p, ret_why);
	outgoing_free(&o);
	if (p->call)
		return p;
	probe_http_free(p);
	return NULL;
}

void
probe_http_cancel(struct probe_http *p)
{
	http_cancel(p->call);
	probe_http_free(p);
}
