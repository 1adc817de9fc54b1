/*
 * Rights: the namespace sections of a config, names resolved once, against what the kernel says of
 * a peer. Promise: what no rule grants is denied, and a peer whose credentials cannot be read is
 * nobody. Which role a method needs is the methods' table's to say. Grants of a peer point into the
 * rights they were judged by; judge again before those are freed.
 */
#include "access.h"

#include "alloc.h"
#include "text.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_NAMESPACE "default"
#define ID_MAX 4294967294 /* (uid_t)-1 means "nobody at all" to the kernel */
#define GROUPS_FIRST 32
#define GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */
#define OPERATOR_ROLES (ACCESS_OPERATOR | ACCESS_OBSERVER)

struct rule {
	bool is_group;
	uint32_t id;
	unsigned roles;
};

struct space {
	char *name;
	struct rule *rules;
	size_t n_rules;
};

struct access {
	struct space *spaces; /* in the config's order */
	size_t n_spaces;
};

static void
add_rule(struct space *space, bool is_group, uint32_t id, unsigned roles)
{
	space->rules = xrealloc(space->rules, (space->n_rules + 1) * sizeof *space->rules);
	space->rules[space->n_rules++] = (struct rule){is_group, id, roles};
}

static struct space *
add_space(struct access *access, const char *name)
{
	struct space *space;

	access->spaces = xrealloc(access->spaces, (access->n_spaces + 1) * sizeof *access->spaces);
	space = &access->spaces[access->n_spaces++];
	*space = (struct space){.name = xstrdup(name)};
	return space;
}

/* Digits are an id, everything else a name. False: there is nobody of that name, or no telling. */
static bool
resolve(const char *name, bool is_group, uint32_t *ret_id)
{
	const struct passwd *pw;
	const struct group *gr;
	int64_t id;

	if (name[strspn(name, "0123456789")] == '\0') {
		if (!text_int(name, 0, ID_MAX, &id))
			return false;
		*ret_id = (uint32_t)id;
		return true;
	}
	if (is_group) {
		gr = getgrnam(name);
		if (gr != NULL)
			*ret_id = gr->gr_gid;
		return gr != NULL;
	}
	pw = getpwnam(name);
	if (pw != NULL)
		*ret_id = pw->pw_uid;
	return pw != NULL;
}

static bool
add_list(struct space *space, const char *key, char *const *list, unsigned roles, char **ret_error)
{
	bool is_group;
	uint32_t id;
	size_t i;

	for (i = 0; list[i] != NULL; i++) {
		is_group = strncmp(list[i], "group:", 6) == 0;
		assert(is_group || strncmp(list[i], "user:", 5) == 0); /* the config's rule */
		if (!resolve(strchr(list[i], ':') + 1, is_group, &id)) {
			*ret_error = xasprintf("namespace '%s': '%s' in '%s': there is no such %s",
			    space->name, list[i], key, is_group ? "group" : "user");
			return false;
		}
		add_rule(space, is_group, id, roles);
	}
	return true;
}

/* Without any namespace section. */
static bool
add_default(struct access *access, const struct config *config, char **ret_error)
{
	struct space *space = add_space(access, DEFAULT_NAMESPACE);
	uint32_t gid;

	add_rule(space, false, 0, ACCESS_WRAPPER | OPERATOR_ROLES);
	add_rule(space, false, geteuid(), ACCESS_WRAPPER | OPERATOR_ROLES);
	if (config->socket_group[0] == '\0')
		return true;
	if (!resolve(config->socket_group, true, &gid)) {
		*ret_error =
		    xasprintf("'socket_group': there is no group '%s'", config->socket_group);
		return false;
	}
	add_rule(space, true, gid, ACCESS_WRAPPER);
	return true;
}

struct access *
access_new(const struct config *config, char **ret_error)
{
	const struct config_namespace *ns;
	struct access *access;
	struct space *space;
	bool ok = true;
	size_t i;

	access = xcalloc(1, sizeof *access);
	if (config->n_namespaces == 0)
		ok = add_default(access, config, ret_error);
	for (i = 0; ok && i < config->n_namespaces; i++) {
		ns = &config->namespaces[i];
		space = add_space(access, ns->name);
		ok = add_list(space, "wrappers", ns->wrappers, ACCESS_WRAPPER, ret_error) &&
		    add_list(space, "operators", ns->operators, OPERATOR_ROLES, ret_error) &&
		    add_list(space, "observers", ns->observers, ACCESS_OBSERVER, ret_error);
	}
	if (ok)
		return access;
	access_free(access);
	return NULL;
}

void
access_free(struct access *access)
{
	size_t i;

	if (access == NULL)
		return;
	for (i = 0; i < access->n_spaces; i++) {
		free(access->spaces[i].name);
		free(access->spaces[i].rules);
	}
	free(access->spaces);
	free(access);
}

/* A peer may be in more groups than fit the first time; the kernel then says how many. */
static bool
read_groups(struct access_peer *peer, int fd)
{
	socklen_t bytes = GROUPS_FIRST * sizeof(gid_t);

	while (bytes <= GROUPS_MAX * sizeof(gid_t)) {
		peer->groups = xrealloc(peer->groups, bytes);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &bytes) == 0) {
			peer->n_groups = bytes / sizeof(gid_t);
			return true;
		}
		if (errno != ERANGE)
			return false;
	}
	return false;
}

const char *
access_namespace_at(const struct access *access, size_t i)
{
	return i < access->n_spaces ? access->spaces[i].name : NULL;
}

int
access_peer_read(struct access_peer *peer, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	*peer = (struct access_peer){0};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0 || len != sizeof cred)
		return ERR_DENIED;
	if (cred.uid == (uid_t)-1 || cred.gid == (gid_t)-1)
		return ERR_DENIED; /* not connected: the kernel knows nobody */
	peer->uid = cred.uid;
	peer->gid = cred.gid;
	peer->pid = cred.pid;
	if (read_groups(peer, fd))
		return 0;
	access_peer_clear(peer);
	return ERR_DENIED;
}

static bool
in_group(const struct access_peer *peer, gid_t gid)
{
	size_t i;

	if (peer->gid == gid)
		return true;
	for (i = 0; i < peer->n_groups; i++)
		if (peer->groups[i] == gid)
			return true;
	return false;
}

static unsigned
roles_in(const struct access_peer *peer, const struct space *space)
{
	const struct rule *rule;
	unsigned roles = 0;
	size_t i;

	for (i = 0; i < space->n_rules; i++) {
		rule = &space->rules[i];
		if (rule->is_group ? in_group(peer, rule->id) : peer->uid == rule->id)
			roles |= rule->roles;
	}
	return roles;
}

void
access_peer_judge(struct access_peer *peer, const struct access *access)
{
	unsigned roles;
	size_t i;

	free(peer->grants);
	peer->grants = xcalloc(access->n_spaces, sizeof *peer->grants);
	peer->n_grants = 0;
	for (i = 0; i < access->n_spaces; i++) {
		roles = roles_in(peer, &access->spaces[i]);
		if (roles != 0)
			peer->grants[peer->n_grants++] =
			    (struct access_grant){access->spaces[i].name, roles};
	}
}

void
access_peer_clear(struct access_peer *peer)
{
	free(peer->groups);
	free(peer->grants);
	*peer = (struct access_peer){.uid = (uid_t)-1, .gid = (gid_t)-1};
}

int
access_namespace(
    const struct access_peer *peer, const char *ns, unsigned roles, const char **ret_ns)
{
	const struct access_grant *only = NULL;
	size_t i, n = 0;

	for (i = 0; i < peer->n_grants; i++) {
		if ((peer->grants[i].roles & roles) == 0)
			continue;
		if (ns != NULL && strcmp(ns, peer->grants[i].ns) != 0)
			continue;
		only = &peer->grants[i];
		n++;
	}
	if (n == 0)
		return ERR_DENIED;
	if (n > 1)
		return ERR_INVALID_PARAMS;
	*ret_ns = only->ns;
	return 0;
}

void
access_scope(const struct access_peer *peer, unsigned roles, struct buf *out)
{
	bool first = true;
	size_t i;

	for (i = 0; i < peer->n_grants; i++) {
		if ((peer->grants[i].roles & roles) == 0)
			continue;
		if (!first)
			buf_add_char(out, ',');
		first = false;
		buf_add_str(out, peer->grants[i].ns); /* no name holds a comma */
	}
}

static void
print_roles(unsigned roles, struct buf *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {{ACCESS_WRAPPER, "wrapper"}, {ACCESS_OBSERVER, "observer"},
	    {ACCESS_OPERATOR, "operator"}};
	bool first = true;
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		if ((roles & names[i].bit) == 0)
			continue;
		buf_printf(out, "%s\"%s\"", first ? "" : ",", names[i].name);
		first = false;
	}
}

void
access_peer_json(const struct access_peer *peer, struct buf *out)
{
	size_t i;

	buf_add_char(out, '{');
	buf_json_member_int(out, "uid", peer->uid);
	buf_json_member_int(out, "gid", peer->gid);
	buf_json_member_int(out, "pid", peer->pid);
	buf_json_member(out, "namespaces");
	buf_add_char(out, '[');
	for (i = 0; i < peer->n_grants; i++) {
		buf_add_str(out, i == 0 ? "{" : ",{");
		buf_json_member_str(out, "name", peer->grants[i].ns);
		buf_json_member(out, "roles");
		buf_add_char(out, '[');
		print_roles(peer->grants[i].roles, out);
		buf_add_str(out, "]}");
	}
	buf_add_str(out, "]}");
}
