/*
 * A process between fork and exec: what it keeps of the daemon, and what it may use up. A part of
 * child.
 */
#ifndef EFFECTD_CHILD_BIRTH_H
#define EFFECTD_CHILD_BIRTH_H

#include <stdint.h>
#include <sys/types.h>

struct child_birth {
	char *const *argv, *const *env; /* NULL-terminated */
	int fds[3];			/* its stdin, stdout and stderr; all above 2 */
	int64_t cpu_s;			/* processor time of each of its processes */
};

/*
 * Starts argv[0] (a path): as the leader of a session and process group of its own, in /, with
 * these three descriptors and no other, signals as they are by default, umask 077, no core dumps,
 * limits on processor time, memory, files and their size, without the rights that setuid files
 * would give, and killed by the kernel should this process die. Returns its pid, or -1 with errno:
 * then there is none.
 */
pid_t child_birth(const struct child_birth *birth);

#endif
