/*
 * Another implementation as a judge: a child process (tests/fuzz/oracle.mjs) that reads JSON as V8
 * does and canonicalises it as the npm package does. Asked only where EFFECTD_FUZZ_ORACLE names its
 * command. The child is killed by the end of its input.
 */
#ifndef EFFECTD_TESTS_ORACLE_H
#define EFFECTD_TESTS_ORACLE_H

#include "fuzz.h"

#include <errno.h>
#include <unistd.h>

static struct {
	int to, from;
	bool started;
} oracle;

static inline bool
oracle_is_there(void)
{
	const char *command = getenv("EFFECTD_FUZZ_ORACLE");
	int in[2], out[2];
	pid_t pid;

	if (oracle.started || !command)
		return oracle.started;
	must(pipe(in) == 0 && pipe(out) == 0, "pipes for the oracle");
	pid = fork();
	must(pid >= 0, "a process for the oracle");
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	oracle.to = in[1];
	oracle.from = out[0];
	oracle.started = true;
	return true;
}

static inline void
oracle_write(const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(oracle.to, p, len);

		if (n < 0 && errno == EINTR)
			continue; /* libFuzzer's alarm */
		must(n > 0, "the oracle reads");
		p += n;
		len -= (size_t)n;
	}
}

static inline void
oracle_read(void *data, size_t len)
{
	char *p = data;

	while (len > 0) {
		ssize_t n = read(oracle.from, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		must(n > 0, "the oracle answers: is node there, and the package?");
		p += n;
		len -= (size_t)n;
	}
}

/* False: it is no JSON to V8. Else the canonical form, which the caller frees. */
static inline bool
oracle_ask(const char *text, size_t len, struct buf *ret)
{
	uint32_t n = (uint32_t)len;
	char *answer;

	oracle_write(&n, sizeof n);
	oracle_write(text, len);
	oracle_read(&n, sizeof n);
	if (n == UINT32_MAX)
		return false;
	answer = malloc((size_t)n + 1);
	oracle_read(answer, n);
	buf_add(ret, answer, n);
	free(answer);
	return true;
}

#endif
