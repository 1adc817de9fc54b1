/*
 * The connections on which tools are executed: for each role of its own a few to the ledger's
 * server, opened when somebody waits, closed when nobody has for a while. Knows no statements. A
 * part of execution.
 */
#ifndef EFFECTD_EXECUTION_PLACE_H
#define EFFECTD_EXECUTION_PLACE_H

#include "pgconn.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct execution_place;
struct execution_lane;

/* Who wants a connection; embedded in the caller's struct, which sets `given`. */
struct execution_seat {
	TAILQ_ENTRY(execution_seat) link;
	struct execution_place *place; /* from execution_place_ask() to execution_place_leave() */
	struct execution_lane *lane;   /* NULL: it waits for one, or has let it go */
	bool waits;
	bool unresolved; /* this file's: goes before all others */
	/* Has a connection now, with nothing in flight; it sends at once, and has a call open until
	 * it lets go. Never from within execution_place_ask(). */
	void (*given)(struct execution_seat *seat, struct pgconn *conn);
};

/* Waits for a connection as `user`, in the order of asking. At most `max` are open for that user.
 * The texts are copied. */
void execution_place_ask(struct execution_seat *seat, const char *user, const char *password_file,
    unsigned max, int64_t connect_timeout_ms);
/* The connection is of use to the next one: nothing is in flight, and no transaction is open. */
void execution_place_return(struct execution_seat *seat);
/* It is not: closed, in the midst of whatever it is at. `why`: it did not let us work, which is
 * logged; may be NULL. */
void execution_place_drop(struct execution_seat *seat, const char *why);
/* It was lost: its open call ended as PGCONN_LOST. `unresolved`: what was sent may be committed,
 * and its backend at work still: that one counts as a connection until the seat leaves. */
void execution_place_lost(struct execution_seat *seat, bool unresolved);
/* The seat is of no more use. It has no connection. */
void execution_place_leave(struct execution_seat *seat);
/* Closes all; no seat may be left. */
void execution_place_stop(void);

#endif
