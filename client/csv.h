/*
 * Writing CSV (RFC 4180, UTF-8, lines end in LF) that may be opened by a spreadsheet and printed on
 * a terminal, whatever its cells hold.
 */
#ifndef EFFECTD_CSV_H
#define EFFECTD_CSV_H

#include "buf.h"

/* Lines that were written; the owner clears `out` as often as he likes, and frees it. Zeroed at
 * first. */
struct csv {
	struct buf out;
	size_t n_cells; /* of the line that is not ended */
};

/*
 * Appends a cell, quoted where it has to be. What moves a cursor or is not seen comes out as an
 * escape (\n, \x1b, \u202e), a backslash doubled, as show_text() has it, but in UTF-8 in every
 * locale. What a spreadsheet would take for a formula gets an apostrophe in front, also behind a
 * semicolon; a plain number, also a negative one, does not. NULL: an empty cell.
 */
void csv_cell(struct csv *csv, const char *text);
void csv_cell_n(struct csv *csv, const char *text, size_t len);
void csv_end(struct csv *csv); /* ends the line */
/* A whole line; `cells` ends in NULL. */
void csv_line(struct csv *csv, const char *const *cells);

#endif
