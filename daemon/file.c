/*
 * Reading a file that somebody else wrote: regular, of bounded size, in one piece. What its bytes
 * mean does not belong here. The text is the caller's.
 */
#include "file.h"

#include "alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the length, or -1 with errno; one byte more than `max` shows that there is more. */
static ssize_t
read_whole(int fd, char *text, size_t max)
{
	size_t len = 0;
	ssize_t n;

	while (len <= max) {
		n = read(fd, text + len, max + 1 - len);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			return -1;
	}
	return (ssize_t)len;
}

char *
file_read(const char *path, size_t bytes_max, size_t *ret_len, bool *ret_missing, char **ret_why)
{
	char *text = NULL;
	struct stat st;
	ssize_t len;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		*ret_missing = errno == ENOENT;
		*ret_why = xasprintf("cannot be opened: %s", strerror(errno));
		return NULL;
	}
	*ret_missing = false;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		*ret_why = xstrdup("is not a regular file");
		goto out;
	}
	text = xmalloc(bytes_max + 2);
	len = read_whole(fd, text, bytes_max);
	if (len >= 0 && (size_t)len <= bytes_max) {
		text[len] = '\0';
		*ret_len = (size_t)len;
		goto out;
	}
	*ret_why = len < 0 ? xasprintf("cannot be read: %s", strerror(errno))
			   : xasprintf("is over %zu bytes", bytes_max);
	free(text);
	text = NULL;
out:
	close(fd);
	return text;
}
