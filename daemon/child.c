/*
 * Runs commands on the loop.
 *
 * Promises: nothing of it blocks; a group is killed when its leader has ended, timed out or wrote
 * too much, and always before the leader is reaped, because until then the group's number cannot be
 * somebody else's; no zombie stays, no descriptor leaks into a child or out of it. What the text
 * means does not belong here.
 *
 * Memory: a child owns its pipes and buffers until it was reported; after that only its process is
 * left to be reaped.
 */
#include "child.h"

#include "alloc.h"
#include "buf.h"
#include "child_birth.h"
#include "loop.h"
#include "runnable.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#define ERR_BYTES_MAX 200 /* kept of stderr */
#define CHILD_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define CHILD_LANG "LANG=C.UTF-8"

enum pipe_kind { PIPE_IN, PIPE_OUT, PIPE_ERR, PIPES };

struct child {
	LIST_ENTRY(child) link; /* in `children` until it is reaped */
	pid_t pid;		/* and process group */
	bool reported;		/* done was called, or is not wanted any more */
	bool reaped;		/* the leader is; members of its group may be ours to reap, too */
	void (*done)(void *arg, const struct child_result *result);
	void *arg;
	struct {
		int fd; /* our end, -1 = closed */
		struct event *event;
	} pipes[PIPES];
	struct buf in, out, err;
	size_t in_at, out_max;
	struct loop_timer *timeout;
};

static LIST_HEAD(, child) children = LIST_HEAD_INITIALIZER(children);
static struct event *sigchld;

static void
child_close(struct child *c, enum pipe_kind kind)
{
	if (c->pipes[kind].event)
		event_free(c->pipes[kind].event);
	c->pipes[kind].event = NULL;
	if (c->pipes[kind].fd >= 0)
		close(c->pipes[kind].fd);
	c->pipes[kind].fd = -1;
}

/* Everything but the process, which may still have to be reaped. */
static void
child_release(struct child *c)
{
	for (int kind = 0; kind < PIPES; kind++)
		child_close(c, (enum pipe_kind)kind);
	loop_timer_free(c->timeout);
	c->timeout = NULL;
	buf_free(&c->in);
	buf_free(&c->out);
	buf_free(&c->err);
	c->reported = true;
}

static void
child_free(void *object)
{
	free(object);
}

/* stderr may be anything: its first line, printable. */
static const char *
child_err(struct child *c)
{
	for (size_t i = 0; i < c->err.len; i++) {
		unsigned char byte = (unsigned char)c->err.data[i];

		if (byte == '\n' || byte == '\r') {
			c->err.len = i;
			break;
		}
		if (byte < ' ' || byte > '~')
			c->err.data[i] = '?';
	}
	return buf_str(&c->err);
}

static void
child_report(struct child *c, enum child_end end, int code)
{
	struct child_result result = {.end = end,
	    .code = code,
	    .out = c->out.data,
	    .out_len = c->out.len,
	    .err = child_err(c)};

	assert(!c->reported);
	c->reported = true; /* first: `done` may look at how many run */
	c->done(c->arg, &result);
	child_release(c);
}

/* The group, whose leader cannot leave it, as it leads its session, too. It is not reaped yet, so
 * the number is still its own. */
static void
child_kill_all(const struct child *c)
{
	kill(-c->pid, SIGKILL);
}

/* Killed for our reasons: told at once, reaped when the kernel has done it. */
static void
child_cut(struct child *c, enum child_end end)
{
	child_kill_all(c);
	child_report(c, end, SIGKILL);
}

static void
child_timeout_cb(void *arg)
{
	child_cut(arg, CHILD_TIMEOUT);
}

static void
child_in_cb(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	ssize_t n;

	(void)what;
	n = write(fd, c->in.data + c->in_at, c->in.len - c->in_at);
	if (n > 0)
		c->in_at += (size_t)n;
	else if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 || c->in_at == c->in.len) /* a child may well not read to the end */
		child_close(c, PIPE_IN);
}

/* Reads what is there. False: it wrote too much and was killed. */
static bool
child_read_out(struct child *c)
{
	char bytes[16384];
	ssize_t n;

	while (c->pipes[PIPE_OUT].fd >= 0) {
		n = read(c->pipes[PIPE_OUT].fd, bytes, sizeof bytes);
		if (n > 0) {
			buf_add(&c->out, bytes, (size_t)n);
			if (c->out.len > c->out_max) {
				child_cut(c, CHILD_TOO_MUCH);
				return false;
			}
		} else if (n < 0 && errno == EINTR) {
			continue;
		} else if (n < 0 && errno == EAGAIN) {
			return true;
		} else {
			child_close(c, PIPE_OUT);
		}
	}
	return true;
}

static void
child_read_err(struct child *c)
{
	char bytes[4096];
	ssize_t n;

	for (int i = 0; i < 16 && c->pipes[PIPE_ERR].fd >= 0; i++) {
		n = read(c->pipes[PIPE_ERR].fd, bytes, sizeof bytes);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			child_close(c, PIPE_ERR);
		else if (c->err.len < ERR_BYTES_MAX)
			buf_add(&c->err, bytes,
			    (size_t)n < ERR_BYTES_MAX - c->err.len ? (size_t)n
								   : ERR_BYTES_MAX - c->err.len);
	}
}

static void
child_out_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	child_read_out(arg);
}

static void
child_err_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	child_read_err(arg);
}

/*
 * What its leader left behind is dead or dying, and somebody else's to reap, unless we are who
 * orphans come to (the first process of a container): as long as one is there, the group's number
 * is not given to others.
 */
static void
child_reap_group(struct child *c)
{
	pid_t pid;

	do {
		pid = waitpid(-c->pid, NULL, WNOHANG);
	} while (pid > 0 || (pid < 0 && errno == EINTR));
	if (pid == 0)
		return; /* it will be heard of */
	LIST_REMOVE(c, link);
	loop_defer_free(child_free, c);
}

/*
 * Its leader has ended: the rest of the group goes, before the leader is reaped, and what it wrote
 * is all there. Whoever left the group and still holds the pipe is not waited for.
 */
static void
child_ended(struct child *c, const siginfo_t *info)
{
	bool exited = info->si_code == CLD_EXITED;
	int code = info->si_status;

	kill(-c->pid, SIGKILL);
	if (!c->reported) {
		child_read_err(c);
		if (child_read_out(c))
			child_report(c, exited ? CHILD_EXITED : CHILD_SIGNALED, code);
	}
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->reaped = true;
	child_reap_group(c);
}

static void
child_sigchld_cb(evutil_socket_t fd, short what, void *arg)
{
	struct child *c, *next;

	(void)fd;
	(void)what;
	(void)arg;
	for (c = LIST_FIRST(&children); c; c = next) {
		siginfo_t info = {0};

		next = LIST_NEXT(c, link);
		if (c->reaped)
			child_reap_group(c);
		else if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == c->pid)
			child_ended(c, &info);
	}
}

/* Three pipes, all ends close-on-exec, ours non-blocking. */
static int
child_pipes(struct child *c, int theirs[PIPES])
{
	for (int kind = 0; kind < PIPES; kind++) {
		bool writes = kind == PIPE_IN;
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return errno;
		c->pipes[kind].fd = ends[writes ? 1 : 0];
		theirs[kind] = ends[writes ? 0 : 1];
		if (fcntl(c->pipes[kind].fd, F_SETFL, O_NONBLOCK) < 0)
			return errno;
	}
	return 0;
}

static void
child_watch(struct child *c, enum pipe_kind kind, short what, event_callback_fn cb)
{
	c->pipes[kind].event = event_new(loop_base, c->pipes[kind].fd, what | EV_PERSIST, cb, c);
	assert(c->pipes[kind].event);
	event_add(c->pipes[kind].event, NULL);
}

/* What every command gets. CREDENTIALS_DIRECTORY is where systemd put ours: its files are as
 * readable to a command as to us. */
static char **
child_env(const struct child_spec *spec)
{
	const char *credentials = getenv("CREDENTIALS_DIRECTORY");
	char **env = xcalloc(spec->n_env + 4, sizeof *env);
	size_t n = 0;

	env[n++] = xstrdup(CHILD_PATH);
	env[n++] = xstrdup(CHILD_LANG);
	if (credentials)
		env[n++] = xasprintf("CREDENTIALS_DIRECTORY=%s", credentials);
	for (size_t i = 0; i < spec->n_env; i++)
		env[n++] = xstrdup(spec->env[i]);
	return env;
}

/* A processor's time for every processor that its threads may keep busy: whoever is not killed with
 * the group does not go on for ever. */
static int64_t
child_cpu_s(int64_t timeout_ms)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return (timeout_ms / 1000 + 2) * (n > 0 ? n : 1);
}

/* 0 or errno. */
static int
child_begin(struct child *c, const struct child_spec *spec)
{
	struct child_birth birth = {.fds = {-1, -1, -1}, .cpu_s = child_cpu_s(spec->timeout_ms)};
	char **argv = xcalloc(spec->n_argv + 1, sizeof *argv), **env = child_env(spec);
	int rc;

	memcpy(argv, spec->argv, spec->n_argv * sizeof *argv);
	birth.argv = argv;
	birth.env = env;
	rc = child_pipes(c, birth.fds);
	if (rc == 0) {
		c->pid = child_birth(&birth);
		rc = c->pid < 0 ? errno : 0;
	}
	for (int kind = 0; kind < PIPES; kind++)
		if (birth.fds[kind] >= 0)
			close(birth.fds[kind]);
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
	free(argv);
	return rc;
}

struct child *
child_run(const struct child_spec *spec, void (*done)(void *arg, const struct child_result *result),
    void *arg, char **ret_why)
{
	bool missing;
	char *why = NULL;
	struct child *c;
	int rc;

	assert(sigchld && spec->n_argv > 0);
	if (!runnable_check(spec->argv[0], &missing, &why)) {
		*ret_why = xasprintf("cannot run '%s': %s", spec->argv[0], why);
		free(why);
		return NULL;
	}
	c = xcalloc(1, sizeof *c);
	for (int kind = 0; kind < PIPES; kind++)
		c->pipes[kind].fd = -1;
	rc = child_begin(c, spec);
	if (rc != 0) {
		*ret_why = xasprintf("cannot run '%s': %s", spec->argv[0], strerror(rc));
		child_release(c);
		free(c);
		return NULL;
	}
	c->done = done;
	c->arg = arg;
	c->out_max = spec->out_max;
	buf_add(&c->in, spec->in, spec->in_len);
	child_watch(c, PIPE_IN, EV_WRITE, child_in_cb);
	child_watch(c, PIPE_OUT, EV_READ, child_out_cb);
	child_watch(c, PIPE_ERR, EV_READ, child_err_cb);
	c->timeout = loop_timer_new(child_timeout_cb, c);
	loop_timer_set(c->timeout, spec->timeout_ms);
	LIST_INSERT_HEAD(&children, c, link);
	return c;
}

void
child_kill(struct child *c)
{
	assert(!c->reported);
	child_kill_all(c);
	child_release(c);
}

char *
child_describe(const struct child_result *result)
{
	const char *colon = *result->err ? ": " : "";

	switch (result->end) {
	case CHILD_EXITED:
		return xasprintf("exit status %d%s%s", result->code, colon, result->err);
	case CHILD_SIGNALED:
		return xasprintf("ended by signal %d%s%s", result->code, colon, result->err);
	case CHILD_TIMEOUT:
		return xasprintf("timed out%s%s", colon, result->err);
	case CHILD_TOO_MUCH:
		return xasprintf("wrote too much%s%s", colon, result->err);
	}
	return xstrdup("");
}

void
child_init(void)
{
	sigchld = evsignal_new(loop_base, SIGCHLD, child_sigchld_cb, NULL);
	assert(sigchld);
	event_add(sigchld, NULL);
}

void
child_stop(void)
{
	struct child *c;

	while ((c = LIST_FIRST(&children))) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): LIST_REMOVE took the freed one out */
		if (!c->reported)
			child_kill(c);
		/* one that cannot die now must not hold us */
		waitpid(c->reaped ? -c->pid : c->pid, NULL, WNOHANG);
		LIST_REMOVE(c, link);
		free(c);
	}
	if (sigchld)
		event_free(sigchld);
	sigchld = NULL;
}
