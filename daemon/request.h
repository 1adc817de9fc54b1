/*
 * One request between the line it came in and the line that answers it: the pointer along which
 * answers come up. A client (client.c) makes it, a method (methods/) answers it, neither knows the
 * other.
 *
 * Life: client parses a line -> request_new -> method->call(r). The method answers exactly once by
 * r->reply(), at once or later; with that the request is over and freed by its client at the end of
 * the pass. A method that still has something in flight then (a claim whose answer came too late)
 * keeps its own struct, never the request. If the connection ends first, the client calls
 * method->gone(r) and frees the request: the method forgets it and carries on what must be carried
 * on (complete, release, unknown, extend) or drops it (reads).
 */
#ifndef EFFECTD_REQUEST_H
#define EFFECTD_REQUEST_H

#include "access.h"
#include "buf.h"
#include "rpc.h"

#include <stdbool.h>
#include <stdint.h>

struct grant;
struct request;

struct method {
	const char *name;
	unsigned roles; /* enum access_role bits of which one is needed in the namespace meant; 0 =
			   anybody */
	void (*call)(struct request *r);
	void (*gone)(struct request *r);  /* the peer is gone; do not touch r afterwards */
	void (*drain)(struct request *r); /* the daemon is stopping: answer now if it is only
					     waiting (busy); NULL = nothing */
};

/* The table made from methods/methods.def; NULL if there is no such method. */
const struct method *method_find(const char *name);

struct request {
	struct rpc_line rpc; /* params and id; spans into line */
	char *line;	     /* owned */
	size_t len;
	const struct method *method;
	const struct access_peer *peer; /* borrowed from the connection */
	uint64_t connection; /* number of the connection in this boot, never reused; 0 = none */
	int64_t received_ms; /* loop_now_ms() */
	void *call;	     /* the method's own */
	/*
	 * Sends `line` (a whole reply, LF included; copied) and ends the request. `grant` is
	 * non-NULL where the line tells a `run`: the client then reports its fate by
	 * grant_written() or grant_unwritten().
	 */
	void (*reply)(struct request *r, const struct buf *line, struct grant *grant);
	void *client; /* the client's own */
};

#endif
