/*
 * What systemd is told and hands over: readiness, status text, watchdog, sockets. Without systemd
 * (at build or at run time) every call does nothing.
 */
#ifndef EFFECTD_SERVICE_H
#define EFFECTD_SERVICE_H

#include "errors.h"

/* The socket that systemd opened for us, or -1 (none). ERR_CONFLICT: more than one was handed over.
 */
int service_listen_fd(void) must_check;
/*
 * Begins to answer the watchdog from the loop, at half its interval: a hung loop stops it, a ledger
 * that is away does not.
 */
void service_start(void);
void service_stop(void);

void service_ready(void);
void service_reloading(void); /* service_ready() ends it */
void service_stopping(void);
/* One line for `systemctl status`. */
void service_status(const char *text);

#endif
