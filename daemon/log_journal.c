/*
 * The entry is gathered in one buffer, in the journal's native protocol, and sent as one datagram.
 * Promises: a value never becomes another field, whatever it holds; a journal that hangs holds up
 * nobody. For that promise's sake this is not sd_journal_sendv(), which waits for as long as it
 * takes: here it is a tenth of a second, and for a second after that nothing at all.
 *
 * Owns its buffer and its socket for the life of the process.
 */
#include "log_journal.h"

#include "buf.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "EFFECTD_"
#define IDENTIFIER "effectd"
#define PATIENCE_US 100000
#define IMPATIENCE_S 1
#define KEEP_BYTES 65536 /* a larger entry's memory is given back */

static const struct sockaddr_un journal = {
    .sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};
static struct buf entry;
static int fd = -1;
static time_t impatient_until; /* by the monotonic clock */

bool
log_journal_is_there(void)
{
	const struct timeval patience = {.tv_usec = PATIENCE_US};

	if (access(journal.sun_path, W_OK) < 0)
		return false;
	if (fd >= 0)
		return true;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0) {
		close(fd);
		fd = -1;
	}
	return fd >= 0;
}

/* Behind the name: its length and the value, so that the value may hold anything. */
static void
add_value(const char *value, size_t len)
{
	uint64_t le = htole64(len);

	buf_add_char(&entry, '\n');
	buf_add(&entry, &le, sizeof le);
	buf_add(&entry, value, len);
	buf_add_char(&entry, '\n');
}

void
log_journal_start(void)
{
	buf_clear(&entry);
	buf_add_str(&entry, "SYSLOG_IDENTIFIER=" IDENTIFIER "\n");
}

void
log_journal_field(const char *name, const char *value, size_t len)
{
	buf_add_str(&entry, PREFIX);
	/* what is short in a line has its whole name in a query */
	for (const char *c = strcmp(name, "ns") == 0 ? "namespace" : name; *c; c++)
		buf_add_char(&entry, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
	add_value(value, len);
}

static time_t
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

enum log_journal_fate
log_journal_send(char priority, const char *message, size_t len)
{
	bool patient = impatient_until == 0 || now_s() >= impatient_until;
	ssize_t sent;

	assert(fd >= 0);
	buf_printf(&entry, "PRIORITY=%c\nMESSAGE", priority);
	add_value(message, len);
	do
		sent =
		    sendto(fd, entry.data, entry.len, MSG_NOSIGNAL | (patient ? 0 : MSG_DONTWAIT),
			(const struct sockaddr *)&journal, sizeof journal);
	while (sent < 0 && errno == EINTR);
	if (entry.cap > KEEP_BYTES)
		buf_free(&entry);
	if (sent >= 0)
		return LOG_JOURNAL_SENT;
	if (errno != EAGAIN && errno != ENOBUFS)
		return LOG_JOURNAL_REFUSED;
	if (patient)
		impatient_until = now_s() + IMPATIENCE_S;
	return LOG_JOURNAL_LOST;
}
