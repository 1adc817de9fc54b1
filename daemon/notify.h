/*
 * Telling a human that an effect is escalated: runs the config's command with the notice as one
 * JSON line on stdin (exit 0 = taken), or posts it to the config's webhook (notify_webhook.c). The
 * notice's id is the same in every try of it, so that a receiver can tell repeats.
 */
#ifndef EFFECTD_NOTIFY_H
#define EFFECTD_NOTIFY_H

#include "notice.h"

/* Who is told: one of them. Borrowed from the config, which lives on. */
struct notify_to {
	char *const *argv;		       /* NULL-terminated; NULL: the webhook */
	const char *webhook, *webhook_ca_file; /* URL; NULL = the system's authorities */
	char *const *webhook_secrets;	       /* NULL-terminated: see credential.h */
};

struct notify;

/*
 * Starts it. `done` is called exactly once, later, unless
 * notify_cancel() came first; `why` is NULL if it was taken. NULL: it could not be started,
 * *ret_why (owned by the caller) says why.
 */
struct notify *notify_send(const struct notify_to *to, const struct notice *notice,
    void (*done)(void *arg, const char *why), void *arg, char **ret_why);
void notify_cancel(struct notify *notify);

#endif
