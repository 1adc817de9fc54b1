/*
 * HOST:PORT of this machine's loopback: an address under 127.0.0.0/8, [::1], or localhost (which is
 * 127.0.0.1 and asks no resolver). Pure.
 */
#ifndef EFFECTD_LOOPBACK_H
#define EFFECTD_LOOPBACK_H

#include <stdbool.h>
#include <sys/socket.h>

/* Port 0 is one that the kernel chooses. False (rets untouched): it is none of these. */
bool loopback_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len);

#endif
