/*
 * How long to leave the ledger's server alone after failures.
 */
#ifndef EFFECTD_PGPOOL_BACKOFF_H
#define EFFECTD_PGPOOL_BACKOFF_H

#include <stdint.h>

/* After so many in a row: with jitter, 50 ms at first, 1 s at last; 0 after none. */
int64_t pgpool_backoff_ms(unsigned n_failures);

#endif
