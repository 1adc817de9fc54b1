/*
 * Key, fingerprint and kept values, from args and policy. The rules stand in protocol.md; templates
 * are expanded by key.c, the canonical form is canon.c's.
 */
#include "identity.h"

#include "alloc.h"
#include "call.h"
#include "canon.h"
#include "key.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SECRETS_MAX 64 /* of one policy that can stand under one kept pointer */

struct tool_policy *
identity_policy(const char *ns, const char *tool, struct param_fault *ret_fault)
{
	struct tool_policy *policy = tool_find(call_tools(), ns, tool);

	if (policy)
		return policy;
	if (call_config()->unknown_tools == CONFIG_GUARD)
		return tool_default(call_tools(), ns, tool);
	params_fault(
	    ret_fault, "/tool", "no policy names this tool, and unknown tools are refused");
	return NULL;
}

static struct uuid
fingerprint(const struct json_doc *doc, uint32_t args, const struct tool_policy *policy)
{
	struct buf canonical = {0};
	struct uuid print;

	if (args)
		canon_value(&canonical, doc, args, policy->fingerprint_skip.items,
		    policy->fingerprint_skip.n);
	else
		buf_add_str(&canonical, "{}");
	print = digest_fingerprint(canonical.data, canonical.len);
	buf_free(&canonical);
	return print;
}

/* Appends what `template` makes of the call; `what` is its name in the reason. */
static int
expand(const struct key_template *template, const char *what, const struct identity *id,
    const struct json_doc *doc, const struct identity_params *p, struct buf *out,
    struct param_fault *ret_fault)
{
	char hex[2 * sizeof(id->fingerprint.b) + 1], pointer[JSON_POINTER_BYTES];
	struct key_parts parts = {.doc = doc,
	    .args = p->args,
	    .run = p->run,
	    .step = p->step,
	    .turn = p->turn,
	    .tool = p->tool,
	    .fingerprint_hex = hex};
	const char *why;
	char *text;
	int err;

	digest_hex(id->fingerprint.b, sizeof(id->fingerprint.b), hex);
	err = key_expand(template, &parts, out, pointer, &why);
	if (!err)
		return 0;
	text = xasprintf("the %s derives from it, and it %s", what, why);
	params_fault(ret_fault, pointer, text);
	free(text);
	return err;
}

static int
derive(struct identity *id, const struct json_doc *doc, const struct identity_params *p,
    struct param_fault *ret_fault)
{
	struct buf key = {0};
	int err;

	if (!id->policy->key) {
		params_fault(ret_fault, "/key", "is required: this tool's policy has no key");
		return ERR_INVALID_PARAMS;
	}
	err = expand(id->policy->key, "key", id, doc, p, &key, ret_fault);
	if (!err) {
		id->key = xstrndup(key.data, key.len);
		id->key_len = key.len;
	}
	buf_free(&key);
	return err;
}

int
identity_make(struct identity *ret, const struct json_doc *doc, const struct identity_params *p,
    const char *ns, struct tool_policy *policy, struct param_fault *ret_fault)
{
	struct identity id = {.ns = ns, .policy = policy};
	int err;

	id.fingerprint = fingerprint(doc, p->args, policy);
	if (p->key) {
		id.key = xstrdup(p->key);
		id.key_len = strlen(p->key);
	} else {
		err = derive(&id, doc, p, ret_fault);
		if (err)
			return err;
	}
	id.effect = digest_effect_id(ns, strlen(ns), p->tool, strlen(p->tool), id.key, id.key_len);
	*ret = id;
	return 0;
}

int
identity_business(struct uuid *ret, const struct json_doc *doc, const struct identity_params *p,
    const struct identity *id, struct param_fault *ret_fault)
{
	struct buf text = {0};
	int err;

	err = expand(id->policy->business, "business key", id, doc, p, &text, ret_fault);
	if (!err)
		*ret = digest_business(id->ns, p->tool, text.data, text.len);
	buf_free(&text);
	return err;
}

void
identity_clear(struct identity *id)
{
	free(id->key);
	id->key = NULL;
}

/*
 * The policy's secrets below `pointer`, relative to it. False: the pointer itself stands at or
 * under one, or there are too many to tell: then nothing of it is kept.
 */
static bool
secrets_below(
    const struct tool_policy *policy, const char *pointer, char *ret[SECRETS_MAX], size_t *ret_n)
{
	size_t i, n = 0;

	for (i = 0; i < policy->secret.n; i++) {
		if (json_pointer_under(pointer, policy->secret.items[i]))
			return false;
		if (!json_pointer_under(policy->secret.items[i], pointer))
			continue;
		if (n == SECRETS_MAX)
			return false;
		ret[n++] = policy->secret.items[i] + strlen(pointer);
	}
	*ret_n = n;
	return true;
}

bool
identity_kept(
    const struct json_doc *doc, uint32_t args, const struct tool_policy *policy, struct buf *out)
{
	char *secrets[SECRETS_MAX];
	struct buf raw = {0};
	struct json_doc object = {0};
	size_t i, n_secrets;
	uint32_t node;
	int err;

	if (policy->keep.n == 0)
		return false;
	buf_add_char(&raw, '{');
	for (i = 0; args && i < policy->keep.n; i++) {
		const char *pointer = policy->keep.items[i];

		if (!secrets_below(policy, pointer, secrets, &n_secrets) ||
		    !json_pointer(doc, args, pointer, &node))
			continue;
		if (raw.len > 1)
			buf_add_char(&raw, ',');
		buf_json_string(&raw, pointer, strlen(pointer));
		buf_add_char(&raw, ':');
		canon_value(&raw, doc, node, secrets, n_secrets);
	}
	buf_add_char(&raw, '}');
	/* each value is canonical already; what is left is the order of the pointers */
	err = json_scan(&object, raw.data, raw.len, NULL, NULL);
	if (!err)
		canon_value(out, &object, 0, NULL, 0);
	else /* one level deeper than args may be: kept as it stands */
		buf_add(out, raw.data, raw.len);
	json_free(&object);
	buf_free(&raw);
	return true;
}
