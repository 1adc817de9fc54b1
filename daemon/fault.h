/*
 * Named fault points for tests: EFFECTD_FAULT="point:action[:n],..." names what happens when the
 *n-th call (default: the first) of that point is reached. Inert without the variable. Points stand
 *where a crash changes the meaning of what was done: before and after a send, before an answer is
 *dealt.
 *
 *	kill	the process ends by SIGKILL
 *	stop	the process stops by SIGSTOP
 *	fail	fault_point() is true: the caller fails in the way that its comment says
 */
#ifndef EFFECTD_FAULT_H
#define EFFECTD_FAULT_H

#include <stdbool.h>

bool fault_point(const char *point);

#endif
