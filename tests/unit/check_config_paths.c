/*
 * The default places by user and environment, and how a client finds the socket. Each test has a
 * folder of its own.
 */
#include "alloc.h"
#include "config.h"
#include "config_paths.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[64];

static void
setup(void)
{
	strcpy(dir, "/tmp/check_config.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(default_places_follow_user_and_environment)
{
	struct config_paths p;

	setenv("HOME", "/home/u", 1);
	setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
	setenv("XDG_CONFIG_HOME", "relative", 1); /* must be ignored */
	unsetenv("XDG_STATE_HOME");
	config_paths_default(1000, &p);
	ck_assert_str_eq(p.socket, "/run/user/1000/effectd/effectd.sock");
	ck_assert_str_eq(p.state_dir, "/home/u/.local/state/effectd");
	ck_assert_str_eq(p.tools_dir, "/home/u/.config/effectd/tools.d");
	ck_assert_str_eq(p.file, "/home/u/.config/effectd/effectd.conf");
	ck_assert(!p.socket_in_tmp);
	config_paths_clear(&p);
	setenv("XDG_STATE_HOME", "/st", 1);
	setenv("XDG_CONFIG_HOME", "/cf", 1);
	unsetenv("XDG_RUNTIME_DIR");
	config_paths_default(1000, &p);
	ck_assert_str_eq(p.socket, "/tmp/effectd-1000/effectd.sock");
	ck_assert(p.socket_in_tmp);
	ck_assert_str_eq(p.state_dir, "/st/effectd");
	ck_assert_str_eq(p.tools_dir, "/cf/effectd/tools.d");
	config_paths_clear(&p);
	config_paths_default(0, &p);
	ck_assert_str_eq(p.socket, "/run/effectd/effectd.sock");
	ck_assert_str_eq(p.state_dir, "/var/lib/effectd");
	ck_assert_str_eq(p.tools_dir, "/etc/effectd/tools.d");
	ck_assert_str_eq(p.file, "/etc/effectd/effectd.conf");
	config_paths_clear(&p);
}
END_TEST

START_TEST(a_folder_in_tmp_must_be_ours_alone)
{
	uid_t uid = geteuid();
	char socket[160], *why = NULL, *sub;
	struct stat st;

	sub = xasprintf("%s/run", dir);
	snprintf(socket, sizeof socket, "%s/effectd.sock", sub);
	ck_assert(!config_paths_tmp_dir(socket, uid, false, &why));
	ck_assert_ptr_nonnull(strstr(why, "cannot look at"));
	free(why);
	ck_assert(config_paths_tmp_dir(socket, uid, true, NULL));
	ck_assert_int_eq(stat(sub, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert(config_paths_tmp_dir(socket, uid, true, NULL));      /* again */
	ck_assert(!config_paths_tmp_dir(socket, uid + 1, true, NULL)); /* another's */
	ck_assert_int_eq(chmod(sub, 0710), 0);
	ck_assert(!config_paths_tmp_dir(socket, uid, true, &why));
	ck_assert_ptr_nonnull(strstr(why, "yours alone"));
	free(why);
	ck_assert_int_eq(rmdir(sub), 0);
	ck_assert_int_eq(
	    symlink(dir, sub), 0); /* a link to a good folder is still somebody's link */
	ck_assert(!config_paths_tmp_dir(socket, uid, true, NULL));
	free(sub);
}
END_TEST

START_TEST(a_client_finds_the_socket)
{
	char *socket;

	setenv("EFFECTD_SOCKET", "/named.sock", 1);
	socket = config_default_socket();
	ck_assert_str_eq(socket, "/named.sock");
	free(socket);
	setenv("EFFECTD_SOCKET", "", 1);
	setenv("XDG_RUNTIME_DIR", dir, 1); /* nothing listens there */
	socket = config_default_socket();
	ck_assert_str_eq(socket, "/run/effectd/effectd.sock");
	free(socket);
}
END_TEST

START_TEST(a_user_finds_the_own_socket_first)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	char *socket_path;
	int fd;

	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(dir, 0777), 0);
		ck_assert_int_eq(setresuid(12345, 12345, 0), 0); /* the saved root cleans up */
	}
	unsetenv("EFFECTD_SOCKET");
	setenv("XDG_RUNTIME_DIR", dir, 1);
	snprintf(sun.sun_path, sizeof sun.sun_path, "%s/effectd", dir);
	ck_assert_int_eq(mkdir(sun.sun_path, 0700), 0);
	snprintf(sun.sun_path, sizeof sun.sun_path, "%s/effectd/effectd.sock", dir);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof sun), 0);
	socket_path = config_default_socket();
	ck_assert_str_eq(socket_path, sun.sun_path);
	free(socket_path);
	close(fd);
	if (getuid() == 12345)
		ck_assert_int_eq(setresuid(0, 0, 0), 0);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("config_paths");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, default_places_follow_user_and_environment);
	tcase_add_test(tc, a_folder_in_tmp_must_be_ours_alone);
	tcase_add_test(tc, a_client_finds_the_socket);
	tcase_add_test(tc, a_user_finds_the_own_socket_first);
	return tap_run("config_paths", tc);
}
