/*
 * Fault points: one environment variable, read at every hit, as it is unset in production. Promise:
 * without it nothing happens. What a failure means belongs to the caller.
 */
#include "fault.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPECS_MAX 16

#define FAULT_POINT(name, doc) name,
static const char *const points[] = {
#include "fault.def"
};
#undef FAULT_POINT

/* Hits so far, by the place of the spec in the variable. */
static unsigned hits[SPECS_MAX];

static bool
is_listed(const char *point)
{
	for (size_t i = 0; i < sizeof points / sizeof *points; i++)
		if (!strcmp(points[i], point))
			return true;
	return false;
}

/* The action[:n] of a spec of this point, or NULL. */
static const char *
action_of(const char *spec, const char *point)
{
	size_t len = strlen(point);

	return !strncmp(spec, point, len) && spec[len] == ':' ? spec + len + 1 : NULL;
}

/* The hit at which it acts. */
static unsigned
hit_of(const char *action)
{
	const char *n = action + strcspn(action, ":,");

	return *n == ':' ? (unsigned)strtoul(n + 1, NULL, 10) : 1;
}

static const char *
next_spec(const char *spec)
{
	spec = strchr(spec, ',');
	return spec ? spec + 1 : NULL;
}

static bool
act(const char *action)
{
	if (!strncmp(action, "kill", 4))
		raise(SIGKILL);
	if (!strncmp(action, "stop", 4))
		raise(SIGSTOP);
	if (!strncmp(action, "exit", 4))
		_exit(1);
	return !strncmp(action, "fail", 4);
}

bool
fault_due(const char *point)
{
	const char *spec = getenv("EFFECTD_FAULT"), *action;

	for (unsigned i = 0; spec && *spec && i < SPECS_MAX; i++, spec = next_spec(spec)) {
		action = action_of(spec, point);
		if (action && hits[i] + 1 == hit_of(action))
			return true;
	}
	return false;
}

bool
fault_point(const char *point)
{
	const char *spec = getenv("EFFECTD_FAULT"), *action;
	bool fails = false;

	assert(!spec || is_listed(point));
	for (unsigned i = 0; spec && *spec && i < SPECS_MAX; i++, spec = next_spec(spec)) {
		action = action_of(spec, point);
		if (action && ++hits[i] == hit_of(action) && act(action))
			fails = true;
	}
	return fails;
}
