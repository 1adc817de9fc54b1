/*
 * The text of a query that stands in a policy: one statement with its $1 ... Whether it is right is
 * the server's to say. Pure.
 */
#ifndef EFFECTD_SQL_QUERY_H
#define EFFECTD_SQL_QUERY_H

#include <stddef.h>

#define SQL_QUERY_PARAMS_MAX 16

/* NULL: it can stand where one query does. Else the rule, owned by the caller. `text` NULL = it is
 * no string. */
char *sql_query_fault(const char *text);
/* NULL: it names the n_params params, each of them and no other. Else the rule, owned. */
char *sql_query_params_fault(const char *query, size_t n_params);

#endif
