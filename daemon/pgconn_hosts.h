/*
 * The hosts of a conninfo, each on its own: libpq tries them one after the other within one call
 * and forgets connect_timeout meanwhile. A part of pgconn.
 */
#ifndef EFFECTD_PGCONN_HOSTS_H
#define EFFECTD_PGCONN_HOSTS_H

#include <libpq-fe.h>
#include <stdint.h>

/* How many hosts it names, at least 1; 0 if it cannot be parsed. Its connect_timeout, if it has
 * one, goes to *ret_timeout_ms. */
int pgconn_hosts_parse(const char *conninfo, int64_t *ret_timeout_ms);

/* Begins to connect to one of them (from 0). The caller owns the connection, which may have failed
 * already. */
PGconn *pgconn_hosts_connect(const char *conninfo, int host);

#endif
