/*
 * The output of one connection: replies gathered during a pass and written at its end, with the
 * fate of each `run` line told to its grant.
 */
#ifndef EFFECTD_CLIENT_OUT_H
#define EFFECTD_CLIENT_OUT_H

#include "buf.h"
#include "grant.h"

#include <event2/event.h>
#include <sys/queue.h>

#define CLIENT_STALL_MS 30000	  /* taking nothing for so long while output waits: cut off */
#define CLIENT_STALL_FULL_MS 1000 /* ... while more than max_output waits */
#define CLIENT_STALL_LOOK_MS 500

struct client_out_mark;

struct client_out {
	int fd; /* borrowed */
	uint64_t number;
	struct buf data;
	size_t at;			      /* written of data */
	uint64_t n_added, n_taken;	      /* bytes, over the connection's life */
	STAILQ_HEAD(, client_out_mark) marks; /* `run` lines that the kernel has not taken whole */
	struct grant *last;		      /* its line was the last thing written; held */
	int64_t taken_ms; /* when the kernel last took something, or output began to wait */
	struct event *writable;
	bool waits;  /* for the kernel */
	bool broken; /* nobody reads: what is added is dropped */
	void (*writable_cb)(void *arg);
	void *arg;
};

enum client_out_result {
	CLIENT_OUT_WRITTEN,
	CLIENT_OUT_WAITS,
	CLIENT_OUT_CLOSED,
	CLIENT_OUT_RESET
};

void client_out_init(
    struct client_out *o, int fd, uint64_t number, void (*writable_cb)(void *arg), void *arg);
/* Adds a whole line. `grant`: it tells a `run`. */
void client_out_add(struct client_out *o, const struct buf *line, struct grant *grant);
/* Hands the kernel what it takes. */
enum client_out_result client_out_write(struct client_out *o);
size_t client_out_waiting(const struct client_out *o); /* bytes */
/* For how long the peer has taken nothing although output waits; -1 = nothing waits. */
int64_t client_out_stalled_ms(const struct client_out *o, int64_t now_ms);
/* The connection ends: every grant learns its line's fate. */
void client_out_end(struct client_out *o, bool reset);
void client_out_free(struct client_out *o);

#endif
