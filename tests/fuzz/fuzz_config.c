/*
 * Config files. One loads as a whole, every value within its table's range, or one line says file,
 * line and rule; what --print-config shows of it loads again and shows the same.
 *
 * An input is a file's text.
 */
#include "config.h"
#include "config_value.h"
#include "fuzz.h"
#include "limits.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENVIRONMENT "of-the-environment"

static char path[64];
static int fd;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	/* the defaults are ours: nothing of whoever runs this counts */
	setenv("HOME", "/home/somebody", 1);
	setenv("XDG_RUNTIME_DIR", "/run/user/4711", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	setenv("SECRET_OF_THE_ENVIRONMENT", ENVIRONMENT, 1);
	fd = memfd_create("effectd.conf", MFD_CLOEXEC);
	must(fd >= 0, "a file in memory");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return 0;
}

/* Asked of the machine at every load, which takes longer than all else: here nobody has a group. */
struct group *
getgrnam(const char *name)
{
	(void)name;
	return NULL;
}

static struct config *
load(const char *text, size_t len, char **ret_error)
{
	struct config_flags flags = {.file = path};

	must(ftruncate(fd, 0) == 0 && pwrite(fd, text, len, 0) == (ssize_t)len,
	    "the file is written");
	return config_load(&flags, ret_error);
}

static void
check_error(const char *error, const char *text, size_t len)
{
	long line, n_lines = 1;
	char *end;

	fuzz_check_message(error);
	must(strncmp(error, path, strlen(path)) == 0 && error[strlen(path)] == ':', "%s", error);
	must(!strstr(error, ENVIRONMENT) || memmem(text, len, ENVIRONMENT, sizeof ENVIRONMENT - 1),
	    "nothing of the environment: %s", error);
	for (size_t i = 0; i < len; i++)
		n_lines += text[i] == '\n';
	line = strtol(error + strlen(path) + 1, &end, 10);
	if (end > error + strlen(path) + 1)
		must(line >= 1 && line <= n_lines + 2 && *end == ':' && end[1] == ' ' && end[2],
		    "of %ld lines: %s", n_lines, error);
}

static void
check_ranges(const struct config *c)
{
	for (size_t i = 0; i < config_value_n_options; i++) {
		const struct config_option *o = &config_value_options[i];
		const char *field = (const char *)c + o->offset;

		switch (o->kind) {
		case CONFIG_KIND_INT:
			must(*(const int *)field >= o->min && *(const int *)field <= o->max, "%s",
			    o->key);
			break;
		case CONFIG_KIND_SIZE:
		case CONFIG_KIND_MS:
			must(*(const int64_t *)field >= o->min && *(const int64_t *)field <= o->max,
			    "%s", o->key);
			break;
		case CONFIG_KIND_PATH:
			must(**(char *const *)field == '/', "%s is absolute", o->key);
			break;
		case CONFIG_KIND_MODE:
			must((*(const unsigned *)field & ~0177u) == 0600, "%s is a socket's mode",
			    o->key);
			break;
		default:
			break;
		}
	}
	must(c->max_output >= c->max_line, "a line fits into the output");
	must(strlen(c->socket) <= SOCKET_PATH_BYTES_MAX, "the socket has room");
	must(!*c->metrics_listen || strncmp(c->metrics_listen, "127.", 4) == 0 ||
		strncmp(c->metrics_listen, "localhost:", 10) == 0 ||
		strncmp(c->metrics_listen, "[::1]:", 6) == 0,
	    "'%s' is on the loopback", c->metrics_listen);
	must(!c->notify_exec || !c->notify_exec[0] || c->notify_exec[0][0] == '/', "a notifier");
}

static void
check_rights(char *const *list)
{
	must(list, "a list is never NULL");
	for (; *list; list++)
		must((strncmp(*list, "user:", 5) == 0 && (*list)[5]) ||
			(strncmp(*list, "group:", 6) == 0 && (*list)[6]),
		    "\"%s\" names somebody", *list);
}

static void
check_namespaces(const struct config *c)
{
	for (size_t i = 0; i < c->n_namespaces; i++) {
		const struct config_namespace *ns = &c->namespaces[i];
		size_t len = strspn(ns->name, "abcdefghijklmnopqrstuvwxyz0123456789_.-");

		must(len > 0 && len <= NAMESPACE_BYTES_MAX && !ns->name[len], "\"%s\"", ns->name);
		for (size_t j = 0; j < i; j++)
			must(strcmp(ns->name, c->namespaces[j].name) != 0, "no two alike");
		check_rights(ns->wrappers);
		check_rights(ns->operators);
		check_rights(ns->observers);
	}
}

static char *
printed(const struct config *c, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	config_print(c, out);
	fclose(out);
	return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};
	char *error = NULL, *shown, *again;
	struct config *config, *second;
	size_t len, shown_len, again_len;
	char *text = fuzz_rest(&in, &len);

	config = load(text, len, &error);
	must(!config == !!error, "a refusal has its message");
	if (error) {
		check_error(error, text, len);
	} else {
		must(strcmp(config->file, path) == 0, "it knows its file");
		check_ranges(config);
		check_namespaces(config);
		shown = printed(config, &shown_len);
		must(!strstr(shown, ENVIRONMENT) ||
			memmem(text, len, ENVIRONMENT, sizeof ENVIRONMENT - 1),
		    "nothing of the environment: %s", shown);
		second = load(shown, shown_len, &error);
		must(second, "%s in:\n%s", error, shown);
		again = printed(second, &again_len);
		must(strcmp(shown, again) == 0, "\n%s\ncomes back as\n%s", shown, again);
		config_free(second);
		free(shown);
		free(again);
	}
	config_free(config);
	free(error);
	free(text);
	return 0;
}
