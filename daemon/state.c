/*
 * The state folder. Nobody but its owner may read it; with the embedded database under root its own
 * user must be able to pass through. What the files in it mean is their modules'.
 */
#include "state.h"

#include "alloc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define EXIT_HELD 73

static int folder_fd = -1;

/* The folder and what is missing above it. */
static int
state_make(const char *path, mode_t mode)
{
	char *part = xstrdup(path);
	int rc = 0;

	for (char *slash = strchr(part + 1, '/'); slash && rc == 0;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST && errno != EROFS)
			rc = -1;
		*slash = '/';
	}
	if (rc == 0 && mkdir(part, mode) < 0 && errno != EEXIST)
		rc = -1;
	free(part);
	return rc;
}

int
state_open(const struct config *config, bool *ret_has_instance, char **ret_error)
{
	const char *path = config->state_dir;
	bool passable = geteuid() == 0 && strcmp(config->database, "embedded") == 0;
	struct stat st;

	assert(folder_fd < 0);
	if (state_make(path, passable ? 0711 : 0700) == 0)
		folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0) {
		*ret_error =
		    xasprintf("cannot use the state folder '%s': %s", path, strerror(errno));
		return EX_OSERR;
	}
	if (flock(folder_fd, LOCK_EX | LOCK_NB) < 0) {
		*ret_error = xasprintf("cannot use the state folder '%s': %s", path,
		    errno == EWOULDBLOCK ? "another daemon uses it" : strerror(errno));
		return errno == EWOULDBLOCK ? EXIT_HELD : EX_OSERR;
	}
	*ret_has_instance = fstatat(folder_fd, "instance", &st, AT_SYMLINK_NOFOLLOW) == 0;
	return 0;
}

void
state_close(void)
{
	if (folder_fd >= 0)
		close(folder_fd);
	folder_fd = -1;
}
