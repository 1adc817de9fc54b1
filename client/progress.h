/*
 * How far a long piece of work is: on a terminal a bar that stays on its line and fits its width,
 * elsewhere a line every ten seconds, or nothing at all. On standard error.
 */
#ifndef EFFECTD_PROGRESS_H
#define EFFECTD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool quiet, terminal;
	const char *what;   /* borrowed */
	int64_t started_ms; /* of this part */
	int64_t told_ms;
	int n_shown; /* columns of the bar that is to be seen */
};

void progress_init(struct progress *p, bool quiet);
/* Another part of the work begins. */
void progress_start(struct progress *p, const char *what);
/* `share` of it is done, 0 to 1; negative: nobody knows. n_rows so far. As often as one likes. */
void progress_at(struct progress *p, double share, uint64_t n_rows);
/* Nothing is left on the terminal; before anything else is written there. */
void progress_clear(struct progress *p);

#endif
