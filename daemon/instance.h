/*
 * Who this daemon is to the ledger: the instance, a UUID that lives in state_dir, and the boot, a
 * UUID made at each start. Boots of one instance are ordered: a later one is greater, byte by byte,
 * whatever the clocks say, so that SQL can tell a message of an earlier boot that was held up from
 * one of this.
 */
#ifndef EFFECTD_INSTANCE_H
#define EFFECTD_INSTANCE_H

#include "digest.h"
#include "errors.h"

/*
 * Once at start, when the state folder is ours: reads the instance, or makes it on the very first
 * start, and takes the next boot's number. Both are on disk when it returns. 0, or ERR_UNAVAILABLE
 * with *ret_error an owned sentence that names the file.
 */
int instance_load(const char *state_dir, char **ret_error) must_check;

/* Both nil before instance_load(). */
const struct uuid *instance_id(void);
const struct uuid *instance_boot(void);
/* This host's name, as it is told to people; never NULL. */
const char *instance_host(void);
/* How long ago instance_load() was: since when this boot is. 0 before it. */
int64_t instance_up_ms(void);

#endif
