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

/*
 * The bytes and a NUL, or NULL with errno; one byte more than `max` shows that there is more.
 * `expected` is what the file says of its size; it may grow while it is read.
 */
static char *
read_whole(int fd, size_t expected, size_t max, size_t *ret_len)
{
	size_t cap = (expected < max ? expected : max) + 1, len = 0;
	char *text = xmalloc(cap + 1);
	ssize_t n;

	while (len <= max) {
		if (len == cap) {
			cap = cap < max / 2 ? 2 * cap : max + 1;
			text = xrealloc(text, cap + 1);
		}
		n = read(fd, text + len, cap - len);
		if (n == 0)
			break;
		if (n > 0) {
			len += (size_t)n;
		} else if (errno != EINTR) {
			free(text);
			return NULL;
		}
	}
	text[len] = '\0';
	*ret_len = len;
	return text;
}

char *
file_read(const char *path, size_t bytes_max, size_t *ret_len, bool *ret_missing, char **ret_why)
{
	char *text = NULL;
	struct stat st;
	size_t len;
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
	text = read_whole(fd, (size_t)st.st_size, bytes_max, &len);
	if (text != NULL && len <= bytes_max) {
		*ret_len = len;
		goto out;
	}
	*ret_why = text == NULL ? xasprintf("cannot be read: %s", strerror(errno))
				: xasprintf("is over %zu bytes", bytes_max);
	free(text);
	text = NULL;
out:
	close(fd);
	return text;
}
