/*
 * list: effects, or incidents, as a table that fits the terminal. One page unless --all is given,
 * which follows the cursors; each page is one request, so that no list holds up the daemon.
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

/* A kind of list: its array in the answer, and which member stands in which column. */
struct view {
	const char *name;
	const struct table_column *columns;
	const char *const *members;
	size_t n;
};

/* The id stays whole, as it is what is pasted into the next command. */
static const struct table_column effect_columns[] = {{"STATE", 9, TABLE_WHOLE, false, 0},
    {"TOOL", 0.15, TABLE_CUT, false, 0}, {"KEY", 0.3, TABLE_CUT, false, 0},
    {"TRY", 3, TABLE_WHOLE, true, 0}, {"CLAIMED", 24, TABLE_WHOLE, false, 110},
    {"OWNER", 0.1, TABLE_CUT, false, 130}, {"EFFECT", 36, TABLE_WHOLE, false, 0}};
static const char *const effect_members[] = {
    "state", "tool", "key", "attempt", "claimed_at", "owner", "effect"};
static const struct view effects = {
    "effects", effect_columns, effect_members, sizeof effect_columns / sizeof *effect_columns};

static const struct table_column incident_columns[] = {{"AT", 24, TABLE_WHOLE, false, 110},
    {"EVENT", 8, TABLE_WHOLE, false, 0}, {"TOOL", 0.1, TABLE_CUT, false, 0},
    {"KEY", 0.2, TABLE_CUT, false, 0}, {"TRY", 3, TABLE_WHOLE, true, 0},
    {"STATE", 9, TABLE_WHOLE, false, 130}, {"REASON", 0.2, TABLE_CUT, false, 150},
    {"EFFECT", 36, TABLE_WHOLE, false, 0}};
static const char *const incident_members[] = {
    "at", "kind", "tool", "key", "attempt", "state", "reason", "effect"};
static const struct view incidents = {"incidents", incident_columns, incident_members,
    sizeof incident_columns / sizeof *incident_columns};

/* What was gathered over the pages. */
struct listing {
	const struct view *view;
	struct table *table; /* people */
	struct buf elements; /* --json: comma-joined */
	char *cursor;	     /* of the next page, owned; NULL = there is none */
	size_t n;
};

/* Owned; NULL = absent. "done" says too little of an effect to an operator. */
static char *
cell_text(const struct view *view, const struct ask_answer *page, uint32_t element, size_t column)
{
	char *text = ask_text(page, element, view->members[column]), *outcome;

	if (view != &effects || strcmp(view->members[column], "state") || !text ||
	    strcmp(text, "done"))
		return text;
	outcome = ask_text(page, element, "outcome");
	if (!outcome)
		return text;
	free(text);
	return outcome;
}

static void
add_row(struct listing *l, const struct ask_answer *page, uint32_t element)
{
	int64_t number;
	char *text;

	table_row(l->table);
	for (size_t i = 0; i < l->view->n; i++) {
		if (ask_int(page, element, l->view->members[i], &number)) {
			table_cell_int(l->table, i, number);
			continue;
		}
		text = cell_text(l->view, page, element, i);
		table_cell(l->table, i, text);
		free(text);
	}
}

static void
add_page(struct listing *l, const struct ask_answer *page)
{
	uint32_t element = ask_first(page, page->result, l->view->name);
	const char *raw;
	size_t len;

	for (; element; element = page->doc.nodes[element].next) {
		if (l->table) {
			add_row(l, page, element);
		} else {
			raw = ask_raw(page, element, &len);
			if (l->elements.len > 0)
				buf_add_char(&l->elements, ',');
			buf_add(&l->elements, raw, len);
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
			fprintf(stderr, "effectctl: no such %s\n", l->view->name);
		}
	} else if (told) {
		buf_printf(&out, "{\"%s\":[", l->view->name);
		buf_add(&out, l->elements.data, l->elements.len);
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
		code = show_asked(ctl, err, why, &page);
		if (code == CTL_OK)
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
	l.view = usage_given(&set, "incidents") ? &incidents : &effects;
	if (!ctl->json)
		l.table = table_new(l.view->columns, l.view->n);
	code = gather(ctl, &set, deadline_ms, &l);
	if (code == CTL_OK || !ctl->json)
		tell(ctl, &l, code == CTL_OK);
	buf_free(&l.elements);
	free(l.cursor);
	return code;
}
