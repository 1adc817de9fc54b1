/*
 * Makes one call into the system fail: preloaded into a daemon by a test (nth.py), so that it
 * reaches what libpq, libevent and cJSON ask for as well. The test and this library share a page of
 * memory: which kind of call, the how manieth from now, and what errno it fails with; how many of
 * them there were is counted there, too.
 *
 * Promise: while nothing is armed, and in every other process (a child of the daemon), every call
 * goes through.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind {
	KIND_NONE,
	KIND_ALLOC,
	KIND_READ,
	KIND_WRITE,
	KIND_RECV,
	KIND_SEND,
	KIND_OPEN,
	KIND_WATCH
};

/* As nth.py has it: '<5q'. */
struct control {
	volatile int64_t kind, nth, error; /* what fails */
	volatile int64_t seen, failed;	   /* calls of that kind since it was armed, and failures */
};

static struct control *control;
static pid_t of;

__attribute__((constructor)) static void
nth_init(void)
{
	const char *path = getenv("EFFECTD_NTH");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *page = MAP_FAILED;

	if (fd >= 0) {
		page = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	of = getpid();
	if (page != MAP_FAILED)
		control = page;
}

/* Is this the one? Then errno is set. */
static bool
nth_fails(enum kind kind)
{
	if (!control || control->kind != (int64_t)kind || getpid() != of)
		return false;
	if (++control->seen != control->nth)
		return false;
	control->failed++;
	errno = (int)control->error;
	return true;
}

/* A socket that fails for good is closed to its peer, too. */
static bool
nth_socket_fails(enum kind kind, int fd)
{
	if (!nth_fails(kind))
		return false;
	if (errno == ECONNRESET || errno == EPIPE) {
		shutdown(fd, SHUT_RDWR);
		errno = (int)control->error;
	}
	return true;
}

/* The real one, looked up at its first call. */
#define REAL(name)                     \
	static __typeof__(&name) real; \
	if (!real)                     \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

#define FAILS_AS(fails, type, name, value, params, ...) \
	type name params                                \
	{                                               \
		REAL(name);                             \
		if (fails)                              \
			return value;                   \
		return real(__VA_ARGS__);               \
	}

FAILS_AS(nth_fails(KIND_ALLOC), void *, malloc, NULL, (size_t size), size)
FAILS_AS(nth_fails(KIND_ALLOC), void *, realloc, NULL, (void *old, size_t size), old, size)
FAILS_AS(nth_socket_fails(KIND_RECV, fd), ssize_t, recv, -1,
    (int fd, void *to, size_t n, int flags), fd, to, n, flags)
FAILS_AS(nth_socket_fails(KIND_RECV, fd), ssize_t, recvmsg, -1,
    (int fd, struct msghdr *m, int flags), fd, m, flags)
FAILS_AS(
    nth_fails(KIND_WRITE), ssize_t, write, -1, (int fd, const void *from, size_t n), fd, from, n)
FAILS_AS(
    nth_fails(KIND_WRITE), ssize_t, writev, -1, (int fd, const struct iovec *v, int n), fd, v, n)
FAILS_AS(nth_socket_fails(KIND_SEND, fd), ssize_t, send, -1,
    (int fd, const void *from, size_t n, int flags), fd, from, n, flags)
FAILS_AS(nth_socket_fails(KIND_SEND, fd), ssize_t, sendmsg, -1,
    (int fd, const struct msghdr *m, int flags), fd, m, flags)
FAILS_AS(nth_fails(KIND_OPEN), int, socket, -1, (int domain, int type, int protocol), domain, type,
    protocol)
FAILS_AS(nth_fails(KIND_OPEN), int, pipe2, -1, (int fds[2], int flags), fds, flags)
FAILS_AS(nth_fails(KIND_OPEN), int, accept4, -1,
    (int fd, struct sockaddr *a, socklen_t *len, int flags), fd, a, len, flags)
FAILS_AS(nth_fails(KIND_OPEN), pid_t, fork, -1, (void))

/* libevent ends the process where its own pipe cannot be read, which no kernel does. */
static bool
is_libevent(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && strstr(info.dli_fname, "libevent");
}

ssize_t
read(int fd, void *to, size_t n)
{
	REAL(read);
	if (!is_libevent(__builtin_return_address(0)) && nth_fails(KIND_READ))
		return -1;
	return real(fd, to, n);
}

int
epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	REAL(epoll_ctl);
	if (op != EPOLL_CTL_DEL && nth_fails(KIND_WATCH))
		return -1;
	return real(epoll, op, fd, event);
}

/* dlsym(3) itself may call it before the real one is known. */
void *
calloc(size_t n, size_t size)
{
	static char first[4096];
	static size_t used;
	static bool looking;
	void *p;

	if (looking) {
		p = first + used;
		used += (n * size + 15) & ~(size_t)15;
		return used <= sizeof first ? p : NULL;
	}
	looking = true;
	REAL(calloc);
	looking = false;
	return nth_fails(KIND_ALLOC) ? NULL : real(n, size);
}

int
clone(int (*run)(void *arg), void *stack, int flags, void *arg, ...)
{
	REAL(clone);
	return nth_fails(KIND_OPEN) ? -1 : real(run, stack, flags, arg);
}
