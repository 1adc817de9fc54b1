/*
 * A grant: the answer `run`, for how long its call may start, how long its lease lasts, and the
 * ticket with which it can be given back at any time.
 */
#ifndef EFFECT_GRANT_H
#define EFFECT_GRANT_H

#include "effect_call.h"

/* Milliseconds in which the call of this `run` may start, from when its line was sent. */
int64_t effect_grant_span_ms(const struct effect_json_span *result);
/*
 * Makes a grant of the answer to `begin`, which becomes its ticket. False: no memory; nothing has
 * changed. `fire` is called by its timer (effect_keep.c).
 */
bool effect_grant_init(struct effect_answer *answer, struct effect_call *begin);
/* Gives it back by its ticket; it is EFFECT_LATE from then on, and no grant. */
void effect_grant_give_back(struct effect_answer *answer, const char *reason);
/* The raw strings to report with. False: it is no grant, and never was. */
bool effect_grant_ids(const struct effect_answer *answer, struct effect_json_span *ret_effect,
    struct effect_json_span *ret_token);
/* An extend of `lease_ms` (0 = the policy's) that was sent then was granted. */
void effect_grant_extended(
    struct effect_ledger *ledger, uint64_t serial, int64_t sent_ms, int64_t lease_ms);
/* When the next extend is due: a third of the lease after its last one. */
int64_t effect_grant_due_ms(const struct effect_answer *answer);
/* All grants of a ledger that ends: they can be read on, and reported by another ledger. */
void effect_grant_orphan_all(struct effect_ledger *ledger);

#endif
