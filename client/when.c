/*
 * The reader of instants. Promise: what is no instant is refused, not guessed at: no 31 April, no
 * 25 o'clock, nothing left over behind it. Durations do not belong here (text.h). Owns no memory.
 */
#include "when.h"

#include "text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS_OF_S 1000
#define US_OF_S 1000000
#define TEXT_BYTES 64

/* The midnight before now, or the one before that; a local day has 23 to 25 hours. */
static bool
midnight(int64_t now_ms, int days_ago, int64_t *ret_ms)
{
	time_t now = (time_t)(now_ms / MS_OF_S);
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return false;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday -= days_ago;
	tm.tm_isdst = -1;
	*ret_ms = (int64_t)mktime(&tm) * MS_OF_S;
	return true;
}

/* The instant at which the clocks of here show what those of UTC show at `utc_us`. */
static bool
local(int64_t utc_us, int64_t *ret_us)
{
	time_t s = (time_t)(utc_us / US_OF_S);
	struct tm tm;

	if (!gmtime_r(&s, &tm))
		return false;
	tm.tm_isdst = -1;
	*ret_us = (int64_t)mktime(&tm) * US_OF_S + utc_us % US_OF_S;
	return true;
}

bool
when_read(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	static const char *const ends[] = {"", "T00:00:00", ":00"};
	const char *end = ends[strlen(text) == sizeof "2026-11-30" - 1 ? 1
		: strlen(text) == sizeof "2026-11-30 08:00" - 1	       ? 2
								       : 0];
	char whole[TEXT_BYTES];
	int64_t us;

	if (!strcmp(text, "now")) {
		*ret_ms = now_ms;
		return true;
	}
	if (!strcmp(text, "today") || !strcmp(text, "yesterday"))
		return midnight(now_ms, text[0] == 'y', ret_ms);
	if (snprintf(whole, sizeof whole, "%s%s", text, end) >= (int)sizeof whole)
		return false;
	if (!text_instant(text, strlen(text), false, &us) &&
	    (!text_instant(whole, strlen(whole), true, &us) || us < 0 || !local(us, &us)))
		return false;
	if (us < 0)
		return false;
	*ret_ms = us / 1000;
	return true;
}

/* Month names by hand: strftime() follows the locale. */
static struct tm
add_date(struct buf *out, int64_t ms)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t s = (time_t)(ms / MS_OF_S);
	struct tm tm = {.tm_mday = 1, .tm_year = 70};

	gmtime_r(&s, &tm);
	buf_printf(
	    out, "%d %.3s %d", tm.tm_mday, months + (ptrdiff_t)tm.tm_mon * 3, tm.tm_year + 1900);
	return tm;
}

void
when_add_day(struct buf *out, int64_t ms)
{
	add_date(out, ms);
}

void
when_add_minute(struct buf *out, int64_t ms)
{
	struct tm tm = add_date(out, ms);

	buf_printf(out, " %02d:%02d", tm.tm_hour, tm.tm_min);
}

int64_t
when_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * MS_OF_S + now.tv_nsec / 1000000;
}
