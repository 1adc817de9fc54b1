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
 * Appends the policies of text[0, len), behind which is a NUL, to `list`, an array of owned
 * pointers. Each fault is told to cb, which may not keep it; a policy with a fault is not appended,
 * those behind it are. True: there was none.
 */
bool tool_parse(struct tool_parse_list *list, const char *file, const char *text, size_t len,
    bool trust_annotations, void (*cb)(void *arg, const struct tool_finding *f), void *arg);
/* The policy of a tool that no file names, for a namespace that the peer has; not sealed. */
struct tool_policy *tool_parse_default(const char *ns, const char *name);

#endif
