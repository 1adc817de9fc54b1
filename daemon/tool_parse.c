/*
 * One policy file: the strict scanner sees it first (duplicates, depth, surrogates), then cJSON
 * reads it, and the rules that look at more than one member stand here. Promise: nothing is
 * guessed; what is misspelt, out of range or of a later version fails with the file, the tool, the
 * pointer and the rule. Single members are tool_member.c's, advice is tool_lint.c's, the folder is
 * tool.c's. The policies are the caller's, the cJSON tree lives for one call.
 */
#include "tool_parse.h"

#include "alloc.h"
#include "buf.h"
#include "json.h"
#include "probe_http_spec.h"
#include "probe_sql_spec.h"
#include "reconcile_spec.h"
#include "text.h"
#include "tool_member.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNDECIDED "decide"
#define UNDECIDED_MAX 64    /* are told */
#define UNDECIDED_BYTES 400 /* of each */

/* MCP's own defaults: not read only, destructive, not idempotent. */
static bool
read_hint(
    struct tool_member_parse *p, const cJSON *annotations, const char *name, bool def, bool *ret)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(annotations, name);
	char pointer[64];

	if (v != NULL && !cJSON_IsBool(v)) {
		snprintf(pointer, sizeof pointer, "/annotations/%s", name);
		return tool_member_fail(p, pointer, "must be true or false");
	}
	*ret = v == NULL ? def : cJSON_IsTrue(v);
	return true;
}

static bool
class_from_annotations(struct tool_member_parse *p)
{
	const cJSON *a = cJSON_GetObjectItemCaseSensitive(p->object, "annotations");
	bool reads = false, idempotent = false, destructive = true;

	if (a == NULL)
		return true;
	if (!cJSON_IsObject(a))
		return tool_member_fail(p, "/annotations", "must be an object");
	if (!read_hint(p, a, "readOnlyHint", false, &reads) ||
	    !read_hint(p, a, "idempotentHint", false, &idempotent) ||
	    !read_hint(p, a, "destructiveHint", true, &destructive))
		return false;
	if (reads)
		p->policy->class = TOOL_READ;
	else if (!destructive)
		p->policy->class = idempotent ? TOOL_OVERWRITE : TOOL_ACCUMULATE;
	return true;
}

/* What is kept must not hold what is secret, whichever of the two pointers is the longer one. */
static bool
check_keep(struct tool_member_parse *p)
{
	const struct tool_list *keep = &p->policy->keep, *secret = &p->policy->secret;
	size_t i, j;

	for (i = 0; i < keep->n; i++)
		for (j = 0; j < secret->n; j++) {
			if (json_pointer_under(keep->items[i], secret->items[j]))
				return tool_member_fail(p, "/keep",
				    "'%s' stands at or under the secret '%s'", keep->items[i],
				    secret->items[j]);
			if (json_pointer_under(secret->items[j], keep->items[i]))
				return tool_member_fail(p, "/keep", "'%s' holds the secret '%s'",
				    keep->items[i], secret->items[j]);
		}
	return true;
}

/* What a probe asks with, and what is compared, must be stored with the effect. */
static bool
check_kept(struct tool_member_parse *p)
{
	const struct tool_policy *policy = p->policy;
	char *why = NULL;

	if (policy->probe_http != NULL &&
	    !probe_http_spec_keeps(policy->probe_http, policy->keep.items, policy->keep.n, &why))
		tool_member_fail(p, "/probe/http", "%s", why);
	else if (policy->probe_sql != NULL &&
	    !probe_sql_spec_keeps(policy->probe_sql, policy->keep.items, policy->keep.n, &why))
		tool_member_fail(p, "/probe/sql", "%s", why);
	else if (policy->reconcile != NULL &&
	    !reconcile_spec_keeps(policy->reconcile, policy->keep.items, policy->keep.n, &why))
		tool_member_fail(p, "/reconcile/compare", "%s", why);
	free(why);
	return p->fault == NULL;
}

/* Its calls are recorded in their own transaction: nothing of them is open, or unrecorded. */
static bool
check_execute(struct tool_member_parse *p)
{
	const struct tool_policy *policy = p->policy;

	if (policy->execute == NULL)
		return true;
	if (!policy->guarded)
		return tool_member_fail(p, "/execute",
		    "needs the class 'accumulate' or 'irreversible', as what it does is recorded");
	if (strcmp(policy->on_unknown, "retry") == 0)
		return tool_member_fail(p, "/on_unknown",
		    "\"retry\" is nothing with 'execute', which leaves no outcome open");
	if (policy->provider_key_to != NULL)
		return tool_member_fail(p, "/provider_key_to",
		    "is for wrappers: a param of 'execute' is {provider_key}");
	return true;
}

/* What a wrapper puts there itself says nothing about the call. */
static bool
check_made_of(struct tool_member_parse *p, const struct key_template *template, const char *pointer)
{
	const char *to = p->policy->provider_key_to;

	if (to == NULL || !key_template_uses(template, to))
		return true;
	return tool_member_fail(
	    p, pointer, "is made of '%s', where 'provider_key_to' puts the provider's key", to);
}

static bool
compile_key(struct tool_member_parse *p)
{
	const cJSON *v =
	    p->object == NULL ? NULL : cJSON_GetObjectItemCaseSensitive(p->object, "key");
	struct tool_policy *policy = p->policy;
	char *why = NULL;

	policy->key = key_compile(v == NULL ? KEY_TEMPLATE_DEFAULT : v->valuestring,
	    policy->secret.items, policy->secret.n, &why);
	if (policy->key != NULL)
		return check_made_of(p, policy->key, "/key");
	tool_member_fail(p, "/key", "%s", why);
	free(why);
	return false;
}

/* Each pointer is a placeholder of a template: a business key's text is made as a key's is. */
static bool
compile_business(struct tool_member_parse *p)
{
	struct tool_policy *policy = p->policy;
	struct buf text = {0};
	char *why = NULL;
	size_t i;

	if (policy->business_key.n == 0) {
		if (p->has_business_window || p->has_on_duplicate)
			return tool_member_fail(p,
			    p->has_business_window ? "/business_window" : "/on_business_duplicate",
			    "guards nothing without a 'business_key'");
		return true;
	}
	if (policy->business_window_ms > policy->keep_key_ms)
		return tool_member_fail(p, "/business_window", "must not be above 'keep_key'");
	for (i = 0; i < policy->business_key.n; i++)
		buf_printf(&text, "%s{%s}", i > 0 ? ":" : "", policy->business_key.items[i]);
	policy->business =
	    key_compile(buf_str(&text), policy->secret.items, policy->secret.n, &why);
	buf_free(&text);
	if (policy->business != NULL)
		return check_made_of(p, policy->business, "/business_key");
	tool_member_fail(p, "/business_key", "%s", why);
	free(why);
	return false;
}

/* Who may be called again says for how long: the provider's memory of keys is not ours to guess. */
static bool
check_retry(struct tool_member_parse *p)
{
	bool retries = strcmp(p->policy->on_unknown, "retry") == 0;

	if (retries && p->policy->retry_window_ms == 0)
		return tool_member_fail(p, "/on_unknown",
		    "\"retry\" needs a 'retry_window', shorter than the provider remembers a key");
	if (!retries && p->policy->retry_window_ms > 0)
		return tool_member_fail(
		    p, "/retry_window", "is nothing without 'on_unknown' \"retry\"");
	return true;
}

/* What depends on other members, once all are read. */
static bool
complete(struct tool_member_parse *p, bool trust_annotations)
{
	struct tool_policy *policy = p->policy;
	bool has_probe = tool_policy_has_probe(policy);

	if (policy->name == NULL)
		return tool_member_fail(p, "", "'name' is missing");
	if (!p->has_class) {
		policy->class = TOOL_IRREVERSIBLE;
		if (trust_annotations && !class_from_annotations(p))
			return false;
	}
	policy->guarded = policy->class == TOOL_ACCUMULATE || policy->class == TOOL_IRREVERSIBLE;
	if (!p->has_on_unknown)
		policy->on_unknown =
		    policy->class == TOOL_IRREVERSIBLE || has_probe ? "probe" : "human";
	if (!p->has_escalate_after)
		policy->escalate_after_ms = has_probe ? 15 * 60000 : 30000;
	if (!p->has_keep_result) {
		policy->keep_result_ms = 24 * 3600000;
		if (policy->keep_result_ms > policy->keep_key_ms)
			policy->keep_result_ms = policy->keep_key_ms;
	}
	if (policy->keep_result_ms > policy->keep_key_ms)
		return tool_member_fail(p, "/keep_result", "must not be above 'keep_key'");
	tool_policy_set_skip(policy);
	return check_retry(p) && check_execute(p) && check_keep(p) && check_kept(p) &&
	    compile_key(p) && compile_business(p);
}

/* Whom faults are told, and of what. */
struct tool_parse_told {
	const char *file;
	void (*cb)(void *arg, const struct tool_finding *f);
	void *arg;
};

static void
tell(const struct tool_parse_told *told, const cJSON *object, const char *code, const char *pointer,
    const char *text)
{
	const cJSON *name =
	    object == NULL ? NULL : cJSON_GetObjectItemCaseSensitive(object, "name");
	struct tool_finding f = {
	    .file = told->file, .pointer = pointer, .code = code, .text = text};
	char *tool = NULL;

	if (name != NULL && cJSON_IsString(name)) {
		tool = xstrdup(name->valuestring);
		text_blank_control(tool, strlen(tool));
	}
	f.tool = tool;
	(void)tool_finding_level(code, &f.level);
	told->cb(told->arg, &f);
	free(tool);
}

/*
 * `decide`: what whoever wrote the policy could not know (effectctl tools import). As long as the
 * member stands there, a person has not taken it out, and the policy is of no use. True: there is
 * one.
 */
static bool
tell_undecided(const struct tool_parse_told *told, const struct tool_member_parse *p)
{
	const cJSON *decide = cJSON_GetObjectItemCaseSensitive(p->object, UNDECIDED), *item;
	char *above, *pointer, *text;
	size_t len;
	int i = 0;

	if (decide == NULL)
		return false;
	above = p->index >= 0 ? xasprintf("/%d/" UNDECIDED, p->index) : xstrdup("/" UNDECIDED);
	cJSON_ArrayForEach (item, decide) {
		if (!cJSON_IsArray(decide) || !cJSON_IsString(item) || i == UNDECIDED_MAX)
			break;
		pointer = xasprintf("%s/%d", above, i++);
		len = strlen(item->valuestring);
		for (len = len > UNDECIDED_BYTES ? UNDECIDED_BYTES : len;
		     (item->valuestring[len] & 0xc0) == 0x80; len--)
			; /* back to a character's edge */
		text = xasprintf("to be decided: %.*s", (int)len, item->valuestring);
		text_blank_control(text, strlen(text));
		tell(told, p->object, "undecided", pointer, text);
		free(pointer);
		free(text);
	}
	if (i == 0)
		tell(told, p->object, "undecided", above,
		    "a person has to decide, and then to take this member out");
	free(above);
	return true;
}

static bool
parse_policy(struct tool_parse_list *list, struct tool_member_parse *p, bool trust_annotations,
    const struct tool_parse_told *told)
{
	const cJSON *v;
	bool ok;

	if (!cJSON_IsObject(p->object)) {
		p->object = NULL;
		return tool_member_fail(p, "", "must be an object, the policy of one tool");
	}
	ok = !tell_undecided(told, p);
	p->policy = tool_policy_new();
	p->policy->place = p->index;
	for (v = p->object->child; v != NULL; v = v->next)
		if (strcmp(v->string, UNDECIDED) != 0 && !tool_member_read(p, v))
			break;
	if (v != NULL || !complete(p, trust_annotations) || !ok) {
		tool_policy_free(p->policy);
		return false;
	}
	list->items = xrealloc(list->items, (list->n + 1) * sizeof *list->items);
	list->items[list->n++] = p->policy;
	return true;
}

/* Tells its fault, if there is one, and frees it. */
static void
end_policy(struct tool_member_parse *p, const struct tool_parse_told *told)
{
	if (p->fault != NULL)
		tell(told, p->object, "not_loaded", p->fault_pointer, p->fault);
	free(p->fault);
	free(p->fault_pointer);
}

/* cJSON ends strings at an escaped NUL; nothing of ours needs one. Backslashes stand in strings
 * only. */
static bool
has_nul_escape(const char *text)
{
	for (text = strchr(text, '\\'); text != NULL; text = strchr(text + 2, '\\'))
		if (strncmp(text, "\\u0000", 6) == 0)
			return true;
	return false;
}

static int
line_of(const char *text, size_t offset)
{
	int line = 1;
	size_t i;

	for (i = 0; i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static bool
scan(struct tool_member_parse *p, const char *text, size_t len)
{
	static const char *const faults[] = {[JSON_DUPLICATE] = "the member stands twice",
	    [JSON_SURROGATE] = "half a surrogate pair",
	    [JSON_UTF8] = "not UTF-8",
	    [JSON_OVERFLOW] = "a number beyond any double",
	    [JSON_DEPTH] = "nested too deep",
	    [JSON_GRAMMAR] = "not JSON"};
	struct json_doc doc = {0};
	struct json_error error;
	int rc;

	rc = json_scan(&doc, text, len, NULL, &error);
	json_free(&doc);
	if (rc != 0)
		return tool_member_fail(p, error.pointer, "%s (line %d)", faults[error.fault],
		    line_of(text, error.offset));
	if (has_nul_escape(text))
		return tool_member_fail(p, "", "\\u0000 is not taken in policies");
	return true;
}

bool
tool_parse(struct tool_parse_list *list, const char *file, const char *text, size_t len,
    bool trust_annotations, void (*cb)(void *arg, const struct tool_finding *f), void *arg)
{
	const struct tool_parse_told told = {file, cb, arg};
	struct tool_member_parse p = {.index = -1};
	cJSON *root, *item;
	bool ok;
	int i = 0;

	if (!scan(&p, text, len)) {
		end_policy(&p, &told);
		return false;
	}
	root = cJSON_ParseWithLength(text, len);
	if (root == NULL)
		abort(); /* out of memory: the scanner is the stricter one */
	if (!cJSON_IsArray(root)) {
		p.object = root;
		ok = parse_policy(list, &p, trust_annotations, &told);
		end_policy(&p, &told);
	} else {
		ok = true;
		for (item = root->child; item != NULL; item = item->next) {
			p = (struct tool_member_parse){.index = i++, .object = item};
			ok = parse_policy(list, &p, trust_annotations, &told) && ok;
			end_policy(&p, &told);
		}
	}
	cJSON_Delete(root);
	return ok;
}

struct tool_policy *
tool_parse_default(const char *ns, const char *name)
{
	struct tool_member_parse p = {.index = -1};
	bool ok;

	p.policy = tool_policy_new();
	p.policy->ns = xstrdup(ns);
	p.policy->name = xstrdup(name);
	ok = complete(&p, false);
	assert(ok);
	return p.policy;
}
