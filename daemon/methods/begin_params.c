/*
 * The table of begin's members, and what they name: a policy, an effect, what is judged beyond a
 * look at its one row. What is done about it is begin.c's and execute.c's.
 */
#include "begin_params.h"

#include "call.h"
#include "ledger.h"
#include "limits.h"

static const struct param table[] = {
    IDENTITY_PARAMS,
    PARAM(struct begin_params, call, PARAM_TEXT, .max = LABEL_BYTES_MAX),
    PARAM(struct begin_params, owner, PARAM_TEXT, .max = LABEL_BYTES_MAX),
    PARAM(struct begin_params, request, PARAM_UUID),
    PARAM(struct begin_params, lease_ms, PARAM_INT, .min = LEASE_MS_MIN, .max = LEASE_MS_MAX,
	.null_absent = true),
    PARAM(struct begin_params, wait_ms, PARAM_INT, .max = WAIT_MS_MAX),
    PARAM(struct begin_params, deadline_ms, PARAM_INT, .min = 1, .max = DEADLINE_MS_MAX),
    PARAM(struct begin_params, bind, PARAM_BOOL),
    PARAM(struct begin_params, again, PARAM_TEXT, .min = 1, .max = REASON_BYTES_MAX),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

bool
begin_params_read(struct begin_params *p, struct request *r)
{
	return call_params(r, table, N_TABLE, p);
}

void
begin_params_clear(struct begin_params *p)
{
	params_clear(table, N_TABLE, p);
}

struct tool_policy *
begin_params_policy(
    struct request *r, const struct begin_params *p, bool executed, const char **ret_ns)
{
	struct tool_policy *policy;
	struct param_fault fault;

	*ret_ns = call_namespace(r, p->who.ns);
	if (!*ret_ns)
		return NULL;
	policy = identity_policy(*ret_ns, p->who.tool, &fault);
	if (policy && executed != (policy->execute != NULL)) {
		params_fault(&fault, "/tool",
		    executed ? "has no 'execute' in its policy: its call is made by whoever begins"
			     : "is executed in the database: ask by execute");
		policy = NULL;
	}
	if (!policy)
		call_refuse_params(r, &fault);
	return policy;
}

static bool
guards(const struct request *r, const struct begin_params *p, const struct identity *id,
    const struct batch_statement **ret_statement, struct param_uuid *ret_business,
    struct param_fault *ret_fault)
{
	const struct tool_policy *policy = id->policy;
	bool turn = p->who.turn && (policy->turn_budget > 0 || policy->turn_asks > 0);

	if (turn && !p->who.run) {
		params_fault(ret_fault, "/run",
		    "is required with a turn: this tool has a budget for each turn of a run");
		return false;
	}
	ret_business->set = policy->business != NULL;
	*ret_statement = turn || policy->business ? &ledger_begin_guarded : &ledger_begin;
	return !policy->business ||
	    !identity_business(&ret_business->value, &r->rpc.doc, &p->who, id, ret_fault);
}

bool
begin_params_mean(struct request *r, const struct begin_params *p, const char *ns,
    struct tool_policy *policy, struct identity *ret_id,
    const struct batch_statement **ret_statement, struct param_uuid *ret_business)
{
	struct param_fault fault;

	if (identity_make(ret_id, &r->rpc.doc, &p->who, ns, policy, &fault)) {
		call_refuse_params(r, &fault);
		return false;
	}
	if (guards(r, p, ret_id, ret_statement, ret_business, &fault))
		return true;
	call_refuse_params(r, &fault);
	identity_clear(ret_id);
	return false;
}

void
begin_params_register(struct call *c, const struct tool_policy *policy, int64_t deadline_ms)
{
	struct pgvalue *v = c->item.columns;

	v[REGISTER_P_VERSION] = pg_int8(policy->version);
	v[REGISTER_P_NS] = pg_text(policy->ns);
	v[REGISTER_P_NAME] = pg_text(policy->name);
	v[REGISTER_P_POLICY] = pg_text(policy->json);
	call_ask(c, &ledger_register_tools, deadline_ms);
}
