/* The second pass, by business key, over what the first one leaves; for match.c only. */
#ifndef EFFECTD_MATCH_REST_H
#define EFFECTD_MATCH_REST_H

#include "match_tell.h"

struct match_rest;

/* `tell` is borrowed. */
struct match_rest *match_rest_new(struct match_tell *tell);
void match_rest_free(struct match_rest *rest); /* NULL is fine */
/* All three: false: match_rest_why(). */
/* What of a row was told already. */
enum match_rest_told { MATCH_REST_NOTHING, MATCH_REST_CLASS, MATCH_REST_DOUBLED };
/* A row of no effect yet (NULL), or of one. */
bool match_rest_row(struct match_rest *rest, const struct export_row *row,
    const struct match_effect *effect, enum match_rest_told told);
/* An effect that has no row yet. */
bool match_rest_effect(struct match_rest *rest, const struct match_effect *effect);
/* first_claim_us: of all effects. `stopped` as in match_end(). */
bool match_rest_end(struct match_rest *rest, int64_t first_claim_us, bool (*stopped)(void));
const char *match_rest_why(const struct match_rest *rest);

#endif
