/*
 * Walking the pages. Promise: a page that did not come is asked for again by the same cursor, over
 * restarts of the daemon, and no effect is skipped or told twice by it. While a page is looked at
 * the daemon is at work on the next one, and on no more: it waits in the daemon and in the socket.
 * What effects are compared with does not belong here.
 */
#include "pages.h"

#include "alloc.h"
#include "ask.h"
#include "conn.h"
#include "decimal.h"
#include "show.h"
#include "text.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_MS 2000 /* how long one question waits, so that a stop is noticed */
#define PAUSE_MS 200
#define UUID_CHARS (UUID_TEXT_BYTES - 1)

static void
make_params(const struct pages *p, const char *cursor, struct buf *out)
{
	buf_clear(out);
	buf_add_char(out, '{');
	buf_json_member(out, "tool");
	buf_json_string(out, p->tool, strlen(p->tool));
	if (p->ns)
		buf_json_member_str(out, "namespace", p->ns);
	buf_json_member_instant(out, "from", p->from_us);
	/* what is told is cut to milliseconds */
	buf_json_member_instant(out, "to", p->to_us + 1000);
	if (p->plan->n_compare > 0)
		buf_json_member_bool(out, "kept", true);
	if (cursor)
		buf_json_member_str(out, "cursor", cursor);
	buf_add_char(out, '}');
}

/* May the same be asked once more? */
static bool
is_passing(const struct ask_answer *answer)
{
	int64_t code;

	return answer->error && ask_int(answer, answer->error, "code", &code) &&
	    (code == err_code(ERR_UNAVAILABLE) || code == err_code(ERR_OVERLOADED));
}

static struct ask
question(const struct buf *params, struct ask_early *early)
{
	return (struct ask){.method = "scan",
	    .params = params->data,
	    .params_len = params->len,
	    .again = ASK_ALWAYS,
	    .deadline_ms = SLICE_MS,
	    .early = early};
}

/* One page, however long the daemon is away. The exit code. */
static int
ask_page(const struct pages *p, const struct buf *params, struct ask_early *early,
    struct ask_answer *answer)
{
	struct ask what = question(params, early);
	int64_t until_ms = conn_now_ms() + p->patience_ms, left_ms;
	char *why = NULL;
	int err;

	for (;;) {
		left_ms = until_ms - conn_now_ms();
		what.deadline_ms = left_ms < SLICE_MS ? (left_ms > 0 ? left_ms : 0) : SLICE_MS;
		free(why);
		why = NULL;
		err = ask(p->ctl, &what, answer, NULL, &why);
		if (p->stopped()) {
			free(why);
			return CTL_INPUT;
		}
		if ((err != ERR_UNAVAILABLE && (err || !is_passing(answer))) || left_ms <= 0)
			return show_asked(p->ctl, err, why, answer);
		poll(NULL, 0, PAUSE_MS);
	}
}

/* ---- an effect ---- */

/* The raw text of a string that needs no escapes, quotes cut off. */
static const char *
bare(const struct ask_answer *a, uint32_t object, const char *name, size_t *ret_len)
{
	uint32_t node = json_member(&a->doc, object, name);
	const char *raw;

	if (!node || a->doc.nodes[node].type != JSON_STRING)
		return NULL;
	raw = ask_raw(a, node, ret_len);
	*ret_len -= 2;
	return raw + 1;
}

static bool
read_instant(const struct ask_answer *a, uint32_t object, const char *name, int64_t *ret)
{
	size_t len;
	const char *text = bare(a, object, name, &len);

	return text && text_instant(text, len, false, ret);
}

static bool
read_state(const struct ask_answer *a, uint32_t object, enum match_state *ret)
{
	static const struct {
		const char *word;
		enum match_state state;
	} words[] = {{"pending", MATCH_PENDING}, {"unknown", MATCH_UNKNOWN},
	    {"escalated", MATCH_ESCALATED}, {"released", MATCH_RELEASED}, {"done", MATCH_SUCCEEDED},
	    {"forgotten", MATCH_FORGOTTEN}};
	size_t len, n;
	const char *text = bare(a, object, "state", &len);

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++) {
		n = strlen(words[i].word);
		if (len != n || memcmp(text, words[i].word, n) != 0)
			continue;
		*ret = words[i].state;
		text = bare(a, object, "outcome", &len);
		if (*ret == MATCH_SUCCEEDED && text && len == 6 && !memcmp(text, "failed", 6))
			*ret = MATCH_FAILED;
		return true;
	}
	return false;
}

/* 32 hex digits. */
static bool
read_hash(const struct ask_answer *a, uint32_t object, const char *name, struct uuid *ret)
{
	char text[UUID_TEXT_BYTES], *out = text;
	size_t len;
	const char *hex = bare(a, object, name, &len);

	if (!hex || len != 32)
		return false;
	for (size_t i = 0; i < 32; i++) {
		if (i == 8 || i == 12 || i == 16 || i == 20)
			*out++ = '-';
		*out++ = hex[i];
	}
	return uuid_parse(text, UUID_CHARS, ret);
}

/* A kept arg as it is compared; owned. NULL: it is not kept, or null. */
static char *
read_kept(
    const struct pages *p, const struct ask_answer *a, uint32_t kept, size_t i, bool *ret_number)
{
	uint32_t node = json_member(&a->doc, kept, p->plan->compare[i].pointer);
	char spelling[DECIMAL_BYTES], *text;
	const char *raw;
	size_t len;

	*ret_number = false;
	if (!node || a->doc.nodes[node].type == JSON_NULL)
		return NULL;
	raw = ask_raw(a, node, &len);
	if (a->doc.nodes[node].type == JSON_STRING)
		text = json_string(&a->doc, node, NULL);
	else
		text = xstrndup(raw, len);
	*ret_number = a->doc.nodes[node].type == JSON_NUMBER;
	if ((*ret_number || p->amounts[i]) && decimal_spell(text, strlen(text), 0, spelling)) {
		free(text);
		text = xstrdup(spelling);
	} else {
		*ret_number = false;
	}
	return text;
}

/* False: it is none. *ret_more: `take` wants more. */
static bool
take_effect(
    struct pages *p, const struct ask_answer *a, uint32_t node, int64_t now_us, bool *ret_more)
{
	struct match_effect effect = {.attempt = 1};
	char *owned[EXPORT_FIELDS_MAX + 1] = {NULL};
	uint32_t kept = json_member(&a->doc, node, "kept");
	int64_t lease_us;
	size_t len;
	const char *id = bare(a, node, "effect", &len);

	if (!id || !uuid_parse(id, len, &effect.id) || !read_state(a, node, &effect.state) ||
	    !read_instant(a, node, "claimed_at", &effect.claimed_us))
		return false;
	(void)ask_int(a, node, "attempt", &effect.attempt);
	effect.has_done = read_instant(a, node, "done_at", &effect.done_us);
	effect.has_lease = read_instant(a, node, "lease_until", &lease_us) && lease_us > now_us;
	effect.has_business = read_hash(a, node, "business", &effect.business);
	effect.key = owned[EXPORT_FIELDS_MAX] = ask_text(a, node, "key");
	for (size_t i = 0; kept && i < p->plan->n_compare; i++)
		effect.values[i] = owned[i] = read_kept(p, a, kept, i, &effect.numbers[i]);
	p->n_effects++;
	*ret_more = p->take(p->arg, &effect);
	for (size_t i = 0; i <= EXPORT_FIELDS_MAX; i++)
		free(owned[i]);
	return true;
}

/* How much of all ids stands before this one: they are spread evenly. */
static double
share_before(const char *cursor)
{
	struct uuid id;

	if (!cursor || !uuid_parse(cursor, strlen(cursor), &id))
		return 1;
	return (id.b[0] * 65536.0 + id.b[1] * 256.0 + id.b[2]) / 16777216.0;
}

/* The exit code. */
static int
take_page(struct pages *p, const struct ask_answer *a)
{
	uint32_t list = json_member(&a->doc, a->result, "effects");
	uint32_t node = list && a->doc.nodes[list].n_children ? list + 1 : 0;
	bool sound = list != 0, more = true;
	int64_t now_us;

	sound = sound && read_instant(a, a->result, "at", &now_us) &&
	    read_instant(a, a->result, "installed_at", &p->installed_us);
	/* absent: of a tool that the ledger does not know */
	if (sound && !read_instant(a, a->result, "remembers_from", &p->remembers_us))
		p->remembers_us = now_us;
	for (; sound && more && node; node = a->doc.nodes[node].next)
		sound = take_effect(p, a, node, now_us, &more);
	if (!sound)
		return show_failure(p->ctl, CTL_BUG, "internal",
		    "%s: the daemon's answer to \"scan\" is none", p->ctl->verb);
	return more ? CTL_OK : CTL_INPUT;
}

int
pages_walk(struct pages *p)
{
	struct ask_answer answer = {0};
	struct ask_early early = {.conn = {.fd = -1}};
	struct buf params = {0};
	struct ask next;
	char *cursor = NULL;
	int code;

	do {
		make_params(p, cursor, &params);
		ask_answer_free(&answer);
		code = ask_page(p, &params, &early, &answer);
		free(cursor);
		cursor = code == CTL_OK ? ask_text(&answer, answer.result, "cursor") : NULL;
		if (cursor) {
			make_params(p, cursor, &params);
			next = question(&params, NULL);
			ask_early(p->ctl, &next, &early);
		}
		if (code == CTL_OK)
			code = take_page(p, &answer);
		if (code == CTL_OK)
			p->at(p->arg, share_before(cursor), p->n_effects);
	} while (code == CTL_OK && cursor);
	free(cursor);
	conn_close(&early.conn);
	ask_answer_free(&answer);
	buf_free(&params);
	return code;
}
