/*
 * Differences. Promise: a daemon that was started anew is told from one that counts on by its time
 * of running, so that no rate is negative, or of calls that another one answered. An answer that
 * lacks a member, or has one of another type, counts nothing.
 */
#include "rates.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

static size_t
decision_of(struct rates *r, const char *name)
{
	size_t i = 0;

	while (i < r->n_decisions && strcmp(r->decisions[i], name) != 0)
		i++;
	if (i == r->n_decisions && i < RATES_DECISIONS_MAX)
		r->decisions[r->n_decisions++] = xstrdup(name);
	return i;
}

static void
row_clear(struct rates_row *row)
{
	free(row->ns);
	free(row->tool);
	*row = (struct rates_row){0};
}

static void
clear(struct rates *r)
{
	for (size_t i = 0; i < r->n_decisions; i++)
		free(r->decisions[i]);
	r->n_decisions = 0;
	row_clear(&r->total);
	for (size_t i = 0; i < r->n_tools; i++)
		row_clear(&r->tools[i]);
	r->n_tools = 0;
	r->known = r->restarted = false;
}

/* The object of counts of the same tool in the answer before, or 0. */
static uint32_t
counts_before(const struct ask_answer *before, const char *ns, const char *tool)
{
	uint32_t begins = json_member(&before->doc, before->result, "begins"), list, node;
	char *its_ns, *its_tool;
	bool same;

	list = begins ? json_member(&before->doc, begins, "tools") : 0;
	if (!list || before->doc.nodes[list].type != JSON_ARRAY ||
	    !before->doc.nodes[list].n_children)
		return 0;
	for (node = list + 1; node; node = before->doc.nodes[node].next) {
		its_ns = ask_text(before, node, "namespace");
		its_tool = ask_text(before, node, "tool");
		same = its_ns && its_tool && !strcmp(its_ns, ns) && !strcmp(its_tool, tool);
		free(its_ns);
		free(its_tool);
		if (same)
			return json_member(&before->doc, node, "begins");
	}
	return 0;
}

/* The counts at `now` less those at `before`, a second. */
static void
difference(struct rates *r, const struct ask_answer *a, uint32_t now, uint32_t before,
    struct rates_row *ret)
{
	int64_t n, n_before;
	uint32_t node;
	size_t i, len;
	char *name;

	if (!now || a->doc.nodes[now].type != JSON_OBJECT || !a->doc.nodes[now].n_children)
		return;
	for (node = now + 1; node; node = a->doc.nodes[node].next) {
		name = json_name(&a->doc, node, &len);
		i = decision_of(r, name);
		n_before = 0;
		if (before && !r->restarted)
			(void)!ask_int(&r->last, before, name, &n_before);
		if (i < RATES_DECISIONS_MAX && json_int(&a->doc, node, &n) && n > n_before) {
			ret->by_decision[i] = (double)(n - n_before) * 1000 / (double)r->over_ms;
			ret->per_s += ret->by_decision[i];
		}
		free(name);
	}
}

static int
quicker(const void *a, const void *b)
{
	const struct rates_row *x = a, *y = b;

	return x->per_s < y->per_s ? 1 : x->per_s > y->per_s ? -1 : strcmp(x->tool, y->tool);
}

static void
compare(struct rates *r, const struct ask_answer *a)
{
	uint32_t now = json_member(&a->doc, a->result, "begins");
	uint32_t before = json_member(&r->last.doc, r->last.result, "begins"), list, node;
	struct rates_row *row;

	if (!now)
		return;
	r->known = true;
	difference(r, a, json_member(&a->doc, now, "total"),
	    before ? json_member(&r->last.doc, before, "total") : 0, &r->total);
	list = json_member(&a->doc, now, "tools");
	if (!list || a->doc.nodes[list].type != JSON_ARRAY || !a->doc.nodes[list].n_children)
		return;
	for (node = list + 1; node && r->n_tools < RATES_TOOLS_MAX;
	     node = a->doc.nodes[node].next) {
		row = &r->tools[r->n_tools];
		row->ns = ask_text(a, node, "namespace");
		row->tool = ask_text(a, node, "tool");
		if (row->ns && row->tool)
			difference(r, a, json_member(&a->doc, node, "begins"),
			    counts_before(&r->last, row->ns, row->tool), row);
		if (row->per_s > 0)
			r->n_tools++;
		else
			row_clear(row);
	}
	if (r->n_tools > 0)
		qsort(r->tools, r->n_tools, sizeof *r->tools, quicker);
}

void
rates_next(struct rates *r, struct ask_answer *info)
{
	int64_t uptime_ms = 0;

	clear(r);
	(void)!ask_int(info, info->result, "uptime_ms", &uptime_ms);
	r->restarted = r->has_last && uptime_ms < r->uptime_ms;
	r->over_ms = r->restarted ? uptime_ms : uptime_ms - r->uptime_ms;
	if (r->has_last && r->over_ms > 0)
		compare(r, info);
	r->uptime_ms = uptime_ms;
	if (r->has_last)
		ask_answer_free(&r->last);
	r->last = *info;
	r->last.doc.text = r->last.line.data;
	*info = (struct ask_answer){0};
	r->has_last = true;
}

void
rates_free(struct rates *r)
{
	clear(r);
	if (r->has_last)
		ask_answer_free(&r->last);
	*r = (struct rates){0};
}
