/*
 * What a comparison found: counts of every class, the list as CSV, what is shown and what incidents
 * are opened of. All of it is held back, the list on disk, until the comparison is over.
 */
#ifndef EFFECTD_RECKON_H
#define EFFECTD_RECKON_H

#include "ctl.h"
#include "match.h"

struct reckon;

/* all: the list has what matches, too. NULL: *ret_why is one owned line. */
/* open: incidents will be opened. */
struct reckon *reckon_new(const char *tool, const char *ns, bool all, bool open, char **ret_why);
void reckon_free(struct reckon *reckon); /* NULL is fine */
/* For match_new(). */
void reckon_found(void *reckon, const struct match_finding *finding);
/* A row that could not be read. */
void reckon_bad(struct reckon *reckon, uint64_t line, const char *why);

/* What failed while the list was written to disk, or NULL. */
const char *reckon_why(const struct reckon *reckon);
uint64_t reckon_n_findings(const struct reckon *reckon);
uint64_t reckon_n_bad(const struct reckon *reckon);
/* The first one and the reason, or NULL; borrowed. */
const char *reckon_first_bad(const struct reckon *reckon);

/* What else is told of the whole. */
struct reckon_sum {
	uint64_t n_rows, n_skipped, n_effects;
	int64_t from_us, to_us;
	bool opened; /* incidents were */
	uint64_t n_opened, n_already, n_left;
};

/* Opens an incident for each serious finding, as many as one run may; once. The exit code. */
int reckon_open(struct reckon *reckon, const struct ctl *ctl, int64_t deadline_ms,
    bool (*stopped)(void), struct reckon_sum *sum);
/* The list, to `path` or, NULL, standard output. False: *ret_why is one owned line. */
bool reckon_write(struct reckon *reckon, const char *path, char **ret_why);
/* For people, on standard output or error; as one object. */
void reckon_show(
    const struct reckon *reckon, const struct reckon_sum *sum, bool to_stderr, bool has_list);
void reckon_json(const struct reckon *reckon, const struct reckon_sum *sum);

#endif
