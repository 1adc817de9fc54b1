/*
 * The plan. Promise: nothing that was typed or stands in the policy is silently off: a column that
 * nothing uses, a field that the ledger does not keep and a business key of another shape are
 * refused before the export is read.
 */
#include "plan.h"

#include "alloc.h"
#include "ask.h"
#include "show.h"
#include "text.h"
#include "usage.h"
#include "when.h"

#include <stdlib.h>
#include <string.h>

#define SLACK_MS 900000
#define WINDOW_MS 3600000
#define MINOR_UNITS_MAX 18
#define SORT_BYTES (8U << 20)
#define KEEP_MAX 64 /* as many as a policy may have */

/* What a policy says that is needed here. */
struct policy {
	struct ask_answer answer;
	uint32_t node; /* 0 = there is none */
	size_t n_business;
	int64_t window_ms;
	char *keep[KEEP_MAX];
	size_t n_keep;
};

void
plan_add_flags(struct plan *plan, struct flag_set *set)
{
	flag_add(set, "tool", 0, "NAME", "the tool");
	flag_add(set, "namespace", 0, "NAME", "its namespace, where you have several");
	flag_add(set, "since", 0, "TIME", "begin of the window (default: the earliest row)");
	flag_add(set, "until", 0, "TIME", "its end (default: the latest row)");
	flag_add(set, "slack", 0, "DURATION",
	    "so close to the window's ends nothing is missed (default: 15m)");
	flag_add(set, "format", 0, "WORD", "csv or jsonl (default: by the first byte)");
	flag_add(set, "delimiter", 0, "CHAR", "of CSV: , ; | or tab (default: ,)");
	flag_add_many(set, "column", "NAME=COLUMN",
	    "provider_key, business_key, time, reference or a field is in that column",
	    &plan->columns);
	flag_add_many(set, "compare", "POINTER=NAME",
	    "that kept arg has to be what the column called NAME holds", &plan->compare);
	flag_add_many(set, "where", "COLUMN=VALUE", "only rows that have it", &plan->where);
	flag_add(set, "minor_units", 0, "N", "amounts of the export are in units of 10^-N");
	flag_add(set, "utc", 0, NULL, "times without zone are UTC");
	flag_add(set, "window", 0, "DURATION",
	    "a business key that comes again within is doubled (default: the policy's)");
}

static int
misused(const struct ctl *ctl, const char *flag, const char *takes, const char *value)
{
	return show_failure(ctl, CTL_USAGE, "usage", "%s: flag \"--%s\" takes %s, not \"%s\"",
	    ctl->verb, flag, takes, value);
}

/* ---- the policy ---- */

static bool
is_member(const struct ask_answer *a, uint32_t node, const char *name, const char *text)
{
	char *value = ask_text(a, node, name);
	bool is = value && !strcmp(value, text);

	free(value);
	return is;
}

/* The tool's object in the answer of `tools`, and the namespace, if there is only one. */
static int
find_policy(const struct ctl *ctl, struct plan *plan, struct policy *policy)
{
	const struct ask_answer *a = &policy->answer;
	uint32_t node = ask_first(a, a->result, "tools");

	for (; node; node = a->doc.nodes[node].next) {
		if (!is_member(a, node, "name", plan->tool) ||
		    (plan->ns && !is_member(a, node, "namespace", plan->ns)))
			continue;
		if (policy->node)
			return show_failure(ctl, CTL_USAGE, "usage",
			    "%s: the tool \"%s\" is one of several namespaces (--namespace)",
			    ctl->verb, plan->tool);
		policy->node = node;
	}
	if (policy->node && !plan->ns)
		plan->ns = ask_text(a, policy->node, "namespace");
	return CTL_OK;
}

/* The texts of an array member, at most n of them, owned. */
static size_t
read_texts(const struct ask_answer *a, uint32_t object, const char *name, char **ret, size_t n_max)
{
	uint32_t node = ask_first(a, object, name);
	size_t n = 0;

	for (; node && n < n_max; node = a->doc.nodes[node].next)
		if (a->doc.nodes[node].type == JSON_STRING)
			ret[n++] = json_string(&a->doc, node, NULL);
	return n;
}

static int
read_spec(const struct ctl *ctl, struct plan *plan, const struct policy *policy)
{
	const struct ask_answer *a = &policy->answer;
	uint32_t node = policy->node ? json_member(&a->doc, policy->node, "reconcile") : 0;
	char *pointer = NULL, *why = NULL, *text;
	const char *raw;
	cJSON *json;
	size_t len;

	if (!node) {
		plan->spec = reconcile_spec_new();
		return CTL_OK;
	}
	raw = ask_raw(a, node, &len);
	text = xstrndup(raw, len);
	json = cJSON_Parse(text);
	free(text);
	plan->spec = reconcile_spec_parse(json, &pointer, &why);
	cJSON_Delete(json);
	if (plan->spec)
		return CTL_OK;
	show_failure(
	    ctl, CTL_CONFIG, "config", "%s: the policy's /reconcile%s %s", ctl->verb, pointer, why);
	free(pointer);
	free(why);
	return CTL_CONFIG;
}

static int
read_policy(const struct ctl *ctl, struct plan *plan, struct policy *policy, int64_t deadline_ms)
{
	struct ask what = {.method = "tools",
	    .params = "{}",
	    .params_len = 2,
	    .again = ASK_ALWAYS,
	    .deadline_ms = deadline_ms};
	char *business[EXPORT_SOURCES_MAX + 1], *window, *why = NULL;
	int err = ask(ctl, &what, &policy->answer, NULL, &why);
	int code = show_asked(ctl, err, why, &policy->answer);

	if (code == CTL_OK)
		code = find_policy(ctl, plan, policy);
	if (code == CTL_OK)
		code = read_spec(ctl, plan, policy);
	policy->window_ms = WINDOW_MS;
	if (code != CTL_OK || !policy->node)
		return code;
	policy->n_business = read_texts(
	    &policy->answer, policy->node, "business_key", business, EXPORT_SOURCES_MAX + 1);
	for (size_t i = 0; i < policy->n_business; i++)
		free(business[i]);
	policy->n_keep = read_texts(&policy->answer, policy->node, "keep", policy->keep, KEEP_MAX);
	window = ask_text(&policy->answer, policy->node, "business_window");
	if (window)
		(void)text_duration_ms(window, &policy->window_ms);
	free(window);
	return CTL_OK;
}

/* ---- the flags ---- */

/* Cuts the next part of *at off at `separator`, which a backslash takes its meaning from. */
static bool
next_part(const char **at, char separator, struct buf *out)
{
	if (!*at)
		return false;
	buf_clear(out);
	for (; **at && **at != separator; (*at)++) {
		if (**at == '\\' && (*at)[1])
			(*at)++;
		buf_add_char(out, **at);
	}
	*at = **at ? *at + 1 : NULL;
	return true;
}

/* NAME=COLUMN, or business_key=COLUMN+COLUMN. */
static bool
set_column(struct reconcile_spec *spec, const char *text)
{
	const char *equals = strchr(text, '='), *at;
	char *name, *sources[RECONCILE_SOURCES_MAX];
	struct buf part = {0};
	size_t n = 0;
	bool ok = equals != NULL;

	if (!equals)
		return false;
	name = xstrndup(text, (size_t)(equals - text));
	at = equals + 1;
	while (
	    ok && next_part(&at, strcmp(name, RECONCILE_BUSINESS_KEY) != 0 ? '\0' : '+', &part)) {
		ok = n < RECONCILE_SOURCES_MAX;
		if (ok)
			sources[n++] = xstrdup(buf_str(&part));
	}
	ok = ok && reconcile_spec_set_column(spec, name, (const char *const *)sources, n);
	for (size_t i = 0; i < n; i++)
		free(sources[i]);
	free(name);
	buf_free(&part);
	return ok;
}

/* NAME=COLUMN,NAME=COLUMN: a comma that begins no further NAME= is a column's own. */
static bool
set_columns(struct reconcile_spec *spec, const char *text)
{
	const char *comma, *name_end;
	char *one;
	bool ok = true;

	while (ok && text) {
		for (comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
			name_end =
			    comma + 1 + strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
			if (name_end > comma + 1 && *name_end == '=')
				break;
		}
		one = comma ? xstrndup(text, (size_t)(comma - text)) : xstrdup(text);
		ok = set_column(spec, one);
		free(one);
		text = comma ? comma + 1 : NULL;
	}
	return ok;
}

static bool
add_pair(struct reconcile_spec *spec, const char *text, bool compare)
{
	const char *equals = strchr(text, '=');
	char *left = equals ? xstrndup(text, (size_t)(equals - text)) : NULL;
	bool ok = equals &&
	    (compare ? reconcile_spec_add_compare(spec, left, equals + 1)
		     : reconcile_spec_add_where(spec, left, equals + 1));

	free(left);
	return ok;
}

static int
read_columns(const struct ctl *ctl, struct plan *plan)
{
	for (size_t i = 0; i < plan->columns.n; i++)
		if (!set_columns(plan->spec, plan->columns.values[i]))
			return misused(ctl, "column",
			    "NAME=COLUMN (only business_key=COLUMN+COLUMN may have several)",
			    plan->columns.values[i]);
	for (size_t i = 0; i < plan->compare.n; i++)
		if (!add_pair(plan->spec, plan->compare.values[i], true))
			return misused(ctl, "compare",
			    "POINTER=NAME, a kept arg and the name of a column",
			    plan->compare.values[i]);
	for (size_t i = 0; i < plan->where.n; i++)
		if (!add_pair(plan->spec, plan->where.values[i], false))
			return misused(ctl, "where", "COLUMN=VALUE", plan->where.values[i]);
	return CTL_OK;
}

static int
read_duration(
    const struct ctl *ctl, struct flag_set *set, const char *flag, int64_t def_ms, int64_t *ret_us)
{
	const char *value = usage_value(set, flag);
	int64_t ms = def_ms;

	if (value && !text_duration_ms(value, &ms))
		return misused(ctl, flag, "a duration such as 90s, 15m or 1h", value);
	*ret_us = ms * 1000;
	return CTL_OK;
}

static int
read_instant(
    const struct ctl *ctl, struct flag_set *set, const char *flag, int64_t *ret_us, bool *ret_has)
{
	const char *value = usage_value(set, flag);
	int64_t ms = 0;

	if (value && !when_read(value, when_now_ms(), &ms))
		return misused(ctl, flag, WHEN_FORMS, value);
	*ret_us = ms * 1000;
	*ret_has = value != NULL;
	return CTL_OK;
}

static int
read_forms(const struct ctl *ctl, struct plan *plan, struct flag_set *set)
{
	const char *format = usage_value(set, "format"), *units = usage_value(set, "minor_units"),
		   *delimiter = usage_value(set, "delimiter");
	int64_t n;

	if (format && strcmp(format, "csv") != 0 && strcmp(format, "jsonl") != 0)
		return misused(ctl, "format", "csv or jsonl", format);
	if (format) {
		free(plan->spec->format);
		plan->spec->format = xstrdup(format);
	}
	if (delimiter && !reconcile_spec_delimiter(delimiter, &plan->spec->delimiter))
		return misused(ctl, "delimiter", "one of , ; | or the word tab", delimiter);
	if (units && !text_int(units, 0, MINOR_UNITS_MAX, &n))
		return misused(ctl, "minor-units", "a number from 0 to 18", units);
	if (units)
		plan->spec->minor_units = (int)n;
	if (usage_given(set, "utc"))
		plan->spec->utc = true;
	return CTL_OK;
}

static int
read_flags(const struct ctl *ctl, struct plan *plan, struct flag_set *set, int64_t window_ms)
{
	int code = read_columns(ctl, plan);

	if (code == CTL_OK)
		code = read_forms(ctl, plan, set);
	if (code == CTL_OK)
		code = read_duration(ctl, set, "slack", SLACK_MS, &plan->match.slack_us);
	if (code == CTL_OK)
		code = read_duration(ctl, set, "window", window_ms, &plan->match.window_us);
	if (code == CTL_OK)
		code = read_instant(ctl, set, "since", &plan->match.from_us, &plan->has_from);
	if (code == CTL_OK)
		code = read_instant(ctl, set, "until", &plan->match.to_us, &plan->has_to);
	return code;
}

/* ---- the plan ---- */

static void
copy_source(const struct reconcile_column *column, struct export_source *ret)
{
	for (size_t i = 0; column && i < column->n_sources; i++)
		ret->names[ret->n++] = xstrdup(column->sources[i]);
}

/* The columns that are fields: only those that are compared are read. */
static int
make_fields(const struct ctl *ctl, struct plan *plan, const struct policy *policy)
{
	const struct reconcile_spec *spec = plan->spec;
	char *why = NULL;

	if (spec->n_compare > EXPORT_FIELDS_MAX || spec->n_where > EXPORT_FIELDS_MAX)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: at most %d fields can be compared, and as many choose", ctl->verb,
		    EXPORT_FIELDS_MAX);
	if (policy->node && !reconcile_spec_keeps(spec, policy->keep, policy->n_keep, &why)) {
		show_failure(ctl, CTL_USAGE, "usage", "%s: %s of the policy", ctl->verb, why);
		free(why);
		return CTL_USAGE;
	}
	for (size_t i = 0; i < spec->n_compare; i++) {
		const struct reconcile_column *column =
		    reconcile_spec_column(spec, spec->compare[i].right);
		struct export_field *field = &plan->export.fields[i];

		if (!column)
			return misused(ctl, "compare", "the name of a column (--column)",
			    spec->compare[i].right);
		field->name = xstrdup(column->name);
		field->source = xstrdup(column->sources[0]);
		field->is_amount = plan->amounts[i] = !strcmp(column->name, RECONCILE_AMOUNT);
		plan->export.n_fields++;
		plan->match.compare[i] =
		    (struct match_compare){.pointer = spec->compare[i].left, .field = (int)i};
	}
	plan->match.n_compare = plan->match.n_fields = spec->n_compare;
	for (size_t i = 0; i < spec->n_where; i++) {
		plan->export.where[i].source = xstrdup(spec->where[i].left);
		plan->export.where[i].value = xstrdup(spec->where[i].right);
		plan->export.n_where++;
	}
	return CTL_OK;
}

/* A column that is there and used by nothing was meant to be used. */
static int
check_used(const struct ctl *ctl, const struct plan *plan)
{
	static const char *const roles[] = {
	    RECONCILE_PROVIDER_KEY, RECONCILE_BUSINESS_KEY, RECONCILE_TIME, RECONCILE_REFERENCE};
	const struct reconcile_spec *spec = plan->spec;

	for (size_t i = 0; i < spec->n_columns; i++) {
		const char *name = spec->columns[i].name;
		bool used = false;

		for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
			used = used || !strcmp(name, roles[k]);
		for (size_t k = 0; k < spec->n_compare; k++)
			used = used || !strcmp(name, spec->compare[k].right);
		if (!used)
			return show_failure(ctl, CTL_USAGE, "usage",
			    "%s: nothing is compared with the column \"%s\" (--compare POINTER=%s)",
			    ctl->verb, name, name);
	}
	return CTL_OK;
}

static int
make_export(const struct ctl *ctl, struct plan *plan, const struct policy *policy)
{
	const struct reconcile_spec *spec = plan->spec;
	struct export_plan *e = &plan->export;

	copy_source(reconcile_spec_column(spec, RECONCILE_PROVIDER_KEY), &e->provider_key);
	copy_source(reconcile_spec_column(spec, RECONCILE_BUSINESS_KEY), &e->business_key);
	copy_source(reconcile_spec_column(spec, RECONCILE_TIME), &e->time);
	copy_source(reconcile_spec_column(spec, RECONCILE_REFERENCE), &e->reference);
	e->format = !spec->format ? EXPORT_GUESS : *spec->format == 'c' ? EXPORT_CSV : EXPORT_JSONL;
	e->delimiter = spec->delimiter;
	e->utc = spec->utc;
	e->minor_units = spec->minor_units;
	e->tool = plan->tool;
	e->ns = plan->ns;
	if (e->provider_key.n == 0 && e->business_key.n == 0)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: %swhich column is the provider key, or the business key? (--column "
		    "provider_key=COLUMN, or 'reconcile' in the tool's policy)",
		    ctl->verb, policy->node ? "" : "no policy in force is of that tool: ");
	if (e->business_key.n != 0 && e->business_key.n != policy->n_business)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: the business key is made of %zu columns, and the policy's of %zu args",
		    ctl->verb, e->business_key.n, policy->n_business);
	if (e->time.n == 0 && (!plan->has_from || !plan->has_to))
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: no column is the time (--column time=COLUMN): then both ends of the "
		    "window "
		    "are needed (--since, --until)",
		    ctl->verb);
	if (plan->has_from && plan->has_to && plan->match.from_us >= plan->match.to_us)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: the window has to end after it begins (--since, --until)", ctl->verb);
	return check_used(ctl, plan);
}

int
plan_make(struct plan *plan, const struct ctl *ctl, struct flag_set *set, int64_t deadline_ms)
{
	struct policy policy = {.node = 0};
	const char *ns = usage_value(set, "namespace");
	int code;

	plan->tool = usage_value(set, "tool");
	if (!plan->tool)
		return show_failure(
		    ctl, CTL_USAGE, "usage", "%s: flag \"--tool\" is missing", ctl->verb);
	plan->ns = ns ? xstrdup(ns) : NULL;
	code = read_policy(ctl, plan, &policy, deadline_ms);
	if (code == CTL_OK)
		code = read_flags(ctl, plan, set, policy.window_ms);
	if (code == CTL_OK)
		code = make_fields(ctl, plan, &policy);
	if (code == CTL_OK)
		code = make_export(ctl, plan, &policy);
	plan->match.memory_bytes = SORT_BYTES;
	ask_answer_free(&policy.answer);
	for (size_t i = 0; i < policy.n_keep; i++)
		free(policy.keep[i]);
	return code;
}

void
plan_clear(struct plan *plan)
{
	export_plan_clear(&plan->export);
	reconcile_spec_unref(plan->spec);
	free(plan->ns);
}
