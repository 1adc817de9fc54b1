/*
 * Rights: what the sections grant and what they do not, the default without any, names that must
 * exist, and what the kernel tells of a real peer.
 */
#include "access.h"
#include "alloc.h"
#include "tap.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANY (ACCESS_WRAPPER | ACCESS_OBSERVER | ACCESS_OPERATOR)

static struct config config;
static struct access_peer peer;
static struct access *rights;
static struct buf b;

static char *nobody[] = {NULL};

static void
teardown(void)
{
	access_peer_clear(&peer);
	access_free(rights);
	rights = NULL;
	buf_free(&b);
}

/* The sections of the config, in force; the peer is nobody in particular yet. */
static void
grant(struct config_namespace *namespaces, size_t n)
{
	char *error = NULL;

	config = (struct config){
	    .namespaces = namespaces, .n_namespaces = n, .socket_group = (char[]){""}};
	rights = access_new(&config, &error);
	ck_assert_msg(rights != NULL, "%s", error);
}

static void
be(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups)
{
	access_peer_clear(&peer);
	peer.uid = uid;
	peer.gid = gid;
	peer.groups = xcalloc(n_groups + 1, sizeof *groups);
	if (n_groups > 0)
		memcpy(peer.groups, groups, n_groups * sizeof *groups);
	peer.n_groups = n_groups;
	access_peer_judge(&peer, rights);
}

static int
ask(const char *ns, unsigned roles, const char *expected)
{
	const char *meant = "untouched";
	int rc = access_namespace(&peer, ns, roles, &meant);

	ck_assert_str_eq(meant, rc == 0 ? expected : "untouched");
	return rc;
}

static const char *
scope(unsigned roles)
{
	buf_clear(&b);
	access_scope(&peer, roles, &b);
	return buf_str(&b);
}

START_TEST(roles_come_from_user_and_group)
{
	char *wrappers[] = {"user:1000", "group:2000", NULL}, *operators[] = {"group:3000", NULL},
	     *observers[] = {"user:1001", NULL};
	struct config_namespace ns[] = {{"pay", wrappers, operators, observers}};
	gid_t groups[] = {7, 3000};

	grant(ns, 1);
	be(1000, 1, NULL, 0);
	ck_assert_int_eq(ask(NULL, ACCESS_WRAPPER, "pay"), 0);
	ck_assert_int_eq(ask("pay", ACCESS_WRAPPER, "pay"), 0);
	ck_assert_int_eq(ask("pay", ACCESS_OBSERVER, NULL), ERR_DENIED);
	ck_assert_int_eq(ask("pay", ACCESS_OPERATOR, NULL), ERR_DENIED);
	be(5, 2000, NULL, 0); /* the primary group is a group */
	ck_assert_int_eq(ask(NULL, ACCESS_WRAPPER, "pay"), 0);
	be(5, 1, groups, 2); /* a supplementary one; operator includes observer, not wrapper */
	ck_assert_int_eq(ask(NULL, ACCESS_OPERATOR, "pay"), 0);
	ck_assert_int_eq(ask(NULL, ACCESS_OBSERVER, "pay"), 0);
	ck_assert_int_eq(ask(NULL, ACCESS_WRAPPER, NULL), ERR_DENIED);
	be(1001, 1, NULL, 0);
	ck_assert_int_eq(ask(NULL, ACCESS_OBSERVER, "pay"), 0);
	ck_assert_int_eq(ask(NULL, ACCESS_OPERATOR, NULL), ERR_DENIED);
	be(1000, 1, groups, 2); /* rights add up */
	ck_assert_int_eq(ask(NULL, ACCESS_WRAPPER, "pay"), 0);
	ck_assert_int_eq(ask(NULL, ACCESS_OPERATOR, "pay"), 0);
}
END_TEST

START_TEST(what_is_not_granted_is_denied) /* case 141 */
{
	char *wrappers[] = {"user:1000", NULL};
	struct config_namespace ns[] = {{"pay", wrappers, nobody, nobody}};
	gid_t groups[] = {1000};

	grant(ns, 1);
	be(0, 0, NULL, 0); /* with sections, nobody is implied, not even root */
	ck_assert_int_eq(ask(NULL, ANY, NULL), ERR_DENIED);
	be(geteuid() == 1000 ? 999 : geteuid(), 0, NULL, 0);
	ck_assert_int_eq(ask(NULL, ANY, NULL), ERR_DENIED);
	be(1001, 1000, groups, 1); /* a group is no user */
	ck_assert_int_eq(ask(NULL, ANY, NULL), ERR_DENIED);
	ck_assert_str_eq(scope(ANY), "");
	access_peer_clear(&peer); /* a peer that could not be read */
	ck_assert_int_eq(ask(NULL, ANY, NULL), ERR_DENIED);
	access_peer_judge(&peer, rights);
	ck_assert_int_eq(ask(NULL, ANY, NULL), ERR_DENIED);
}
END_TEST

START_TEST(namespaces_do_not_leak) /* cases 39, 141 */
{
	char *first[] = {"user:1000", NULL}, *second[] = {"user:1001", "user:1002", NULL};
	struct config_namespace ns[] = {{"a", first, nobody, second}, {"b", second, nobody, nobody},
	    {"c", nobody, second, nobody}};

	grant(ns, 3);
	be(1000, 1, NULL, 0);
	ck_assert_int_eq(ask(NULL, ANY, "a"), 0);
	/* one that is there and one that is not: no telling them apart */
	ck_assert_int_eq(ask("b", ANY, NULL), ERR_DENIED);
	ck_assert_int_eq(ask("nothing", ANY, NULL), ERR_DENIED);
	ck_assert_int_eq(ask("", ANY, NULL), ERR_DENIED);
	ck_assert_str_eq(scope(ANY), "a");
	be(1001, 1, NULL, 0);
	ck_assert_int_eq(ask(NULL, ANY, NULL), ERR_INVALID_PARAMS); /* several: name one */
	ck_assert_int_eq(ask("b", ANY, "b"), 0);
	ck_assert_int_eq(ask(NULL, ACCESS_WRAPPER, "b"), 0); /* the only one for this */
	ck_assert_int_eq(ask("a", ACCESS_WRAPPER, NULL), ERR_DENIED);
	ck_assert_int_eq(ask(NULL, ACCESS_OBSERVER, NULL), ERR_INVALID_PARAMS);
	ck_assert_str_eq(scope(ANY), "a,b,c");
	ck_assert_str_eq(scope(ACCESS_OBSERVER), "a,c");
	ck_assert_str_eq(scope(ACCESS_WRAPPER), "b");
	buf_clear(&b);
	peer.pid = 77;
	access_peer_json(&peer, &b);
	ck_assert_str_eq(buf_str(&b),
	    "{\"uid\":1001,\"gid\":1,\"pid\":77,\"namespaces\":[{\"name\":\"a\",\"roles\":["
	    "\"observer\"]},"
	    "{\"name\":\"b\",\"roles\":[\"wrapper\"]},"
	    "{\"name\":\"c\",\"roles\":[\"observer\",\"operator\"]}]}");
}
END_TEST

START_TEST(without_sections_there_is_one_namespace)
{
	char *error = NULL;

	config = (struct config){.socket_group = (char[]){"4321"}};
	rights = access_new(&config, &error);
	ck_assert_ptr_nonnull(rights);
	be(0, 0, NULL, 0);
	ck_assert_str_eq(scope(ACCESS_WRAPPER), "default");
	ck_assert_str_eq(scope(ACCESS_OPERATOR), "default");
	ck_assert_str_eq(scope(ACCESS_OBSERVER), "default");
	be(geteuid(), 99, NULL, 0);
	ck_assert_str_eq(scope(ACCESS_WRAPPER), "default");
	ck_assert_str_eq(scope(ACCESS_OPERATOR), "default");
	be(12345, 4321, NULL, 0); /* the socket's group may claim, and not resolve */
	ck_assert_str_eq(scope(ACCESS_WRAPPER), "default");
	ck_assert_str_eq(scope(ACCESS_OPERATOR | ACCESS_OBSERVER), "");
	be(12345, 99, NULL, 0);
	ck_assert_str_eq(scope(ANY), "");
	access_free(rights);
	config.socket_group = (char[]){"no-such-group"};
	rights = access_new(&config, &error);
	ck_assert_ptr_null(rights);
	ck_assert_str_eq(error, "'socket_group': there is no group 'no-such-group'");
	free(error);
}
END_TEST

START_TEST(names_must_exist)
{
	static const char *const bad[][2] = {{"user:no-such-user", "user"},
	    {"group:no-such-group", "group"}, {"user:4294967295", "user"},
	    {"group:99999999999", "group"}, {"user:01000", "user"}};
	char *list[] = {NULL, NULL}, *error, *expected;
	struct config_namespace ns[] = {{"pay", nobody, nobody, nobody}};

	config = (struct config){.namespaces = ns, .n_namespaces = 1};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		list[0] = (char *)(uintptr_t)bad[i][0];
		ns[0].operators = list;
		rights = access_new(&config, &error);
		ck_assert_ptr_null(rights);
		expected = xasprintf("namespace 'pay': '%s' in 'operators': there is no such %s",
		    bad[i][0], bad[i][1]);
		ck_assert_str_eq(error, expected);
		free(expected);
		free(error);
	}
	list[0] = (char[]){"user:root"};
	rights = access_new(&config, &error);
	be(0, 0, NULL, 0);
	ck_assert_str_eq(scope(ACCESS_OPERATOR), "pay");
	access_free(rights);
	list[0] = (char[]){"group:root"};
	rights = access_new(&config, &error);
	be(55, 0, NULL, 0);
	ck_assert_str_eq(scope(ACCESS_OPERATOR), "pay");
}
END_TEST

START_TEST(rights_are_judged_anew_after_a_reload)
{
	char *wrappers[] = {"user:1000", NULL};
	struct config_namespace before[] = {{"a", wrappers, nobody, nobody}},
				after[] = {
				    {"b", wrappers, nobody, nobody}, {"a", nobody, nobody, nobody}};
	struct access *old;

	grant(before, 1);
	be(1000, 1, NULL, 0);
	ck_assert_str_eq(scope(ANY), "a");
	old = rights;
	grant(after, 2);
	access_peer_judge(&peer, rights);
	access_free(old);
	ck_assert_str_eq(scope(ANY), "b");
}
END_TEST

START_TEST(a_peer_is_read_from_its_socket)
{
	int fds[2], fd, n = getgroups(0, NULL);
	gid_t mine[65536];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(access_peer_read(&peer, fds[0]), 0);
	ck_assert_uint_eq(peer.uid, geteuid());
	ck_assert_uint_eq(peer.gid, getegid());
	ck_assert_int_eq(peer.pid, getpid());
	ck_assert_int_eq(getgroups(65536, mine), n);
	ck_assert_uint_eq(peer.n_groups, (size_t)n);
	ck_assert_int_eq(memcmp(peer.groups, mine, (size_t)n * sizeof mine[0]), 0);
	access_peer_clear(&peer);
	close(fds[0]);
	close(fds[1]);
	fd = socket(AF_UNIX, SOCK_STREAM, 0); /* connected to nobody */
	ck_assert_int_eq(access_peer_read(&peer, fd), ERR_DENIED);
	access_peer_clear(&peer);
	close(fd);
	ck_assert_int_eq(access_peer_read(&peer, fd), ERR_DENIED);
}
END_TEST

/* In a child: another user in `n` groups connects and waits for our end of the connection. */
static void
connect_as_other(const struct sockaddr_un *sun, gid_t *groups, size_t n)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char c;

	if (setgroups(n, groups) != 0 || setgid(54321) != 0 || setuid(12345) != 0 ||
	    connect(fd, (const struct sockaddr *)sun, sizeof *sun) != 0)
		_exit(1);
	_exit(read(fd, &c, 1) == 0 ? 0 : 1);
}

START_TEST(all_groups_of_a_peer_count)
{
	char *wrappers[] = {"group:5999", NULL};
	struct config_namespace ns[] = {{"pay", wrappers, nobody, nobody}};
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	gid_t groups[1000];
	int listener, fd, status;
	pid_t pid;

	if (geteuid() != 0)
		return; /* nobody else can be another user */
	for (size_t i = 0; i < 1000; i++)
		groups[i] = (gid_t)(5000 + i); /* far more than the first try has room for */
	/* an abstract address: no file, no mode */
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(sun.sun_path + 1, sizeof sun.sun_path - 1, "check_access.%d", (int)getpid());
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&sun, sizeof sun), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	pid = fork();
	if (pid == 0)
		connect_as_other(&sun, groups, 1000);
	fd = accept(listener, NULL, NULL);
	ck_assert_int_eq(access_peer_read(&peer, fd), 0);
	ck_assert_uint_eq(peer.uid, 12345);
	ck_assert_uint_eq(peer.gid, 54321);
	ck_assert_int_eq(peer.pid, pid);
	ck_assert_uint_eq(peer.n_groups, 1000);
	grant(ns, 1);
	access_peer_judge(&peer, rights);
	ck_assert_str_eq(scope(ACCESS_WRAPPER), "pay");
	close(fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(listener);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("access");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, roles_come_from_user_and_group);
	tcase_add_test(tc, what_is_not_granted_is_denied);
	tcase_add_test(tc, namespaces_do_not_leak);
	tcase_add_test(tc, without_sections_there_is_one_namespace);
	tcase_add_test(tc, names_must_exist);
	tcase_add_test(tc, rights_are_judged_anew_after_a_reload);
	tcase_add_test(tc, a_peer_is_read_from_its_socket);
	tcase_add_test(tc, all_groups_of_a_peer_count);
	return tap_run("access", tc);
}
