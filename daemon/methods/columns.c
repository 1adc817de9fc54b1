/*
 * One line a type. The order of members is the method's.
 */
#include "columns.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

void
columns_text(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	size_t len;
	const char *text = batch_text(row, column, &len);

	if (!text)
		return;
	buf_json_member(out, name);
	buf_json_string(out, text, len);
}

void
columns_text_or_null(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	if (batch_null(row, column))
		buf_json_member_raw(out, name, "null", 4);
	else
		columns_text(out, name, row, column);
}

void
columns_instant(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	if (!batch_null(row, column))
		buf_json_member_instant(out, name, batch_instant(row, column));
}

void
columns_instant_or_null(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	if (batch_null(row, column))
		buf_json_member_raw(out, name, "null", 4);
	else
		columns_instant(out, name, row, column);
}

void
columns_int4(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	if (!batch_null(row, column))
		buf_json_member_int(out, name, batch_int4(row, column));
}

void
columns_int8(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	if (!batch_null(row, column))
		buf_json_member_int(out, name, batch_int8(row, column));
}

void
columns_bool(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	if (!batch_null(row, column))
		buf_json_member_bool(out, name, batch_bool(row, column));
}

static void
add_hex(struct buf *out, const char *name, const void *data, size_t len)
{
	char *hex = xmalloc(2 * len + 1);

	digest_hex(data, len, hex);
	buf_json_member_str(out, name, hex);
	free(hex);
}

void
columns_bytea(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	size_t len;
	const char *data = batch_text(row, column, &len);

	if (data)
		add_hex(out, name, data, len);
}

void
columns_uuid(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	struct uuid u;

	if (batch_uuid(row, column, &u))
		columns_add_uuid(out, name, &u);
}

void
columns_hash(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	struct uuid u;

	if (batch_uuid(row, column, &u))
		columns_add_hash(out, name, &u);
}

void
columns_json(struct buf *out, const char *name, const struct batch_row *row, int column)
{
	size_t len;
	const char *text = batch_text(row, column, &len);

	if (text)
		columns_add_json(out, name, text, len);
}

void
columns_add_json(struct buf *out, const char *name, const char *text, size_t len)
{
	char *lf;
	size_t at;

	buf_json_member_raw(out, name, text, len);
	at = out->len - len;
	while ((lf = memchr(out->data + at, '\n', out->len - at)))
		*lf = ' ';
}

void
columns_result(struct buf *out, const struct batch_row *row, int result_column, int state_column)
{
	const char *state = batch_text(row, state_column, NULL);

	if (!batch_null(row, result_column))
		columns_json(out, "result", row, result_column);
	else if (state && (strcmp(state, "kept") == 0 || strcmp(state, "redacted") == 0))
		buf_json_member_raw(out, "result", "null", 4);
}

void
columns_add_uuid(struct buf *out, const char *name, const struct uuid *u)
{
	char text[UUID_TEXT_BYTES];

	uuid_text(u, text);
	buf_json_member_str(out, name, text);
}

void
columns_add_hash(struct buf *out, const char *name, const struct uuid *u)
{
	add_hex(out, name, u->b, sizeof(u->b));
}
