/*
 * Telling a human that an effect is escalated: runs the config's notifier with the notice as one
 * JSON line on stdin. Exit 0 = taken. The notice's id is the same in every try of it, so that a
 * receiver can tell repeats.
 */
#ifndef EFFECTD_NOTIFY_H
#define EFFECTD_NOTIFY_H

#include "buf.h"
#include "digest.h"

#include <stdbool.h>
#include <stdint.h>

/* Borrowed during notify_send() only. */
struct notify_notice {
	struct uuid effect;
	const char *ns, *tool, *key;
	int32_t attempt;
	int32_t notice_no;  /* 1 = the first, later ones are reminders */
	int64_t since_us;   /* Unix microseconds */
	const char *reason; /* NULL = none */
};

struct notify;

/*
 * Starts the notifier argv (NULL-terminated). `done` is called exactly once, later, unless
 * notify_cancel() came first; `why` is NULL if it was taken. NULL: it could not be started,
 * *ret_why (owned by the caller) says why.
 */
struct notify *notify_send(char *const *argv, const struct notify_notice *notice,
    void (*done)(void *arg, const char *why), void *arg, char **ret_why);
void notify_cancel(struct notify *notify);

/* UUID version 8 from SHA-256 of (effect, attempt, notice number). */
struct uuid notify_id(const struct uuid *effect, int32_t attempt, int32_t notice_no);
/* The notice's line, LF included. */
void notify_line(const struct notify_notice *notice, struct buf *out);

#endif
