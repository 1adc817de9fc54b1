/*
 * Instants as people type and read them. Pure, but for the time zone of the environment.
 */
#ifndef EFFECTD_WHEN_H
#define EFFECTD_WHEN_H

#include "buf.h"

#include <stdbool.h>
#include <stdint.h>

/* What when_read() takes, for messages. */
#define WHEN_FORMS "2026-11-30T08:00:00Z, 2026-11-30, \"2026-11-30 08:00\", today, yesterday or now"

/*
 * Milliseconds since the Unix epoch. An instant of RFC 3339 is exact; a date (its midnight), a date
 * and time without an offset, `today` and `yesterday` (their midnight) are of the local time zone;
 * `now` is now_ms. False (ret untouched): it is none of these, there is no such day or time, or it
 * is before 1970.
 */
bool when_read(const char *text, int64_t now_ms, int64_t *ret_ms);
/* Appends `30 Nov 2026`, or with the time behind it, `30 Nov 2026 08:00`, in UTC. */
void when_add_day(struct buf *out, int64_t ms);
void when_add_minute(struct buf *out, int64_t ms);
/* The clock of the host. */
int64_t when_now_ms(void);

#endif
