/*
 * Reading a row that came as one JSON object. Promise: of two rows or more, of one that is too
 * long, not UTF-8 or no object, nothing is taken; what a column holds is passed on as its bytes, as
 * results are, and not judged.
 */
#include "sqlrow.h"

#include "alloc.h"
#include "buf.h"
#include "json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pointer of the first column of a row, by the name that stands in front of its value; NULL if
 * it has none. Owned by the caller. */
static char *
first_column(const char *line)
{
	struct json_doc doc = {0};
	struct buf pointer = {0};
	const char *end = line + 2; /* behind the brace and the quote */
	char *name = NULL, *text;

	if (line[1] != '"')
		return NULL;
	while (*end != '"')
		end += *end == '\\' ? 2 : 1;
	if (json_scan(&doc, line + 1, (size_t)(end - line), NULL, NULL) == 0)
		name = json_string(&doc, 0, NULL);
	json_free(&doc);
	if (!name)
		return NULL;
	buf_add_char(&pointer, '/');
	for (const char *c = name; *c; c++)
		buf_add_str(&pointer,
		    *c == '~'	    ? "~0"
			: *c == '/' ? "~1"
				    : (const char[]){*c, '\0'});
	text = xstrdup(buf_str(&pointer));
	buf_free(&pointer);
	free(name);
	return text;
}

/* A row of one column is that column's value, as the server spelled it; any other is an object. */
static void
take_row(const char *line, size_t len, const char **ret_text, size_t *ret_len)
{
	char *pointer = first_column(line);
	struct json_doc doc = {0};

	*ret_text = line;
	*ret_len = len;
	if (pointer && json_scan(&doc, line, len, pointer, NULL) == 0 &&
	    doc.nodes[0].n_children == 1) {
		*ret_text = line + doc.nodes[1].start;
		*ret_len = doc.nodes[1].end - doc.nodes[1].start;
	}
	json_free(&doc);
	free(pointer);
}

/* An object and nothing behind it; what a column holds is the provider's, and read as results are.
 */
static bool
is_object(const char *line, size_t len)
{
	struct json_doc doc = {0};
	struct buf whole = {0};
	bool is;

	buf_add_str(&whole, "{\"\":");
	buf_add(&whole, line, len);
	buf_add_char(&whole, '}');
	is = line[0] == '{' && json_scan(&doc, whole.data, whole.len, "/", NULL) == 0 &&
	    doc.nodes[0].n_children == 1;
	json_free(&doc);
	buf_free(&whole);
	return is;
}

/* What no row can be made of; NULL if there is nothing. */
static const char *
unfit_rows(const PGresult *rows, int bytes_max)
{
	static char too_long[64];
	const char *line;
	size_t len;

	if (PQntuples(rows) > 1)
		return "more than one row";
	if (PQntuples(rows) == 0)
		return NULL;
	/* of another encoding, it may have grown on its way here */
	if (PQgetisnull(rows, 0, 0) || PQgetlength(rows, 0, 0) > bytes_max) {
		snprintf(too_long, sizeof too_long, "a row of more than %d bytes", bytes_max);
		return too_long;
	}
	line = PQgetvalue(rows, 0, 0);
	len = (size_t)PQgetlength(rows, 0, 0);
	if (!json_utf8(line, len))
		return "a row that is not UTF-8";
	if (!is_object(line, len))
		return "a row that is no JSON object";
	return NULL;
}

const char *
sqlrow_read(const PGresult *rows, int bytes_max, const char **ret_text, size_t *ret_len)
{
	const char *why = unfit_rows(rows, bytes_max);

	if (why)
		return why;
	*ret_text = NULL;
	*ret_len = 0;
	if (PQntuples(rows) == 1)
		take_row(
		    PQgetvalue(rows, 0, 0), (size_t)PQgetlength(rows, 0, 0), ret_text, ret_len);
	return NULL;
}
