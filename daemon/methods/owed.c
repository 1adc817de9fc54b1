/*
 * One item an effect, sent until it is written. Nothing is decided here: both functions are fenced
 * by the token, so that a claim which was never there, or which somebody else has settled since, is
 * not touched. Owns its items.
 */
#include "owed.h"

#include "alloc.h"
#include "call.h"
#include "due.h"
#include "grant.h"
#include "ledger.h"
#include "log.h"
#include "loop.h"
#include "waiting.h"

#include <assert.h>
#include <stdlib.h>

#define OWED_MAX 10000

struct owed {
	struct batch_item item;
	struct uuid effect, token;
	struct uuid request; /* of the claim that is given back */
	bool has_request;
};

static unsigned n_owed;

static void
owed_done_cb(struct batch_item *item, int err, const struct batch_row *row)
{
	struct owed *o = (struct owed *)(void *)((char *)item - offsetof(struct owed, item));

	assert(n_owed > 0);
	if (!err)
		call_count(row, HOLDER_NAMESPACE, &o->token);
	n_owed--;
	if (err)
		log_warn("ledger",
		    "\"%s\" of a claim that nobody holds failed: %s, leaving it to its lease",
		    item->statement->name, err_name(err));
	if (o->has_request)
		grant_ask_end(&o->request);
	waiting_wake(&o->effect);
	due_now();
	free(o);
}

static void
owe(const struct batch_statement *statement, const struct uuid *effect, const struct uuid *token,
    const struct uuid *request)
{
	struct owed *o = xcalloc(1, sizeof(*o));

	o->effect = *effect;
	o->token = *token;
	if (request) {
		/* one more begin of it would be busy against a claim that nobody holds */
		o->request = *request;
		o->has_request = true;
		(void)grant_ask(request, effect);
	}
	o->item.statement = statement;
	o->item.columns[HOLDER_P_ID] = pg_uuid(effect);
	o->item.columns[HOLDER_P_TOKEN] = pg_uuid(token);
	o->item.columns[HOLDER_P_SCOPE] = pg_null();
	o->item.columns[HOLDER_P_REASON] = pg_null();
	o->item.columns[HOLDER_P_FLAG] = pg_bool(true);
	o->item.deadline_ms =
	    n_owed < OWED_MAX ? INT64_MAX : loop_now_ms() + call_config()->request_timeout_ms;
	o->item.done = owed_done_cb;
	n_owed++;
	batch_add(&o->item);
}

void
owed_not_told(
    const struct uuid *effect, const struct uuid *token, const struct uuid *request)
{
	owe(&ledger_release, effect, token, request);
	grant_forget(effect, token);
}

void
owed_closed(void *arg, const struct uuid *effect, const struct uuid *token)
{
	(void)arg;
	owe(&ledger_unknown, effect, token, NULL);
}

bool
owed_word(const struct uuid *effect, const struct uuid *token)
{
	return grant_word(effect, token);
}

void
owed_word_end(const struct uuid *effect, const struct uuid *token)
{
	if (grant_word_end(effect, token))
		owed_closed(NULL, effect, token);
}

unsigned
owed_n(void)
{
	return n_owed;
}
