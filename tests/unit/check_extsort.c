/*
 * The external sort: whatever fits in memory and whatever does not, all comes back once and in
 * order, and a disk that fails is told.
 */
#include "extsort.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t state = 88172645463325252U;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Of 8 bytes of key and a body that is made from it, so that it can be known again. */
static size_t
make(unsigned char *record, uint64_t key, size_t body)
{
	for (int i = 0; i < 8; i++)
		record[i] = (unsigned char)(key >> (56 - 8 * i));
	for (size_t i = 0; i < body; i++)
		record[8 + i] = (unsigned char)(key + i);
	return 8 + body;
}

static uint64_t
key_of(const unsigned char *record)
{
	uint64_t key = 0;

	for (int i = 0; i < 8; i++)
		key = key << 8 | record[i];
	return key;
}

/* Sorts n records with bodies of up to body_max bytes: each comes once, whole and in order. */
static void
sorts(size_t n, size_t body_max, size_t memory_bytes)
{
	struct extsort *sort = extsort_new(8, memory_bytes);
	unsigned char *record = malloc(8 + body_max);
	uint64_t sum = 0, sum_back = 0, last = 0, key;
	const unsigned char *back;
	size_t n_back = 0, len;

	for (size_t i = 0; i < n; i++) {
		key = next() >> (i % 3 * 20); /* some are equal, many share their beginning */
		sum += key;
		ck_assert(extsort_add(sort, record, make(record, key, key % (body_max + 1))));
	}
	ck_assert(extsort_end(sort));
	while ((back = extsort_next(sort, &len))) {
		key = key_of(back);
		ck_assert(n_back == 0 || key >= last);
		ck_assert_uint_eq(len, 8 + key % (body_max + 1));
		make(record, key, len - 8);
		ck_assert_mem_eq(back, record, len);
		sum_back += key;
		last = key;
		n_back++;
	}
	ck_assert_ptr_null(extsort_why(sort));
	ck_assert_uint_eq(n_back, n);
	ck_assert_uint_eq(sum, sum_back);
	extsort_free(sort);
	free(record);
}

START_TEST(what_fits_is_sorted_in_memory)
{
	sorts(0, 0, 1 << 20);
	sorts(1, 10, 1 << 20);
	sorts(5000, 50, 1 << 20);
}
END_TEST

START_TEST(what_does_not_fit_is_spilled_and_merged)
{
	sorts(20000, 100, 1 << 18);
	sorts(20000, 100, 1 << 16);
}
END_TEST

START_TEST(runs_beyond_count_are_merged_in_passes)
{
	sorts(3000, 40, 1024); /* one pass merges two: eight passes and more */
	sorts(200, 0, 1);      /* each record is a run */
}
END_TEST

START_TEST(records_longer_than_memory_pass)
{
	sorts(30, 70000, 4096);
	sorts(3, EXTSORT_RECORD_BYTES_MAX - 8, 4096);
}
END_TEST

START_TEST(an_end_before_the_end_is_fine)
{
	struct extsort *sort = extsort_new(8, 1024);
	unsigned char record[64];
	size_t len;

	for (int i = 0; i < 500; i++)
		ck_assert(extsort_add(sort, record, make(record, next(), 20)));
	extsort_free(sort);
	sort = extsort_new(8, 1024);
	for (int i = 0; i < 500; i++)
		ck_assert(extsort_add(sort, record, make(record, next(), 20)));
	ck_assert(extsort_end(sort));
	ck_assert_ptr_nonnull(extsort_next(sort, &len));
	extsort_free(sort);
	extsort_free(NULL);
}
END_TEST

/* Adds until it fails; the line that says why. */
static void
fails(const char *why)
{
	struct extsort *sort = extsort_new(8, 4096);
	unsigned char record[64];
	bool ok = true;
	size_t len;

	for (int i = 0; ok && i < 100000; i++)
		ok = extsort_add(sort, record, make(record, next(), 40));
	ck_assert(!ok);
	ck_assert_str_eq(extsort_why(sort), why);
	ck_assert(!extsort_add(sort, record, 48));
	ck_assert(!extsort_end(sort));
	ck_assert_ptr_null(extsort_next(sort, &len));
	extsort_free(sort);
}

START_TEST(a_folder_that_is_not_there_is_told)
{
	setenv("TMPDIR", "/nonexistent", 1);
	fails("cannot make a temporary file in \"/nonexistent\": No such file or directory");
}
END_TEST

START_TEST(a_disk_that_is_full_is_told)
{
	struct rlimit limit = {.rlim_cur = 300000, .rlim_max = 300000};
	char why[200];

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	unsetenv("TMPDIR");
	snprintf(
	    why, sizeof why, "cannot write to a temporary file in \"/tmp\": %s", strerror(EFBIG));
	fails(why);
}
END_TEST

/* What is left in the folder while a sort is under way. */
START_TEST(no_name_is_left)
{
	char folder[] = "/tmp/check_extsort.XXXXXX";
	struct extsort *sort = extsort_new(8, 1024);
	unsigned char record[64];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("TMPDIR", folder, 1);
	for (int i = 0; i < 500; i++)
		ck_assert(extsort_add(sort, record, make(record, next(), 20)));
	ck_assert_int_eq(rmdir(folder), 0);
	extsort_free(sort);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("extsort");

	tcase_add_test(tc, what_fits_is_sorted_in_memory);
	tcase_add_test(tc, what_does_not_fit_is_spilled_and_merged);
	tcase_add_test(tc, runs_beyond_count_are_merged_in_passes);
	tcase_add_test(tc, records_longer_than_memory_pass);
	tcase_add_test(tc, an_end_before_the_end_is_fine);
	tcase_add_test(tc, a_folder_that_is_not_there_is_told);
	tcase_add_test(tc, a_disk_that_is_full_is_told);
	tcase_add_test(tc, no_name_is_left);
	return tap_run("extsort", tc);
}
