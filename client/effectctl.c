/*
 * effectctl: the command line of effectd. Reads what stands before the verb and hands over; exports
 * nothing. A verb is a line in verbs.def and a function in ctl_<verb>.c; what verbs have in common
 * stands below them (ask, member, show, table, usage).
 */
#include "alloc.h"
#include "ctl.h"
#include "flag.h"
#include "show.h"
#include "text.h"
#include "usage.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct verb {
	const char *name;
	int (*handler)(struct ctl *ctl);
	const char *help;
} verbs[] = {
#define VERB(name, handler, help) {name, handler, help},
#include "verbs.def"
#undef VERB
};
static const size_t n_verbs = sizeof verbs / sizeof *verbs;

static int
help(void)
{
	printf("usage: effectctl [-s SOCKET] [--json] VERB [FLAG...]\n\n");
	for (size_t i = 0; i < n_verbs; i++)
		printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
	printf("\nThe flags of a verb: effectctl VERB --help. The rest, and the exit codes: "
	       "effectctl(1).\n");
	return CTL_OK;
}

static int
unknown_verb(const struct ctl *ctl, const char *word)
{
	const char *names[sizeof verbs / sizeof *verbs], *near;

	for (size_t i = 0; i < n_verbs; i++)
		names[i] = verbs[i].name;
	near = text_nearest(word, names, n_verbs);
	if (near)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "unknown verb \"%s\", did you mean \"%s\"?", word, near);
	return show_failure(
	    ctl, CTL_USAGE, "usage", "unknown verb \"%s\" (effectctl --help lists them)", word);
}

static int
run(int argc, char **argv)
{
	struct ctl ctl = {0};
	struct flag_set set = {0};
	int n_used = 0;
	int code = usage_read_global(&ctl, &set, argc - 1, argv + 1, &n_used);

	if (code != USAGE_GO_ON)
		return code;
	if (usage_given(&set, "help"))
		return help();
	if (usage_given(&set, "version")) {
		printf("effectctl %s\n", PACKAGE_VERSION);
		return CTL_OK;
	}
	if (n_used == argc - 1)
		return show_failure(
		    &ctl, CTL_USAGE, "usage", "a verb is missing (effectctl --help lists them)");
	for (size_t i = 0; i < n_verbs; i++) {
		if (!strcmp(verbs[i].name, argv[1 + n_used])) {
			ctl.verb = verbs[i].name;
			ctl.argc = argc - n_used - 2;
			ctl.argv = argv + n_used + 2;
			return verbs[i].handler(&ctl);
		}
	}
	return unknown_verb(&ctl, argv[1 + n_used]);
}

int
main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	show_init();
	return show_end(run(argc, argv));
}
