/* Who the daemon is: one instance for ever, a later boot at each start, and no guess where a file
 * is not ours. */
#include "instance.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64], path_instance[96], path_boots[96];

static void
setup(void)
{
	strcpy(dir, "/tmp/check_instance.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path_instance, sizeof path_instance, "%s/instance", dir);
	snprintf(path_boots, sizeof path_boots, "%s/boots", dir);
}

static void
teardown(void)
{
	unlink(path_instance);
	unlink(path_boots);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void
load(void)
{
	char *error = NULL;

	ck_assert_int_eq(instance_load(dir, &error), 0);
	ck_assert_ptr_null(error);
}

static void
refused(const char *path, const char *text)
{
	char *error = NULL;
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	ck_assert_int_eq(instance_load(dir, &error), ERR_UNAVAILABLE);
	ck_assert_ptr_nonnull(strstr(error, path));
	free(error);
}

START_TEST(instance_outlives_the_boot)
{
	struct uuid first;

	load();
	first = *instance_id();
	ck_assert(!uuid_equal(&first, instance_boot()));
	load();
	ck_assert(uuid_equal(&first, instance_id()));
}
END_TEST

/* As PostgreSQL compares them: byte by byte. 300 starts carry over from one byte to the next. */
START_TEST(each_boot_is_greater_than_the_one_before)
{
	struct uuid before;

	load();
	for (int i = 0; i < 300; i++) {
		before = *instance_boot();
		load();
		ck_assert_int_gt(memcmp(instance_boot()->b, before.b, sizeof before.b), 0);
		ck_assert_int_eq(instance_boot()->b[6] >> 4, 8);
	}
}
END_TEST

/* A folder of a version that did not count yet, or whose count was lost. */
START_TEST(an_instance_without_a_count_starts_at_one)
{
	struct uuid first;

	load();
	first = *instance_id();
	unlink(path_boots);
	load();
	ck_assert(uuid_equal(&first, instance_id()));
	ck_assert_int_eq(instance_boot()->b[5], 1);
}
END_TEST

START_TEST(file_that_holds_anything_else_is_refused)
{
	refused(path_instance, "not a uuid\n");
	refused(path_instance, "");
	unlink(path_instance);
	load();
	refused(path_boots, "");
	refused(path_boots, "\n");
	refused(path_boots, "12");
	refused(path_boots, "-1\n");
	refused(path_boots, "0x10\n");
	refused(path_boots, "281474976710655\n");
	refused(path_boots, "99999999999999999999999\n");
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("instance");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, instance_outlives_the_boot);
	tcase_add_test(tc, each_boot_is_greater_than_the_one_before);
	tcase_add_test(tc, an_instance_without_a_count_starts_at_one);
	tcase_add_test(tc, file_that_holds_anything_else_is_refused);
	return tap_run("instance", tc);
}
