/*
 * How every verb begins: the flags that all of them take, --help, and one clear line for what was
 * typed wrong.
 */
#ifndef EFFECTD_USAGE_H
#define EFFECTD_USAGE_H

#include "ctl.h"
#include "flag.h"

#include <stdint.h>

#define USAGE_GO_ON (-1)

/*
 * Adds the common flags to the verb's own, reads ctl->argv and takes -s and --json into ctl. `args`
 * is what --help calls the arguments ("" = none), of which there are args_min to args_max. Returns
 * USAGE_GO_ON, or the exit code where the verb is over (--help, or what was wrong was told).
 */
int usage_read(
    struct ctl *ctl, struct flag_set *set, const char *args, size_t args_min, size_t args_max);
/* Adds --deadline, for the verbs that speak to the daemon. */
void usage_add_deadline(struct flag_set *set);
/* Its value, or the default. False: told, exit CTL_USAGE. */
bool usage_deadline(const struct ctl *ctl, struct flag_set *set, int64_t *ret_ms);
/* Adds the common flags alone and reads the words before the verb. */
int usage_read_global(struct ctl *ctl, struct flag_set *set, int argc, char **argv, int *ret_used);
/* Was `name` given? For flags without value. */
bool usage_given(struct flag_set *set, const char *name);
/* The value of a flag, or NULL. */
const char *usage_value(struct flag_set *set, const char *name);

#endif
