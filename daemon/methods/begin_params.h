/*
 * The params of begin, which key takes as well, so that one object serves both.
 */
#ifndef EFFECTD_BEGIN_PARAMS_H
#define EFFECTD_BEGIN_PARAMS_H

#include "batch.h"
#include "call.h"
#include "identity.h"

struct begin_params {
	struct identity_params who; /* first, as IDENTITY_PARAMS wants it */
	char *call, *owner, *again;
	struct param_uuid request;
	struct param_int lease_ms, wait_ms, deadline_ms;
	bool bind;
};

/* As call_params(); in every case begin_params_clear() frees. */
bool begin_params_read(struct begin_params *p, struct request *r) must_check;
void begin_params_clear(struct begin_params *p);
/* The policy of the tool in the namespace meant, *ret_ns; one with `execute` or one without. NULL:
 * there is none such, and the request was refused. Borrowed from the policies in force. */
struct tool_policy *begin_params_policy(
    struct request *r, const struct begin_params *p, bool executed, const char **ret_ns) must_check;
/*
 * Which effect is meant, and what is judged beyond its own row: by which statement, and of which
 * business effect. False: something it goes by is not there, and the request was refused. On
 * success identity_clear() frees.
 */
bool begin_params_mean(struct request *r, const struct begin_params *p, const char *ns,
    struct tool_policy *policy, struct identity *ret_id,
    const struct batch_statement **ret_statement, struct param_uuid *ret_business) must_check;
/* The ledger does not know the policy yet: tells it, by the call's item. */
void begin_params_register(struct call *c, const struct tool_policy *policy, int64_t deadline_ms);

#endif
