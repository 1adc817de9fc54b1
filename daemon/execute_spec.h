/*
 * What a policy's `execute` is: which statement, with which params, as whom and for how long. Read
 * from the policy once, then immutable and shared by reference. Pure. Running it is execution.c's.
 */
#ifndef EFFECTD_EXECUTE_SPEC_H
#define EFFECTD_EXECUTE_SPEC_H

#include "errors.h"
#include "json.h"
#include "sql_query.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct execute_spec {
	unsigned refs;
	char *json;  /* canonical but for the order of its members, defaults filled in */
	char *query; /* one statement, without a semicolon behind it; its $1 ... are `params` */
	char *params[SQL_QUERY_PARAMS_MAX]; /* a placeholder, or a text that is none */
	size_t n_params;
	char *user;	     /* the role that it runs as */
	char *password_file; /* see credential.h; NULL: none */
	int64_t timeout_ms;
};

/*
 * Reads the object `v`. NULL: *ret_pointer (relative to it) and *ret_why, both owned by the caller,
 * say what is wrong.
 */
struct execute_spec *execute_spec_parse(
    const cJSON *v, char **ret_pointer, char **ret_why) must_check;
struct execute_spec *execute_spec_ref(struct execute_spec *spec);
void execute_spec_unref(struct execute_spec *spec); /* NULL is fine */

/* What the placeholders stand for; NULL = there is none, which is SQL's null. */
struct execute_values {
	const struct json_doc *doc;
	uint32_t args; /* node; 0 = none, which is {} */
	const char *key, *effect, *ns, *tool, *run, *step, *turn, *owner;
};

/*
 * Fills ret[0, n_params), each owned by the caller, NULL = null. False: an arg cannot be handed to
 * a database; *ret_pointer (borrowed from the spec) names it, nothing is filled.
 */
bool execute_spec_fill(const struct execute_spec *spec, const struct execute_values *values,
    char *ret[SQL_QUERY_PARAMS_MAX], const char **ret_pointer) must_check;

#endif
