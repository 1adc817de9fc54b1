/*
 * The table of begin's members, and which of them ask for more than a look at one row. What they
 * mean is begin.c's.
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

bool
begin_params_guards(const struct request *r, const struct begin_params *p,
    const struct identity *id, const struct batch_statement **ret_statement,
    struct param_uuid *ret_business, struct param_fault *ret_fault)
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
