/*
 * list: effects as a table that fits the terminal. One page unless --all is given, which follows
 * the cursors; each page is one request, so that no list holds up the daemon.
 */
#include "alloc.h"
#include "ask.h"
#include "ctl.h"
#include "member.h"
#include "show.h"
#include "table.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The id stays whole, as it is what is pasted into the next command. */
static const struct table_column columns[] = {{"STATE", 9, TABLE_WHOLE, false, 0},
    {"TOOL", 0.15, TABLE_CUT, false, 0}, {"KEY", 0.3, TABLE_CUT, false, 0},
    {"TRY", 3, TABLE_WHOLE, true, 0}, {"CLAIMED", 24, TABLE_WHOLE, false, 110},
    {"OWNER", 0.1, TABLE_CUT, false, 130}, {"EFFECT", 36, TABLE_WHOLE, false, 0}};
enum { STATE, TOOL, KEY, ATTEMPT, CLAIMED, OWNER, EFFECT };

/* What was gathered over the pages. */
struct listing {
	struct table *table; /* people */
	struct buf effects;  /* --json: the elements, comma-joined */
	char *cursor;	     /* of the next page, owned; NULL = there is none */
	size_t n;
};

static void
add_row(struct listing *l, const struct ask_answer *page, uint32_t effect)
{
	static const char *const names[] = {[TOOL] = "tool",
	    [KEY] = "key",
	    [CLAIMED] = "claimed_at",
	    [OWNER] = "owner",
	    [EFFECT] = "effect"};
	char *state = ask_text(page, effect, "state"), *outcome = ask_text(page, effect, "outcome"),
	     *text;
	int64_t attempt;

	table_row(l->table);
	/* "done" says too little to an operator */
	table_cell(l->table, STATE, outcome && state && !strcmp(state, "done") ? outcome : state);
	for (size_t i = TOOL; i <= EFFECT; i++) {
		if (!names[i])
			continue;
		text = ask_text(page, effect, names[i]);
		table_cell(l->table, i, text);
		free(text);
	}
	if (ask_int(page, effect, "attempt", &attempt))
		table_cell_int(l->table, ATTEMPT, attempt);
	free(state);
	free(outcome);
}

static void
add_page(struct listing *l, const struct ask_answer *page)
{
	uint32_t effects = json_member(&page->doc, page->result, "effects");
	uint32_t effect = effects && page->doc.nodes[effects].n_children ? effects + 1 : 0;
	const char *raw;
	size_t len;

	for (; effect; effect = page->doc.nodes[effect].next) {
		if (l->table) {
			add_row(l, page, effect);
		} else {
			raw = ask_raw(page, effect, &len);
			if (l->effects.len > 0)
				buf_add_char(&l->effects, ',');
			buf_add(&l->effects, raw, len);
		}
		l->n++;
	}
	free(l->cursor);
	l->cursor = ask_text(page, page->result, "cursor");
}

static void
tell(const struct ctl *ctl, struct listing *l, bool told)
{
	struct buf out = {0};

	if (!ctl->json) {
		table_end(l->table);
		if (l->cursor) {
			fflush(stdout);
			buf_add_str(&out, "effectctl: there are more: --all, or --cursor ");
			show_text(&out, l->cursor, strlen(l->cursor));
			buf_add_char(&out, '\n');
			fwrite(out.data, 1, out.len, stderr);
		} else if (told && l->n == 0) {
			fprintf(stderr, "effectctl: no such effects\n");
		}
	} else if (told) {
		buf_add_str(&out, "{\"effects\":[");
		buf_add(&out, l->effects.data, l->effects.len);
		buf_add_str(&out, "],\"cursor\":");
		if (l->cursor)
			buf_json_string(&out, l->cursor, strlen(l->cursor));
		else
			buf_add_str(&out, "null");
		buf_add_char(&out, '}');
		show_schema(ctl->verb, out.data, out.len);
	}
	buf_free(&out);
}

/* Asks for pages until there are no more, or only one was wanted. */
static int
gather(const struct ctl *ctl, struct flag_set *set, int64_t deadline_ms, struct listing *l)
{
	struct ask what = {.method = "list", .again = ASK_ONCE, .deadline_ms = deadline_ms};
	struct ask_answer page = {0};
	struct buf params = {0};
	char *why = NULL;
	int code, err;

	do {
		if (l->cursor)
			flag_find(set, "cursor")->value = l->cursor;
		buf_clear(&params);
		if ((code = member_params(set, MEMBER_LIST, &params, &why))) {
			show_failure(
			    ctl, code, code == CTL_USAGE ? "usage" : "bad_input", "list: %s", why);
			free(why);
			break;
		}
		what.params = params.data;
		what.params_len = params.len;
		ask_answer_free(&page);
		err = ask(ctl, &what, &page, NULL, &why);
		if (err)
			code = show_no_answer(ctl, err, why);
		else if (page.error)
			code = show_error(ctl, &page);
		else
			add_page(l, &page);
	} while (!code && l->cursor && usage_given(set, "all"));
	ask_answer_free(&page);
	buf_free(&params);
	return code;
}

int
ctl_list(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct listing l = {0};
	int64_t deadline_ms;
	int code;

	member_flags(&set, MEMBER_LIST);
	usage_add_deadline(&set);
	flag_add(&set, "all", 0, NULL, "follow the cursors to the end");
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	if (!usage_deadline(ctl, &set, &deadline_ms))
		return CTL_USAGE;
	if (usage_given(&set, "all") && !usage_given(&set, "limit"))
		flag_find(&set, "limit")->value = "1000";
	if (!ctl->json)
		l.table = table_new(columns, sizeof columns / sizeof *columns);
	code = gather(ctl, &set, deadline_ms, &l);
	if (code == CTL_OK || !ctl->json)
		tell(ctl, &l, code == CTL_OK);
	buf_free(&l.effects);
	free(l.cursor);
	return code;
}
