/*
 * The exec probe: a command that gets the question as one JSON line on stdin and answers with one
 * JSON object on stdout and exit 0.
 */
#ifndef EFFECTD_PROBE_EXEC_H
#define EFFECTD_PROBE_EXEC_H

#include "buf.h"
#include "probe.h"

#include <stdbool.h>

struct child_result;
struct probe_exec;

/* As probe_start() and probe_cancel(). */
struct probe_exec *probe_exec_start(const struct probe_ask *ask,
    void (*done)(void *arg, const struct probe_answer *answer), void *arg, char **ret_why);
void probe_exec_cancel(struct probe_exec *probe);

/* The question's line, LF included. */
void probe_exec_question(const struct probe_ask *ask, struct buf *out);
/*
 * What a command's end says. The answer's result points into `result`, its reason into *ret_reason
 * (owned by the caller, may be NULL).
 */
struct probe_answer probe_exec_judge(const struct child_result *result, char **ret_reason);

#endif
