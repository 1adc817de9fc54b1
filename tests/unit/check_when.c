/*
 * Instants as people type them: those of RFC 3339 are exact, dates and times without an offset are
 * those of the clocks of here, and what is no instant is refused.
 */
#include "tap.h"
#include "when.h"

#include <stdlib.h>
#include <time.h>

#define NOW_MS INT64_C(1796027400123) /* 2026-11-30T08:30:00.123Z */
#define S INT64_C(1000)

static void
reads(const char *text, int64_t expected_ms)
{
	int64_t ms = -1;

	ck_assert_msg(when_read(text, NOW_MS, &ms), "%s is an instant", text);
	ck_assert_msg(
	    ms == expected_ms, "%s is %lld, not %lld", text, (long long)ms, (long long)expected_ms);
}

static void
refuses(const char *text)
{
	int64_t ms = -7;

	ck_assert_msg(!when_read(text, NOW_MS, &ms), "\"%s\" is no instant", text);
	ck_assert_int_eq(ms, -7);
}

static void
in_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

START_TEST(instants_are_exact_in_every_zone)
{
	static const char *const zones[] = {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "EAST-11"};

	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
		in_zone(zones[i]);
		reads("2026-11-30T08:30:00Z", 1796027400 * S);
		reads("2026-11-30t08:30:00.123456z", NOW_MS);
		reads("2026-11-30T09:30:00+01:00", 1796027400 * S);
		reads("2026-11-30 02:00:00-06:30", 1796027400 * S);
		reads("now", NOW_MS);
	}
}
END_TEST

START_TEST(dates_and_times_without_an_offset_are_of_here)
{
	in_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	reads("2026-11-30", 1795993200 * S);
	reads("2026-11-30 09:30", 1796027400 * S);
	reads("2026-11-30T09:30:00", 1796027400 * S);
	reads("2026-07-01", 1782856800 * S); /* summer: two hours from UTC */
	reads("today", 1795993200 * S);
	reads("yesterday", 1795906800 * S);
	in_zone("UTC0");
	reads("today", 1795996800 * S);
}
END_TEST

START_TEST(days_of_23_and_25_hours)
{
	int64_t ms, before;

	in_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	ck_assert(when_read("2026-03-30", NOW_MS, &ms) && when_read("2026-03-29", NOW_MS, &before));
	ck_assert_int_eq(ms - before, 23 * 3600 * S);
	ck_assert(when_read("2026-10-26", NOW_MS, &ms) && when_read("2026-10-25", NOW_MS, &before));
	ck_assert_int_eq(ms - before, 25 * 3600 * S);
	/* the morning after the clocks went back */
	ck_assert(when_read("yesterday", before + 30 * 3600 * S, &ms));
	ck_assert_int_eq(ms, before);
}
END_TEST

START_TEST(what_is_no_instant_is_refused)
{
	static const char *const texts[] = {"", "2026", "2026-11", "2026-02-29", "2026-04-31",
	    "2026-13-01", "2026-00-10", "2026-11-30T", "2026-11-30T24:00:00Z",
	    "2026-11-30T08:60:00Z", "2026-11-30T08:30:00Zulu", "2026-11-30 08:30 ", " 2026-11-30",
	    "30.11.2026", "1796027400", "tomorrow", "Today", "2026-11-30\n08:30",
	    "1969-12-31T23:59:59Z",
	    "2026-11-30T08:30:00."
	    "1234567890123456789012345678901234567890123456789012345678901234Zx"};

	in_zone("UTC0");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		refuses(texts[i]);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("when");

	tcase_add_test(tc, instants_are_exact_in_every_zone);
	tcase_add_test(tc, dates_and_times_without_an_offset_are_of_here);
	tcase_add_test(tc, days_of_23_and_25_hours);
	tcase_add_test(tc, what_is_no_instant_is_refused);
	return tap_run("when", tc);
}
