/*
 * The connections to the ledger: opens and re-opens them (first try at once, then back-off from 50 ms with jitter), checks each
 * new one (writable, schema version, clock), hands out free ones, notices stalls. Knows no effects and no arrays.
 */
#ifndef EFFECTD_PGPOOL_H
#define EFFECTD_PGPOOL_H

#include "config.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct pgconn;

struct pgpool_status {
	bool up;	   /* at least one usable connection */
	int64_t since_us;  /* Unix microseconds of the last change */
	char server_version[32];
	int schema_version; /* 0 unknown */
	char error[256];    /* last failure, no secrets; "" if none */
};

/* conninfo NULL = the embedded database (embedded.c says where). `changed` is called when up/down or the error changes. */
void pgpool_start(const struct config *config, void (*changed)(void));
void pgpool_stop(void); /* closes all; in-flight batches end as lost */
const struct pgpool_status *pgpool_status(void);

/* A connection with nothing in flight, or NULL. */
struct pgconn *pgpool_free_connection(void);
unsigned pgpool_n_connections(void);

#endif
