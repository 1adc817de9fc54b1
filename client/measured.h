/*
 * What was measured of tools, against which policies are held: reports of times and of memory, the
 * daemon's counts of probes, and where daemons differ. From a running daemon, or from what
 * effectctl saved of one with --json.
 */
#ifndef EFFECTD_MEASURED_H
#define EFFECTD_MEASURED_H

#include "ask.h"
#include "tool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one tool in one namespace. What is not known is 0. */
struct measured_tool {
	char *ns, *tool;
	double n, p99_ms, late;	     /* claim to outcome; lapsed or late ones of n */
	double n_repeats, oldest_ms; /* of those that were caught */
	double reruns, keep_key_ms;  /* run again after they were forgotten, under this memory */
	double n_answered, n_inconclusive;  /* probes */
	char *client_timeout, *probe_error; /* the report's own sentence; owned, or NULL */
	char *differs;			    /* who has what; owned, or NULL */
	bool own;			    /* a policy names its namespace */
};

struct measured {
	struct measured_tool *tools;
	size_t n;
};

/*
 * Asks the daemon for `report timeouts` and `report retention` of the last 30 days, `tools list`
 * and `status`. CTL_OK, or the exit code, the error told.
 */
int measured_ask(struct measured *m, const struct ctl *ctl);
/* Reads one of these as effectctl prints it with --json. CTL_OK, or the exit code, the error told.
 */
int measured_file(struct measured *m, const struct ctl *ctl, const char *file);
void measured_free(struct measured *m);

/* A policy that names its namespace: another one of the tool does not speak for it. */
void measured_own(struct measured *m, const char *ns, const char *tool);
/* Holds a policy against what was measured; `any`: it is for every namespace. */
void measured_lint(const struct measured *m, const struct tool_policy *policy, bool any,
    void (*cb)(void *arg, const struct tool_finding *f), void *arg);

#endif
