/*
 * The ledger's side of a comparison: one tool's effects by id, page after page of the wire's
 * `scan`.
 */
#ifndef EFFECTD_PAGES_H
#define EFFECTD_PAGES_H

#include "ctl.h"
#include "match.h"

#include <stdint.h>

struct pages {
	const struct ctl *ctl;
	const char *tool, *ns; /* ns NULL: the only one */
	int64_t from_us, to_us;
	int64_t patience_ms;	       /* a page is asked for again and again for so long */
	const struct match_plan *plan; /* what is compared */
	const bool *amounts;	       /* of its `compare`: decimal numbers */
	bool (*stopped)(void);
	/* An effect; false: give up. */
	bool (*take)(void *arg, const struct match_effect *effect);
	void (*at)(void *arg, double share, uint64_t n_effects); /* after each page */
	void *arg;
	/* What was learnt. */
	uint64_t n_effects;
	int64_t installed_us, remembers_us; /* of the last page; as struct match_plan has them */
};

/* Walks all pages. The exit code; what went wrong was told, but for a stop and for what `take` gave
 * up at: then CTL_INPUT. */
int pages_walk(struct pages *pages);

#endif
