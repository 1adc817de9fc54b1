/*
 * One question to the daemon and its answer: finds the socket, sends the line, and asks again with
 * the very same line where the wire says that this is right.
 */
#ifndef EFFECTD_ASK_H
#define EFFECTD_ASK_H

#include "buf.h"
#include "conn.h"
#include "ctl.h"
#include "errors.h"
#include "json.h"

#include <stdint.h>

#define ASK_DEADLINE_MS 5000

/* A question whose answer is fetched later. */
struct ask_early {
	struct conn conn; /* closed: it was not sent, or its answer was fetched */
	int64_t sent_ms;
};

enum ask_again {
	ASK_ONCE,  /* reads: the user sees the failure and decides */
	ASK_SENT,  /* once the line may have reached the daemon: begin, resolve */
	ASK_ALWAYS /* also while there is no daemon: what is known must not be lost */
};

struct ask {
	const char *method;
	const char *params; /* one JSON object without line breaks */
	size_t params_len;
	const char
	    *opaque; /* pointer into the answer of a value that is not ours to judge, or NULL */
	enum ask_again again;
	int64_t deadline_ms; /* from now; no try starts later, an answer is waited for a little
				longer */
	/* By ask_early() with the same method and params, or NULL: the first try only waits for its
	 * answer, and closes it. */
	struct ask_early *early;
};

/* The answer that came: exactly one of result and error is not 0. */
struct ask_answer {
	struct buf line;
	struct json_doc doc;	/* over line */
	uint32_t result, error; /* nodes */
	int64_t sent_ms;	/* conn_now_ms() at which the try that was answered was sent */
};

/*
 * 0: the daemon answered. ERR_UNAVAILABLE: it did not, ERR_INTERNAL: what it answered is no answer;
 * *ret_why is then an owned line, and *ret_sent says whether the request may have reached it. ret
 * is to be freed in every case.
 */
int ask(const struct ctl *ctl, const struct ask *what, struct ask_answer *ret, bool *ret_sent,
    char **ret_why) must_check;
void ask_answer_free(struct ask_answer *answer);

/*
 * Sends the question and does not wait, so that the daemon works at it meanwhile; ask() fetches the
 * answer. What fails here is no failure yet: ask() then asks anew. Whose answer is not wanted any
 * more is given up by conn_close(&ret->conn).
 */
void ask_early(const struct ctl *ctl, const struct ask *what, struct ask_early *ret);

/* Reading members of an object of the answer. NULL / false: absent or of another type. Text is
 * owned by the caller, and has no NUL inside. */
char *ask_text(const struct ask_answer *answer, uint32_t object, const char *name);
bool ask_int(const struct ask_answer *answer, uint32_t object, const char *name, int64_t *ret);
bool ask_true(const struct ask_answer *answer, uint32_t object, const char *name);
/* The first element of a list, or member of an object; nodes[].next leads on. 0: none. */
uint32_t ask_first(const struct ask_answer *answer, uint32_t object, const char *name);
/* The raw bytes of a node. */
const char *ask_raw(const struct ask_answer *answer, uint32_t node, size_t *ret_len);

#endif
