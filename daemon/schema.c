/*
 * Installing and upgrading the schema. All of it happens in one transaction under one lock: no
 * program ever sees new tables with old functions, and of two installers the second finds it done.
 * Functions, views and grants are dropped and made anew whenever their digest differs; what an
 * operator built on them stays.
 *
 * Promise: the daemon's loop never waits for it (schema_migrate_start() forks). Not here: when to
 * do it (pgpool).
 */
#include "schema.h"
#include "alloc.h"
#include "buf.h"
#include "digest.h"
#include "fault.h"
#include "job.h"
#include "schema_files.h"

#include <assert.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCK_SQL                                                                        \
	"select pg_catalog.pg_advisory_xact_lock(111516266165108)" /* "effect" in ASCII \
								    */

static int
migration_number(const struct schema_file *file)
{
	const char *base = strrchr(file->name, '/');

	return (int)strtol(base ? base + 1 : file->name, NULL, 10);
}

int
schema_version(void)
{
	return schema_n_migrations ? migration_number(&schema_migrations[schema_n_migrations - 1])
				   : 0;
}

static void
add_files(struct buf *b, const struct schema_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* with their ends, so that no two lists look alike */
		buf_add(b, files[i].name, strlen(files[i].name) + 1);
		buf_add(b, files[i].text, strlen(files[i].text) + 1);
	}
}

const char *
schema_digest(void)
{
	static char hex[2 * SHA256_BYTES + 1];
	uint8_t sha256[SHA256_BYTES];
	struct buf b = {NULL, 0, 0};

	if (*hex)
		return hex;
	add_files(&b, schema_functions, schema_n_functions);
	add_files(&b, schema_views, schema_n_views);
	add_files(&b, schema_grants, schema_n_grants);
	digest_sha256(b.data, b.len, sha256);
	digest_hex(sha256, sizeof sha256, hex);
	buf_free(&b);
	return hex;
}

enum schema_verdict
schema_judge(int version, const char *digest)
{
	if (version > schema_version())
		return SCHEMA_NEW;
	if (version < schema_version())
		return SCHEMA_OLD;
	return strcmp(digest, schema_digest()) ? SCHEMA_DIFFERS : SCHEMA_FITS;
}

/* ---- the blocking part ---- */

/* First line of libpq's message, prefixed; owned by the caller. */
static char *
error_line(const char *where, const char *message)
{
	size_t n = strcspn(message, "\n");

	return xasprintf(
	    "%s%s%.*s", where, *where ? ": " : "", (int)n, n ? message : "no reason told");
}

static int
run(PGconn *pq, const char *name, const char *sql, char **ret_error)
{
	PGresult *result = PQexec(pq, sql);
	ExecStatusType status = PQresultStatus(result);
	int err = 0;

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK &&
	    status != PGRES_EMPTY_QUERY) {
		*ret_error = error_line(name, PQresultErrorMessage(result));
		err = PQstatus(pq) == CONNECTION_BAD ? ERR_UNAVAILABLE : ERR_CONFLICT;
	}
	PQclear(result);
	return err;
}

static int
run_files(PGconn *pq, const struct schema_file *files, size_t n, char **ret_error)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = run(pq, files[i].name, files[i].text, ret_error);
		fault_point("schema.step");
	}
	return err;
}

/* What is installed: version 0 if nothing; digest "" if none. */
static int
installed(PGconn *pq, int *ret_version, char *ret_digest, size_t size, char **ret_error)
{
	PGresult *result = PQexec(pq,
	    "select version, coalesce(functions, '') from effect.schema_version"
	    " order by version desc limit 1");
	int err = 0;

	if (PQresultStatus(result) != PGRES_TUPLES_OK) {
		*ret_error = error_line("effect.schema_version", PQresultErrorMessage(result));
		err = ERR_CONFLICT;
	} else if (PQntuples(result) == 1) {
		*ret_version = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
		snprintf(ret_digest, size, "%s", PQgetvalue(result, 0, 1));
	}
	PQclear(result);
	return err;
}

static int
run_migration(PGconn *pq, const struct schema_file *file, char **ret_error)
{
	char sql[128];
	int err = run(pq, file->name, file->text, ret_error);

	fault_point("schema.step");
	if (err)
		return err;
	snprintf(sql, sizeof sql, "insert into effect.schema_version (version) values (%d)",
	    migration_number(file));
	return run(pq, file->name, sql, ret_error);
}

/* Within the transaction and under the lock. */
static int
upgrade(PGconn *pq, char **ret_error)
{
	char digest[2 * SHA256_BYTES + 1] = "", sql[256];
	int version = 0, err;

	err = run_files(pq, schema_bootstrap, schema_n_bootstrap, ret_error);
	if (!err)
		err = installed(pq, &version, digest, sizeof digest, ret_error);
	if (err)
		return err;
	if (schema_judge(version, digest) == SCHEMA_FITS)
		return 0;
	if (version > schema_version()) {
		*ret_error =
		    xasprintf("the schema \"effect\" has version %d, this program knows up to %d",
			version, schema_version());
		return ERR_CONFLICT;
	}
	/* bodies may name what comes after them */
	err = run(pq, "set", "set local check_function_bodies = off", ret_error);
	if (!err)
		err = run_files(pq, schema_clear, schema_n_clear, ret_error);
	for (size_t i = 0; i < schema_n_migrations && !err; i++)
		if (migration_number(&schema_migrations[i]) > version)
			err = run_migration(pq, &schema_migrations[i], ret_error);
	if (!err)
		err = run_files(pq, schema_functions, schema_n_functions, ret_error);
	if (!err)
		err = run_files(pq, schema_views, schema_n_views, ret_error);
	if (!err)
		err = run_files(pq, schema_grants, schema_n_grants, ret_error);
	snprintf(sql, sizeof sql,
	    "update effect.schema_version set functions = '%s' where version = %d", schema_digest(),
	    schema_version());
	return err ? err : run(pq, "effect.schema_version", sql, ret_error);
}

static void
quiet(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

int
schema_migrate(const char *conninfo, char **ret_error)
{
	const char *const names[] = {"client_encoding", "fallback_application_name",
	    "connect_timeout", "target_session_attrs", "dbname", NULL};
	const char *const values[] = {"UTF8", "effectd", "10", "read-write", conninfo, NULL};
	PGconn *pq = PQconnectdbParams(names, values, 1);
	int err;

	if (PQstatus(pq) != CONNECTION_OK) {
		*ret_error = error_line("", PQerrorMessage(pq));
		PQfinish(pq);
		return ERR_UNAVAILABLE;
	}
	PQsetNoticeReceiver(pq, quiet, NULL);
	err = run(pq, "begin", "begin isolation level read committed", ret_error);
	if (!err)
		err = run(pq, "lock", LOCK_SQL, ret_error);
	if (!err)
		err = upgrade(pq, ret_error);
	if (!err) {
		fault_point("schema.commit");
		err = run(pq, "commit", "commit", ret_error);
		fault_point("schema.committed");
	}
	PQfinish(pq); /* rolls back what was not committed */
	return err;
}

/* ---- in a child ---- */

static struct job *job;
static char *job_conninfo;
static void (*job_done)(const char *error, void *arg);

static char *
job_run(void *arg)
{
	char *error = NULL;

	(void)arg;
	if (schema_migrate(job_conninfo, &error))
		return error;
	return NULL;
}

static void
job_done_cb(const char *error, void *arg)
{
	job = NULL;
	free(job_conninfo);
	job_conninfo = NULL;
	job_done(error, arg);
}

void
schema_migrate_start(const char *conninfo, void (*done)(const char *error, void *arg), void *arg)
{
	assert(!job);
	job_conninfo = xstrdup(conninfo);
	job_done = done;
	job = job_start(job_run, job_done_cb, arg);
}

void
schema_migrate_stop(void)
{
	job_kill(job);
	job = NULL;
	free(job_conninfo);
	job_conninfo = NULL;
}
