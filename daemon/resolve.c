/*
 * Names by getent(1). Promise: what is told are addresses, whatever the command printed; a name is
 * never taken for an option of its.
 */
#include "resolve.h"

#include "alloc.h"
#include "child.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OUT_BYTES_MAX 16384

struct resolve {
	struct child *child;
	char *name;
	void (*done)(void *arg, const struct resolve_answer *answer);
	void *arg;
};

static void
resolve_free(struct resolve *r)
{
	free(r->name);
	free(r);
}

static bool
is_address(const char *text)
{
	unsigned char bytes[sizeof(struct in6_addr)];
	char plain[INET6_ADDRSTRLEN];
	size_t len = strcspn(text, "%"); /* the scope of a link-local one stands behind it */

	if (len >= sizeof plain)
		return false;
	memcpy(plain, text, len);
	plain[len] = '\0';
	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, plain, bytes) == 1;
}

/* A line for each address and kind of socket, the address first. Cuts `text` up. */
static void
resolve_read(char *text, struct resolve_answer *answer)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")) && answer->n < RESOLVE_ADDRESSES_MAX) {
		bool known;

		line[strcspn(line, " \t")] = '\0';
		known = !is_address(line);
		for (size_t i = 0; i < answer->n && !known; i++)
			known = strcmp(answer->addresses[i], line) == 0;
		if (!known)
			answer->addresses[answer->n++] = line;
	}
}

static void
resolve_child_cb(void *arg, const struct child_result *result)
{
	struct resolve_answer answer = {0};
	struct resolve *r = arg;
	char *text = xstrndup(result->out_len > 0 ? result->out : "", result->out_len), *why;

	if (result->end == CHILD_EXITED && result->code == 0)
		resolve_read(text, &answer);
	why = xasprintf(
	    "cannot resolve '%s'%s", r->name, result->end == CHILD_TIMEOUT ? ": timed out" : "");
	if (answer.n == 0)
		answer.why = why;
	r->done(r->arg, &answer);
	free(why);
	free(text);
	resolve_free(r);
}

struct resolve *
resolve_start(const char *name, int64_t timeout_ms,
    void (*done)(void *arg, const struct resolve_answer *answer), void *arg, char **ret_why)
{
	struct resolve *r = xcalloc(1, sizeof *r);
	char *argv[] = {(char[]){"/usr/bin/getent"}, (char[]){"ahosts"}, (char[]){"--"}, NULL};

	r->name = xstrdup(name);
	r->done = done;
	r->arg = arg;
	argv[3] = r->name;
	r->child = child_run(&(struct child_spec){.argv = argv,
				 .n_argv = 4,
				 .in = "",
				 .out_max = OUT_BYTES_MAX,
				 .timeout_ms = timeout_ms},
	    resolve_child_cb, r, ret_why);
	if (r->child)
		return r;
	resolve_free(r);
	return NULL;
}

void
resolve_cancel(struct resolve *r)
{
	if (!r)
		return;
	child_kill(r->child);
	resolve_free(r);
}
