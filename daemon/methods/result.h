/*
 * A tool's result on its way into the ledger: the raw bytes as they came, or only their size and
 * hash, with what the policy calls secret taken out before they leave this process.
 */
#ifndef EFFECTD_RESULT_H
#define EFFECTD_RESULT_H

#include "buf.h"
#include "digest.h"
#include "json.h"
#include "pgarray.h"
#include "tool.h"

#include <stdbool.h>

struct result {
	char *text; /* owned; NULL = JSON null, or omitted */
	size_t len;
	struct buf redacted; /* the stored form, where something was taken out */
	bool omitted;
	int64_t bytes;
	uint8_t sha256[SHA256_BYTES];
	bool looked; /* `policy` is the version whose secrets were looked for */
	int64_t policy;
};

/* Takes the bytes of the value `node` (0 = none = null). Bytes that are no UTF-8 cannot be stored:
 * omitted. */
void result_take(struct result *res, const struct json_doc *doc, uint32_t node);
/* The caller sent size and hash only. */
void result_set_omitted(struct result *res, int64_t bytes, const uint8_t sha256[SHA256_BYTES]);
/* Only size and hash leave this process. */
void result_omit(struct result *res);
void result_redact(struct result *res, const struct tool_policy *policy);
/* By a version that lives in the ledger: `pointers` is its result_secret, a JSON array of strings
 * (NULL = none). */
void result_redact_by(struct result *res, int64_t version, const char *pointers, size_t len);
/* Is there anything that a secret could stand in? */
bool result_has_text(const struct result *res);
/* Fills p_policy, and p_result, p_result_bytes, p_result_sha256, p_redacted, which stand in a row.
 * They borrow from `res`. */
void result_fill(const struct result *res, struct pgvalue *policy, struct pgvalue *values);
/* Memory that it holds. */
size_t result_memory(const struct result *res);
void result_clear(struct result *res);

#endif
