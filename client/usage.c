/*
 * The common part of all command lines. What single verbs take does not belong here. Keeps nothing:
 * values are argv's.
 */
#include "usage.h"

#include "ask.h"
#include "show.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_MS_MAX_OURS 3600000

const char *
usage_value(struct flag_set *set, const char *name)
{
	return flag_find(set, name)->value;
}

bool
usage_given(struct flag_set *set, const char *name)
{
	return usage_value(set, name) != NULL;
}

static void
add_common(struct flag_set *set)
{
	flag_add(set, "socket", 's', "PATH",
	    "the daemon's socket (default: $EFFECTD_SOCKET, the user's, the system's)");
	flag_add(set, "json", 0, NULL, "one JSON object on standard output, errors too");
	flag_add(set, "help", 'h', NULL, "this text");
}

static void
take_common(struct ctl *ctl, struct flag_set *set)
{
	if (usage_given(set, "socket"))
		ctl->socket = usage_value(set, "socket");
	ctl->json = ctl->json || usage_given(set, "json");
}

static void
print_help(const struct ctl *ctl, const struct flag_set *set, const char *args)
{
	char left[80], name[FLAG_NAME_BYTES];

	printf("usage: effectctl %s [FLAG...]%s%s\n\n", ctl->verb, *args ? " " : "", args);
	for (size_t i = 0; i < set->n; i++) {
		const struct flag *f = &set->flags[i];

		snprintf(left, sizeof left, "--%s%s%s", flag_spell(f->name, name),
		    f->arg ? " " : "", f->arg ? f->arg : "");
		if (f->letter)
			printf("  -%c, %-22s %s\n", f->letter, left, f->help);
		else
			printf("  %-26s %s\n", left, f->help);
	}
}

/* The flags could not be read, and yet it must be known how errors are wanted. */
static bool
wants_json(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

static int
refuse(struct ctl *ctl, int argc, char **argv, char *error)
{
	ctl->json = ctl->json || wants_json(argc, argv);
	show_failure(ctl, CTL_USAGE, "usage", "%s%s%s", ctl->verb ? ctl->verb : "",
	    ctl->verb ? ": " : "", error);
	free(error);
	return CTL_USAGE;
}

int
usage_read_global(struct ctl *ctl, struct flag_set *set, int argc, char **argv, int *ret_used)
{
	char *error;

	add_common(set);
	flag_add(set, "version", 0, NULL, "the version");
	if (!flag_read(set, argc, argv, 0, true, ret_used, &error))
		return refuse(ctl, argc, argv, error);
	take_common(ctl, set);
	return USAGE_GO_ON;
}

int
usage_read(
    struct ctl *ctl, struct flag_set *set, const char *args, size_t args_min, size_t args_max)
{
	char *error;

	add_common(set);
	if (!flag_read(set, ctl->argc, ctl->argv, args_max, false, NULL, &error))
		return refuse(ctl, ctl->argc, ctl->argv, error);
	take_common(ctl, set);
	if (usage_given(set, "help")) {
		print_help(ctl, set, args);
		return CTL_OK;
	}
	if (set->n_args < args_min)
		return show_failure(ctl, CTL_USAGE, "usage", "%s: %s is missing", ctl->verb, args);
	return USAGE_GO_ON;
}

void
usage_add_deadline(struct flag_set *set)
{
	flag_add(set, "deadline", 0, "DURATION", "how long to keep asking (default: 5s)");
}

bool
usage_deadline(const struct ctl *ctl, struct flag_set *set, int64_t *ret_ms)
{
	const char *value = usage_value(set, "deadline");

	*ret_ms = ASK_DEADLINE_MS;
	if (value && (!text_duration_ms(value, ret_ms) || *ret_ms > DEADLINE_MS_MAX_OURS)) {
		show_failure(ctl, CTL_USAGE, "usage",
		    "%s: flag \"--deadline\" takes a duration such as 500ms or 5s, up to 1h, not "
		    "\"%s\"",
		    ctl->verb, value);
		return false;
	}
	return true;
}
