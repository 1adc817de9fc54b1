/*
 * tools lint [DIR]: what is wrong with a folder of policies, and what will go wrong, offline, so
 * that it can stand in a repository's own CI. All faults of all files are told, each with its file
 * and line as compilers tell theirs. Exit 1 for findings, 78 for what would not load.
 */
#include "tools_lint.h"

#include "buf.h"
#include "config.h"
#include "lint.h"
#include "measured.h"
#include "show.h"
#include "table.h"
#include "text.h"
#include "tool.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODES_MAX 128

/* How it is wanted. */
struct how {
	bool json, table, strict;
};

static void
tell_line(struct buf *out, const struct lint_finding *f)
{
	show_text(out, f->file, strlen(f->file));
	if (f->line)
		buf_printf(out, ":%u:%u", f->line, f->column);
	/* what compilers have no word for is a note to those who read their lines */
	buf_printf(out, ": %s: ", f->level == TOOL_ADVICE ? "note" : tool_finding_word(f->level));
	if (f->tool) {
		show_text(out, f->tool, strlen(f->tool));
		buf_add_str(out, ": ");
	}
	if (*f->pointer) {
		show_text(out, f->pointer, strlen(f->pointer));
		buf_add_str(out, ": ");
	}
	show_text(out, f->text, strlen(f->text));
	buf_printf(out, " [%s]\n", f->code);
}

static void
tell_json(struct buf *out, const struct lint_finding *f)
{
	buf_add_char(out, '{');
	buf_json_member_str(out, "file", f->file);
	if (f->line) {
		buf_json_member_int(out, "line", f->line);
		buf_json_member_int(out, "column", f->column);
	}
	if (f->tool)
		buf_json_member_str(out, "tool", f->tool);
	buf_json_member_str(out, "level", tool_finding_word(f->level));
	buf_json_member_str(out, "code", f->code);
	buf_json_member_str(out, "pointer", f->pointer);
	buf_json_member_str(out, "text", f->text);
	buf_add_char(out, '}');
}

static void
tell_table(const struct lint *lint)
{
	static const struct table_column columns[] = {{"LEVEL", 7, TABLE_WHOLE, false, 0},
	    {"TOOL", 0.15, TABLE_CUT, false, 0}, {"CODE", 0.2, TABLE_WHOLE, false, 0},
	    {"AT", 0.15, TABLE_CUT, false, 0}, {"FINDING", 0.5, TABLE_WRAP, false, 0}};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	const struct lint_finding *f;

	for (size_t i = 0; i < lint->n; i++) {
		f = &lint->findings[i];
		table_row(table);
		table_cell(table, 0, tool_finding_word(f->level));
		table_cell(table, 1, f->tool);
		table_cell(table, 2, f->code);
		table_cell(table, 3, f->pointer);
		table_cell(table, 4, f->text);
	}
	table_end(table);
	fflush(stdout);
}

static void
tell_counts(struct buf *out, const struct lint *lint, const size_t *n)
{
	buf_printf(out, "%zu polic%s, %zu error%s, %zu warning%s, %zu piece%s of advice",
	    lint->n_policies, lint->n_policies == 1 ? "y" : "ies", n[TOOL_ERROR],
	    n[TOOL_ERROR] == 1 ? "" : "s", n[TOOL_WARNING], n[TOOL_WARNING] == 1 ? "" : "s",
	    n[TOOL_ADVICE], n[TOOL_ADVICE] == 1 ? "" : "s");
	if (lint->n_ignored > 0)
		buf_printf(out, ", %zu ignored", lint->n_ignored);
	buf_add_char(out, '\n');
}

static void
tell(const struct lint *lint, const struct how *how)
{
	size_t n[TOOL_ADVICE + 1] = {0};
	struct buf out = {0};

	for (size_t i = 0; i < lint->n; i++)
		n[lint->findings[i].level]++;
	if (how->json) {
		buf_add_str(&out, "{\"findings\":[");
		for (size_t i = 0; i < lint->n; i++) {
			if (i > 0)
				buf_add_char(&out, ',');
			tell_json(&out, &lint->findings[i]);
		}
		buf_printf(&out,
		    "],\"policies\":%zu,\"errors\":%zu,\"warnings\":%zu,\"advice\":%zu,\"ignored\":"
		    "%zu}",
		    lint->n_policies, n[TOOL_ERROR], n[TOOL_WARNING], n[TOOL_ADVICE],
		    lint->n_ignored);
		show_schema("tools-lint", out.data, out.len);
	} else {
		if (how->table)
			tell_table(lint);
		else
			for (size_t i = 0; i < lint->n; i++)
				tell_line(&out, &lint->findings[i]);
		tell_counts(&out, lint, n);
		show_out(&out);
	}
	buf_free(&out);
}

static int
exit_of(const struct lint *lint, const struct how *how)
{
	if (lint->n_faults > 0)
		return CTL_CONFIG;
	for (size_t i = 0; i < lint->n; i++)
		if (lint->findings[i].level != TOOL_ADVICE || how->strict)
			return CTL_FINDINGS;
	return CTL_OK;
}

static int
lint_dir(const struct ctl *ctl, struct lint *lint, const char *dir, const struct how *how)
{
	if (!lint_read(lint, dir))
		return show_failure(ctl, CTL_CONFIG, "config", "there is no folder \"%s\"", dir);
	tell(lint, how);
	return exit_of(lint, how);
}

/* The codes that are not to be told; a misspelt one must not be silently on. */
static int
read_ignored(const struct ctl *ctl, struct lint *lint, const struct flag_list *list)
{
	const char *codes[CODES_MAX], *near;
	enum tool_level level;
	size_t n = 0;

	for (; n < CODES_MAX && tool_finding_code(n); n++)
		codes[n] = tool_finding_code(n);
	for (size_t i = 0; i < list->n; i++) {
		if (tool_finding_level(list->values[i], &level) &&
		    strcmp(list->values[i], "not_loaded") && strcmp(list->values[i], "undecided"))
			continue;
		near = text_nearest(list->values[i], codes, n);
		return show_failure(ctl, CTL_USAGE, "usage",
		    "tools lint: --ignore takes a code of effectd-tools(5), not \"%s\"%s%s%s",
		    list->values[i], near ? ", did you mean \"" : "", near ? near : "",
		    near ? "\"?" : "");
	}
	lint->ignored = list;
	return CTL_OK;
}

/* What policies are held against: of the running daemon, or of files. */
static int
read_measured(const struct ctl *ctl, struct measured *figures, const struct flag_list *list)
{
	int code = CTL_OK;

	for (size_t i = 0; i < list->n && code == CTL_OK; i++)
		code = strcmp(list->values[i], "daemon") != 0
		    ? measured_file(figures, ctl, list->values[i])
		    : measured_ask(figures, ctl);
	return code;
}

int
tools_lint(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct flag_list ignored = {0}, measured = {0};
	struct measured figures = {0};
	struct config_flags flags = {0};
	struct config *config;
	struct lint lint = {0};
	struct how how;
	char *error = NULL;
	int code;

	flag_add(&set, "config", 'c', "FILE",
	    "the daemon's config, which names the folder (default: its default)");
	flag_add_many(
	    &set, "ignore", "CODE", "a finding that is meant to be so; again for more", &ignored);
	flag_add_many(&set, "measured", "FILE",
	    "hold them against saved reports, tools list or status; \"daemon\": ask it", &measured);
	flag_add(&set, "strict", 0, NULL, "exit 1 for mere advice, too");
	flag_add(&set, "table", 0, NULL, "a table instead of a line for each finding");
	if ((code = usage_read(ctl, &set, "[DIR]", 0, 1)) != USAGE_GO_ON)
		return code;
	how = (struct how){.json = ctl->json,
	    .table = usage_given(&set, "table"),
	    .strict = usage_given(&set, "strict")};
	if ((code = read_ignored(ctl, &lint, &ignored)) != CTL_OK)
		return code;
	if ((code = read_measured(ctl, &figures, &measured)) != CTL_OK) {
		measured_free(&figures);
		return code;
	}
	lint.measured = measured.n > 0 ? &figures : NULL;
	flags.file = usage_value(&set, "config");
	config = config_load(&flags, &error);
	if (config) {
		lint.trust_annotations = config->trust_annotations;
		code = lint_dir(ctl, &lint, set.n_args ? set.args[0] : config->tools_dir, &how);
		config_free(config);
	} else if (set.n_args && !flags.file) {
		/* a folder in a repository is looked at also where this machine's own config is
		 * broken or not ours to read */
		code = lint_dir(ctl, &lint, set.args[0], &how);
	} else {
		code = show_failure(ctl, CTL_CONFIG, "config", "%s", error);
	}
	free(error);
	lint_free(&lint);
	measured_free(&figures);
	return code;
}
