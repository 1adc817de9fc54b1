/*
 * The listening socket: bound by us or handed over by systemd, never taken from somebody who still
 * holds it; accepts as many peers as there is room for and makes a client of each.
 */
#ifndef EFFECTD_SERVER_H
#define EFFECTD_SERVER_H

#include "access.h"
#include "config.h"
#include "errors.h"

/*
 * Opens the socket of `config` (borrowed for good), or takes over `activated_fd` if that is not -1.
 * Returns 0 or an exit code: 73 the path is held or is no socket of ours, 78 the config cannot be
 * right, 71 the system refused; *ret_error (owned) then is one line. Nothing is unlinked but a
 * socket that nobody listens on.
 */
int server_open(const struct config *config, int activated_fd, char **ret_error) must_check;
/* The rights that new peers are judged by, borrowed until the next call. */
void server_set_access(const struct access *access);
/* Begins to accept. */
void server_start(void);
/*
 * No more accepts: closes the socket and unlinks the path if it is still our own inode. The path
 * stays locked until server_close(), so that the next daemon begins when this one has ended.
 */
void server_stop(void);
void server_close(void);

#endif
