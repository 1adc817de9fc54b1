/*
 * key: what begin would mean by the same params. Claims nothing and asks no ledger: for checkpoints
 * and for begin_here.
 */
#include "methods.h"

#include "begin_params.h"
#include "call.h"
#include "columns.h"
#include "identity.h"

static void
key_reply(struct request *r, const struct identity *id)
{
	struct buf line = {0};

	call_log(r, &id->effect, "tool", id->policy->name);
	call_line(r, &line);
	buf_add_char(&line, '{');
	columns_add_uuid(&line, "effect", &id->effect);
	buf_json_member(&line, "key");
	buf_json_string(&line, id->key, id->key_len);
	columns_add_hash(&line, "fingerprint", &id->fingerprint);
	columns_add_uuid(&line, "provider_key", &id->effect);
	buf_add_char(&line, '}');
	call_send(r, &line);
}

void
key_call(struct request *r)
{
	struct begin_params p = {0};
	struct tool_policy *policy;
	struct param_fault fault;
	struct identity id;
	const char *ns;

	if (!begin_params_read(&p, r))
		goto out;
	ns = call_namespace(r, p.who.ns);
	if (!ns)
		goto out;
	policy = identity_policy(ns, p.who.tool, &fault);
	if (!policy || identity_make(&id, &r->rpc.doc, &p.who, ns, policy, &fault)) {
		call_refuse_params(r, &fault);
		goto out;
	}
	key_reply(r, &id);
	identity_clear(&id);
out:
	begin_params_clear(&p);
}
