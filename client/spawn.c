/*
 * fork(2), execvp(3), and a pipe that closes by the exec or brings the reason why there was none.
 * Promise: SPAWN_REFUSED and SPAWN_LATE come only from our own child before it became anything
 * else, so that a command that itself ends with 126 or 127 is never taken for one that never ran.
 * Waiting for the end does not belong here.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define WORD_LATE (-1) /* no errno is negative */

/* In the child. */
static _Noreturn void
become(const struct spawn *what, int news_fd)
{
	int word;

	if (what->out_fd >= 0 && dup2(what->out_fd, STDOUT_FILENO) < 0) {
		word = errno;
	} else {
		signals_restore(what->signals);
		/* the very last thing: this process, too, may have stood still for long */
		if (what->may_start && !what->may_start(what->arg)) {
			word = WORD_LATE;
		} else {
			execvp(what->argv[0], what->argv);
			word = errno;
		}
	}
	while (write(news_fd, &word, sizeof word) < 0 && errno == EINTR)
		;
	_exit(127);
}

pid_t
spawn(const struct spawn *what, int *ret_news_fd)
{
	int news[2], error;
	pid_t pid;

	if (pipe2(news, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become(what, news[1]);
	error = errno;
	close(news[1]);
	if (pid < 0) {
		close(news[0]);
		errno = error;
		return -1;
	}
	*ret_news_fd = news[0];
	return pid;
}

enum spawn_news
spawn_news(int news_fd, int *ret_errno)
{
	ssize_t n;
	int word;

	do
		n = read(news_fd, &word, sizeof word);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return SPAWN_NOTHING_YET;
	if (n != (ssize_t)sizeof word)
		return SPAWN_STARTED;
	if (word == WORD_LATE)
		return SPAWN_LATE;
	*ret_errno = word;
	return SPAWN_REFUSED;
}
