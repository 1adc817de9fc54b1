/*
 * incident: what an operator, or effectctl reconcile for him, found when he compared the ledger
 * with the provider's books: about an effect, or about something at the provider that no effect
 * stands for. The same finding is noted once; no effect changes its state.
 */
#include "methods.h"

#include "alloc.h"
#include "call.h"
#include "columns.h"
#include "ledger.h"
#include "limits.h"

#include <stdlib.h>

struct incident_params {
	struct param_uuid effect;
	char *tool, *ns, *reference, *reason, *evidence;
};

static const struct param table[] = {
    PARAM(struct incident_params, effect, PARAM_UUID),
    PARAM(struct incident_params, tool, PARAM_TOOL),
    {.name = "namespace", .type = PARAM_NAMESPACE, .offset = offsetof(struct incident_params, ns)},
    PARAM(struct incident_params, reference, PARAM_KEY),
    PARAM(struct incident_params, reason, PARAM_TEXT, .min = 1, .max = REASON_BYTES_MAX,
	.required = true),
    PARAM(struct incident_params, evidence, PARAM_TEXT, .min = 1, .max = REASON_BYTES_MAX),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

struct incident {
	struct call call;
	struct incident_params p;
	struct uuid id;
	char *scope, *by;
};

static void
incident_row(struct call *c, const struct batch_row *row)
{
	struct incident *i = (struct incident *)c;
	struct buf line = {0};

	if (call_answer_is(row, "ok")) {
		if (c->r) {
			call_log(c->r, &i->id, "reason", i->p.reason);
			call_line(c->r, &line);
			buf_add_char(&line, '{');
			columns_add_uuid(&line, "effect", &i->id);
			/* sent again after a lost connection, it may be our own first try that was
			 * there */
			buf_json_member_bool(
			    &line, "already", batch_bool(row, INCIDENT_ALREADY) && !row->resent);
			buf_add_char(&line, '}');
			call_reply(c, &line, NULL);
		}
	} else if (call_answer_is(row, "not_found")) {
		call_error(c, ERR_NOT_FOUND, NULL);
	} else {
		call_strange_row(c, row);
		return;
	}
	call_end(c);
}

static void
incident_clear(struct call *c)
{
	struct incident *i = (struct incident *)c;

	params_clear(table, N_TABLE, &i->p);
	free(i->scope);
	free(i->by);
}

static const struct call_kind kind = {
    .row = incident_row,
    .gone = call_carry_on,
    .clear = incident_clear,
};

/* Takes the contents of `p`, and `scope`. `ns`: whose reference it is; NULL: it is an effect. */
static void
incident_start(struct request *r, const struct incident_params *p, const char *ns, char *scope)
{
	struct incident *i = call_new(r, &kind, sizeof(*i), call_deadline(r));
	struct pgvalue *v = i->call.item.columns;

	i->p = *p;
	i->scope = scope;
	i->by = xasprintf("uid:%u", (unsigned)r->peer->uid);
	i->id = ns ? digest_reference(ns, p->tool, p->reference) : p->effect.value;
	v[INCIDENT_P_ID] = pg_uuid(&i->id);
	v[INCIDENT_P_SCOPE] = pg_text(i->scope);
	v[INCIDENT_P_NAMESPACE] = pg_text(ns);
	v[INCIDENT_P_TOOL] = pg_text(i->p.tool);
	v[INCIDENT_P_KEY] = pg_text(i->p.reference);
	v[INCIDENT_P_REASON] = pg_text(i->p.reason);
	v[INCIDENT_P_EVIDENCE] = pg_text(i->p.evidence);
	v[INCIDENT_P_BY] = pg_text(i->by);
	call_ask(&i->call, &ledger_incident, call_deadline(r));
}

/* An effect, or what the provider calls something of which there is none. */
static bool
params_agree(struct request *r, const struct incident_params *p)
{
	const char *pointer = NULL, *why = "must not stand beside 'effect'";

	if (p->effect.set) {
		pointer = p->tool  ? "/tool"
		    : p->ns	   ? "/namespace"
		    : p->reference ? "/reference"
				   : NULL;
	} else if (!p->tool && !p->reference) {
		pointer = "/effect";
		why = "is required, or 'tool' and 'reference'";
	} else if (!p->tool || !p->reference) {
		pointer = p->tool ? "/reference" : "/tool";
		why = p->tool ? "is required with 'tool'" : "is required with 'reference'";
	}
	return !pointer || call_refuse_member(r, pointer, why);
}

void
incident_call(struct request *r)
{
	struct incident_params p = {.effect = {.set = false}};
	const char *ns = NULL;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p) || !params_agree(r, &p) ||
	    (p.reference && !(ns = call_namespace(r, p.ns))) || !(scope = call_scope(r))) {
		params_clear(table, N_TABLE, &p);
		return;
	}
	incident_start(r, &p, ns, scope);
}
