/* What an answer means for the call that it answers. */
#ifndef EFFECT_JUDGE_H
#define EFFECT_JUDGE_H

#include "effect_call.h"

/* `call` is answered by `wire`, whose spans are valid until this returns. May call back. */
void effect_judge(struct effect_call *call, const struct effect_wire *wire);
/*
 * An error that names no call: some line that is not answered yet was too long for this daemon, and
 * if any, then the longest. Nobody's, if no line can have been.
 */
void effect_judge_nameless(struct effect_ledger *ledger, const struct effect_wire *wire);

#endif
