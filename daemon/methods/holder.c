/*
 * Reads effect and token, asks, answers `{state, VALUE}`. Carried out though the peer is gone: what
 * a holder says about its claim is true whether or not it waits for the answer.
 */
#include "holder.h"

#include "alloc.h"
#include "call.h"
#include "columns.h"
#include "due.h"
#include "grant.h"
#include "ledger.h"
#include "limits.h"
#include "owed.h"
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

struct holder_params {
	struct param_uuid effect, token;
	char *reason;
	struct param_int lease_ms;
};

#define HOLDER_PARAMS                                                      \
	PARAM(struct holder_params, effect, PARAM_UUID, .required = true), \
	    PARAM(struct holder_params, token, PARAM_UUID, .required = true)

static const struct param reason_table[] = {
    HOLDER_PARAMS,
    PARAM(struct holder_params, reason, PARAM_TEXT, .max = REASON_BYTES_MAX),
};
static const struct param lease_table[] = {
    HOLDER_PARAMS,
    PARAM(struct holder_params, lease_ms, PARAM_INT, .min = LEASE_MS_MIN, .max = LEASE_MS_MAX,
	.null_absent = true),
};
#define N_TABLE (sizeof(reason_table) / sizeof(reason_table[0]))

struct holder {
	struct call call;
	const struct holder_method *method;
	struct uuid effect, token;
	char *reason, *scope;
	bool word; /* owed_word_end() is to be called */
};

static void
holder_reply(struct holder *h, const struct batch_row *row)
{
	struct buf line = {0};

	call_log(h->call.r, &h->effect, "state", batch_text(row, HOLDER_STATE, NULL));
	call_line(h->call.r, &line);
	buf_add_char(&line, '{');
	columns_text(&line, "state", row, HOLDER_STATE);
	h->method->value(&line, row);
	buf_add_char(&line, '}');
	call_reply(&h->call, &line, NULL);
}

static bool
holder_is_pending(const struct batch_row *row)
{
	const char *state = batch_text(row, HOLDER_STATE, NULL);

	return state && strcmp(state, "pending") == 0;
}

static void
holder_row(struct call *c, const struct batch_row *row)
{
	struct holder *h = (struct holder *)c;

	call_count(row, HOLDER_NAMESPACE, &h->token);
	if (call_answer_is(row, "ok")) {
		if (c->r)
			holder_reply(h, row);
		if (h->method->settles)
			grant_forget(&h->effect, &h->token);
		else if (!holder_is_pending(row))
			grant_unbind(&h->effect, &h->token);
		if (h->method->wakes)
			waiting_wake(&h->effect);
		if (h->method->makes_due)
			due_now();
	} else if (!call_error_row(c, row, HOLDER_STATE, HOLDER_ATTEMPT)) {
		call_strange_row(c, row);
		return;
	}
	call_end(c);
}

static void
holder_clear(struct call *c)
{
	struct holder *h = (struct holder *)c;

	if (h->word)
		owed_word_end(&h->effect, &h->token);
	free(h->reason);
	free(h->scope);
}

static const struct call_kind kind = {
    .row = holder_row,
    .gone = call_carry_on,
    .clear = holder_clear,
};

void
holder_call(struct request *r, const struct holder_method *m)
{
	const struct param *table = m->has_reason ? reason_table : lease_table;
	struct holder_params p = {0};
	struct pgvalue *v;
	struct holder *h;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p)) {
		params_clear(table, N_TABLE, &p);
		return;
	}
	scope = call_scope(r);
	if (!scope) {
		params_clear(table, N_TABLE, &p);
		return;
	}
	h = call_new(r, &kind, sizeof(*h), call_deadline(r));
	h->method = m;
	h->effect = p.effect.value;
	h->token = p.token.value;
	h->reason = p.reason;
	h->scope = scope;
	h->word = owed_word(&h->effect, &h->token);
	v = h->call.item.columns;
	v[HOLDER_P_ID] = pg_uuid(&h->effect);
	v[HOLDER_P_TOKEN] = pg_uuid(&h->token);
	v[HOLDER_P_SCOPE] = pg_text(h->scope);
	if (m->has_reason)
		v[HOLDER_P_REASON] = pg_text(h->reason);
	else
		v[HOLDER_P_REASON] =
		    p.lease_ms.set ? pg_int4((int32_t)p.lease_ms.value) : pg_null();
	v[HOLDER_P_FLAG] = pg_bool(false);
	call_ask(&h->call, m->statement, call_deadline(r));
}
