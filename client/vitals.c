/*
 * Lines about a daemon. Promise: every text of the wire is escaped, numbers stand in columns, and
 * an answer that lacks a member, or has one of another type, lacks a line and breaks nothing. Ages
 * are told by this host's clock, as a person compares them with the one on the wall.
 */
#include "vitals.h"

#include "show.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_AGES 5
#define LATE_MS 10000 /* a row that is due for longer waits for a sweep that does not come */

/* `before`, the text, `after`; nothing at all where there is none. */
static void
add_text(struct buf *out, const struct ask_answer *a, uint32_t object, const char *before,
    const char *name, const char *after)
{
	char *text = object ? ask_text(a, object, name) : NULL;

	if (text && *text) {
		buf_add_str(out, before);
		show_text(out, text, strlen(text));
		buf_add_str(out, after);
	}
	free(text);
}

static void
add_int(struct buf *out, const struct ask_answer *a, uint32_t object, const char *before,
    const char *name)
{
	int64_t value;

	if (object && ask_int(a, object, name, &value))
		buf_printf(out, "%s%lld", before, (long long)value);
}

void
vitals_duration(struct buf *out, int64_t ms)
{
	static const struct {
		const char *name;
		int64_t s;
	} units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	int64_t s = ms > 0 ? ms / 1000 : 0;
	size_t i = 0;

	while (i < 3 && s < units[i].s)
		i++;
	buf_printf(out, "%lld %s", (long long)(s / units[i].s), units[i].name);
	if (i < 3 && s % units[i].s / units[i + 1].s > 0)
		buf_printf(out, " %lld %s", (long long)(s % units[i].s / units[i + 1].s),
		    units[i + 1].name);
}

/* " (4 min ago)" of an instant of the wire. */
static void
add_ago(struct buf *out, const struct ask_answer *a, uint32_t object, const char *name)
{
	char *text = object ? ask_text(a, object, name) : NULL;
	struct timespec now;
	int64_t us;

	clock_gettime(CLOCK_REALTIME, &now);
	if (text && text_instant(text, strlen(text), false, &us)) {
		buf_add_str(out, " (");
		vitals_duration(out, (int64_t)now.tv_sec * 1000 - us / 1000);
		buf_add_str(out, " ago)");
	}
	free(text);
}

void
vitals_daemon(struct buf *out, const struct ask_answer *info)
{
	int64_t ms;

	add_text(out, info, info->result, "effectd  ", "version", "");
	add_int(out, info, info->result, ", protocol ", "protocol");
	if (ask_int(info, info->result, "uptime_ms", &ms)) {
		buf_add_str(out, ", up ");
		vitals_duration(out, ms);
	}
	buf_add_str(out, ask_true(info, info->result, "ready") ? ", ready\n" : ", not ready\n");
}

void
vitals_ledger(struct buf *out, const struct ask_answer *info)
{
	uint32_t database = json_member(&info->doc, info->result, "database");

	buf_add_str(out, "ledger   ");
	add_text(out, info, database, "", "state", "");
	add_text(out, info, database, " since ", "since", "");
	add_ago(out, info, database, "since");
	buf_add_char(out, '\n');
	add_text(out, info, database, "error    ", "error", "\n");
	if (!database || !json_member(&info->doc, database, "server_version"))
		return; /* it was never reached */
	add_text(out, info, database, "         PostgreSQL ", "server_version", "");
	add_int(out, info, info->result, ", schema ", "schema_version");
	buf_add_char(out, '\n');
}

void
vitals_sweeper(struct buf *out, const struct ask_answer *info)
{
	uint32_t sweeper = json_member(&info->doc, info->result, "sweeper");
	uint32_t open = json_member(&info->doc, info->result, "open");
	int64_t due = 0;

	if (!sweeper)
		return;
	buf_add_str(out, "sweeper  ");
	add_text(out, info, sweeper, "last ", "at", "");
	add_ago(out, info, sweeper, "at");
	add_int(out, info, sweeper, ", took ", "took_ms");
	add_int(out, info, sweeper, " ms, rows ", "rows");
	if (ask_true(info, sweeper, "full"))
		buf_add_str(out, ", more to take");
	add_text(out, info, sweeper, ", failed since, at ", "failed_at", "");
	if (open && ask_int(info, open, "due", &due)) {
		buf_printf(out, "; due %lld", (long long)due);
		add_text(out, info, open, " since ", "due_since", "");
		add_ago(out, info, open, "due_since");
	}
	buf_add_char(out, '\n');
}

/* The numbers of an array of N_AGES; false if it is none. */
static bool
read_ages(const struct ask_answer *a, uint32_t list, int64_t ret[N_AGES])
{
	uint32_t node;
	size_t i = 0;

	if (!list || a->doc.nodes[list].type != JSON_ARRAY ||
	    a->doc.nodes[list].n_children != N_AGES)
		return false;
	for (node = list + 1; node; node = a->doc.nodes[node].next)
		if (!json_int(&a->doc, node, &ret[i++]))
			return false;
	return true;
}

void
vitals_open(struct buf *out, const struct ask_answer *info)
{
	static const char *const states[] = {"pending", "unknown", "escalated"};
	uint32_t open = json_member(&info->doc, info->result, "open");
	uint32_t by_age = open ? json_member(&info->doc, open, "by_age") : 0;
	int64_t n, ages[N_AGES] = {0};

	if (!open)
		return;
	buf_printf(out, "%-9s%12s%10s%10s%10s%10s%10s\n", "open", "all", "< 1 min", "< 15 min",
	    "< 1 h", "< 1 d", "older");
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		if (!ask_int(info, open, states[i], &n))
			continue;
		buf_printf(out, "  %-9s%10lld", states[i], (long long)n);
		if (by_age && read_ages(info, json_member(&info->doc, by_age, states[i]), ages))
			for (size_t age = 0; age < N_AGES; age++)
				buf_printf(out, "%10lld", (long long)ages[age]);
		buf_add_char(out, '\n');
	}
}

void
vitals_numbers(struct buf *out, const struct ask_answer *info, const char *title, const char *name)
{
	uint32_t object = json_member(&info->doc, info->result, name), node;
	size_t len, line = 0;
	const char *raw;
	char *member;

	if (!object || info->doc.nodes[object].type != JSON_OBJECT ||
	    !info->doc.nodes[object].n_children)
		return;
	for (node = object + 1; node; node = info->doc.nodes[node].next) {
		member = json_name(&info->doc, node, &len);
		raw = ask_raw(info, node, &len);
		if (line == 0 || line + strlen(member) + len > 68) {
			buf_printf(out, "%s%-9s", line ? "\n" : "", line ? "" : title);
			line = 1;
		} else {
			buf_add_str(out, ", ");
		}
		show_text(out, member, strlen(member));
		buf_add_char(out, ' ');
		show_json(out, raw, len);
		if (!strcmp(member, "request_timeout"))
			buf_add_str(out, " ms");
		line += strlen(member) + len + 3;
		free(member);
	}
	buf_add_char(out, '\n');
}

/* What a daemon has of a tool that not all have alike. */
static void
add_differ(struct buf *out, const struct ask_answer *info, uint32_t tool)
{
	uint32_t node = ask_first(info, tool, "daemons");
	bool named = json_member(&info->doc, tool, "tool") != 0;

	add_text(out, info, tool, "differs  ", "namespace", named ? "/" : ": unknown tools");
	add_text(out, info, tool, "", "tool", "");
	for (size_t n = 0; node; node = info->doc.nodes[node].next, n++) {
		add_text(out, info, node, n ? ", " : ": ", "host", "");
		if (json_member(&info->doc, node, "policy"))
			add_text(out, info, node, " ", "policy", "");
		else
			buf_add_str(out, " none");
	}
	buf_add_char(out, '\n');
}

void
vitals_fleet(struct buf *out, const struct ask_answer *info)
{
	uint32_t list = json_member(&info->doc, info->result, "daemons"), node;
	size_t n = 0;

	if (list && info->doc.nodes[list].n_children > 1)
		for (node = list + 1; node; node = info->doc.nodes[node].next, n++) {
			buf_add_str(out, n ? "         " : "daemons  ");
			add_text(out, info, node, "", "host", "");
			add_text(out, info, node, " ", "version", "");
			add_text(out, info, node, ", ", "state", "");
			add_text(out, info, node, ", seen ", "seen_at", "");
			add_ago(out, info, node, "seen_at");
			buf_add_char(out, '\n');
		}
	list = json_member(&info->doc, info->result, "differ");
	if (list && info->doc.nodes[list].type == JSON_ARRAY && info->doc.nodes[list].n_children)
		for (node = list + 1; node; node = info->doc.nodes[node].next)
			add_differ(out, info, node);
}

static void
add_roles(struct buf *out, const struct ask_answer *info, uint32_t ns)
{
	uint32_t role = ask_first(info, ns, "roles");
	size_t len;
	char *text;

	for (; role; role = info->doc.nodes[role].next) {
		if (info->doc.nodes[role].type != JSON_STRING)
			continue;
		text = json_string(&info->doc, role, &len);
		buf_add_char(out, ' ');
		show_text(out, text, len);
		free(text);
	}
}

void
vitals_rights(struct buf *out, const struct ask_answer *info)
{
	uint32_t peer = json_member(&info->doc, info->result, "peer"), ns;

	if (!peer)
		return;
	buf_add_str(out, "you     ");
	add_int(out, info, peer, " uid ", "uid");
	add_int(out, info, peer, ", gid ", "gid");
	add_int(out, info, peer, ", pid ", "pid");
	buf_add_char(out, '\n');
	ns = ask_first(info, peer, "namespaces");
	if (!ns)
		buf_add_str(out, "rights   none: the config gives you no namespace\n");
	for (; ns; ns = info->doc.nodes[ns].next) {
		add_text(out, info, ns, "rights   ", "name", ":");
		add_roles(out, info, ns);
		buf_add_char(out, '\n');
	}
}

/* Is the oldest due row late by this host's clock? */
static bool
is_late(const struct ask_answer *info, uint32_t open)
{
	char *at = ask_text(info, open, "at"), *since = ask_text(info, open, "due_since");
	int64_t at_us, since_us;
	bool late = at && since && text_instant(at, strlen(at), false, &at_us) &&
	    text_instant(since, strlen(since), false, &since_us) &&
	    at_us - since_us > LATE_MS * 1000;

	free(at);
	free(since);
	return late;
}

void
vitals_advice(struct buf *out, const struct ask_answer *info)
{
	uint32_t open = json_member(&info->doc, info->result, "open");
	uint32_t probes = json_member(&info->doc, info->result, "probes"), differ;
	int64_t n;

	if (!ask_true(info, info->result, "ready"))
		buf_add_str(out,
		    "# the ledger is away: begins are refused, nothing is run; it is tried again\n"
		    "effectctl db check\njournalctl -u effectd -n 50\n");
	if (open && is_late(info, open))
		buf_add_str(
		    out, "# rows are due and no sweep takes them\njournalctl -u effectd -n 50\n");
	if (open && ask_int(info, open, "escalated", &n) && n > 0)
		buf_add_str(out, "# a person must decide\neffectctl list --state escalated\n");
	differ = json_member(&info->doc, info->result, "differ");
	if (differ && info->doc.nodes[differ].n_children)
		buf_add_str(out,
		    "# daemons of this ledger have different policies in force\n"
		    "effectctl tools list\n");
	if (probes && ask_int(info, probes, "open_circuits", &n) && n > 0)
		buf_add_str(
		    out, "# providers that do not answer are left alone\neffectctl tools list\n");
}
