/*
 * Bytes of a file, a pipe or standard input, in order and block by block, with how many there were.
 */
#ifndef EFFECTD_INTAKE_H
#define EFFECTD_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTAKE_BLOCK_BYTES 65536

struct intake {
	int fd; /* borrowed */
	/* Asked whenever a signal came in between: true = give up, which is the end with EINTR. */
	bool (*stopped)(void *arg);
	void *arg;
	uint64_t n_read; /* bytes taken from fd */
	size_t at, n;	 /* in block */
	bool ended;
	int err; /* errno of a read that failed; 0 = none did */
	char block[INTAKE_BLOCK_BYTES];
};

/* Has up to n bytes in the block before the first one is taken, fewer only at the end; for a look
 * at how it begins. */
size_t intake_begin(struct intake *in, size_t n);
/* Fills the block; false: there is no more, or err is set. For intake_get() and intake_peek(). */
bool intake_fill(struct intake *in);

/* The next byte, 0 to 255; -1: there is none. */
static inline int
intake_get(struct intake *in)
{
	if (in->at == in->n && !intake_fill(in))
		return -1;
	return (unsigned char)in->block[in->at++];
}

/* The same, and it stays the next one. */
static inline int
intake_peek(struct intake *in)
{
	if (in->at == in->n && !intake_fill(in))
		return -1;
	return (unsigned char)in->block[in->at];
}

#endif
