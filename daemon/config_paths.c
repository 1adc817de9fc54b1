/*
 * The default places, by user and environment. Promise: a relative value in an XDG variable is
 * ignored, as its specification asks. Opening these files does not belong here; the folder in /tmp
 * does, since its owner is what makes the path trustworthy.
 */
#include "config_paths.h"

#include "alloc.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
environment(const char *name)
{
	const char *value;

	value = getenv(name);
	return value != NULL && value[0] == '/' ? value : NULL;
}

static char *
home_of(uid_t uid)
{
	const struct passwd *pw;
	const char *home;

	home = environment("HOME");
	if (home != NULL)
		return xstrdup(home);
	pw = getpwuid(uid);
	return xstrdup(pw != NULL && pw->pw_dir[0] == '/' ? pw->pw_dir : "/");
}

static char *
below(const char *xdg_name, const char *home, const char *home_part)
{
	const char *value;

	value = environment(xdg_name);
	if (value != NULL)
		return xasprintf("%s/effectd", value);
	return xasprintf("%s/%s/effectd", strcmp(home, "/") == 0 ? "" : home, home_part);
}

void
config_paths_default(uid_t uid, struct config_paths *ret)
{
	char *home, *config_dir;
	const char *runtime_dir;

	*ret = (struct config_paths){0};
	if (uid == 0) {
		ret->file = xstrdup("/etc/effectd/effectd.conf");
		ret->socket = xstrdup("/run/effectd/effectd.sock");
		ret->state_dir = xstrdup("/var/lib/effectd");
		ret->tools_dir = xstrdup("/etc/effectd/tools.d");
		return;
	}
	home = home_of(uid);
	config_dir = below("XDG_CONFIG_HOME", home, ".config");
	ret->file = xasprintf("%s/effectd.conf", config_dir);
	ret->tools_dir = xasprintf("%s/tools.d", config_dir);
	ret->state_dir = below("XDG_STATE_HOME", home, ".local/state");
	runtime_dir = environment("XDG_RUNTIME_DIR");
	if (runtime_dir != NULL)
		ret->socket = xasprintf("%s/effectd/effectd.sock", runtime_dir);
	else
		ret->socket = xasprintf("/tmp/effectd-%lu/effectd.sock", (unsigned long)uid);
	ret->socket_in_tmp = runtime_dir == NULL;
	free(config_dir);
	free(home);
}

void
config_paths_clear(struct config_paths *paths)
{
	free(paths->file);
	free(paths->socket);
	free(paths->state_dir);
	free(paths->tools_dir);
	*paths = (struct config_paths){0};
}

bool
config_paths_tmp_dir(const char *socket, uid_t uid, bool create, char **ret_why)
{
	struct stat st;
	char *dir, *why = NULL;

	dir = xstrndup(socket, (size_t)(strrchr(socket, '/') - socket));
	if (create && mkdir(dir, 0700) != 0 && errno != EEXIST)
		why = xasprintf("cannot make the folder '%s': %s", dir, strerror(errno));
	else if (lstat(dir, &st) != 0)
		why = xasprintf("cannot look at the folder '%s': %s", dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode) || st.st_uid != uid || (st.st_mode & 077) != 0)
		why = xasprintf(
		    "'%s' is not a folder that is yours alone, name a socket elsewhere", dir);
	free(dir);
	if (why == NULL)
		return true;
	if (ret_why != NULL)
		*ret_why = why;
	else
		free(why);
	return false;
}
