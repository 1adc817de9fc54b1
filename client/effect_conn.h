/*
 * The connection: whole lines in, pieces of memory out, nothing that blocks, and when it may be
 * tried anew. Knows no calls and no JSON.
 */
#ifndef EFFECT_CONN_H
#define EFFECT_CONN_H

#include "effect_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define EFFECT_CONN_WHY_BYTES 256

struct effect_conn {
	struct effect_path path;
	int fd; /* -1 = closed */
	char *in;
	size_t in_len, in_cap, in_done, in_scanned;
	int64_t starved_until_ms; /* no memory to read with: not before then */
	int64_t due_ms;		  /* when it is closed: not before then */
	unsigned n_failed;	  /* in a row, without an answer between them */
	uint64_t seed;		  /* of the jitter */
	char why[EFFECT_CONN_WHY_BYTES];
};

enum effect_conn_io {
	EFFECT_CONN_DONE,    /* something was read or sent */
	EFFECT_CONN_WAIT,    /* the kernel has nothing, or no room */
	EFFECT_CONN_STARVED, /* no memory; the connection is whole */
	EFFECT_CONN_LOST     /* `why` says it; to be closed */
};

/* False: no memory. `path` as of effect_path_init(). */
bool effect_conn_init(struct effect_conn *conn, const char *path);
void effect_conn_free(struct effect_conn *conn);
/* Connects at once or not at all; false: `why`, and due_ms is when to try again. */
bool effect_conn_open(struct effect_conn *conn, int64_t now_ms);
/* `asked`: somebody waited for an answer on it. Sets due_ms. */
void effect_conn_close(struct effect_conn *conn, int64_t now_ms, bool asked);
/* A copy of somebody else's connection (after a fork): let go, with what was read. */
void effect_conn_forget(struct effect_conn *conn);
enum effect_conn_io effect_conn_send(
    struct effect_conn *conn, const struct iovec *pieces, size_t n, size_t *ret_sent);
enum effect_conn_io effect_conn_recv(struct effect_conn *conn, int64_t now_ms);
/* The next whole line, without its LF; valid until the next call of recv or close. */
bool effect_conn_line(struct effect_conn *conn, const char **ret_line, size_t *ret_len);
/* The daemon answered: failures in a row are over. */
void effect_conn_good(struct effect_conn *conn);
/* `base_ms` and up to half of it more. */
int64_t effect_conn_jittered(struct effect_conn *conn, int64_t base_ms);

#endif
