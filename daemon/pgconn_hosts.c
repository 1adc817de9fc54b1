/*
 * The hosts of a conninfo. A conninfo is parsed anew at each attempt: it may name a service or a
 * password file that has changed.
 */
#include "pgconn_hosts.h"
#include "alloc.h"
#include "conninfo.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 64

/* What the conninfo leaves open and a daemon needs: a dead peer is noticed while its answer is
 * awaited. */
static const char *const defaults[][2] = {
    {"client_encoding", "UTF8"},
    {"fallback_application_name", "effectd"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "30000"},
    {"target_session_attrs", "read-write"},
};

int
pgconn_hosts_parse(const char *conninfo, int64_t *ret_timeout_ms)
{
	PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL), *o;
	int n = parsed ? 1 : 0;
	long seconds;

	for (o = parsed; o && o->keyword; o++) {
		if (!o->val)
			continue;
		seconds = strcmp(o->keyword, "connect_timeout") ? 0 : strtol(o->val, NULL, 10);
		if (seconds > 0 && seconds <= INT32_MAX)
			*ret_timeout_ms = seconds * INT64_C(1000);
		if (!strcmp(o->keyword, "host") || !strcmp(o->keyword, "hostaddr"))
			n = (int)conninfo_list_length(o->val);
	}
	PQconninfoFree(parsed);
	return n;
}

PGconn *
pgconn_hosts_connect(const char *conninfo, int host)
{
	PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL), *o;
	const char *names[OPTIONS_MAX + 1], *values[OPTIONS_MAX + 1];
	char *parts[3] = {NULL};
	size_t n = 0, n_parts = 0;
	PGconn *pq;

	if (!parsed) /* pgconn_hosts_parse() looked at the text */
		alloc_out_of_memory();
	for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
		names[n] = defaults[i][0];
		values[n++] = defaults[i][1];
	}
	for (o = parsed; o->keyword; o++) {
		bool listed = !strcmp(o->keyword, "host") || !strcmp(o->keyword, "hostaddr") ||
		    !strcmp(o->keyword, "port");

		if (!o->val || !strcmp(o->keyword, "client_encoding"))
			continue;
		assert(n < OPTIONS_MAX);
		names[n] = o->keyword;
		values[n] = o->val;
		if (listed)
			values[n] = parts[n_parts++] = conninfo_list_part(o->val, (size_t)host);
		n++;
	}
	names[n] = values[n] = NULL;
	pq = PQconnectStartParams(names, values, 0);
	for (size_t i = 0; i < n_parts; i++)
		free(parts[i]);
	PQconninfoFree(parsed);
	if (!pq)
		alloc_out_of_memory();
	return pq;
}
