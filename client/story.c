/*
 * The words of explain. Promise: nothing is guessed: each sentence says what the ledger has, and no
 * advice ever names a new key. Texts of the wire are escaped here; layout is ctl_explain.c's.
 */
#include "story.h"

#include "alloc.h"
#include "show.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The members that the words need; owned. */
struct effect {
	char *id, *state, *outcome, *by, *owner, *claimed_at, *lease_until, *since, *due_at,
	    *done_at, *result_state, *protected_until;
	int64_t attempt;
};

static const struct {
	const char *name;
	size_t offset;
} texts[] = {
    {"effect", offsetof(struct effect, id)},
    {"state", offsetof(struct effect, state)},
    {"outcome", offsetof(struct effect, outcome)},
    {"by", offsetof(struct effect, by)},
    {"owner", offsetof(struct effect, owner)},
    {"claimed_at", offsetof(struct effect, claimed_at)},
    {"lease_until", offsetof(struct effect, lease_until)},
    {"since", offsetof(struct effect, since)},
    {"due_at", offsetof(struct effect, due_at)},
    {"done_at", offsetof(struct effect, done_at)},
    {"result_state", offsetof(struct effect, result_state)},
    {"protected_until", offsetof(struct effect, protected_until)},
};

static char **
field(struct effect *e, size_t i)
{
	return (char **)((char *)e + texts[i].offset);
}

static void
read_effect(struct effect *e, const struct ask_answer *answer, uint32_t node)
{
	struct buf safe = {0};
	char *text;

	*e = (struct effect){0};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		text = ask_text(answer, node, texts[i].name);
		if (text) {
			buf_clear(&safe);
			show_text(&safe, text, strlen(text));
			*field(e, i) = xstrdup(buf_str(&safe));
		}
		free(text);
	}
	(void)!ask_int(answer, node, "attempt", &e->attempt);
	buf_free(&safe);
}

static void
clear_effect(struct effect *e)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(*field(e, i));
}

static const char *
or_unknown(const char *text)
{
	return text ? text : "?";
}

static bool
is(const char *text, const char *word)
{
	return text && !strcmp(text, word);
}

static void
say_done(struct buf *out, const struct effect *e)
{
	buf_printf(out, "Done: attempt %lld %s at %s, decided by ", (long long)e->attempt,
	    is(e->outcome, "failed") ? "failed for good" : "succeeded", or_unknown(e->done_at));
	if (is(e->by, "caller"))
		buf_add_str(out, "its caller.");
	else if (is(e->by, "probe"))
		buf_add_str(out, "a probe of the provider.");
	else if (is(e->by, "operator"))
		buf_add_str(out, "an operator.");
	else
		buf_printf(out, "%s.", or_unknown(e->by));
	buf_add_str(
	    out, " Every further begin gets this outcome as a replay, nothing is run again.");
	if (is(e->result_state, "expired"))
		buf_add_str(out, " The result itself was dropped after its time.");
	else if (is(e->result_state, "omitted"))
		buf_add_str(out, " Of the result only size and hash are kept.");
	else if (is(e->result_state, "redacted"))
		buf_add_str(out, " Secret parts of the result were not kept.");
}

void
story_sentence(struct buf *out, const struct ask_answer *answer, uint32_t effect)
{
	struct effect e;

	read_effect(&e, answer, effect);
	if (is(e.state, "pending"))
		buf_printf(out,
		    "Pending: attempt %lld was claimed by %s at %s and its outcome was not "
		    "reported yet. The lease ends at %s; "
		    "unreported by then, the outcome counts as unknown.",
		    (long long)e.attempt, e.owner ? e.owner : "somebody without a label",
		    or_unknown(e.claimed_at), or_unknown(e.lease_until));
	else if (is(e.state, "unknown"))
		buf_printf(out,
		    "Unknown since %s: nobody knows whether attempt %lld landed, so it must not be "
		    "run again. effectd looks again "
		    "at %s: it probes the provider, or calls a human.",
		    or_unknown(e.since), (long long)e.attempt, or_unknown(e.due_at));
	else if (is(e.state, "escalated"))
		buf_printf(out,
		    "Escalated since %s: nothing could tell whether attempt %lld landed. A human "
		    "has to look at the provider and "
		    "decide; until then it is not run again.",
		    or_unknown(e.since), (long long)e.attempt);
	else if (is(e.state, "released"))
		buf_printf(out,
		    "Released at %s: attempt %lld is known not to have landed. The next begin is "
		    "granted attempt %lld.",
		    or_unknown(e.done_at), (long long)e.attempt, (long long)e.attempt + 1);
	else if (is(e.state, "done"))
		say_done(out, &e);
	else
		buf_printf(out, "Its state is %s.", or_unknown(e.state));
	clear_effect(&e);
}

static void
say_resolve(struct buf *out, const struct effect *e, const char *remark, const char *verdicts)
{
	buf_printf(out,
	    "# %s\neffectctl resolve %s --attempt %lld --state %s --reason \"...\" --verdict %s\n",
	    remark, or_unknown(e->id), (long long)e->attempt, or_unknown(e->state), verdicts);
}

void
story_next(struct buf *out, const struct ask_answer *answer, uint32_t effect)
{
	struct effect e;

	read_effect(&e, answer, effect);
	if (is(e.state, "pending"))
		buf_printf(out,
		    "# its holder, once it knows\neffectctl complete %s --token TOKEN --result "
		    "JSON\n"
		    "# its holder, if nothing was sent\neffectctl release %s --token TOKEN "
		    "--reason \"...\"\n",
		    or_unknown(e.id), or_unknown(e.id));
	else if (is(e.state, "unknown"))
		say_resolve(out, &e,
		    "wait for the probe, or look at the provider and decide by hand",
		    "landed|failed|absent");
	else if (is(e.state, "escalated"))
		say_resolve(out, &e, "look at the provider, then say what you found there",
		    "landed|failed|absent");
	else if (is(e.state, "released"))
		buf_add_str(out,
		    "# begin it again, with the same key\neffectctl begin --tool TOOL --key KEY\n");
	else if (is(e.state, "done") && is(e.outcome, "failed"))
		say_resolve(out, &e, "nothing; only if the provider shows that it landed after all",
		    "landed");
	else if (is(e.state, "done"))
		buf_printf(out, "# nothing; to read its result\neffectctl get %s --print result\n",
		    or_unknown(e.id));
	clear_effect(&e);
}

struct story_event *
story_events(const struct ask_answer *answer, uint32_t effect, size_t *ret_n)
{
	const struct json_node *nodes = answer->doc.nodes;
	uint32_t list = json_member(&answer->doc, effect, "events");
	uint32_t node = list && nodes[list].n_children ? list + 1 : 0;
	struct story_event *events =
	    xcalloc((list ? nodes[list].n_children : 0) + 1, sizeof *events);
	struct story_event claim = {.at = ask_text(answer, effect, "claimed_at"),
	    .kind = xstrdup("claimed"),
	    .by = ask_text(answer, effect, "owner")};
	bool placed = false;
	size_t n = 0;

	(void)!ask_int(answer, effect, "attempt", &claim.attempt);
	for (; node; node = nodes[node].next) {
		struct story_event event = {.at = ask_text(answer, node, "at"),
		    .kind = ask_text(answer, node, "kind"),
		    .by = ask_text(answer, node, "by"),
		    .reason = ask_text(answer, node, "reason"),
		    .incident = ask_true(answer, node, "incident")};

		(void)!ask_int(answer, node, "attempt", &event.attempt);
		/* instants are of one length, so that their order is that of their text */
		if (!placed && claim.at && event.at && strcmp(claim.at, event.at) <= 0) {
			events[n++] = claim;
			placed = true;
		}
		events[n++] = event;
	}
	if (!placed)
		events[n++] = claim;
	*ret_n = n;
	return events;
}

void
story_events_free(struct story_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(events[i].at);
		free(events[i].kind);
		free(events[i].by);
		free(events[i].reason);
	}
	free(events);
}
