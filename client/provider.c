/*
 * The export's source. Promise: a command that failed, or was killed, is told, also when it wrote
 * something that could be read. What it writes does not belong here. Owns the descriptor and the
 * command.
 */
#include "provider.h"

#include "alloc.h"
#include "runnable.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 100 /* between two looks whether a command that was told to end did */
#define N_PATIENCE 30

bool
provider_open(struct provider *p, const char *path, char **ret_why)
{
	struct stat st;

	*p = (struct provider){.fd = STDIN_FILENO};
	if (strcmp(path, "-") != 0)
		p->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0 || fstat(p->fd, &st) < 0) {
		*ret_why = xasprintf("cannot open \"%s\": %s", path, strerror(errno));
		return false;
	}
	if (S_ISREG(st.st_mode))
		p->n_bytes = (uint64_t)st.st_size;
	return true;
}

/* In the child. */
static void
become(char *const *argv, int out, int news)
{
	int in = open("/dev/null", O_RDONLY), err;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execv(argv[0], argv);
	err = errno;
	(void)!write(news, &err, sizeof err);
	_exit(127);
}

/* What the child could not become; 0: it is the command. */
static int
read_news(int fd)
{
	ssize_t n;
	int err = 0;

	do {
		n = read(fd, &err, sizeof err);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof err ? err : 0;
}

bool
provider_start(struct provider *p, char *const *argv, char **ret_why)
{
	int out[2] = {-1, -1}, news[2] = {-1, -1}, err = 0;
	char *why = NULL;
	bool missing;

	*p = (struct provider){.fd = -1};
	if (!runnable_check(argv[0], &missing, &why)) {
		*ret_why = xasprintf("the command is not run: %s", why);
		free(why);
		return false;
	}
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(news, O_CLOEXEC) < 0 || (p->command = fork()) < 0) {
		err = errno;
		p->command = 0;
	} else if (p->command == 0) {
		become(argv, out[1], news[1]);
	}
	if (out[1] >= 0)
		close(out[1]);
	if (news[1] >= 0)
		close(news[1]);
	if (!err && (err = read_news(news[0])) != 0)
		waitpid(p->command, NULL, 0);
	if (news[0] >= 0)
		close(news[0]);
	if (err) {
		if (out[0] >= 0)
			close(out[0]);
		p->command = 0;
		*ret_why = xasprintf("cannot run \"%s\": %s", argv[0], strerror(err));
		return false;
	}
	p->fd = out[0];
	return true;
}

static void
close_fd(struct provider *p)
{
	if (p->fd > STDIN_FILENO)
		close(p->fd);
	p->fd = -1;
}

bool
provider_end(struct provider *p, char **ret_why)
{
	int status = 0;

	close_fd(p);
	if (p->command == 0)
		return true;
	while (waitpid(p->command, &status, 0) < 0 && errno == EINTR)
		;
	p->command = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	*ret_why = WIFEXITED(status)
	    ? xasprintf("the command failed: it exited with %d", WEXITSTATUS(status))
	    : xasprintf("the command failed: it was killed by signal %d", WTERMSIG(status));
	return false;
}

void
provider_abort(struct provider *p)
{
	close_fd(p);
	if (p->command == 0)
		return;
	kill(p->command, SIGTERM);
	for (int i = 0; i < N_PATIENCE && waitpid(p->command, NULL, WNOHANG) == 0; i++) {
		if (i == N_PATIENCE - 1)
			kill(p->command, SIGKILL);
		poll(NULL, 0, PATIENCE_MS);
	}
	while (waitpid(p->command, NULL, 0) < 0 && errno == EINTR)
		;
	p->command = 0;
}
