/* The http probe: one GET, judged by the policy's rules. */
#ifndef EFFECTD_PROBE_HTTP_H
#define EFFECTD_PROBE_HTTP_H

#include "probe.h"

struct probe_http;

/* As probe_start() and probe_cancel(). */
struct probe_http *probe_http_start(const struct probe_ask *ask,
    void (*done)(void *arg, const struct probe_answer *answer), void *arg, char **ret_why);
void probe_http_cancel(struct probe_http *probe);

#endif
