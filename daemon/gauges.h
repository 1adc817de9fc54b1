/*
 * What was last seen of what comes and goes: open rows as the ledger told them, the last sweep, who
 * is connected. Written by those who know it, read by whoever tells it (info, metrics), so that
 * asking costs nothing and needs no ledger.
 */
#ifndef EFFECTD_GAUGES_H
#define EFFECTD_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

enum gauges_state { GAUGES_PENDING, GAUGES_UNKNOWN, GAUGES_ESCALATED, GAUGES_STATES };

/* Ages of open rows: less than a minute, 15 minutes, an hour, a day; older. */
#define GAUGES_AGES 5

/* Open rows of the ledger, in whatever daemon's hands. */
struct gauges_open {
	int64_t at_us; /* when it was told: Unix microseconds, this host's clock */
	int64_t n[GAUGES_STATES];
	int64_t by_age[GAUGES_STATES][GAUGES_AGES]; /* since they are in that state */
	int64_t n_due;	      /* pending and unknown ones that a sweep should have taken */
	int64_t due_since_us; /* of the longest due of them; 0 = none */
};

struct gauges_sweep {
	int64_t at_us;	      /* when the last one that was answered was sent; 0 = none was */
	int64_t took_ms;      /* until its answer */
	int n_rows;	      /* that it took */
	bool full;	      /* there was more to take than one sweep takes */
	int64_t failed_at_us; /* the last one that was not answered, if that was later; else 0 */
};

/* A state's name on the wire. */
const char *gauges_state_name(enum gauges_state state);
/* NULL while the ledger never told. */
const struct gauges_open *gauges_open(void);
void gauges_set_open(const struct gauges_open *open);
/* Incidents of the last 24 hours in the whole ledger, GAUGES_INCIDENTS_MAX at most; -1 while it
 * never told. */
#define GAUGES_INCIDENTS_MAX 1000
int64_t gauges_incidents(void);
void gauges_set_incidents(int64_t n);
/* The last sweep, of this daemon. */
const struct gauges_sweep *gauges_sweep(void);
void gauges_set_sweep(const struct gauges_sweep *sweep);
/* Connections to the socket and requests that are under way on them. */
void gauges_clients(unsigned *ret_connections, unsigned *ret_requests);
void gauges_set_clients(unsigned connections, unsigned requests);

#endif
