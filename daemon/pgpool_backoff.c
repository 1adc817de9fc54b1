/*
 * The pause doubles with each failure. Its jitter keeps many daemons from coming back to a server
 * at one moment.
 */
#include "pgpool_backoff.h"

#include <stdlib.h>

#define BACKOFF_FIRST_MS 50
#define BACKOFF_LAST_MS 1000

int64_t
pgpool_backoff_ms(unsigned n_failures)
{
	int64_t ms = BACKOFF_FIRST_MS;

	if (n_failures == 0)
		return 0;
	while (--n_failures > 0 && ms < BACKOFF_LAST_MS)
		ms *= 2;
	if (ms > BACKOFF_LAST_MS)
		ms = BACKOFF_LAST_MS;
	return ms / 2 + random() % (ms / 2 + 1);
}
