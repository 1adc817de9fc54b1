/*
 * The words. Promise: a command that decides is never whole. What is done with them does not belong
 * here.
 */
#include "wording.h"

#include "show.h"

#include <stdio.h>

#define EVIDENCE_BYTES 1000

static const char *
state_name(enum match_state state)
{
	static const char *const names[] = {[MATCH_PENDING] = "pending",
	    [MATCH_UNKNOWN] = "unknown",
	    [MATCH_ESCALATED] = "escalated",
	    [MATCH_RELEASED] = "released",
	    [MATCH_SUCCEEDED] = "succeeded",
	    [MATCH_FAILED] = "failed",
	    [MATCH_FORGOTTEN] = "forgotten"};

	return names[state];
}

const char *
wording_text(const struct match_finding *f)
{
	static const char *const texts[MATCH_CLASSES] = {
	    [MATCH_MATCHED] = "the provider has it, as the ledger says",
	    [MATCH_MISSING] = "the ledger says that it was done, and the provider does not have it",
	    [MATCH_BYPASSED] =
		"the provider has it, and no effect stands for it: it was done without asking",
	    [MATCH_DOUBLED] = "the provider has it more than once",
	    [MATCH_LANDED_OPEN] = "the provider has it, and the ledger waits to be told",
	    [MATCH_LANDED_RELEASED] =
		"the provider has it, and the ledger says that it did not land",
	    [MATCH_LANDED_FAILED] = "the provider has it, and the ledger says that it was refused",
	    [MATCH_DIFFERS] = "the provider's values are not those that it was asked for",
	    [MATCH_IN_FLIGHT] = "its holder is at work",
	    [MATCH_OPEN] = "nobody knows whether it landed, and the provider does not have it",
	    [MATCH_NOT_LANDED] = "it did not land, as both say",
	    [MATCH_NOT_JUDGED] = "the provider does not have it; that proves nothing here",
	    [MATCH_OUTSIDE] = "it is outside of the window",
	    [MATCH_BEFORE_MEMORY] = "it is older than what the ledger remembers"};

	if (f->class == MATCH_DOUBLED && !f->effect)
		return "the provider has it more than once, and no effect stands for this one";
	return texts[f->class];
}

/* A command to type. One that decides ends where the reason has to be typed, so that pasting it
 * decides nothing. */
static void
add_next(struct buf *out, const struct match_finding *f, const char *effect)
{
	const struct match_effect *e = f->effect;
	struct buf evidence = {0};

	if (!e || e->state == MATCH_FORGOTTEN)
		return;
	if (f->class != MATCH_LANDED_OPEN || !f->row || e->state == MATCH_PENDING) {
		buf_printf(out, "effectctl explain %s", effect);
		return;
	}
	buf_printf(&evidence, "at the provider: %s", f->row->reference);
	buf_printf(out,
	    "effectctl resolve %s --verdict landed --attempt %lld --state %s --evidence ", effect,
	    (long long)e->attempt, state_name(e->state));
	if (evidence.len > EVIDENCE_BYTES)
		evidence.len = EVIDENCE_BYTES;
	show_shell(out, buf_str(&evidence));
	buf_add_str(out, " --reason ");
	buf_free(&evidence);
}

void
wording_make(struct wording *ret, const struct match_finding *f)
{
	const struct match_effect *e = f->effect;

	*ret = (struct wording){.reference = ""};
	if (f->row) {
		ret->reference = f->row->reference;
		snprintf(ret->line, sizeof ret->line, "%llu", (unsigned long long)f->row->line);
		if (f->row->has_time)
			buf_instant(&ret->time, f->row->time_us);
	}
	if (e) {
		uuid_text(&e->id, ret->effect);
		ret->key = e->key;
		ret->state = state_name(e->state);
		snprintf(ret->attempt, sizeof ret->attempt, "%lld", (long long)e->attempt);
		buf_instant(&ret->claimed, e->claimed_us);
		if (e->has_done)
			buf_instant(&ret->done, e->done_us);
	}
	add_next(&ret->next, f, ret->effect);
}

void
wording_free(struct wording *w)
{
	buf_free(&w->time);
	buf_free(&w->claimed);
	buf_free(&w->done);
	buf_free(&w->next);
}
