/*
 * GET /metrics, /healthz and /readyz on a loopback port, for Prometheus and for whoever watches
 * over this process; nothing else is served, and nothing is asked of the ledger.
 *
 * Nobody there is authenticated, so nobody there costs anything: a bounded number of connections,
 * each of one request and a bounded life; who does not read holds a page that others share.
 */
#ifndef EFFECTD_HTTPD_H
#define EFFECTD_HTTPD_H

#include "config.h"
#include "errors.h"

/*
 * Listens where metrics_listen says; nothing if it is "". Returns 0 or an exit code (73 the port is
 * taken, 71 the system refused), *ret_error (owned) then is one line.
 */
int httpd_open(const struct config *config, char **ret_error) must_check;
/* Descriptors that it may hold; 0 where it does not listen. */
unsigned httpd_fds_max(void);
/* Ends the listener and every connection. */
void httpd_stop(void);
/* End-of-pass hook: gives connections back that are over. */
void httpd_look(void);

#endif
