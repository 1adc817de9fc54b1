/*
 * A call: one line, sent until it is answered or its time is over. And the ledger that all calls
 * of a connection share. What an answer means does not belong here (effect_judge.c), nor does the
 * socket's turn (effect_pass.c).
 *
 * Where a call stands:
 *
 *	SPARE	in no list: not begun yet, or kept as a grant's ticket
 *	QUEUED	in ledger->urgent or ->others, to be sent when the connection has room for it
 *	SENT	in ledger->sent: its answer is awaited, also when nobody wants to know (orphan)
 *	RESTING	in its bucket alone: refused for now, queued again by its timer
 */
#ifndef EFFECT_CALL_H
#define EFFECT_CALL_H

#include "effect.h"
#include "effect_answer.h"
#include "effect_conn.h"
#include "effect_line.h"
#include "effect_timer.h"

#include <sys/queue.h>
#include <sys/types.h>

#define EFFECT_CALL_BUCKETS 1024
#define EFFECT_CALL_ERROR_BYTES 512

enum effect_call_method {
	EFFECT_CALL_BEGIN,
	EFFECT_CALL_COMPLETE,
	EFFECT_CALL_RELEASE,
	EFFECT_CALL_UNKNOWN,
	EFFECT_CALL_EXTEND,
	EFFECT_CALL_OTHER,
	EFFECT_CALL_NOTHING /* a report on a `pass`: there is nothing to send */
};

enum effect_call_state {
	EFFECT_CALL_SPARE,
	EFFECT_CALL_QUEUED,
	EFFECT_CALL_SENT,
	EFFECT_CALL_RESTING
};

struct effect_call {
	struct effect_timer timer; /* first: effect_call.c finds the call by it */
	TAILQ_ENTRY(effect_call) link;
	LIST_ENTRY(effect_call) bucket;
	struct effect_ledger *ledger;
	enum effect_call_method method;
	enum effect_call_state state;
	bool orphan;	     /* nobody wants to know; only its answer is awaited */
	bool background;     /* of our own: a grant is given back */
	bool omit_when_sent; /* it is too long, and half of it is sent */
	uint64_t id;
	struct effect_line line;
	int64_t sent_ms;  /* its first byte was not sent before that */
	int64_t until_ms; /* then its time is over */
	int64_t pause_ms; /* before it is asked again, without the daemon's word */
	int64_t lease_ms; /* begin, extend: what was asked for, 0 = the policy's */
	uint64_t serial;  /* extend: of the grant */
	void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg);
	void *arg;
	char why[EFFECT_LINE_WHY_BYTES]; /* the last refusal */
	/* a begin that became a give-back whose caller is still to be told: */
	uint64_t alias;		    /* its id when it was one */
	enum effect_kind told_kind; /* why he has no grant */
	struct effect_answer *told; /* owned, may be NULL */
};

TAILQ_HEAD(effect_call_queue, effect_call);
LIST_HEAD(effect_call_list, effect_call);
LIST_HEAD(effect_grant_list, effect_answer);

struct effect_ledger {
	pid_t pid;
	struct effect_conn conn;
	struct effect_timers timers;
	struct effect_call_queue urgent; /* reports: they go first */
	struct effect_call_queue others;
	struct effect_call_queue sent;
	struct effect_call *out; /* of `sent`: the last one, of which only a part is sent */
	size_t out_done;
	bool blocked; /* the kernel took less than there was */
	struct effect_call_list buckets[EFFECT_CALL_BUCKETS];
	size_t n_calls, n_sent, n_sent_others, n_background;
	uint64_t next_id, next_serial;
	struct effect_grant_list grants;
	size_t max_inflight, max_line;
	int64_t report_timeout_ms;
	int64_t heard_ms; /* since when the daemon says nothing while it is asked */
	/* who is on the stack: */
	bool in_pass, doomed; /* doomed: to be freed by whoever is the outermost */
	unsigned n_blocking;
	uint64_t epoch; /* changes when all calls are gone under a pass */
	char error[EFFECT_CALL_ERROR_BYTES];
};

/* A new call with its id and a timer; its line is to be written. NULL: no memory. */
struct effect_call *effect_call_new(struct effect_ledger *ledger, enum effect_call_method method,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg);
/* From SPARE: queues it, for so long. */
void effect_call_start(struct effect_call *call, int64_t timeout_ms);
/* To SPARE, wherever it stands. */
void effect_call_take(struct effect_call *call);
/* Takes it, too. NULL is fine. */
void effect_call_free(struct effect_call *call);
/* Its end: the callback is told, which may do anything. Owns `answer`. */
void effect_call_end(struct effect_call *call, enum effect_kind kind, struct effect_answer *answer);
/* SENT, and refused for now: rests as long as the daemon says (0: it says nothing). */
void effect_call_rest(struct effect_call *call, int64_t retry_after_ms);
/* From SENT: into the queue again, right away. */
void effect_call_again(struct effect_call *call);
/* Nobody wants to know any more. */
void effect_call_drop(struct effect_call *call);
/*
 * Becomes the release of a grant, in the background: needs no memory. The spans are not of its
 * line. If it has a callback, that is told `kind` and `told` when the release has ended, however it
 * did.
 */
void effect_call_give_back(struct effect_call *call, const struct effect_json_span *effect,
    const struct effect_json_span *token, const char *reason, enum effect_kind kind,
    struct effect_answer *told);
/* Reports and what keeps a claim go before what asks for one, and have some room of their own. */
bool effect_call_is_urgent(const struct effect_call *call);
struct effect_call *effect_call_find(const struct effect_ledger *ledger, uint64_t id);
/* By the id that its caller knows; NULL also if he is told already, or does not want to be. */
struct effect_call *effect_call_of_caller(const struct effect_ledger *ledger, uint64_t id);

/* The connection is gone: what was sent is queued again, in its order; orphans end. */
void effect_call_all_again(struct effect_ledger *ledger);
/* All calls end as EFFECT_CANCELLED, or without a word (told = false: they are somebody else's). */
void effect_call_end_all(struct effect_ledger *ledger, bool told);
/*
 * In a child of who made the ledger: lets go of what is the parent's. To be called first wherever
 * the host comes in. False: it was not so.
 */
bool effect_call_forked(struct effect_ledger *ledger);
/* After a callback: is all as it was (no fork, no end of the ledger) when the epoch was this? */
bool effect_call_go_on(struct effect_ledger *ledger, uint64_t epoch);

/* Sets effect_error(). */
void effect_call_say(struct effect_ledger *ledger, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
