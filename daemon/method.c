/*
 * The table of methods, made from methods/methods.def, and the one place that sets them up. Knows
 * their names, nothing of what they do.
 */
#include "method.h"

#include "execution.h"
#include "grant.h"
#include "methods/call.h"
#include "methods/complete.h"
#include "methods/methods.h"
#include "methods/owed.h"
#include "request.h"
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

#define GRANTS_MAX 1000000 /* what this boot remembers of its grants, about 200 bytes each */

static const struct method table[] = {
#define METHOD(name_, suffix, roles_) \
	{                             \
	    .name = (name_),          \
	    .roles = (roles_),        \
	    .call = suffix##_call,    \
	    .gone = call_gone,        \
	    .drain = call_drain,      \
	},
#include "methods/methods.def"
#undef METHOD
};

void
method_init(const struct config *config, struct tool_set *tools)
{
	call_use(config, tools);
	execution_init(config);
	grant_init(GRANTS_MAX);
	waiting_init();
}

void
method_use(const struct config *config, struct tool_set *tools)
{
	call_use(config, tools);
}

void
method_stop(void)
{
	execution_stop();
}

unsigned
method_n_open(void)
{
	return execution_n_open();
}

void
method_free(void)
{
	call_free();
	waiting_free();
	grant_free();
}

void
method_bound_closed(void *arg, const struct uuid *effect, const struct uuid *token)
{
	owed_closed(arg, effect, token);
}

unsigned
method_n_owed(void)
{
	return owed_n() + complete_n_kept();
}

const struct method *
method_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}
