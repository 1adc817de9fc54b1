/*
 * Fault points: one environment variable, read at every hit, as it is unset in production. Promise:
 * without it nothing happens. What a failure means belongs to the caller.
 */
#include "fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SPECS_MAX 16

/* Hits so far, by the place of the spec in the variable. */
static unsigned hits[SPECS_MAX];

static bool
act(const char *action, unsigned hit)
{
	const char *n = strchr(action, ':');
	unsigned at = n ? (unsigned)strtoul(n + 1, NULL, 10) : 1;

	if (hit != at)
		return false;
	if (!strncmp(action, "kill", 4))
		raise(SIGKILL);
	if (!strncmp(action, "stop", 4))
		raise(SIGSTOP);
	return !strncmp(action, "fail", 4);
}

bool
fault_point(const char *point)
{
	const char *spec = getenv("EFFECTD_FAULT");
	size_t len = strlen(point);
	bool fails = false;

	for (unsigned i = 0; spec && *spec && i < SPECS_MAX; i++) {
		if (!strncmp(spec, point, len) && spec[len] == ':' &&
		    act(spec + len + 1, ++hits[i]))
			fails = true;
		spec = strchr(spec, ',');
		if (spec)
			spec++;
	}
	return fails;
}
