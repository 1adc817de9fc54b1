/*
 * Which effect a request means: begin, key and get name it by the same members, and derive it
 * alike. Pure but for the policies in force.
 */
#ifndef EFFECTD_IDENTITY_H
#define EFFECTD_IDENTITY_H

#include "params.h"
#include "request.h"
#include "tool.h"

/* The members of params that name an effect; first member of a method's struct of values, so that
 * tables agree. */
struct identity_params {
	char *tool, *key, *ns, *run, *step, *turn;
	uint32_t args;
};

/* The table rows of these members, for a method's table. */
#define IDENTITY_ROW(member, kind, ...)                                                       \
	{                                                                                     \
		.type = kind, .offset = offsetof(struct identity_params, member), __VA_ARGS__ \
	}
#define IDENTITY_LABEL(label) \
	IDENTITY_ROW(label, PARAM_LABEL, .name = #label, .min = 1, .max = LABEL_BYTES_MAX)
#define IDENTITY_PARAMS_WITH(tool_required)                                              \
	IDENTITY_ROW(tool, PARAM_TOOL, .name = "tool", .required = tool_required),       \
	    IDENTITY_ROW(key, PARAM_KEY, .name = "key"),                                 \
	    IDENTITY_ROW(args, PARAM_OBJECT, .name = "args"),                            \
	    IDENTITY_ROW(ns, PARAM_NAMESPACE, .name = "namespace"), IDENTITY_LABEL(run), \
	    IDENTITY_LABEL(step), IDENTITY_LABEL(turn)
#define IDENTITY_PARAMS IDENTITY_PARAMS_WITH(true)
#define IDENTITY_PARAMS_OPTIONAL IDENTITY_PARAMS_WITH(false)

struct identity {
	const char *ns;		    /* borrowed from the rights in force */
	struct tool_policy *policy; /* borrowed from the policies in force */
	struct uuid fingerprint;
	struct uuid effect;
	char *key; /* owned */
	size_t key_len;
};

/*
 * The policy of tool `p->tool` in `ns` by the config's unknown_tools. NULL: refused, *ret_fault
 * says so.
 */
struct tool_policy *identity_policy(
    const char *ns, const char *tool, struct param_fault *ret_fault);
/*
 * Fills in what `p` means in namespace ns under `policy`. ERR_INVALID_PARAMS: nothing to derive a
 * key from; *ret_fault says what. On success identity_clear() frees.
 */
int identity_make(struct identity *ret, const struct json_doc *doc, const struct identity_params *p,
    const char *ns, struct tool_policy *policy, struct param_fault *ret_fault) must_check;
/*
 * The hash of its business key; the policy has one. ERR_INVALID_PARAMS: an arg that it derives from
 * is not there, and *ret_fault says which: the guard must not be silently off.
 */
int identity_business(struct uuid *ret, const struct json_doc *doc, const struct identity_params *p,
    const struct identity *id, struct param_fault *ret_fault) must_check;
void identity_clear(struct identity *id);

/*
 * The canonical JSON object, pointer to value, of what the policy keeps of args (no secret in it).
 * False: the policy keeps nothing.
 */
bool identity_kept(
    const struct json_doc *doc, uint32_t args, const struct tool_policy *policy, struct buf *out);

#endif
