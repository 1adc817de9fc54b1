/*
 * A host's name to its addresses, beside the loop: libpq's own resolver would stop it for as long
 * as a name server takes. Asked by getent(1), so that the answer is what every other program of the
 * host gets.
 */
#ifndef EFFECTD_RESOLVE_H
#define EFFECTD_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

#define RESOLVE_ADDRESSES_MAX 8

struct resolve;

/* The addresses as text, the best one first. n = 0: `why` says so in one line. */
struct resolve_answer {
	const char *addresses[RESOLVE_ADDRESSES_MAX]; /* valid during `done` */
	size_t n;
	const char *why;
};

/*
 * `done` is called exactly once, later, unless resolve_cancel() came first. NULL: it could not be
 * started, *ret_why (owned by the caller) says why.
 */
struct resolve *resolve_start(const char *name, int64_t timeout_ms,
    void (*done)(void *arg, const struct resolve_answer *answer), void *arg, char **ret_why);
void resolve_cancel(struct resolve *resolve); /* NULL is fine */

#endif
