/*
 * The connections to the ledger: opens and re-opens them (first try at once, then back-off from 50
 * ms with jitter), checks each new one (writable, schema version, clock), hands out free ones,
 * notices stalls. Knows no effects and no arrays.
 */
#ifndef EFFECTD_PGPOOL_H
#define EFFECTD_PGPOOL_H

#include "config.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct pgconn;

struct pgpool_status {
	bool up;	  /* at least one usable connection */
	int64_t since_us; /* Unix microseconds of the last change */
	char server_version[32];
	int schema_version; /* 0 unknown */
	char error[256];    /* last failure, no secrets; "" if none */
};

/*
 * config->database "embedded" = the embedded database (embedded.c says where). Keeps the config
 * until pgpool_stop(). `changed` (or NULL) is called when up/down or the error changes.
 */
void pgpool_start(const struct config *config, void (*changed)(void));
void pgpool_stop(void); /* closes all; in-flight batches end as lost */
const struct pgpool_status *pgpool_status(void);
/* Where the ledger is, for libpq and nobody else: it may hold a password. Between pgpool_start()
 * and pgpool_stop(). */
const char *pgpool_conninfo(void);

/* A connection with nothing in flight, or NULL. The caller sends on it at once. */
struct pgconn *pgpool_free_connection(void);
/*
 * The one beside those of the config, for what may take long, so that nobody waits for it who is
 * quick: opened when it is asked for, NULL until it is there and while it is in use; closed when it
 * has been idle. It has no part in whether the ledger is up. statement_ms: the time-out of what is
 * sent there.
 */
struct pgconn *pgpool_slow_connection(int64_t statement_ms);
bool pgpool_slow_busy(void);	     /* something is under way there */
unsigned pgpool_n_connections(void); /* configured */
unsigned pgpool_n_free(void);	     /* usable, nothing in flight */

/*
 * The database's clock, Unix microseconds: as this connection last told it, carried on by our
 * monotonic clock; never ahead of it, unless somebody set the server's clock back less than a
 * minute ago.
 */
int64_t pgpool_db_now_us(const struct pgconn *c);
/* Does this connection's server begin transactions in READ COMMITTED by itself? */
bool pgpool_read_committed(const struct pgconn *c);
/* An answer showed that the clock jumped: every connection is asked anew before its next use. */
void pgpool_clock_jumped(void);
/* This connection's answers show that the schema changed: it is checked again before its next use.
 */
void pgpool_recheck(struct pgconn *c);
/* This connection is of no use (shutting down, say): given up, another is opened. */
void pgpool_drop(struct pgconn *c, const char *why);
/* So is this one, as its server takes no writes; the others to the same host are checked before
 * anything is read there: it may be of the past. */
void pgpool_drop_read_only(struct pgconn *c, const char *why);

#endif
