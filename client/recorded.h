/*
 * What `effectctl run` records of a command, and how a replay reads it: one JSON object, described
 * in effectctl(1). Pure.
 *
 *	{"status":0,"stdout":"v1.2.3 is up\n"}
 *	{"status":2,"stdout_base64":"/wA="}				no UTF-8
 *	{"status":0,"stdout":"...","stdout_bytes":8388608,"stdout_sha256":"...",
 *	 "stdout_truncated":true}
 */
#ifndef EFFECTD_RECORDED_H
#define EFFECTD_RECORDED_H

#include "buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recorded {
	int status;	    /* exit status, 0..255 */
	const char *out;    /* the beginning of what the command wrote to its standard output ... */
	size_t out_len;	    /* ... which is all of it if as long as ... */
	uint64_t out_bytes; /* ... this */
	const char *out_sha256; /* of all of it, hexadecimal */
};

/*
 * Appends the object. Where it would be longer than bytes_max, it has as much of the output's
 * beginning as fits, and says so; the status is always in it, in however few bytes.
 */
void recorded_write(struct buf *to, const struct recorded *what, size_t bytes_max);

struct recorded_copy {
	int status;
	struct buf out;	   /* what is kept of the output */
	bool has_out;	   /* false: not even a part is kept, as it was redacted */
	bool whole;	   /* out is all of it */
	int64_t out_bytes; /* of all of it; -1 = not told */
};

/*
 * Reads the object raw[0, len). False: that is none of ours (a probe's word, another client's
 * result), *ret is untouched. With true, ret->out is to be freed. `redacted`: the policy took
 * something out of it.
 */
bool recorded_read(const char *raw, size_t len, bool redacted, struct recorded_copy *ret);

#endif
