/*
 * The configuration as a whole: defaults, then the file, then flags, then the rules that look at
 * two keys at once. Promise: all or nothing, one line says what is wrong and where. The struct owns
 * all it points to. What a value may be is config_value.c's, the file's grammar config_file.c's,
 * the default places config_paths.c's.
 */
#include "config.h"

#include "alloc.h"
#include "config_file.h"
#include "config_paths.h"
#include "config_value.h"

#include <assert.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_GROUP "effectd"

static void
must_set(struct config *config, const char *key, const char *text)
{
	char *why;

	if (config_value_set(config, config_value_find(key), text, &why))
		return;
	assert(!"a default obeys its own rule");
}

/* A place made from the environment can break a rule (a long HOME): then only if nobody names
 * another. */
static void
set_place(struct config *config, const char *key, const char *path)
{
	char *why;

	if (config_value_set(config, config_value_find(key), path, &why))
		return;
	free(why);
	must_set(config, key, "/"); /* check_whole() refuses it */
}

static struct config *
new_with_defaults(const struct config_paths *paths, bool is_root)
{
	const struct config_option *o;
	struct config *config;
	size_t i;

	config = xcalloc(1, sizeof *config);
	for (i = 0; i < config_value_n_options; i++) {
		o = &config_value_options[i];
		if (o->def != NULL)
			must_set(config, o->key, o->def);
	}
	set_place(config, "socket", paths->socket);
	set_place(config, "state_dir", paths->state_dir);
	set_place(config, "tools_dir", paths->tools_dir);
	/* A default must work everywhere, also where the package's group was never made. */
	must_set(
	    config, "socket_group", is_root && getgrnam(SYSTEM_GROUP) != NULL ? SYSTEM_GROUP : "");
	return config;
}

/* A relative path of a flag means the folder of the shell, whatever becomes the daemon's folder
 * later. */
static char *
absolute(const char *path)
{
	char *cwd, *whole;

	if (path[0] == '/' || path[0] == '\0')
		return xstrdup(path);
	cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		return xstrdup(path);
	whole = xasprintf("%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, path);
	free(cwd);
	return whole;
}

static bool
apply_flags(struct config *config, const struct config_flags *flags, char **ret_error)
{
	const struct {
		const char *flag, *key, *value;
		bool is_path;
	} given[] = {
	    {"--socket", "socket", flags->socket, true},
	    {"--database", "database", flags->database, false},
	    {"--state-dir", "state_dir", flags->state_dir, true},
	    {"--tools", "tools_dir", flags->tools_dir, true},
	    {"--metrics-listen", "metrics_listen", flags->metrics_listen, false},
	    {"--log-level", "log_level", flags->log_level, false},
	};
	char *value, *why;
	size_t i;
	bool ok;

	for (i = 0; i < sizeof given / sizeof given[0]; i++) {
		if (given[i].value == NULL)
			continue;
		value = given[i].is_path ? absolute(given[i].value) : xstrdup(given[i].value);
		ok = config_value_set(config, config_value_find(given[i].key), value, &why);
		free(value);
		if (ok)
			continue;
		*ret_error = xasprintf("%s: %s", given[i].flag, why);
		free(why);
		return false;
	}
	return true;
}

static bool
check_whole(
    const struct config *config, const struct config_paths *paths, uid_t uid, char **ret_error)
{
	const char *where = config->file != NULL ? config->file : "defaults";
	char *why;

	if (strcmp(config->socket, "/") == 0 || strcmp(config->state_dir, "/") == 0 ||
	    strcmp(config->tools_dir, "/") == 0) {
		*ret_error =
		    xasprintf("%s: 'socket', 'state_dir' and 'tools_dir' cannot be '/', and the "
			      "default may be too long here: name another",
			where);
		return false;
	}
	if (config->max_output < config->max_line) {
		*ret_error = xasprintf("%s: 'max_output' must not be below 'max_line'", where);
		return false;
	}
	if (!paths->socket_in_tmp || strcmp(config->socket, paths->socket) != 0)
		return true;
	if (config_paths_tmp_dir(config->socket, uid, true, &why))
		return true;
	*ret_error = xasprintf("%s: %s", where, why);
	free(why);
	return false;
}

struct config *
config_load(const struct config_flags *flags, char **ret_error)
{
	uid_t uid = geteuid();
	struct config_paths paths;
	struct config *config;
	bool was_read = false;
	char *file;

	config_paths_default(uid, &paths);
	config = new_with_defaults(&paths, uid == 0);
	file = absolute(flags->file != NULL ? flags->file : paths.file);
	if (!config_file_read(config, file, flags->file != NULL, &was_read, ret_error))
		goto fail;
	if (was_read)
		config->file = xstrdup(file);
	if (!apply_flags(config, flags, ret_error) || !check_whole(config, &paths, uid, ret_error))
		goto fail;
	goto out;
fail:
	config_free(config);
	config = NULL;
out:
	free(file);
	config_paths_clear(&paths);
	return config;
}

static void
free_list(char **list)
{
	size_t i;

	for (i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

void
config_free(struct config *config)
{
	size_t i;

	if (config == NULL)
		return;
	for (i = 0; i < config_value_n_options; i++)
		config_value_free(config, &config_value_options[i]);
	for (i = 0; i < config->n_namespaces; i++) {
		free(config->namespaces[i].name);
		free_list(config->namespaces[i].wrappers);
		free_list(config->namespaces[i].operators);
		free_list(config->namespaces[i].observers);
	}
	free(config->namespaces);
	free_list(config->notify_exec);
	free(config->notify_webhook);
	free(config->notify_webhook_ca_file);
	free_list(config->notify_webhook_secrets);
	free(config->file);
	free(config);
}

static void
print_list(const char *key, char *const *list, FILE *out)
{
	size_t i;

	fprintf(out, "\t%s = {", key);
	for (i = 0; list[i] != NULL; i++) {
		fputs(i == 0 ? "" : ", ", out);
		config_value_print_string(list[i], out);
	}
	fputs("}\n", out);
}

static void
print_word(const char *key, const char *word, FILE *out)
{
	fprintf(out, "\t%s = ", key);
	config_value_print_string(word, out);
	fputc('\n', out);
}

static void
print_notify(const struct config *config, FILE *out)
{
	if (config->notify_exec == NULL && config->notify_webhook == NULL)
		return;
	fputs("notify {\n", out);
	if (config->notify_exec != NULL) {
		print_list("exec", config->notify_exec, out);
	} else {
		print_word("webhook", config->notify_webhook, out);
		print_list("webhook_secrets", config->notify_webhook_secrets, out);
		if (config->notify_webhook_ca_file != NULL)
			print_word("webhook_ca_file", config->notify_webhook_ca_file, out);
	}
	fputs("}\n", out);
}

void
config_print(const struct config *config, FILE *out)
{
	const struct config_namespace *ns;
	size_t i;

	for (i = 0; i < config_value_n_options; i++)
		config_value_print(config, &config_value_options[i], out);
	print_notify(config, out);
	for (i = 0; i < config->n_namespaces; i++) {
		ns = &config->namespaces[i];
		fprintf(out, "namespace \"%s\" {\n", ns->name);
		print_list("wrappers", ns->wrappers, out);
		print_list("operators", ns->operators, out);
		print_list("observers", ns->observers, out);
		fputs("}\n", out);
	}
}

#define SWAP(a, b)                           \
	do {                                 \
		__typeof__(a) swapped = (a); \
		(a) = (b);                   \
		(b) = swapped;               \
	} while (0)

void
config_adopt(struct config *config, struct config *loaded)
{
#define RESTART_PATH(key)
#define RESTART_MODE(key)
#define RESTART_NAME(key)
#define RESTART_DATABASE(key)
#define RESTART_CONNINFO(key)
#define RESTART_INT(key)
#define RESTART_MIGRATE(key)
#define RESTART_LISTEN(key)
#define RELOAD_PATH(key) SWAP(config->key, loaded->key);
#define RELOAD_MS(key) SWAP(config->key##_ms, loaded->key##_ms);
#define RELOAD_UNKNOWN(key) SWAP(config->key, loaded->key);
#define RELOAD_BOOL(key) SWAP(config->key, loaded->key);
#define RELOAD_SIZE(key) SWAP(config->key, loaded->key);
#define RELOAD_INT(key) SWAP(config->key, loaded->key);
#define RELOAD_LEVEL(key) SWAP(config->key, loaded->key);
#define RELOAD_FORMAT(key) SWAP(config->key, loaded->key);
#define CONFIG_KEY(key, kind, min, max, default_, when, doc) when##_##kind(key)
#include "config.def"
#undef CONFIG_KEY
	SWAP(config->notify_exec, loaded->notify_exec);
	SWAP(config->notify_webhook, loaded->notify_webhook);
	SWAP(config->notify_webhook_ca_file, loaded->notify_webhook_ca_file);
	SWAP(config->notify_webhook_secrets, loaded->notify_webhook_secrets);
	SWAP(config->namespaces, loaded->namespaces);
	SWAP(config->n_namespaces, loaded->n_namespaces);
}

size_t
config_restart_keys(
    const struct config *running, const struct config *loaded, const char **ret_keys, size_t max)
{
	size_t i, n = 0;

	for (i = 0; i < config_value_n_options && n < max; i++) {
		if (!config_value_options[i].restart)
			continue;
		if (!config_value_equal(running, loaded, &config_value_options[i]))
			ret_keys[n++] = config_value_options[i].key;
	}
	return n;
}

char *
config_default_socket(void)
{
	struct config_paths paths;
	uid_t uid = geteuid();
	const char *named;
	struct stat st;
	char *socket;

	named = getenv("EFFECTD_SOCKET");
	if (named != NULL && named[0] != '\0')
		return xstrdup(named);
	config_paths_default(uid, &paths);
	socket = xstrdup(paths.socket);
	/* The user's own daemon first, if one ever listened; the folder in /tmp only if nobody else
	 * can have made it. */
	if (uid != 0 &&
	    (stat(socket, &st) != 0 || !S_ISSOCK(st.st_mode) ||
		(paths.socket_in_tmp && !config_paths_tmp_dir(socket, uid, false, NULL)))) {
		free(socket);
		config_paths_clear(&paths);
		config_paths_default(0, &paths);
		socket = xstrdup(paths.socket);
	}
	config_paths_clear(&paths);
	return socket;
}
