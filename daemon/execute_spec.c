/*
 * Reading `execute` out of a policy, and filling its params in for a call. Promise: what is
 * misspelt, of the wrong type or can never be asked is refused with its pointer and the rule; a
 * param is handed over whole, as a value and never as a part of the statement; no password gets
 * into a policy, which is stored and shown. Whether the statement is right is the server's to say.
 */
#include "execute_spec.h"

#include "alloc.h"
#include "buf.h"
#include "probe_fault.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define USER_BYTES_MAX 63 /* PostgreSQL's own limit of a name */
#define TIMEOUT_MS_DEFAULT 10000
#define TIMEOUT_MS_MAX 600000 /* it holds a transaction open for so long */

struct parse {
	struct execute_spec *spec;
	struct probe_fault fault;
};

/* The words that may stand in braces, beside pointers; in the order of word_value(). */
static const char *const words[] = {"args", "key", "effect", "provider_key", "namespace", "tool",
    "run", "step", "turn", "owner", NULL};

/* ---- the policy ---- */

static bool
is_placeholder(const char *text)
{
	size_t len = strlen(text);

	return len > 2 && text[0] == '{' && text[len - 1] == '}';
}

static bool
is_known(const char *placeholder)
{
	char *name = xstrndup(placeholder + 1, strlen(placeholder) - 2);
	bool known = name[0] == '/' && json_pointer_valid(name);

	for (size_t i = 0; words[i] && !known; i++)
		known = strcmp(name, words[i]) == 0;
	free(name);
	return known;
}

static char *
param_fault(const char *text)
{
	if (is_placeholder(text) && !is_known(text))
		return xasprintf("unknown placeholder '%s'", text);
	if (!is_placeholder(text) && strpbrk(text, "{}"))
		return xasprintf(
		    "'%s' must be one placeholder and nothing else, or have no braces", text);
	return NULL;
}

static bool
read_user(struct parse *p, const cJSON *v)
{
	if (!cJSON_IsString(v) || !v->valuestring[0] || strlen(v->valuestring) > USER_BYTES_MAX ||
	    text_has_control(v->valuestring, strlen(v->valuestring)))
		return probe_fault(&p->fault, "/user",
		    "must be a string of 1 to %d bytes, a role of the ledger's database",
		    USER_BYTES_MAX);
	p->spec->user = xstrdup(v->valuestring);
	return true;
}

static bool
read_timeout(struct parse *p, const cJSON *v)
{
	if (!cJSON_IsString(v) || !text_duration_ms(v->valuestring, &p->spec->timeout_ms) ||
	    p->spec->timeout_ms < 1 || p->spec->timeout_ms > TIMEOUT_MS_MAX)
		return probe_fault(&p->fault, "/timeout",
		    "must be a string, a whole number and its unit (ms, s, m, h, d), from 1ms to "
		    "10m");
	return true;
}

static bool
read_member(struct parse *p, const cJSON *v)
{
	static const char *const names[] = {
	    "query", "params", "user", "password_file", "timeout", NULL};

	if (strcmp(v->string, "query") == 0)
		return sql_query_read(v, &p->fault, &p->spec->query);
	if (strcmp(v->string, "params") == 0)
		return sql_query_params(
		    v, &p->fault, param_fault, p->spec->params, &p->spec->n_params);
	if (strcmp(v->string, "user") == 0)
		return read_user(p, v);
	if (strcmp(v->string, "password_file") == 0)
		return sql_query_password_file(v, &p->fault, &p->spec->password_file);
	if (strcmp(v->string, "timeout") == 0)
		return read_timeout(p, v);
	return probe_fault_unknown(&p->fault, "", v->string, names);
}

static void
print(struct execute_spec *spec)
{
	char timeout[TEXT_DURATION_BYTES];
	struct buf out = {0};

	buf_add_char(&out, '{');
	buf_json_member_str(&out, "query", spec->query);
	buf_json_member(&out, "params");
	buf_add_char(&out, '[');
	for (size_t i = 0; i < spec->n_params; i++) {
		if (i > 0)
			buf_add_char(&out, ',');
		buf_json_string(&out, spec->params[i], strlen(spec->params[i]));
	}
	buf_add_char(&out, ']');
	buf_json_member_str(&out, "user", spec->user);
	if (spec->password_file)
		buf_json_member_str(&out, "password_file", spec->password_file);
	text_duration(spec->timeout_ms, timeout);
	buf_json_member_str(&out, "timeout", timeout);
	buf_add_char(&out, '}');
	spec->json = xstrdup(buf_str(&out));
	buf_free(&out);
}

static bool
read_all(struct parse *p, const cJSON *v)
{
	const cJSON *item;
	bool has_params = false;

	if (!cJSON_IsObject(v))
		return probe_fault(&p->fault, "", "must be an object");
	cJSON_ArrayForEach (item, v) {
		has_params |= strcmp(item->string, "params") == 0;
		if (!read_member(p, item))
			return false;
	}
	if (!p->spec->query)
		return probe_fault(&p->fault, "", "'query' is missing");
	if (!p->spec->user)
		return probe_fault(
		    &p->fault, "", "'user' is missing: it runs under a role of its own");
	if (!has_params)
		p->spec->params[p->spec->n_params++] = xstrdup("{args}");
	if (!sql_query_names(p->spec->query, p->spec->n_params, &p->fault))
		return false;
	print(p->spec);
	return true;
}

struct execute_spec *
execute_spec_parse(const cJSON *v, char **ret_pointer, char **ret_why)
{
	struct parse p = {.fault = {.ret_pointer = ret_pointer, .ret_why = ret_why}};

	p.spec = xcalloc(1, sizeof *p.spec);
	p.spec->refs = 1;
	p.spec->timeout_ms = TIMEOUT_MS_DEFAULT;
	if (read_all(&p, v))
		return p.spec;
	execute_spec_unref(p.spec);
	return NULL;
}

struct execute_spec *
execute_spec_ref(struct execute_spec *spec)
{
	assert(spec->refs > 0);
	spec->refs++;
	return spec;
}

void
execute_spec_unref(struct execute_spec *spec)
{
	if (!spec || --spec->refs > 0)
		return;
	free(spec->json);
	free(spec->query);
	for (size_t i = 0; i < spec->n_params; i++)
		free(spec->params[i]);
	free(spec->user);
	free(spec->password_file);
	free(spec);
}

/* ---- a call ---- */

/* The bytes of a value as they came. */
static char *
raw_value(const struct execute_values *values, uint32_t node)
{
	const struct json_node *n = &values->doc->nodes[node];

	return xstrndup(values->doc->text + n->start, n->end - n->start);
}

/* False: it holds a NUL, which no text of the database can. */
static bool
arg_value(const struct execute_values *values, const char *pointer, char **ret)
{
	uint32_t node;
	size_t len;

	*ret = NULL;
	if (!values->args || !json_pointer(values->doc, values->args, pointer, &node))
		return true;
	switch (values->doc->nodes[node].type) {
	case JSON_NULL:
		return true;
	case JSON_STRING:
		*ret = json_string(values->doc, node, &len);
		if (strlen(*ret) == len)
			return true;
		free(*ret);
		*ret = NULL;
		return false;
	default:
		*ret = raw_value(values, node);
		return true;
	}
}

static char *
word_value(const struct execute_values *values, const char *placeholder)
{
	const char *const of_words[] = {NULL, values->key, values->effect, values->effect,
	    values->ns, values->tool, values->run, values->step, values->turn, values->owner};
	size_t len = strlen(placeholder) - 2, i = 0;

	while (strlen(words[i]) != len || strncmp(placeholder + 1, words[i], len) != 0)
		i++; /* it was checked */
	if (i == 0)
		return values->args ? raw_value(values, values->args) : xstrdup("{}");
	return of_words[i] ? xstrdup(of_words[i]) : NULL;
}

bool
execute_spec_fill(const struct execute_spec *spec, const struct execute_values *values,
    char *ret[SQL_QUERY_PARAMS_MAX], const char **ret_pointer)
{
	for (size_t i = 0; i < spec->n_params; i++) {
		const char *param = spec->params[i];
		bool ok = true;

		if (!is_placeholder(param)) {
			ret[i] = xstrdup(param);
		} else if (param[1] == '/') {
			char *pointer = xstrndup(param + 1, strlen(param) - 2);

			ok = arg_value(values, pointer, &ret[i]);
			free(pointer);
		} else {
			ret[i] = word_value(values, param);
		}
		if (ok)
			continue;
		*ret_pointer = param;
		while (i-- > 0)
			free(ret[i]);
		return false;
	}
	return true;
}
