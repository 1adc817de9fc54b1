/*
 * The listening socket and accept.
 *
 * Promises: of two daemons started on one path exactly one gets it (a lock file beside the path,
 * held for life, also by a stopped process); a path that anything holds or that is no socket is
 * left as it is; at the end only our own inode is unlinked; running out of descriptors or room
 * costs neither CPU nor a flood of log lines, and some descriptors always remain for the ledger and
 * for probes.
 *
 * What a peer may do is access.c's, what it says is client.c's.
 */
#include "server.h"

#include "alloc.h"
#include "buf.h"
#include "client.h"
#include "httpd.h"
#include "limits.h"
#include "log.h"
#include "loop.h"
#include "rpc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#define EXIT_HELD 73
#define ACCEPT_MAX 64	      /* a pass: those who are in already want their turn */
#define PAUSE_MS 500	      /* out of descriptors: the next try */
#define LOG_INTERVAL_MS 10000 /* one line about the same trouble */
#define SPARE_FDS 32	      /* kept from clients, for the ledger, probes and notices */
#define SPARE_FDS_MANY 128    /* the same where there are plenty */

static const struct config *config;
static const struct access *access_in_force;
static int listen_fd = -1, lock_fd = -1;
static dev_t path_dev; /* of the inode that we bound, */
static ino_t path_ino; /* 0 = not ours to unlink */
static struct event *acceptable;
static struct loop_timer *pause_timer;
static int64_t logged_ms;

static int
server_bad(char **ret_error, int status, const char *why)
{
	*ret_error = xasprintf("cannot listen on '%s': %s", config->socket, why);
	return status;
}

static int
server_failed(char **ret_error, const char *doing)
{
	*ret_error =
	    xasprintf("cannot listen on '%s': %s: %s", config->socket, doing, strerror(errno));
	return EX_OSERR;
}

/* One level of folder is made where it is missing; a folder of a stranger is no place for a socket.
 */
static int
server_folder(char **ret_error)
{
	char *folder =
	    xstrndup(config->socket, (size_t)(strrchr(config->socket, '/') - config->socket));
	const char *path = *folder ? folder : "/";
	uid_t uid = geteuid();
	struct stat st;
	int rc = 0;

	if (mkdir(path, uid == 0 ? 0755 : 0700) < 0 && errno != EEXIST && errno != EROFS)
		rc = server_failed(ret_error, "making its folder");
	else if (stat(path, &st) < 0)
		rc = server_failed(ret_error, "looking at its folder");
	else if (!S_ISDIR(st.st_mode))
		rc = server_bad(ret_error, EX_CONFIG, "its folder is no folder");
	else if (st.st_uid != uid && st.st_uid != 0)
		rc = server_bad(ret_error, EX_CONFIG, "its folder belongs to somebody else");
	free(folder);
	return rc;
}

/* Two starters cannot both win: the winner holds this lock until it ends. The file stays, as
 * unlinking it would open the race again. */
static int
server_lock(char **ret_error)
{
	char *path = xasprintf("%s.lock", config->socket);
	int rc = 0;

	lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock_fd < 0)
		rc = server_failed(ret_error, "opening its lock file");
	else if (flock(lock_fd, LOCK_EX | LOCK_NB) < 0)
		rc = errno == EWOULDBLOCK
		    ? server_bad(ret_error, EXIT_HELD, "another daemon holds it")
		    : server_failed(ret_error, "locking its lock file");
	free(path);
	return rc;
}

static void
server_address(struct sockaddr_un *sun)
{
	memset(sun, 0, sizeof *sun);
	sun->sun_family = AF_UNIX;
	assert(strlen(config->socket) < sizeof sun->sun_path);
	memcpy(sun->sun_path, config->socket, strlen(config->socket));
}

/* Only "connection refused" proves that nobody holds a socket; slow is not dead. */
static bool
server_is_stale(void)
{
	struct sockaddr_un sun;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool stale;

	if (fd < 0)
		return false;
	server_address(&sun);
	stale = connect(fd, (struct sockaddr *)&sun, sizeof sun) < 0 && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int
server_clear_path(char **ret_error)
{
	struct stat st;

	if (lstat(config->socket, &st) < 0)
		return errno == ENOENT ? 0 : server_failed(ret_error, "looking at it");
	if (!S_ISSOCK(st.st_mode))
		return server_bad(ret_error, EXIT_HELD, "something that is no socket is there");
	if (!server_is_stale())
		return server_bad(ret_error, EXIT_HELD, "another process holds it");
	if (unlink(config->socket) < 0)
		return server_failed(ret_error, "removing the stale socket");
	log_info("server", "removed the stale socket '%s'", config->socket);
	return 0;
}

/* Group and mode, before anybody can connect. */
static int
server_permit(char **ret_error)
{
	const struct group *group;

	if (config->socket_group && *config->socket_group) {
		group = getgrnam(config->socket_group);
		if (!group)
			return server_bad(
			    ret_error, EX_CONFIG, "socket_group is no group of this host");
		if (lchown(config->socket, (uid_t)-1, group->gr_gid) < 0)
			return server_failed(ret_error, "giving it to socket_group");
	}
	if (chmod(config->socket, (mode_t)config->socket_mode) < 0)
		return server_failed(ret_error, "setting its mode");
	return 0;
}

static int
server_bind(char **ret_error)
{
	struct sockaddr_un sun;
	struct stat st;
	mode_t mask;
	int rc;

	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listen_fd < 0)
		return server_failed(ret_error, "making a socket");
	server_address(&sun);
	mask = umask(0177);
	rc = bind(listen_fd, (struct sockaddr *)&sun, sizeof sun);
	umask(mask);
	if (rc < 0)
		return errno == EADDRINUSE
		    ? server_bad(ret_error, EXIT_HELD, "another process holds it")
		    : server_failed(ret_error, "binding it");
	if (lstat(config->socket, &st) < 0)
		return server_failed(ret_error, "looking at it");
	path_dev = st.st_dev;
	path_ino = st.st_ino;
	rc = server_permit(ret_error);
	if (rc == 0 && listen(listen_fd, SOMAXCONN) < 0)
		rc = server_failed(ret_error, "listening");
	return rc;
}

/* A socket that systemd opened: a listening Unix stream socket or nothing. */
static int
server_activated(int fd, char **ret_error)
{
	int domain = 0, type = 0, listening = 0, flags;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || domain != AF_UNIX ||
	    type != SOCK_STREAM || !listening)
		return server_bad(ret_error, EX_CONFIG,
		    "what was handed over is no listening Unix stream socket");
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return server_failed(ret_error, "taking it over");
	listen_fd = fd;
	return 0;
}

int
server_open(const struct config *live_config, int activated_fd, char **ret_error)
{
	int rc;

	assert(listen_fd < 0);
	config = live_config;
	if (activated_fd >= 0)
		return server_activated(activated_fd, ret_error);
	if (strlen(config->socket) > SOCKET_PATH_BYTES_MAX)
		return server_bad(ret_error, EX_CONFIG, "the path is longer than 107 bytes");
	if (*config->socket != '/')
		return server_bad(ret_error, EX_CONFIG, "the path is not absolute");
	rc = server_folder(ret_error);
	if (rc == 0)
		rc = server_lock(ret_error);
	if (rc == 0)
		rc = server_clear_path(ret_error);
	if (rc == 0)
		rc = server_bind(ret_error);
	if (rc != 0)
		server_close();
	return rc;
}

/* One line an interval about trouble that repeats. */
static bool
server_may_log(void)
{
	int64_t now_ms = loop_now_ms();

	if (logged_ms != 0 && now_ms - logged_ms < LOG_INTERVAL_MS)
		return false;
	logged_ms = now_ms;
	return true;
}

static unsigned
server_connections_max(void)
{
	struct rlimit limit;
	rlim_t room;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return (unsigned)config->max_connections;
	room = limit.rlim_cur - (limit.rlim_cur > 4 * SPARE_FDS_MANY ? SPARE_FDS_MANY : SPARE_FDS);
	if (limit.rlim_cur <= SPARE_FDS + httpd_fds_max() + 1)
		room = 1;
	else
		room -= httpd_fds_max();
	return room < (rlim_t)config->max_connections ? (unsigned)room
						      : (unsigned)config->max_connections;
}

/* Beyond the limit: an answer instead of a place in a queue that may never move. Best effort, one
 * write into an empty socket buffer. */
static void
server_refuse(int fd)
{
	struct rpc_error_data data = {.why = "max_connections", .retry_after_ms = 1000};
	struct buf line = {0};

	rpc_error(&line, NULL, 0, ERR_OVERLOADED, NULL, &data);
	if (send(fd, line.data, line.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && server_may_log())
		log_warn("server", "cannot tell a peer that all connections are taken: %s",
		    strerror(errno));
	close(fd);
	buf_free(&line);
	if (server_may_log())
		log_warn("server", "all %u connections are taken, refusing more until one ends",
		    client_n());
}

static void
server_peer(int fd)
{
	struct access_peer peer = {0};

	if (client_n() >= server_connections_max()) {
		server_refuse(fd);
		return;
	}
	if (access_peer_read(&peer, fd) < 0) {
		if (server_may_log())
			log_warn("server",
			    "the kernel does not tell who a peer is, closing its connection");
		access_peer_clear(&peer);
		close(fd);
		return;
	}
	access_peer_judge(&peer, access_in_force);
	client_new(fd, &peer);
}

static void
server_pause(void)
{
	if (server_may_log())
		log_warn("server", "cannot accept a connection: %s, trying again every %d ms",
		    strerror(errno), PAUSE_MS);
	event_del(acceptable);
	loop_timer_set(pause_timer, PAUSE_MS);
}

static void
server_acceptable_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	for (int i = 0; i < ACCEPT_MAX; i++) {
		int peer_fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (peer_fd >= 0) {
			server_peer(peer_fd);
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			/* out of descriptors or memory, or worse */
			server_pause();
			return;
		}
	}
}

static void
server_pause_cb(void *arg)
{
	(void)arg;
	if (event_add(acceptable, NULL) < 0)
		loop_timer_set(pause_timer, PAUSE_MS);
}

void
server_set_access(const struct access *access)
{
	access_in_force = access;
}

void
server_start(void)
{
	assert(listen_fd >= 0 && access_in_force && !acceptable);
	acceptable =
	    event_new(loop_base, listen_fd, EV_READ | EV_PERSIST, server_acceptable_cb, NULL);
	assert(acceptable);
	pause_timer = loop_timer_new(server_pause_cb, NULL);
	server_pause_cb(NULL);
}

void
server_stop(void)
{
	struct stat st;

	if (acceptable)
		event_free(acceptable);
	acceptable = NULL;
	loop_timer_free(pause_timer);
	pause_timer = NULL;
	if (path_ino != 0 && lstat(config->socket, &st) == 0 && st.st_dev == path_dev &&
	    st.st_ino == path_ino)
		unlink(config->socket);
	path_ino = 0;
	if (listen_fd >= 0)
		close(listen_fd);
	listen_fd = -1;
}

void
server_close(void)
{
	server_stop();
	if (lock_fd >= 0)
		close(lock_fd);
	lock_fd = -1;
}
