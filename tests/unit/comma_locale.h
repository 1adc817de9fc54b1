/*
 * A locale whose decimal point is a comma, made for the test and set: on a machine that has none
 * installed a test of "no locale counts" would test nothing.
 */
#ifndef EFFECTD_TESTS_COMMA_LOCALE_H
#define EFFECTD_TESTS_COMMA_LOCALE_H

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets it for this process. */
static inline void
comma_locale_set(void)
{
	char dir[] = "/tmp/check_locale.XXXXXX", command[256];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	/* its warnings are about others' languages, and its status tells of them, too */
	snprintf(command, sizeof command,
	    "localedef --no-archive -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", dir);
	(void)!system(command);
	setenv("LOCPATH", dir, 1);
	ck_assert_msg(setlocale(LC_ALL, "de_DE.UTF-8") != NULL, "is localedef there, and de_DE?");
	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
	ck_assert_str_eq(localeconv()->decimal_point, ",");
}

#endif
