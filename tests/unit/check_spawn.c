/*
 * Starting a command: what became of the start is never mixed up with what the command itself does,
 * and the command finds the world as our caller left it.
 */
#include "spawn.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct signals signals;
static int error, status;
static char out[4096];
static char ignored[32]; /* by our caller, as the kernel writes it */

static bool
never_cb(void *arg)
{
	(void)arg;
	return false;
}

/* Starts it, reads what it prints, waits for both ends. */
static enum spawn_news
run(bool (*may_start)(void *arg), char *const *argv)
{
	int output[2], news_fd = -1;
	struct spawn what = {.argv = argv, .signals = &signals, .may_start = may_start};
	struct pollfd pfd;
	enum spawn_news news;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
	what.out_fd = output[1];
	pid = spawn(&what, &news_fd);
	ck_assert(pid > 0);
	close(output[1]);
	while ((n = read(output[0], out + len, sizeof out - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(output[0]);
	pfd = (struct pollfd){.fd = news_fd, .events = POLLIN};
	ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
	error = 0;
	news = spawn_news(news_fd, &error);
	close(news_fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return news;
}

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

START_TEST(a_command_is_found_along_the_path)
{
	ck_assert_int_eq(run(NULL, WORDS("sh", "-c", "echo here; exit 3")), SPAWN_STARTED);
	ck_assert_str_eq(out, "here\n");
	ck_assert_int_eq(WEXITSTATUS(status), 3);
}
END_TEST

/* case 73: what could not be started is told from a command that says so of itself */
START_TEST(only_a_refused_exec_is_a_refusal)
{
	ck_assert_int_eq(run(NULL, WORDS("/no/such/command")), SPAWN_REFUSED);
	ck_assert_int_eq(error, ENOENT);
	ck_assert_int_eq(run(NULL, WORDS("/etc/passwd")), SPAWN_REFUSED);
	ck_assert_int_eq(error, EACCES);
	ck_assert_int_eq(run(NULL, WORDS("/")), SPAWN_REFUSED);
	ck_assert_int_eq(error, EACCES);
	for (int code = 125; code < 128; code++) {
		char text[] = "exit 12x";

		text[7] = (char)('0' + code - 120);
		ck_assert_int_eq(run(NULL, WORDS("sh", "-c", text)), SPAWN_STARTED);
		ck_assert_int_eq(WEXITSTATUS(status), code);
	}
	ck_assert_int_eq(
	    run(NULL, WORDS("sh", "-c", "exec /no/such/command 2>/dev/null")), SPAWN_STARTED);
	ck_assert_int_eq(run(NULL, WORDS("sh", "-c", "kill -9 $$")), SPAWN_STARTED);
	ck_assert_int_eq(WTERMSIG(status), 9);
}
END_TEST

START_TEST(the_child_itself_asks_whether_it_may_start)
{
	ck_assert_int_eq(run(never_cb, WORDS("sh", "-c", "echo started")), SPAWN_LATE);
	ck_assert_str_eq(out, "");
}
END_TEST

/* case 75: nothing of ours is left in the command */
START_TEST(the_command_has_no_descriptor_of_ours)
{
	ck_assert_int_eq(run(NULL, WORDS("sh", "-c", "ls /proc/self/fd | wc -l")), SPAWN_STARTED);
	/* ls has the folder itself open, and whatever our own caller gave us */
	int n_ours = 0, n_given = 0;

	sscanf(out, "%d", &n_ours);
	for (int fd = 0; fd < 100; fd++) {
		int flags = fcntl(fd, F_GETFD);

		n_given += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	ck_assert_int_eq(n_ours, n_given + 1);
}
END_TEST

START_TEST(signals_are_as_our_caller_left_them)
{
	char expected[64];

	/* of SIGINT: blocked by us, and not in it; of SIGPIPE: ignored by us, and not in it */
	ck_assert_int_eq(
	    run(NULL,
		WORDS("sh", "-c",
		    "while read -r name value; do case $name in SigBlk: | SigIgn:) echo "
		    "$value;; esac; done </proc/self/status")),
	    SPAWN_STARTED);
	snprintf(expected, sizeof expected, "0000000000000000\n%s\n", ignored);
	ck_assert_str_eq(out, expected);
	ck_assert_int_eq(
	    run(NULL, WORDS("sh", "-c", "kill -INT $$; echo not reached")), SPAWN_STARTED);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}
END_TEST

START_TEST(signals_come_as_words)
{
	struct signals_word word;

	ck_assert(!signals_next(&signals, &word));
	kill(getpid(), SIGTERM);
	ck_assert(signals_next(&signals, &word));
	ck_assert_int_eq(word.number, SIGTERM);
	ck_assert_int_eq(word.sender, getpid());
	ck_assert(!word.from_terminal);
	ck_assert(!signals_next(&signals, &word));
}
END_TEST

static void
start(void)
{
	ck_assert(signals_take(&signals));
}

static void
end(void)
{
	close(signals.fd);
	signals_restore(&signals);
}

/* Who runs this may ignore signals of his own; those that are spoken of here are not. */
static void
know_our_caller(void)
{
	FILE *self;
	char line[128];

	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	self = fopen("/proc/self/status", "r");
	while (self && fgets(line, sizeof line, self))
		if (sscanf(line, "SigIgn: %31s", ignored) == 1)
			break;
	if (self)
		fclose(self);
}

int
main(void)
{
	TCase *tc = tap_case("spawn");

	know_our_caller();

	tcase_add_checked_fixture(tc, start, end);
	tcase_add_test(tc, a_command_is_found_along_the_path);
	tcase_add_test(tc, only_a_refused_exec_is_a_refusal);
	tcase_add_test(tc, the_child_itself_asks_whether_it_may_start);
	tcase_add_test(tc, the_command_has_no_descriptor_of_ours);
	tcase_add_test(tc, signals_are_as_our_caller_left_them);
	tcase_add_test(tc, signals_come_as_words);
	return tap_run("spawn", tc);
}
