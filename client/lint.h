/*
 * The findings on a folder of policies, collected, each with its place in its file. Printing is
 * ctl_lint.c's.
 */
#ifndef EFFECTD_LINT_H
#define EFFECTD_LINT_H

#include "flag.h"
#include "measured.h"
#include "tool.h"

struct lint_finding {
	char *file, *tool, *pointer, *text; /* tool may be NULL */
	const char *code;
	enum tool_level level;
	unsigned line, column; /* from 1; 0: the file is none that can be looked into */
	size_t number;	       /* in the order in which they were found */
};

struct lint {
	bool trust_annotations;
	const struct flag_list *ignored; /* codes; borrowed, NULL = none */
	struct measured *measured;	 /* borrowed, NULL = nothing is */
	struct lint_finding
	    *findings; /* in the order of files and lines, but for what is ignored */
	size_t n, n_ignored, n_policies; /* policies that load */
	size_t n_faults;		 /* of findings: what keeps the folder from loading */
};

/* Reads the folder and fills all of it. False: there is no such folder. */
bool lint_read(struct lint *lint, const char *dir);
void lint_free(struct lint *lint);

#endif
