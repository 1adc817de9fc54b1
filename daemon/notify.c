/*
 * Which kind of notifier it is, and the exec kind. Promise: whatever happens to the notifier, the
 * caller learns taken or not, with a reason, within the time-out. When a notice is due and how
 * often it is repeated is the ledger's.
 */
#include "notify.h"

#include "alloc.h"
#include "child.h"
#include "notify_webhook.h"

#include <stdlib.h>

#define NOTIFY_TIMEOUT_MS 30000
#define NOTIFY_OUT_BYTES_MAX 65536

struct notify {
	struct child *child; /* one of them */
	struct notify_webhook *webhook;
	void (*done)(void *arg, const char *why);
	void *arg;
};

static void
notify_child_cb(void *arg, const struct child_result *result)
{
	struct notify *n = arg;
	char *why = NULL;

	if (result->end != CHILD_EXITED || result->code != 0)
		why = child_describe(result);
	n->done(n->arg, why);
	free(why);
	free(n);
}

static struct child *
notify_run(struct notify *n, char *const *argv, const struct notice *notice, char **ret_why)
{
	struct child_spec spec = {
	    .argv = argv, .out_max = NOTIFY_OUT_BYTES_MAX, .timeout_ms = NOTIFY_TIMEOUT_MS};
	struct buf line = {0};
	struct child *child;

	while (argv[spec.n_argv])
		spec.n_argv++;
	notice_line(notice, &line);
	spec.in = line.data;
	spec.in_len = line.len;
	child = child_run(&spec, notify_child_cb, n, ret_why);
	buf_free(&line);
	return child;
}

static void
notify_webhook_cb(void *arg, const char *why)
{
	struct notify *n = arg;

	n->done(n->arg, why);
	free(n);
}

struct notify *
notify_send(const struct notify_to *to, const struct notice *notice,
    void (*done)(void *arg, const char *why), void *arg, char **ret_why)
{
	struct notify *n = xcalloc(1, sizeof *n);

	n->done = done;
	n->arg = arg;
	if (to->argv)
		n->child = notify_run(n, to->argv, notice, ret_why);
	else
		n->webhook = notify_webhook_send(to, notice, notify_webhook_cb, n, ret_why);
	if (n->child || n->webhook)
		return n;
	free(n);
	return NULL;
}

void
notify_cancel(struct notify *n)
{
	if (n->child)
		child_kill(n->child);
	else
		notify_webhook_cancel(n->webhook);
	free(n);
}
