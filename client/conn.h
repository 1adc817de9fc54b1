/*
 * A blocking client of the daemon's socket: whole lines out, whole lines in, each under a deadline
 * by the monotonic clock. Knows no methods and no JSON.
 */
#ifndef EFFECTD_CONN_H
#define EFFECTD_CONN_H

#include "buf.h"
#include "errors.h"

#include <stdint.h>

struct conn {
	int fd;	       /* -1 = closed */
	struct buf in; /* read beyond the last line */
	char why[256]; /* of the last failure, one line */
};

/* Milliseconds of a clock that goes on while the host sleeps, as leases do. */
int64_t conn_now_ms(void);
/* All three: 0, or ERR_UNAVAILABLE with `why` filled. until_ms is of conn_now_ms(). */
int conn_open(struct conn *conn, const char *path, int64_t until_ms) must_check;
int conn_send(struct conn *conn, const char *data, size_t len, int64_t until_ms) must_check;
/* The next line without its LF into `line` (cleared first). */
int conn_recv(struct conn *conn, struct buf *line, int64_t until_ms) must_check;
void conn_close(struct conn *conn);

#endif
