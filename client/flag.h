/*
 * Flags of a command line, by table: `--name VALUE`, `--name=VALUE`, one-letter forms; what is no
 * flag is an argument; `--` ends them. An unknown flag, a missing value and a flag given twice (if
 * it is not one of many values) are refused with the flag's name. Pure.
 */
#ifndef EFFECTD_FLAG_H
#define EFFECTD_FLAG_H

#include <stdbool.h>
#include <stddef.h>

#define FLAG_MAX 40
#define FLAG_NAME_BYTES 64 /* of a name, with its NUL */
#define FLAG_ARGS_MAX 3
#define FLAG_VALUES_MAX 64

/* The values of a flag that may be given more than once, in their order; borrowed. */
struct flag_list {
	const char *values[FLAG_VALUES_MAX];
	size_t n;
};

struct flag {
	const char *name; /* with '_' where the user types '-'; borrowed */
	char letter;	  /* 0 = none */
	const char *arg;  /* what --help calls its value; NULL = takes none */
	const char *help;
	const char *value;	/* NULL = not given; "" where it takes none; the last one of many */
	struct flag_list *list; /* NULL = may be given once */
};

struct flag_set {
	struct flag flags[FLAG_MAX];
	size_t n;
	const char *args[FLAG_ARGS_MAX]; /* borrowed from argv */
	size_t n_args;
};

/* Adds a flag. The pointer is valid as long as the set. */
struct flag *flag_add(
    struct flag_set *set, const char *name, char letter, const char *arg, const char *help);
/* Adds one that may be given again and again; its values go to `list`, which outlives the set. */
void flag_add_many(struct flag_set *set, const char *name, const char *arg, const char *help,
    struct flag_list *list);
/* A flag's name as the user types it behind the two hyphens. Returns `ret`. */
const char *flag_spell(const char *name, char ret[FLAG_NAME_BYTES]);
/* The flag called `name`, or NULL. */
struct flag *flag_find(struct flag_set *set, const char *name);
/*
 * Reads argv[0, argc). With `first_only` it stops at the first argument and *ret_used says how many
 * words it took; else at most args_max arguments are taken. False: *ret_error is one owned line.
 */
bool flag_read(struct flag_set *set, int argc, char **argv, size_t args_max, bool first_only,
    int *ret_used, char **ret_error);

#endif
