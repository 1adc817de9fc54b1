/*
 * Forked children that run our own code. Promise: `done` once for each start that was not killed.
 * The job frees itself when it is done; until then it is the caller's to kill.
 */
#include "job.h"
#include "alloc.h"
#include "buf.h"
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WELL "ok"
#define PIPE_FD (STDERR_FILENO + 1)

struct job {
	pid_t pid;
	int fd;
	struct event *event;
	struct loop_timer *failed; /* armed where the child could not be started */
	struct buf said;
	void (*done)(const char *error, void *arg);
	void *arg;
};

void
job_detach(int keep_fd)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (keep_fd >= 0 && keep_fd != PIPE_FD)
		dup2(keep_fd, PIPE_FD);
	closefrom(PIPE_FD + (keep_fd >= 0));
}

static _Noreturn void
job_child(int fd, char *(*run)(void *arg), void *arg)
{
	const char *error;

	setsid();
	job_detach(fd);
	fcntl(PIPE_FD, F_SETFD, FD_CLOEXEC);
	error = run(arg);
	if (!error)
		error = WELL;
	_exit(write(PIPE_FD, error, strlen(error)) < 0);
}

static void
job_free(struct job *job)
{
	if (job->event)
		event_free(job->event);
	if (job->fd >= 0)
		close(job->fd);
	loop_timer_free(job->failed);
	while (job->pid > 0 && waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
		;
	buf_free(&job->said);
	free(job);
}

static void
job_end(struct job *job)
{
	const char *said = buf_str(&job->said);
	void (*done)(const char *, void *) = job->done;
	void *arg = job->arg;
	char *error = NULL;

	if (strcmp(said, WELL))
		error = xstrdup(*said ? said : "the child process ended without a word");
	job_free(job);
	done(error, arg);
	free(error);
}

static void
read_cb(evutil_socket_t fd, short what, void *arg)
{
	struct job *job = arg;
	char chunk[512];
	ssize_t n = read(fd, chunk, sizeof chunk);

	(void)what;
	if (n > 0)
		buf_add(&job->said, chunk, (size_t)n);
	else if (n == 0 || errno != EINTR)
		job_end(job);
}

static void
failed_cb(void *arg)
{
	job_end(arg);
}

struct job *
job_start(char *(*run)(void *arg), void (*done)(const char *error, void *arg), void *arg)
{
	struct job *job = xcalloc(1, sizeof *job);
	int fds[2] = {-1, -1};

	job->fd = -1;
	job->done = done;
	job->arg = arg;
	if (pipe2(fds, O_CLOEXEC) == 0)
		job->pid = fork();
	if (fds[0] >= 0 && job->pid == 0)
		job_child(fds[1], run, arg);
	if (job->pid <= 0) {
		buf_add_str(&job->said, strerror(errno));
		close(fds[0]);
		close(fds[1]);
		job->failed = loop_timer_new(failed_cb, job);
		loop_timer_set(job->failed, 0);
		return job;
	}
	close(fds[1]);
	job->fd = fds[0];
	job->event = event_new(loop_base, job->fd, EV_READ | EV_PERSIST, read_cb, job);
	assert(job->event);
	event_add(job->event, NULL);
	return job;
}

void
job_kill(struct job *job)
{
	if (!job)
		return;
	if (job->pid > 0) {
		/* the group, once it has one */
		kill(-job->pid, SIGKILL);
		kill(job->pid, SIGKILL);
	}
	job_free(job);
}
