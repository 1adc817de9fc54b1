/*
 * db init|migrate|check: the ledger's schema, straight in the database, with the owner's rights.
 * The daemon is not asked: these are for the time before it runs, for upgrades, and for looking at
 * its books without it.
 */
#include "alloc.h"
#include "buf.h"
#include "config.h"
#include "ctl.h"
#include "schema.h"
#include "show.h"
#include "table.h"
#include "usage.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The embedded database of a state folder, as its daemon makes it. */
static char *
embedded(const char *state_dir)
{
	struct buf quoted = {0};
	char *conninfo;

	for (const char *c = state_dir; *c; c++) {
		if (*c == '\'' || *c == '\\')
			buf_add_char(&quoted, '\\');
		buf_add_char(&quoted, *c);
	}
	conninfo =
	    xasprintf("host='%s/pg/run' port=5432 dbname=effectd user=effectd", buf_str(&quoted));
	buf_free(&quoted);
	return conninfo;
}

/* Whose database: --database, else the config's owner_database, else its database. Owned; NULL:
 * told. */
static char *
find_database(const struct ctl *ctl, struct flag_set *set, int *ret_code)
{
	struct config_flags flags = {
	    .file = usage_value(set, "config"), .state_dir = usage_value(set, "state_dir")};
	const char *database = usage_value(set, "database");
	struct config *config;
	char *error = NULL, *conninfo;

	if (database && strcmp(database, "embedded"))
		return xstrdup(database);
	config = config_load(&flags, &error);
	if (!config) {
		*ret_code = show_failure(ctl, CTL_CONFIG, "config", "%s", error);
		free(error);
		return NULL;
	}
	if (!database)
		database = *config->owner_database ? config->owner_database : config->database;
	conninfo = strcmp(database, "embedded") ? xstrdup(database) : embedded(config->state_dir);
	config_free(config);
	return conninfo;
}

/* The first line of libpq's word, which has a line break at its end and may have more of them. */
static int
database_failed(const struct ctl *ctl, enum ctl_exit code, PGconn *pg)
{
	const char *message = PQerrorMessage(pg);

	return show_failure(ctl, code, code == CTL_UNAVAILABLE ? "unavailable" : "config", "%.*s",
	    (int)strcspn(message, "\n"), message);
}

/* libpq would print the server's words raw. */
static void
drop_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

static PGconn *
open_database(const char *conninfo)
{
	PGconn *pg = PQconnectdb(conninfo);

	PQsetNoticeProcessor(pg, drop_notice, NULL);
	return pg;
}

/* The installed version, 0 = none; -1: told, exit *ret_code. *ret_digest (owned) is NULL where
 * there is none. */
static int
installed_version(const struct ctl *ctl, PGconn *pg, char **ret_digest, int *ret_code)
{
	PGresult *result = PQexec(pg, "select " SCHEMA_SQL_EXISTS);
	int version = 0;

	if (PQresultStatus(result) == PGRES_TUPLES_OK && PQgetvalue(result, 0, 0)[0] == 't') {
		PQclear(result);
		result = PQexec(pg, SCHEMA_SQL_VERSION);
		if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0) {
			version = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
			*ret_digest = xstrdup(PQgetvalue(result, 0, 1));
		}
	}
	if (PQresultStatus(result) != PGRES_TUPLES_OK) {
		*ret_code = database_failed(
		    ctl, PQstatus(pg) == CONNECTION_OK ? CTL_CONFIG : CTL_UNAVAILABLE, pg);
		version = -1;
	}
	PQclear(result);
	return version;
}

static int
installed(const struct ctl *ctl, const char *conninfo, int *ret_code)
{
	PGconn *pg = open_database(conninfo);
	char *digest = NULL;
	int version;

	if (PQstatus(pg) == CONNECTION_OK) {
		version = installed_version(ctl, pg, &digest, ret_code);
	} else {
		*ret_code = database_failed(ctl, CTL_UNAVAILABLE, pg);
		version = -1;
	}
	free(digest);
	PQfinish(pg);
	return version;
}

static int
tell_version(const struct ctl *ctl, const char *schema, int before)
{
	struct buf out = {0};

	if (ctl->json) {
		buf_printf(&out, "{\"before\":%d,\"version\":%d}", before, schema_version());
		show_schema(schema, out.data, out.len);
	} else if (before == schema_version()) {
		printf("the schema is at version %d\n", before);
	} else {
		printf("the schema is at version %d now, %s\n", schema_version(),
		    before ? "upgraded" : "installed");
	}
	buf_free(&out);
	return CTL_OK;
}

/* init is migrate for a database that must not have a schema yet: whoever types it believes that it
 * is empty. */
static int
db_install(struct ctl *ctl, const char *conninfo, bool init)
{
	int code = CTL_OK, err;
	int before = installed(ctl, conninfo, &code);
	char *error = NULL;

	if (before < 0)
		return code;
	if (init && before > 0)
		return show_failure(ctl, CTL_CONFLICT, "conflict",
		    "a schema of version %d stands there already: db migrate upgrades it", before);
	err = schema_migrate(conninfo, &error);
	if (!err)
		return tell_version(ctl, init ? "db-init" : "db-migrate", before);
	if (err == ERR_UNAVAILABLE)
		code = show_failure(ctl, CTL_UNAVAILABLE, "unavailable", "%s", error);
	else
		code = show_failure(ctl, CTL_CONFIG, "config", "%s", error);
	free(error);
	return code;
}

struct check {
	int version;
	char *digest;	    /* owned, NULL = no schema */
	PGresult *broken;   /* rows of check_invariants(), NULL = not asked */
	const char *schema; /* in a word */
};

static void
tell_check(const struct ctl *ctl, const struct check *check)
{
	static const struct table_column columns[] = {{"INVARIANT", 0.3, TABLE_CUT, false, 0},
	    {"EFFECT", 36, TABLE_WHOLE, false, 0}, {"DETAIL", 0.4, TABLE_WRAP, false, 0}};
	static const char *const names[] = {"invariant", "effect", "detail"};
	int n = check->broken ? PQntuples(check->broken) : 0;
	struct table *table = ctl->json ? NULL : table_new(columns, 3);
	struct buf out = {0};

	buf_printf(&out, "{\"version\":%d,\"needed\":%d,\"schema_state\":\"%s\",\"broken\":[",
	    check->version, schema_version(), check->schema);
	for (int row = 0; row < n; row++) {
		if (table)
			table_row(table);
		buf_add_str(&out, row ? ",{" : "{");
		for (int column = 0; column < 3; column++) {
			if (PQgetisnull(check->broken, row, column))
				continue;
			buf_json_member_str(
			    &out, names[column], PQgetvalue(check->broken, row, column));
			if (table)
				table_cell(
				    table, (size_t)column, PQgetvalue(check->broken, row, column));
		}
		buf_add_char(&out, '}');
	}
	buf_add_str(&out, "]}");
	if (ctl->json) {
		show_schema("db-check", out.data, out.len);
	} else {
		printf("schema: version %d, this program needs %d: %s\n", check->version,
		    schema_version(), check->schema);
		table_end(table);
		if (check->broken)
			printf("invariants: %s\n", n ? "broken, see above" : "all hold");
	}
	buf_free(&out);
}

static int
db_check(struct ctl *ctl, const char *conninfo)
{
	static const char *const words[] = {[SCHEMA_FITS] = "fits",
	    [SCHEMA_DIFFERS] = "differs",
	    [SCHEMA_OLD] = "old",
	    [SCHEMA_NEW] = "new"};
	PGconn *pg = open_database(conninfo);
	struct check check = {0};
	enum schema_verdict verdict;
	int code = CTL_OK;

	if (PQstatus(pg) != CONNECTION_OK) {
		code = database_failed(ctl, CTL_UNAVAILABLE, pg);
		goto out;
	}
	check.version = installed_version(ctl, pg, &check.digest, &code);
	if (check.version < 0)
		goto out;
	verdict = schema_judge(check.version, check.digest ? check.digest : "");
	check.schema = check.version ? words[verdict] : "missing";
	if (check.version) {
		check.broken = PQexec(
		    pg, "select invariant, effect::text, detail from effect.check_invariants()");
		if (PQresultStatus(check.broken) != PGRES_TUPLES_OK) {
			code = database_failed(
			    ctl, PQstatus(pg) == CONNECTION_OK ? CTL_CONFIG : CTL_UNAVAILABLE, pg);
			goto out;
		}
	}
	tell_check(ctl, &check);
	code = verdict != SCHEMA_FITS || (check.broken && PQntuples(check.broken) > 0)
	    ? CTL_FINDINGS
	    : CTL_OK;
out:
	PQclear(check.broken);
	free(check.digest);
	PQfinish(pg);
	return code;
}

int
ctl_db(struct ctl *ctl)
{
	static const char *const names[] = {"init", "migrate", "check"};
	static const char *const verbs[] = {"db init", "db migrate", "db check"};
	struct flag_set set = {0};
	char *conninfo;
	size_t which = 0;
	int code = CTL_OK;

	while (which < 3 && !(ctl->argc > 0 && !strcmp(ctl->argv[0], names[which])))
		which++;
	if (which == 3)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "db: init, migrate or check, not \"%s\"", ctl->argc > 0 ? ctl->argv[0] : "");
	ctl->argc--;
	ctl->argv++;
	ctl->verb = verbs[which];
	flag_add(&set, "database", 0, "CONNINFO",
	    "the database, or \"embedded\" (default: the config's)");
	flag_add(&set, "config", 'c', "FILE", "the daemon's config (default: its default)");
	flag_add(
	    &set, "state_dir", 0, "DIR", "where the embedded database is (default: the config's)");
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	conninfo = find_database(ctl, &set, &code);
	if (!conninfo)
		return code;
	code = which == 2 ? db_check(ctl, conninfo) : db_install(ctl, conninfo, which == 0);
	free(conninfo);
	return code;
}
