/*
 * The table of statements. Nothing is decided here; what a parameter means stands in sql/README.md.
 * Read-only data, but for the scalars of begin and release, which are read at each send.
 */
#include "ledger.h"

#include "instance.h"

#define LIST_STATEMENT_MS 5000
#define REPORT_STATEMENT_MS 30000

static void
fill_begin(struct pgvalue *scalars, int64_t db_now_us)
{
	scalars[0] = pg_instant(db_now_us);
	scalars[1] = pg_uuid(instance_id());
	scalars[2] = pg_uuid(instance_boot());
}

static void
fill_release(struct pgvalue *scalars, int64_t db_now_us)
{
	(void)db_now_us;
	scalars[0] = pg_uuid(instance_boot());
}

#define BEGIN_COLUMNS                                                                            \
	"ord, answer, attempt, token, lease_until, lease_ms, protected_until, on_error, state, " \
	"claimed_at, since, next_probe_at, owner, outcome, decided_by, done_at, result, "        \
	"result_state, result_bytes, result_sha256, kept, budget, budget_max, counted"
/* The arrays that both begins take first. */
#define BEGIN_TYPES                                                                                \
	PGTYPE_UUID, PGTYPE_INT8, PGTYPE_TEXT, PGTYPE_UUID, PGTYPE_UUID, PGTYPE_UUID, PGTYPE_INT4, \
	    PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_BOOL,          \
	    PGTYPE_INT4, PGTYPE_BOOL

const struct batch_statement ledger_begin = {
    .name = "begin",
    .sql = "select " BEGIN_COLUMNS
	   " from effect.begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
	   "$16, $17, $18)",
    .kind = BATCH_WRITE,
    .n_columns = 15,
    .columns = {BEGIN_TYPES},
    .n_scalars = 3,
    .scalars = {PGTYPE_TIMESTAMPTZ, PGTYPE_UUID, PGTYPE_UUID},
    .within_column = BEGIN_P_WITHIN_MS,
    .resent_column = BEGIN_P_RESENT,
    .fill_scalars = fill_begin,
};

const struct batch_statement ledger_begin_guarded = {
    .name = "begin_guarded",
    .sql = "select " BEGIN_COLUMNS ", twin, twin_key, window_ms "
	   "from effect.begin_guarded($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
	   "$15, $16, $17, $18, $19, $20, $21)",
    .kind = BATCH_WRITE,
    .n_columns = 18,
    .columns = {BEGIN_TYPES, PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_BOOL},
    .n_scalars = 3,
    .scalars = {PGTYPE_TIMESTAMPTZ, PGTYPE_UUID, PGTYPE_UUID},
    .within_column = BEGIN_P_WITHIN_MS,
    .resent_column = BEGIN_P_RESENT,
    .fill_scalars = fill_begin,
};

const struct batch_statement ledger_execute_begin = {
    .name = "execute_begin",
    .sql = "select " BEGIN_COLUMNS ", twin, twin_key, window_ms "
	   "from effect.execute_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
	   "$15)",
    .kind = BATCH_WRITE,
    .n_columns = 15,
    .columns = {PGTYPE_UUID, PGTYPE_INT8, PGTYPE_TEXT, PGTYPE_UUID, PGTYPE_UUID, PGTYPE_UUID,
	PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_UUID, PGTYPE_TEXT,
	PGTYPE_BOOL, PGTYPE_BOOL},
    .within_column = -1,
    .resent_column = EXECUTE_P_RESENT,
    .single = true,
};

const struct batch_statement ledger_execute_done = {
    .name = "execute_done",
    .sql = "select done_at, protected_until, result_state from effect.execute_done($1, $2, $3, $4)",
    .kind = BATCH_WRITE,
    .n_columns = 4,
    .columns = {PGTYPE_UUID, PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_BOOL},
    .within_column = -1,
    .resent_column = -1,
    .single = true,
};

const struct batch_statement ledger_execute_failed = {
    .name = "execute_failed",
    .sql = "select ord, answer from effect.execute_failed($1, $2, $3)",
    .kind = BATCH_WRITE,
    .n_columns = 3,
    .columns = {PGTYPE_INT8, PGTYPE_TEXT, PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
};

/* The function returns nothing; one row for each entry makes it a statement like the others. */
const struct batch_statement ledger_register_tools = {
    .name = "register_tools",
    .sql = "with done as (select effect.register_tools($1, $2, $3, $4)) "
	   "select n as ord, 'ok'::text as answer from done, generate_subscripts($1, 1) as n",
    .kind = BATCH_WRITE,
    .n_columns = 4,
    .columns = {PGTYPE_INT8, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_complete = {
    .name = "complete",
    .sql = "select ord, answer, shape, state, outcome, already, attempt, next_probe_at, policy, "
	   "result_secret, namespace, tool, counted "
	   "from effect.complete($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .kind = BATCH_WRITE,
    .n_columns = 9,
    .columns = {PGTYPE_UUID, PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_INT8, PGTYPE_TEXT, PGTYPE_TEXT,
	PGTYPE_INT8, PGTYPE_BYTEA, PGTYPE_BOOL},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_policy_of = {
    .name = "policy_of",
    .sql = "select ord, answer, policy, result_secret from effect.policy_of($1)",
    .kind = BATCH_READ,
    .n_columns = 1,
    .columns = {PGTYPE_UUID},
    .within_column = -1,
    .resent_column = -1,
};

#define PROBE_COLUMNS                                                                        \
	"effect, state, namespace, tool, key, attempt, policy, probe_no, probe_timeout_ms, " \
	"probe_at, claimed_at, since, kept"

const struct batch_statement ledger_probe_now = {
    .name = "probe_now",
    .sql = "select ord, answer, " PROBE_COLUMNS
	   ", in_ms, next_probe_at from effect.probe_now($1, $2, $3)",
    .kind = BATCH_WRITE,
    .n_columns = 3,
    .columns = {PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_INT4},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_probe_look = {
    .name = "probe_look",
    .sql = "select ord, answer, " PROBE_COLUMNS " from effect.probe_look($1, $2)",
    .kind = BATCH_READ,
    .n_columns = 2,
    .columns = {PGTYPE_UUID, PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_would = {
    .name = "would",
    .sql = "select ord, answer, state, attempt, then_state, then_outcome, counts, absent_n, "
	   "absent_needed, why from effect.would($1, $2, $3, $4, $5)",
    .kind = BATCH_READ,
    .n_columns = 5,
    .columns = {PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_INT4, PGTYPE_TIMESTAMPTZ, PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_release = {
    .name = "release",
    .sql = "select ord, answer, state, attempt, already, namespace, tool, counted "
	   "from effect.release($1, $2, $3, $4, $5, $6)",
    .kind = BATCH_WRITE,
    .n_columns = 5,
    .columns = {PGTYPE_UUID, PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_BOOL},
    .n_scalars = 1,
    .scalars = {PGTYPE_UUID},
    .fill_scalars = fill_release,
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_unknown = {
    .name = "unknown",
    .sql = "select ord, answer, state, attempt, next_probe_at, namespace, tool, counted "
	   "from effect.unknown($1, $2, $3, $4, $5)",
    .kind = BATCH_WRITE,
    .n_columns = 5,
    .columns = {PGTYPE_UUID, PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_BOOL},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_extend = {
    .name = "extend",
    .sql = "select ord, answer, state, attempt, lease_until, namespace, tool, counted "
	   "from effect.extend($1, $2, $3, $4)",
    .kind = BATCH_WRITE,
    .n_columns = 4,
    .columns = {PGTYPE_UUID, PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_INT4},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_resolve = {
    .name = "resolve",
    .sql = "select ord, answer, state, attempt, policy, result_secret, namespace, tool, counted "
	   "from effect.resolve($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    .kind = BATCH_WRITE,
    .n_columns = 13,
    .columns = {PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_INT4, PGTYPE_TEXT, PGTYPE_TEXT,
	PGTYPE_TEXT, PGTYPE_INT8, PGTYPE_TEXT, PGTYPE_INT8, PGTYPE_BYTEA, PGTYPE_BOOL, PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
};

#define ROW_COLUMNS                                                                                \
	"effect, namespace, tool, key, fingerprint, state, attempt, owner, run, step, "            \
	"claimed_at, lease_until, "                                                                \
	"since, due_at, done_at, outcome, decided_by, result_state, result_bytes, result_sha256, " \
	"protected_until"

const struct batch_statement ledger_get = {
    .name = "get",
    .sql = "select ord, answer, " ROW_COLUMNS ", result, kept, events from effect.get($1, $2, $3)",
    .kind = BATCH_READ,
    .n_columns = 3,
    .columns = {PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_INT4},
    .within_column = -1,
    .resent_column = -1,
};

const struct batch_statement ledger_list = {
    .name = "list",
    .sql = "select 1 as ord, 'ok'::text as answer, " ROW_COLUMNS
	   " from effect.list($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    .kind = BATCH_SLOW,
    .n_columns = 10,
    .columns = {PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_INT8,
	PGTYPE_INT4, PGTYPE_TIMESTAMPTZ, PGTYPE_UUID, PGTYPE_UUID},
    .within_column = -1,
    .resent_column = -1,
    .timeout_ms = LIST_STATEMENT_MS,
    .single = true,
};

const struct batch_statement ledger_incidents = {
    .name = "incidents",
    .sql = "select 1 as ord, 'ok'::text as answer, id, at, effect, namespace, tool, key, state, "
	   "attempt, kind, decided_by, outcome, reason, result_text, result_bytes, result_sha256 "
	   "from effect.incidents($1, $2, $3, $4, $5, $6, $7)",
    .kind = BATCH_SLOW,
    .n_columns = 7,
    .columns = {PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_INT8, PGTYPE_INT4, PGTYPE_TIMESTAMPTZ,
	PGTYPE_INT8},
    .within_column = -1,
    .resent_column = -1,
    .timeout_ms = LIST_STATEMENT_MS,
    .single = true,
};

const struct batch_statement ledger_report = {
    .name = "report",
    .sql = "select 1 as ord, answer, body from effect.report($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .kind = BATCH_SLOW,
    .n_columns = 9,
    .columns = {PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TIMESTAMPTZ,
	PGTYPE_TIMESTAMPTZ, PGTYPE_INT4, PGTYPE_INT8, PGTYPE_INT4},
    .within_column = -1,
    .resent_column = -1,
    .timeout_ms = REPORT_STATEMENT_MS,
    .single = true,
};

const struct batch_statement ledger_scan = {
    .name = "scan",
    .sql =
	"select 1 as ord, 'ok'::text as answer, effect, key, state, outcome, attempt, claimed_at, "
	"done_at, lease_until, business, kept from effect.scan($1, $2, $3, $4, $5, $6, $7, $8)",
    .kind = BATCH_SLOW,
    .n_columns = 8,
    .columns = {PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TIMESTAMPTZ, PGTYPE_TIMESTAMPTZ,
	PGTYPE_UUID, PGTYPE_INT4, PGTYPE_BOOL},
    .within_column = -1,
    .resent_column = -1,
    .timeout_ms = LIST_STATEMENT_MS,
    .single = true,
};

const struct batch_statement ledger_incident = {
    .name = "incident",
    .sql = "select ord, answer, already from effect.incident($1, $2, $3, $4, $5, $6, $7, $8)",
    .kind = BATCH_WRITE,
    .n_columns = 8,
    .columns = {PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT,
	PGTYPE_TEXT, PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
};
