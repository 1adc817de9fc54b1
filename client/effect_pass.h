/* The socket's turn: what came is read and judged, what is due is done, what waits is sent. */
#ifndef EFFECT_PASS_H
#define EFFECT_PASS_H

#include "effect_call.h"

/* One pass, with what poll() said. Never blocks. Not to be called in a pass. */
void effect_pass(struct effect_ledger *ledger, int revents);
/* What the next pass should wait for: poll bits, and milliseconds (-1: nothing, 0: at once). */
int effect_pass_events(const struct effect_ledger *ledger);
int effect_pass_timeout_ms(const struct effect_ledger *ledger);

#endif
