/*
 * Flags of a command line: nothing of it is skipped in silence.
 */
#include "flag.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct flag_set set;
static char *error;
static int used;

static void
start(void)
{
	set = (struct flag_set){0};
	error = NULL;
	flag_add(&set, "lease_ms", 0, "MS", "");
	flag_add(&set, "key", 0, "KEY", "");
	flag_add(&set, "json", 0, NULL, "");
	flag_add(&set, "socket", 's', "PATH", "");
}

static void
end(void)
{
	free(error);
}

/* Words, NULL-terminated. */
static bool
read_words(char **words, size_t args_max, bool first_only)
{
	int n = 0;

	while (words[n])
		n++;
	return flag_read(&set, n, words, args_max, first_only, &used, &error);
}

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

static void
refused(char **words, const char *why)
{
	ck_assert(!read_words(words, 1, false));
	ck_assert_str_eq(error, why);
}

START_TEST(values_stand_behind_or_after_an_equals_sign)
{
	ck_assert(read_words(
	    WORDS("--lease-ms", "5", "--key=--a=b", "-s", "/x", "--json", "effect"), 1, false));
	ck_assert_str_eq(flag_find(&set, "lease_ms")->value, "5");
	ck_assert_str_eq(flag_find(&set, "key")->value, "--a=b");
	ck_assert_str_eq(flag_find(&set, "socket")->value, "/x");
	ck_assert_ptr_nonnull(flag_find(&set, "json")->value);
	ck_assert_uint_eq(set.n_args, 1);
	ck_assert_str_eq(set.args[0], "effect");
}
END_TEST

START_TEST(a_dash_is_a_value_and_an_argument)
{
	ck_assert(read_words(WORDS("--key", "-", "-"), 1, false));
	ck_assert_str_eq(flag_find(&set, "key")->value, "-");
	ck_assert_str_eq(set.args[0], "-");
}
END_TEST

START_TEST(two_dashes_end_the_flags)
{
	ck_assert(read_words(WORDS("--", "--key"), 1, false));
	ck_assert_ptr_null(flag_find(&set, "key")->value);
	ck_assert_str_eq(set.args[0], "--key");
}
END_TEST

START_TEST(an_unknown_flag_is_refused_with_the_nearest_name)
{
	refused(
	    WORDS("--leas-ms", "5"), "unknown flag \"--leas-ms\", did you mean \"--lease-ms\"?");
}
END_TEST

START_TEST(a_flag_is_not_found_by_a_part_of_its_name_or_by_underscores)
{
	refused(WORDS("--lease", "5"), "unknown flag \"--lease\", did you mean \"--lease-ms\"?");
	free(error);
	refused(WORDS("--lease_ms=5"), "unknown flag \"--lease_ms\", did you mean \"--lease-ms\"?");
	free(error);
	refused(WORDS("-x"), "unknown flag \"-x\"");
}
END_TEST

START_TEST(a_forgotten_value_does_not_eat_the_next_flag)
{
	refused(WORDS("--key", "--json"), "flag \"--key\" needs a value: KEY");
	free(error);
	refused(WORDS("--key"), "flag \"--key\" needs a value: KEY");
}
END_TEST

START_TEST(twice_too_many_and_a_value_for_none_are_refused)
{
	refused(WORDS("--key", "a", "--key", "b"), "flag \"--key\" is given twice");
	end();
	start();
	refused(WORDS("--json=yes"), "flag \"--json\" takes no value");
	end();
	start();
	refused(WORDS("a", "b"), "what is \"b\" for? a flag's value stands behind its flag");
}
END_TEST

START_TEST(the_words_before_the_verb_end_at_the_verb)
{
	ck_assert(read_words(WORDS("--json", "begin", "--key", "a"), 0, true));
	ck_assert_int_eq(used, 1);
	ck_assert_ptr_null(flag_find(&set, "key")->value);
}
END_TEST

START_TEST(a_flag_of_many_values_keeps_all_in_order)
{
	struct flag_list list = {0};

	flag_add_many(&set, "arg", "NAME=TEXT", "", &list);
	ck_assert(read_words(
	    WORDS("--arg", "a=1", "--key", "k", "--arg=b=--x", "--arg", "a=1"), 0, false));
	ck_assert_uint_eq(list.n, 3);
	ck_assert_str_eq(list.values[0], "a=1");
	ck_assert_str_eq(list.values[1], "b=--x");
	ck_assert_str_eq(list.values[2], "a=1");
	list.n = FLAG_VALUES_MAX;
	ck_assert(!read_words(WORDS("--arg", "one=more"), 0, false));
	ck_assert_str_eq(error, "flag \"--arg\" is given more than 64 times");
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("flag");

	tcase_add_checked_fixture(tc, start, end);
	tcase_add_test(tc, values_stand_behind_or_after_an_equals_sign);
	tcase_add_test(tc, a_dash_is_a_value_and_an_argument);
	tcase_add_test(tc, two_dashes_end_the_flags);
	tcase_add_test(tc, an_unknown_flag_is_refused_with_the_nearest_name);
	tcase_add_test(tc, a_flag_is_not_found_by_a_part_of_its_name_or_by_underscores);
	tcase_add_test(tc, a_forgotten_value_does_not_eat_the_next_flag);
	tcase_add_test(tc, twice_too_many_and_a_value_for_none_are_refused);
	tcase_add_test(tc, a_flag_of_many_values_keeps_all_in_order);
	tcase_add_test(tc, the_words_before_the_verb_end_at_the_verb);
	return tap_run("flag", tc);
}
