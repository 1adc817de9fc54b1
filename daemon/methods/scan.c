/*
 * scan: the effects of one tool in the order of their ids, a page at a time, for whoever compares
 * the ledger with the provider's books. Pages are bounded in rows looked at, rows told and bytes,
 * so that no page of a large ledger runs past its time. The cursor is the id at which a page ended.
 */
#include "methods.h"

#include "call.h"
#include "columns.h"
#include "ledger.h"
#include "limits.h"

#include <stdlib.h>
#include <string.h>

struct scan_params {
	char *tool, *ns;
	struct param_int from, to, limit; /* instants in Unix microseconds */
	struct param_uuid cursor;
	bool kept;
};

static const struct param table[] = {
    PARAM(struct scan_params, tool, PARAM_TOOL, .required = true),
    {.name = "namespace", .type = PARAM_NAMESPACE, .offset = offsetof(struct scan_params, ns)},
    PARAM(struct scan_params, from, PARAM_INSTANT),
    PARAM(struct scan_params, to, PARAM_INSTANT),
    PARAM(struct scan_params, limit, PARAM_INT, .min = 1, .max = LIST_ROWS_MAX),
    PARAM(struct scan_params, cursor, PARAM_UUID),
    PARAM(struct scan_params, kept, PARAM_BOOL),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

struct scan {
	struct call call;
	struct scan_params p;
	char *scope;
};

static void
add_effect(struct buf *out, const struct batch_row *row)
{
	buf_add_char(out, '{');
	columns_uuid(out, "effect", row, SCAN_EFFECT);
	columns_text(out, "key", row, SCAN_KEY);
	columns_text(out, "state", row, SCAN_STATE);
	columns_text(out, "outcome", row, SCAN_OUTCOME);
	columns_int4(out, "attempt", row, SCAN_ATTEMPT);
	columns_instant(out, "claimed_at", row, SCAN_CLAIMED_AT);
	columns_instant(out, "done_at", row, SCAN_DONE_AT);
	columns_instant(out, "lease_until", row, SCAN_LEASE_UNTIL);
	columns_hash(out, "business", row, SCAN_BUSINESS);
	columns_json(out, "kept", row, SCAN_KEPT);
	buf_add_char(out, '}');
}

/* The page as it came: effects, and a last row that says where it ended and when the ledger's
 * memory begins. */
static void
scan_row(struct call *c, const struct batch_row *rows)
{
	struct batch_row row = *rows, end = *rows;
	struct scan *s = (struct scan *)c;
	struct buf line = {0};
	struct uuid cursor;

	end.row = rows->n_rows - 1;
	if (end.row < 0 || strcmp(batch_text(&end, SCAN_STATE, NULL), "end") != 0) {
		call_strange_row(c, rows);
		return;
	}
	if (c->r) {
		call_log(c->r, NULL, "tool", s->p.tool);
		call_line(c->r, &line);
		buf_add_str(&line, "{\"effects\":[");
		for (row.row = 0; row.row < end.row; row.row++) {
			if (row.row > 0)
				buf_add_char(&line, ',');
			add_effect(&line, &row);
		}
		buf_add_char(&line, ']');
		if (batch_uuid(&end, SCAN_EFFECT, &cursor))
			columns_add_uuid(&line, "cursor", &cursor);
		else
			buf_json_member_raw(&line, "cursor", "null", 4);
		columns_instant(&line, "at", &end, SCAN_DONE_AT);
		columns_instant(&line, "installed_at", &end, SCAN_CLAIMED_AT);
		columns_instant(&line, "remembers_from", &end, SCAN_LEASE_UNTIL);
		buf_add_char(&line, '}');
		call_reply(c, &line, NULL);
	}
	call_end(c);
}

static void
scan_clear(struct call *c)
{
	struct scan *s = (struct scan *)c;

	params_clear(table, N_TABLE, &s->p);
	free(s->scope);
}

static const struct call_kind kind = {.row = scan_row, .clear = scan_clear};

static struct pgvalue
instant_or_null(const struct param_int *instant)
{
	return instant->set ? pg_instant(instant->value) : pg_null();
}

/* Takes the contents of `p`, and `scope`. */
static void
scan_start(struct request *r, const struct scan_params *p, const char *ns, char *scope)
{
	struct scan *s = call_new(r, &kind, sizeof(*s), call_deadline(r));
	struct pgvalue *v = s->call.item.columns;

	s->p = *p;
	s->scope = scope;
	v[SCAN_P_SCOPE] = pg_text(s->scope);
	v[SCAN_P_NAMESPACE] = pg_text(ns);
	v[SCAN_P_TOOL] = pg_text(s->p.tool);
	v[SCAN_P_FROM] = instant_or_null(&p->from);
	v[SCAN_P_TO] = instant_or_null(&p->to);
	v[SCAN_P_AFTER] = pg_uuid(p->cursor.set ? &s->p.cursor.value : NULL);
	v[SCAN_P_LIMIT] = pg_int4(p->limit.set ? (int32_t)p->limit.value : LIST_ROWS_MAX);
	v[SCAN_P_KEPT] = pg_bool(p->kept);
	call_ask(&s->call, &ledger_scan, call_deadline(r));
}

void
scan_call(struct request *r)
{
	struct scan_params p = {0};
	const char *ns;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p) || !(ns = call_namespace(r, p.ns)) ||
	    !(scope = call_scope(r))) {
		params_clear(table, N_TABLE, &p);
		return;
	}
	scan_start(r, &p, ns, scope);
}
