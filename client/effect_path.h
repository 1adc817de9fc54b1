/*
 * Where the daemon's socket is, by the same rules as effectctl: the caller's word, else
 * $EFFECTD_SOCKET, else the user's own daemon if one ever listened, else the system's.
 */
#ifndef EFFECT_PATH_H
#define EFFECT_PATH_H

#include <stdbool.h>
#include <sys/un.h>

#define EFFECT_PATH_BYTES (sizeof((struct sockaddr_un *)0)->sun_path) /* with the NUL */

struct effect_path {
	char named[EFFECT_PATH_BYTES]; /* "": look for it */
	char users[EFFECT_PATH_BYTES]; /* "": there can be none */
	bool users_in_tmp;
	bool too_long;
};

/* Reads the environment once; `named` may be NULL. */
void effect_path_init(struct effect_path *path, const char *named);
/* The path to connect to now, as a user's daemon may be started at any time. */
const char *effect_path_now(const struct effect_path *path);

#endif
