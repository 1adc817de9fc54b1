/*
 * Reading from the command, writing to our own standard output. Promise: neither ever blocks us, as
 * there is a lease to keep meanwhile, however slowly our reader reads; the command waits instead.
 * A reader that goes away stops nothing: the output of an effect is recorded whether or not
 * anybody looks at it.
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536
#define WAITING_BYTES_MAX 262144

/*
 * Writing to a terminal or a full pipe blocks, and O_NONBLOCK belongs to the open file, which
 * others share with us (a shell, the command itself). So a pipe or terminal is opened once more for
 * us alone, where the system lets us.
 */
static void
open_out(struct relay *relay)
{
	struct stat st;
	int own;

	relay->out = STDOUT_FILENO;
	if (fstat(STDOUT_FILENO, &st) < 0)
		return;
	relay->out_socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !isatty(STDOUT_FILENO))
		return;
	own = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0) {
		relay->out = own;
		relay->out_ours = true;
	}
}

void
relay_start(struct relay *relay, int in)
{
	*relay = (struct relay){.in = in, .hash = digest_stream_new()};
	open_out(relay);
}

bool
relay_waits(const struct relay *relay)
{
	return relay->out >= 0 && relay->waiting.len > relay->n_passed;
}

void
relay_poll(const struct relay *relay, struct pollfd fds[2])
{
	bool full = relay_waits(relay) && relay->waiting.len - relay->n_passed >= WAITING_BYTES_MAX;

	fds[0] = (struct pollfd){.fd = full ? -1 : relay->in, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = relay_waits(relay) ? relay->out : -1, .events = POLLOUT};
}

static void
take(struct relay *relay, const char *data, size_t len)
{
	size_t room = RELAY_KEPT_BYTES_MAX - relay->kept.len;

	buf_add(&relay->kept, data, len < room ? len : room);
	digest_stream_add(relay->hash, data, len);
	relay->n_bytes += len;
	if (relay->out >= 0)
		buf_add(&relay->waiting, data, len);
}

static void
stop_reading(struct relay *relay)
{
	if (relay->in >= 0)
		close(relay->in);
	relay->in = -1;
}

/* One read of at most `most` bytes; 0 = nothing came. */
static size_t
read_some(struct relay *relay, size_t most)
{
	char data[READ_BYTES];
	ssize_t n;

	do
		n = read(relay->in, data, most < sizeof data ? most : sizeof data);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		take(relay, data, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		stop_reading(relay);
	return n > 0 ? (size_t)n : 0;
}

/* Is there room for a write that does not block? Of a file that others share, poll(2) promises it
 * for PIPE_BUF bytes. */
static bool
writable(const struct relay *relay)
{
	struct pollfd pfd = {.fd = relay->out, .events = POLLOUT};

	return relay->out_ours || relay->out_socket || poll(&pfd, 1, 0) > 0;
}

static void
write_some(struct relay *relay)
{
	const char *data = relay->waiting.data + relay->n_passed;
	size_t len = relay->waiting.len - relay->n_passed;
	ssize_t n;

	if (!relay->out_ours && !relay->out_socket && len > PIPE_BUF)
		len = PIPE_BUF;
	n = relay->out_socket ? send(relay->out, data, len, MSG_DONTWAIT | MSG_NOSIGNAL)
			      : write(relay->out, data, len);
	if (n > 0) {
		relay->n_passed += (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		relay->out_error = errno;
		if (relay->out_ours)
			close(relay->out);
		relay->out = -1;
	}
	if (!relay_waits(relay)) {
		buf_clear(&relay->waiting);
		relay->n_passed = 0;
	}
}

void
relay_turn(struct relay *relay)
{
	struct pollfd fds[2];

	relay_poll(relay, fds);
	if (fds[0].fd >= 0)
		read_some(relay, READ_BYTES);
	while (relay_waits(relay) && writable(relay)) {
		size_t before = relay->n_passed;

		write_some(relay);
		if (relay->n_passed == before)
			break;
	}
}

void
relay_drain(struct relay *relay)
{
	int left = 0;
	size_t n;

	/* as much as is there now: a background process of the command may go on writing for ever
	 */
	if (relay->in >= 0 && ioctl(relay->in, FIONREAD, &left) < 0)
		left = 0;
	while (left > 0 && relay->in >= 0 && (n = read_some(relay, (size_t)left)) > 0)
		left -= (int)n;
	stop_reading(relay);
}

void
relay_hash(struct relay *relay, char ret[2 * SHA256_BYTES + 1])
{
	uint8_t hash[SHA256_BYTES];

	digest_stream_end(relay->hash, hash);
	relay->hash = NULL;
	digest_hex(hash, sizeof hash, ret);
}

void
relay_free(struct relay *relay)
{
	char hex[2 * SHA256_BYTES + 1];

	stop_reading(relay);
	if (relay->hash)
		relay_hash(relay, hex);
	if (relay->out_ours && relay->out >= 0)
		close(relay->out);
	buf_free(&relay->waiting);
	buf_free(&relay->kept);
}
