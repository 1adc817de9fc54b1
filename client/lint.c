/*
 * Collecting what the loader and tool_lint() say. Promise: a finding stands at the line of the
 * member that it speaks of, or, where that is missing, of the object that it is missing in. Owns
 * the copies of all texts; of the files one at a time is held.
 */
#include "lint.h"

#include "alloc.h"
#include "file.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX 1048576
#define EVERY_NAMESPACE "*" /* stands for none that has this name */

static bool
is_ignored(const struct lint *lint, const char *code)
{
	for (size_t i = 0; lint->ignored && i < lint->ignored->n; i++)
		if (!strcmp(lint->ignored->values[i], code))
			return true;
	return false;
}

static void
add(struct lint *lint, const struct tool_finding *f, const char *file, char *pointer)
{
	struct lint_finding *mine;

	lint->findings = xrealloc(lint->findings, (lint->n + 1) * sizeof *lint->findings);
	mine = &lint->findings[lint->n];
	*mine = (struct lint_finding){.file = xstrdup(file),
	    .tool = f->tool ? xstrdup(f->tool) : NULL,
	    .text = xstrdup(f->text),
	    .code = f->code,
	    .level = f->level,
	    .number = lint->n};
	mine->pointer = pointer;
	lint->n++;
}

static void
fault_cb(void *arg, const struct tool_finding *f)
{
	struct lint *lint = arg;

	lint->n_faults++;
	add(lint, f, f->file, xstrdup(f->pointer));
}

struct policy {
	struct lint *lint;
	const struct tool_policy *policy;
	const char *file;
};

static void
finding_cb(void *arg, const struct tool_finding *f)
{
	struct policy *p = arg;

	if (is_ignored(p->lint, f->code))
		p->lint->n_ignored++;
	else if (p->policy->place >= 0)
		add(p->lint, f, p->file, xasprintf("/%d%s", p->policy->place, f->pointer));
	else
		add(p->lint, f, p->file, xstrdup(f->pointer));
}

static void
policy_cb(void *arg, struct tool_policy *policy, const char *file)
{
	struct policy p = {arg, policy, file};

	p.lint->n_policies++;
	tool_lint(policy, finding_cb, &p);
	if (p.lint->measured)
		measured_lint(
		    p.lint->measured, policy, !strcmp(policy->ns, EVERY_NAMESPACE), finding_cb, &p);
}

static void
own_cb(void *arg, struct tool_policy *policy, const char *file)
{
	(void)file;
	measured_own(arg, policy->ns, policy->name);
}

/* ---- places ---- */

struct text {
	char *text;
	size_t len;
	struct json_doc doc;
	bool scanned;
	size_t fault; /* offset of what is no JSON, where it was not */
};

static void
text_read(struct text *t, const char *file)
{
	struct json_error error;
	bool missing;
	char *why = NULL;

	t->text = file_read(file, FILE_BYTES_MAX, &t->len, &missing, &why);
	free(why);
	if (!t->text)
		return;
	t->scanned = json_scan(&t->doc, t->text, t->len, NULL, &error) == 0;
	t->fault = t->scanned ? 0 : error.offset;
}

static void
text_free(struct text *t)
{
	if (t->text)
		json_free(&t->doc);
	free(t->text);
	*t = (struct text){0};
}

/* Where the value at `pointer` begins with its name, or the nearest one above it that is there. */
static size_t
offset_of(const struct text *t, const char *pointer)
{
	char *above = xstrdup(pointer), *slash;
	uint32_t node = 0;

	if (!t->scanned) {
		free(above);
		return t->fault;
	}
	while (!json_pointer(&t->doc, 0, above, &node) && (slash = strrchr(above, '/')))
		*slash = '\0';
	free(above);
	return t->doc.nodes[node].name_end ? t->doc.nodes[node].name_start
					   : t->doc.nodes[node].start;
}

static void
place(struct lint_finding *f, const struct text *t)
{
	size_t offset = offset_of(t, f->pointer);

	f->line = f->column = 1;
	for (size_t i = 0; i < offset && i < t->len; i++) {
		f->column++;
		if (t->text[i] == '\n') {
			f->line++;
			f->column = 1;
		}
	}
}

static int
compare(const void *a, const void *b)
{
	const struct lint_finding *x = a, *y = b;
	int by_file = strcmp(x->file, y->file);

	if (by_file != 0)
		return by_file;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void
sort(struct lint *lint)
{
	if (lint->n > 0)
		qsort(lint->findings, lint->n, sizeof *lint->findings, compare);
}

bool
lint_read(struct lint *lint, const char *dir)
{
	struct text text = {0};
	struct tool_set *set;
	bool missing = false;

	set = tool_set_read(dir, lint->trust_annotations, &missing, fault_cb, lint);
	if (set && lint->measured)
		tool_set_each(set, EVERY_NAMESPACE, own_cb, lint->measured);
	if (set)
		tool_set_each(set, EVERY_NAMESPACE, policy_cb, lint);
	tool_set_free(set);
	if (missing)
		return false;
	sort(lint); /* by file, so that each is read once */
	for (size_t i = 0; i < lint->n; i++) {
		if (i == 0 || strcmp(lint->findings[i].file, lint->findings[i - 1].file) != 0) {
			text_free(&text);
			text_read(&text, lint->findings[i].file);
		}
		if (text.text)
			place(&lint->findings[i], &text);
	}
	text_free(&text);
	sort(lint);
	return true;
}

void
lint_free(struct lint *lint)
{
	for (size_t i = 0; i < lint->n; i++) {
		free(lint->findings[i].file);
		free(lint->findings[i].tool);
		free(lint->findings[i].pointer);
		free(lint->findings[i].text);
	}
	free(lint->findings);
	*lint = (struct lint){0};
}
