/*
 * list: effects by filter, newest claim first, or incidents, newest first; a page at a time. The
 * cursor is where the last page ended, opaque to callers: an instant in microseconds and an id,
 * both in hex, the id of an effect or the number of an incident.
 */
#include "methods.h"

#include "alloc.h"
#include "call.h"
#include "ledger.h"
#include "limits.h"
#include "row.h"
#include "slow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 100
#define CURSOR_INSTANT_BYTES 16
#define CURSOR_BYTES_MAX (CURSOR_INSTANT_BYTES + 1 + UUID_TEXT_BYTES - 1)

struct list_params {
	const char *state;
	char *tool, *ns, *key_prefix, *business_key, *cursor;
	struct param_int older_than_ms, limit;
	bool incidents;
};

static const char *const states[] = {"pending", "unknown", "escalated", "released", "done", NULL};

static const struct param table[] = {
    PARAM(struct list_params, state, PARAM_WORD, .words = states),
    PARAM(struct list_params, tool, PARAM_TOOL),
    {.name = "namespace", .type = PARAM_NAMESPACE, .offset = offsetof(struct list_params, ns)},
    PARAM(struct list_params, key_prefix, PARAM_TEXT, .min = 1, .max = KEY_BYTES_MAX),
    PARAM(struct list_params, business_key, PARAM_TEXT, .min = 1, .max = KEY_BYTES_MAX),
    PARAM(
	struct list_params, older_than_ms, PARAM_INT, .max = DURATION_DAYS_MAX * INT64_C(86400000)),
    PARAM(struct list_params, limit, PARAM_INT, .min = 1, .max = LIST_ROWS_MAX),
    PARAM(struct list_params, cursor, PARAM_TEXT, .max = LABEL_BYTES_MAX),
    PARAM(struct list_params, incidents, PARAM_BOOL),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

/* Where a page ended. */
struct list_cursor {
	int64_t us;
	struct uuid effect; /* effects */
	uint64_t event;	    /* incidents */
};

struct list {
	struct call call;
	struct list_params p;
	char *scope;
	int32_t limit;
	struct list_cursor before;
	struct uuid business; /* the hash of its business_key, if there is one */
	bool past;	      /* its deadline, while the statement ran: see slow_late() */
};

/* 16 lower-case hex digits. */
static bool
read_hex(const char *text, uint64_t *ret)
{
	if (strspn(text, "0123456789abcdef") < CURSOR_INSTANT_BYTES)
		return false;
	*ret = strtoull(text, NULL, 16);
	return true;
}

/* False: it is none of ours, or one of the other kind of list. */
static bool
read_cursor(const char *text, bool incidents, struct list_cursor *ret)
{
	size_t id_bytes = incidents ? 16 : UUID_TEXT_BYTES - 1;
	const char *id = text + CURSOR_INSTANT_BYTES + 1;
	uint64_t us;

	if (strlen(text) != CURSOR_INSTANT_BYTES + 1 + id_bytes ||
	    text[CURSOR_INSTANT_BYTES] != '-' || !read_hex(text, &us) || us > INT64_MAX)
		return false;
	ret->us = (int64_t)us;
	if (incidents)
		return read_hex(id, &ret->event) && ret->event <= INT64_MAX;
	return uuid_parse(id, id_bytes, &ret->effect);
}

/* last: the last row of a full page; NULL = there is no more. */
static void
add_cursor(struct buf *out, const struct list *l, const struct batch_row *last)
{
	char id[UUID_TEXT_BYTES], text[CURSOR_BYTES_MAX + 1];
	struct uuid effect = {{0}};

	if (!last) {
		buf_json_member_raw(out, "cursor", "null", 4);
		return;
	}
	if (l->p.incidents) {
		snprintf(text, sizeof text, "%016" PRIx64 "-%016" PRIx64,
		    (uint64_t)batch_instant(last, INCIDENT_AT),
		    (uint64_t)batch_int8(last, INCIDENT_ID));
	} else {
		(void)batch_uuid(last, ROW_EFFECT, &effect);
		uuid_text(&effect, id);
		snprintf(text, sizeof text, "%016" PRIx64 "-%s",
		    (uint64_t)batch_instant(last, ROW_CLAIMED_AT), id);
	}
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
		buf_add_str(&line, l->p.incidents ? "{\"incidents\":[" : "{\"effects\":[");
		for (row.row = 0; row.row < row.n_rows; row.row++) {
			if (row.row > 0)
				buf_add_char(&line, ',');
			if (l->p.incidents)
				row_incident(&line, &row);
			else
				row_object(&line, &row, false);
		}
		buf_add_char(&line, ']');
		row.row = row.n_rows - 1;
		add_cursor(&line, l, row.n_rows >= l->limit ? &row : NULL);
		buf_add_char(&line, '}');
		call_reply(c, &line, NULL);
	}
	call_end(c);
}

static void
list_late(struct call *c)
{
	slow_late(c, c->item.statement->timeout_ms, &((struct list *)c)->past);
}

static void
list_clear(struct call *c)
{
	struct list *l = (struct list *)c;

	params_clear(table, N_TABLE, &l->p);
	free(l->scope);
}

static const struct call_kind kind = {
    .row = list_row, .failed = slow_failed, .late = list_late, .clear = list_clear};

static void
fill_effects(struct list *l, bool more)
{
	struct pgvalue *v = l->call.item.columns;
	const struct list_params *p = &l->p;

	v[LIST_P_SCOPE] = pg_text(l->scope);
	v[LIST_P_STATE] = pg_text(p->state);
	v[LIST_P_TOOL] = pg_text(p->tool);
	v[LIST_P_NAMESPACE] = pg_text(p->ns);
	v[LIST_P_KEY_PREFIX] = pg_text(p->key_prefix);
	v[LIST_P_OLDER_THAN_MS] =
	    p->older_than_ms.set ? pg_int8(p->older_than_ms.value) : pg_null();
	v[LIST_P_LIMIT] = pg_int4(l->limit);
	v[LIST_P_BEFORE] = more ? pg_instant(l->before.us) : pg_null();
	v[LIST_P_BEFORE_ID] = more ? pg_uuid(&l->before.effect) : pg_null();
	v[LIST_P_BUSINESS] = p->business_key ? pg_uuid(&l->business) : pg_null();
}

static void
fill_incidents(struct list *l, bool more)
{
	struct pgvalue *v = l->call.item.columns;
	const struct list_params *p = &l->p;

	v[INCIDENTS_P_SCOPE] = pg_text(l->scope);
	v[INCIDENTS_P_TOOL] = pg_text(p->tool);
	v[INCIDENTS_P_NAMESPACE] = pg_text(p->ns);
	v[INCIDENTS_P_OLDER_THAN_MS] =
	    p->older_than_ms.set ? pg_int8(p->older_than_ms.value) : pg_null();
	v[INCIDENTS_P_LIMIT] = pg_int4(l->limit);
	v[INCIDENTS_P_BEFORE] = more ? pg_instant(l->before.us) : pg_null();
	v[INCIDENTS_P_BEFORE_ID] = more ? pg_int8((int64_t)l->before.event) : pg_null();
}

/* Takes the contents of `p`, and `scope`. `ns`: whose business key it is. */
static void
list_start(struct request *r, const struct list_params *p, const char *ns, char *scope,
    const struct list_cursor *before)
{
	struct list *l = call_new(r, &kind, sizeof(*l), call_deadline(r));

	l->p = *p;
	l->scope = scope;
	l->limit = p->limit.set ? (int32_t)p->limit.value : LIMIT_DEFAULT;
	l->before = *before;
	if (p->business_key)
		l->business =
		    digest_business(ns, p->tool, p->business_key, strlen(p->business_key));
	if (p->incidents)
		fill_incidents(l, p->cursor != NULL);
	else
		fill_effects(l, p->cursor != NULL);
	call_ask(&l->call, p->incidents ? &ledger_incidents : &ledger_list, call_deadline(r));
}

/* What only effects have is no filter of incidents: one that is silently off would mislead. */
static bool
params_agree(struct request *r, const struct list_params *p, struct list_cursor *ret_before)
{
	const char *pointer = NULL, *why = "must not stand beside 'incidents'";

	if (p->incidents && p->state)
		pointer = "/state";
	else if (p->incidents && p->key_prefix)
		pointer = "/key_prefix";
	else if (p->incidents && p->business_key)
		pointer = "/business_key";
	else if (p->business_key && !p->tool) {
		pointer = "/tool";
		why = "is required with a business key";
	} else if (p->cursor && !read_cursor(p->cursor, p->incidents, ret_before)) {
		pointer = "/cursor";
		why = "is none that a list has told";
	}
	return !pointer || call_refuse_member(r, pointer, why);
}

void
list_call(struct request *r)
{
	struct list_params p = {0};
	struct list_cursor before = {0};
	const char *ns = NULL;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p) || !params_agree(r, &p, &before))
		goto out;
	if (p.ns || p.business_key) {
		ns = call_namespace(r, p.ns);
		if (!ns)
			goto out;
	}
	scope = call_scope(r);
	if (!scope)
		goto out;
	list_start(r, &p, ns, scope, &before);
	return;
out:
	params_clear(table, N_TABLE, &p);
}
