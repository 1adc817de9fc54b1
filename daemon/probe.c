/*
 * Which kind of probe it is, and the one upcall. Promise: whatever a provider said, a reason is
 * text that can be stored. How a kind asks and what it understands is its own file's.
 */
#include "probe.h"

#include "alloc.h"
#include "probe_exec.h"
#include "probe_http.h"
#include "probe_sql.h"
#include "reason.h"

#include <stdlib.h>

struct probe {
	struct probe_exec *exec; /* one of them */
	struct probe_http *http;
	struct probe_sql *sql;
	void (*done)(void *arg, const struct probe_answer *answer);
	void *arg;
};

static void
probe_kind_done(void *arg, const struct probe_answer *answer)
{
	char *reason = answer->reason ? xstrdup(answer->reason) : NULL;
	struct probe_answer told = *answer;
	struct probe *p = arg;

	if (reason)
		reason_tame(reason);
	told.reason = reason;
	p->done(p->arg, &told);
	free(reason);
	free(p);
}

struct probe *
probe_start(const struct probe_ask *ask, void (*done)(void *arg, const struct probe_answer *answer),
    void *arg, char **ret_why)
{
	struct probe *p = xcalloc(1, sizeof *p);

	p->done = done;
	p->arg = arg;
	if (ask->n_argv > 0)
		p->exec = probe_exec_start(ask, probe_kind_done, p, ret_why);
	else if (ask->http)
		p->http = probe_http_start(ask, probe_kind_done, p, ret_why);
	else if (ask->sql)
		p->sql = probe_sql_start(ask, probe_kind_done, p, ret_why);
	else
		*ret_why = xstrdup("the tool has no probe on this host");
	if (p->exec || p->http || p->sql)
		return p;
	reason_tame(*ret_why);
	free(p);
	return NULL;
}

void
probe_cancel(struct probe *p)
{
	if (p->exec)
		probe_exec_cancel(p->exec);
	if (p->http)
		probe_http_cancel(p->http);
	if (p->sql)
		probe_sql_cancel(p->sql);
	free(p);
}
