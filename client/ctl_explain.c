/*
 * explain EFFECT: the whole story of one effect for whoever was woken by it: its state in a
 * sentence, the timeline, and the next command to type. --json tells what `get` does, with all
 * events.
 */
#include "alloc.h"
#include "ask.h"
#include "ctl.h"
#include "limits.h"
#include "member.h"
#include "show.h"
#include "story.h"
#include "table.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING(x) STRING_(x)
#define STRING_(x) #x

static void
show_timeline(const struct ask_answer *answer)
{
	static const struct table_column columns[] = {{"AT", 24, TABLE_WHOLE, false, 0},
	    {"TRY", 3, TABLE_WHOLE, true, 0}, {"EVENT", 10, TABLE_WHOLE, false, 0},
	    {"", 1, TABLE_WHOLE, false, 0}, {"BY", 0.15, TABLE_CUT, false, 0},
	    {"REASON", 0.4, TABLE_WRAP, false, 0}};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	struct story_event *events;
	size_t n;

	events = story_events(answer, answer->result, &n);
	for (size_t i = 0; i < n; i++) {
		table_row(table);
		table_cell(table, 0, events[i].at);
		if (events[i].attempt)
			table_cell_int(table, 1, events[i].attempt);
		table_cell(table, 2, events[i].kind);
		table_cell(table, 3, events[i].incident ? "!" : NULL);
		table_cell(table, 4, events[i].by);
		table_cell(table, 5, events[i].reason);
	}
	table_end(table);
	for (size_t i = 0; i < n; i++) {
		if (events[i].incident) {
			printf("! an incident: something contradicts the ledger's books, a human "
			       "should look\n");
			break;
		}
	}
	story_events_free(events, n);
}

static void
show_heading(struct buf *out, const struct ask_answer *answer)
{
	static const char *const names[] = {"tool", "key", "namespace", "effect"};
	char *text;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		text = ask_text(answer, answer->result, names[i]);
		if (text) {
			buf_printf(out, "%-10s ", names[i]);
			show_text(out, text, strlen(text));
			buf_add_char(out, '\n');
		}
		free(text);
	}
}

/* Is it open, and has its tool a probe that can be run by hand? If nobody tells, no. */
static bool
is_probed(const struct ctl *ctl, const struct ask_answer *answer, int64_t deadline_ms)
{
	struct ask what = {.method = "tools",
	    .params = "{}",
	    .params_len = 2,
	    .again = ASK_ONCE,
	    .deadline_ms = deadline_ms};
	char *ns = ask_text(answer, answer->result, "namespace"), *why = NULL,
	     *name = ask_text(answer, answer->result, "tool"),
	     *state = ask_text(answer, answer->result, "state"), *tool_ns, *tool_name;
	struct ask_answer tools = {0};
	bool probed = false;
	uint32_t tool = 0;

	if (ns && name && state && (!strcmp(state, "unknown") || !strcmp(state, "escalated")) &&
	    !ask(ctl, &what, &tools, NULL, &why) && !tools.error)
		tool = ask_first(&tools, tools.result, "tools");
	for (; tool && !probed; tool = tools.doc.nodes[tool].next) {
		tool_ns = ask_text(&tools, tool, "namespace");
		tool_name = ask_text(&tools, tool, "name");
		probed = tool_ns && tool_name && !strcmp(tool_ns, ns) && !strcmp(tool_name, name) &&
		    json_member(&tools.doc, tool, "probe");
		free(tool_ns);
		free(tool_name);
	}
	ask_answer_free(&tools);
	free(why);
	free(ns);
	free(name);
	free(state);
	return probed;
}

static int
tell(const struct ctl *ctl, const struct ask_answer *answer, int64_t deadline_ms)
{
	struct buf out = {0};
	const char *raw;
	size_t len;

	if (ctl->json) {
		raw = ask_raw(answer, answer->result, &len);
		show_schema(ctl->verb, raw, len);
		return CTL_OK;
	}
	show_heading(&out, answer);
	buf_add_char(&out, '\n');
	story_sentence(&out, answer, answer->result);
	buf_add_str(&out, "\n\n");
	show_out(&out);
	show_timeline(answer);
	buf_clear(&out);
	buf_add_char(&out, '\n');
	story_next(&out, answer, answer->result, is_probed(ctl, answer, deadline_ms));
	show_out(&out);
	buf_free(&out);
	return CTL_OK;
}

int
ctl_explain(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct ask what = {.method = "get", .opaque = "/result/result", .again = ASK_ONCE};
	struct ask_answer answer = {0};
	struct buf params = {0};
	char *why = NULL;
	int code, err;

	member_flags(&set, MEMBER_GET);
	usage_add_deadline(&set);
	if ((code = usage_read(ctl, &set, "[EFFECT]", 0, 1)) != USAGE_GO_ON)
		return code;
	if (set.n_args > 0)
		flag_find(&set, "effect")->value = set.args[0];
	if (!usage_given(&set, "effect") && !usage_given(&set, "tool"))
		return show_failure(
		    ctl, CTL_USAGE, "usage", "explain: EFFECT is missing (or --tool and --key)");
	if (!usage_given(&set, "events"))
		flag_find(&set, "events")->value = STRING(EVENTS_MAX);
	if (!usage_deadline(ctl, &set, &what.deadline_ms))
		return CTL_USAGE;
	if ((code = member_params(&set, MEMBER_GET, &params, &why))) {
		show_failure(
		    ctl, code, code == CTL_USAGE ? "usage" : "bad_input", "explain: %s", why);
		free(why);
		goto out;
	}
	what.params = params.data;
	what.params_len = params.len;
	err = ask(ctl, &what, &answer, NULL, &why);
	code = show_asked(ctl, err, why, &answer);
	if (code == CTL_OK)
		code = tell(ctl, &answer, what.deadline_ms);
out:
	ask_answer_free(&answer);
	buf_free(&params);
	return code;
}
