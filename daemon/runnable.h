/*
 * May a file of this host be run as the daemon? Only if nobody but root and the daemon's own user
 * can put another one in its place, or other words into it.
 */
#ifndef EFFECTD_RUNNABLE_H
#define EFFECTD_RUNNABLE_H

#include <stdbool.h>

/*
 * Is `path` (absolute) an executable regular file, and is it, every folder on the way to it and
 * every symbolic link that is followed, root's or the caller's, and not to be written by group or
 * others? A folder with the sticky bit may be written by others, as what stands in it is its
 * owner's. False: *ret_why (owned by the caller, fit for a reason) names the file and the rule;
 * *ret_missing: it is not there.
 */
bool runnable_check(const char *path, bool *ret_missing, char **ret_why);

#endif
