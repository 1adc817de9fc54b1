/*
 * Where an sql probe connects to, and an execute tool: a conninfo made ready for libpq. Its names
 * are resolved beside the loop, as libpq would stop it; the password comes out of its file; unless
 * the conninfo says otherwise only a primary will do, since a standby that lags does not see what
 * landed.
 */
#ifndef EFFECTD_PROBE_SQL_PLACE_H
#define EFFECTD_PROBE_SQL_PLACE_H

#include <stdint.h>

struct probe_sql_place;

/* Who connects. Borrowed during the call only. */
struct probe_sql_login {
	const char *user;	      /* NULL: whom the conninfo names */
	const char *password;	      /* NULL: none but what the conninfo has */
	const char *application_name; /* unless the conninfo names one and no user is given */
};

/*
 * `done` is called exactly once, maybe from within, unless probe_sql_place_cancel() came first. The
 * conninfo is valid during `done` and for libpq only: it may hold a password; NULL: `why` says in
 * one line what is wrong. *ret_place is it while it looks, and NULL from `done` on. A login with a
 * user of its own takes no password from the conninfo, which is another's.
 */
void probe_sql_place_find(struct probe_sql_place **ret_place, const char *conninfo,
    const struct probe_sql_login *login, int64_t timeout_ms,
    void (*done)(void *arg, const char *conninfo, const char *why), void *arg);
void probe_sql_place_cancel(struct probe_sql_place *place); /* NULL is fine */

#endif
