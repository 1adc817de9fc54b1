/*
 * The life of one policy struct and the table of its members: for the parts of tool only. A policy
 * as loaded has ns NULL if it is for every namespace; sealed for one, it has its JSON and version.
 */
#ifndef EFFECTD_TOOL_POLICY_H
#define EFFECTD_TOOL_POLICY_H

#include "tool.h"

#include <stddef.h>
#include <stdint.h>

enum tool_policy_kind {
	TOOL_KIND_NAME,
	TOOL_KIND_NAMESPACE,
	TOOL_KIND_CLASS,
	TOOL_KIND_TEMPLATE,
	TOOL_KIND_POINTERS, /* struct tool_list */
	TOOL_KIND_POINTER,  /* char *, NULL = none */
	TOOL_KIND_DURATION, /* int64_t, milliseconds */
	TOOL_KIND_COUNT,    /* int32_t */
	TOOL_KIND_BYTES,    /* int64_t */
	TOOL_KIND_ON_ERROR,
	TOOL_KIND_ON_UNKNOWN,
	TOOL_KIND_ON_DUPLICATE,
	TOOL_KIND_PROBE,
	TOOL_KIND_BACKOFF,
	TOOL_KIND_EXECUTE,
	TOOL_KIND_RECONCILE
};

struct tool_policy_member {
	const char *name;
	enum tool_policy_kind kind;
	size_t offset; /* of its field in struct tool_policy */
	int64_t min, max;
	const char *def;
};

extern const struct tool_policy_member tool_policy_members[];
extern const size_t tool_policy_n_members;
extern const char
    *const tool_policy_classes[]; /* in the order of enum tool_class, NULL at the end */

/* Everything that the table gives a default, refs = 1; class and what depends on it are the
 * loader's. */
struct tool_policy *tool_policy_new(void);
void tool_policy_free(struct tool_policy *policy);
/* A copy bound to `ns`, not sealed yet. */
struct tool_policy *tool_policy_bind(const struct tool_policy *policy, const char *ns);
/* Writes json and version; ns and name are set. */
void tool_policy_seal(struct tool_policy *policy);

/* Does begin have to judge more than the effect's own row? */
bool tool_policy_has_guard(const struct tool_policy *policy);
/* Is there a probe of any kind? */
bool tool_policy_has_probe(const struct tool_policy *policy);
void tool_policy_add(struct tool_list *list, const char *item);
/* Fills fingerprint_skip from ignore, secret and provider_key_to. */
void tool_policy_set_skip(struct tool_policy *policy);

#endif
