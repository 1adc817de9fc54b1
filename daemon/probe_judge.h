/* What an http probe's answer means by its policy's rules. Pure. */
#ifndef EFFECTD_PROBE_JUDGE_H
#define EFFECTD_PROBE_JUDGE_H

#include "probe.h"
#include "probe_http_spec.h"

/*
 * What an answer means. Exactly one of the rules must match: none, or two, is `inconclusive`. The
 * result points into `body`, the reason is *ret_reason (owned by the caller, may be NULL).
 */
struct probe_answer probe_judge_http(const struct probe_http_spec *spec,
    const struct probe_ask *ask, long status, const char *body, size_t body_len, char **ret_reason);

#endif
