/*
 * A private PostgreSQL for unit tests that need a real one: in a folder of its own, unix socket
 * only, as user postgres where we are root (initdb refuses root). Started once by the program,
 * before libcheck forks; removed at its end.
 */
#ifndef EFFECTD_TESTS_CLUSTER_H
#define EFFECTD_TESTS_CLUSTER_H

#include <check.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char cluster_dir[64];
static char cluster_conninfo[128];

/* Runs a shell line as whoever may own a cluster; its output goes to the cluster's folder. */
static inline int
cluster_sh(const char *fmt, ...)
{
	char line[1024], all[1400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	snprintf(all, sizeof all,
	    "%s sh -c 'cd %s && PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -1):$PATH && { %s; } "
	    ">>sh.log 2>&1'",
	    geteuid() ? "" : "runuser -u postgres --", cluster_dir, line);
	return system(all);
}

static inline void
cluster_up(void)
{
	ck_assert_int_eq(cluster_sh("pg_ctl -s -w -t 60 -D data -l pg.log start"), 0);
}

/* "fast" or "immediate". */
static inline void
cluster_down(const char *mode)
{
	ck_assert_int_eq(cluster_sh("pg_ctl -s -w -t 60 -D data -m %s stop", mode), 0);
}

static inline void
cluster_remove(void)
{
	char line[128];

	cluster_sh("pg_ctl -s -w -t 60 -D data -m immediate stop");
	snprintf(line, sizeof line, "rm -rf %s", cluster_dir);
	if (system(line))
		fprintf(stderr, "could not remove %s\n", cluster_dir);
}

static inline void
cluster_start(void)
{
	struct passwd *pw = geteuid() ? NULL : getpwnam("postgres");
	char path[128];
	FILE *conf;

	strcpy(cluster_dir, "/tmp/effectd-ck-XXXXXX");
	if (!mkdtemp(cluster_dir) || (pw && chown(cluster_dir, pw->pw_uid, pw->pw_gid))) {
		perror(cluster_dir);
		exit(EXIT_FAILURE);
	}
	snprintf(cluster_conninfo, sizeof cluster_conninfo, "host=%s user=postgres dbname=postgres",
	    cluster_dir);
	snprintf(path, sizeof path, "%s/extra.conf", cluster_dir);
	conf = fopen(path, "w");
	if (!conf)
		exit(EXIT_FAILURE);
	fprintf(conf,
	    "fsync = off\nmax_connections = 40\nlisten_addresses = ''\n"
	    "unix_socket_directories = '%s'\n",
	    cluster_dir);
	fclose(conf);
	if (cluster_sh("initdb -A trust -U postgres -N -E UTF8 --locale=C.UTF-8 data") ||
	    cluster_sh("cat extra.conf >>data/postgresql.conf") ||
	    cluster_sh("pg_ctl -s -w -t 60 -D data -l pg.log start")) {
		fprintf(stderr, "no cluster in %s: see sh.log there\n", cluster_dir);
		exit(EXIT_FAILURE);
	}
}

static inline void
cluster_quiet(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

/* Runs SQL on a connection of its own and returns the first value, owned by the caller; NULL if
 * there is none. */
static inline char *
cluster_value(const char *fmt, ...)
{
	PGconn *pq = PQconnectdb(cluster_conninfo);
	char sql[16384], *value = NULL;
	PGresult *result;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sql, sizeof sql, fmt, ap);
	va_end(ap);
	PQsetNoticeReceiver(pq, cluster_quiet, NULL);
	result = PQexec(pq, sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		ck_abort_msg("%s", PQerrorMessage(pq));
	if (PQntuples(result) > 0 && !PQgetisnull(result, 0, 0))
		value = strdup(PQgetvalue(result, 0, 0));
	PQclear(result);
	PQfinish(pq);
	return value;
}

static inline long
cluster_number(const char *sql)
{
	char *value = cluster_value("%s", sql);
	long n = value ? atol(value) : -1;

	free(value);
	return n;
}

#define cluster_sql(...) free(cluster_value(__VA_ARGS__))

#endif
