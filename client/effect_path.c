/*
 * The default places of daemon/config_paths.c, for a library that may not fail for want of memory
 * and asks no user database. Promise: a folder in /tmp is only trusted if nobody else can have made
 * it.
 */
#include "effect_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char system_socket[] = "/run/effectd/effectd.sock";

void
effect_path_init(struct effect_path *path, const char *named)
{
	uid_t uid = geteuid();
	const char *runtime_dir = secure_getenv("XDG_RUNTIME_DIR");
	int len;

	*path = (struct effect_path){0};
	if (!named)
		named = secure_getenv("EFFECTD_SOCKET");
	if (named && named[0]) {
		path->too_long = strlen(named) >= sizeof path->named;
		if (!path->too_long)
			memcpy(path->named, named, strlen(named) + 1);
		return;
	}
	if (uid == 0)
		return;
	if (runtime_dir && runtime_dir[0] == '/') {
		len = snprintf(
		    path->users, sizeof path->users, "%s/effectd/effectd.sock", runtime_dir);
	} else {
		path->users_in_tmp = true;
		len = snprintf(path->users, sizeof path->users, "/tmp/effectd-%lu/effectd.sock",
		    (unsigned long)uid);
	}
	if (len < 0 || (size_t)len >= sizeof path->users)
		path->users[0] = '\0';
}

/* A real folder of this user that nobody else may enter? */
static bool
is_ours_alone(const char *socket)
{
	char folder[EFFECT_PATH_BYTES];
	struct stat st;

	memcpy(folder, socket, sizeof folder);
	*strrchr(folder, '/') = '\0';
	return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & 077) == 0;
}

const char *
effect_path_now(const struct effect_path *path)
{
	struct stat st;

	if (path->named[0])
		return path->named;
	if (path->users[0] && stat(path->users, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    (!path->users_in_tmp || is_ours_alone(path->users)))
		return path->users;
	return system_socket;
}
