/* The lease keeper: effect_keep(), effect_keep_stop(), effect_keep_due_ms() of effect.h. */
#ifndef EFFECT_KEEP_H
#define EFFECT_KEEP_H

#include "effect_call.h"

/* Queues an extend, which ends with the lease. EFFECT_OK, EFFECT_ENOMEM or EFFECT_MISUSE. */
enum effect_kind effect_keep_extend(struct effect_ledger *ledger, struct effect_answer *grant,
    int64_t lease_ms, void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg),
    void *arg, uint64_t *ret_call);

#endif
