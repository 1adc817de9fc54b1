/* What the SQLSTATE of a refused call means for its items, and when they are tried again. A part of
 * batch; pure. */
#ifndef EFFECTD_BATCH_SQLSTATE_H
#define EFFECTD_BATCH_SQLSTATE_H

#include "batch.h"

enum batch_action {
	BATCH_AGAIN,	 /* nothing is wrong with it: after a pause */
	BATCH_CONTENDED, /* others are at its rows: again, and apart if that goes on */
	BATCH_RECHECK,	 /* the schema changes under us: look at it, then again */
	BATCH_READ_ONLY, /* not this server: elsewhere */
	BATCH_DROP,	 /* the connection is of no use: elsewhere, as one that was lost */
	BATCH_HALVE,	 /* one of its items is refused: find it */
	BATCH_TIMED_OUT	 /* the slow statement's own limit */
};

enum batch_action batch_sqlstate_action(
    const char *sqlstate, const char *message, enum batch_kind kind, unsigned n);
/* The pause before a lot that came back n_tries times goes again. */
int64_t batch_sqlstate_pause_ms(unsigned n_tries);

#endif
