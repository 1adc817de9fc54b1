/*
 * One function pointer, so that methods can wake the sweeper without knowing it.
 */
#include "due.h"

#include <stddef.h>

static void (*due_hook)(void);

void
due_now(void)
{
	if (due_hook)
		due_hook();
}

void
due_set_hook(void (*hook)(void))
{
	due_hook = hook;
}
