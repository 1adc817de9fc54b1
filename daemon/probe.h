/*
 * Asking the provider whether an attempt landed: one file a kind of probe (probe_exec.c,
 * probe_http.c, probe_sql.c), all ending in one upcall. What is run and who is asked comes from
 * this host's policy files only. Any error, and anything not understood, is `inconclusive`.
 */
#ifndef EFFECTD_PROBE_H
#define EFFECTD_PROBE_H

#include "digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_verdict { PROBE_LANDED, PROBE_FAILED, PROBE_ABSENT, PROBE_INCONCLUSIVE };

struct probe_http_spec;
struct probe_sql_spec;

/* What is asked. Borrowed during probe_start() only. */
struct probe_ask {
	/* one of them: */
	char *const *argv; /* exec: n_argv words */
	size_t n_argv;
	struct probe_http_spec *http;
	struct probe_sql_spec *sql;

	int64_t timeout_ms;
	struct uuid effect; /* also the provider key */
	const char *ns, *tool, *key;
	int32_t attempt;
	int64_t claimed_at_us, since_us; /* Unix microseconds */
	const char *kept;		 /* JSON object, NULL = {} */
};

struct probe_answer {
	enum probe_verdict verdict;
	const char *result; /* raw JSON of landed or failed, NULL = none; valid during `done` */
	size_t result_len;
	const char *reason; /* NULL = none; at most REASON_BYTES_MAX bytes of UTF-8 */
	/* an inconclusive one: the provider did answer, in good form, and not about what was asked;
	 * else nothing was heard of it */
	bool answered;
};

struct probe;

/*
 * Starts it; `done` is called exactly once, later, unless probe_cancel() came first. NULL: it could
 * not be started, *ret_why (owned by the caller) says why.
 */
struct probe *probe_start(const struct probe_ask *ask,
    void (*done)(void *arg, const struct probe_answer *answer), void *arg, char **ret_why);
/* Ends it; `done` is not called. */
void probe_cancel(struct probe *probe);

/* Its word on the wire and in SQL. Here, as the kinds below read it and the sweeper above writes
 * it. */
static inline const char *
probe_verdict_name(enum probe_verdict verdict)
{
	static const char *const names[] = {[PROBE_LANDED] = "landed",
	    [PROBE_FAILED] = "failed",
	    [PROBE_ABSENT] = "absent",
	    [PROBE_INCONCLUSIVE] = "inconclusive"};

	return names[verdict];
}

#endif
