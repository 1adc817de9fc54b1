/*
 * libeffect: guards calls that change the world by a local effectd. Ask before the call (begin),
 * make it only if the answer is EFFECT_RUN, report what came of it (complete, release, unknown).
 * The rules that this library keeps for its caller are those of client/README.md; libeffect(3) has
 * examples.
 *
 *	struct effect_params params = EFFECT_PARAMS(.tool = "refund_order", .args = args);
 *	struct effect_answer *answer;
 *
 *	switch (effect_begin(ledger, &params, &answer)) {
 *	case EFFECT_RUN:    refund(effect_answer_text(answer, "provider_key"), ...);
 *			    effect_complete(ledger, answer, &report, NULL); break;
 *	case EFFECT_REPLAY: use(effect_answer_raw(answer, "result", &len), len); break;
 *	default:	    stop(effect_answer_text(answer, "advice"), effect_error(ledger));
 *	}
 *
 * Promises: never aborts, exits, logs, or raises a signal in its host; keeps no global state, no
 * thread, no file; descriptors are close-on-exec; out of memory is EFFECT_ENOMEM. Links to libc
 * alone.
 *
 * Threads: a ledger and its answers belong to one thread at a time. Have a ledger for each thread,
 * or a lock around every call on one. Ledgers know nothing of each other.
 *
 * Fork: a ledger in a child notices, lets go of what is its parent's (calls in flight, the
 * connection) and opens a connection of its own. A child that uses no ledger should exec, or
 * effect_free() it: the copy of a connection hides the death of the claims' owner.
 *
 * Both faces, blocking calls and calls for an event loop, are the same core and may be mixed.
 */
#ifndef EFFECT_H
#define EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#if defined(__GNUC__)
#define EFFECT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define EFFECT_MUST_CHECK
#endif

/*
 * What came of a call. Nothing but EFFECT_RUN and EFFECT_PASS means that the guarded call may be
 * made; neither is 0, and a value that you do not know is one more reason not to make it.
 */
enum effect_kind {
	EFFECT_OK = 0, /* of reports and other methods: done as asked. Never an answer of begin */
	/* begin: what to do */
	EFFECT_RUN = 1,	   /* yours to run, while it is fresh: effect_start() */
	EFFECT_PASS = 2,   /* call it, there is nothing to report */
	EFFECT_REPLAY = 3, /* it succeeded before: the result is at hand, call nothing */
	/* begin: why not; "advice" is a sentence that a model may read */
	EFFECT_RESULT_GONE = 10, /* it succeeded before, and its result is kept no more */
	EFFECT_FAILED = 11,	 /* it was refused for good before (a replay, too) */
	EFFECT_BUSY = 12,
	EFFECT_MISMATCH = 13,
	EFFECT_UNKNOWN = 14,
	EFFECT_ESCALATED = 15,
	EFFECT_EXHAUSTED = 16,
	EFFECT_HELD = 17,
	EFFECT_STRANGE = 18, /* a decision that this library does not know */
	EFFECT_LATE = 19,    /* it was yours, but is too old to start; given back */
	/* what went wrong on the way */
	EFFECT_UNAVAILABLE =
	    30, /* no daemon or ledger within the time: nothing was granted to you */
	EFFECT_NOT_RECORDED = 31, /* complete: the same, after your call was made */
	EFFECT_CONFLICT = 32,	  /* another outcome stands, or you are not the holder any more */
	EFFECT_LOST = 33,	  /* the lease is gone: stop if you can, report in any case */
	EFFECT_CANCELLED = 34,	  /* by effect_free(); effect_cancel() calls nobody back */
	/* errors of the wire, by their names */
	EFFECT_PARSE_ERROR = 50,
	EFFECT_INVALID_REQUEST = 51,
	EFFECT_UNKNOWN_METHOD = 52,
	EFFECT_INVALID_PARAMS = 53, /* "pointer" names the member, "why" the rule */
	EFFECT_INTERNAL = 54,
	EFFECT_DENIED = 55,
	EFFECT_NOT_FOUND = 56,
	EFFECT_NOT_OWNER = 57,
	EFFECT_OVERLOADED = 58,
	EFFECT_TOOL_FAILED = 59,
	EFFECT_WIRE_ERROR = 60, /* an error that this library does not know */
	/* of this process */
	EFFECT_ENOMEM = 70,
	EFFECT_MISUSE = 71,  /* a rule of this header was broken; effect_error() says which */
	EFFECT_ESYSTEM = 72, /* the system gives no randomness or no clock */
	/* what a guarded function returns beside EFFECT_OK and EFFECT_FAILED: effect_guard() */
	EFFECT_TOOL_ERROR = 90, /* the tool answered with an error: the policy's on_error decides */
	EFFECT_NOT_SENT = 91,	/* it is certain that nothing was sent */
	EFFECT_RAISED = 92	/* anything else: nobody knows whether it landed */
};

/* "Busy", "NotRecorded": the names of client/README.md. Never NULL. */
const char *effect_kind_name(enum effect_kind kind);
/* One line for people, in lower case. Never NULL. */
const char *effect_strerror(enum effect_kind kind);
/* "0.1.0" */
const char *effect_version(void);

/* A connection to the daemon, and the calls on it. */
struct effect_ledger;
/* What the daemon said: members by name; of EFFECT_RUN it is the grant, too. */
struct effect_answer;

/* --- A ledger. ------------------------------------------------------------------------------- */

/*
 * All members may be 0. `size` is sizeof the struct, so that later versions may add to its end: use
 * the macros.
 */
struct effect_options {
	size_t size;
	/* path; NULL: $EFFECTD_SOCKET, else the user's daemon's, else the system's */
	const char *socket;
	/* the daemon's, 0 = 256: what is more waits here, and reports go first */
	uint32_t max_inflight;
	/* the daemon's, 0 = 1048576: a longer result is recorded by its size and hash */
	uint32_t max_line;
	/* for release and unknown, 0 = 5000: the end of the lease says the same */
	int64_t report_timeout_ms;
};
#define EFFECT_OPTIONS(...)                                        \
	{                                                          \
		.size = sizeof(struct effect_options), __VA_ARGS__ \
	}
#define EFFECT_OPTIONS_INIT                                  \
	{                                                    \
		sizeof(struct effect_options), NULL, 0, 0, 0 \
	}

/* Connects at the first call. `options` may be NULL. NULL: out of memory. */
struct effect_ledger *effect_new(const struct effect_options *options) EFFECT_MUST_CHECK;
/*
 * Closes the connection: claims that are bound to it turn unknown. Calls in flight end as
 * EFFECT_CANCELLED. In a callback it takes effect when the callback has returned. NULL is fine.
 */
void effect_free(struct effect_ledger *ledger);
/* What the last failure was, one line; "" if there was none. Valid until the next call. */
const char *effect_error(const struct effect_ledger *ledger);

/* --- begin. ---------------------------------------------------------------------------------- */

#define EFFECT_NO_WAIT (-1) /* wait_ms: an answer at once */

/* begin's params (protocol.md). All but `tool` may be 0. Strings are copied; JSON is one text. */
struct effect_params {
	size_t size;
	const char *tool;
	const char *key;  /* NULL: by the policy's template */
	const char *args; /* a JSON object, NULL = none */
	const char *ns;	  /* namespace */
	const char *run, *step, *turn;
	const char *call, *owner;
	const char *again;	  /* a person's reason for a deliberate business duplicate */
	int64_t lease_ms;	  /* 0 = the policy's */
	int64_t wait_ms;	  /* 0 = 30000 */
	int64_t begin_timeout_ms; /* on top of wait_ms; 0 = 10000 */
	/* the claim outlives this connection: its holder's death shows at the end of the lease */
	bool unbound;
	/* a JSON object of further members: an integer as step, or what newer daemons know */
	const char *members;
};
#define EFFECT_PARAMS(...)                                        \
	{                                                         \
		.size = sizeof(struct effect_params), __VA_ARGS__ \
	}
#define EFFECT_PARAMS_INIT                                                                    \
	{                                                                                     \
		sizeof(struct effect_params), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
		    NULL, NULL, 0, 0, 0, false, NULL                                          \
	}

/*
 * Asks, and asks again (same `request`) until the time is over. *ret_answer is the caller's to
 * free; NULL where there was no answer (EFFECT_UNAVAILABLE, EFFECT_ENOMEM, ...). What is not
 * EFFECT_RUN, EFFECT_PASS or EFFECT_REPLAY is the reason why the call must not be made.
 */
enum effect_kind effect_begin(struct effect_ledger *ledger, const struct effect_params *params,
    struct effect_answer **ret_answer) EFFECT_MUST_CHECK;
/*
 * To be asked right before the guarded call starts: EFFECT_RUN (or EFFECT_PASS) if it may. Else it
 * is EFFECT_LATE, the claim is given back (sent by whatever call comes next), and it is no grant
 * any more. EFFECT_MISUSE in another process than the one that asked, as only one of them may start
 * it (a child that is to make its parent's call asks effect_fresh_ms()). Never blocks.
 */
enum effect_kind effect_start(
    struct effect_ledger *ledger, struct effect_answer *grant) EFFECT_MUST_CHECK;
/* Milliseconds in which the guarded call may start; 0 = none are left, or it is no grant. */
int64_t effect_fresh_ms(const struct effect_answer *grant);

/* --- Reports on a grant. --------------------------------------------------------------------- */

enum effect_outcome {
	EFFECT_OUTCOME_SUCCEEDED = 0,
	EFFECT_OUTCOME_FAILED = 1, /* the provider refused for good */
	EFFECT_OUTCOME_ERROR = 2   /* the tool's own error: the policy's on_error decides */
};

/*
 * What came of the call. `result` is JSON; what is no JSON is recorded by its size and SHA-256, and
 * so is what would make the line too long. Line ends between tokens are sent as blanks.
 */
struct effect_report {
	size_t size;
	enum effect_outcome outcome;
	const char *result; /* NULL: none, which is null */
	size_t result_len;  /* with a result never 0: its text need not end in NUL */
	/* a result that the caller does not have whole: its size and its SHA-256 (32 bytes) */
	uint64_t omitted_bytes;
	const unsigned char *omitted_sha256; /* NULL: not omitted by the caller */
	int64_t complete_timeout_ms;	     /* 0 = 60000 */
	const char *reason; /* effect_guard(): why it is unknown, or that nothing was sent */
};
#define EFFECT_REPORT(...)                                        \
	{                                                         \
		.size = sizeof(struct effect_report), __VA_ARGS__ \
	}
#define EFFECT_REPORT_INIT                                                                        \
	{                                                                                         \
		sizeof(struct effect_report), EFFECT_OUTCOME_SUCCEEDED, NULL, 0, 0, NULL, 0, NULL \
	}

/*
 * Each of these ends the keeping of the lease. `ret_answer` may be NULL. complete: EFFECT_OK when
 * the daemon has it ("state", "outcome", "already"), EFFECT_NOT_RECORDED or EFFECT_CONFLICT when it
 * must be assumed not to. release: nothing was sent, and you know it. unknown: you do not know.
 * `reason` (NULL = none) is cut at 1000 bytes. release and unknown ask for `report_timeout_ms`.
 */
enum effect_kind effect_complete(struct effect_ledger *ledger, struct effect_answer *grant,
    const struct effect_report *report, struct effect_answer **ret_answer) EFFECT_MUST_CHECK;
enum effect_kind effect_release(struct effect_ledger *ledger, struct effect_answer *grant,
    const char *reason, struct effect_answer **ret_answer);
enum effect_kind effect_unknown(struct effect_ledger *ledger, struct effect_answer *grant,
    const char *reason, struct effect_answer **ret_answer);
/*
 * A longer lease, `lease_ms` from now (0 = the policy's). EFFECT_LOST: the claim is not yours any
 * more. Blocks at most as long as the lease has left.
 */
enum effect_kind effect_extend(struct effect_ledger *ledger, struct effect_answer *grant,
    int64_t lease_ms, struct effect_answer **ret_answer);
/*
 * For a guarded call that runs in the caller's own thread: extends the lease if a third of it is
 * over, else returns at once. To be called now and then. EFFECT_OK or EFFECT_LOST.
 */
enum effect_kind effect_keep_now(struct effect_ledger *ledger, struct effect_answer *grant);

/* --- All of it in one call. ------------------------------------------------------------------ */

/*
 * begin, and if it says so `fn` once, and the report of what it came to. `fn` gets the grant (NULL
 * member texts for EFFECT_PASS) and may fill `report` (result, and what it points to until it
 * returns to effect_guard's caller). It returns EFFECT_OK, EFFECT_FAILED, EFFECT_TOOL_ERROR,
 * EFFECT_NOT_SENT; anything else, EFFECT_RAISED above all, is reported as unknown. What a guarded
 * call inside fn returned speaks of that call: it is EFFECT_RAISED out here.
 *
 * Returns EFFECT_OK: fn ran and its result is recorded (or it was EFFECT_PASS); EFFECT_REPLAY: the
 * recorded result is in *ret_answer; what fn returned, if that was no EFFECT_OK;
 * EFFECT_NOT_RECORDED, EFFECT_CONFLICT: fn ran, its report is still the caller's; else why fn was
 * not called. *ret_ran (may be NULL) says whether it was.
 */
enum effect_kind effect_guard(struct effect_ledger *ledger, const struct effect_params *params,
    enum effect_kind (*fn)(struct effect_ledger *ledger, struct effect_answer *grant,
	struct effect_report *report, void *arg),
    void *arg, bool *ret_ran, struct effect_answer **ret_answer) EFFECT_MUST_CHECK;

/* --- Any other method. ----------------------------------------------------------------------- */

/*
 * `params` is a JSON object or NULL. Asked again as begin is, for `timeout_ms` (0 = 10000); use
 * effect_begin() for begin. EFFECT_OK: the whole result is effect_answer_raw(answer, NULL, &len).
 */
enum effect_kind effect_call(struct effect_ledger *ledger, const char *method, const char *params,
    int64_t timeout_ms, struct effect_answer **ret_answer) EFFECT_MUST_CHECK;

/* --- Answers. -------------------------------------------------------------------------------- */

/*
 * Members of an answer by their names in protocol.md; of an error: "code", "message", "name", and
 * those of its data ("pointer", "why", "state", "attempt", "retry_after_ms", "kept"). Absent, or of
 * another type, or no answer (NULL): NULL, false, or the fallback.
 */
enum effect_kind effect_answer_kind(const struct effect_answer *answer);
/* A string, unescaped; NULL too if it holds U+0000. */
const char *effect_answer_text(const struct effect_answer *answer, const char *name);
int64_t effect_answer_int(const struct effect_answer *answer, const char *name, int64_t fallback);
bool effect_answer_true(const struct effect_answer *answer, const char *name);
/* A member's bytes as they came, not NUL-terminated; all of the result or error by name NULL. */
const char *effect_answer_raw(
    const struct effect_answer *answer, const char *name, size_t *ret_len);
/* NULL is fine. A grant's lease is kept no longer; its claim stands until a report or its end. */
void effect_answer_free(struct effect_answer *answer);

/* --- The face for event loops. --------------------------------------------------------------- */

/*
 * After every call of the library, watch effect_fd() (-1: none now) for effect_events() (POLLIN,
 * POLLOUT) and for effect_timeout_ms() (-1: none; 0: at once), and call effect_dispatch() with what
 * poll() returned (0 after a time-out). The descriptor changes only in effect_dispatch() and in
 * blocking calls. Calls only queue; all I/O and all callbacks come from effect_dispatch().
 */
int effect_fd(const struct effect_ledger *ledger);
int effect_events(const struct effect_ledger *ledger);
int effect_timeout_ms(const struct effect_ledger *ledger);
void effect_dispatch(struct effect_ledger *ledger, int revents);
/* How many calls are not ended, those in the background (give-backs) included. */
size_t effect_pending(const struct effect_ledger *ledger);
/* Dispatches until nothing is pending, at most so long. EFFECT_OK or EFFECT_UNAVAILABLE. */
enum effect_kind effect_flush(struct effect_ledger *ledger, int64_t timeout_ms);

/*
 * As their blocking sisters, but they return at once: EFFECT_OK, then `cb` comes exactly once,
 * unless the call is cancelled; or EFFECT_ENOMEM, EFFECT_MISUSE, EFFECT_INVALID_PARAMS,
 * EFFECT_ESYSTEM, then it never comes. `cb` owns `answer` (may be NULL) and may call everything but
 * effect_dispatch() and the blocking calls (those are EFFECT_MISUSE there). `cb` may be NULL:
 * nobody wants to know. `ret_call` (may be NULL) names the call for effect_cancel(); it is never
 * used again, and never 0.
 */
enum effect_kind effect_begin_async(struct effect_ledger *ledger,
    const struct effect_params *params,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call) EFFECT_MUST_CHECK;
enum effect_kind effect_complete_async(struct effect_ledger *ledger, struct effect_answer *grant,
    const struct effect_report *report,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call) EFFECT_MUST_CHECK;
enum effect_kind effect_release_async(struct effect_ledger *ledger, struct effect_answer *grant,
    const char *reason, void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg),
    void *arg, uint64_t *ret_call);
enum effect_kind effect_unknown_async(struct effect_ledger *ledger, struct effect_answer *grant,
    const char *reason, void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg),
    void *arg, uint64_t *ret_call);
enum effect_kind effect_extend_async(struct effect_ledger *ledger, struct effect_answer *grant,
    int64_t lease_ms, void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg),
    void *arg, uint64_t *ret_call);
enum effect_kind effect_call_async(struct effect_ledger *ledger, const char *method,
    const char *params, int64_t timeout_ms,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg,
    uint64_t *ret_call) EFFECT_MUST_CHECK;
/*
 * Nobody waits for this call any more: its callback does not come. A begin that is answered by
 * `run` all the same is given back. False: there is no such call (any more).
 */
bool effect_cancel(struct effect_ledger *ledger, uint64_t call);

/*
 * Keeps the grant's lease from effect_dispatch(): extends it every third, until the grant is
 * reported on or freed, or effect_keep_stop(). `lost` (may be NULL) comes at most once, when the
 * claim is not held any more. Never extends for a dispatch that does not come: a host that hangs
 * loses its lease.
 */
enum effect_kind effect_keep(struct effect_ledger *ledger, struct effect_answer *grant,
    void (*lost)(struct effect_answer *grant, void *arg), void *arg);
void effect_keep_stop(struct effect_answer *grant);
/* Milliseconds until the next extend is due (0 = now); -1: no grant, or lost. */
int64_t effect_keep_due_ms(const struct effect_answer *grant);
/* What is left of the lease as far as this side knows; 0 = it is over. */
int64_t effect_lease_left_ms(const struct effect_answer *grant);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
