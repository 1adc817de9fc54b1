/*
 * Pure but for the result: what a server must be to keep the ledger. That the schema is there and
 * of our version is judged by who asked.
 */
#include "pgpool_check.h"

#include "pgarray.h"
#include "schema.h"

#include <stdio.h>
#include <string.h>

const char pgpool_check_sql[] =
    "select " SCHEMA_SQL_EXISTS ", pg_catalog.current_setting('server_version'),"
    " pg_catalog.current_setting('transaction_read_only'), pg_catalog.pg_backend_pid(),"
    " coalesce((select (extract(epoch from a.backend_start) * 1000000)::int8"
    " from pg_catalog.pg_stat_activity a where a.pid = pg_catalog.pg_backend_pid()), 0),"
    " pg_catalog.current_setting('default_transaction_isolation') = 'read committed',"
    " pg_catalog.current_setting('server_encoding')";

bool
pgpool_check_read(const PGresult *result, struct pgpool_check *ret, char *ret_why, size_t why_bytes)
{
	if (PQntuples(result) != 1 || PQnfields(result) != 7) {
		snprintf(ret_why, why_bytes, "the server's answer makes no sense");
		return false;
	}
	if (strcmp(PQgetvalue(result, 0, 2), "off") != 0) {
		snprintf(ret_why, why_bytes, "the database is read-only");
		return false;
	}
	/* else what is true could not be recorded for the letters in it */
	if (strcmp(PQgetvalue(result, 0, 6), "UTF8") != 0) {
		snprintf(ret_why, why_bytes, "the database's encoding is %s, and must be UTF8",
		    PQgetvalue(result, 0, 6));
		return false;
	}
	*ret = (struct pgpool_check){.server_version = PQgetvalue(result, 0, 1),
	    .has_schema = pg_read_bool(PQgetvalue(result, 0, 0)),
	    .read_committed = pg_read_bool(PQgetvalue(result, 0, 5)),
	    .pid = pg_read_int4(PQgetvalue(result, 0, 3)),
	    .backend_start_us = pg_read_int8(PQgetvalue(result, 0, 4))};
	return true;
}
