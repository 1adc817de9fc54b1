/* Telling what was found; for the parts of match only. */
#ifndef EFFECTD_MATCH_TELL_H
#define EFFECTD_MATCH_TELL_H

#include "buf.h"
#include "match.h"

struct match_tell {
	const struct match_plan *plan;
	void (*found)(void *arg, const struct match_finding *finding);
	void *arg;
	struct buf field, ledger, provider, words; /* of a difference, in the making */
};

void match_tell(struct match_tell *t, enum match_class class, const struct export_row *row,
    const struct match_effect *effect);
/* One of several rows; `again`: not the first of them. */
void match_tell_doubled(struct match_tell *t, const struct export_row *row,
    const struct match_effect *effect, bool again);
/* An effect that has no row. */
void match_tell_absent(struct match_tell *t, const struct match_effect *effect);
/* A row and its effect. True: it was told. False: they match, which is still to be told. */
bool match_tell_pair(
    struct match_tell *t, const struct export_row *row, const struct match_effect *effect);
void match_tell_free(struct match_tell *t);

#endif
