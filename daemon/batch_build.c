/*
 * Parameters of a call: arrays out of the items' columns, then the scalars, in the server's binary
 * format. The buffers are kept for the next call, so that a busy daemon allocates nothing here.
 */
#include "batch_build.h"
#include "buf.h"
#include "loop.h"

#include <assert.h>

/* Arrays and scalars, and the time-out of a slow statement. */
static struct buf params[BATCH_COLUMNS_MAX + BATCH_SCALARS_MAX + 1];

struct column {
	const struct batch_statement *statement;
	struct batch_item *const *items;
	unsigned n;
	int64_t now_ms;
};

static struct pgvalue
column_value(void *arg, unsigned i)
{
	const struct column *col = arg;
	const struct batch_item *item = col->items[i];
	int64_t left_ms;

	if ((int)col->n == col->statement->resent_column)
		return pg_bool(item->resent);
	if ((int)col->n != col->statement->within_column)
		return item->columns[col->n];
	left_ms = item->deadline_ms - col->now_ms;
	if (left_ms > INT32_MAX)
		left_ms = INT32_MAX;
	return pg_int4(left_ms < 0 ? 0 : (int32_t)left_ms);
}

/* Hands the parameter in `b` to libpq's arrays. */
static void
add_param(struct pgconn_statement *s, Oid type, struct buf *b, bool null)
{
	assert(s->n_params < PGCONN_PARAMS_MAX);
	s->types[s->n_params] = type;
	s->values[s->n_params] = null ? NULL : buf_str(b);
	s->lengths[s->n_params] = (int)b->len;
	s->n_params++;
}

static void
add_scalar(struct pgconn_statement *s, struct buf *b, enum pgtype type, struct pgvalue v)
{
	buf_clear(b);
	if (!v.null)
		pgarray_scalar(b, type, &v);
	add_param(s, pgtype_oid(type), b, v.null);
}

static void
add_timeout(struct pgconn_statement *s, int64_t timeout_ms)
{
	struct buf *b = &params[BATCH_COLUMNS_MAX + BATCH_SCALARS_MAX];

	/* local to the transaction, as all of a call is one; a transaction pooler passes it on */
	s->sql = "select pg_catalog.set_config('statement_timeout', $1, true)";
	buf_clear(b);
	buf_printf(b, "%lld", (long long)timeout_ms);
	add_param(s, pgtype_oid(PGTYPE_TEXT), b, false);
}

unsigned
batch_build(struct pgconn_statement *ret, const struct batch_statement *statement,
    struct batch_item *const *items, unsigned n, int64_t db_now_us, bool read_committed)
{
	struct column col = {.statement = statement, .items = items, .now_ms = loop_now_ms()};
	struct pgvalue scalars[BATCH_SCALARS_MAX];
	struct pgconn_statement *s = ret;

	assert(n > 0 && (n == 1 || !statement->single));
	for (unsigned i = 0; i < BATCH_BUILD_MAX; i++)
		ret[i] = (struct pgconn_statement){.name = NULL};
	/* first of all; no `set local`, which warns: it ends with the transaction anyway */
	if (!read_committed)
		(s++)->sql = "set transaction_isolation to 'read committed'";
	if (statement->kind == BATCH_SLOW)
		add_timeout(s++, statement->timeout_ms);
	s->sql = statement->sql;
	s->name = statement->name;
	for (col.n = 0; col.n < statement->n_columns; col.n++) {
		struct buf *b = &params[col.n];

		if (statement->single) {
			add_scalar(s, b, statement->columns[col.n], column_value(&col, 0));
			continue;
		}
		buf_clear(b);
		pgarray_encode(b, statement->columns[col.n], n, column_value, &col);
		add_param(s, pgtype_array_oid(statement->columns[col.n]), b, false);
	}
	for (unsigned i = 0; i < BATCH_SCALARS_MAX; i++)
		scalars[i] = pg_null();
	if (statement->n_scalars > 0)
		statement->fill_scalars(scalars, db_now_us);
	for (unsigned i = 0; i < statement->n_scalars; i++)
		add_scalar(s, &params[statement->n_columns + i], statement->scalars[i], scalars[i]);
	return (unsigned)(s - ret) + 1;
}

void
batch_build_free(void)
{
	for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
		buf_free(&params[i]);
}
