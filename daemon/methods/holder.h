/*
 * The three messages of a claim's holder beside complete: release, unknown, extend. They differ in
 * one member of their params and in one of their result.
 */
#ifndef EFFECTD_HOLDER_H
#define EFFECTD_HOLDER_H

#include "batch.h"
#include "buf.h"
#include "request.h"

struct holder_method {
	const struct batch_statement *statement;
	bool has_reason; /* else it has lease_ms */
	bool settles;	 /* the claim is over: its grant is forgotten */
	bool wakes;	 /* the effect changes: who waits for it asks again */
	bool makes_due;	 /* the sweeper has something to do */
	void (*value)(struct buf *out, const struct batch_row *row); /* adds the last member */
};

void holder_call(struct request *r, const struct holder_method *m);

#endif
