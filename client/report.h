/*
 * A report as the daemon answers it: columns, rows, findings, and whether its counts are exact.
 * What it means and how it is shown does not belong here.
 */
#ifndef EFFECTD_REPORT_H
#define EFFECTD_REPORT_H

#include "ask.h"

#define REPORT_COLUMNS_MAX 64

/* What a column's name says of its values. */
enum report_unit {
	REPORT_PLAIN,
	REPORT_MS,   /* _ms: a duration */
	REPORT_RATE, /* _rate, _rate_before: 0..1, null where too little was counted */
	REPORT_AT,   /* _at: an instant */
	REPORT_BYTES /* _bytes */
};

struct report_column {
	char *name;
	enum report_unit unit;
};

/* Texts may be NULL, where the wire has none. */
struct report_finding {
	char *report, *code, *ns, *tool, *effect, *text;
	char *next;   /* a command to type */
	bool warning; /* a person should look; else it is advice */
};

/* A daemon that was killed before its last counts were written. */
struct report_missing {
	char *instance, *host, *after;
};

/* All owned by the report. */
struct report {
	struct ask_answer answer;
	char *name, *from, *to; /* never NULL */
	struct report_column columns[REPORT_COLUMNS_MAX];
	size_t n_columns, n_rows;
	uint32_t *cells; /* nodes, n_columns a row; 0 = there is none */
	int64_t n;	 /* rows there are, of which n_rows were told */
	struct report_finding *findings;
	size_t n_findings, n_warnings;
	bool counted; /* counts were read; the next ones are about them */
	bool exact;
	struct report_missing *missing;
	size_t n_missing;
};

/*
 * Takes the answer, which has a result, and reads it. False: it is no report, *ret_why is static.
 * `ret` is to be freed in both cases.
 */
bool report_read(struct report *ret, struct ask_answer *take, const char **ret_why);
void report_free(struct report *report);

/* The node of a cell; 0 where there is none or it is null. */
uint32_t report_cell(const struct report *report, size_t row, size_t column);
/* A column by its name; false if the report has none. */
bool report_column(const struct report *report, const char *name, size_t *ret);
/* A text of the wire, owned, escapes undone; a NUL in it becomes '?'. NULL if it is no text. */
char *report_string(const struct report *report, uint32_t node);
/* The text of the column `name` in a row, owned; NULL if there is none. */
char *report_text(const struct report *report, size_t row, const char *name);
/* A number of a row; false if there is none, or none that is finite. */
bool report_number(const struct report *report, size_t row, const char *name, double *ret);

#endif
