/*
 * What policies say of a query: its text with the $1 ... of its params, and the file of a password.
 * Whether it is right is the server's to say. Pure.
 */
#ifndef EFFECTD_SQL_QUERY_H
#define EFFECTD_SQL_QUERY_H

#include "probe_fault.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define SQL_QUERY_PARAMS_MAX 16

/* One query, no ';' behind it. False: the fault is told. *ret is owned by the caller. */
bool sql_query_read(const cJSON *v, struct probe_fault *fault, char **ret);
/*
 * Its params, an array of strings, each of which why_not() must find nothing wrong with (NULL; else
 * an owned text). False: the fault is told. ret[0 .. *ret_n) are owned by the caller in any case.
 */
bool sql_query_params(const cJSON *v, struct probe_fault *fault, char *(*why_not)(const char *text),
    char *ret[SQL_QUERY_PARAMS_MAX], size_t *ret_n);
/* Does it name the n_params params, each of them and no other? False: the fault is told. */
bool sql_query_names(const char *query, size_t n_params, struct probe_fault *fault);
/* See credential.h. False: the fault is told. *ret is owned by the caller. */
bool sql_query_password_file(const cJSON *v, struct probe_fault *fault, char **ret);

#endif
