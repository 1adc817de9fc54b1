/*
 * A reader of the plain part of a shell's grammar. Promise: a line becomes only the words that a
 * shell would make of it, none of which a shell would expand or run. Owns no memory.
 */
#include "command.h"

#include "show.h"

#include <string.h>

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
	    : c >= 'a' && c <= 'f'  ? c - 'a' + 10
	    : c >= 'A' && c <= 'F'  ? c - 'A' + 10
				    : -1;
}

/* One escape behind its backslash. */
static bool
read_escape(const char **at, struct buf *word)
{
	static const char letters[] = "abtnvfr", marks[] = "\\'\"";
	const char *p = *at, *letter;

	if (*p == 'x' && hex(p[1]) >= 0 && hex(p[2]) >= 0 && (p[1] | p[2]) != '0') {
		buf_add_char(word, (char)(hex(p[1]) << 4 | hex(p[2])));
		p += 2;
	} else if (*p && strchr(marks, *p)) {
		buf_add_char(word, *p);
	} else if (*p && (letter = strchr(letters, *p))) {
		buf_add_char(word, (char)(7 + (letter - letters)));
	} else {
		return false;
	}
	*at = p + 1;
	return true;
}

/* What stands behind $': text with escapes, up to its quote. */
static bool
read_escaped(const char **at, struct buf *word)
{
	while (**at && **at != '\'') {
		if (**at != '\\') {
			buf_add_char(word, *(*at)++);
		} else {
			(*at)++;
			if (!read_escape(at, word))
				return false;
		}
	}
	if (!**at)
		return false;
	(*at)++;
	return true;
}

/* '...', and "..." where nothing in it means anything. */
static bool
read_quoted(const char **at, struct buf *word)
{
	char quote = **at;
	const char *end = strchr(*at + 1, quote);

	if (!end)
		return false;
	if (quote == '"')
		for (const char *p = *at + 1; p < end; p++)
			if (strchr("$`\\!", *p))
				return false;
	buf_add(word, *at + 1, (size_t)(end - *at - 1));
	*at = end + 1;
	return true;
}

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (unsigned char)c >= 0x80 || (c && strchr("_./:@%+,=^-", c));
}

static bool
read_word(const char **at, struct buf *word)
{
	while (**at && **at != ' ') {
		if (**at == '\'' || **at == '"') {
			if (!read_quoted(at, word))
				return false;
		} else if (!strncmp(*at, "$'", 2)) {
			*at += 2;
			if (!read_escaped(at, word))
				return false;
		} else if (**at == '\\' && (unsigned char)(*at)[1] > ' ') {
			buf_add_char(word, (*at)[1]);
			*at += 2;
		} else if (is_plain(**at)) {
			buf_add_char(word, *(*at)++);
		} else {
			return false;
		}
	}
	return true;
}

bool
command_add(struct buf *out, const char *line)
{
	size_t start = out->len;
	struct buf word = {0};
	const char *at = line;
	bool good = true;

	while (good && *at) {
		if (*at == ' ') {
			at++;
			continue;
		}
		buf_clear(&word);
		good = read_word(&at, &word);
		if (good) {
			if (out->len > start)
				buf_add_char(out, ' ');
			show_shell(out, buf_str(&word));
		}
	}
	buf_free(&word);
	if (good)
		return true;
	out->len = start;
	buf_add_str(out, "# ");
	show_text(out, line, strlen(line));
	return false;
}
