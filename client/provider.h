/*
 * Where a provider's export comes from: a file, standard input, or a command that writes it.
 */
#ifndef EFFECTD_PROVIDER_H
#define EFFECTD_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct provider {
	int fd;
	uint64_t n_bytes; /* of a file; 0 = nobody knows */
	pid_t command;	  /* 0 = none */
};

/* "-" is standard input. False: *ret_why is one owned line. */
bool provider_open(struct provider *p, const char *path, char **ret_why);
/*
 * Starts argv as our own user, without a shell: its standard output is read, its standard input is
 * empty, its standard error is ours. Only a file that nobody but root and we could have changed.
 */
bool provider_start(struct provider *p, char *const *argv, char **ret_why);
/* All was read: what became of the command? False: it failed, and what it wrote proves nothing. */
bool provider_end(struct provider *p, char **ret_why);
/* Not all was read: the command is ended. For one that was opened, or zeroed with fd -1. */
void provider_abort(struct provider *p);

#endif
