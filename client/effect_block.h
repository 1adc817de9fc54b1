/* The blocking calls of effect.h, and the end of a ledger, which they may have to put off. */
#ifndef EFFECT_BLOCK_H
#define EFFECT_BLOCK_H

#include "effect_call.h"

/* Frees a ledger that is doomed, unless somebody further out on the stack will. */
void effect_block_free_doomed(struct effect_ledger *ledger);
/* Waits for what is being given back: the host may go away next, and a lease's end is far. */
void effect_block_give_back(struct effect_ledger *ledger);

#endif
