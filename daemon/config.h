/*
 * The configuration: one table of options (config.def) read from a file and flags, all-or-nothing.
 * An unknown key is an error with file, line and nearest name. Knows no module that uses it.
 */
#ifndef EFFECTD_CONFIG_H
#define EFFECTD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A namespace section. */
struct config_namespace {
	char *name;
	/* "user:NAME|UID", "group:NAME|GID"; each NULL-terminated, never NULL itself */
	char **wrappers, **operators, **observers;
};

enum config_unknown_tools { CONFIG_GUARD, CONFIG_REFUSE };
enum config_auto_migrate { CONFIG_MIGRATE_UNSET, CONFIG_MIGRATE_ON, CONFIG_MIGRATE_OFF };

struct config {
	char *file;		     /* the file read, or NULL */
	char *socket, *socket_group; /* group "" = the daemon's own */
	char *state_dir, *tools_dir;
	char *database, *owner_database; /* "embedded" or a conninfo; a conninfo or "" */
	char *database_user;
	unsigned socket_mode;
	int database_connections, execute_connections;
	enum config_auto_migrate auto_migrate;
	int64_t request_timeout_ms, sweep_interval_ms;
	enum config_unknown_tools unknown_tools;
	bool trust_annotations;
	int64_t max_line, max_output; /* bytes */
	int max_connections, max_inflight, batch_max;
	char *log_level, *log_format, *metrics_listen;
	bool log_calls;
	/* one of them, or neither: */
	char **notify_exec;			       /* argv */
	char *notify_webhook, *notify_webhook_ca_file; /* URL; NULL = the system's */
	char **notify_webhook_secrets;		       /* NULL-terminated, one or two files */
	struct config_namespace *namespaces;
	size_t n_namespaces;
};

/* Values that flags set; NULL = not given. They win over the file. */
struct config_flags {
	const char *file, *socket, *database, *state_dir, *tools_dir, *metrics_listen, *log_level;
};

/*
 * Returns NULL and one line in *ret_error (owned by the caller) on any fault. A missing default
 * file is no error. Paths come out absolute. Makes the socket's folder if that is the default one
 * in /tmp, and no other.
 */
struct config *config_load(const struct config_flags *flags, char **ret_error);
void config_free(struct config *config);
/* The effective configuration in the file's own syntax; passwords in conninfos are masked. */
void config_print(const struct config *config, FILE *out);
/*
 * Moves every value that may change while we run from `loaded` into `config`, by the table that
 * says which may; what they replaced is in `loaded` then.
 */
void config_adopt(struct config *config, struct config *loaded);
/*
 * The keys that differ and take effect at the next start only (the running config stays in force
 * for them): fills at most `max` static names, returns their number.
 */
size_t config_restart_keys(
    const struct config *running, const struct config *loaded, const char **ret_keys, size_t max);
/*
 * The socket path a client tries when none is given: $EFFECTD_SOCKET, else the user's if a socket
 * is there, else the system's. Owned by the caller.
 */
char *config_default_socket(void);

#endif
