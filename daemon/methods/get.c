/*
 * get: what is recorded about one effect, with its newest events; the read tool for a model. Named
 * by its id, or by tool and key, or by tool and what the key is derived from.
 */
#include "methods.h"

#include "call.h"
#include "identity.h"
#include "ledger.h"
#include "limits.h"
#include "row.h"

#include <stdlib.h>

#define EVENTS_DEFAULT 20

struct get_params {
	struct identity_params who; /* first, as IDENTITY_PARAMS wants it */
	struct param_uuid effect;
	struct param_int events;
};

static const struct param table[] = {
    IDENTITY_PARAMS_OPTIONAL,
    PARAM(struct get_params, effect, PARAM_UUID),
    PARAM(struct get_params, events, PARAM_INT, .max = EVENTS_MAX),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

struct get {
	struct call call;
	struct uuid effect;
	char *scope;
};

static void
get_row(struct call *c, const struct batch_row *row)
{
	struct get *g = (struct get *)c;
	struct buf line = {0};

	if (!c->r) {
		call_end(c);
		return;
	}
	if (call_answer_is(row, "ok")) {
		call_log(c->r, &g->effect, "state", batch_text(row, ROW_STATE, NULL));
		call_line(c->r, &line);
		row_object(&line, row, true);
		call_reply(c, &line, NULL);
	} else if (!call_error_row(c, row, ROW_STATE, ROW_ATTEMPT)) {
		call_strange_row(c, row);
		return;
	}
	call_end(c);
}

static void
get_clear(struct call *c)
{
	free(((struct get *)c)->scope);
}

static const struct call_kind kind = {.row = get_row, .clear = get_clear};

/* A member that names the effect in another way than `effect` does. */
static const char *
second_name(const struct identity_params *who)
{
	return who->tool ? "/tool"
	    : who->key	 ? "/key"
	    : who->args	 ? "/args"
	    : who->ns	 ? "/namespace"
	    : who->run	 ? "/run"
	    : who->step	 ? "/step"
	    : who->turn	 ? "/turn"
			 : NULL;
}

/* False: the request was refused. */
static bool
find_effect(struct request *r, const struct get_params *p, struct uuid *ret)
{
	const char *second = second_name(&p->who), *ns;
	struct tool_policy *policy;
	struct param_fault fault;
	struct identity id;

	if (p->effect.set && !second) {
		*ret = p->effect.value;
		return true;
	}
	if (p->effect.set)
		return call_refuse_member(r, second, "must not stand beside 'effect'");
	if (!p->who.tool)
		return call_refuse_member(
		    r, "/effect", "is required, or 'tool' with a key or what it is derived from");
	ns = call_namespace(r, p->who.ns);
	if (!ns)
		return false;
	/* a tool that begin would refuse today may have been known when its effect was claimed */
	policy = tool_find(call_tools(), ns, p->who.tool);
	if (!policy)
		policy = tool_default(call_tools(), ns, p->who.tool);
	if (identity_make(&id, &r->rpc.doc, &p->who, ns, policy, &fault)) {
		call_refuse_params(r, &fault);
		return false;
	}
	*ret = id.effect;
	identity_clear(&id);
	return true;
}

static void
get_start(struct request *r, const struct get_params *p, const struct uuid *effect, char *scope)
{
	struct get *g = call_new(r, &kind, sizeof(*g), call_deadline(r));
	struct pgvalue *v = g->call.item.columns;

	g->effect = *effect;
	g->scope = scope;
	v[GET_P_ID] = pg_uuid(&g->effect);
	v[GET_P_SCOPE] = pg_text(g->scope);
	v[GET_P_EVENTS] = pg_int4(p->events.set ? (int32_t)p->events.value : EVENTS_DEFAULT);
	call_ask(&g->call, &ledger_get, call_deadline(r));
}

void
get_call(struct request *r)
{
	struct get_params p = {.effect = {.set = false}};
	struct uuid effect;
	char *scope;

	if (!call_params(r, table, N_TABLE, &p))
		goto out;
	scope = call_scope(r);
	if (!scope)
		goto out;
	if (find_effect(r, &p, &effect))
		get_start(r, &p, &effect, scope);
	else
		free(scope);
out:
	params_clear(table, N_TABLE, &p);
}
