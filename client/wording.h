/*
 * A finding of a comparison in words, for a list, an object or an incident.
 */
#ifndef EFFECTD_WORDING_H
#define EFFECTD_WORDING_H

#include "buf.h"
#include "match.h"

/* The parts of a finding as texts. */
struct wording {
	char effect[UUID_TEXT_BYTES], line[24], attempt[24];
	struct buf time, claimed, done, next;
	const char *reference, *key, *state;
};

/* `next` is quoted for a shell, all else as it is. wording_free() ends it. */
void wording_make(struct wording *ret, const struct match_finding *f);
void wording_free(struct wording *w);
/* What it means, in a sentence; static. */
const char *wording_text(const struct match_finding *f);

#endif
