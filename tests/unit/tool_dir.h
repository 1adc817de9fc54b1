/*
 * A folder of policies for a test: written, loaded, and the error of what does not load. For the
 * tests of tool and its parts; setup() and teardown() are the fixture.
 */
#ifndef EFFECTD_TESTS_TOOL_DIR_H
#define EFFECTD_TESTS_TOOL_DIR_H

#include "alloc.h"
#include "tap.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static inline void
setup(void)
{
	strcpy(dir, "/tmp/check_tool.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static inline void
teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static inline void
write_bytes(const char *name, const char *text, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

static inline void
write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static inline struct tool_set *
load_dir(bool trust_annotations)
{
	struct tool_set *set;
	char *error = NULL;
	bool missing = true;

	set = tool_set_load(dir, trust_annotations, &missing, &error);
	ck_assert_msg(set != NULL, "%s", error);
	ck_assert(!missing);
	return set;
}

static inline struct tool_set *
load(const char *text)
{
	write_file("a.json", text);
	return load_dir(false);
}

/* The error without the folder; static memory. */
static inline const char *
dir_error(bool trust_annotations)
{
	static char rest[1024];
	struct tool_set *set;
	char *error = NULL;
	bool missing;

	set = tool_set_load(dir, trust_annotations, &missing, &error);
	ck_assert_ptr_null(set);
	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_null(strpbrk(error, "\n\t\x1b\x7f"));
	ck_assert_msg(strncmp(error, dir, strlen(dir)) == 0, "%s", error);
	snprintf(rest, sizeof rest, "%s", error + strlen(dir) + 1);
	free(error);
	return rest;
}

static inline const char *
error_of(const char *text)
{
	write_file("a.json", text);
	return dir_error(false);
}

/* A policy {"name":"t",MEMBERS} fails with "a.json: 't': ERROR". */
static inline void
expect_error(const char *members, const char *error)
{
	char *text = xasprintf("{\"name\":\"t\",%s}", members);
	char *whole = xasprintf("a.json: 't': %s", error);

	ck_assert_str_eq(error_of(text), whole);
	free(text);
	free(whole);
}

static inline void
expect_good(const char *members)
{
	char *text = xasprintf("{\"name\":\"t\",%s}", members);

	tool_set_free(load(text));
	free(text);
}

#endif
