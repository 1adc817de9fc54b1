/*
 * What the daemon said: one line understood in place (effect_answer_read), and the object that a
 * caller keeps of it (struct effect_answer), whose members he reads by name.
 */
#ifndef EFFECT_ANSWER_H
#define EFFECT_ANSWER_H

#include "effect.h"
#include "effect_json.h"
#include "effect_timer.h"

#include <sys/queue.h>
#include <sys/types.h>

/* A line of the daemon's; spans are borrowed from it. */
struct effect_wire {
	uint64_t id;		      /* 0: none that we give */
	bool is_nameless;	      /* the id is null */
	bool is_answer;		      /* has a result or an error; else it is nothing to us */
	bool is_error;		      /* also where there is a result beside it */
	struct effect_json_span body; /* the result, or the error object */
};

struct effect_member;
struct effect_call;

/* The grant's side of an answer; effect_grant.c's and effect_keep.c's alone. */
struct effect_grant {
	LIST_ENTRY(effect_answer) link;
	struct effect_ledger *ledger; /* NULL: no grant, or its ledger is gone */
	uint64_t serial;
	pid_t pid;		    /* who was granted it */
	struct effect_call *ticket; /* owned: it is given back by it, which needs no memory */
	int64_t fresh_until_ms;	    /* by effect_sys_now_ms() */
	int64_t lease_from_ms, lease_until_ms;
	int64_t lease_ms;     /* how long a lease is */
	int64_t lease_ask_ms; /* how long the caller wants it to be, 0 = the policy's */
	struct effect_timer timer;
	bool keeping, lost;
	void (*lost_cb)(struct effect_answer *grant, void *arg);
	void *lost_arg;
	uint64_t extend_call; /* under way, 0 = none */
};

struct effect_answer {
	enum effect_kind kind;
	struct effect_json_span whole;
	struct effect_member *members;
	size_t n_members;
	void (*let_go)(struct effect_answer *answer); /* before it is freed; NULL: nothing to do */
	struct effect_grant grant;
};

/* False: the line is no answer of a daemon's. */
bool effect_answer_read(const char *line, size_t len, struct effect_wire *ret);
/* The one member `name` of an object; false: it is not there, or twice. */
bool effect_answer_find(
    const struct effect_json_span *object, const char *name, struct effect_json_span *ret);
bool effect_answer_find_int(const struct effect_json_span *object, const char *name, int64_t *ret);
/* What begin's result comes to. EFFECT_RUN only if all is there that a holder needs. */
enum effect_kind effect_answer_of_begin(const struct effect_json_span *result);
/* The kind of an error object. */
enum effect_kind effect_answer_of_error(const struct effect_json_span *error);
/* "message (why)" of an error object into `to`, in one line. */
void effect_answer_why(const struct effect_json_span *error, char *to, size_t size);

/* A copy that outlives the line. NULL: no memory. */
struct effect_answer *effect_answer_new(const struct effect_wire *wire, enum effect_kind kind);

#endif
