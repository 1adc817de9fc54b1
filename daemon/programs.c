/* Warnings only: a file may come later, and is looked at anew before each start (child.c). */
#include "programs.h"

#include "alloc.h"
#include "config.h"
#include "log.h"
#include "runnable.h"
#include "tool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void
programs_look(const char *event, const char *whose, const char *path)
{
	bool missing;
	char *why = NULL;

	if (!runnable_check(path, &missing, &why))
		log_warn(event, "%s '%s' would not be run: %s", whose, path, why);
	free(why);
}

static void
programs_policy_cb(void *arg, struct tool_policy *policy, const char *file)
{
	const char *path = policy->probe_exec.n > 0 ? policy->probe_exec.items[0] : NULL;
	char **last = arg;

	(void)file;
	if (!path || (*last && strcmp(path, *last) == 0))
		return; /* many tools may share one */
	programs_look("tools", "the probe", path);
	free(*last);
	*last = xstrdup(path);
}

void
programs_warn(const struct config *config, struct tool_set *tools)
{
	char *last = NULL;

	if (config->notify_exec)
		programs_look("config", "the notifier", config->notify_exec[0]);
	tool_set_each(tools, "default", programs_policy_cb, &last);
	free(last);
}
