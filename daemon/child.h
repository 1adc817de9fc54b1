/*
 * A command of this host's files (a probe, a notifier) run beside the loop: text on its stdin,
 * bounded output, a time-out, and the whole process group gone at the end. Shared by probe_exec.c
 * and notify.c; knows no effects.
 *
 * The command is looked at before each start (runnable.h). A child has a session and process group
 * of its own, no descriptor of ours, PATH, LANG, CREDENTIALS_DIRECTORY and the environment that is
 * given and nothing else, / as its working directory, and limits (child_birth.h).
 */
#ifndef EFFECTD_CHILD_H
#define EFFECTD_CHILD_H

#include "errors.h"

#include <stddef.h>
#include <stdint.h>

struct child;

enum child_end {
	CHILD_EXITED,	/* code = its exit status */
	CHILD_SIGNALED, /* code = the signal */
	CHILD_TIMEOUT,	/* killed by us */
	CHILD_TOO_MUCH	/* wrote more than out_max bytes; killed by us */
};

struct child_result {
	enum child_end end;
	int code;
	const char *out; /* stdout, not NUL-terminated; valid during `done` */
	size_t out_len;
	const char *err; /* first line of stderr, bounded, printable; "" if none */
};

struct child_spec {
	char *const *argv; /* n_argv words, the first an absolute path */
	size_t n_argv;
	char *const *env; /* n_env strings NAME=value */
	size_t n_env;
	const char *in; /* copied */
	size_t in_len;
	size_t out_max; /* bytes */
	int64_t timeout_ms;
};

/*
 * Starts it. `done` is called exactly once, later, from the loop, unless child_kill() came first.
 * On failure (no descriptor, no process, no such file) NULL, and *ret_why (owned by the caller) is
 * one line.
 */
struct child *child_run(const struct child_spec *spec,
    void (*done)(void *arg, const struct child_result *result), void *arg, char **ret_why);
/* Kills the group; `done` is not called. */
void child_kill(struct child *child);
/* What `result` says, in a few words, for a reason: "exit status 3: no such host". Owned by the
 * caller. */
char *child_describe(const struct child_result *result);

void child_init(void);
/* Kills what still runs; the kernel's word of their end is not waited for. */
void child_stop(void);

#endif
