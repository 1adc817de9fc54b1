/* Reads one member of a policy object. For tool_parse.c only. */
#ifndef EFFECTD_TOOL_MEMBER_H
#define EFFECTD_TOOL_MEMBER_H

#include "tool_policy.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* The policy in hand. */
struct tool_member_parse {
	int index; /* in the file's array, -1: the file is one object */
	const cJSON *object;
	struct tool_policy *policy;
	bool has_class, has_on_unknown, has_escalate_after, has_keep_result, has_business_window,
	    has_on_duplicate; /* the file names one */
	char *fault;	      /* the first one, as one line, and where it is in the file; */
	char *fault_pointer;  /* both owned by whoever began the parse */
};

/*
 * Reads `value`, a member of p->object, into p->policy. False: p->fault is set. `key` is only seen
 * to be a string: it is compiled when `secret` is known, whatever stands first.
 */
bool tool_member_read(struct tool_member_parse *p, const cJSON *value);
/* Sets p->fault, one line, unless there is one; `pointer` is relative to the policy. Always false.
 */
bool tool_member_fail(struct tool_member_parse *p, const char *pointer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
