/*
 * The schema `effect` in the database: what the daemon carries inside (schema_files.h), how to see
 * which version is installed, and how to install or upgrade it. Knows the files, not what is in
 * them.
 */
#ifndef EFFECTD_SCHEMA_H
#define EFFECTD_SCHEMA_H

#include "errors.h"

#include <stdbool.h>

/* The version that this program needs: the number of its last migration. */
int schema_version(void);
/* Hex SHA-256 over all that is re-created at an upgrade (functions, views, grants). Static memory.
 */
const char *schema_digest(void);

/*
 * Installs or upgrades, each migration in one transaction, under a lock: concurrent calls are safe,
 * the later ones find it done. Blocking; meant for effectctl and for the child of
 * schema_migrate_start(). Returns 0, ERR_UNAVAILABLE (no connection) or ERR_CONFLICT (refused: a
 * newer schema, a failed statement); *ret_error is then one line, owned by the caller.
 */
int schema_migrate(const char *conninfo, char **ret_error) must_check;

/*
 * The same in a child process, so that the loop goes on. One at a time. `done` gets NULL or one
 * line saying why not.
 */
void schema_migrate_start(
    const char *conninfo, void (*done)(const char *error, void *arg), void *arg);
/* Ends the child, if any, without calling `done`. */
void schema_migrate_stop(void);

/* Binary results of these two statements are read by schema_judge(). The second is asked only if
 * the first says true. */
#define SCHEMA_SQL_EXISTS                                                          \
	"exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n" \
	" on n.oid = c.relnamespace where n.nspname = 'effect' and c.relname = 'schema_version')"
#define SCHEMA_SQL_VERSION                                          \
	"select v.version, coalesce(v.functions, ''), effect.now()" \
	" from effect.schema_version v order by v.version desc limit 1"

enum schema_verdict {
	SCHEMA_FITS,
	SCHEMA_DIFFERS, /* right version, other function bodies */
	SCHEMA_OLD,	/* or missing (version 0) */
	SCHEMA_NEW
};
enum schema_verdict schema_judge(int version, const char *digest);

#endif
