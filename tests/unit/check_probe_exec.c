/*
 * Exec probes with real processes: what counts as a verdict, and that nothing of a probe stays
 * behind, whatever it does.
 */
#include "child.h"
#include "loop.h"
#include "probe.h"
#include "probe_exec.h"
#include "probing.h"
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the judge ---- */

static const struct {
	enum child_end end;
	int code;
	const char *out;
	enum probe_verdict verdict;
	const char *result, *reason;
} judged[] = {
    {CHILD_EXITED, 0, "{\"verdict\":\"landed\",\"result\": {\"a\" : 1.0} ,\"reason\":\"seen\"}\n",
	PROBE_LANDED, "{\"a\" : 1.0}", "seen"},
    {CHILD_EXITED, 0, "{\"verdict\":\"landed\"}", PROBE_LANDED, NULL, NULL},
    {CHILD_EXITED, 0, " {\"verdict\":\"failed\",\"result\":null}", PROBE_FAILED, "null", NULL},
    {CHILD_EXITED, 0, "{\"verdict\":\"absent\",\"result\":1}", PROBE_ABSENT, NULL, NULL},
    {CHILD_EXITED, 0, "{\"verdict\":\"inconclusive\",\"reason\":\"busy\"}", PROBE_INCONCLUSIVE,
	NULL, "busy"},
    /* a result may be anything that ends */
    {CHILD_EXITED, 0, "{\"verdict\":\"landed\",\"result\":{\"a\":1,\"a\":\"\\ud800\"}}",
	PROBE_LANDED, "{\"a\":1,\"a\":\"\\ud800\"}", NULL},
    /* a reason that cannot be stored is none */
    {CHILD_EXITED, 0, "{\"verdict\":\"absent\",\"reason\":\"a\\u0000b\"}", PROBE_ABSENT, NULL,
	NULL},
    /* case 79: everything else is no knowledge */
    {CHILD_EXITED, 0, "", PROBE_INCONCLUSIVE, NULL, "its output is not one JSON object"},
    {CHILD_EXITED, 0, "not found", PROBE_INCONCLUSIVE, NULL, "its output is not one JSON object"},
    {CHILD_EXITED, 0, "[\"absent\"]", PROBE_INCONCLUSIVE, NULL,
	"its output is not one JSON object"},
    {CHILD_EXITED, 0, "{\"verdict\":\"absent\"} {}", PROBE_INCONCLUSIVE, NULL,
	"its output is not one JSON object"},
    {CHILD_EXITED, 0, "{\"verdict\":\"absent\"", PROBE_INCONCLUSIVE, NULL,
	"its output is not one JSON object"},
    {CHILD_EXITED, 0, "{\"verdict\":\"absent\",\"verdict\":\"landed\"}", PROBE_INCONCLUSIVE, NULL,
	"its output is not one JSON object"},
    {CHILD_EXITED, 0, "{\"verdict\":\"Absent\"}", PROBE_INCONCLUSIVE, NULL,
	"its output names no verdict"},
    {CHILD_EXITED, 0, "{\"verdict\":\"landed\\u0000\"}", PROBE_INCONCLUSIVE, NULL,
	"its output names no verdict"},
    {CHILD_EXITED, 0, "{\"verdict\":true}", PROBE_INCONCLUSIVE, NULL,
	"its output names no verdict"},
    {CHILD_EXITED, 0, "{}", PROBE_INCONCLUSIVE, NULL, "its output names no verdict"},
    {CHILD_EXITED, 1, "{\"verdict\":\"absent\"}", PROBE_INCONCLUSIVE, NULL, "exit status 1"},
    {CHILD_SIGNALED, SIGSEGV, "{\"verdict\":\"landed\"}", PROBE_INCONCLUSIVE, NULL,
	"ended by signal 11"},
    {CHILD_TIMEOUT, SIGKILL, "{\"verdict\":\"absent\"}", PROBE_INCONCLUSIVE, NULL, "timed out"},
    {CHILD_TOO_MUCH, SIGKILL, "{\"verdict\":\"absent\"}", PROBE_INCONCLUSIVE, NULL,
	"wrote too much"},
};

START_TEST(only_a_clear_word_is_a_verdict)
{
	for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
		struct child_result result = {.end = judged[i].end,
		    .code = judged[i].code,
		    .out = judged[i].out,
		    .out_len = strlen(judged[i].out),
		    .err = ""};
		char *reason = NULL;
		struct probe_answer a = probe_exec_judge(&result, &reason);

		ck_assert_msg(a.verdict == judged[i].verdict, "row %zu: %s", i,
		    probe_verdict_name(a.verdict));
		/* the only answer in good form that is none is the one that says so */
		ck_assert_msg(a.answered ==
			(a.verdict != PROBE_INCONCLUSIVE ||
			    strstr(judged[i].out, "\"inconclusive\"")),
		    "row %zu: answered %d", i, a.answered);
		if (judged[i].result) {
			ck_assert_uint_eq(a.result_len, strlen(judged[i].result));
			ck_assert(memcmp(a.result, judged[i].result, a.result_len) == 0);
		} else {
			ck_assert_msg(!a.result, "row %zu has a result", i);
		}
		ck_assert_pstr_eq(reason, judged[i].reason);
		free(reason);
	}
}
END_TEST

START_TEST(a_long_reason_ends_at_a_characters_edge)
{
	char out[4096] = "{\"verdict\":\"absent\",\"reason\":\"x";
	struct child_result result = {.end = CHILD_EXITED, .out = out, .err = ""};
	char *reason = NULL;

	for (int i = 0; i < 1000; i++)
		strcat(out, "\xc3\xa4");
	strcat(out, "\"}");
	result.out_len = strlen(out);
	ck_assert_int_eq(probe_exec_judge(&result, &reason).verdict, PROBE_ABSENT);
	ck_assert_uint_eq(strlen(reason), 999);
	free(reason);
}
END_TEST

/* ---- real processes ---- */

struct asked {
	struct probe *probe;
	bool done;
	enum probe_verdict verdict;
	char result[256];
	char reason[512];
};

static void
done_cb(void *arg, const struct probe_answer *answer)
{
	struct asked *a = arg;

	ck_assert(!a->done);
	a->done = true;
	a->verdict = answer->verdict;
	if (answer->result)
		snprintf(
		    a->result, sizeof a->result, "%.*s", (int)answer->result_len, answer->result);
	snprintf(a->reason, sizeof a->reason, "%s", answer->reason ? answer->reason : "");
	probing_ended();
}

static bool
ask(struct asked *a, const char *script, int64_t timeout_ms, char **ret_why)
{
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char *)(uintptr_t)script};
	struct probe_ask question = {.argv = argv,
	    .n_argv = 3,
	    .timeout_ms = timeout_ms,
	    .effect = {{0xab, 0xcd}},
	    .ns = "default",
	    .tool = "pay \"now\"",
	    .key = "k1",
	    .attempt = 2,
	    .claimed_at_us = 1000000,
	    .since_us = 2500000,
	    .kept = "{\"/k\":1}"};

	memset(a, 0, sizeof *a);
	a->probe = probe_start(&question, done_cb, a, ret_why);
	n_open += a->probe != NULL;
	return a->probe != NULL;
}

static void
ask_and_wait(struct asked *a, const char *script, int64_t timeout_ms)
{
	char *why = NULL;

	ck_assert_msg(ask(a, script, timeout_ms, &why), "%s", why);
	loop_run();
	ck_assert(a->done);
}

START_TEST(the_question_is_one_line_and_the_environment_scrubbed)
{
	static const char question[] =
	    "{\"namespace\":\"default\",\"tool\":\"pay \\\"now\\\"\","
	    "\"effect\":\"abcd0000-0000-0000-0000-000000000000\",\"key\":\"k1\","
	    "\"provider_key\":\"abcd0000-0000-0000-0000-000000000000\",\"attempt\":2,"
	    "\"claimed_at\":\"1970-01-01T00:00:01.000Z\",\"since\":\"1970-01-01T00:00:02.500Z\","
	    "\"kept\":{\"/k\":1}}";
	char script[2048];
	struct asked a;

	setenv("SECRET_TOKEN", "x", 1);
	snprintf(script, sizeof script,
	    "read -r line; [ \"$line\" = '%s' ] && [ $(pwd) = / ] && [ \"$EFFECT_KEY\" = k1 ] &&"
	    " [ -z \"$SECRET_TOKEN\" ] && [ $LANG = C.UTF-8 ] && echo '{\"verdict\":\"absent\"}'",
	    question);
	ask_and_wait(&a, script, 5000);
	ck_assert_msg(a.verdict == PROBE_ABSENT, "%s", a.reason);
	ask_and_wait(&a,
	    "for fd in 3 4 5 6 7 8 9; do [ ! -e /proc/self/fd/$fd ] || exit $fd; done; exec cat "
	    "/dev/null",
	    5000);
	ck_assert_str_eq(a.reason, "its output is not one JSON object");
}
END_TEST

START_TEST(ends_and_reasons)
{
	struct asked a;

	ask_and_wait(&a, "printf '{\"verdict\":\"land'; printf 'ed\",\"result\":\"r\"}'", 5000);
	ck_assert_int_eq(a.verdict, PROBE_LANDED);
	ck_assert_str_eq(a.result, "\"r\"");
	ask_and_wait(&a, "echo 'cannot\tresolve' >&2; echo more >&2; exit 7", 5000);
	ck_assert_str_eq(a.reason, "exit status 7: cannot?resolve");
	ask_and_wait(&a, "kill -9 $$", 5000);
	ck_assert_str_eq(a.reason, "ended by signal 9");
	ask_and_wait(&a, "exec sleep 100", 100);
	ck_assert_str_eq(a.reason, "timed out");
	ask_and_wait(&a, "head -c 65537 /dev/zero; exec sleep 100", 20000);
	ck_assert_str_eq(a.reason, "wrote too much");
	/* closes its output early, and does not read its input */
	ask_and_wait(&a, "exec 0<&- 1>&-; exit 0", 5000);
	ck_assert_int_eq(a.verdict, PROBE_INCONCLUSIVE);
}
END_TEST

/* By its state: one that is just being started has no command line yet. */
static bool
runs(const char *stat_path)
{
	FILE *f = fopen(stat_path, "r");
	char state = 'X';

	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'X';
	fclose(f);
	return state != 'Z' && state != 'X';
}

START_TEST(what_it_left_running_is_killed_and_not_waited_for)
{
	char path[] = "/tmp/check_probe_exec.XXXXXX", script[256], pid_text[32] = "";
	struct asked a;
	FILE *f;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	/* the grandchild holds stdout open; the verdict counts all the same */
	snprintf(script, sizeof script,
	    "sleep 1000 & echo $! > %s; echo '{\"verdict\":\"absent\"}'", path);
	ask_and_wait(&a, script, 20000);
	ck_assert_int_eq(a.verdict, PROBE_ABSENT);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(pid_text, sizeof pid_text, f));
	fclose(f);
	unlink(path);
	/* gone, or dead and waiting for whoever inherited it; the signal was sent, and is soon
	 * taken */
	snprintf(script, sizeof script, "/proc/%d/stat", atoi(pid_text));
	for (int i = 0; runs(script); i++) {
		ck_assert_int_lt(i, 1000);
		poll(NULL, 0, 10);
	}
}
END_TEST

static unsigned
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void
reaped_cb(void *arg)
{
	struct loop_timer **again = arg;
	siginfo_t info = {0};

	/* no child of ours is left, neither running nor to be reaped */
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
		loop_stop();
	else
		loop_timer_set(*again, 5);
}

/* case 83 */
START_TEST(five_hundred_probes_leave_nothing_behind)
{
	static struct asked asked[500];
	struct loop_timer *look;
	unsigned n_fds = count_fds(), n_timeouts = 0;
	char *why;

	for (unsigned i = 0; i < 500; i += 50) {
		for (unsigned k = i; k < i + 50; k++)
			ck_assert(ask(&asked[k],
			    k % 3 == 0 ? "sleep 1000 & exec sleep 1000"
				       : "echo '{\"verdict\":\"absent\"}'",
			    k % 3 == 0 ? 300 : 20000, &why));
		loop_run();
	}
	for (unsigned k = 0; k < 500; k++) {
		ck_assert(asked[k].done);
		n_timeouts += strcmp(asked[k].reason, "timed out") == 0;
		ck_assert_int_eq(asked[k].verdict, k % 3 == 0 ? PROBE_INCONCLUSIVE : PROBE_ABSENT);
	}
	ck_assert_uint_eq(n_timeouts, 167);
	look = loop_timer_new(reaped_cb, &look);
	loop_timer_set(look, 0);
	loop_run();
	loop_timer_free(look);
	ck_assert_uint_eq(count_fds(), n_fds);
}
END_TEST

START_TEST(the_leader_cannot_leave_its_group)
{
	struct asked a;

	/* it leads a session of its own, so the kernel refuses every other group */
	ask_and_wait(&a,
	    "exec perl -e 'setpgrp(0, getpgrp(getppid)) or $!{EPERM} or die;"
	    " print q({\"verdict\":\"absent\"})'",
	    20000);
	ck_assert_msg(a.verdict == PROBE_ABSENT, "%s", a.reason);
}
END_TEST

/* As the first process of a container, to whom orphans come: they are reaped, too. */
START_TEST(orphans_that_come_to_us_are_reaped)
{
	static struct asked asked[40];
	struct loop_timer *look;
	char *why;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (unsigned k = 0; k < 40; k++)
		ck_assert(ask(&asked[k],
		    k % 2 == 0 ? "sleep 1000 & (sleep 1000 &) ; exec sleep 1000"
			       : "sleep 1000 & echo '{\"verdict\":\"absent\"}'",
		    k % 2 == 0 ? 300 : 20000, &why));
	loop_run();
	look = loop_timer_new(reaped_cb, &look);
	loop_timer_set(look, 0);
	loop_run();
	loop_timer_free(look);
}
END_TEST

START_TEST(it_may_use_up_so_much_and_no_more)
{
	const char *preloaded = getenv("LD_PRELOAD");
	struct asked a;

	if (preloaded && strstr(preloaded, "vgpreload"))
		return; /* valgrind keeps some limits to itself, and what is run does not have them
			 */
	ask_and_wait(&a,
	    "[ $(ulimit -c) = 0 ] && [ $(ulimit -n) -le 1024 ] && [ $(ulimit -f) -le 131072 ] &&"
	    " [ $(ulimit -d) -le 1048576 ] && [ $(ulimit -t) -ge 21 ] && [ $(ulimit -t) -lt 60000 "
	    "] &&"
	    " [ $(umask) = 0077 ] && echo '{\"verdict\":\"absent\"}'",
	    20000);
	ck_assert_msg(a.verdict == PROBE_ABSENT, "%s", a.reason);
	/* nor is any right gained by what it runs */
	ask_and_wait(&a,
	    "grep -q '^NoNewPrivs:[[:space:]]*1' /proc/self/status &&"
	    " echo '{\"verdict\":\"absent\"}'",
	    20000);
	ck_assert_msg(a.verdict == PROBE_ABSENT, "%s", a.reason);
	/* what ignores its limits ends */
	ask_and_wait(&a, "exec head -c 70000000 /dev/zero >/tmp/effectd-ck-large.$$", 20000);
	ck_assert_msg(strncmp(a.reason, "ended by signal 25", 18) == 0, "%s", a.reason);
	ck_assert_int_eq(system("rm -f /tmp/effectd-ck-large.*"), 0);
}
END_TEST

START_TEST(signals_are_as_they_are_by_default)
{
	struct asked a;

	/* SIGPIPE is ignored by us, and SIGCHLD handled; 32 and 33 are the C library's own: it lets
	 * nobody set them, and they may have come ignored from whoever started us */
	ask_and_wait(&a,
	    "set -f; seen=$(echo $(grep -E '^Sig(Ign|Blk):' /proc/self/status)"
	    " $(ps -o sid=,tty= -p $$)); case $seen in"
	    " \"SigBlk: 0000000000000000 SigIgn: 0000000\"[01][08]\"0000000 $$ ?\") word=absent;;"
	    " *) word=inconclusive; esac;"
	    " echo \"{\\\"verdict\\\":\\\"$word\\\",\\\"reason\\\":\\\"$seen\\\"}\"",
	    20000);
	ck_assert_msg(a.verdict == PROBE_ABSENT, "%s", a.reason);
}
END_TEST

START_TEST(a_file_that_others_could_change_is_not_run)
{
	char path[] = "/tmp/check_probe_exec.XXXXXX", *argv[] = {path}, *why = NULL;
	struct probe_ask question = {.argv = argv,
	    .n_argv = 1,
	    .ns = "default",
	    .tool = "t",
	    .key = "k",
	    .timeout_ms = 1000};
	int fd = mkstemp(path);
	struct asked a;

	ck_assert_int_eq(write(fd, "#!/bin/sh\n", 10), 10);
	ck_assert_int_eq(fchmod(fd, 0775), 0);
	close(fd);
	ck_assert_ptr_null(probe_start(&question, done_cb, &a, &why));
	ck_assert_msg(strstr(why, "can be written by its group") != NULL, "%s", why);
	free(why);
	/* looked at anew for each start */
	ck_assert_int_eq(chmod(path, 0755), 0);
	why = NULL;
	a = (struct asked){0};
	a.probe = probe_start(&question, done_cb, &a, &why);
	ck_assert_msg(a.probe, "%s", why);
	n_open++;
	loop_run();
	ck_assert_str_eq(a.reason, "its output is not one JSON object");
	unlink(path);
}
END_TEST

START_TEST(what_cannot_be_started_says_why)
{
	struct rlimit limit, none;
	struct probe_ask question = {.ns = "default", .tool = "t", .key = "k", .timeout_ms = 1000};
	char *missing[] = {(char[]){"/nonexistent/probe"}}, *why = NULL;
	struct asked a;
	int free_fd;

	ck_assert_ptr_null(probe_start(&question, done_cb, &a, &why));
	ck_assert_str_eq(why, "the tool has no probe on this host");
	free(why);
	question.argv = missing;
	question.n_argv = 1;
	ck_assert_ptr_null(probe_start(&question, done_cb, &a, &why));
	ck_assert_str_eq(
	    why, "cannot run '/nonexistent/probe': '/nonexistent': No such file or directory");
	free(why);
	/* out of descriptors: no crash, nothing leaks */
	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	free_fd = dup(STDERR_FILENO);
	close(free_fd);
	none.rlim_cur = (rlim_t)free_fd + 2;
	setrlimit(RLIMIT_NOFILE, &none);
	for (int i = 0; i < 3; i++) {
		why = NULL;
		ck_assert(!ask(&a, "true", 1000, &why));
		ck_assert_ptr_nonnull(strstr(why, "Too many open files"));
		free(why);
	}
	setrlimit(RLIMIT_NOFILE, &limit);
	ask_and_wait(&a, "echo '{\"verdict\":\"absent\"}'", 5000);
	ck_assert_int_eq(a.verdict, PROBE_ABSENT);
}
END_TEST

START_TEST(a_cancelled_probe_is_never_told)
{
	struct asked cancelled, other;
	char *why;

	ck_assert(ask(&cancelled, "exec sleep 1000", 20000, &why));
	probe_cancel(cancelled.probe);
	n_open--;
	ask_and_wait(&other, "echo '{\"verdict\":\"absent\"}'", 5000);
	ck_assert(!cancelled.done);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("probe_exec");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, only_a_clear_word_is_a_verdict);
	tcase_add_test(tc, a_long_reason_ends_at_a_characters_edge);
	tcase_add_test(tc, the_question_is_one_line_and_the_environment_scrubbed);
	tcase_add_test(tc, ends_and_reasons);
	tcase_add_test(tc, what_it_left_running_is_killed_and_not_waited_for);
	tcase_add_test(tc, five_hundred_probes_leave_nothing_behind);
	tcase_add_test(tc, the_leader_cannot_leave_its_group);
	tcase_add_test(tc, orphans_that_come_to_us_are_reaped);
	tcase_add_test(tc, it_may_use_up_so_much_and_no_more);
	tcase_add_test(tc, signals_are_as_they_are_by_default);
	tcase_add_test(tc, a_file_that_others_could_change_is_not_run);
	tcase_add_test(tc, what_cannot_be_started_says_why);
	tcase_add_test(tc, a_cancelled_probe_is_never_told);
	return tap_run("probe_exec", tc);
}
