/*
 * Temporary files without a name, in $TMPDIR or /tmp: nothing is left of them when the process is
 * gone. And writing to one, block by block.
 */
#ifndef EFFECTD_TEMPFILE_H
#define EFFECTD_TEMPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TEMPFILE_BLOCK_BYTES 65536

/* $TMPDIR, or "/tmp". */
const char *tempfile_folder(void);
/* A descriptor, open for both ways and close-on-exec; -1: errno says why. */
int tempfile_open(void);

/* Writes behind `at`, which moves. */
struct tempfile_writer {
	int fd;	  /* borrowed */
	off_t at; /* where the next byte goes that is given */
	size_t n_held;
	char block[TEMPFILE_BLOCK_BYTES];
};

void tempfile_writer_init(struct tempfile_writer *writer, int fd, off_t at);
/* Both: false: errno says why. */
bool tempfile_write(struct tempfile_writer *writer, const void *data, size_t len);
bool tempfile_flush(struct tempfile_writer *writer);

#endif
