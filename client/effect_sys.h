/* What the system is asked for beside the socket: a clock, randomness, who we are. */
#ifndef EFFECT_SYS_H
#define EFFECT_SYS_H

#include <stdbool.h>
#include <stdint.h>

#define EFFECT_UUID_BYTES 37 /* with its NUL */

#define EFFECT_SYS_NO_CLOCK (INT64_MAX / 4)

/*
 * Milliseconds of a clock that goes on while the host sleeps, as leases do. EFFECT_SYS_NO_CLOCK,
 * which is later than any time, where the system has none: then whatever was granted before is
 * late.
 */
int64_t effect_sys_now_ms(void);
/* False: the system has no randomness to give. */
bool effect_sys_random(void *to, unsigned len);
/* A random UUID, version 4; false as above. */
bool effect_sys_uuid(char ret[EFFECT_UUID_BYTES]);

#endif
