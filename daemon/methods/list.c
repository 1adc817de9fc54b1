/*
 * list: effects by filter, newest claim first, a page at a time. The cursor is where the last page
 * ended, opaque to callers: it says claimed_at in microseconds and the id, both in hex.
 */
#include "methods.h"

#include "alloc.h"
#include "call.h"
#include "ledger.h"
#include "limits.h"
#include "loop.h"
#include "row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 100
#define CURSOR_BYTES (16 + 1 + UUID_TEXT_BYTES - 1)
#define SLOW_MS 5500 /* what the statement's own time-out needs to be told, once it was sent */

struct list_params {
	const char *state;
	char *tool, *ns, *key_prefix, *cursor;
	struct param_int older_than_ms, limit;
};

static const char *const states[] = {"pending", "unknown", "escalated", "released", "done", NULL};

static const struct param table[] = {
    PARAM(struct list_params, state, PARAM_WORD, .words = states),
    PARAM(struct list_params, tool, PARAM_TOOL),
    {.name = "namespace", .type = PARAM_NAMESPACE, .offset = offsetof(struct list_params, ns)},
    PARAM(struct list_params, key_prefix, PARAM_TEXT, .min = 1, .max = KEY_BYTES_MAX),
    PARAM(
	struct list_params, older_than_ms, PARAM_INT, .max = DURATION_DAYS_MAX * INT64_C(86400000)),
    PARAM(struct list_params, limit, PARAM_INT, .min = 1, .max = LIST_ROWS_MAX),
    PARAM(struct list_params, cursor, PARAM_TEXT, .max = LABEL_BYTES_MAX),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

struct list {
	struct call call;
	struct list_params p;
	char *scope;
	int32_t limit;
	bool slow; /* its deadline passed while the statement ran: the statement's own time-out ends
		      it */
};

/* The two halves may be read in any case; false: it is none of ours. */
static bool
read_cursor(const char *text, int64_t *ret_us, struct uuid *ret_id)
{
	uint64_t us;
	char *end;

	if (strlen(text) != CURSOR_BYTES || strspn(text, "0123456789abcdef") != 16 ||
	    text[16] != '-')
		return false;
	us = strtoull(text, &end, 16);
	if (end != text + 16 || us > INT64_MAX)
		return false;
	*ret_us = (int64_t)us;
	return uuid_parse(text + 17, strlen(text + 17), ret_id);
}

static void
add_cursor(struct buf *out, const struct batch_row *last)
{
	char id[UUID_TEXT_BYTES], text[CURSOR_BYTES + 1];
	struct uuid effect;

	if (!last || !batch_uuid(last, ROW_EFFECT, &effect)) {
		buf_json_member_raw(out, "cursor", "null", 4);
		return;
	}
	uuid_text(&effect, id);
	snprintf(text, sizeof(text), "%016" PRIx64 "-%s",
	    (uint64_t)batch_instant(last, ROW_CLAIMED_AT), id);
	buf_json_member_str(out, "cursor", text);
}

static void
list_row(struct call *c, const struct batch_row *rows)
{
	struct list *l = (struct list *)c;
	struct batch_row row = *rows;
	struct buf line = {0};

	if (c->r) {
		call_log(c->r, NULL, "tool", l->p.tool);
		call_line(c->r, &line);
		buf_add_str(&line, "{\"effects\":[");
		for (row.row = 0; row.row < row.n_rows; row.row++) {
			if (row.row > 0)
				buf_add_char(&line, ',');
			row_object(&line, &row, false);
		}
		buf_add_char(&line, ']');
		row.row = row.n_rows - 1;
		add_cursor(&line, row.n_rows >= l->limit ? &row : NULL);
		buf_add_char(&line, '}');
		call_reply(c, &line, NULL);
	}
	call_end(c);
}

static void
list_late(struct call *c)
{
	struct list *l = (struct list *)c;

	/* what is running has a time-out of its own, and its answer says more than ours would */
	if (c->asked && c->item.in_flight && !l->slow) {
		l->slow = true;
		call_set_due(c, loop_now_ms() + SLOW_MS);
		return;
	}
	call_unavailable(c, NULL);
	if (call_take_back(c))
		call_end(c);
}

static void
list_clear(struct call *c)
{
	struct list *l = (struct list *)c;

	params_clear(table, N_TABLE, &l->p);
	free(l->scope);
}

static const struct call_kind kind = {.row = list_row, .late = list_late, .clear = list_clear};

/* Takes the contents of `p`, and `scope`. */
static void
list_start(struct request *r, const struct list_params *p, char *scope, int64_t before_us,
    const struct uuid *before_id)
{
	struct list *l = call_new(r, &kind, sizeof(*l), call_deadline(r));
	struct pgvalue *v = l->call.item.columns;

	l->p = *p;
	l->scope = scope;
	l->limit = p->limit.set ? (int32_t)p->limit.value : LIMIT_DEFAULT;
	v[LIST_P_SCOPE] = pg_text(scope);
	v[LIST_P_STATE] = pg_text(p->state);
	v[LIST_P_TOOL] = pg_text(p->tool);
	v[LIST_P_NAMESPACE] = pg_text(p->ns);
	v[LIST_P_KEY_PREFIX] = pg_text(p->key_prefix);
	v[LIST_P_OLDER_THAN_MS] =
	    p->older_than_ms.set ? pg_int8(p->older_than_ms.value) : pg_null();
	v[LIST_P_LIMIT] = pg_int4(l->limit);
	v[LIST_P_BEFORE] = before_id ? pg_instant(before_us) : pg_null();
	v[LIST_P_BEFORE_ID] = pg_uuid(before_id);
	call_ask(&l->call, &ledger_list, call_deadline(r));
}

void
list_call(struct request *r)
{
	struct list_params p = {0};
	struct param_fault fault;
	struct uuid before_id;
	const struct uuid *before = NULL;
	int64_t before_us = 0;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p))
		goto out;
	if (p.cursor && read_cursor(p.cursor, &before_us, &before_id)) {
		before = &before_id;
	} else if (p.cursor) {
		params_fault(&fault, "/cursor", "is none that a list has told");
		call_refuse_params(r, &fault);
		goto out;
	}
	if (p.ns && !call_namespace(r, p.ns))
		goto out;
	scope = call_scope(r);
	if (!scope)
		goto out;
	list_start(r, &p, scope, before_us, before);
	return;
out:
	params_clear(table, N_TABLE, &p);
}
