/*
 * The folder of the embedded cluster. Everything inside pg/ is made and written as its owner, never
 * as root, so that a link put there by him leads nowhere he could not go himself.
 *
 * A cluster is made in data.new and gets its name when it is whole: a kill during initdb leaves
 * nothing that looks like one.
 */
#include "embedded_place.h"
#include "alloc.h"
#include "buf.h"
#include "job.h"
#include "limits.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PG_ROOT "/usr/lib/postgresql"
#define PG_OLDEST 14
#define SOCKET_NAME ".s.PGSQL.5432"

static bool
exists(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct stat st;
	bool found = stat(path, &st) == 0;

	free(path);
	return found;
}

/* ---- the programs ---- */

/* The major version of the cluster, 0 if there is none. */
static long
cluster_version(const struct embedded_place *place)
{
	char *path = xasprintf("%s/PG_VERSION", place->data), line[16] = "";
	FILE *f = fopen(path, "re");
	long version = 0;

	if (f && fgets(line, sizeof line, f))
		version = strtol(line, NULL, 10);
	if (f)
		fclose(f);
	free(path);
	return version;
}

/* A folder of PATH that has the programs; owned by the caller. */
static char *
bin_in_path(void)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		char *dir = xstrndup(path, strcspn(path, ":"));

		if (*dir == '/' && exists(dir, "initdb") && exists(dir, "postgres"))
			return dir;
		free(dir);
		path += strcspn(path, ":");
		path += *path == ':';
	}
	return NULL;
}

/* Debian's newest, or the cluster's own version; else what PATH has. */
static char *
find_bin(long wanted)
{
	DIR *dir = opendir(PG_ROOT);
	struct dirent *entry;
	long best = 0;

	while (dir && (entry = readdir(dir))) {
		char *end, *bin;
		long version = strtol(entry->d_name, &end, 10);

		if (*end || version < PG_OLDEST || version <= best || (wanted && version != wanted))
			continue;
		bin = xasprintf("%s/%ld/bin", PG_ROOT, version);
		if (exists(bin, "initdb") && exists(bin, "postgres"))
			best = version;
		free(bin);
	}
	if (dir)
		closedir(dir);
	return best ? xasprintf("%s/%ld/bin", PG_ROOT, best) : bin_in_path();
}

/* ---- whose it is ---- */

/* In a child: becomes the owner, with nothing of our environment. */
static int
become(const struct embedded_place *place)
{
	if (place->drop &&
	    (initgroups(place->user, place->gid) || setgid(place->gid) || setuid(place->uid)))
		return -1;
	clearenv();
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
	setenv("LC_ALL", "C", 1);
	umask(077);
	return chdir("/");
}

/* The first folder on the way to `path` that the owner cannot enter, owned by the caller; NULL if
 * there is none. */
static char *
closed_folder(const struct embedded_place *place, const char *path)
{
	char *part = xstrdup(path);
	size_t len = strlen(path), i = 1;
	int status = 0;
	pid_t pid;

	for (; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		part[i] = '\0';
		pid = fork();
		if (pid == 0)
			_exit(become(place) || access(part, X_OK));
		if (pid < 0)
			break;
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (status)
			return part;
		part[i] = path[i];
	}
	free(part);
	return NULL;
}

static int
find_owner(struct embedded_place *place, const struct config *config, char **ret_error)
{
	struct passwd *pw = getpwuid(geteuid());

	place->self = pw ? xstrdup(pw->pw_name) : NULL;
	place->drop = geteuid() == 0;
	if (place->drop)
		pw = getpwnam(config->database_user);
	if (!pw) {
		*ret_error = place->drop
		    ? xasprintf("the database's user \"%s\" (database_user) does not exist",
			  config->database_user)
		    : xasprintf("user id %ld has no name, and the embedded database needs one",
			  (long)geteuid());
		return ERR_INVALID_PARAMS;
	}
	if (pw->pw_uid == 0) {
		*ret_error = xasprintf("the embedded database cannot run as \"%s\": name another "
				       "database_user",
		    pw->pw_name);
		return ERR_INVALID_PARAMS;
	}
	place->user = xstrdup(pw->pw_name);
	place->uid = pw->pw_uid;
	place->gid = pw->pw_gid;
	return 0;
}

/* A folder of the owner's; there may be one already. */
static int
own_folder(const struct embedded_place *place, const char *path, mode_t mode, char **ret_error)
{
	struct stat st;

	if (mkdir(path, mode) == 0) {
		if (!place->drop || lchown(path, place->uid, place->gid) == 0)
			return 0;
	} else if (errno == EEXIST && lstat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode) && st.st_uid == place->uid)
			return 0;
		*ret_error = xasprintf("'%s' is not a folder of user \"%s\"", path, place->user);
		return ERR_INVALID_PARAMS;
	}
	*ret_error = xasprintf("cannot make the folder '%s': %s", path, strerror(errno));
	return ERR_INVALID_PARAMS;
}

static int
check_path(const struct config *config, char **ret_error)
{
	if (config->state_dir[0] != '/' || strpbrk(config->state_dir, ",\"'\\\n")) {
		*ret_error =
		    xasprintf("state_dir '%s' must be absolute and free of quotes, commas and "
			      "backslashes for the embedded database",
			config->state_dir);
		return ERR_INVALID_PARAMS;
	}
	if (strlen(config->state_dir) + strlen("/pg/run/" SOCKET_NAME) > SOCKET_PATH_BYTES_MAX) {
		*ret_error =
		    xasprintf("state_dir '%s' is too long for a socket of the embedded database",
			config->state_dir);
		return ERR_INVALID_PARAMS;
	}
	return 0;
}

/* Somebody's ledger was here and is not any more: an empty one in its place would let every effect
 * run again. */
static int
check_not_lost(const struct embedded_place *place, const struct config *config, char **ret_error)
{
	struct stat st;

	if (cluster_version(place) != 0 || lstat(place->unmade, &st) == 0)
		return 0;
	*ret_error =
	    xasprintf("'%s' was used before, but its database '%s' is gone: restore it, or name "
		      "another state_dir",
		config->state_dir, place->data);
	return ERR_INVALID_PARAMS;
}

int
embedded_place_init(
    struct embedded_place *place, const struct config *config, bool has_instance, char **ret_error)
{
	char *closed;
	int err;

	memset(place, 0, sizeof *place);
	err = check_path(config, ret_error);
	if (!err)
		err = find_owner(place, config, ret_error);
	if (err)
		return err;
	closed = closed_folder(place, config->state_dir);
	if (closed) {
		*ret_error =
		    xasprintf("user \"%s\" cannot enter '%s': let it, or name another state_dir or "
			      "database_user",
			place->user, closed);
		free(closed);
		return ERR_INVALID_PARAMS;
	}
	place->pg = xasprintf("%s/pg", config->state_dir);
	place->data = xasprintf("%s/data", place->pg);
	place->unmade = xasprintf("%s/data.new", place->pg);
	place->run = xasprintf("%s/run", place->pg);
	place->log = xasprintf("%s/log", place->pg);
	if (has_instance)
		err = check_not_lost(place, config, ret_error);
	if (!err) {
		place->bin = find_bin(cluster_version(place));
		if (!place->bin) {
			*ret_error = cluster_version(place)
			    ? xasprintf("PostgreSQL %ld, which made '%s', is not installed",
				  cluster_version(place), place->data)
			    : xasprintf("no PostgreSQL %d or newer is installed", PG_OLDEST);
			err = ERR_INVALID_PARAMS;
		}
	}
	/* the socket's folder must be passable for root and owner alike, whoever of them we are */
	if (!err)
		err = own_folder(place, place->pg, 0711, ret_error);
	if (!err && cluster_version(place) == 0)
		err = own_folder(place, place->unmade, 0700, ret_error);
	return err;
}

void
embedded_place_free(struct embedded_place *place)
{
	free(place->pg);
	free(place->data);
	free(place->unmade);
	free(place->run);
	free(place->log);
	free(place->bin);
	free(place->user);
	free(place->self);
	memset(place, 0, sizeof *place);
}

/* ---- making it: in a job, as the owner ---- */

/* Opens stdin with `text` in it. False where that fails. */
static bool
stdin_with(const char *text)
{
	int fds[2];

	if (pipe(fds) < 0 || write(fds[1], text, strlen(text)) < 0 ||
	    dup2(fds[0], STDIN_FILENO) < 0)
		return false;
	close(fds[0]);
	close(fds[1]);
	return true;
}

/* Runs a program and waits; what it says goes to log/make.log. Returns NULL or one line, owned by
 * the caller. */
static char *
run(const struct embedded_place *place, const char *in, const char *program, ...)
{
	char *log = xasprintf("%s/make.log", place->log), *argv[16] = {NULL};
	int status = -1, n = 0, fd;
	va_list ap;
	pid_t pid;

	va_start(ap, program);
	argv[n++] = (char *)program;
	while (n < 15 && (argv[n] = va_arg(ap, char *)))
		n++;
	va_end(ap);
	pid = fork();
	if (pid == 0) {
		fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 ||
		    !stdin_with(in))
			_exit(126);
		execv(program, argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && status == 0) {
		free(log);
		return NULL;
	}
	return xasprintf("'%s' failed, '%s' says why", program, log); /* the process ends with it */
}

/* Replaces a file as a whole. */
static char *
write_file(const char *dir, const char *name, const char *mode, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, mode);
	bool good = f && fputs(text, f) >= 0;

	if (f && fclose(f))
		good = false;
	return good ? NULL : xasprintf("cannot write '%s': %s", path, strerror(errno));
}

/* For a small host; the socket's place and the log's are told at each start, as the folder may be
 * moved. */
static const char settings[] = "\n"
			       "# effectd: a ledger for one host\n"
			       "listen_addresses = ''\n"
			       "max_connections = 40\n"
			       "shared_buffers = 128MB\n"
			       "jit = off\n"
			       "cluster_name = 'effectd'\n"
			       "logging_collector = on\n"
			       "log_filename = 'postgresql-%a.log'\n"
			       "log_rotation_age = 1d\n"
			       "log_rotation_size = 0\n"
			       "log_truncate_on_rotation = on\n";

static char *
make_cluster(const struct embedded_place *place)
{
	char *initdb = xasprintf("%s/initdb", place->bin),
	     *postgres = xasprintf("%s/postgres", place->bin);
	char *error = run(place, "", "/bin/rm", "-rf", place->unmade, NULL);

	if (!error)
		error = run(place, "", initdb, "-D", place->unmade, "-U", "effectd", "-E", "UTF8",
		    "--locale=C.UTF-8", "--data-checksums", "-A", "peer", "--no-instructions",
		    NULL);
	if (!error)
		error = write_file(place->unmade, "postgresql.conf", "ae", settings);
	/* no server that could be met half-made: the database is created by a server without
	 * clients */
	if (!error)
		error = run(place, "create database effectd\n", postgres, "--single", "-D",
		    place->unmade, "-c", "logging_collector=off", "postgres", NULL);
	if (!error && rename(place->unmade, place->data) < 0)
		error = xasprintf("cannot rename '%s': %s", place->unmade, strerror(errno));
	free(initdb);
	free(postgres);
	return error;
}

/* Root, the owner and whom the daemon runs as are the database's superuser, through the socket
 * only; roles that somebody made there come in by their passwords. */
static char *
write_access(const struct embedded_place *place)
{
	static const char hba[] =
	    "# written by effectd at each start\nlocal all effectd peer map=effectd\n"
	    "local all all scram-sha-256\n";
	struct buf b = {NULL, 0, 0};
	char *error;

	buf_add_str(&b, "# written by effectd at each start\neffectd root effectd\n");
	buf_printf(&b, "effectd \"%s\" effectd\n", place->user);
	if (place->self && strcmp(place->self, place->user) && strcmp(place->self, "root"))
		buf_printf(&b, "effectd \"%s\" effectd\n", place->self);
	error = write_file(place->data, "pg_hba.conf", "we", hba);
	if (!error)
		error = write_file(place->data, "pg_ident.conf", "we", buf_str(&b));
	buf_free(&b);
	return error;
}

/* One maker at a time: that of a killed daemon may still be at it. Held until all that it started
 * has ended. */
static char *
lock(const struct embedded_place *place)
{
	char *path = xasprintf("%s/lock", place->pg), *error = NULL;
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		error = xasprintf("cannot lock '%s': %s", path, strerror(errno));
	free(path);
	return error;
}

char *
embedded_place_make(void *arg)
{
	const struct embedded_place *place = arg;
	char *error;

	if (become(place))
		return xasprintf("cannot become user \"%s\": %s", place->user, strerror(errno));
	error = lock(place);
	if (error)
		return error;
	if (mkdir(place->log, 0700) < 0 && errno != EEXIST)
		return xasprintf("cannot make the folder '%s': %s", place->log, strerror(errno));
	if ((mkdir(place->run, 0700) < 0 && errno != EEXIST) || chmod(place->run, 0755) < 0)
		return xasprintf("cannot make the folder '%s': %s", place->run, strerror(errno));
	if (cluster_version(place) == 0)
		error = make_cluster(place);
	return error ? error : write_access(place);
}

/* ---- the server ---- */

/* Is it surely some other process than this cluster's server? (It has its cluster as working
 * folder.) */
static bool
is_another(const struct embedded_place *place, pid_t pid)
{
	char *link = xasprintf("/proc/%ld/cwd", (long)pid);
	struct stat cwd, data;
	bool other = stat(link, &cwd) == 0 && stat(place->data, &data) == 0 &&
	    (cwd.st_ino != data.st_ino || cwd.st_dev != data.st_dev);

	free(link);
	return other;
}

pid_t
embedded_place_running(const struct embedded_place *place)
{
	char *path = xasprintf("%s/postmaster.pid", place->data), line[32] = "";
	FILE *f = fopen(path, "re");
	pid_t pid = 0;

	if (f && fgets(line, sizeof line, f))
		pid = (pid_t)strtol(line, NULL, 10);
	if (f)
		fclose(f);
	if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
		pid = 0;
	if (pid > 0 && is_another(place, pid)) {
		/* the number was given anew, after a reboot say, and would keep the server from
		 * starting */
		unlink(path);
		pid = 0;
	}
	free(path);
	return pid > 0 ? pid : 0;
}

pid_t
embedded_place_launch(const struct embedded_place *place)
{
	char *postgres = xasprintf("%s/postgres", place->bin),
	     *log = xasprintf("%s/start.log", place->log);
	char *sockets = xasprintf("unix_socket_directories=\"%s\"", place->run);
	char *logs = xasprintf("log_directory=%s", place->log);
	char *argv[] = {postgres, "-D", place->data, "-p", "5432", "-c", "listen_addresses=", "-c",
	    sockets, "-c", logs, NULL};
	pid_t pid = fork();
	int in, out;

	if (pid == 0) {
		setsid();
		job_detach(-1);
		if (become(place))
			_exit(126);
		in = open("/dev/null", O_RDONLY);
		out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 ||
		    dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
			_exit(126);
		closefrom(STDERR_FILENO + 1);
		execv(postgres, argv);
		_exit(127);
	}
	free(postgres);
	free(log);
	free(sockets);
	free(logs);
	return pid > 0 ? pid : 0;
}
