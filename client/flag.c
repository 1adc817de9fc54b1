/*
 * The reader of flags. Promise: nothing of a command line is skipped in silence, as a misspelt
 * guard must not be silently off. What the flags mean does not belong here. Keeps no memory: all is
 * borrowed from argv and the caller.
 */
#include "flag.h"

#include "alloc.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *
flag_spell(const char *name, char ret[FLAG_NAME_BYTES])
{
	size_t i;

	assert(strlen(name) < FLAG_NAME_BYTES);
	for (i = 0; name[i]; i++)
		ret[i] = name[i] == '_' ? '-' : name[i];
	ret[i] = '\0';
	return ret;
}

struct flag *
flag_add(struct flag_set *set, const char *name, char letter, const char *arg, const char *help)
{
	assert(set->n < FLAG_MAX && !flag_find(set, name));
	set->flags[set->n] =
	    (struct flag){.name = name, .letter = letter, .arg = arg, .help = help};
	return &set->flags[set->n++];
}

struct flag *
flag_find(struct flag_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (!strcmp(set->flags[i].name, name))
			return &set->flags[i];
	return NULL;
}

void
flag_add_many(struct flag_set *set, const char *name, const char *arg, const char *help,
    struct flag_list *list)
{
	flag_add(set, name, 0, arg, help)->list = list;
}

/* By word[0, len), which stands behind "--" (or is one letter behind "-"). */
static struct flag *
flag_typed(struct flag_set *set, const char *word, size_t len, bool letter)
{
	char name[FLAG_NAME_BYTES];

	for (size_t i = 0; i < set->n; i++) {
		flag_spell(set->flags[i].name, name);
		if (letter ? set->flags[i].letter == word[0]
			   : strlen(name) == len && !memcmp(name, word, len))
			return &set->flags[i];
	}
	return NULL;
}

static char *
unknown_flag(struct flag_set *set, const char *word)
{
	char names[FLAG_MAX][FLAG_NAME_BYTES];
	const char *list[FLAG_MAX];
	const char *near = NULL;
	char *typed = xstrndup(word, strcspn(word, "="));
	char *error;

	for (size_t i = 0; i < set->n; i++) {
		flag_spell(set->flags[i].name, names[i]);
		list[i] = names[i];
	}
	if (!strncmp(typed, "--", 2)) {
		near = text_nearest(typed + 2, list, set->n);
		/* a beginning is no flag, as a later flag could take its meaning away, but it says
		 * what was meant */
		for (size_t i = 0; i < set->n && !near && typed[2]; i++)
			if (!strncmp(list[i], typed + 2, strlen(typed + 2)))
				near = list[i];
	}
	error = near ? xasprintf("unknown flag \"%s\", did you mean \"--%s\"?", typed, near)
		     : xasprintf("unknown flag \"%s\"", typed);
	free(typed);
	return error;
}

/* Reads the flag at argv[*i] with its value; leaves *i at its last word. */
static char *
read_flag(struct flag_set *set, int argc, char **argv, int *i)
{
	const char *word = argv[*i];
	bool letter = word[1] != '-';
	const char *equals = letter ? NULL : strchr(word, '=');
	size_t len = letter ? strlen(word) - 1
	    : equals	    ? (size_t)(equals - word) - 2
			    : strlen(word) - 2;
	struct flag *flag =
	    letter && len != 1 ? NULL : flag_typed(set, word + (letter ? 1 : 2), len, letter);
	char name[FLAG_NAME_BYTES];

	if (!flag)
		return unknown_flag(set, word);
	flag_spell(flag->name, name);
	if (flag->value && !flag->list)
		return xasprintf("flag \"--%s\" is given twice", name);
	if (flag->list && flag->list->n == FLAG_VALUES_MAX)
		return xasprintf(
		    "flag \"--%s\" is given more than %d times", name, FLAG_VALUES_MAX);
	if (!flag->arg) {
		if (equals)
			return xasprintf("flag \"--%s\" takes no value", name);
		flag->value = "";
	} else if (equals) {
		flag->value = equals + 1;
	} else if (*i + 1 == argc || !strncmp(argv[*i + 1], "--", 2)) {
		/* a value that starts so is written --name=--value: a forgotten one must not eat a
		 * flag */
		return xasprintf("flag \"--%s\" needs a value: %s", name, flag->arg);
	} else {
		flag->value = argv[++*i];
	}
	if (flag->list)
		flag->list->values[flag->list->n++] = flag->value;
	return NULL;
}

bool
flag_read(struct flag_set *set, int argc, char **argv, size_t args_max, bool first_only,
    int *ret_used, char **ret_error)
{
	bool flags = true;
	char *error;
	int i;

	assert(args_max <= FLAG_ARGS_MAX);
	for (i = 0; i < argc; i++) {
		if (flags && !strcmp(argv[i], "--")) {
			flags = false;
		} else if (flags && argv[i][0] == '-' && argv[i][1]) {
			if ((error = read_flag(set, argc, argv, &i))) {
				*ret_error = error;
				return false;
			}
		} else if (first_only) {
			break;
		} else if (set->n_args == args_max) {
			*ret_error = xasprintf(
			    "what is \"%s\" for? a flag's value stands behind its flag", argv[i]);
			return false;
		} else {
			set->args[set->n_args++] = argv[i];
		}
	}
	if (ret_used)
		*ret_used = i;
	return true;
}
