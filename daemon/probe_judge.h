/*
 * Filling in a probe's templates for one effect, and judging an http answer by its policy's rules.
 * Pure.
 */
#ifndef EFFECTD_PROBE_JUDGE_H
#define EFFECTD_PROBE_JUDGE_H

#include "buf.h"
#include "probe.h"
#include "probe_http_spec.h"

/*
 * Writes `text` with its placeholders filled in. `encode`: percent-encoded, for a URL.
 * `credentials`: the texts of spec->credentials, NULL where none may stand. False: *ret_why, owned:
 * a kept arg is not there, or is no single value.
 */
bool probe_judge_fill(const struct probe_http_spec *spec, const char *text, bool encode,
    char *const *credentials, const struct probe_ask *ask, struct buf *out,
    char **ret_why) must_check;

/*
 * What an answer means. Exactly one of the rules must match: none, or two, is `inconclusive`. The
 * result points into `body`, the reason is *ret_reason (owned by the caller, may be NULL).
 */
struct probe_answer probe_judge_http(const struct probe_http_spec *spec,
    const struct probe_ask *ask, long status, const char *body, size_t body_len, char **ret_reason);

#endif
