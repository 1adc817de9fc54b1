/*
 * What is wrong with a probe's policy, as each kind's reader tells it: where, and which rule. Pure.
 */
#ifndef EFFECTD_PROBE_FAULT_H
#define EFFECTD_PROBE_FAULT_H

#include <stdbool.h>

/* Where the first fault goes; both texts are the caller's. */
struct probe_fault {
	char **ret_pointer; /* relative to the probe's object */
	char **ret_why;
};

/* Always false, so that a reader can return it. */
bool probe_fault(struct probe_fault *fault, const char *pointer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A member that is none of `names` (NULL at the end), with the nearest of them. Always false. */
bool probe_fault_unknown(
    struct probe_fault *fault, const char *pointer, const char *name, const char *const *names);

#endif
