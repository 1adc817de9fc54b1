/*
 * begin's answers as text: decision, next, advice and the members of each, in the order of
 * daemon/protocol.md.
 */
#ifndef EFFECTD_BEGIN_ANSWER_H
#define EFFECTD_BEGIN_ANSWER_H

#include "batch.h"
#include "begin_params.h"
#include "buf.h"
#include "execution.h"
#include "identity.h"

/* What the request itself says of the answer. */
struct begin_asked {
	const struct identity *id;
	const char *kept; /* canonical JSON object of its kept args; NULL = none */
	size_t kept_len;
	int64_t waited_ms;
};

/*
 * Appends the whole result object for the row's decision but for its closing brace. False: no such
 * decision. *ret_decision (static) is the word it told.
 */
bool begin_answer_row(struct buf *out, const struct begin_asked *asked, const struct batch_row *row,
    const char **ret_decision);
/* `busy` but for its retry_after_ms, which begin_answer_retry() adds when it is told. */
void begin_answer_busy(
    struct buf *out, const struct begin_asked *asked, const struct batch_row *row);
void begin_answer_retry(struct buf *out);
/* `unknown` but for its next_probe_at (of none if !has_next) and retry_after_ms, which
 * begin_answer_next_probe() adds when it is told. */
void begin_answer_unknown(
    struct buf *out, const struct begin_asked *asked, const struct batch_row *row);
void begin_answer_next_probe(struct buf *out, bool has_next, int64_t at_us);
/* A `run` that came too late to be told: an honest `unknown`. */
void begin_answer_withheld(
    struct buf *out, const struct begin_asked *asked, const struct batch_row *row);
/* What execute did just now, with its result as the tool gave it. */
void begin_answer_ran(
    struct buf *out, const struct begin_asked *asked, const struct execution_end *end);
void begin_answer_pass(struct buf *out, const struct tool_policy *policy);
/* Counts what was decided, and logs it. id, row: NULL = there is none. */
void begin_answer_log(const struct request *r, const struct begin_params *p, const char *ns,
    const struct identity *id, const char *decision, const struct batch_row *row);
/* That, and the answer of an effect: `object` is closed and sent. grant: see call_reply(). */
void begin_answer_tell(struct call *c, const struct begin_params *p, const struct identity *id,
    const struct buf *object, const char *decision, const struct batch_row *row,
    struct grant *grant);

#endif
