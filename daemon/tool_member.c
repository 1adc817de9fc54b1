/*
 * One member of a policy: its value out of cJSON into the struct, by the table of tool.def.
 * Promise: a value is taken whole and within its range, or refused with its pointer and the rule.
 * Rules that look at two members are tool_parse.c's.
 */
#include "tool_member.h"

#include "alloc.h"
#include "buf.h"
#include "execute_spec.h"
#include "json.h"
#include "limits.h"
#include "probe_http_spec.h"
#include "probe_sql_spec.h"
#include "reconcile_spec.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTERS_MAX 64
#define POINTER_BYTES_MAX 255
#define ARGV_MAX 64
#define BACKOFF_MAX 64
#define NAMES_MAX 64 /* members of one object; more than there are */

static const char *const mcp[] = {
#define TOOL_MEMBER(member, kind, field, min, max, def, doc)
#define TOOL_MCP(member) #member,
#include "tool.def"
#undef TOOL_MCP
#undef TOOL_MEMBER
};

#define N_MCP (sizeof mcp / sizeof mcp[0])

/* Always false. Names out of the file may hold anything, and the error is one line. */
bool
tool_member_fail(struct tool_member_parse *p, const char *pointer, const char *fmt, ...)
{
	va_list ap;

	if (p->fault != NULL)
		return false;
	va_start(ap, fmt);
	if (vasprintf(&p->fault, fmt, ap) < 0)
		abort();
	va_end(ap);
	text_blank_control(p->fault, strlen(p->fault));
	p->fault_pointer = p->index >= 0 ? xasprintf("/%d%s", p->index, pointer) : xstrdup(pointer);
	text_blank_control(p->fault_pointer, strlen(p->fault_pointer));
	return false;
}

static bool
fail_member(struct tool_member_parse *p, const struct tool_policy_member *m, const char *rule)
{
	char pointer[64];

	snprintf(pointer, sizeof pointer, "/%s", m->name);
	return tool_member_fail(p, pointer, "%s", rule);
}

/* Names the nearest of `names`; `above` is the pointer of the object. */
static bool
fail_unknown(struct tool_member_parse *p, const char *above, const char *name,
    const char *const *names, size_t n)
{
	const char *nearest = text_nearest(name, names, n);

	if (nearest == NULL)
		return tool_member_fail(p, above, "unknown member '%s'", name);
	return tool_member_fail(
	    p, above, "unknown member '%s', the nearest is '%s'", name, nearest);
}

static void *
field(const struct tool_member_parse *p, const struct tool_policy_member *m)
{
	return (char *)p->policy + m->offset;
}

static int
index_of(const char *word, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(word, words[i]) == 0)
			return (int)i;
	return -1;
}

static bool
read_name(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	if (!cJSON_IsString(v) || strlen(v->valuestring) > TOOL_BYTES_MAX ||
	    key_check(v->valuestring, strlen(v->valuestring)) != NULL)
		return fail_member(
		    p, m, "must be a string of 1 to 128 bytes without control characters");
	*(char **)field(p, m) = xstrdup(v->valuestring);
	return true;
}

static bool
read_namespace(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	size_t len = 0;

	if (cJSON_IsString(v))
		len = strspn(v->valuestring, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
	if (len == 0 || len > NAMESPACE_BYTES_MAX || v->valuestring[len] != '\0')
		return fail_member(p, m, "must be 1 to 63 of a-z, 0-9, '_', '.', '-'");
	*(char **)field(p, m) = xstrdup(v->valuestring);
	return true;
}

static bool
read_class(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	int i = -1;

	if (cJSON_IsString(v))
		i = index_of(v->valuestring, tool_policy_classes, TOOL_IRREVERSIBLE + 1);
	if (i < 0)
		return fail_member(
		    p, m, "must be read, overwrite, natural, accumulate or irreversible");
	p->policy->class = (enum tool_class)i;
	p->has_class = true;
	return true;
}

static bool
read_duration(struct tool_member_parse *p, const struct tool_policy_member *m, const char *pointer,
    const cJSON *v, int64_t *ret_ms)
{
	char low[TEXT_DURATION_BYTES], high[TEXT_DURATION_BYTES];
	int64_t ms;

	if (!cJSON_IsString(v) || !text_duration_ms(v->valuestring, &ms) || ms < m->min ||
	    ms > m->max) {
		text_duration(m->min, low);
		text_duration(m->max, high);
		return tool_member_fail(p, pointer,
		    "must be a string, a whole number and its unit (ms, s, m, h, d), from %s to %s",
		    low, high);
	}
	*ret_ms = ms;
	return true;
}

static bool
read_duration_member(
    struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	char pointer[64];

	snprintf(pointer, sizeof pointer, "/%s", m->name);
	p->has_escalate_after |= strcmp(m->name, "escalate_after") == 0;
	p->has_keep_result |= strcmp(m->name, "keep_result") == 0;
	p->has_business_window |= strcmp(m->name, "business_window") == 0;
	return read_duration(p, m, pointer, v, field(p, m));
}

static bool
read_number(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	char pointer[64];
	double d = cJSON_IsNumber(v) ? v->valuedouble : 0;

	/* the range first: outside it the cast would mean nothing */
	if (!(d >= (double)m->min && d <= (double)m->max) || d != (double)(int64_t)d) {
		snprintf(pointer, sizeof pointer, "/%s", m->name);
		return tool_member_fail(p, pointer,
		    "must be a whole number from %" PRId64 " to %" PRId64, m->min, m->max);
	}
	if (m->kind == TOOL_KIND_COUNT)
		*(int32_t *)field(p, m) = (int32_t)d;
	else
		*(int64_t *)field(p, m) = (int64_t)d;
	return true;
}

static bool
is_pointer(const cJSON *v)
{
	return cJSON_IsString(v) && strlen(v->valuestring) <= POINTER_BYTES_MAX &&
	    json_pointer_valid(v->valuestring);
}

/* Not that of the whole, which is "". */
static bool
read_pointer(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	if (!is_pointer(v) || v->valuestring[0] == '\0')
		return fail_member(p, m,
		    "must be a JSON pointer (RFC 6901, such as \"/idempotency_key\") of 1 to 255 "
		    "bytes");
	*(char **)field(p, m) = xstrdup(v->valuestring);
	return true;
}

static bool
read_pointers(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	const cJSON *item;

	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) > POINTERS_MAX)
		return fail_member(p, m, "must be an array of at most 64 JSON pointers");
	cJSON_ArrayForEach (item, v) {
		if (!is_pointer(item))
			return fail_member(p, m,
			    "must hold JSON pointers (RFC 6901, such as \"/order_id\") of at most "
			    "255 bytes");
		tool_policy_add(field(p, m), item->valuestring);
	}
	return true;
}

static bool
read_on_error(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	static const char *const words[] = {"unknown", "failed", "released"};
	int i = cJSON_IsString(v) ? index_of(v->valuestring, words, 3) : -1;

	if (i < 0)
		return fail_member(p, m, "must be unknown, failed or released");
	p->policy->on_error = words[i];
	return true;
}

static bool
read_on_unknown(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	static const char *const words[] = {"probe", "human", "retry"};
	int i = cJSON_IsString(v) ? index_of(v->valuestring, words, 3) : -1;

	if (i < 0)
		return fail_member(p, m, "must be probe, human or retry");
	p->policy->on_unknown = words[i];
	p->has_on_unknown = true;
	return true;
}

static bool
read_on_duplicate(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	static const char *const words[] = {"report", "hold"};
	int i = cJSON_IsString(v) ? index_of(v->valuestring, words, 2) : -1;

	if (i < 0)
		return fail_member(p, m, "must be report or hold");
	p->policy->on_business_duplicate = words[i];
	p->has_on_duplicate = true;
	return true;
}

static bool
read_argv(struct tool_member_parse *p, const cJSON *v)
{
	const cJSON *item;

	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) < 1 || cJSON_GetArraySize(v) > ARGV_MAX)
		return tool_member_fail(
		    p, "/probe/exec/argv", "must be an array of 1 to 64 strings");
	cJSON_ArrayForEach (item, v) {
		if (!cJSON_IsString(item))
			return tool_member_fail(
			    p, "/probe/exec/argv", "must be an array of 1 to 64 strings");
		tool_policy_add(&p->policy->probe_exec, item->valuestring);
	}
	if (p->policy->probe_exec.items[0][0] != '/')
		return tool_member_fail(p, "/probe/exec/argv/0", "must be an absolute path");
	return true;
}

/* `read`: what stands at `above` was. Takes the texts. */
static bool
read_spec(struct tool_member_parse *p, bool read, const char *above, char *below, char *why)
{
	char *pointer;

	if (!read) {
		pointer = xasprintf("%s%s", above, below);
		tool_member_fail(p, pointer, "%s", why);
		free(pointer);
	}
	free(below);
	free(why);
	return read;
}

static bool
read_http(struct tool_member_parse *p, const cJSON *v)
{
	char *below = NULL, *why = NULL;

	p->policy->probe_http = probe_http_spec_parse(v, &below, &why);
	return read_spec(p, p->policy->probe_http != NULL, "/probe/http", below, why);
}

static bool
read_sql(struct tool_member_parse *p, const cJSON *v)
{
	char *below = NULL, *why = NULL;

	p->policy->probe_sql = probe_sql_spec_parse(v, &below, &why);
	return read_spec(p, p->policy->probe_sql != NULL, "/probe/sql", below, why);
}

static bool
read_execute(struct tool_member_parse *p, const cJSON *v)
{
	char *below = NULL, *why = NULL;

	p->policy->execute = execute_spec_parse(v, &below, &why);
	return read_spec(p, p->policy->execute != NULL, "/execute", below, why);
}

static bool
read_reconcile(struct tool_member_parse *p, const cJSON *v)
{
	char *below = NULL, *why = NULL;

	p->policy->reconcile = reconcile_spec_parse(v, &below, &why);
	return read_spec(p, p->policy->reconcile != NULL, "/reconcile", below, why);
}

static bool
read_probe(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	static const char *const kinds[] = {"exec", "http", "sql"};
	static const char *const members[] = {"argv"};
	const cJSON *kind;

	if (!cJSON_IsObject(v) || cJSON_GetArraySize(v) != 1)
		return fail_member(
		    p, m, "must be an object with one member, the kind of the probe");
	kind = v->child;
	switch (index_of(kind->string, kinds, 3)) {
	case 0:
		break;
	case 1:
		return read_http(p, kind);
	case 2:
		return read_sql(p, kind);
	default:
		return fail_unknown(p, "/probe", kind->string, kinds, 3);
	}
	if (!cJSON_IsObject(kind) || kind->child == NULL)
		return tool_member_fail(
		    p, "/probe/exec", "must be an object with the member 'argv'");
	for (v = kind->child; v != NULL; v = v->next)
		if (strcmp(v->string, members[0]) != 0)
			return fail_unknown(p, "/probe/exec", v->string, members, 1);
	return read_argv(p, kind->child);
}

static bool
read_backoff(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	struct tool_policy *policy = p->policy;
	const cJSON *item;
	size_t n = 0;

	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) < 1 || cJSON_GetArraySize(v) > BACKOFF_MAX)
		return fail_member(p, m, "must be an array of 1 to 64 durations");
	policy->n_probe_backoff = (size_t)cJSON_GetArraySize(v);
	policy->probe_backoff_ms = xrealloc(
	    policy->probe_backoff_ms, policy->n_probe_backoff * sizeof *policy->probe_backoff_ms);
	cJSON_ArrayForEach (item, v) {
		if (!read_duration(p, m, "/probe_backoff", item, &policy->probe_backoff_ms[n++]))
			return false;
	}
	return true;
}

static bool
read_template(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	if (!cJSON_IsString(v))
		return fail_member(p, m, "must be a string");
	p->policy->has_key = true; /* compiled when `secret` is known, whatever stands first */
	return true;
}

static bool
read_member(struct tool_member_parse *p, const struct tool_policy_member *m, const cJSON *v)
{
	switch (m->kind) {
	case TOOL_KIND_NAME:
		return read_name(p, m, v);
	case TOOL_KIND_NAMESPACE:
		return read_namespace(p, m, v);
	case TOOL_KIND_CLASS:
		return read_class(p, m, v);
	case TOOL_KIND_TEMPLATE:
		return read_template(p, m, v);
	case TOOL_KIND_POINTERS:
		return read_pointers(p, m, v);
	case TOOL_KIND_POINTER:
		return read_pointer(p, m, v);
	case TOOL_KIND_DURATION:
		return read_duration_member(p, m, v);
	case TOOL_KIND_COUNT:
	case TOOL_KIND_BYTES:
		return read_number(p, m, v);
	case TOOL_KIND_ON_ERROR:
		return read_on_error(p, m, v);
	case TOOL_KIND_ON_UNKNOWN:
		return read_on_unknown(p, m, v);
	case TOOL_KIND_ON_DUPLICATE:
		return read_on_duplicate(p, m, v);
	case TOOL_KIND_PROBE:
		return read_probe(p, m, v);
	case TOOL_KIND_BACKOFF:
		return read_backoff(p, m, v);
	case TOOL_KIND_EXECUTE:
		return read_execute(p, v);
	case TOOL_KIND_RECONCILE:
		return read_reconcile(p, v);
	}
	assert(!"a kind of tool.def");
	return false;
}

bool
tool_member_read(struct tool_member_parse *p, const cJSON *v)
{
	const char *names[NAMES_MAX];
	size_t i, n = 0;

	for (i = 0; i < tool_policy_n_members; i++) {
		if (strcmp(tool_policy_members[i].name, v->string) == 0)
			return read_member(p, &tool_policy_members[i], v);
		names[n++] = tool_policy_members[i].name;
	}
	if (index_of(v->string, mcp, N_MCP) >= 0) {
		if (cJSON_GetObjectItemCaseSensitive(p->object, "inputSchema") != NULL)
			return true;
		return tool_member_fail(p, "",
		    "unknown member '%s', which may only stand beside 'inputSchema'", v->string);
	}
	for (i = 0; i < N_MCP && cJSON_GetObjectItemCaseSensitive(p->object, "inputSchema") != NULL;
	     i++)
		names[n++] = mcp[i];
	assert(n <= NAMES_MAX);
	return fail_unknown(p, "", v->string, names, n);
}
