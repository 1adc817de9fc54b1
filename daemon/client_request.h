/*
 * The requests of connections: made for a line, used again for the next one, kept until the end of
 * the pass in which they were answered.
 */
#ifndef EFFECTD_CLIENT_REQUEST_H
#define EFFECTD_CLIENT_REQUEST_H

#include "request.h"

#include <sys/queue.h>

struct client;

struct client_request {
	struct request r;
	TAILQ_ENTRY(client_request) link; /* its client's, until client_request_end() */
	struct client *client;		  /* NULL once it has ended */
	size_t line_cap;
};

TAILQ_HEAD(client_requests, client_request);

/* One for the line (copied), as yet of nobody. */
struct client_request *client_request_new(const char *line, size_t len);
/* It was never begun: its memory is for the next one at once. */
void client_request_drop(struct client_request *q);
/* Answered or given up: its method may still be on the stack, so it goes at client_request_sweep().
 * Linked nowhere. */
void client_request_end(struct client_request *q);
/* The end of the pass. */
void client_request_sweep(void);
/* Gives all memory back. */
void client_request_free_all(void);

#endif
