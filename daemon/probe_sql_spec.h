/*
 * What a policy's sql probe is: which query, with which params, and where. Read from the policy
 * once, then immutable and shared by reference. Pure. Where it leads is probe_sql_place.c's, asking
 * probe_sql.c's.
 */
#ifndef EFFECTD_PROBE_SQL_SPEC_H
#define EFFECTD_PROBE_SQL_SPEC_H

#include "errors.h"
#include "sql_query.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define PROBE_SQL_PARAMS_MAX SQL_QUERY_PARAMS_MAX
#define PROBE_SQL_HOSTS_MAX 8

struct probe_sql_spec {
	unsigned refs;
	char *json;  /* the member as the policy has it */
	char *query; /* one, without a semicolon behind it; its $1 ... are `params` */
	char *params[PROBE_SQL_PARAMS_MAX]; /* templates */
	size_t n_params;
	char *database;	     /* conninfo without any password; NULL: the ledger's */
	char *password_file; /* see credential.h; NULL: none */
	bool on_standby;     /* `database` lets a standby answer */
};

/*
 * Reads the object `v`. NULL: *ret_pointer (relative to it) and *ret_why, both owned by the caller,
 * say what is wrong.
 */
struct probe_sql_spec *probe_sql_spec_parse(
    const cJSON *v, char **ret_pointer, char **ret_why) must_check;
struct probe_sql_spec *probe_sql_spec_ref(struct probe_sql_spec *spec);
void probe_sql_spec_unref(struct probe_sql_spec *spec); /* NULL is fine */

/*
 * Does every `{/pointer}` stand at or under one of `keep`? False: *ret_why, owned. To be asked once
 * all of the policy is read.
 */
bool probe_sql_spec_keeps(
    const struct probe_sql_spec *spec, char *const *keep, size_t n_keep, char **ret_why) must_check;
/* Is the query given this effect or the instant of its claim? Else its row may be an earlier
 * effect's. */
bool probe_sql_spec_tied(const struct probe_sql_spec *spec);

#endif
