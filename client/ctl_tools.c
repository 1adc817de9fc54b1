/*
 * tools list: the policies in force, as the daemon tells them, and what it finds in them. tools
 * probe: the daemon asks the provider about one effect, and tells what the ledger would decide;
 * exit 76 for a probe that could not tell. tools lint and tools import stand in tools_*.c.
 */
#include "alloc.h"
#include "ask.h"
#include "buf.h"
#include "ctl.h"
#include "show.h"
#include "table.h"
#include "tools_import.h"
#include "tools_lint.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_DEADLINE_MS 120000 /* a policy's probe_timeout may be long */

/* ---- list ---- */

static void
show_finding(
    struct buf *out, const char *tool, const char *pointer, const char *text, const char *code)
{
	show_text(out, tool, strlen(tool));
	buf_add_str(out, ": ");
	if (pointer && *pointer) {
		show_text(out, pointer, strlen(pointer));
		buf_add_str(out, ": ");
	}
	show_text(out, text, strlen(text));
	buf_add_str(out, " [");
	show_text(out, code, strlen(code));
	buf_add_str(out, "]\n");
}

static void
list_findings(struct buf *out, const struct ask_answer *a, uint32_t tool, const char *name)
{
	uint32_t node = ask_first(a, tool, "findings");
	char *pointer, *text, *code, *level;
	struct buf line = {0};

	for (; node; node = a->doc.nodes[node].next) {
		level = ask_text(a, node, "level");
		if (level && !strcmp(level, "advice")) {
			free(level);
			continue; /* tools lint tells it to whoever writes policies */
		}
		free(level);
		pointer = ask_text(a, node, "pointer");
		text = ask_text(a, node, "text");
		code = ask_text(a, node, "code");
		buf_clear(&line);
		show_finding(&line, name ? name : "?", pointer, text ? text : "", code ? code : "");
		if (!strstr(buf_str(out), buf_str(&line))) /* of another namespace it is told */
			buf_add(out, line.data, line.len);
		free(pointer);
		free(text);
		free(code);
	}
	buf_free(&line);
}

/* A provider that does not answer, by what the daemon knows of it. */
static void
list_circuit(struct buf *out, const struct ask_answer *a, uint32_t state, const char *name)
{
	static const struct {
		const char *member, *before;
	} parts[] = {{"circuit", ": probe circuit "}, {"open_until", " until "},
	    {"last_error", ", no answer: "}};
	char *text;

	show_text(out, name, strlen(name));
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		text = ask_text(a, state, parts[i].member);
		if (text) {
			buf_add_str(out, parts[i].before);
			show_text(out, text, strlen(text));
		}
		free(text);
	}
	buf_add_char(out, '\n');
}

static void
list_tools(const struct ask_answer *a)
{
	static const struct table_column columns[] = {{"NAMESPACE", 0.1, TABLE_CUT, false, 0},
	    {"TOOL", 0.2, TABLE_CUT, false, 0}, {"CLASS", 12, TABLE_WHOLE, false, 0},
	    {"KEY", 0.3, TABLE_CUT, false, 0}, {"LEASE", 5, TABLE_WHOLE, true, 0},
	    {"UNKNOWN", 7, TABLE_WHOLE, false, 0}, {"PROBE", 5, TABLE_WHOLE, false, 0},
	    {"CIRCUIT", 9, TABLE_WHOLE, false, 0}};
	static const char *const names[] = {
	    "namespace", "name", "class", "key", "lease", "on_unknown"};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	uint32_t tool = ask_first(a, a->result, "tools");
	struct buf findings = {0};
	uint32_t state;
	char *text, *circuit;

	for (; tool; tool = a->doc.nodes[tool].next) {
		table_row(table);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			text = ask_text(a, tool, names[i]);
			table_cell(table, i, text);
			free(text);
		}
		table_cell(table, 6, json_member(&a->doc, tool, "probe") ? "yes" : "no");
		state = json_member(&a->doc, tool, "probe_state");
		circuit = state ? ask_text(a, state, "circuit") : NULL;
		table_cell(table, 7, circuit ? circuit : "");
		text = ask_text(a, tool, "name");
		if (circuit && strcmp(circuit, "closed") != 0)
			list_circuit(&findings, a, state, text ? text : "?");
		list_findings(&findings, a, tool, text);
		free(circuit);
		free(text);
	}
	table_end(table);
	fflush(stdout);
	fwrite(findings.data ? findings.data : "", 1, findings.len, stderr);
	buf_free(&findings);
}

/* For scripts and shells, escaped as everywhere; one of several namespaces as often. */
static void
list_names(const struct ask_answer *a)
{
	uint32_t tool = ask_first(a, a->result, "tools");
	struct buf out = {0};
	char *name;

	for (; tool; tool = a->doc.nodes[tool].next) {
		name = ask_text(a, tool, "name");
		if (name) {
			show_text(&out, name, strlen(name));
			buf_add_char(&out, '\n');
		}
		free(name);
	}
	show_out(&out);
	buf_free(&out);
}

static int
tools_list(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct ask what = {.method = "tools", .params = "{}", .params_len = 2, .again = ASK_ONCE};
	struct ask_answer answer = {0};
	const char *raw;
	char *why = NULL;
	size_t len;
	int code, err;

	flag_add(&set, "names", 0, NULL, "the names alone, one a line");
	usage_add_deadline(&set);
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	if (!usage_deadline(ctl, &set, &what.deadline_ms))
		return CTL_USAGE;
	err = ask(ctl, &what, &answer, NULL, &why);
	code = show_asked(ctl, err, why, &answer);
	if (code == CTL_OK) {
		raw = ask_raw(&answer, answer.result, &len);
		if (ctl->json)
			show_schema("tools-list", raw, len);
		else if (usage_given(&set, "names"))
			list_names(&answer);
		else
			list_tools(&answer);
	}
	ask_answer_free(&answer);
	return code;
}

/* ---- probe ---- */

static void
probe_line(struct buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	buf_printf(out, "%-10s ", name);
	show_text(out, text, strlen(text));
	buf_add_char(out, '\n');
}

/* What to type next; what decides ends where the reason has to be typed. */
static void
probe_next(struct buf *out, const struct ask_answer *a, const char *tool, const char *effect)
{
	char *state = ask_text(a, a->result, "state"), *verdict = ask_text(a, a->result, "verdict");
	bool applied = ask_true(a, a->result, "applied");
	bool told = verdict && strcmp(verdict, "inconclusive") && strcmp(verdict, "unstarted");
	int64_t attempt = 0;

	(void)ask_int(a, a->result, "attempt", &attempt);
	if (!applied && told && state && !strcmp(state, "unknown")) {
		buf_add_str(out,
		    "# nothing was changed; this asks again and records the word\n"
		    "effectctl tools probe ");
		show_shell(out, tool);
		buf_add_str(out, " --effect ");
		show_shell(out, effect);
		buf_add_str(out, " --apply\n");
	} else if (!applied && told && state && !strcmp(state, "escalated")) {
		buf_add_str(out,
		    "# nothing was changed; this decides by what you found, with the reason "
		    "behind it\neffectctl resolve ");
		show_shell(out, effect);
		buf_printf(out, " --attempt %lld --state escalated --verdict %s --reason\n",
		    (long long)attempt, verdict);
	} else {
		buf_printf(out, "# %s; its whole story\neffectctl explain ",
		    applied ? "the word was recorded" : "nothing was changed");
		show_shell(out, effect);
		buf_add_char(out, '\n');
	}
	free(state);
	free(verdict);
}

static void
probe_tell(const struct ask_answer *a, const char *tool, const char *effect)
{
	uint32_t would = json_member(&a->doc, a->result, "would");
	uint32_t result = json_member(&a->doc, a->result, "result");
	bool applied = ask_true(a, a->result, "applied");
	static const char *const names[] = {"verdict", "reason"};
	char *state = ask_text(a, would, "state"), *outcome = ask_text(a, would, "outcome"), *text;
	struct buf out = {0};
	const char *raw;
	size_t len;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		text = ask_text(a, a->result, names[i]);
		probe_line(&out, names[i], text);
		free(text);
	}
	if (result) {
		raw = ask_raw(a, result, &len);
		buf_add_str(&out, "result     ");
		show_json(&out, raw, len);
		buf_add_char(&out, '\n');
	}
	text = xasprintf("%s%s%s", state ? state : "?", outcome ? " " : "", outcome ? outcome : "");
	probe_line(&out, applied ? "is now" : "would be", text);
	free(text);
	text = ask_text(a, would, "absents");
	probe_line(&out, "absents", text);
	free(text);
	text = ask_text(a, would, "why");
	probe_line(&out, "because", text);
	free(text);
	buf_add_char(&out, '\n');
	probe_next(&out, a, tool, effect);
	show_out(&out);
	buf_free(&out);
	free(state);
	free(outcome);
}

/* 0 where the provider has said something, be it that there is no such thing. */
static int
probe_answer(
    const struct ctl *ctl, const struct ask_answer *a, const char *tool, const char *effect)
{
	char *verdict = ask_text(a, a->result, "verdict");
	bool told = verdict &&
	    (!strcmp(verdict, "landed") || !strcmp(verdict, "failed") ||
		!strcmp(verdict, "absent"));
	const char *raw;
	size_t len;

	free(verdict);
	if (ctl->json) {
		raw = ask_raw(a, a->result, &len);
		show_schema("tools-probe", raw, len);
	} else {
		probe_tell(a, tool, effect);
	}
	return told ? CTL_OK : CTL_UNKNOWN;
}

static int
tools_probe(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct ask what = {.method = "probe", .opaque = "/result/result", .again = ASK_ONCE};
	struct ask_answer answer = {0};
	struct buf params = {0};
	const char *effect;
	char *why = NULL;
	int code, err;

	flag_add(&set, "effect", 0, "UUID", "the effect to ask about");
	flag_add(&set, "apply", 0, NULL,
	    "have the word recorded as any probe's (default: nothing is changed)");
	flag_add(&set, "deadline", 0, "DURATION", "how long to wait for the word (default: 2m)");
	if ((code = usage_read(ctl, &set, "TOOL", 1, 1)) != USAGE_GO_ON)
		return code;
	if (!usage_deadline(ctl, &set, &what.deadline_ms))
		return CTL_USAGE;
	if (!usage_given(&set, "deadline"))
		what.deadline_ms = PROBE_DEADLINE_MS;
	effect = usage_value(&set, "effect");
	if (!effect)
		return show_failure(ctl, CTL_USAGE, "usage", "tools probe: --effect is missing");
	buf_add_char(&params, '{');
	buf_json_member_str(&params, "effect", effect);
	buf_json_member_str(&params, "tool", set.args[0]);
	if (usage_given(&set, "apply"))
		buf_json_member_bool(&params, "apply", true);
	buf_add_char(&params, '}');
	what.params = params.data;
	what.params_len = params.len;
	/* once: a repeat would be another probe */
	err = ask(ctl, &what, &answer, NULL, &why);
	code = show_asked(ctl, err, why, &answer);
	if (code == CTL_OK)
		code = probe_answer(ctl, &answer, set.args[0], effect);
	ask_answer_free(&answer);
	buf_free(&params);
	return code;
}

int
ctl_tools(struct ctl *ctl)
{
	static const struct {
		const char *what, *verb;
		int (*call)(struct ctl *ctl);
	} verbs[] = {{"list", "tools list", tools_list}, {"lint", "tools lint", tools_lint},
	    {"import", "tools import", tools_import}, {"probe", "tools probe", tools_probe}};
	const char *what = ctl->argc > 0 ? ctl->argv[0] : "";

	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (strcmp(what, verbs[i].what) != 0)
			continue;
		ctl->argc--;
		ctl->argv++;
		ctl->verb = verbs[i].verb;
		return verbs[i].call(ctl);
	}
	return show_failure(
	    ctl, CTL_USAGE, "usage", "tools: list, lint, import or probe, not \"%s\"", what);
}
