/*
 * Two small files in state_dir: `instance`, a UUID, and `boots`, how many starts there were. Each
 * is written under another name and renamed: a crash in between leaves the former one whole.
 *
 * A boot is a UUID of version 8: 48 bits of the start's number, the rest random. A state folder
 * that was restored from a backup repeats numbers; its boots then count as earlier than those that
 * the ledger knows, and what they granted is not told again: careful, never wrong.
 */
#include "instance.h"

#include "alloc.h"
#include "file.h"
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX 64
#define HOST_BYTES 256
#define BOOTS_MAX (((uint64_t)1 << 48) - 1)

static struct uuid instance, boot;
static int64_t started_ms; /* 0: not yet */

const struct uuid *
instance_id(void)
{
	return &instance;
}

const struct uuid *
instance_boot(void)
{
	return &boot;
}

const char *
instance_host(void)
{
	static char name[HOST_BYTES];

	if (!name[0] && gethostname(name, sizeof name - 1) < 0)
		snprintf(name, sizeof name, "unknown");
	return name;
}

int64_t
instance_up_ms(void)
{
	return started_ms ? loop_now_ms() - started_ms : 0;
}

static bool
parse_instance(const char *text, size_t len, struct uuid *ret)
{
	return len == UUID_TEXT_BYTES && text[len - 1] == '\n' && uuid_parse(text, len - 1, ret);
}

static bool
parse_boots(const char *text, size_t len, uint64_t *ret)
{
	uint64_t n = 0;

	if (len < 2 || text[len - 1] != '\n')
		return false;
	for (size_t i = 0; i < len - 1; i++) {
		if (text[i] < '0' || text[i] > '9' || n > BOOTS_MAX / 10)
			return false;
		n = n * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = n;
	return n < BOOTS_MAX;
}

/* The text of `path`, owned. NULL without *ret_error: there is no such file. */
static char *
read_text(const char *path, size_t *ret_len, char **ret_error)
{
	bool missing = false;
	char *why = NULL;
	char *text = file_read(path, BYTES_MAX, ret_len, &missing, &why);

	if (!text && !missing)
		*ret_error = xasprintf("'%s' %s", path, why);
	free(why);
	return text;
}

/* On disk when it returns, its name, too. */
static int
write_text(const char *path, const char *text, size_t len, char **ret_error)
{
	char *temporary = xasprintf("%s.new", path), *folder = xstrdup(path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;

	if (fd >= 0 && close(fd) != 0)
		good = false;
	good = good && rename(temporary, path) == 0;
	if (good) {
		fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		good = fd >= 0 && fsync(fd) == 0;
		if (fd >= 0)
			close(fd);
	}
	if (!good)
		*ret_error = xasprintf("cannot write '%s': %s", path, strerror(errno));
	free(temporary);
	free(folder);
	return good ? 0 : ERR_UNAVAILABLE;
}

static int
load_instance(const char *path, char **ret_error)
{
	char made[UUID_TEXT_BYTES], *text;
	struct uuid found;
	size_t len = 0;
	int err = 0;

	text = read_text(path, &len, ret_error);
	if (!text && *ret_error)
		return ERR_UNAVAILABLE;
	if (!text) {
		found = uuid_random();
		uuid_text(&found, made);
		made[UUID_TEXT_BYTES - 1] = '\n';
		err = write_text(path, made, sizeof made, ret_error);
	} else if (!parse_instance(text, len, &found)) {
		*ret_error = xasprintf("'%s' does not hold one UUID and a line end", path);
		err = ERR_UNAVAILABLE;
	}
	if (!err)
		instance = found;
	free(text);
	return err;
}

static void
make_boot(uint64_t number)
{
	boot = uuid_random();
	for (int i = 0; i < 6; i++)
		boot.b[i] = (uint8_t)(number >> (40 - 8 * i));
	boot.b[6] = (uint8_t)((boot.b[6] & 0x0f) | 0x80);
}

static int
load_boots(const char *path, char **ret_error)
{
	char next[32], *text;
	uint64_t number = 0;
	size_t len = 0;
	int n, err;

	text = read_text(path, &len, ret_error);
	if (!text && *ret_error)
		return ERR_UNAVAILABLE;
	if (text && !parse_boots(text, len, &number)) {
		*ret_error = xasprintf("'%s' does not hold one number and a line end", path);
		free(text);
		return ERR_UNAVAILABLE;
	}
	free(text);
	number++;
	n = snprintf(next, sizeof next, "%" PRIu64 "\n", number);
	err = write_text(path, next, (size_t)n, ret_error);
	if (!err)
		make_boot(number);
	return err;
}

int
instance_load(const char *state_dir, char **ret_error)
{
	char *path = xasprintf("%s/instance", state_dir);
	int err;

	*ret_error = NULL;
	err = load_instance(path, ret_error);
	free(path);
	if (err)
		return err;
	path = xasprintf("%s/boots", state_dir);
	err = load_boots(path, ret_error);
	free(path);
	if (!err)
		started_ms = loop_now_ms();
	return err;
}
