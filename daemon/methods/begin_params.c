/*
 * The table of begin's members. What they mean is begin.c's.
 */
#include "begin_params.h"
#include "call.h"

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
