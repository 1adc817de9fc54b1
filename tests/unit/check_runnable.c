/* Which files may be run: the walk from / to them, folder by folder and link by link. */
#include "alloc.h"
#include "runnable.h"
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/effectd-ck-XXXXXX";

/* A path below the test's folder; the text is the test's till its end. */
static const char *
at(const char *name)
{
	static char *paths[16];
	static size_t n;
	char **path = &paths[n++ % 16];

	free(*path);
	*path = xasprintf("%s/%s", dir, name);
	return *path;
}

static void
folder(const char *name, mode_t mode)
{
	ck_assert_int_eq(mkdir(at(name), 0700), 0);
	ck_assert_int_eq(chmod(at(name), mode), 0);
}

static void
program(const char *name, mode_t mode)
{
	int fd = open(at(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0700);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void
link_to(const char *name, const char *target)
{
	ck_assert_int_eq(symlink(target, at(name)), 0);
}

static void
setup(void)
{
	strcpy(dir, "/tmp/effectd-ck-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
teardown(void)
{
	char *line = xasprintf("chmod -R u+rwx %s; rm -rf %s", dir, dir);

	ck_assert_int_eq(system(line), 0);
	free(line);
}

static void
passes(const char *path)
{
	bool missing = true;
	char *why = NULL;

	ck_assert_msg(runnable_check(path, &missing, &why), "%s: %s", path, why);
	ck_assert(!missing && !why);
}

/* `what` is the part of the test's folder that the reason names. */
static void
refused(const char *path, const char *what, const char *rule)
{
	char *why = NULL, *want = xasprintf("'%s'%s", what[0] == '/' ? what : at(what), rule);
	bool missing = true;

	ck_assert_msg(!runnable_check(path, &missing, &why), "%s passes", path);
	ck_assert_msg(strncmp(why, want, strlen(want)) == 0, "%s, not %s", why, want);
	ck_assert(!missing);
	free(want);
	free(why);
}

START_TEST(what_only_root_and_we_can_change_is_run)
{
	passes("/bin/sh"); /* /bin may be a link, and sh is one */
	passes("//usr/./bin/../bin/env");
	folder("bin", 0755);
	program("bin/probe", 0755);
	passes(at("bin/probe"));
	program("bin/mine", 0700);
	passes(at("bin/mine"));
	/* what stands in a sticky folder is its owner's: /tmp is one */
	folder("shared", 01777);
	program("shared/probe", 0755);
	passes(at("shared/probe"));
	link_to("link", "bin/../bin/probe");
	link_to("again", at("link"));
	passes(at("again"));
	link_to("folder", "bin");
	passes(at("folder/probe"));
}
END_TEST

START_TEST(what_others_can_write_is_not)
{
	folder("bin", 0755);
	program("bin/group", 0775);
	refused(at("bin/group"), "bin/group", " can be written by its group (mode 0775)");
	program("bin/others", 0757);
	refused(at("bin/others"), "bin/others", " can be written by anybody (mode 0757)");
	program("bin/probe", 0755);
	ck_assert_int_eq(chmod(at("bin"), 0775), 0);
	refused(at("bin/probe"), "bin", " can be written by its group (mode 0775)");
	ck_assert_int_eq(chmod(at("bin"), 0777), 0);
	refused(at("bin/probe"), "bin", " can be written by anybody (mode 0777)");
	/* also where a link leads through it, or out of it */
	link_to("in", "bin/probe");
	refused(at("in"), "bin", " can be written");
	link_to("bin/out", "/bin/sh");
	refused(at("bin/out"), "bin", " can be written");
	/* the sticky bit of a file means nothing */
	program("stuck", 01777);
	refused(at("stuck"), "stuck", " can be written by anybody (mode 1777)");
}
END_TEST

START_TEST(what_is_somebody_elses_is_not)
{
	if (geteuid() != 0) {
		/* who is not root has nothing of others' but root's */
		passes("/bin/sh");
		return;
	}
	folder("bin", 0755);
	program("bin/probe", 0755);
	passes(at("bin/probe"));
	ck_assert_int_eq(chown(at("bin/probe"), 65534, 0), 0);
	refused(at("bin/probe"), "bin/probe", " is owned by uid 65534, neither root nor");
	ck_assert_int_eq(chown(at("bin/probe"), 0, 0), 0);
	ck_assert_int_eq(chown(at("bin"), 65534, 0), 0);
	refused(at("bin/probe"), "bin", " is owned by uid 65534");
	/* a link of theirs in a folder where anybody may put one */
	folder("shared", 01777);
	link_to("shared/probe", "/bin/sh");
	passes(at("shared/probe"));
	ck_assert_int_eq(lchown(at("shared/probe"), 65534, 0), 0);
	refused(at("shared/probe"), "shared/probe", " is owned by uid 65534");
}
END_TEST

START_TEST(what_is_no_program_is_not)
{
	bool missing = false;
	char *why = NULL;

	refused("/", "/", " is not a regular file");
	refused("/dev/null", "/dev/null", " can be written by anybody");
	folder("bin", 0755);
	refused(at("bin"), "bin", " is not a regular file");
	program("text", 0644);
	refused(at("text"), "text", ": Permission denied");
	ck_assert(!runnable_check(at("bin/none"), &missing, &why));
	ck_assert(missing);
	ck_assert_msg(strstr(why, "/bin/none': No such file or directory") != NULL, "%s", why);
	free(why);
	link_to("loop", "loop");
	refused(at("loop"), "loop", ": Too many");
}
END_TEST

START_TEST(a_path_without_end_is_refused)
{
	char path[6000], *why = NULL;
	bool missing;

	memset(path, 'x', sizeof path - 1);
	path[0] = '/';
	path[sizeof path - 1] = '\0';
	ck_assert(!runnable_check(path, &missing, &why));
	ck_assert_msg(strstr(why, "too long") != NULL, "%s", why);
	free(why);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("runnable");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_only_root_and_we_can_change_is_run);
	tcase_add_test(tc, what_others_can_write_is_not);
	tcase_add_test(tc, what_is_somebody_elses_is_not);
	tcase_add_test(tc, what_is_no_program_is_not);
	tcase_add_test(tc, a_path_without_end_is_refused);
	return tap_run("runnable", tc);
}
