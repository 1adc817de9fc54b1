/*
 * Giving birth as posix_spawn(3) does, which has no words for limits and prctl(2): the child shares
 * our memory until it has become the command, on a stack of its own, while we stand still; so a
 * large daemon starts one as fast as a small one, and learns at once why a command could not be
 * run. Promise: between the two moments the child calls the system and nothing else.
 */
#include "child_birth.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define FILES_MAX 1024
#define FILE_BYTES_MAX 67108864
#define DATA_BYTES_MAX 1073741824

struct labour {
	const struct child_birth *birth;
	pid_t parent;
	int error; /* of the child, 0 = it became the command */
};

/* Its own value, if that is lower. */
static void
limit(int what, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l) != 0)
		return;
	if (l.rlim_max > most)
		l.rlim_max = most;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	setrlimit(what, &l);
}

static void
limit_all(int64_t cpu_s)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, (rlim_t)cpu_s);
	limit(RLIMIT_FSIZE, FILE_BYTES_MAX);
	limit(
	    RLIMIT_DATA, DATA_BYTES_MAX); /* not AS: some runtimes reserve far more than they use */
	limit(RLIMIT_NOFILE, FILES_MAX);
}

static void
default_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool
take_descriptors(const int fds[3])
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(fds[fd], fd) < 0)
			return false;
	closefrom(STDERR_FILENO + 1);
	return true;
}

/* A parent that died before the kernel knew of the wish is seen by its number. */
static bool
bind_to_parent(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

/* In the child. Not for a sanitizer to watch: the frame is never left, and its memory is ours. */
static __attribute__((no_sanitize_address)) int
become(void *arg)
{
	struct labour *labour = arg;
	const struct child_birth *birth = labour->birth;

	setsid();
	umask(077);
	limit_all(birth->cpu_s);
	if (bind_to_parent(labour->parent) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    take_descriptors(birth->fds) && chdir("/") == 0) {
		default_signals();
		execve(birth->argv[0], birth->argv, birth->env);
	}
	labour->error = errno;
	_exit(127);
}

pid_t
child_birth(const struct child_birth *birth)
{
	static _Alignas(16) char stack[STACK_BYTES];
	struct labour labour = {.birth = birth, .parent = getpid()};
	sigset_t all, before;
	pid_t pid;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		assert(birth->fds[fd] > STDERR_FILENO); /* or a dup2 would overwrite the next one */
	/* no handler of ours may run in the child, which has our memory */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(become, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &labour);
	if (pid < 0)
		labour.error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid > 0 && labour.error != 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		pid = -1;
	}
	errno = labour.error;
	return pid;
}
