/*
 * Where an sql probe connects to: a conninfo made ready for libpq. Its names are resolved beside
 * the loop, as libpq would stop it; the password comes out of its file; unless the conninfo says
 * otherwise only a primary will do, since a standby that lags does not see what landed. A part of
 * probe_sql.
 */
#ifndef EFFECTD_PROBE_SQL_PLACE_H
#define EFFECTD_PROBE_SQL_PLACE_H

#include <stdint.h>

struct probe_sql_place;

/*
 * `done` is called exactly once, maybe from within, unless probe_sql_place_cancel() came first. The
 * conninfo is valid during `done` and for libpq only: it may hold a password; NULL: `why` says in
 * one line what is wrong. *ret_place is it while it looks, and NULL from `done` on. `password` may
 * be NULL.
 */
void probe_sql_place_find(struct probe_sql_place **ret_place, const char *conninfo,
    const char *password, int64_t timeout_ms,
    void (*done)(void *arg, const char *conninfo, const char *why), void *arg);
void probe_sql_place_cancel(struct probe_sql_place *place); /* NULL is fine */

#endif
