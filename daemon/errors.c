/*
 * Lookup of what errors.def says. No error text is made up elsewhere: a module may add `why`, never
 * a new name.
 */
#include "errors.h"

#include <assert.h>

static const struct {
	int code;
	const char *name;
	const char *meaning;
} table[ERR_COUNT] = {
#define ERROR(suffix, code, name, again, meaning) {code, name, meaning},
#include "errors.def"
#undef ERROR
};

static int
index_of(int err)
{
	int i = -1 - err;

	assert(i >= 0 && i < ERR_COUNT);
	return i;
}

int
err_code(int err)
{
	return table[index_of(err)].code;
}

const char *
err_name(int err)
{
	return table[index_of(err)].name;
}

const char *
err_meaning(int err)
{
	return table[index_of(err)].meaning;
}
