/* Where effectd's files are when nobody says: the system's places for root, the user's (XDG) for
 * everybody else. */
#ifndef EFFECTD_CONFIG_PATHS_H
#define EFFECTD_CONFIG_PATHS_H

#include <stdbool.h>
#include <sys/types.h>

struct config_paths {
	char *file, *socket, *state_dir, *tools_dir; /* owned */
	bool socket_in_tmp; /* there is no XDG_RUNTIME_DIR: the socket's folder is
			       config_paths_tmp_dir()'s to make */
};

/* Fills `ret`; touches no file. */
void config_paths_default(uid_t uid, struct config_paths *ret);
void config_paths_clear(struct config_paths *paths);
/*
 * The folder of a socket in /tmp must be a real folder of this user that nobody else may enter, or
 * somebody else could stand in for the daemon. With `create` it is made if it is missing. False:
 * *ret_why (unless NULL) is an owned line.
 */
bool config_paths_tmp_dir(const char *socket, uid_t uid, bool create, char **ret_why);

#endif
