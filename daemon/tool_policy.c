/*
 * One policy as a struct: made with the table's defaults, copied for a namespace, printed as the
 * canonical JSON that goes into the ledger, freed. Promise: the same members give the same bytes
 * and so the same version, in every process. Reading and judging files is tool_parse.c's, counting
 * references tool.c's.
 */
#include "tool_policy.h"

#include "alloc.h"
#include "canon.h"
#include "digest.h"
#include "execute_spec.h"
#include "json.h"
#include "limits.h"
#include "probe_http_spec.h"
#include "probe_sql_spec.h"
#include "reconcile_spec.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DURATION_MS_MAX (DURATION_DAYS_MAX * 86400000LL)
#define COUNT_MAX 1000000

const struct tool_policy_member tool_policy_members[] = {
#define TOOL_MEMBER(member, kind, field, min, max, def, doc) \
	{#member, TOOL_KIND_##kind, offsetof(struct tool_policy, field), min, max, def},
#include "tool.def"
#undef TOOL_MEMBER
};
const size_t tool_policy_n_members = sizeof tool_policy_members / sizeof tool_policy_members[0];

const char *const tool_policy_classes[] = {
    "read", "overwrite", "natural", "accumulate", "irreversible", NULL};

static const char *const backoff_default[] = {"2s", "8s", "30s", "2m", "10m"};

#define N_BACKOFF_DEFAULT (sizeof backoff_default / sizeof backoff_default[0])

static void *
field(const struct tool_policy *policy, const struct tool_policy_member *m)
{
	return (char *)(uintptr_t)policy + m->offset;
}

static void
set_default(struct tool_policy *policy, const struct tool_policy_member *m)
{
	int64_t value = 0;
	bool ok;

	if (m->kind == TOOL_KIND_DURATION)
		ok = text_duration_ms(m->def, &value) && value >= m->min && value <= m->max;
	else
		ok = text_int(m->def, m->min, m->max, &value);
	assert(ok);
	if (m->kind == TOOL_KIND_COUNT)
		*(int32_t *)field(policy, m) = (int32_t)value;
	else
		*(int64_t *)field(policy, m) = value;
}

struct tool_policy *
tool_policy_new(void)
{
	struct tool_policy *policy;
	bool ok;
	size_t i;

	policy = xcalloc(1, sizeof *policy);
	policy->refs = 1;
	for (i = 0; i < tool_policy_n_members; i++)
		if (tool_policy_members[i].def != NULL)
			set_default(policy, &tool_policy_members[i]);
	policy->n_probe_backoff = N_BACKOFF_DEFAULT;
	policy->probe_backoff_ms = xcalloc(N_BACKOFF_DEFAULT, sizeof *policy->probe_backoff_ms);
	for (i = 0; i < N_BACKOFF_DEFAULT; i++) {
		ok = text_duration_ms(backoff_default[i], &policy->probe_backoff_ms[i]);
		assert(ok);
	}
	policy->on_error = "unknown";
	policy->on_unknown = "human";
	policy->on_business_duplicate = "report";
	return policy;
}

void
tool_policy_add(struct tool_list *list, const char *item)
{
	list->items = xrealloc(list->items, (list->n + 1) * sizeof *list->items);
	list->items[list->n++] = xstrdup(item);
}

static void
free_list(struct tool_list *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct tool_list){0};
}

static struct tool_list
copy_list(const struct tool_list *list)
{
	struct tool_list copy = {0};
	size_t i;

	for (i = 0; i < list->n; i++)
		tool_policy_add(&copy, list->items[i]);
	return copy;
}

void
tool_policy_free(struct tool_policy *policy)
{
	if (policy == NULL)
		return;
	free(policy->ns);
	free(policy->name);
	free(policy->json);
	free(policy->provider_key_to);
	free(policy->probe_backoff_ms);
	if (policy->key != NULL)
		key_template_free(policy->key);
	key_template_free(policy->business);
	free_list(&policy->business_key);
	free_list(&policy->ignore);
	free_list(&policy->secret);
	free_list(&policy->result_secret);
	free_list(&policy->keep);
	free_list(&policy->fingerprint_skip);
	free_list(&policy->probe_exec);
	probe_http_spec_unref(policy->probe_http);
	probe_sql_spec_unref(policy->probe_sql);
	execute_spec_unref(policy->execute);
	reconcile_spec_unref(policy->reconcile);
	free(policy);
}

bool
tool_policy_has_guard(const struct tool_policy *policy)
{
	return policy->turn_budget > 0 || policy->turn_asks > 0 || policy->business != NULL;
}

bool
tool_policy_has_probe(const struct tool_policy *policy)
{
	return policy->probe_exec.n > 0 || policy->probe_http != NULL || policy->probe_sql != NULL;
}

void
tool_policy_set_skip(struct tool_policy *policy)
{
	size_t i;

	free_list(&policy->fingerprint_skip);
	policy->fingerprint_skip = copy_list(&policy->ignore);
	for (i = 0; i < policy->secret.n; i++)
		tool_policy_add(&policy->fingerprint_skip, policy->secret.items[i]);
	if (policy->provider_key_to != NULL)
		tool_policy_add(&policy->fingerprint_skip, policy->provider_key_to);
}

/* A template that was compiled before. */
static struct key_template *
copy_template(const struct key_template *template, const struct tool_policy *policy)
{
	struct key_template *copy;
	char *why = NULL;

	copy =
	    key_compile(key_template_text(template), policy->secret.items, policy->secret.n, &why);
	assert(copy != NULL);
	return copy;
}

struct tool_policy *
tool_policy_bind(const struct tool_policy *policy, const char *ns)
{
	struct tool_policy *copy;
	size_t bytes = policy->n_probe_backoff * sizeof *policy->probe_backoff_ms;

	copy = xmalloc(sizeof *copy);
	*copy = *policy; /* numbers, words and flags; everything owned follows */
	copy->refs = 1;
	copy->ns = xstrdup(ns);
	copy->name = xstrdup(policy->name);
	copy->json = NULL;
	if (policy->provider_key_to != NULL)
		copy->provider_key_to = xstrdup(policy->provider_key_to);
	copy->version = 0;
	copy->version_next = NULL;
	copy->key = copy_template(policy->key, policy);
	if (policy->business != NULL)
		copy->business = copy_template(policy->business, policy);
	copy->business_key = copy_list(&policy->business_key);
	copy->ignore = copy_list(&policy->ignore);
	copy->secret = copy_list(&policy->secret);
	copy->result_secret = copy_list(&policy->result_secret);
	copy->keep = copy_list(&policy->keep);
	copy->fingerprint_skip = copy_list(&policy->fingerprint_skip);
	copy->probe_exec = copy_list(&policy->probe_exec);
	if (policy->probe_http != NULL)
		probe_http_spec_ref(copy->probe_http);
	if (policy->probe_sql != NULL)
		probe_sql_spec_ref(copy->probe_sql);
	if (policy->execute != NULL)
		execute_spec_ref(copy->execute);
	if (policy->reconcile != NULL)
		reconcile_spec_ref(copy->reconcile);
	copy->probe_backoff_ms = xmalloc(bytes);
	memcpy(copy->probe_backoff_ms, policy->probe_backoff_ms, bytes);
	return copy;
}

static void
print_list(struct buf *b, const struct tool_list *list)
{
	size_t i;

	buf_add_char(b, '[');
	for (i = 0; i < list->n; i++) {
		if (i > 0)
			buf_add_char(b, ',');
		buf_json_string(b, list->items[i], strlen(list->items[i]));
	}
	buf_add_char(b, ']');
}

static void
print_backoff(struct buf *b, const struct tool_policy *policy)
{
	char text[TEXT_DURATION_BYTES];
	size_t i;

	buf_add_char(b, '[');
	for (i = 0; i < policy->n_probe_backoff; i++) {
		text_duration(policy->probe_backoff_ms[i], text);
		buf_printf(b, "%s\"%s\"", i > 0 ? "," : "", text);
	}
	buf_add_char(b, ']');
}

static void
print_probe(struct buf *b, const struct tool_policy *policy, const char *member)
{
	if (policy->probe_exec.n > 0) {
		buf_json_member(b, member);
		buf_add_str(b, "{\"exec\":{\"argv\":");
		print_list(b, &policy->probe_exec);
		buf_add_str(b, "}}");
	} else if (policy->probe_http != NULL) {
		buf_json_member(b, member);
		buf_printf(b, "{\"http\":%s}", policy->probe_http->json);
	} else if (policy->probe_sql != NULL) {
		buf_json_member(b, member);
		buf_printf(b, "{\"sql\":%s}", policy->probe_sql->json);
	}
}

/* Members that a policy without them says nothing of. */
static bool
is_absent(const struct tool_policy *policy, const struct tool_policy_member *m)
{
	if (m->kind == TOOL_KIND_COUNT)
		return *(const int32_t *)field(policy, m) == 0;
	if (m->kind == TOOL_KIND_POINTER)
		return *(char *const *)field(policy, m) == NULL;
	if (m->offset == offsetof(struct tool_policy, retry_window_ms))
		return policy->retry_window_ms == 0;
	return policy->business == NULL && strstr(m->name, "business") != NULL;
}

static void
print_member(struct buf *b, const struct tool_policy *policy, const struct tool_policy_member *m)
{
	const void *p = field(policy, m);
	char text[TEXT_DURATION_BYTES];

	if (is_absent(policy, m))
		return;
	switch (m->kind) {
	case TOOL_KIND_NAME:
	case TOOL_KIND_NAMESPACE:
	case TOOL_KIND_ON_ERROR:
	case TOOL_KIND_ON_UNKNOWN:
	case TOOL_KIND_ON_DUPLICATE:
	case TOOL_KIND_POINTER:
		buf_json_member_str(b, m->name, *(char *const *)p);
		break;
	case TOOL_KIND_CLASS:
		buf_json_member_str(b, m->name, tool_policy_classes[policy->class]);
		break;
	case TOOL_KIND_TEMPLATE:
		buf_json_member_str(b, m->name, key_template_text(policy->key));
		break;
	case TOOL_KIND_POINTERS:
		buf_json_member(b, m->name);
		print_list(b, p);
		break;
	case TOOL_KIND_DURATION:
		text_duration(*(const int64_t *)p, text);
		buf_json_member_str(b, m->name, text);
		break;
	case TOOL_KIND_COUNT:
		buf_json_member_int(b, m->name, *(const int32_t *)p);
		break;
	case TOOL_KIND_BYTES:
		buf_json_member_int(b, m->name, *(const int64_t *)p);
		break;
	case TOOL_KIND_PROBE:
		print_probe(b, policy, m->name);
		break;
	case TOOL_KIND_BACKOFF:
		buf_json_member(b, m->name);
		print_backoff(b, policy);
		break;
	case TOOL_KIND_EXECUTE:
		if (policy->execute != NULL)
			buf_json_member_raw(
			    b, m->name, policy->execute->json, strlen(policy->execute->json));
		break;
	case TOOL_KIND_RECONCILE:
		if (policy->reconcile != NULL)
			buf_json_member_raw(
			    b, m->name, policy->reconcile->json, strlen(policy->reconcile->json));
		break;
	}
}

void
tool_policy_seal(struct tool_policy *policy)
{
	struct buf plain = {0}, canonical = {0};
	struct json_doc doc = {0};
	struct json_error error;
	int rc;
	size_t i;

	assert(policy->ns != NULL && policy->name != NULL && policy->key != NULL);
	buf_add_char(&plain, '{');
	for (i = 0; i < tool_policy_n_members; i++)
		print_member(&plain, policy, &tool_policy_members[i]);
	buf_add_char(&plain, '}');
	rc = json_scan(&doc, plain.data, plain.len, NULL, &error);
	assert(rc == 0); /* all of it was read strictly before */
	canon_value(&canonical, &doc, 0, NULL, 0);
	json_free(&doc);
	buf_free(&plain);
	free(policy->json);
	policy->json = xstrndup(canonical.data, canonical.len);
	policy->version = digest_policy_version(policy->ns, policy->name, policy->json);
	buf_free(&canonical);
}
