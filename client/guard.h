/*
 * One guarded command: from the question to the ledger to the recorded end, on one poll(2) loop
 * over the ledger, the command's output and the signals. Owns nothing of its caller's.
 */
#ifndef EFFECTD_GUARD_H
#define EFFECTD_GUARD_H

#include "effect.h"
#include "signals.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * effect_begin() that a signal ends: then EFFECT_CANCELLED with *ret_signal its number, and a grant
 * that comes all the same is given back. Else *ret_signal is 0. away() is told once, where there
 * has been no connection for some seconds and it is still tried.
 */
enum effect_kind guard_begin(struct effect_ledger *ledger, const struct signals *signals,
    const struct effect_params *params, void (*away)(void), struct effect_answer **ret_answer,
    int *ret_signal);

struct guard_spec {
	struct effect_ledger *ledger;
	struct effect_answer *grant; /* of EFFECT_RUN; or EFFECT_PASS: nothing is reported */
	const struct signals *signals;
	char *const *argv;
	const char *tool;
	const char *ns;		   /* NULL = the only one that the caller has */
	int64_t timeout_ms;	   /* 0 = none: then SIGTERM, ... */
	int64_t kill_after_ms;	   /* ... and so long after it SIGKILL */
	int64_t record_timeout_ms; /* how long to try to record what came of it */
	/* Told at once, while the command goes on: the claim is not held any more. */
	void (*lost)(void);
};

enum guard_how {
	GUARD_LATE,	/* the grant was too old to be used: nothing ran */
	GUARD_REFUSED,	/* code = errno: the system did not start it, nothing ran */
	GUARD_EXITED,	/* code = its exit status */
	GUARD_SIGNALED, /* code = the signal it died of */
	GUARD_TIMED_OUT /* whatever it did after our SIGTERM */
};

struct guard_end {
	enum guard_how how;
	int code;
	enum effect_kind report;      /* of what was reported; EFFECT_OK if nothing was to be */
	struct effect_answer *answer; /* to it, owned; NULL = none */
	char *report_error;	      /* owned; NULL = none */
	bool lost;		      /* the claim was lost while the command ran */
	bool interrupted_by_terminal; /* SIGINT came from the terminal */
	int out_error;		      /* errno: its output could not be passed on whole */
};

/* Runs it and reports. ret is to be freed by guard_end_free(). */
void guard_run(const struct guard_spec *spec, struct guard_end *ret);
void guard_end_free(struct guard_end *end);

#endif
