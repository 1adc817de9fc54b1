/*
 * What a new connection is asked first, and whether it will do. A part of pgpool.
 */
#ifndef EFFECTD_PGPOOL_CHECK_H
#define EFFECTD_PGPOOL_CHECK_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pgpool_check {
	const char *server_version; /* the result's */
	bool has_schema, read_committed;
	int pid;
	int64_t backend_start_us;
};

extern const char pgpool_check_sql[];

/* False: the connection is of no use, `ret_why` says why. */
bool pgpool_check_read(
    const PGresult *result, struct pgpool_check *ret, char *ret_why, size_t why_bytes);

#endif
