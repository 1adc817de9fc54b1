/*
 * An effect's story in words, made from the answer of `get`: what its state means, what happened,
 * what to type next. Pure.
 */
#ifndef EFFECTD_STORY_H
#define EFFECTD_STORY_H

#include "ask.h"
#include "buf.h"

/* One or two sentences on its state, escaped for a terminal, no line break at the end. `effect` is
 * the node of the object. */
void story_sentence(struct buf *out, const struct ask_answer *answer, uint32_t effect);
/*
 * Commands to type next, each line with a remark before it, for a terminal and to be pasted. One
 * that decides ends where the reason has to be typed, so that pasting alone decides nothing.
 * probed: the tool has a probe that can be run by hand.
 */
void story_next(struct buf *out, const struct ask_answer *answer, uint32_t effect, bool probed);

/* One line of the timeline; the texts are owned by it, NULL = nothing to say. */
struct story_event {
	char *at, *kind, *by, *reason;
	int64_t attempt; /* 0 = none */
	bool incident;
};

/* The newest claim and the recorded events, in the order of time. *ret_n events, to be freed by
 * story_events_free(). */
struct story_event *story_events(const struct ask_answer *answer, uint32_t effect, size_t *ret_n);
void story_events_free(struct story_event *events, size_t n);

#endif
