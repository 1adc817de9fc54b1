/*
 * What list and report share: one statement, that may take longer than other requests have, one at
 * a time.
 */
#ifndef EFFECTD_SLOW_H
#define EFFECTD_SLOW_H

#include "call.h"

/*
 * For kind->late. What is running has a time-out of its own of statement_ms, and its answer says
 * more than ours would: it is waited for, once (*past is whether it was). What has had no turn yet
 * ends by the deadline of its item, which must be the call's.
 */
void slow_late(struct call *c, int64_t statement_ms, bool *past);
/* For kind->failed. Ends the call: it took too long, had no turn, or the ledger is away. */
void slow_failed(struct call *c, int err);

#endif
