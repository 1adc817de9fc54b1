/*
 * The reader of CSV. Promise: no byte of a record is skipped in silence, no field grows beyond its
 * bound, and what is not UTF-8 or holds a NUL is no record. What columns mean does not belong here.
 * Owns the text of one record.
 */
#include "csvin.h"

#include "json.h"

#include <string.h>

/* Where the reader stands within a record. */
enum place {
	AT_START, /* of a field */
	IN_PLAIN,
	IN_QUOTED,
	AFTER_QUOTE /* the closing one, or the first of two */
};

static void
start_field(struct csvin *csvin)
{
	csvin->starts[csvin->n_fields] = (uint32_t)csvin->text.len;
}

static const char *
end_field(struct csvin *csvin)
{
	if (csvin->n_fields == CSVIN_FIELDS_MAX)
		return "it has more than 1024 fields";
	buf_add_char(&csvin->text, '\0');
	csvin->n_fields++;
	start_field(csvin);
	return NULL;
}

/* To the end of the line, so that the next record is whole. */
static enum csvin_news
skip_line(struct csvin *csvin)
{
	int c;

	do {
		c = intake_get(csvin->in);
	} while (c >= 0 && c != '\n');
	csvin->n_ends += c == '\n';
	return CSVIN_BAD;
}

/* What ends a line: LF, or CR and LF, of which the CR was taken. */
static bool
ends_line(struct csvin *csvin, int c)
{
	if (c == '\r' && intake_peek(csvin->in) == '\n')
		c = intake_get(csvin->in);
	csvin->n_ends += c == '\n';
	return c == '\n' || c < 0;
}

/* A byte outside of quotes that is no delimiter and ends no line; *why, if it may not stand there.
 */
static enum place
plain_byte(struct csvin *csvin, enum place place, int c, const char **why)
{
	if (c == '"' && place == AT_START)
		return IN_QUOTED;
	if (place == AFTER_QUOTE)
		*why = "something follows a field's closing quote";
	else if (c == '"')
		*why = "a quote stands inside a field that is not quoted";
	else if (c == '\r')
		*why = "a carriage return stands in it without a line feed";
	buf_add_char(&csvin->text, (char)c);
	return IN_PLAIN;
}

/* A byte within quotes. */
static enum place
quoted_byte(struct csvin *csvin, int c)
{
	if (c == '"') {
		if (intake_peek(csvin->in) != '"')
			return AFTER_QUOTE;
		(void)intake_get(csvin->in);
	}
	csvin->n_ends += c == '\n';
	buf_add_char(&csvin->text, (char)c);
	return IN_QUOTED;
}

static enum csvin_news
read_record(struct csvin *csvin, int c, const char **ret_why)
{
	enum place place = AT_START;
	const char *why = NULL;

	for (;; c = intake_get(csvin->in)) {
		if (csvin->text.len >= CSVIN_RECORD_BYTES_MAX) {
			*ret_why = place == IN_QUOTED ? "a quoted field does not end within 1 MiB"
						      : "it is longer than 1 MiB";
			return place == IN_QUOTED ? CSVIN_LOST : skip_line(csvin);
		}
		if (place == IN_QUOTED) {
			if (c < 0) {
				*ret_why = "a quoted field does not end";
				return CSVIN_LOST;
			}
			place = quoted_byte(csvin, c);
			continue;
		}
		if (c == csvin->delimiter) {
			why = end_field(csvin);
			place = AT_START;
		} else if (ends_line(csvin, c)) {
			*ret_why = end_field(csvin);
			return *ret_why ? CSVIN_BAD : CSVIN_RECORD;
		} else {
			place = plain_byte(csvin, place, c, &why);
		}
		if (why) {
			*ret_why = why;
			return skip_line(csvin);
		}
	}
}

/* The first byte of a record that is none of an empty line; -1: there is none. */
static int
first_byte(struct csvin *csvin)
{
	int c;

	do {
		csvin->line = csvin->n_ends + 1;
		c = intake_get(csvin->in);
		if (c == '\r' && intake_peek(csvin->in) == '\n')
			c = intake_get(csvin->in);
		csvin->n_ends += c == '\n';
	} while (c == '\n');
	return c;
}

enum csvin_news
csvin_next(struct csvin *csvin, const char **ret_why)
{
	enum csvin_news news;
	int c = first_byte(csvin);

	buf_clear(&csvin->text);
	csvin->n_fields = 0;
	if (c < 0)
		return CSVIN_END;
	start_field(csvin);
	news = read_record(csvin, c, ret_why);
	if (csvin->in->err)
		return CSVIN_END;
	if (news != CSVIN_RECORD)
		return news;
	for (size_t i = 0; i < csvin->n_fields; i++) {
		size_t len = csvin->starts[i + 1] - csvin->starts[i] - 1;

		if (memchr(csvin->text.data + csvin->starts[i], '\0', len)) {
			*ret_why = "a NUL stands in it";
			return CSVIN_BAD;
		}
	}
	if (!json_utf8(csvin->text.data, csvin->text.len)) {
		*ret_why = "it is not UTF-8";
		return CSVIN_BAD;
	}
	return CSVIN_RECORD;
}

const char *
csvin_field(const struct csvin *csvin, size_t i, size_t *ret_len)
{
	*ret_len = csvin->starts[i + 1] - csvin->starts[i] - 1;
	return csvin->text.data + csvin->starts[i];
}

void
csvin_free(struct csvin *csvin)
{
	buf_free(&csvin->text);
}
