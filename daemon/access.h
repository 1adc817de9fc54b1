/*
 * Who may do what: the peer's credentials (SO_PEERCRED, SO_PEERGROUPS) against the namespace
 * sections of the config. Fail closed: what is not granted is denied, and another namespace's
 * effects are not_found.
 */
#ifndef EFFECTD_ACCESS_H
#define EFFECTD_ACCESS_H

#include "buf.h"
#include "config.h"
#include "errors.h"

#include <stdbool.h>
#include <sys/types.h>

/* An operator is an observer, too: a grant with ACCESS_OPERATOR has both bits. */
enum access_role { ACCESS_WRAPPER = 1, ACCESS_OBSERVER = 2, ACCESS_OPERATOR = 4 };

/* The identity of a socket's peer, read once at accept; owned by its client. */
struct access_peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	gid_t *groups; /* supplementary, owned */
	size_t n_groups;
	struct access_grant {
		const char *ns; /* borrowed from the rights in force */
		unsigned roles; /* enum access_role bits */
	} * grants;
	size_t n_grants;
};

struct access; /* the rights in force, built from a config */

/* Names are resolved here (user:NAME, group:NAME), an unknown name is a load error in *ret_error
 * (owned) and NULL. */
struct access *access_new(const struct config *config, char **ret_error);
void access_free(struct access *access);

/* The i-th namespace of the config, or NULL behind the last one. */
const char *access_namespace_at(const struct access *access, size_t i);

/* Reads the credentials of a connected Unix socket, no grants yet. ERR_DENIED: the kernel does not
 * tell; the peer is then cleared. Whatever it returns, access_peer_clear() is allowed. */
int access_peer_read(struct access_peer *peer, int fd) must_check;
/* Computes peer->grants anew (at accept, and after a reload before the old rights are freed). */
void access_peer_judge(struct access_peer *peer, const struct access *access);
void access_peer_clear(struct access_peer *peer);

/*
 * The namespace a request of this peer means: `ns` if given (must be one where the peer has one of
 * `roles`), else the only one it has such rights in. ERR_DENIED: none, or not this one (same
 * answer, so that nothing leaks); ERR_INVALID_PARAMS: several, one must be named. *ret_ns is
 * borrowed.
 */
int access_namespace(
    const struct access_peer *peer, const char *ns, unsigned roles, const char **ret_ns) must_check;
/* Comma-joined namespaces where the peer has one of `roles`: the scope argument of the SQL
 * functions. Empty = none. */
void access_scope(const struct access_peer *peer, unsigned roles, struct buf *out);
/* `{"uid":..,"gid":..,"pid":..,"namespaces":[{"name":..,"roles":[..]}]}` for info. */
void access_peer_json(const struct access_peer *peer, struct buf *out);

#endif
