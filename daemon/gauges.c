/* A place for the last words; no more than that. Nothing here is counted, see stats.c. */
#include "gauges.h"

#include <stddef.h>

static struct gauges_open open_rows;
static bool has_open;
static int64_t n_incidents = -1;
static struct gauges_sweep last_sweep;
static unsigned n_connections, n_requests;

const char *
gauges_state_name(enum gauges_state state)
{
	static const char *const names[] = {[GAUGES_PENDING] = "pending",
	    [GAUGES_UNKNOWN] = "unknown",
	    [GAUGES_ESCALATED] = "escalated"};

	return names[state];
}

const struct gauges_open *
gauges_open(void)
{
	return has_open ? &open_rows : NULL;
}

void
gauges_set_open(const struct gauges_open *open)
{
	open_rows = *open;
	has_open = true;
}

int64_t
gauges_incidents(void)
{
	return n_incidents;
}

void
gauges_set_incidents(int64_t n)
{
	n_incidents = n;
}

const struct gauges_sweep *
gauges_sweep(void)
{
	return &last_sweep;
}

void
gauges_set_sweep(const struct gauges_sweep *sweep)
{
	last_sweep = *sweep;
}

void
gauges_clients(unsigned *ret_connections, unsigned *ret_requests)
{
	*ret_connections = n_connections;
	*ret_requests = n_requests;
}

void
gauges_set_clients(unsigned connections, unsigned requests)
{
	n_connections = connections;
	n_requests = requests;
}
