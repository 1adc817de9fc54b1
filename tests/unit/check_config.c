/*
 * The configuration: every default, every rule of a value, what libconfuse would let pass,
 * --print-config read back. Each test has a folder of its own.
 */
#include "alloc.h"
#include "config.h"
#include "log.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTEN_RULE \
	"must be HOST:PORT of the loopback (\"127.0.0.1:9464\", \"[::1]:9464\") or empty"

static char dir[64];
static char path[128];

static void
setup(void)
{
	strcpy(dir, "/tmp/check_config.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/effectd.conf", dir);
}

static void
teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static void
write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

static struct config *
load(const char *text)
{
	struct config_flags flags = {.file = path};
	struct config *config;
	char *error = NULL;

	write_file(text, strlen(text));
	config = config_load(&flags, &error);
	ck_assert_msg(config != NULL, "%s", error);
	return config;
}

/* The error of a file without its path; static memory. */
static const char *
error_of(const char *text)
{
	static char rest[512];
	struct config_flags flags = {.file = path};
	struct config *config;
	char *error = NULL;

	write_file(text, strlen(text));
	config = config_load(&flags, &error);
	ck_assert_msg(config == NULL, "'%s' was taken", text);
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strncmp(error, path, strlen(path)) == 0, "%s", error);
	ck_assert_ptr_null(strchr(error, '\n'));
	snprintf(rest, sizeof rest, "%s", error + strlen(path) + 1);
	free(error);
	return rest;
}

static void
expect_error(const char *text, const char *error)
{
	ck_assert_str_eq(error_of(text), error);
}

START_TEST(an_empty_file_gives_the_defaults)
{
	struct config *c = load("");

	ck_assert_str_eq(c->file, path);
	ck_assert_uint_eq(c->socket_mode, 0660);
	ck_assert_str_eq(c->database, "embedded");
	ck_assert_str_eq(c->owner_database, "");
	ck_assert_str_eq(c->database_user, "postgres");
	ck_assert_int_eq(c->database_connections, 4);
	ck_assert_int_eq(c->auto_migrate, CONFIG_MIGRATE_UNSET);
	ck_assert_int_eq(c->request_timeout_ms, 5000);
	ck_assert_int_eq(c->sweep_interval_ms, 1000);
	ck_assert_int_eq(c->unknown_tools, CONFIG_GUARD);
	ck_assert(!c->trust_annotations);
	ck_assert_int_eq(c->max_line, 1048576);
	ck_assert_int_eq(c->max_output, 8388608);
	ck_assert_int_eq(c->max_connections, 4096);
	ck_assert_int_eq(c->max_inflight, 256);
	ck_assert_int_eq(c->batch_max, 256);
	ck_assert_str_eq(c->log_level, "info");
	ck_assert_str_eq(c->log_format, "text");
	ck_assert(c->log_calls);
	ck_assert_str_eq(c->metrics_listen, "");
	ck_assert_ptr_null(c->notify_exec);
	ck_assert_uint_eq(c->n_namespaces, 0);
	config_free(c);
	config_free(NULL);
}
END_TEST

START_TEST(every_key_is_read)
{
	struct config *c =
	    load("socket = \"/s/x.sock\"  socket_mode = \"0600\"  socket_group = \"g\"\n"
		 "state_dir = '/st' tools_dir = /t # bare\n"
		 "database = \"host=/run dbname=x\" owner_database = \"postgresql://h/x\"\n"
		 "database_user = \"pg\" database_connections = 8 auto_migrate = off\n"
		 "request_timeout = \"1500ms\" sweep_interval = 2m // two\n"
		 "unknown_tools = refuse trust_annotations = yes max_line = 4096\n"
		 "max_connections = 20000 max_inflight = 1 max_output = 65536 batch_max = 16\n"
		 "log_level = \"debug\" log_calls = false log_format = \"json\" /* a\n"
		 "comment */ metrics_listen = \"\"\n"
		 "notify { exec = {\"/abs/notifier\", \"-v\"} }\n"
		 "namespace payments {\n"
		 "	wrappers = {\"user:agent\", \"group:payments\"}\n"
		 "	operators = {\"group:ops\"}\n"
		 "}\n"
		 "namespace \"b.c-d_1\" { observers = {\"user:1000\"} }\n");

	ck_assert_str_eq(c->socket, "/s/x.sock");
	ck_assert_uint_eq(c->socket_mode, 0600);
	ck_assert_str_eq(c->socket_group, "g");
	ck_assert_str_eq(c->state_dir, "/st");
	ck_assert_str_eq(c->tools_dir, "/t");
	ck_assert_str_eq(c->database, "host=/run dbname=x");
	ck_assert_str_eq(c->owner_database, "postgresql://h/x");
	ck_assert_str_eq(c->database_user, "pg");
	ck_assert_int_eq(c->database_connections, 8);
	ck_assert_int_eq(c->auto_migrate, CONFIG_MIGRATE_OFF);
	ck_assert_int_eq(c->request_timeout_ms, 1500);
	ck_assert_int_eq(c->sweep_interval_ms, 120000);
	ck_assert_int_eq(c->unknown_tools, CONFIG_REFUSE);
	ck_assert(c->trust_annotations);
	ck_assert_int_eq(c->max_line, 4096);
	ck_assert_int_eq(c->max_connections, 20000);
	ck_assert_int_eq(c->max_inflight, 1);
	ck_assert_int_eq(c->max_output, 65536);
	ck_assert_int_eq(c->batch_max, 16);
	ck_assert_str_eq(c->log_level, "debug");
	ck_assert_str_eq(c->log_format, "json");
	ck_assert(!c->log_calls);
	ck_assert_str_eq(c->notify_exec[0], "/abs/notifier");
	ck_assert_str_eq(c->notify_exec[1], "-v");
	ck_assert_ptr_null(c->notify_exec[2]);
	ck_assert_uint_eq(c->n_namespaces, 2);
	ck_assert_str_eq(c->namespaces[0].name, "payments");
	ck_assert_str_eq(c->namespaces[0].wrappers[1], "group:payments");
	ck_assert_ptr_null(c->namespaces[0].wrappers[2]);
	ck_assert_str_eq(c->namespaces[0].operators[0], "group:ops");
	ck_assert_ptr_null(c->namespaces[0].observers[0]);
	ck_assert_str_eq(c->namespaces[1].name, "b.c-d_1");
	ck_assert_str_eq(c->namespaces[1].observers[0], "user:1000");
	config_free(c);
}
END_TEST

START_TEST(an_unknown_key_is_named_with_its_place_and_the_nearest)
{
	expect_error("\n\nsokcet = \"/x\"", "3: unknown key 'sokcet', the nearest is 'socket'");
	expect_error("# a\n// b\n/* c\n d */ # e\r\n\nsokcet = \"/x\"",
	    "6: unknown key 'sokcet', the nearest is 'socket'");
	expect_error("notify {\n # a\n exec = { # b\n \"/x\" // c\n }\n # d\n colour = 3 }",
	    "7: unknown key 'colour' in notify");
	expect_error("log_calls = true # '\n# \"\nlog_level = \"loud\"\n# c\n",
	    "3: 'log_level' must be debug, info, warning or error");
	expect_error("colour = 3", "1: unknown key 'colour'");
	expect_error("co\x01l\x7four = 3", "1: unknown key 'co?l?our'");
	expect_error("notify {\n webhok = \"http://x\" }",
	    "2: unknown key 'webhok' in notify, the nearest is 'webhook'");
	expect_error("namespace a {\n\n wrapper = {\"user:1\"} }",
	    "3: unknown key 'wrapper' in namespace, the nearest is 'wrappers'");
	expect_error("namespace a { exec = {\"/x\"} }", "1: unknown key 'exec' in namespace");
	expect_error("webhook { }", "1: unknown key 'webhook'");
}
END_TEST

START_TEST(a_bad_value_is_named_with_its_place)
{
	static const char *const bad[][2] = {
	    {"socket = \"run/x.sock\"", "1: 'socket' must be an absolute path"},
	    {"\nsocket = \"\"", "2: 'socket' must be an absolute path"},
	    {"state_dir = state", "1: 'state_dir' must be an absolute path"},
	    {"database = \"\"", "1: 'database' must be \"embedded\" or a libpq connection string"},
	    {"database = \"embeded\"",
		"1: 'database' must be \"embedded\" or a libpq connection string"},
	    {"owner_database = \"embedded\"",
		"1: 'owner_database' must be a libpq connection string or empty"},
	    {"unknown_tools = \"deny\"", "1: 'unknown_tools' must be guard or refuse"},
	    {"log_level = \"verbose\"", "1: 'log_level' must be debug, info, warning or error"},
	    {"log_format = \"xml\"", "1: 'log_format' must be text or json"},
	    {"trust_annotations = 1", "1: 'trust_annotations' must be true or false"},
	    {"auto_migrate = \"unset\"", "1: 'auto_migrate' must be true or false"},
	    {"metrics_listen = \"0.0.0.0:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"10.0.0.1:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \":9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"[::]:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"::1:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"[::ffff:127.0.0.1]:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"127.0.0.1\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"127.0.0.1:\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"127.0.0.1:65536\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"127.0.0.1:09464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"127.1:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"metrics.example:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"metrics_listen = \"127.0.0.1.example.com:9464\"", "1: 'metrics_listen' " LISTEN_RULE},
	    {"database_user = \"a\\nb\"", "1: 'database_user' must not hold control characters"},
	    {"\nlog_level = info/* ' */ state_dir = \"/${HOME}\" /* ' */",
		"2: '/*' may only stand where a word begins, quote the value"},
	    {"notify { exec = {\"/n\", \"a\\nb\"} }", "1: 'exec' must not hold control characters"},
	    {"namespace a {\n wrappers = {\"user:a\", \"group:b\\x7f\"} }",
		"2: numeric escapes are not taken in strings"},
	    {"namespace a {\n wrappers = {\"user:a\", \"group:b\\n\"} }",
		"2: 'wrappers' must not hold control characters"},
	    {"max_line = 65536\nmax_output = 65535",
		"2: 'max_output' must be a whole number from 65536 to 1073741824, in decimal "
		"digits "
		"without a leading zero"},
	    {"max_line = 131072\nmax_output = 65536", " 'max_output' must not be below 'max_line'"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		expect_error(bad[i][0], bad[i][1]);
}
END_TEST

START_TEST(numbers_are_what_they_look_like)
{
	/* libconfuse reads 010 as 8 and takes the others as they come */
	static const char *const bad[] = {"010", "-5", "0", "65", "64k", "4.0", "0x4", "+4", "\"\"",
	    "\" 4\"", "18446744073709551620", "4294967300"};
	char text[128];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "\ndatabase_connections = %s\n", bad[i]);
		ck_assert_msg(
		    strncmp(error_of(text), "2: ", 3) == 0, "%s: %s", text, error_of(text));
	}
	expect_error("database_connections = 010",
	    "1: 'database_connections' must be a whole number from 1 to 64, in decimal digits "
	    "without a "
	    "leading zero");
}
END_TEST

START_TEST(durations_need_a_unit_and_stay_in_range) /* case 133 */
{
	static const char *const bad[] = {"5", "\"5\"", "\"99ms\"", "\"121s\"", "\"-5s\"",
	    "\"5 s\"", "\"2147483648ms\"", "\"9223372036854775808ms\"", "\"365d\"", "\"0s\""};
	char text[128];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "request_timeout = %s\n", bad[i]);
		expect_error(text,
		    "1: 'request_timeout' must be a duration with its unit (ms, s, m, h, d) from "
		    "100ms to 2m");
	}
}
END_TEST

START_TEST(a_mode_is_four_octal_digits)
{
	static const char *const bad[] = {
	    "660", "0o660", "0668", "1660", "06600", "0060", "", "rw"};
	char text[128];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "socket_mode = \"%s\"\n", bad[i]);
		ck_assert_ptr_nonnull(strstr(error_of(text), "four octal digits"));
	}
}
END_TEST

START_TEST(a_socket_path_ends_at_107_bytes)
{
	char text[256], socket[128];
	struct config *c;

	memset(socket, 'a', sizeof socket);
	socket[0] = '/';
	socket[107] = '\0';
	snprintf(text, sizeof text, "socket = \"%s\"", socket);
	c = load(text);
	ck_assert_uint_eq(strlen(c->socket), 107);
	config_free(c);
	socket[107] = 'a';
	socket[108] = '\0';
	snprintf(text, sizeof text, "socket = \"%s\"", socket);
	expect_error(
	    text, "1: 'socket' must be a path of at most 107 bytes, the limit of a Unix socket");
}
END_TEST

START_TEST(what_is_not_closed_is_an_error)
{
	expect_error("log_calls = true\nnamespace a {\n wrappers = {\"user:1\"}\n",
	    "2: a section is not closed");
	expect_error("namespace a {\n wrappers = {\"user:1\"\n", "2: a list is not closed");
	expect_error("notify {", "1: a section is not closed");
	expect_error("log_calls = true\n/* log_calls = false", "2: a comment is not closed");
	expect_error(
	    "state_dir = \"/x\ntools_dir = \"/y\"", "1: a string is not closed on its line");
	expect_error("state_dir = '/x", "1: a string is not closed on its line");
	expect_error("state_dir = \"/x\\", "1: a string is not closed on its line");
	expect_error("log_calls =", "1: a value is missing at the end");
	expect_error("log_calls", "2: missing equal sign after option 'log_calls'");
	expect_error("}", "1: unexpected closing brace");
	expect_error(
	    "effectd_end_of_file = \"x\"", "1: the word 'effectd_end_of_file' is reserved");
}
END_TEST

START_TEST(the_environment_is_not_asked)
{
	struct config *c;

	setenv("SECRET_PART", "/root", 1);
	expect_error("\nstate_dir = \"${SECRET_PART}/x\"",
	    "2: '${' would take text from the environment, write '\\${' for the characters");
	expect_error("state_dir = /a/${SECRET_PART}",
	    "1: '${' would take text from the environment, quote the value and write '\\${'");
	c = load(
	    "# ${SECRET_PART}\nstate_dir = \"/a/\\${SECRET_PART}\" tools_dir = '/b/${SECRET_PART}'"
	    " database_user = \"a$b\" /* ${SECRET_PART} */");
	ck_assert_str_eq(c->state_dir, "/a/${SECRET_PART}");
	ck_assert_str_eq(c->tools_dir, "/b/${SECRET_PART}");
	ck_assert_str_eq(c->database_user, "a$b");
	config_free(c);
	expect_error("state_dir = \"/a\\x00b\"", "1: numeric escapes are not taken in strings");
	expect_error("state_dir = \"/a\\101\"", "1: numeric escapes are not taken in strings");
}
END_TEST

START_TEST(nothing_is_set_twice)
{
	struct config *c;

	expect_error("log_calls = true\nlog_calls = true", "2: 'log_calls' is set twice");
	expect_error("notify { exec = {\"/a\"} }\nnotify { }", "2: 'notify' is set twice");
	expect_error("namespace a {\n wrappers = {\"user:1\"}\n wrappers = {} }",
	    "3: 'wrappers' is set twice");
	expect_error(
	    "namespace a { }\nnamespace b { }\nnamespace a { }", "3: found duplicate title 'a'");
	c = load("namespace notify { wrappers = {\"user:1\"} } notify { }\n"
		 "namespace b { wrappers = {\"user:2\"} wrappers += {\"user:3\"} }");
	ck_assert_str_eq(c->namespaces[1].wrappers[1], "user:3");
	config_free(c);
}
END_TEST

START_TEST(sections_hold_names_of_their_kind)
{
	expect_error("namespace { }", "1: missing title for section 'namespace'");
	ck_assert_ptr_nonnull(
	    strstr(error_of("namespace \"A\" { }"), "'A' is no name of a namespace"));
	ck_assert_ptr_nonnull(strstr(error_of("namespace \"\" { }"), "is no name of a namespace"));
	ck_assert_ptr_nonnull(
	    strstr(error_of("namespace \"a,b\" { }"), "is no name of a namespace"));
	ck_assert_ptr_nonnull(strstr(
	    error_of("namespace "
		     "\"a234567890123456789012345678901234567890123456789012345678901234\" { }"),
	    "is no name of a namespace"));
	expect_error("namespace a {\n wrappers = {\"user:1\",\n \"agent\"} }",
	    "3: 'agent' in 'wrappers' must be user:NAME, user:UID, group:NAME or group:GID");
	ck_assert_ptr_nonnull(
	    strstr(error_of("namespace a { observers = {\"user:\"} }"), "must be user:NAME"));
	expect_error(
	    "notify { exec = {\"notifier\"} }", "1: 'exec' must begin with an absolute path");
	expect_error("notify { exec = {\"\"} }", "1: 'exec' must begin with an absolute path");
}
END_TEST

START_TEST(only_a_regular_file_of_fair_size_is_read)
{
	struct config_flags flags = {.file = dir};
	char *error = NULL, *big;

	ck_assert_ptr_null(config_load(&flags, &error)); /* libconfuse's lexer would exit here */
	ck_assert_ptr_nonnull(strstr(error, "is not a regular file"));
	free(error);
	ck_assert_int_eq(mkfifo(path, 0600), 0); /* and here it would wait */
	flags.file = path;
	ck_assert_ptr_null(config_load(&flags, &error));
	ck_assert_ptr_nonnull(strstr(error, "is not a regular file"));
	free(error);
	unlink(path);
	ck_assert_ptr_null(config_load(&flags, &error)); /* named and missing */
	ck_assert_ptr_nonnull(strstr(error, "cannot be opened"));
	free(error);
	write_file("log_calls = true\0log_calls = 7\n", 32);
	ck_assert_ptr_null(config_load(&flags, &error));
	ck_assert_ptr_nonnull(strstr(error, "holds a NUL byte"));
	free(error);
	big = xmalloc(1048577);
	memset(big, '\n', 1048577);
	write_file(big, 1048577);
	ck_assert_ptr_null(config_load(&flags, &error));
	ck_assert_ptr_nonnull(strstr(error, "is over 1048576 bytes"));
	free(error);
	write_file(big, 1048576);
	config_free(config_load(&flags, &error));
	free(big);
	/* what the kernel makes while it is read says that it has no size, and is read all the same
	 */
	flags.file = "/proc/version";
	ck_assert_ptr_null(config_load(&flags, &error));
	ck_assert_ptr_nonnull(strstr(error, "/proc/version:1: "));
	free(error);
}
END_TEST

START_TEST(metrics_listen_takes_the_loopback)
{
	static const char *const places[] = {
	    "", "127.0.0.1:9464", "127.8.9.10:1", "[::1]:65535", "localhost:9464", "127.0.0.1:0"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct config_flags flags = {.file = path, .metrics_listen = places[i]};
		char *error = NULL;
		struct config *c;

		write_file("", 0);
		c = config_load(&flags, &error);
		ck_assert_msg(c != NULL, "%s", error);
		ck_assert_str_eq(c->metrics_listen, places[i]);
		config_free(c);
	}
}
END_TEST

START_TEST(flags_win_over_the_file)
{
	struct config_flags flags = {.file = path,
	    .socket = "/flag/x.sock",
	    .database = "dbname=f",
	    .state_dir = "st",
	    .tools_dir = "/flag/tools",
	    .metrics_listen = "[::1]:9464",
	    .log_level = "error"};
	char *error = NULL, cwd[4096];
	struct config *c;

	write_file("socket = \"/file/x.sock\" log_level = debug database_connections = 2", 66);
	c = config_load(&flags, &error);
	ck_assert_msg(c != NULL, "%s", error);
	ck_assert_str_eq(c->socket, "/flag/x.sock");
	ck_assert_str_eq(c->database, "dbname=f");
	ck_assert_ptr_nonnull(getcwd(cwd, sizeof cwd));
	ck_assert_msg(strncmp(c->state_dir, cwd, strlen(cwd)) == 0, "%s", c->state_dir);
	ck_assert_str_eq(c->tools_dir, "/flag/tools");
	ck_assert_str_eq(c->log_level, "error");
	ck_assert_str_eq(c->metrics_listen, "[::1]:9464");
	ck_assert_int_eq(c->database_connections, 2);
	config_free(c);
	flags.log_level = "loud";
	ck_assert_ptr_null(config_load(&flags, &error));
	ck_assert_str_eq(error, "--log-level: must be debug, info, warning or error");
	free(error);
	flags.log_level = NULL;
	flags.metrics_listen = "192.168.0.1:9";
	ck_assert_ptr_null(config_load(&flags, &error));
	ck_assert_str_eq(error, "--metrics-listen: " LISTEN_RULE);
	free(error);
}
END_TEST

static char *
printed(const struct config *config)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	config_print(config, f);
	fclose(f);
	return text;
}

START_TEST(what_is_printed_can_be_read_back)
{
	struct config *c =
	    load("socket_mode = \"0600\" state_dir = \"/a \\\"b\\\" \\\\ \\${HOME}\"\n"
		 "auto_migrate = true request_timeout = 90s unknown_tools = refuse\n"
		 "notify { exec = {\"/n\", \"a b\", \"\"} }\n"
		 "namespace a { wrappers = {\"user:1\", \"group:2\"} }\n");
	char *first = printed(c), *second;
	struct config *again;

	again = load(first);
	second = printed(again);
	ck_assert_str_eq(first, second);
	ck_assert_str_eq(again->state_dir, "/a \"b\" \\ ${HOME}");
	ck_assert_int_eq(again->auto_migrate, CONFIG_MIGRATE_ON);
	ck_assert_str_eq(again->notify_exec[2], "");
	ck_assert_str_eq(again->namespaces[0].wrappers[1], "group:2");
	free(first);
	free(second);
	config_free(c);
	config_free(again);
}
END_TEST

START_TEST(passwords_are_not_printed)
{
	static const char *const forms[] = {"host=h user=u password='hun ter2' dbname=d",
	    "postgresql://u:hun%20ter2@h/d", "host=h dbname=d user=u sslpassword='hun ter2'",
	    "postgres://h/d?user=u&password=hun%20ter2"};
	char text[256], *out;
	struct config *c;

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		snprintf(text, sizeof text, "database = \"%s\"", forms[i]);
		c = load(text);
		ck_assert_str_eq(c->database, forms[i]);
		out = printed(c);
		ck_assert_ptr_null(strstr(out, "ter2"));
		ck_assert_ptr_nonnull(strstr(out, "password='********'"));
		ck_assert_ptr_nonnull(strstr(out, "host='h'"));
		free(out);
		config_free(c);
		/* nor does an error repeat them */
		snprintf(text, sizeof text, "database = \"%s =\"", "host=h password=hun ter2");
		ck_assert_ptr_null(strstr(error_of(text), "ter2"));
	}
	/* no word of it to mask, and "" would not load again */
	c = load("database = \"postgres://\"");
	out = printed(c);
	ck_assert_ptr_nonnull(strstr(out, "\ndatabase = \"postgres://\"\n"));
	free(out);
	config_free(c);
}
END_TEST

START_TEST(log_words_are_those_of_the_log)
{
	static const char *const levels[] = {"debug", "info", "warning", "error"};
	static const char *const formats[] = {"text", "json"};
	enum log_level level;
	enum log_format format;

	for (size_t i = 0; i < 4; i++)
		ck_assert(log_level_parse(levels[i], &level));
	for (size_t i = 0; i < 2; i++)
		ck_assert(log_format_parse(formats[i], &format));
}
END_TEST

START_TEST(reload_names_what_waits_for_a_restart)
{
	struct config *a = load("log_level = info"), *b = load("log_level = debug tools_dir = /x"),
		      *c = load("log_level = debug socket_mode = \"0600\" database = \"dbname=x\"");
	const char *keys[2];

	ck_assert_uint_eq(config_restart_keys(a, b, keys, 2), 0);
	ck_assert_uint_eq(config_restart_keys(a, c, keys, 2), 2);
	ck_assert_str_eq(keys[0], "socket_mode");
	ck_assert_str_eq(keys[1], "database");
	ck_assert_uint_eq(config_restart_keys(a, c, keys, 1), 1);
	config_free(a);
	config_free(b);
	config_free(c);
}
END_TEST

START_TEST(a_notice_goes_to_one_place)
{
#define SECRETS "webhook_secrets = {\"new\", \"/old\"}\n"
	struct config *c =
	    load("notify {\n webhook = \"https://h/x\"\n " SECRETS " webhook_ca_file = \"/ca\"\n}");

	ck_assert_ptr_null(c->notify_exec);
	ck_assert_str_eq(c->notify_webhook, "https://h/x");
	ck_assert_str_eq(c->notify_webhook_secrets[0], "new");
	ck_assert_str_eq(c->notify_webhook_secrets[1], "/old");
	ck_assert_ptr_null(c->notify_webhook_secrets[2]);
	ck_assert_str_eq(c->notify_webhook_ca_file, "/ca");
	config_free(c);
	expect_error("notify {\n exec = {\"/x\"}\n webhook = \"http://h/\"\n " SECRETS "}",
	    "5: 'notify' may have 'exec' or 'webhook', not both");
	expect_error("notify {\n webhook = \"http://h/\"\n}",
	    "3: 'webhook' and 'webhook_secrets' need each other");
	expect_error(
	    "notify {\n " SECRETS "}", "3: 'webhook' and 'webhook_secrets' need each other");
	expect_error(
	    "notify {\n webhook_ca_file = \"/x\"\n}", "3: 'webhook_ca_file' needs a 'webhook'");
	expect_error("notify {\n webhook_ca_file = \"x\"\n}",
	    "2: 'webhook_ca_file' must be an absolute path");
	expect_error("notify {\n webhook = \"ftp://h/\"\n}",
	    "2: 'webhook' must be an http:// or https:// URL without a user");
	expect_error("notify {\n webhook = \"http://u:p@h/\"\n}",
	    "2: 'webhook' must be an http:// or https:// URL without a user");
	expect_error("notify {\n webhook_secrets = {\"a\", \"b\", \"c\"}\n}",
	    "2: 'webhook_secrets' has more than 2 files");
	expect_error("notify {\n webhook_ca_file = \"/a\\tb\"\n}",
	    "2: 'webhook_ca_file' must be an absolute path");
	expect_error("notify {\n webhook = \"http://h/\\b\"\n}",
	    "2: 'webhook' must be an http:// or https:// URL without a user");
	expect_error("notify {\n webhook_secrets = {\"a\\nb\"}\n}",
	    "2: 'webhook_secrets' must hold absolute paths, or names of files in "
	    "$CREDENTIALS_DIRECTORY");
	expect_error("notify {\n webhook_secrets = {\"../a\"}\n}",
	    "2: 'webhook_secrets' must hold absolute paths, or names of files in "
	    "$CREDENTIALS_DIRECTORY");
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("config");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_empty_file_gives_the_defaults);
	tcase_add_test(tc, every_key_is_read);
	tcase_add_test(tc, an_unknown_key_is_named_with_its_place_and_the_nearest);
	tcase_add_test(tc, a_bad_value_is_named_with_its_place);
	tcase_add_test(tc, numbers_are_what_they_look_like);
	tcase_add_test(tc, durations_need_a_unit_and_stay_in_range);
	tcase_add_test(tc, a_mode_is_four_octal_digits);
	tcase_add_test(tc, a_socket_path_ends_at_107_bytes);
	tcase_add_test(tc, what_is_not_closed_is_an_error);
	tcase_add_test(tc, the_environment_is_not_asked);
	tcase_add_test(tc, nothing_is_set_twice);
	tcase_add_test(tc, a_notice_goes_to_one_place);
	tcase_add_test(tc, sections_hold_names_of_their_kind);
	tcase_add_test(tc, only_a_regular_file_of_fair_size_is_read);
	tcase_add_test(tc, metrics_listen_takes_the_loopback);
	tcase_add_test(tc, flags_win_over_the_file);
	tcase_add_test(tc, what_is_printed_can_be_read_back);
	tcase_add_test(tc, passwords_are_not_printed);
	tcase_add_test(tc, log_words_are_those_of_the_log);
	tcase_add_test(tc, reload_names_what_waits_for_a_restart);
	return tap_run("config", tc);
}
