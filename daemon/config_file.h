/* Reads a config file into a struct config that already holds the defaults. For config.c only. */
#ifndef EFFECTD_CONFIG_FILE_H
#define EFFECTD_CONFIG_FILE_H

#include "config.h"

#include <stdbool.h>

/*
 * False: *ret_error (owned) is one line with file and line, `config` may be half filled. A file
 * that is not there is an error only if `must_exist`; then *ret_read says whether there was one.
 */
bool config_file_read(
    struct config *config, const char *path, bool must_exist, bool *ret_read, char **ret_error);

#endif
