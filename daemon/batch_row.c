/*
 * Reading one row of an answer. Promise: a strange server cannot make these read what is not there;
 * a column that is missing, null or of another width reads as null, which is 0 where there is no
 * null. Everything is borrowed from the row.
 */
#include "batch_row.h"

#include <string.h>

/* A column that is not there reads as null: a strange server must not crash us. */
bool
batch_null(const struct batch_row *row, int column)
{
	return row->row >= PQntuples(row->result) || column >= PQnfields(row->result) ||
	    PQgetisnull(row->result, row->row, column);
}

/* The value's bytes if they are exactly n, else NULL. */
static const char *
value_of(const struct batch_row *row, int column, int n)
{
	if (batch_null(row, column) || PQgetlength(row->result, row->row, column) != n)
		return NULL;
	return PQgetvalue(row->result, row->row, column);
}

int32_t
batch_int4(const struct batch_row *row, int column)
{
	const char *v = value_of(row, column, 4);

	return v ? pg_read_int4(v) : 0;
}

int64_t
batch_int8(const struct batch_row *row, int column)
{
	const char *v = value_of(row, column, 8);

	return v ? pg_read_int8(v) : 0;
}

bool
batch_bool(const struct batch_row *row, int column)
{
	const char *v = value_of(row, column, 1);

	return v && pg_read_bool(v);
}

int64_t
batch_instant(const struct batch_row *row, int column)
{
	const char *v = value_of(row, column, 8);

	return v ? pg_read_unix_us(v) : 0;
}

const char *
batch_text(const struct batch_row *row, int column, size_t *ret_len)
{
	if (batch_null(row, column))
		return NULL;
	if (ret_len)
		*ret_len = (size_t)PQgetlength(row->result, row->row, column);
	return PQgetvalue(row->result, row->row, column);
}

bool
batch_uuid(const struct batch_row *row, int column, struct uuid *ret)
{
	const char *v = value_of(row, column, (int)sizeof ret->b);

	if (v)
		memcpy(ret->b, v, sizeof ret->b);
	return v != NULL;
}

void
batch_row_index(const PGresult *result, unsigned n, int *ret_row)
{
	for (unsigned i = 0; i <= n; i++)
		ret_row[i] = BATCH_ROW_NONE;
	for (int row = 0; row < PQntuples(result); row++) {
		struct batch_row r = {.result = result, .row = row};
		int32_t ord = batch_int4(&r, 0);

		if (ord >= 1 && (unsigned)ord <= n && !batch_null(&r, 1))
			ret_row[ord] = ret_row[ord] == BATCH_ROW_NONE ? row : BATCH_ROW_TWICE;
	}
}
