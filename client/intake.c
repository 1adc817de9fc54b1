/*
 * Reading what others write. Promise: every byte once; a signal that is to end the program ends the
 * wait for bytes. What they mean does not belong here.
 */
#include "intake.h"

#include <errno.h>
#include <unistd.h>

/* Reads once, behind the n bytes that are in the block. */
static bool
read_more(struct intake *in)
{
	ssize_t n;

	do {
		if (in->stopped && in->stopped(in->arg)) {
			errno = EINTR;
			n = -1;
			break;
		}
		n = read(in->fd, in->block + in->n, sizeof in->block - in->n);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		in->n += (size_t)n;
		in->n_read += (size_t)n;
	}
	in->ended = n <= 0;
	in->err = n < 0 ? errno : 0;
	return n > 0;
}

bool
intake_fill(struct intake *in)
{
	if (in->ended)
		return false;
	in->at = in->n = 0;
	return read_more(in);
}

size_t
intake_begin(struct intake *in, size_t n)
{
	while (in->n < n && !in->ended && read_more(in))
		;
	return in->n < n ? in->n : n;
}
