/* Queries of policies, read just as far as a mistake can be told without a server. */
#include "sql_query.h"

#include "alloc.h"
#include "credential.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_BYTES_MAX 8192
#define PARAM_BYTES_MAX 2048

bool
sql_query_read(const cJSON *v, struct probe_fault *fault, char **ret)
{
	const char *text = cJSON_GetStringValue(v);
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len > QUERY_BYTES_MAX)
		return probe_fault(fault, "/query",
		    "must be a string, an SQL query of at most %d bytes", QUERY_BYTES_MAX);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	if (len == 0 || text[len - 1] == ';')
		return probe_fault(fault, "/query", "must be one query, without a ';' behind it");
	*ret = xstrdup(text);
	return true;
}

bool
sql_query_params(const cJSON *v, struct probe_fault *fault, char *(*why_not)(const char *text),
    char *ret[SQL_QUERY_PARAMS_MAX], size_t *ret_n)
{
	const cJSON *item;
	char *why;

	*ret_n = 0;
	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) > SQL_QUERY_PARAMS_MAX)
		return probe_fault(fault, "/params", "must be an array of at most %d strings",
		    SQL_QUERY_PARAMS_MAX);
	cJSON_ArrayForEach (item, v) {
		if (!cJSON_IsString(item) || strlen(item->valuestring) > PARAM_BYTES_MAX)
			return probe_fault(fault, "/params",
			    "must hold strings of at most %d bytes", PARAM_BYTES_MAX);
		why = why_not(item->valuestring);
		if (why) {
			probe_fault(fault, "/params", "%s", why);
			free(why);
			return false;
		}
		ret[(*ret_n)++] = xstrdup(item->valuestring);
	}
	return true;
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

bool
sql_query_names(const char *query, size_t n_params, struct probe_fault *fault)
{
	unsigned long used, largest = query_params(query, &used);

	if (largest > n_params)
		return probe_fault(
		    fault, "/query", "names $%lu, and there are %zu params", largest, n_params);
	for (size_t i = 0; i < n_params; i++)
		if (!(used & 1ul << i))
			return probe_fault(
			    fault, "/query", "does not name $%zu, and the params do", i + 1);
	return true;
}

bool
sql_query_password_file(const cJSON *v, struct probe_fault *fault, char **ret)
{
	if (!cJSON_IsString(v) || !credential_is_place(v->valuestring))
		return probe_fault(fault, "/password_file",
		    "must be an absolute path, or the name of a file in $CREDENTIALS_DIRECTORY");
	*ret = xstrdup(v->valuestring);
	return true;
}
