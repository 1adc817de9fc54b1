/*
 * The pool of requests. Promise: a line costs no allocation once the pool is warm, and a large
 * line's memory is not kept. Owns the requests that are in no connection's hands.
 */
#include "client_request.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_MIN 512
#define LINE_KEEP_BYTES 4096 /* a spare request's larger line is given back, */
#define NODES_KEEP 256	     /* and so are more nodes */
#define SPARE_MAX 1024	     /* requests kept for the next lines */

static struct client_requests ended = TAILQ_HEAD_INITIALIZER(ended);
static struct client_requests spare = TAILQ_HEAD_INITIALIZER(spare);
static unsigned n_spare;

struct client_request *
client_request_new(const char *line, size_t len)
{
	struct client_request *q = TAILQ_FIRST(&spare);

	if (q) {
		TAILQ_REMOVE(&spare, q, link);
		n_spare--;
	} else {
		q = xcalloc(1, sizeof *q);
	}
	if (len + 1 > q->line_cap) {
		q->line_cap = len + 1 < LINE_BYTES_MIN ? LINE_BYTES_MIN : len + 1;
		free(q->r.line);
		q->r.line = xmalloc(q->line_cap);
	}
	memcpy(q->r.line, line, len);
	q->r.line[len] = '\0';
	q->r.len = len;
	q->r.client = q;
	q->r.call = NULL;
	q->r.method = NULL;
	return q;
}

static void
client_request_free(struct client_request *q)
{
	rpc_line_free(&q->r.rpc);
	free(q->r.line);
	free(q);
}

void
client_request_drop(struct client_request *q)
{
	if (n_spare >= SPARE_MAX) {
		client_request_free(q);
		return;
	}
	if (q->r.rpc.doc.cap_nodes > NODES_KEEP)
		rpc_line_free(&q->r.rpc);
	else
		rpc_line_clear(&q->r.rpc);
	if (q->line_cap > LINE_KEEP_BYTES) {
		free(q->r.line);
		q->r.line = NULL;
		q->line_cap = 0;
	}
	TAILQ_INSERT_HEAD(&spare, q, link);
	n_spare++;
}

void
client_request_end(struct client_request *q)
{
	q->client = NULL;
	TAILQ_INSERT_TAIL(&ended, q, link);
}

void
client_request_sweep(void)
{
	struct client_request *q;

	while ((q = TAILQ_FIRST(&ended))) {
		TAILQ_REMOVE(&ended, q, link);
		client_request_drop(q);
	}
}

void
client_request_free_all(void)
{
	struct client_request *q;

	client_request_sweep();
	while ((q = TAILQ_FIRST(&spare))) {
		TAILQ_REMOVE(&spare, q, link);
		client_request_free(q);
	}
	n_spare = 0;
}
