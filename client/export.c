/*
 * The provider's export. Promise: a row is read whole or is bad; a time without zone, an amount
 * that could be read in two ways and a text that is no UTF-8 are bad. What the ledger says of it
 * does not belong here. Owns the texts of one row.
 */
#include "export.h"

#include "alloc.h"
#include "csvin.h"
#include "decimal.h"
#include "json.h"
#include "key.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_MAX (1U << 20)
#define EPOCH_MS_MIN 100000000000 /* less is seconds: up to the year 5138; in ms it is 1973 */
#define EPOCH_DIGITS_MAX 14
#define ROLES 4

/* The columns that are read: the roles' sources, the fields', the choosers'. */
#define COLUMNS_MAX (ROLES * EXPORT_SOURCES_MAX + 2 * EXPORT_FIELDS_MAX)

/* A column: where it stands, and its value in the row at hand. */
struct column {
	size_t index;  /* CSV */
	char *pointer; /* JSON lines */
	/* of the row; NULL = absent */
	char *text; /* owned in JSON lines, else the csv's */
	size_t len;
	const char *raw; /* JSON lines: the value as it stands; NULL = a string, or CSV */
	size_t raw_len;
};

struct export
{
	const struct export_plan *plan;
	struct intake *in;
	enum export_format format;
	struct csvin csv;
	size_t n_header; /* CSV: fields of the header */
	struct buf line; /* JSON lines */
	uint64_t n_lines;
	struct json_doc doc;
	struct column columns[COLUMNS_MAX];
	size_t n_columns;
	struct key_template *business;
	struct json_doc business_doc;
	struct buf business_args, business_text, reference;
	char amounts[EXPORT_FIELDS_MAX][DECIMAL_BYTES];
};

static void
clear_source(struct export_source *source)
{
	for (size_t i = 0; i < source->n; i++)
		free(source->names[i]);
	source->n = 0;
}

static void
clear_fields(struct export_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(fields[i].name);
		free(fields[i].source);
		free(fields[i].value);
	}
}

void
export_plan_clear(struct export_plan *plan)
{
	clear_source(&plan->provider_key);
	clear_source(&plan->business_key);
	clear_source(&plan->time);
	clear_source(&plan->reference);
	clear_fields(plan->fields, plan->n_fields);
	clear_fields(plan->where, plan->n_where);
	*plan = (struct export_plan){0};
}

/* ---- opening ---- */

/* A header's column. SIZE_MAX: *ret_why says that it is not there, or twice. */
static size_t
find_column(const struct export *e, const char *name, char **ret_why)
{
	size_t found = SIZE_MAX, len;
	const char *text;

	for (size_t i = 0; i < e->csv.n_fields; i++) {
		text = csvin_field(&e->csv, i, &len);
		if (strcmp(text, name) != 0)
			continue;
		if (found != SIZE_MAX) {
			*ret_why = xasprintf("the header has the column \"%s\" twice", name);
			return SIZE_MAX;
		}
		found = i;
	}
	if (found != SIZE_MAX)
		return found;
	text = csvin_field(&e->csv, 0, &len);
	if (e->csv.n_fields == 1 && strpbrk(text, ";,\t|"))
		*ret_why = xasprintf("the header has one column only, \"%s\": is it separated by "
				     "something else (--delimiter)?",
		    text);
	else
		*ret_why = xasprintf("the header has no column \"%s\"", name);
	return SIZE_MAX;
}

/* A member's name as the pointer to it. */
static char *
pointer_of(const char *name)
{
	struct buf out = {0};
	char *pointer;

	if (*name == '/')
		return xstrdup(name);
	buf_add_char(&out, '/');
	for (; *name; name++) {
		if (*name == '~' || *name == '/')
			buf_printf(&out, "~%d", *name == '/');
		else
			buf_add_char(&out, *name);
	}
	pointer = xstrdup(buf_str(&out));
	buf_free(&out);
	return pointer;
}

static bool
add_column(struct export *e, const char *name, char **ret_why)
{
	struct column *column = &e->columns[e->n_columns];

	assert(e->n_columns < COLUMNS_MAX);
	e->n_columns++;
	if (e->format == EXPORT_CSV)
		return (column->index = find_column(e, name, ret_why)) != SIZE_MAX;
	column->pointer = pointer_of(name);
	if (json_pointer_valid(column->pointer))
		return true;
	*ret_why = xasprintf("\"%s\" is no JSON pointer", name);
	return false;
}

/* In the order in which read_row() takes them. */
static bool
add_columns(struct export *e, char **ret_why)
{
	const struct export_plan *plan = e->plan;
	const struct export_source *const roles[ROLES] = {
	    &plan->provider_key, &plan->business_key, &plan->time, &plan->reference};
	bool ok = true;

	for (size_t i = 0; i < ROLES; i++)
		for (size_t k = 0; ok && k < roles[i]->n; k++)
			ok = add_column(e, roles[i]->names[k], ret_why);
	for (size_t i = 0; ok && i < plan->n_fields; i++)
		ok = add_column(e, plan->fields[i].source, ret_why);
	for (size_t i = 0; ok && i < plan->n_where; i++)
		ok = add_column(e, plan->where[i].source, ret_why);
	return ok;
}

/* The business key is spelt as the wire spells it, by a template of as many places. */
static void
compile_business(struct export *e)
{
	struct buf text = {0};
	char *why = NULL;

	for (size_t i = 0; i < e->plan->business_key.n; i++)
		buf_printf(&text, "%s{/%zu}", i > 0 ? ":" : "", i);
	e->business = key_compile(buf_str(&text), NULL, 0, &why);
	assert(e->business);
	buf_free(&text);
}

static bool
read_header(struct export *e, char **ret_why)
{
	const char *why = NULL;

	switch (csvin_next(&e->csv, &why)) {
	case CSVIN_RECORD:
		e->n_header = e->csv.n_fields;
		return true;
	case CSVIN_END:
		*ret_why = e->csv.in->err
		    ? xasprintf("cannot read the export: %s", strerror(e->csv.in->err))
		    : xstrdup("it is empty: a header with the columns' names is missing");
		return false;
	default:
		*ret_why = xasprintf("line 1, the header: %s", why);
		return false;
	}
}

/* Looks at how it begins; false: it cannot be read at all. */
static bool
begin(struct export *e, char **ret_why)
{
	struct intake *in = e->in;
	size_t n = intake_begin(in, 3);

	if (n >= 2 && (!memcmp(in->block, "\xff\xfe", 2) || !memcmp(in->block, "\xfe\xff", 2))) {
		*ret_why = xasprintf("it is UTF-16: it has to be exported as UTF-8");
		return false;
	}
	if (n == 3 && !memcmp(in->block, "\xef\xbb\xbf", 3))
		in->at = 3;
	e->format = e->plan->format;
	if (e->format == EXPORT_GUESS)
		e->format = intake_peek(in) == '{' ? EXPORT_JSONL : EXPORT_CSV;
	return true;
}

struct export *
export_open(const struct export_plan *plan, struct intake *in, char **ret_why)
{
	struct export *e = xcalloc(1, sizeof *e);

	e->plan = plan;
	e->in = in;
	e->csv = (struct csvin){.in = in, .delimiter = plan->delimiter ? plan->delimiter : ','};
	if (!begin(e, ret_why) || (e->format == EXPORT_CSV && !read_header(e, ret_why)) ||
	    !add_columns(e, ret_why)) {
		export_close(e);
		return NULL;
	}
	if (plan->business_key.n > 0)
		compile_business(e);
	return e;
}

static void
clear_row(struct export *e)
{
	for (size_t i = 0; i < e->n_columns; i++) {
		if (e->format == EXPORT_JSONL)
			free(e->columns[i].text);
		e->columns[i].text = NULL;
		e->columns[i].raw = NULL;
	}
}

void
export_close(struct export *e)
{
	if (!e)
		return;
	clear_row(e);
	for (size_t i = 0; i < e->n_columns; i++)
		free(e->columns[i].pointer);
	csvin_free(&e->csv);
	buf_free(&e->line);
	json_free(&e->doc);
	key_template_free(e->business);
	json_free(&e->business_doc);
	buf_free(&e->business_args);
	buf_free(&e->business_text);
	buf_free(&e->reference);
	free(e);
}

/* ---- a row's columns ---- */

static enum export_news
bad(struct export_row *row, const char *why)
{
	row->why = why;
	return EXPORT_BAD;
}

static enum export_news
next_csv(struct export *e, struct export_row *row)
{
	const char *why = NULL;

	switch (csvin_next(&e->csv, &why)) {
	case CSVIN_END:
		return EXPORT_END;
	case CSVIN_BAD:
		row->line = e->csv.line;
		return bad(row, why);
	case CSVIN_LOST:
		row->line = e->csv.line;
		row->why = why;
		return EXPORT_LOST;
	case CSVIN_RECORD:
		break;
	}
	row->line = e->csv.line;
	if (e->csv.n_fields != e->n_header)
		return bad(row, "it has more or fewer fields than the header");
	for (size_t i = 0; i < e->n_columns; i++) {
		struct column *column = &e->columns[i];

		column->text = (char *)csvin_field(&e->csv, column->index, &column->len);
		if (column->len == 0)
			column->text = NULL;
	}
	return EXPORT_ROW;
}

/* False: the value at the column's pointer is none that a column can have; *ret_why. */
static bool
take_value(struct export *e, struct column *column, const char **ret_why)
{
	const struct json_node *node;
	uint32_t at;

	if (!json_pointer(&e->doc, 0, column->pointer, &at))
		return true;
	node = &e->doc.nodes[at];
	switch (node->type) {
	case JSON_NULL:
		return true;
	case JSON_STRING:
		column->text = json_string(&e->doc, at, &column->len);
		if (column->len == 0) {
			free(column->text);
			column->text = NULL;
		} else if (strlen(column->text) != column->len) {
			*ret_why = "a NUL stands in it";
			return false;
		}
		return true;
	case JSON_OBJECT:
	case JSON_ARRAY:
	case JSON_OPAQUE:
		*ret_why = "an object or an array stands where a value is expected";
		return false;
	default:
		column->raw = e->line.data + node->start;
		column->raw_len = node->end - node->start;
		column->len = column->raw_len;
		column->text = xstrndup(column->raw, column->raw_len);
		return true;
	}
}

static const char *
fault_words(enum json_fault fault)
{
	switch (fault) {
	case JSON_DUPLICATE:
		return "it has a member twice";
	case JSON_SURROGATE:
		return "half a surrogate pair stands in it";
	case JSON_UTF8:
		return "it is not UTF-8";
	case JSON_OVERFLOW:
		return "a number in it is too large";
	case JSON_DEPTH:
		return "it nests too deep";
	default:
		return "it is no JSON";
	}
}

/* The next line that is not blank; false: the end. *ret_long: it was cut. */
static bool
read_line(struct export *e, bool *ret_long)
{
	bool blank;
	int c;

	do {
		buf_clear(&e->line);
		*ret_long = false;
		blank = true;
		c = intake_get(e->in);
		if (c < 0)
			return false;
		for (; c >= 0 && c != '\n'; c = intake_get(e->in)) {
			*ret_long |= e->line.len == LINE_BYTES_MAX;
			if (!*ret_long)
				buf_add_char(&e->line, (char)c);
			blank = blank && (c == ' ' || c == '\t' || c == '\r');
		}
		e->n_lines++;
	} while (blank);
	return true;
}

static enum export_news
next_jsonl(struct export *e, struct export_row *row)
{
	struct json_error error;
	const char *why = NULL;
	bool too_long;

	if (!read_line(e, &too_long) || e->in->err)
		return EXPORT_END;
	row->line = e->n_lines;
	if (too_long)
		return bad(row, "it is longer than 1 MiB");
	if (json_scan(&e->doc, e->line.data, e->line.len, NULL, &error))
		return bad(row, fault_words(error.fault));
	if (e->doc.nodes[0].type != JSON_OBJECT)
		return bad(row, "it is no JSON object");
	for (size_t i = 0; i < e->n_columns; i++)
		if (!take_value(e, &e->columns[i], &why))
			return bad(row, why);
	return EXPORT_ROW;
}

/* ---- what the columns mean ---- */

/* Seconds or milliseconds since 1970, with a fraction, of which what is below a microsecond is cut.
 */
static bool
read_epoch(const char *text, size_t len, int64_t *ret_us)
{
	size_t n = strspn(text, "0123456789"), n_behind = 0;
	int64_t value, unit;

	if (n == 0 || n > EPOCH_DIGITS_MAX)
		return false;
	value = strtoll(text, NULL, 10);
	unit = value < EPOCH_MS_MIN ? 1000000 : 1000;
	*ret_us = value * unit;
	if (text[n] == '.') {
		n_behind = 1 + strspn(text + n + 1, "0123456789");
		for (size_t i = 1; i < n_behind && (unit /= 10) > 0; i++)
			*ret_us += (text[n + i] - '0') * unit;
	}
	return n_behind != 1 && n + n_behind == len;
}

static const char *
read_time(const struct export *e, const struct column *column, struct export_row *row)
{
	if (!column->text)
		return "it has no time";
	row->has_time = text_instant(column->text, column->len, e->plan->utc, &row->time_us) ||
	    read_epoch(column->text, column->len, &row->time_us);
	if (row->has_time)
		return NULL;
	if (text_instant(column->text, column->len, true, &row->time_us))
		return "its time has no zone (--utc, if all are of UTC)";
	return "its time is neither of RFC 3339 nor seconds or milliseconds since 1970";
}

static void
read_business(struct export *e, const struct column *columns, struct export_row *row)
{
	char pointer[KEY_POINTER_BYTES];
	struct buf *args = &e->business_args;
	struct key_parts parts = {.doc = &e->business_doc, .tool = e->plan->tool};
	const char *why;

	buf_clear(args);
	buf_clear(&e->business_text);
	buf_add_str(args, "{\"a\":[");
	for (size_t i = 0; i < e->plan->business_key.n; i++) {
		if (!columns[i].text)
			return; /* without one of its values there is no business key */
		if (i > 0)
			buf_add_char(args, ',');
		if (columns[i].raw)
			buf_add(args, columns[i].raw, columns[i].raw_len);
		else
			buf_json_string(args, columns[i].text, columns[i].len);
	}
	buf_add_str(args, "]}");
	if (json_scan(&e->business_doc, args->data, args->len, NULL, NULL))
		return;
	parts.args = json_member(&e->business_doc, 0, "a");
	if (key_expand(e->business, &parts, &e->business_text, pointer, &why))
		return;
	row->has_business = true;
	row->business = digest_business(
	    e->plan->ns, e->plan->tool, e->business_text.data, e->business_text.len);
}

static const char *
read_fields(struct export *e, const struct column *columns, struct export_row *row)
{
	for (size_t i = 0; i < e->plan->n_fields; i++) {
		row->values[i] = columns[i].text;
		if (!columns[i].text || !e->plan->fields[i].is_amount)
			continue;
		if (!decimal_spell(
			columns[i].text, columns[i].len, e->plan->minor_units, e->amounts[i]))
			return "its amount is no decimal number";
		row->values[i] = e->amounts[i];
	}
	return NULL;
}

static void
name_row(struct export *e, const struct column *key, const struct column *reference,
    struct export_row *row)
{
	buf_clear(&e->reference);
	if (reference && reference->text)
		buf_add(&e->reference, reference->text, reference->len);
	else if (key && key->text)
		buf_add(&e->reference, key->text, key->len);
	else if (row->has_business)
		buf_add(&e->reference, e->business_text.data, e->business_text.len);
	else
		buf_printf(&e->reference, "line %llu", (unsigned long long)row->line);
	row->reference = buf_str(&e->reference);
}

static enum export_news
read_row(struct export *e, struct export_row *row)
{
	const struct export_plan *plan = e->plan;
	const struct column *key = e->columns, *business = key + plan->provider_key.n;
	const struct column *time = business + plan->business_key.n;
	const struct column *reference = time + plan->time.n;
	const struct column *fields = reference + plan->reference.n;
	const struct column *where = fields + plan->n_fields;
	const char *why = NULL;

	for (size_t i = 0; i < plan->n_where; i++)
		if (strcmp(where[i].text ? where[i].text : "", plan->where[i].value) != 0)
			return EXPORT_SKIPPED;
	if (plan->provider_key.n > 0 && key->text)
		row->has_id = uuid_parse(key->text, key->len, &row->id);
	if (plan->business_key.n > 0)
		read_business(e, business, row);
	if (plan->time.n > 0 && (why = read_time(e, time, row)))
		return bad(row, why);
	if ((why = read_fields(e, fields, row)))
		return bad(row, why);
	name_row(e, plan->provider_key.n > 0 ? key : NULL, plan->reference.n > 0 ? reference : NULL,
	    row);
	return EXPORT_ROW;
}

enum export_news
export_next(struct export *e, struct export_row *ret)
{
	enum export_news news;

	clear_row(e);
	*ret = (struct export_row){0};
	news = e->format == EXPORT_CSV ? next_csv(e, ret) : next_jsonl(e, ret);
	return news == EXPORT_ROW ? read_row(e, ret) : news;
}
