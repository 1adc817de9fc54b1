/*
 * Named fault points for tests: EFFECTD_FAULT="point:action[:n],..." says what happens at the n-th
 * time (default: the first) that this point is reached. Without the variable nothing ever happens.
 * The points are those of fault.def.
 *
 *	kill	the process ends by SIGKILL
 *	stop	the process stops by SIGSTOP
 *	exit	the process ends by _exit(1): nothing is cleaned up, written or told
 *	fail	fault_point() is true: the caller fails in the way that its comment says
 */
#ifndef EFFECTD_FAULT_H
#define EFFECTD_FAULT_H

#include <stdbool.h>

/* The point is reached. */
bool fault_point(const char *point);
/* Whether something happens when it is reached the next time, for a point that stands in the midst
 * of what is otherwise done in one call. */
bool fault_due(const char *point);

#endif
