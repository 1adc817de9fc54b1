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

/* The members that the words need; owned, escaped for a terminal. */
struct effect {
	char *id, *state, *tool, *key, *ns; /* as words of a shell */
	char *outcome, *by, *owner, *claimed_at, *lease_until, *since, *due_at, *done_at,
	    *result_state;
	int64_t attempt;
	int64_t landed; /* an earlier attempt that is proven to have landed; 0 = none */
	bool spent;	/* the newest begin was told that its attempts are used up */
	bool retried;	/* the newest attempt was granted over an open one */
	bool incident;
};

static const struct {
	const char *name;
	size_t offset;
	bool shell;
} texts[] = {
    {"effect", offsetof(struct effect, id), true},
    {"state", offsetof(struct effect, state), true},
    {"outcome", offsetof(struct effect, outcome), false},
    {"by", offsetof(struct effect, by), false},
    {"owner", offsetof(struct effect, owner), false},
    {"claimed_at", offsetof(struct effect, claimed_at), false},
    {"lease_until", offsetof(struct effect, lease_until), false},
    {"since", offsetof(struct effect, since), false},
    {"due_at", offsetof(struct effect, due_at), false},
    {"done_at", offsetof(struct effect, done_at), false},
    {"result_state", offsetof(struct effect, result_state), false},
    {"tool", offsetof(struct effect, tool), true},
    {"key", offsetof(struct effect, key), true},
    {"namespace", offsetof(struct effect, ns), true},
};

static char **
field(struct effect *e, size_t i)
{
	return (char **)((char *)e + texts[i].offset);
}

/* What the newest events say of the row as it stands. */
static void
read_history(struct effect *e, const struct ask_answer *answer, uint32_t effect)
{
	uint32_t node = ask_first(answer, effect, "events");
	char *kind, *outcome, *reason;
	int64_t attempt;
	bool incident;

	for (; node; node = answer->doc.nodes[node].next) {
		kind = ask_text(answer, node, "kind");
		outcome = ask_text(answer, node, "outcome");
		reason = ask_text(answer, node, "reason");
		incident = ask_true(answer, node, "incident");
		e->incident |= incident;
		if (kind && ask_int(answer, node, "attempt", &attempt) && attempt < e->attempt &&
		    (!strcmp(kind, "late") || !strcmp(kind, "verdict")) && !incident && outcome &&
		    !strcmp(outcome, "succeeded"))
			e->landed = attempt;
		if (kind && !strcmp(kind, "granted"))
			e->retried = reason && !strncmp(reason, "retry", 5);
		e->spent =
		    kind && !strcmp(kind, "refused") && reason && !strcmp(reason, "exhausted");
		free(kind);
		free(outcome);
		free(reason);
	}
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
			if (texts[i].shell)
				show_shell(&safe, text);
			else
				show_text(&safe, text, strlen(text));
			*field(e, i) = xstrdup(buf_str(&safe));
		}
		free(text);
	}
	(void)!ask_int(answer, node, "attempt", &e->attempt);
	read_history(e, answer, node);
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

static void
say_escalated(struct buf *out, const struct effect *e)
{
	buf_printf(out, "Escalated since %s: ", or_unknown(e->since));
	if (e->landed)
		buf_printf(out,
		    "attempt %lld is proven to have landed, though attempt %lld was granted after "
		    "it. A human has to see whether it landed twice; it is not run again.",
		    (long long)e->landed, (long long)e->attempt);
	else
		buf_printf(out,
		    "nothing could tell whether %sattempt %lld landed. A human has to look at the "
		    "provider and decide; until then it is not run again.",
		    e->retried ? "an attempt before, or " : "", (long long)e->attempt);
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
		    "Unknown since %s: nobody knows whether %sattempt %lld landed, so it must not "
		    "be run again, but by a begin whose tool retries. The next look is due at %s: "
		    "effectd then probes the provider, as soon as it may (effectctl tools list "
		    "shows whether it answers), or calls a human.",
		    or_unknown(e.since), e.retried ? "an attempt before, or " : "",
		    (long long)e.attempt, or_unknown(e.due_at));
	else if (is(e.state, "escalated"))
		say_escalated(out, &e);
	else if (is(e.state, "released") && e.spent)
		buf_printf(out,
		    "Released at %s: attempt %lld is known not to have landed, and the last begin "
		    "was told that a budget is used up. It is not run again by itself.",
		    or_unknown(e.done_at), (long long)e.attempt);
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

/* Ends in the flag whose value is missing: the reason is typed behind it. */
static void
say_resolve(struct buf *out, const struct effect *e, const char *remark, const char *verdict)
{
	buf_printf(out,
	    "# %s\neffectctl resolve %s --attempt %lld --state %s --verdict %s --reason\n", remark,
	    or_unknown(e->id), (long long)e->attempt, or_unknown(e->state), verdict);
}

static void
say_pending(struct buf *out, const struct effect *e)
{
	buf_printf(out,
	    "# nothing; wait for its holder, or for the end of its lease\neffectctl explain %s\n"
	    "# its holder, once it knows\neffectctl complete %s --token TOKEN --result JSON\n"
	    "# its holder, if nothing was sent\neffectctl release %s --token TOKEN --reason\n",
	    or_unknown(e->id), or_unknown(e->id), or_unknown(e->id));
}

/* Unknown or escalated. */
static void
say_open(struct buf *out, const struct effect *e, bool probed)
{
	if (probed)
		buf_printf(out,
		    "# ask the provider by the tool's probe; this alone changes nothing\n"
		    "effectctl tools probe %s --effect %s\n",
		    or_unknown(e->tool), or_unknown(e->id));
	buf_printf(out,
	    "# %slook at the provider and say what you found there, one of these, "
	    "with the reason behind it\n",
	    is(e->state, "unknown") ? "or wait; or "
		: probed	    ? "or "
				    : "");
	say_resolve(out, e, "it happened", "landed");
	if (e->landed)
		return;
	say_resolve(out, e, "it was refused for good, and is not to be run again", "failed");
	say_resolve(out, e, "it did not happen, and may be run again", "absent");
}

static void
say_begin(struct buf *out, const struct effect *e)
{
	if (e->spent)
		say_resolve(out, e, "if its attempts are used up: this grants one more", "absent");
	buf_printf(out,
	    "# whoever needs it begins it again, with the same key and args\n"
	    "effectctl begin --namespace=%s --tool=%s --key=%s --args JSON\n",
	    or_unknown(e->ns), or_unknown(e->tool), or_unknown(e->key));
}

static void
say_read(struct buf *out, const struct effect *e)
{
	if (is(e->result_state, "expired") || is(e->result_state, "omitted"))
		buf_add_str(out, "# nothing\n");
	else
		buf_printf(out, "# nothing; to read its result\neffectctl get %s --print result\n",
		    or_unknown(e->id));
}

void
story_next(struct buf *out, const struct ask_answer *answer, uint32_t effect, bool probed)
{
	struct effect e;

	read_effect(&e, answer, effect);
	if (is(e.state, "pending"))
		say_pending(out, &e);
	else if (is(e.state, "unknown") || is(e.state, "escalated"))
		say_open(out, &e, probed);
	else if (is(e.state, "released"))
		say_begin(out, &e);
	else if (is(e.state, "done") && is(e.outcome, "failed"))
		say_resolve(out, &e, "nothing; only if the provider shows that it landed after all",
		    "landed");
	else if (is(e.state, "done"))
		say_read(out, &e);
	if (e.incident)
		buf_printf(out,
		    "# compare what the incident brought with the provider's books, and undo there "
		    "what is one too many\neffectctl list --incidents --tool=%s\n",
		    or_unknown(e.tool));
	clear_effect(&e);
}

/* What a kind of event means, where the event itself gives no reason. */
static const struct {
	const char *kind, *words;
} meanings[] = {
    {"granted", "the next attempt may run"},
    {"regranted", "the same grant was told again to the same request"},
    {"unknown", "its holder does not know whether it landed"},
    {"lapsed", "the lease ran out without a word"},
    {"closed", "the connection of its holder was closed"},
    {"probe", "a probe could not tell"},
    {"verdict", "a probe's word"},
    {"released", "it did not land"},
    {"escalated", "a human has to decide"},
    {"notified", "a human was told"},
    {"resolved", "an operator's word"},
    {"late", "a report that came when it had moved on"},
    {"orphan", "a complete that belongs to no claim"},
    {"not_told", "nobody had been told of the grant, so it was given back"},
    {"expired", "its key was forgotten, and claimed anew"},
    {"duplicate", "another effect has its business key"},
    {"reconcile", "the provider's books say otherwise"},
    {"refused", "no"},
};

/* The reason with what else a person wants to see of the event; owned. */
static char *
event_words(const struct ask_answer *answer, uint32_t node, const char *kind)
{
	char *reason = ask_text(answer, node, "reason"), *verdict, *evidence, *brought;
	struct buf words = {0};
	char *text;

	verdict = ask_text(answer, node, "verdict");
	evidence = ask_text(answer, node, "evidence");
	brought = ask_text(answer, node, "result_text");
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings && kind && !reason; i++)
		if (!strcmp(meanings[i].kind, kind))
			reason = xstrdup(meanings[i].words);
	if (is(kind, "refused"))
		buf_add_str(&words, "a begin was told ");
	if (verdict)
		buf_printf(&words, "%s: ", verdict);
	buf_add_str(&words, reason ? reason : "");
	if (evidence)
		buf_printf(&words, " (evidence: %s)", evidence);
	if (brought)
		buf_printf(&words, "; it brought %s", brought);
	text = xstrdup(buf_str(&words));
	buf_free(&words);
	free(reason);
	free(verdict);
	free(evidence);
	free(brought);
	return text;
}

struct story_event *
story_events(const struct ask_answer *answer, uint32_t effect, size_t *ret_n)
{
	const struct json_node *nodes = answer->doc.nodes;
	uint32_t list = json_member(&answer->doc, effect, "events");
	uint32_t node = ask_first(answer, effect, "events");
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
		    .incident = ask_true(answer, node, "incident")};

		event.reason = event_words(answer, node, event.kind);
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
