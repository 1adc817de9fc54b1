/*
 * What a daemon has told per second, by two of its answers to info: the differences of its counts.
 */
#ifndef EFFECTD_RATES_H
#define EFFECTD_RATES_H

#include "ask.h"

#include <stdbool.h>
#include <stdint.h>

#define RATES_DECISIONS_MAX 16
#define RATES_TOOLS_MAX 100

struct rates_row {
	char *ns, *tool; /* NULL: of all tools */
	double per_s;	 /* of all decisions */
	double by_decision[RATES_DECISIONS_MAX];
};

struct rates {
	bool known;	 /* there were two answers */
	bool restarted;	 /* the daemon began anew between them */
	int64_t over_ms; /* the time between them */
	size_t n_decisions;
	char *decisions[RATES_DECISIONS_MAX];
	struct rates_row total;
	struct rates_row tools[RATES_TOOLS_MAX]; /* those with any, the quickest first */
	size_t n_tools;
	/* of the last answer */
	int64_t uptime_ms;
	struct ask_answer last;
	bool has_last;
};

/* Takes the next answer of info, with `begins`; the struct is zeroed at first. */
void rates_next(struct rates *rates, struct ask_answer *info);
void rates_free(struct rates *rates);

#endif
