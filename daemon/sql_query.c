/* Queries of policies, read just as far as a mistake can be told without a server. */
#include "sql_query.h"

#include "alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_BYTES_MAX 8192

char *
sql_query_fault(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len > QUERY_BYTES_MAX)
		return xasprintf(
		    "must be a string, an SQL query of at most %d bytes", QUERY_BYTES_MAX);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	if (len == 0 || text[len - 1] == ';')
		return xstrdup("must be one query, without a ';' behind it");
	return NULL;
}

/* The largest n of the $n in the query; *ret_used has bit n - 1 for each that could be a param. */
static unsigned long
query_params(const char *query, unsigned long *ret_used)
{
	unsigned long n, largest = 0;
	char *end;

	*ret_used = 0;
	while ((query = strchr(query, '$'))) {
		query++;
		if (!isdigit((unsigned char)*query))
			continue;
		n = strtoul(query, &end, 10);
		query = end;
		if (n > largest)
			largest = n;
		if (n >= 1 && n <= SQL_QUERY_PARAMS_MAX)
			*ret_used |= 1ul << (n - 1);
	}
	return largest;
}

char *
sql_query_params_fault(const char *query, size_t n_params)
{
	unsigned long used, largest = query_params(query, &used);

	if (largest > n_params)
		return xasprintf("names $%lu, and there are %zu params", largest, n_params);
	for (size_t i = 0; i < n_params; i++)
		if (!(used & 1ul << i))
			return xasprintf("does not name $%zu, and the params do", i + 1);
	return NULL;
}
