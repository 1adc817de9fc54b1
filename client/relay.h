/*
 * A command's standard output on its way through us: passed on as it comes, its beginning kept, all
 * of it counted and hashed.
 */
#ifndef EFFECTD_RELAY_H
#define EFFECTD_RELAY_H

#include "buf.h"
#include "digest.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define RELAY_KEPT_BYTES_MAX 1000000 /* no policy's result_max is above it */

struct relay {
	int in;	       /* the command's end of it is elsewhere; -1 = nothing more comes */
	int out;       /* -1 = nobody takes it any more */
	bool out_ours; /* a description of our own, which does not block; else shared with others */
	bool out_socket;
	int out_error;	    /* errno of the failed write, 0 = none */
	struct buf waiting; /* read, and not yet passed on from ... */
	size_t n_passed;    /* ... here */
	struct buf kept;
	uint64_t n_bytes;
	struct digest_stream *hash;
};

/* `in` is taken: a pipe's end that does not block. Passes on to standard output. */
void relay_start(struct relay *relay, int in);
/* What to wait for: fills fds[0, 2) (fd -1 = nothing). */
void relay_poll(const struct relay *relay, struct pollfd fds[2]);
/* Reads and writes what can be without waiting. */
void relay_turn(struct relay *relay);
/*
 * The command is gone: takes what it left in the pipe and closes it, whoever else may hold the
 * other end. What was not passed on yet is left to relay_turn().
 */
void relay_drain(struct relay *relay);
/* Is anything still to be passed on? */
bool relay_waits(const struct relay *relay);
/* Once: the hash of all that came, hexadecimal. */
void relay_hash(struct relay *relay, char ret[2 * SHA256_BYTES + 1]);
void relay_free(struct relay *relay);

#endif
