/*
 * Reading `reconcile` out of a policy, or building it up from flags. Promise: what is misspelt, of
 * the wrong type or names nothing is refused with its pointer and the rule. Whether the export has
 * such columns is known when it is read.
 */
#include "reconcile_spec.h"

#include "alloc.h"
#include "json.h"
#include "probe_fault.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 255
#define MINOR_UNITS_MAX 18

struct reconcile_spec *
reconcile_spec_new(void)
{
	struct reconcile_spec *spec = xcalloc(1, sizeof *spec);

	spec->refs = 1;
	return spec;
}

struct reconcile_spec *
reconcile_spec_ref(struct reconcile_spec *spec)
{
	assert(spec->refs > 0);
	spec->refs++;
	return spec;
}

static void
free_pairs(struct reconcile_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(pairs[i].left);
		free(pairs[i].right);
	}
}

static void
clear_column(struct reconcile_column *column)
{
	free(column->name);
	for (size_t i = 0; i < column->n_sources; i++)
		free(column->sources[i]);
	*column = (struct reconcile_column){0};
}

void
reconcile_spec_unref(struct reconcile_spec *spec)
{
	if (!spec || --spec->refs > 0)
		return;
	free(spec->json);
	for (size_t i = 0; i < spec->n_exec; i++)
		free(spec->exec[i]);
	free(spec->format);
	for (size_t i = 0; i < spec->n_columns; i++)
		clear_column(&spec->columns[i]);
	free_pairs(spec->compare, spec->n_compare);
	free_pairs(spec->where, spec->n_where);
	free(spec);
}

/* ---- its parts ---- */

static bool
is_text(const char *text)
{
	return text && *text && strlen(text) <= TEXT_BYTES_MAX;
}

static bool
is_name(const char *text)
{
	return is_text(text) &&
	    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

const struct reconcile_column *
reconcile_spec_column(const struct reconcile_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_columns; i++)
		if (!strcmp(spec->columns[i].name, name))
			return &spec->columns[i];
	return NULL;
}

bool
reconcile_spec_set_column(
    struct reconcile_spec *spec, const char *name, const char *const *sources, size_t n_sources)
{
	struct reconcile_column *column =
	    (struct reconcile_column *)reconcile_spec_column(spec, name);

	if (!is_name(name) || n_sources == 0 || n_sources > RECONCILE_SOURCES_MAX ||
	    (n_sources > 1 && strcmp(name, RECONCILE_BUSINESS_KEY) != 0))
		return false;
	for (size_t i = 0; i < n_sources; i++)
		if (!is_text(sources[i]))
			return false;
	if (column)
		clear_column(column);
	else if (spec->n_columns == RECONCILE_COLUMNS_MAX)
		return false;
	else
		column = &spec->columns[spec->n_columns++];
	column->name = xstrdup(name);
	for (size_t i = 0; i < n_sources; i++)
		column->sources[column->n_sources++] = xstrdup(sources[i]);
	return true;
}

static bool
add_pair(struct reconcile_pair *pairs, size_t *n, const char *left, const char *right)
{
	if (*n == RECONCILE_COLUMNS_MAX)
		return false;
	pairs[(*n)++] = (struct reconcile_pair){xstrdup(left), xstrdup(right)};
	return true;
}

bool
reconcile_spec_add_compare(struct reconcile_spec *spec, const char *pointer, const char *name)
{
	return *pointer && json_pointer_valid(pointer) && is_name(name) &&
	    add_pair(spec->compare, &spec->n_compare, pointer, name);
}

bool
reconcile_spec_add_where(struct reconcile_spec *spec, const char *source, const char *value)
{
	return is_text(source) && strlen(value) <= TEXT_BYTES_MAX &&
	    add_pair(spec->where, &spec->n_where, source, value);
}

bool
reconcile_spec_delimiter(const char *text, char *ret)
{
	if (!strcmp(text, "tab")) {
		*ret = '\t';
		return true;
	}
	if (strlen(text) != 1 || !strchr(",;|\t", *text))
		return false;
	*ret = *text;
	return true;
}

/* ---- the policy ---- */

static bool
read_exec(struct reconcile_spec *spec, const cJSON *v, struct probe_fault *fault)
{
	const cJSON *item;

	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) < 1 ||
	    cJSON_GetArraySize(v) > RECONCILE_ARGV_MAX)
		return probe_fault(fault, "/exec", "must be an array of 1 to 64 strings");
	cJSON_ArrayForEach (item, v) {
		if (!cJSON_IsString(item))
			return probe_fault(fault, "/exec", "must be an array of 1 to 64 strings");
		spec->exec[spec->n_exec++] = xstrdup(item->valuestring);
	}
	return spec->exec[0][0] == '/' || probe_fault(fault, "/exec/0", "must be an absolute path");
}

static bool
read_column(struct reconcile_spec *spec, const cJSON *v, struct probe_fault *fault)
{
	const char *sources[RECONCILE_SOURCES_MAX];
	const cJSON *item;
	size_t n = 0;

	if (cJSON_IsString(v)) {
		sources[n++] = v->valuestring;
	} else if (cJSON_IsArray(v) && cJSON_GetArraySize(v) <= RECONCILE_SOURCES_MAX) {
		cJSON_ArrayForEach (item, v)
			if (cJSON_IsString(item))
				sources[n++] = item->valuestring;
		if ((int)n != cJSON_GetArraySize(v))
			n = 0;
	}
	if (reconcile_spec_set_column(spec, v->string, sources, n))
		return true;
	return probe_fault(fault, "/columns",
	    "must give each name (lower-case letters, digits and '_') a column of the export, "
	    "'business_key' one to %d, and at most %d in all",
	    RECONCILE_SOURCES_MAX, RECONCILE_COLUMNS_MAX);
}

static bool
read_columns(struct reconcile_spec *spec, const cJSON *v, struct probe_fault *fault)
{
	const cJSON *item;

	if (!cJSON_IsObject(v))
		return probe_fault(fault, "/columns", "must be an object");
	cJSON_ArrayForEach (item, v)
		if (!read_column(spec, item, fault))
			return false;
	return true;
}

static bool
read_pairs(struct reconcile_spec *spec, const cJSON *v, struct probe_fault *fault, bool compare)
{
	const cJSON *item;
	bool ok = cJSON_IsObject(v);

	cJSON_ArrayForEach (item, v)
		ok = ok && cJSON_IsString(item) &&
		    (compare ? reconcile_spec_add_compare(spec, item->string, item->valuestring)
			     : reconcile_spec_add_where(spec, item->string, item->valuestring));
	if (ok)
		return true;
	return compare ? probe_fault(fault, "/compare",
			     "must be an object, pointers of kept args and the names of columns")
		       : probe_fault(fault, "/where",
			     "must be an object, columns of the export and their values");
}

static bool
read_member(struct reconcile_spec *spec, const cJSON *v, struct probe_fault *fault)
{
	static const char *const names[] = {"exec", "format", "delimiter", "columns", "compare",
	    "where", "minor_units", "utc", NULL};
	const char *text = cJSON_GetStringValue(v);

	if (!strcmp(v->string, "exec"))
		return read_exec(spec, v, fault);
	if (!strcmp(v->string, "columns"))
		return read_columns(spec, v, fault);
	if (!strcmp(v->string, "compare"))
		return read_pairs(spec, v, fault, true);
	if (!strcmp(v->string, "where"))
		return read_pairs(spec, v, fault, false);
	if (!strcmp(v->string, "format")) {
		if (!text || (strcmp(text, "csv") != 0 && strcmp(text, "jsonl") != 0))
			return probe_fault(fault, "/format", "must be \"csv\" or \"jsonl\"");
		spec->format = xstrdup(text);
	} else if (!strcmp(v->string, "delimiter")) {
		if (!text || !reconcile_spec_delimiter(text, &spec->delimiter))
			return probe_fault(
			    fault, "/delimiter", "must be \",\", \";\", \"|\" or \"tab\"");
	} else if (!strcmp(v->string, "minor_units")) {
		if (!cJSON_IsNumber(v) || v->valuedouble != v->valueint || v->valueint < 0 ||
		    v->valueint > MINOR_UNITS_MAX)
			return probe_fault(fault, "/minor_units", "must be an integer from 0 to %d",
			    MINOR_UNITS_MAX);
		spec->minor_units = v->valueint;
	} else if (!strcmp(v->string, "utc")) {
		if (!cJSON_IsBool(v))
			return probe_fault(fault, "/utc", "must be true or false");
		spec->utc = cJSON_IsTrue(v);
	} else {
		return probe_fault_unknown(fault, "", v->string, names);
	}
	return true;
}

static bool
read_all(struct reconcile_spec *spec, const cJSON *v, struct probe_fault *fault)
{
	const cJSON *item;

	if (!cJSON_IsObject(v))
		return probe_fault(fault, "", "must be an object");
	cJSON_ArrayForEach (item, v)
		if (!read_member(spec, item, fault))
			return false;
	if (!reconcile_spec_column(spec, RECONCILE_PROVIDER_KEY) &&
	    !reconcile_spec_column(spec, RECONCILE_BUSINESS_KEY))
		return probe_fault(fault, "/columns",
		    "must name 'provider_key' or 'business_key': nothing else tells which effect "
		    "a row is of");
	for (size_t i = 0; i < spec->n_compare; i++)
		if (!reconcile_spec_column(spec, spec->compare[i].right))
			return probe_fault(
			    fault, "/compare", "there is no column '%s'", spec->compare[i].right);
	return true;
}

struct reconcile_spec *
reconcile_spec_parse(const cJSON *v, char **ret_pointer, char **ret_why)
{
	struct probe_fault fault = {.ret_pointer = ret_pointer, .ret_why = ret_why};
	struct reconcile_spec *spec = reconcile_spec_new();
	char *json;

	if (!read_all(spec, v, &fault)) {
		reconcile_spec_unref(spec);
		return NULL;
	}
	json = cJSON_PrintUnformatted(v);
	if (!json)
		alloc_out_of_memory();
	spec->json = xstrdup(json);
	cJSON_free(json);
	return spec;
}

bool
reconcile_spec_keeps(
    const struct reconcile_spec *spec, char *const *keep, size_t n_keep, char **ret_why)
{
	size_t k;

	for (size_t i = 0; i < spec->n_compare; i++) {
		for (k = 0; k < n_keep && strcmp(keep[k], spec->compare[i].left) != 0; k++)
			;
		if (k == n_keep) {
			*ret_why = xasprintf("'%s' is compared, and must stand in 'keep' for that",
			    spec->compare[i].left);
			return false;
		}
	}
	return true;
}
