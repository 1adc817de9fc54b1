/*
 * The words and lists of libpq's connection strings, as far as libpq itself has no functions for
 * them. Pure.
 */
#ifndef EFFECTD_CONNINFO_H
#define EFFECTD_CONNINFO_H

#include "buf.h"

#include <stddef.h>

/* Appends keyword='value', quoted, behind a blank if anything stands there. */
void conninfo_add(struct buf *conninfo, const char *keyword, const char *value);
/* How many hosts, addresses or ports `list` names: at least 1, also if it is NULL. */
size_t conninfo_list_length(const char *list);
/* The i-th of them; of a list of one, that one for every i. NULL: there is none. Owned by the
 * caller. */
char *conninfo_list_part(const char *list, size_t i);

#endif
