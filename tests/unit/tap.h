/*
 * What every unit test ends with: one libcheck suite, told as TAP on stdout and nothing else there.
 *
 *	int
 *	main(void)
 *	{
 *		TCase *tc = tap_case("json");
 *
 *		tcase_add_test(tc, scanner_refuses_trailing_commas);
 *		return tap_run("json", tc);
 *	}
 */
#ifndef EFFECTD_TESTS_TAP_H
#define EFFECTD_TESTS_TAP_H

#include <check.h>
#include <stdlib.h>

/* A case with room for sanitizers and slow machines. */
static inline TCase *
tap_case(const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 60);
	return tc;
}

/* Runs the case; the exit code for main. libcheck writes TAP where this variable says, and else
 * prints its own format. */
static inline int
tap_run(const char *name, TCase *tc)
{
	Suite *s = suite_create(name);
	SRunner *sr;
	int n_failed;

	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_set_tap(sr, "-");
	srunner_run_all(sr, CK_SILENT);
	n_failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
