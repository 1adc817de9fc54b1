/*
 * The embedded database: a private PostgreSQL in STATE/pg/data, reachable through STATE/pg/run
 * only, for laptops and first runs. Made by initdb at the first start, supervised, adopted by the
 * next daemon if this one is killed.
 */
#ifndef EFFECTD_EMBEDDED_H
#define EFFECTD_EMBEDDED_H

#include "config.h"
#include "errors.h"

#include <stdbool.h>

/*
 * Checks the folders and begins to bring the database up; never waits for it. ERR_INVALID_PARAMS
 * with one line in *ret_error (owned by the caller) where starting would be wrong and no later try
 * can help: a folder that database_user cannot enter, a state_dir that has an instance but no
 * cluster, no PostgreSQL of a fitting version (exit 78). has_instance: state_dir held an instance
 * file before this start. `config` is kept until embedded_stop().
 */
int embedded_start(const struct config *config, bool has_instance, char **ret_error) must_check;
/* Stops the database (fast shutdown) and calls `stopped` from the loop when it is down; NULL =
 * leave it running. */
void embedded_stop(void (*stopped)(void));

/* Where it is to be found; valid after embedded_start(). */
const char *embedded_conninfo(void);
/* Why it is not there now, one line; "" if it should be. */
const char *embedded_error(void);

#endif
