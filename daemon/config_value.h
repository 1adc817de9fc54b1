/*
 * The table of config keys with its readers: the text of one value into its field of struct config,
 * and back. For config.c and config_file.c only.
 */
#ifndef EFFECTD_CONFIG_VALUE_H
#define EFFECTD_CONFIG_VALUE_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum config_kind {
	CONFIG_KIND_PATH,     /* absolute */
	CONFIG_KIND_MODE,     /* "0660" */
	CONFIG_KIND_NAME,     /* of a user or group, may be empty */
	CONFIG_KIND_DATABASE, /* "embedded" or a connection string */
	CONFIG_KIND_CONNINFO, /* a connection string or empty */
	CONFIG_KIND_INT,      /* int */
	CONFIG_KIND_SIZE,     /* int64_t, bytes */
	CONFIG_KIND_MS,	      /* int64_t, a duration */
	CONFIG_KIND_BOOL,
	CONFIG_KIND_MIGRATE, /* a bool that may be unset */
	CONFIG_KIND_UNKNOWN, /* guard, refuse */
	CONFIG_KIND_LEVEL,   /* a word that log_level_parse() knows */
	CONFIG_KIND_FORMAT,  /* a word that log_format_parse() knows */
	CONFIG_KIND_LISTEN   /* HOST:PORT of the loopback, or empty */
};

struct config_option {
	const char *key;
	enum config_kind kind;
	size_t offset; /* of its field in struct config */
	int64_t min, max;
	const char *def; /* NULL: config_paths.c knows it, or it is unset */
	bool restart;	 /* takes effect at the next start only */
};

extern const struct config_option config_value_options[];
extern const size_t config_value_n_options;

/* The option called `key`; it must exist. */
const struct config_option *config_value_find(const char *key);
/* Reads `text` into the field. False: *ret_why is an owned half sentence ("must be ..."), the field
 * is untouched. */
bool config_value_set(
    struct config *config, const struct config_option *option, const char *text, char **ret_why);
/* `key = value` and LF in the file's syntax; passwords of connection strings masked; an unset key
 * as a comment. */
void config_value_print(const struct config *config, const struct config_option *option, FILE *out);
bool config_value_equal(
    const struct config *a, const struct config *b, const struct config_option *option);
void config_value_free(struct config *config, const struct config_option *option);
/* A quoted string of the file's syntax. */
void config_value_print_string(const char *text, FILE *out);

#endif
