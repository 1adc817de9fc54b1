/*
 * Connections that have had no answer for long: waited for rightly, or lost? A part of pgpool.
 */
#ifndef EFFECTD_PGPOOL_STALL_H
#define EFFECTD_PGPOOL_STALL_H

#include "pgconn.h"

#include <stdint.h>

#define PGPOOL_MARK_BYTES 48

/* What is known of one connection; pgpool's slot has it. */
struct pgpool_watch {
	struct pgconn *conn; /* NULL while there is nothing to watch */
	int pid; /* as the backend itself says; differs from the protocol's behind a pooler */
	int64_t backend_start_us;
	char mark[PGPOOL_MARK_BYTES]; /* of its calls, where the backend tells nothing; else "" */
	int64_t look_ms;	      /* not asked about again before */
};

/* `watches` has n pointers and is kept until pgpool_stall_stop(), as is what conninfo() returns. */
void pgpool_stall_start(struct pgpool_watch *const *watches, unsigned n,
    const char *(*conninfo)(void), int64_t timeout_ms);
void pgpool_stall_stop(void);
/* Something is about to be sent on it: it will be looked after, until none is busy. statement_ms:
 * its own time-out, before which nothing is to be feared; 0: it has none. */
void pgpool_stall_sent(struct pgpool_watch *watch, int64_t statement_ms);

#endif
