/*
 * What was counted goes to the ledger in the background, every few seconds, each count once: a
 * flush is frozen under a number, sent until it is acknowledged, and added by the ledger once
 * however often it came. What is counted meanwhile waits for the next. A flush also says that this
 * daemon is alive.
 */
#ifndef EFFECTD_FLUSH_H
#define EFFECTD_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

void flush_start(void);
/* The daemon is stopping, all is answered: what is left is sent now, and with the last of it the
 * ledger is told that this boot has ended. */
void flush_end(void);
/* Is it known there, or refused for good? */
bool flush_ended(void);
/* Says in the log what is lost, if anything is. Sends nothing more. */
void flush_stop(void);

/* When the ledger last acknowledged one (Unix microseconds by this host's clock; 0 = never), and
 * how many entries it does not have yet. */
int64_t flush_at_us(void);
unsigned flush_pending(void);

#endif
