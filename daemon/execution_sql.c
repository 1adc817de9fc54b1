/*
 * What is said in the transaction of an execution. Promise: whatever the role's own settings are,
 * and whatever its statement says, or said before it in the same session, the transaction is the
 * role's own, read committed and writable, nothing that the server says of the statement comes as a
 * warning, all that it says of the COMMIT does, and no setting of ours outlives the transaction.
 * Nothing is prepared, as a pooler may stand in between.
 */
#include "execution_sql.h"

#include "buf.h"
#include "limits.h"

#include <inttypes.h>
#include <stdio.h>

#define BEGIN "begin isolation level read committed read write"
/* A daemon that stops in the midst holds nothing for long. */
#define SETTINGS                                                       \
	"select pg_catalog.set_config('statement_timeout', $1, true)," \
	" pg_catalog.set_config('client_min_messages', $2, true),"     \
	" pg_catalog.set_config('role', 'none', true),"                \
	" pg_catalog.set_config('idle_in_transaction_session_timeout', '10000', true)"

/* Around the statement: its row as a JSON object by column, two rows at most, and none beyond its
 * size. The first part and the limit are fences: whatever a function is declared, it is called once
 * for a row. */
#define BEFORE "with effectd_row as materialized (\n"
#define BEHIND                                                                                  \
	"\n), effectd_line as ("                                                                \
	"select pg_catalog.row_to_json(effectd_row)::pg_catalog.text as line from effectd_row " \
	"limit 2) select case when pg_catalog.octet_length(line) <= %d then line end from "     \
	"effectd_line"

static struct buf query;

/* timeout_ms 0: no end, as a COMMIT is never cancelled. */
static struct pgconn_statement
settings(int64_t timeout_ms, const char *min_messages)
{
	static char timeout[24];

	snprintf(timeout, sizeof timeout, "%" PRId64, timeout_ms);
	return (struct pgconn_statement){
	    .sql = SETTINGS, .text = true, .n_params = 2, .values = {timeout, min_messages}};
}

static unsigned
call_ledger(struct pgconn_statement *ret, struct batch_item *item)
{
	unsigned n = batch_build(ret, item->statement, &item, 1, 0, true);

	ret[n - 1].name = NULL;
	return n;
}

unsigned
execution_sql_claim(struct pgconn_statement *ret, struct batch_item *item, int64_t timeout_ms)
{
	ret[0] = (struct pgconn_statement){.sql = BEGIN};
	ret[1] = settings(timeout_ms, "warning");
	return 2 + call_ledger(&ret[2], item);
}

unsigned
execution_sql_run(
    struct pgconn_statement *ret, const struct execute_spec *spec, char *const *params)
{
	buf_clear(&query);
	buf_add_str(&query, BEFORE);
	buf_add_str(&query, spec->query);
	buf_printf(&query, BEHIND, EXECUTE_RESULT_BYTES_MAX);
	ret[0] = settings(spec->timeout_ms, "error"); /* its words may hold a secret */
	ret[1] = (struct pgconn_statement){
	    .sql = buf_str(&query), .text = true, .n_params = (int)spec->n_params};
	for (size_t i = 0; i < spec->n_params; i++)
		ret[1].values[i] = params[i];
	ret[2] = (struct pgconn_statement){.sql = "set constraints all immediate"};
	return 3;
}

unsigned
execution_sql_record(struct pgconn_statement *ret, struct batch_item *item)
{
	unsigned n = 1;

	ret[0] = settings(0, "warning");
	n += call_ledger(&ret[n], item);
	ret[n++] = (struct pgconn_statement){.sql = "commit"};
	return n;
}

void
execution_sql_free(void)
{
	buf_free(&query);
}
