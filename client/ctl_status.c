/*
 * status: the daemon, its ledger, what is open and probed and your rights on one screen, from the
 * method info. Exit 69 where a begin would fail: no daemon, or no ledger behind it.
 */
#include "ask.h"
#include "buf.h"
#include "ctl.h"
#include "show.h"
#include "usage.h"

#include <stdlib.h>
#include <string.h>

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

static void
add_uptime(struct buf *out, const struct ask_answer *a)
{
	int64_t ms, s;

	if (!ask_int(a, a->result, "uptime_ms", &ms))
		return;
	s = ms / 1000;
	if (s >= 86400)
		buf_printf(out, ", up %lld d %lld h", (long long)(s / 86400),
		    (long long)(s % 86400 / 3600));
	else if (s >= 3600)
		buf_printf(
		    out, ", up %lld h %lld min", (long long)(s / 3600), (long long)(s % 3600 / 60));
	else if (s >= 60)
		buf_printf(out, ", up %lld min %lld s", (long long)(s / 60), (long long)(s % 60));
	else
		buf_printf(out, ", up %lld s", (long long)s);
}

static void
add_ledger(struct buf *out, const struct ask_answer *a)
{
	uint32_t database = json_member(&a->doc, a->result, "database");

	buf_add_str(out, "ledger   ");
	add_text(out, a, database, "", "state", "");
	add_text(out, a, database, " since ", "since", "");
	add_text(out, a, database, ", PostgreSQL ", "server_version", "");
	add_int(out, a, a->result, ", schema ", "schema_version");
	buf_add_char(out, '\n');
	add_text(out, a, database, "error    ", "error", "\n");
}

/* `name value` pairs of an object of numbers, in lines. */
static void
add_numbers(struct buf *out, const struct ask_answer *a, const char *title, const char *name)
{
	uint32_t object = json_member(&a->doc, a->result, name), node;
	size_t len, line = 0;
	const char *raw;
	char *member;

	if (!object || !a->doc.nodes[object].n_children)
		return;
	for (node = object + 1; node; node = a->doc.nodes[node].next) {
		member = json_name(&a->doc, node, &len);
		raw = ask_raw(a, node, &len);
		if (line == 0 || line + strlen(member) + len > 68) {
			buf_printf(out, "%s%-9s", line ? "\n" : "", line ? "" : title);
			line = 1;
		} else {
			buf_add_str(out, ", ");
		}
		show_text(out, member, strlen(member));
		buf_add_char(out, ' ');
		show_json(out, raw, len);
		line += strlen(member) + len + 3;
		free(member);
	}
	buf_add_char(out, '\n');
}

static void
add_rights(struct buf *out, const struct ask_answer *a)
{
	uint32_t peer = json_member(&a->doc, a->result, "peer"), list, ns, roles, role;
	size_t len;
	char *text;

	if (!peer)
		return;
	buf_add_str(out, "you     ");
	add_int(out, a, peer, " uid ", "uid");
	add_int(out, a, peer, ", gid ", "gid");
	add_int(out, a, peer, ", pid ", "pid");
	buf_add_char(out, '\n');
	list = json_member(&a->doc, peer, "namespaces");
	if (!list || !a->doc.nodes[list].n_children) {
		buf_add_str(out, "rights   none: the config gives you no namespace\n");
		return;
	}
	for (ns = list + 1; ns; ns = a->doc.nodes[ns].next) {
		add_text(out, a, ns, "rights   ", "name", ":");
		roles = json_member(&a->doc, ns, "roles");
		role = roles && a->doc.nodes[roles].n_children ? roles + 1 : 0;
		for (; role; role = a->doc.nodes[role].next) {
			if (a->doc.nodes[role].type != JSON_STRING)
				continue;
			text = json_string(&a->doc, role, &len);
			buf_add_char(out, ' ');
			show_text(out, text, len);
			free(text);
		}
		buf_add_char(out, '\n');
	}
}

static int
tell(const struct ctl *ctl, const struct ask_answer *a)
{
	struct buf out = {0};
	const char *raw;
	size_t len;

	if (ctl->json) {
		raw = ask_raw(a, a->result, &len);
		show_schema(ctl->verb, raw, len);
	} else {
		add_text(&out, a, a->result, "effectd  ", "version", "");
		add_int(&out, a, a->result, ", protocol ", "protocol");
		add_uptime(&out, a);
		buf_add_str(&out, ask_true(a, a->result, "ready") ? ", ready\n" : ", not ready\n");
		add_ledger(&out, a);
		add_numbers(&out, a, "open", "open");
		add_numbers(&out, a, "probes", "probes");
		add_numbers(&out, a, "limits", "limits");
		add_rights(&out, a);
		show_out(&out);
	}
	buf_free(&out);
	return ask_true(a, a->result, "ready") ? CTL_OK : CTL_UNAVAILABLE;
}

int
ctl_status(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct ask what = {.method = "info", .params = "{}", .params_len = 2, .again = ASK_ONCE};
	struct ask_answer answer = {0};
	char *why = NULL;
	int code, err;

	usage_add_deadline(&set);
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	if (!usage_deadline(ctl, &set, &what.deadline_ms))
		return CTL_USAGE;
	err = ask(ctl, &what, &answer, NULL, &why);
	code = show_asked(ctl, err, why, &answer);
	if (code == CTL_OK)
		code = tell(ctl, &answer);
	ask_answer_free(&answer);
	return code;
}
