/*
 * The CSV of effectctl's reports and lists. Promise: a cell's text is a stranger's, and it neither
 * becomes a formula, nor another cell, nor another line, nor moves a cursor. Reading CSV does not
 * belong here. Owns nothing.
 */
#include "csv.h"

#include "show.h"

#include <string.h>

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What needs no second look: most of what is written. */
static bool
is_plain(const char *text, size_t len)
{
	if (len > 0 && text[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c && strchr("-._:/#", c)))
			return false;
	}
	return true;
}

/* A decimal number that is nothing else: -12.50, -1e-05. */
static bool
is_number(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	if (p < end && *p == '-')
		p++;
	if (p == end || !is_digit(*p))
		return false;
	while (p < end && is_digit(*p))
		p++;
	if (p < end && *p == '.') {
		if (++p == end)
			return false;
		while (p < end && is_digit(*p))
			p++;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		if (p == end)
			return false;
		while (p < end && is_digit(*p))
			p++;
	}
	return p == end;
}

/* Would a spreadsheet compute it? Some take the full-width forms of the signs, too. */
static bool
is_formula(const char *text, size_t len)
{
	static const char *const wide[] = {
	    "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};

	while (len > 0 && (*text == ' ' || *text == '"')) {
		text++;
		len--;
	}
	if (len == 0)
		return false;
	if (*text && strchr("=+-@", *text))
		return !is_number(text, len);
	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
		if (len >= 3 && !memcmp(text, wide[i], 3))
			return true;
	return false;
}

/* A semicolon is no separator of ours, but one of spreadsheets in half of the world. */
static bool
must_quote(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == ',' || text[i] == '"' || text[i] == ';')
			return true;
	return len > 0 && (text[0] == ' ' || text[len - 1] == ' ');
}

/*
 * The text, escaped. A spreadsheet whose separator is the semicolon splits there even what is
 * quoted, as it sees no quote at its cell's start: each part may be a cell, and none is a formula.
 */
static void
add_parts(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len, *semicolon;
	size_t n;

	for (;; text = semicolon + 1) {
		semicolon = memchr(text, ';', (size_t)(end - text));
		n = (size_t)((semicolon ? semicolon : end) - text);
		if (is_formula(text, n))
			buf_add_char(out, '\'');
		show_utf8(out, text, n);
		if (!semicolon)
			return;
		buf_add_char(out, ';');
	}
}

void
csv_cell_n(struct csv *csv, const char *text, size_t len)
{
	struct buf *out = &csv->out, safe = {0};
	bool quote;

	if (csv->n_cells++ > 0)
		buf_add_char(out, ',');
	if (is_plain(text, len)) {
		buf_add(out, text, len);
		return;
	}
	add_parts(&safe, text, len);
	quote = must_quote(safe.data, safe.len);
	if (quote)
		buf_add_char(out, '"');
	for (size_t i = 0; i < safe.len; i++) {
		if (safe.data[i] == '"')
			buf_add_char(out, '"');
		buf_add_char(out, safe.data[i]);
	}
	if (quote)
		buf_add_char(out, '"');
	buf_free(&safe);
}

void
csv_cell(struct csv *csv, const char *text)
{
	csv_cell_n(csv, text ? text : "", text ? strlen(text) : 0);
}

/* A line of one empty cell would be no line at all. */
void
csv_end(struct csv *csv)
{
	if (csv->n_cells == 1 && (csv->out.len == 0 || csv->out.data[csv->out.len - 1] == '\n'))
		buf_add_str(&csv->out, "\"\"");
	buf_add_char(&csv->out, '\n');
	csv->n_cells = 0;
}

void
csv_line(struct csv *csv, const char *const *cells)
{
	for (; *cells; cells++)
		csv_cell(csv, *cells);
	csv_end(csv);
}
