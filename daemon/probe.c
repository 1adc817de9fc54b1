/*
 * Which kind of probe it is, and the one upcall. How a kind asks and what it understands is its own
 * file's.
 */
#include "probe.h"

#include "alloc.h"
#include "probe_exec.h"

#include <stdlib.h>

struct probe {
	struct probe_exec *exec;
	void (*done)(void *arg, const struct probe_answer *answer);
	void *arg;
};

static void
probe_exec_done(void *arg, const struct probe_answer *answer)
{
	struct probe *p = arg;

	p->done(p->arg, answer);
	free(p);
}

struct probe *
probe_start(const struct probe_ask *ask, void (*done)(void *arg, const struct probe_answer *answer),
    void *arg, char **ret_why)
{
	struct probe *p;

	if (ask->n_argv == 0) {
		*ret_why = xstrdup("the tool has no probe on this host");
		return NULL;
	}
	p = xmalloc(sizeof *p);
	p->done = done;
	p->arg = arg;
	p->exec = probe_exec_start(ask, probe_exec_done, p, ret_why);
	if (!p->exec) {
		free(p);
		return NULL;
	}
	return p;
}

void
probe_cancel(struct probe *p)
{
	probe_exec_cancel(p->exec);
	free(p);
}
