/*
 * From flags to the params of a method, by the one table members.def: the same reading for every
 * verb.
 */
#ifndef EFFECTD_MEMBER_H
#define EFFECTD_MEMBER_H

#include "buf.h"
#include "ctl.h"
#include "flag.h"

/* The verbs that speak to the daemon; bits. */
enum member_verb {
	MEMBER_BEGIN = 1,
	MEMBER_COMPLETE = 2,
	MEMBER_RELEASE = 4,
	MEMBER_UNKNOWN = 8,
	MEMBER_EXTEND = 16,
	MEMBER_KEY = 32,
	MEMBER_GET = 64,
	MEMBER_LIST = 128,
	MEMBER_RESOLVE = 256,
	MEMBER_RUN = 1024, /* its flags alone: it speaks through the library */
	MEMBER_TOKENS = MEMBER_COMPLETE | MEMBER_RELEASE | MEMBER_UNKNOWN | MEMBER_EXTEND
};

/* The bit of a verb by its name; 0 if it takes no members. */
unsigned member_verb(const char *verb);
/* Adds the verb's flags. */
void member_flags(struct flag_set *set, unsigned verb);
/*
 * Appends the params object of what was given. CTL_OK, or CTL_USAGE (a value that is no integer),
 * CTL_INPUT (no JSON, an unreadable file, no UTF-8) with one owned line in *ret_error. Reads files
 * and standard input.
 */
enum ctl_exit member_params(struct flag_set *set, unsigned verb, struct buf *out, char **ret_error);

/*
 * One JSON value as a flag or argument has it (TEXT, @FILE, -), without line breaks and outer white
 * space, appended to `out`: line breaks only stand between tokens, where they mean nothing, and the
 * wire is lines. False: *ret_error is one owned line that starts with `what`.
 */
bool member_json(const char *what, const char *value, struct buf *out, char **ret_error);
/* The same for a text already read: pure. NULL, or a static reason. */
const char *member_json_text(const char *text, size_t len, struct buf *out);

#endif
