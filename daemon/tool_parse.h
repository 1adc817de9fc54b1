/* The text of one policy file, or none, into policies. For tool.c only. */
#ifndef EFFECTD_TOOL_PARSE_H
#define EFFECTD_TOOL_PARSE_H

#include "tool_policy.h"

#include <stdbool.h>
#include <stddef.h>

struct tool_parse_list {
	struct tool_policy **items; /* as loaded: not sealed, ns NULL if none is named */
	size_t n;
};

/*
 * Appends the policies of text[0, len) to `list`, an array of owned pointers. False: *ret_error
 * (owned) is one line "FILE: TOOL: POINTER: rule", what was appended so far stays the list's.
 */
bool tool_parse(struct tool_parse_list *list, const char *file, const char *text, size_t len,
    bool trust_annotations, char **ret_error);
/* The policy of a tool that no file names, for a namespace that the peer has; not sealed. */
struct tool_policy *tool_parse_default(const char *ns, const char *name);

#endif
