/*
 * Reading an sql probe out of a policy. Promise: what is misspelt, of the wrong type or can never
 * be asked is refused with its pointer and the rule; no password gets into a policy, which is
 * stored and shown. Whether the query is right is the server's to say.
 */
#include "probe_sql_spec.h"

#include "alloc.h"
#include "conninfo.h"
#include "probe_fault.h"
#include "probe_template.h"
#include "sql_query.h"
#include "text.h"

#include <assert.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#define DATABASE_BYTES_MAX 2048

struct parse {
	struct probe_sql_spec *spec;
	struct probe_fault fault;
};

static bool
is_text(const cJSON *v, size_t bytes_max)
{
	return cJSON_IsString(v) && v->valuestring[0] && strlen(v->valuestring) <= bytes_max;
}

static char *
template_fault(const char *text)
{
	char *why = NULL;

	return probe_template_check(text, NULL, 0, &why) ? NULL : why;
}

static bool
check_option(struct parse *p, const PQconninfoOption *o)
{
	/* libpq marks what is to be hidden so; its list of such words grows */
	if (o->dispchar[0] == '*')
		return probe_fault(&p->fault, "/database",
		    "must hold no '%s', since policies are stored and shown: name a "
		    "'password_file', or a passfile",
		    o->keyword);
	if (strcmp(o->keyword, "service") == 0)
		return probe_fault(&p->fault, "/database",
		    "must name its host itself, not a service that hides it");
	if ((strcmp(o->keyword, "host") == 0 || strcmp(o->keyword, "hostaddr") == 0) &&
	    conninfo_list_length(o->val) > PROBE_SQL_HOSTS_MAX)
		return probe_fault(
		    &p->fault, "/database", "must name at most %d hosts", PROBE_SQL_HOSTS_MAX);
	if (strcmp(o->keyword, "target_session_attrs") == 0)
		p->spec->on_standby =
		    strcmp(o->val, "primary") != 0 && strcmp(o->val, "read-write") != 0;
	return true;
}

static bool
read_database(struct parse *p, const cJSON *v)
{
	PQconninfoOption *parsed = NULL;
	bool ok = true;

	if (is_text(v, DATABASE_BYTES_MAX) &&
	    !text_has_control(v->valuestring, strlen(v->valuestring)))
		parsed = PQconninfoParse(v->valuestring, NULL);
	/* libpq's message is not used: it may quote part of a password */
	if (!parsed)
		return probe_fault(&p->fault, "/database",
		    "must be a libpq connection string; without one it is the ledger's");
	for (const PQconninfoOption *o = parsed; o->keyword && ok; o++)
		if (o->val)
			ok = check_option(p, o);
	PQconninfoFree(parsed);
	if (ok)
		p->spec->database = xstrdup(v->valuestring);
	return ok;
}

static bool
read_member(struct parse *p, const cJSON *v)
{
	static const char *const names[] = {"query", "params", "database", "password_file", NULL};

	if (strcmp(v->string, "query") == 0)
		return sql_query_read(v, &p->fault, &p->spec->query);
	if (strcmp(v->string, "params") == 0)
		return sql_query_params(
		    v, &p->fault, template_fault, p->spec->params, &p->spec->n_params);
	if (strcmp(v->string, "database") == 0)
		return read_database(p, v);
	if (strcmp(v->string, "password_file") == 0)
		return sql_query_password_file(v, &p->fault, &p->spec->password_file);
	return probe_fault_unknown(&p->fault, "", v->string, names);
}

static bool
read_all(struct parse *p, const cJSON *v)
{
	const cJSON *item;

	if (!cJSON_IsObject(v))
		return probe_fault(&p->fault, "", "must be an object");
	cJSON_ArrayForEach (item, v)
		if (!read_member(p, item))
			return false;
	if (!p->spec->query)
		return probe_fault(&p->fault, "", "'query' is missing");
	if (p->spec->password_file && !p->spec->database)
		return probe_fault(&p->fault, "/password_file",
		    "needs a 'database': the ledger's has its own way in");
	if (!sql_query_names(p->spec->query, p->spec->n_params, &p->fault))
		return false;
	p->spec->json = cJSON_PrintUnformatted(v);
	if (!p->spec->json)
		alloc_out_of_memory();
	return true;
}

struct probe_sql_spec *
probe_sql_spec_parse(const cJSON *v, char **ret_pointer, char **ret_why)
{
	struct parse p = {.fault = {.ret_pointer = ret_pointer, .ret_why = ret_why}};

	p.spec = xcalloc(1, sizeof *p.spec);
	p.spec->refs = 1;
	if (read_all(&p, v))
		return p.spec;
	probe_sql_spec_unref(p.spec);
	return NULL;
}

struct probe_sql_spec *
probe_sql_spec_ref(struct probe_sql_spec *spec)
{
	assert(spec->refs > 0);
	spec->refs++;
	return spec;
}

void
probe_sql_spec_unref(struct probe_sql_spec *spec)
{
	if (!spec || --spec->refs > 0)
		return;
	free(spec->json);
	free(spec->query);
	for (size_t i = 0; i < spec->n_params; i++)
		free(spec->params[i]);
	free(spec->database);
	free(spec->password_file);
	free(spec);
}

bool
probe_sql_spec_keeps(
    const struct probe_sql_spec *spec, char *const *keep, size_t n_keep, char **ret_why)
{
	for (size_t i = 0; i < spec->n_params; i++)
		if (!probe_template_keeps(spec->params[i], keep, n_keep, ret_why))
			return false;
	return true;
}

bool
probe_sql_spec_tied(const struct probe_sql_spec *spec)
{
	for (size_t i = 0; i < spec->n_params; i++)
		if (probe_template_ties(spec->params[i]))
			return true;
	return false;
}
