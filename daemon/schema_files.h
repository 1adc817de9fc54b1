/*
 * The SQL that the daemon carries inside: made at build time by sql/embed.sh from the lists in
 * sql/Makefile.inc.am. Data only; applying it is schema.c's. Each table ends with {NULL, NULL},
 * which its count leaves out.
 */
#ifndef EFFECTD_SCHEMA_FILES_H
#define EFFECTD_SCHEMA_FILES_H

#include <stddef.h>

struct schema_file {
	const char
	    *name; /* relative to sql/: "migrations/0001_tables.sql", "functions/begin.sql" */
	const char *text; /* the whole file */
};

/* Before the first migration: roles, schema, schema_version. Run each time. */
extern const struct schema_file schema_bootstrap[];
extern const size_t schema_n_bootstrap;
/* Drops what is re-created. */
extern const struct schema_file schema_clear[];
extern const size_t schema_n_clear;
/* Numbered and immutable, in order: applied once each. */
extern const struct schema_file schema_migrations[];
extern const size_t schema_n_migrations;
/* Re-created at every upgrade, in this order: functions, then views, then grants. */
extern const struct schema_file schema_functions[];
extern const size_t schema_n_functions;
extern const struct schema_file schema_views[];
extern const size_t schema_n_views;
extern const struct schema_file schema_grants[];
extern const size_t schema_n_grants;

#endif
