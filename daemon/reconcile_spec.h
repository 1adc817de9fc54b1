/*
 * What a policy's `reconcile` is: where the provider's own list of what it did comes from, and what
 * stands in which of its columns. Read from the policy once, then immutable and shared by
 * reference. Pure. The daemon only checks and hands it on: comparing is effectctl's.
 */
#ifndef EFFECTD_RECONCILE_SPEC_H
#define EFFECTD_RECONCILE_SPEC_H

#include "errors.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define RECONCILE_COLUMNS_MAX 20
#define RECONCILE_SOURCES_MAX 8 /* columns of the export that make one value: a business key */
#define RECONCILE_ARGV_MAX 64

/* What a column means; any other name is a field that is compared. */
#define RECONCILE_PROVIDER_KEY "provider_key"
#define RECONCILE_BUSINESS_KEY "business_key"
#define RECONCILE_TIME "time"
#define RECONCILE_REFERENCE "reference"
#define RECONCILE_AMOUNT "amount" /* a field that is a decimal number */

struct reconcile_column {
	char *name;
	char *sources[RECONCILE_SOURCES_MAX];
	size_t n_sources;
};

/* Two texts: a kept arg's pointer and a column's name; a column of the export and a value. */
struct reconcile_pair {
	char *left, *right;
};

struct reconcile_spec {
	unsigned refs;
	char *json; /* as in the file; NULL: it is built up from elsewhere */
	char *exec[RECONCILE_ARGV_MAX + 1];
	size_t n_exec;
	char *format;	/* "csv", "jsonl"; NULL: found out */
	char delimiter; /* 0: a comma */
	bool utc;	/* times without offset are UTC */
	int minor_units;
	struct reconcile_column columns[RECONCILE_COLUMNS_MAX];
	size_t n_columns;
	struct reconcile_pair compare[RECONCILE_COLUMNS_MAX], where[RECONCILE_COLUMNS_MAX];
	size_t n_compare, n_where;
};

/*
 * Reads the object `v`. NULL: *ret_pointer (relative to it) and *ret_why, both owned by the caller,
 * say what is wrong.
 */
struct reconcile_spec *reconcile_spec_parse(
    const cJSON *v, char **ret_pointer, char **ret_why) must_check;
struct reconcile_spec *reconcile_spec_new(void);
struct reconcile_spec *reconcile_spec_ref(struct reconcile_spec *spec);
void reconcile_spec_unref(struct reconcile_spec *spec); /* NULL is fine */

/* Are all args that are compared among `keep`? False: *ret_why (owned) names the first. */
bool reconcile_spec_keeps(
    const struct reconcile_spec *spec, char *const *keep, size_t n_keep, char **ret_why);

/* For whoever builds one up: the same rules. False: there are too many, or `name` is none. */
bool reconcile_spec_set_column(
    struct reconcile_spec *spec, const char *name, const char *const *sources, size_t n_sources);
bool reconcile_spec_add_compare(struct reconcile_spec *spec, const char *pointer, const char *name);
bool reconcile_spec_add_where(struct reconcile_spec *spec, const char *source, const char *value);
/* "," ";" "|" a tab, or the word "tab"; false: none of them. */
bool reconcile_spec_delimiter(const char *text, char *ret);
/* The column called `name`, or NULL. */
const struct reconcile_column *reconcile_spec_column(
    const struct reconcile_spec *spec, const char *name);

#endif
