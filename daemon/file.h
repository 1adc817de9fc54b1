/* Small files read whole: config and policies. */
#ifndef EFFECTD_FILE_H
#define EFFECTD_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The bytes of a regular file (symbolic links are followed), a NUL added behind them; owned by the
 * caller. NULL: *ret_why is an owned half sentence ("is not a regular file"), and *ret_missing says
 * whether there is no such file. Never waits for a fifo's writer.
 */
char *file_read(
    const char *path, size_t bytes_max, size_t *ret_len, bool *ret_missing, char **ret_why);

#endif
