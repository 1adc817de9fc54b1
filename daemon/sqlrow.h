/*
 * The one row that a policy's query gave, which the server was asked to write as a JSON object by
 * column. Pure.
 */
#ifndef EFFECTD_SQLROW_H
#define EFFECTD_SQLROW_H

#include "errors.h"

#include <libpq-fe.h>
#include <stddef.h>

/*
 * *ret_text (borrowed from `rows`) is the row's JSON: of one column its value as the server spelled
 * it, of any other number an object. NULL: there is no row. Returns NULL, or why no sense can be
 * made of the answer, whoever calls itself the server (valid until the next call); then nothing is
 * set.
 */
const char *sqlrow_read(
    const PGresult *rows, int bytes_max, const char **ret_text, size_t *ret_len) must_check;

#endif
