/*
 * The params of begin, which key takes as well, so that one object serves both.
 */
#ifndef EFFECTD_BEGIN_PARAMS_H
#define EFFECTD_BEGIN_PARAMS_H

#include "batch.h"
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
/*
 * What is judged beyond the effect's own row: by which statement, and of which business effect.
 * False: it cannot be, since something it goes by is not there; *ret_fault says what.
 */
bool begin_params_guards(const struct request *r, const struct begin_params *p,
    const struct identity *id, const struct batch_statement **ret_statement,
    struct param_uuid *ret_business, struct param_fault *ret_fault) must_check;

#endif
