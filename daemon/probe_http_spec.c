/*
 * Reading an http probe out of a policy. Promise: what is misspelt, of the wrong type or can mean
 * nothing is refused with its pointer and the rule; nothing is guessed. What an answer means is
 * probe_judge.c's.
 */
#include "probe_http_spec.h"

#include "alloc.h"
#include "canon.h"
#include "credential.h"
#include "json.h"
#include "probe_fault.h"
#include "text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 2048
#define INTEGER_MAX 9007199254740992.0 /* beyond it, cJSON has forgotten the digits */

struct parse {
	struct probe_http_spec *spec;
	struct probe_fault fault;
};

static bool
is_text(const cJSON *v)
{
	size_t len = cJSON_IsString(v) ? strlen(v->valuestring) : 0;

	return len > 0 && len <= TEXT_BYTES_MAX && !text_has_control(v->valuestring, len);
}

/* Of the headers alone may credentials be a part. */
static bool
check_template(struct parse *p, const char *pointer, const char *text, bool credentials)
{
	size_t n = credentials ? p->spec->n_credentials : 0;
	char *why = NULL;

	if (probe_template_check(text, p->spec->credentials, n, &why))
		return true;
	probe_fault(&p->fault, pointer, "%s", why);
	free(why);
	return false;
}

static bool
read_url(struct parse *p, const cJSON *v)
{
	const char *url = v && is_text(v) ? v->valuestring : "";
	const char *host = text_http_host(url);

	if (!host || strchr(url, ' '))
		return probe_fault(&p->fault, "/url",
		    "must be a string, an http:// or https:// URL of at most %d bytes",
		    TEXT_BYTES_MAX);
	/* else a key could name the host that is asked, and gets the credentials */
	if (strcspn(host, "/?#") > strcspn(host, "{}@"))
		return probe_fault(&p->fault, "/url",
		    "must name its host without placeholders and without a user");
	if (!check_template(p, "/url", url, false))
		return false;
	p->spec->url = xstrdup(url);
	return true;
}

static bool
read_credentials(struct parse *p, const cJSON *v)
{
	const cJSON *item;

	if (!cJSON_IsObject(v) || cJSON_GetArraySize(v) > PROBE_HTTP_CREDENTIALS_MAX)
		return probe_fault(&p->fault, "/credentials",
		    "must be an object of at most %d files by name", PROBE_HTTP_CREDENTIALS_MAX);
	cJSON_ArrayForEach (item, v) {
		struct probe_template_pair *pair = &p->spec->credentials[p->spec->n_credentials];

		if (!is_text(item) || !credential_is_place(item->valuestring))
			return probe_fault(&p->fault, "/credentials",
			    "'%s' must be an absolute path, or the name of a file in "
			    "$CREDENTIALS_DIRECTORY",
			    item->string);
		pair->name = xstrdup(item->string);
		pair->value = xstrdup(item->valuestring);
		p->spec->n_credentials++;
	}
	return true;
}

static bool
read_headers(struct parse *p, const cJSON *v)
{
	const cJSON *item;

	if (!cJSON_IsObject(v) || cJSON_GetArraySize(v) > PROBE_HTTP_HEADERS_MAX)
		return probe_fault(&p->fault, "/headers", "must be an object of at most %d headers",
		    PROBE_HTTP_HEADERS_MAX);
	cJSON_ArrayForEach (item, v) {
		struct probe_template_pair *pair = &p->spec->headers[p->spec->n_headers];
		size_t len = strlen(item->string);

		if (len == 0 || len > 128 ||
		    strspn(item->string,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != len)
			return probe_fault(
			    &p->fault, "/headers", "'%s' is no name of a header", item->string);
		if (!is_text(item))
			return probe_fault(&p->fault, "/headers",
			    "'%s' must be a string without control characters", item->string);
		if (!check_template(p, "/headers", item->valuestring, true))
			return false;
		pair->name = xstrdup(item->string);
		pair->value = xstrdup(item->valuestring);
		p->spec->n_headers++;
	}
	return true;
}

static bool
read_statuses(struct parse *p, const char *pointer, struct probe_http_rule *rule, const cJSON *v)
{
	const cJSON *item = cJSON_IsArray(v) ? v->child : v;

	if (cJSON_IsArray(v) &&
	    (cJSON_GetArraySize(v) < 1 || cJSON_GetArraySize(v) > PROBE_HTTP_STATUSES_MAX))
		return probe_fault(&p->fault, pointer,
		    "'status' must be one number, or 1 to %d of them", PROBE_HTTP_STATUSES_MAX);
	for (; item; item = cJSON_IsArray(v) ? item->next : NULL) {
		if (!cJSON_IsNumber(item) || item->valuedouble != item->valueint ||
		    item->valuedouble < 200 || item->valuedouble > 599)
			return probe_fault(
			    &p->fault, pointer, "'status' must be a number from 200 to 599");
		rule->statuses[rule->n_statuses++] = (long)item->valuedouble;
	}
	return true;
}

/* The canonical JSON of a number, true, false or null. */
static char *
print_value(const cJSON *v)
{
	char *text = cJSON_PrintUnformatted(v);
	struct buf canonical = {0};

	if (!text)
		alloc_out_of_memory();
	if (!cJSON_IsNumber(v))
		return text;
	canon_number(&canonical, text, strlen(text));
	free(text);
	text = xstrndup(canonical.data, canonical.len);
	buf_free(&canonical);
	return text;
}

static bool
read_value(struct parse *p, const char *pointer, struct probe_http_rule *rule, const cJSON *v)
{
	struct probe_http_value *value = &rule->values[rule->n_values];

	if (!json_pointer_valid(v->string))
		return probe_fault(
		    &p->fault, pointer, "'%s' in 'body' is no JSON pointer", v->string);
	if (cJSON_IsString(v)) {
		if (!check_template(p, pointer, v->valuestring, false))
			return false;
		value->text = xstrdup(v->valuestring);
		value->is_string = true;
	} else if ((cJSON_IsNumber(v) && fabs(v->valuedouble) <= INTEGER_MAX) || cJSON_IsBool(v) ||
	    cJSON_IsNull(v)) {
		value->text = print_value(v);
	} else {
		return probe_fault(&p->fault, pointer,
		    "'%s' in 'body' must be compared with a string, a number, true, false or null",
		    v->string);
	}
	value->pointer = xstrdup(v->string);
	rule->n_values++;
	return true;
}

static bool
read_rule(struct parse *p, const char *pointer, struct probe_http_rule *rule, const cJSON *v)
{
	static const char *const names[] = {"status", "body", "after", NULL};
	const cJSON *item, *value;

	if (!cJSON_IsObject(v))
		return probe_fault(&p->fault, pointer, "must be an object");
	cJSON_ArrayForEach (item, v) {
		if (strcmp(item->string, "status") == 0) {
			if (!read_statuses(p, pointer, rule, item))
				return false;
		} else if (strcmp(item->string, "body") == 0) {
			if (!cJSON_IsObject(item) ||
			    cJSON_GetArraySize(item) > PROBE_HTTP_VALUES_MAX)
				return probe_fault(&p->fault, pointer,
				    "'body' must be an object of at most %d values by pointer",
				    PROBE_HTTP_VALUES_MAX);
			cJSON_ArrayForEach (value, item)
				if (!read_value(p, pointer, rule, value))
					return false;
		} else if (strcmp(item->string, "after") == 0) {
			if (!cJSON_IsString(item) || !json_pointer_valid(item->valuestring))
				return probe_fault(
				    &p->fault, pointer, "'after' must be a JSON pointer");
			rule->after = xstrdup(item->valuestring);
		} else {
			return probe_fault_unknown(&p->fault, pointer, item->string, names);
		}
	}
	rule->given = true;
	if (rule->n_statuses == 0 && rule->n_values == 0)
		return probe_fault(&p->fault, pointer,
		    "must have a 'status' or a 'body', else every answer is one");
	return true;
}

static bool
read_addresses(struct parse *p, const cJSON *v)
{
	const cJSON *item;

	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) < 1 ||
	    cJSON_GetArraySize(v) > PROBE_HTTP_NETS_MAX)
		return probe_fault(&p->fault, "/addresses",
		    "must be an array of 1 to %d addresses or networks", PROBE_HTTP_NETS_MAX);
	cJSON_ArrayForEach (item, v) {
		if (!cJSON_IsString(item) ||
		    !http_net_parse(item->valuestring, &p->spec->nets[p->spec->n_nets]))
			return probe_fault(&p->fault, "/addresses",
			    "must hold addresses such as \"10.1.2.3\" or networks such as "
			    "\"10.0.0.0/8\"");
		p->spec->n_nets++;
	}
	return true;
}

static bool
read_member(struct parse *p, const cJSON *v)
{
	static const char *const names[] = {"url", "headers", "credentials", "landed", "failed",
	    "absent", "result", "addresses", "ca_file", NULL};
	struct probe_http_spec *spec = p->spec;

	if (strcmp(v->string, "url") == 0 || strcmp(v->string, "credentials") == 0)
		return true; /* read first */
	if (strcmp(v->string, "headers") == 0)
		return read_headers(p, v);
	if (strcmp(v->string, "landed") == 0)
		return read_rule(p, "/landed", &spec->landed, v);
	if (strcmp(v->string, "failed") == 0)
		return read_rule(p, "/failed", &spec->failed, v);
	if (strcmp(v->string, "absent") == 0)
		return read_rule(p, "/absent", &spec->absent, v);
	if (strcmp(v->string, "addresses") == 0)
		return read_addresses(p, v);
	if (strcmp(v->string, "result") == 0) {
		if (!cJSON_IsString(v) || !json_pointer_valid(v->valuestring))
			return probe_fault(&p->fault, "/result", "must be a JSON pointer");
		spec->result = xstrdup(v->valuestring);
		return true;
	}
	if (strcmp(v->string, "ca_file") == 0) {
		if (!is_text(v) || v->valuestring[0] != '/')
			return probe_fault(&p->fault, "/ca_file", "must be an absolute path");
		spec->ca_file = xstrdup(v->valuestring);
		return true;
	}
	return probe_fault_unknown(&p->fault, "", v->string, names);
}

static bool
read_all(struct parse *p, const cJSON *v)
{
	const cJSON *credentials, *item;

	if (!cJSON_IsObject(v))
		return probe_fault(&p->fault, "", "must be an object");
	credentials = cJSON_GetObjectItemCaseSensitive(v, "credentials");
	if (credentials && !read_credentials(p, credentials))
		return false;
	if (!read_url(p, cJSON_GetObjectItemCaseSensitive(v, "url")))
		return false;
	cJSON_ArrayForEach (item, v)
		if (!read_member(p, item))
			return false;
	if (!p->spec->landed.given)
		return probe_fault(&p->fault, "",
		    "'landed' is missing: what does the provider answer when it has it?");
	p->spec->json = cJSON_PrintUnformatted(v);
	if (!p->spec->json)
		alloc_out_of_memory();
	return true;
}

struct probe_http_spec *
probe_http_spec_parse(const cJSON *v, char **ret_pointer, char **ret_why)
{
	struct parse p = {.fault = {.ret_pointer = ret_pointer, .ret_why = ret_why}};

	p.spec = xcalloc(1, sizeof *p.spec);
	p.spec->refs = 1;
	if (read_all(&p, v))
		return p.spec;
	probe_http_spec_unref(p.spec);
	return NULL;
}

struct probe_http_spec *
probe_http_spec_ref(struct probe_http_spec *spec)
{
	assert(spec->refs > 0);
	spec->refs++;
	return spec;
}

static void
free_rule(struct probe_http_rule *rule)
{
	for (size_t i = 0; i < PROBE_HTTP_VALUES_MAX; i++) {
		free(rule->values[i].pointer);
		free(rule->values[i].text);
	}
	free(rule->after);
}

static void
free_pairs(struct probe_template_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(pairs[i].name);
		free(pairs[i].value);
	}
}

void
probe_http_spec_unref(struct probe_http_spec *spec)
{
	if (!spec || --spec->refs > 0)
		return;
	free(spec->json);
	free(spec->url);
	free_pairs(spec->headers, PROBE_HTTP_HEADERS_MAX);
	free_pairs(spec->credentials, PROBE_HTTP_CREDENTIALS_MAX);
	free_rule(&spec->landed);
	free_rule(&spec->failed);
	free_rule(&spec->absent);
	free(spec->result);
	free(spec->ca_file);
	free(spec);
}

/* ---- what the policy's loader and lint ask ---- */

static bool
rule_keeps(const struct probe_http_rule *rule, char *const *keep, size_t n_keep, char **ret_why)
{
	for (size_t i = 0; i < rule->n_values; i++)
		if (rule->values[i].is_string &&
		    !probe_template_keeps(rule->values[i].text, keep, n_keep, ret_why))
			return false;
	return true;
}

bool
probe_http_spec_keeps(
    const struct probe_http_spec *spec, char *const *keep, size_t n_keep, char **ret_why)
{
	if (!probe_template_keeps(spec->url, keep, n_keep, ret_why))
		return false;
	for (size_t i = 0; i < spec->n_headers; i++)
		if (!probe_template_keeps(spec->headers[i].value, keep, n_keep, ret_why))
			return false;
	return rule_keeps(&spec->landed, keep, n_keep, ret_why) &&
	    rule_keeps(&spec->failed, keep, n_keep, ret_why) &&
	    rule_keeps(&spec->absent, keep, n_keep, ret_why);
}

bool
probe_http_spec_tied(const struct probe_http_spec *spec)
{
	bool tied = probe_template_ties(spec->url) || spec->landed.after;

	for (size_t i = 0; i < spec->n_headers && !tied; i++)
		tied = probe_template_ties(spec->headers[i].value);
	for (size_t i = 0; i < spec->landed.n_values && !tied; i++)
		tied = spec->landed.values[i].is_string &&
		    probe_template_ties(spec->landed.values[i].text);
	return tied;
}

bool
probe_http_spec_absent_by_status(const struct probe_http_spec *spec)
{
	return spec->absent.given && spec->absent.n_values == 0;
}
