/*
 * The system, asked. Promise: a UUID is from the kernel or there is none, never from a seed of
 * ours: two processes with one `request` would be told one grant.
 */
#include "effect_sys.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

int64_t
effect_sys_now_ms(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return EFFECT_SYS_NO_CLOCK;
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool
effect_sys_random(void *to, unsigned len)
{
	unsigned n = 0;

	while (n < len) {
		ssize_t got = getrandom((char *)to + n, len - n, 0);

		if (got > 0)
			n += (unsigned)got;
		else if (got == 0 || errno != EINTR)
			return false;
	}
	return true;
}

bool
effect_sys_uuid(char ret[EFFECT_UUID_BYTES])
{
	unsigned char b[16];

	if (!effect_sys_random(b, sizeof b))
		return false;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(ret, EFFECT_UUID_BYTES,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
	    b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
	    b[15]);
	return true;
}
