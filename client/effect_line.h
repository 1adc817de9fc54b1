/*
 * The lines that are sent, made once and sent again as they are. Every line holds its id, so that
 * asking again is the same to the byte.
 */
#ifndef EFFECT_LINE_H
#define EFFECT_LINE_H

#include "effect.h"
#include "effect_json.h"
#include "effect_text.h"

/* Room that a line is made with, so that it can become a give-back, or leave its result out. */
#define EFFECT_LINE_GIVE_BACK_BYTES 512
#define EFFECT_LINE_OMIT_BYTES 512
#define EFFECT_LINE_DEPTH_MAX 62 /* of JSON inside params: the daemon's 64, less the envelope */
#define EFFECT_LINE_WHY_BYTES 256

/* A complete's line, and where its result stands in it. */
struct effect_line {
	struct effect_text text;
	size_t result_at, result_len; /* 0, 0: it has none that could be left out */
};

/*
 * All: EFFECT_OK with an owned line that ends in LF (line->text.data, also to be freed after a
 * failure), EFFECT_ENOMEM, or EFFECT_INVALID_PARAMS / EFFECT_MISUSE with `why`
 * (EFFECT_LINE_WHY_BYTES) filled.
 */
enum effect_kind effect_line_begin(struct effect_line *line, uint64_t id, const char *request,
    const struct effect_params *params, int64_t wait_ms, char *why);
/* `effect` and `token` are raw strings of JSON, here and below. */
enum effect_kind effect_line_complete(struct effect_line *line, uint64_t id,
    const struct effect_json_span *effect, const struct effect_json_span *token,
    const struct effect_report *report, size_t max_line, char *why);
/* `method` is release or unknown; the reason is made UTF-8 and cut. */
enum effect_kind effect_line_report(struct effect_line *line, uint64_t id, const char *method,
    const struct effect_json_span *effect, const struct effect_json_span *token,
    const char *reason);
/* lease_ms 0: the policy's. */
enum effect_kind effect_line_extend(struct effect_line *line, uint64_t id,
    const struct effect_json_span *effect, const struct effect_json_span *token, int64_t lease_ms);
enum effect_kind effect_line_other(
    struct effect_line *line, uint64_t id, const char *method, const char *params, char *why);

/*
 * Turns a line of effect_line_begin() into the release of what it was granted. Needs no memory and
 * cannot fail: the spans are no longer than effect_answer_of_begin() lets them be.
 */
void effect_line_give_back(struct effect_line *line, uint64_t id,
    const struct effect_json_span *effect, const struct effect_json_span *token,
    const char *reason);
/* Leaves the result of a complete out, by its size and SHA-256. Likewise. */
void effect_line_omit(struct effect_line *line);

#endif
