/*
 * Temporary files. Promise: no name stands in any folder for longer than it takes to remove it, and
 * none at all where the file system can do without. What is written is nobody else's to read.
 */
#include "tempfile.h"

#include "alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *
tempfile_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* For file systems that have no files without a name. */
static int
open_named(const char *folder)
{
	char *path = xasprintf("%s/effectctl.XXXXXX", folder);
	int fd = mkostemp(path, O_CLOEXEC), err = errno;

	if (fd >= 0)
		unlink(path);
	free(path);
	errno = err;
	return fd;
}

int
tempfile_open(void)
{
	const char *folder = tempfile_folder();
	int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_named(folder);
	return fd;
}

void
tempfile_writer_init(struct tempfile_writer *writer, int fd, off_t at)
{
	writer->fd = fd;
	writer->at = at;
	writer->n_held = 0;
}

bool
tempfile_flush(struct tempfile_writer *writer)
{
	off_t at = writer->at - (off_t)writer->n_held;
	size_t n_done = 0;
	ssize_t n;

	while (n_done < writer->n_held) {
		n = pwrite(writer->fd, writer->block + n_done, writer->n_held - n_done,
		    at + (off_t)n_done);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0)
			n_done += (size_t)n;
	}
	writer->n_held = 0;
	return true;
}

bool
tempfile_write(struct tempfile_writer *writer, const void *data, size_t len)
{
	const char *from = data;
	size_t n;

	while (len > 0) {
		if (writer->n_held == sizeof writer->block && !tempfile_flush(writer))
			return false;
		n = sizeof writer->block - writer->n_held;
		if (n > len)
			n = len;
		memcpy(writer->block + writer->n_held, from, n);
		writer->n_held += n;
		writer->at += (off_t)n;
		from += n;
		len -= n;
	}
	return true;
}
