/*
 * What is said about a policy, at load or by lint: its code, how bad it is, and where. Types and
 * the table of codes; who finds is tool_parse.c, tool_lint.c and effectctl.
 */
#ifndef EFFECTD_TOOL_FINDING_H
#define EFFECTD_TOOL_FINDING_H

#include <stdbool.h>
#include <stddef.h>

enum tool_level { TOOL_ERROR, TOOL_WARNING, TOOL_ADVICE };

/* A fault found at load or by lint: effectd-tools(5). What it points to is whoever's that tells it.
 */
struct tool_finding {
	const char *file;    /* NULL for findings about an effective policy */
	const char *tool;    /* may be NULL */
	const char *pointer; /* RFC 6901: into the policy, of a fault at load into the file */
	const char *code;    /* stable word of tool_findings.def */
	enum tool_level level;
	const char *text; /* one lower-case line */
};

/* "error", "warning", "advice" */
const char *tool_finding_word(enum tool_level level);
/* False: there is no such code. */
bool tool_finding_level(const char *code, enum tool_level *ret_level);
/* The codes in the order of the table; NULL past the last one. */
const char *tool_finding_code(size_t i);

#endif
