/*
 * Load on effectd's socket: a closed loop of `in_flight` callers over a few connections. One unit
 * of work is a wrapper's whole way (begin -> run -> complete -> done), or for `replay` one begin of
 * a key that is done. Every answer is checked; a wrong one ends the program.
 *
 *   socket_load SOCKET fresh|replay IN_FLIGHT CONNECTIONS SECONDS WARM_SECONDS [NAMESPACE]
 */
#include "alloc.h"
#include "bench.h"
#include "digest.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLAY_KEYS 1000
#define LINE_BYTES 1024
#define RESULT                                              \
	"{\"status\":\"ok\",\"refund\":\"re_77\",\"body\":" \
	"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}"

struct caller {
	double began_ms;
	bool completing;
};

struct wire {
	int fd;
	char *in, *out; /* buffers of `cap` bytes */
	size_t n_in, n_out, cap;
};

static struct caller *callers;
static const char *ns; /* NULL: the peer has one only */
static struct wire *wires;
static int n_callers, n_wires;
static bool replay, measuring;
static struct samples samples;
static uint64_t n_units;
static char run_name[UUID_TEXT_BYTES];
static uint64_t n_keys;

static void
send_line(struct wire *w, const char *line, size_t len)
{
	if (w->n_out + len > w->cap)
		errx(70, "output buffer is full");
	memcpy(w->out + w->n_out, line, len);
	w->n_out += len;
}

static void
send_begin(int id, bool old_key)
{
	char line[LINE_BYTES];
	uint64_t key = old_key ? n_keys++ % REPLAY_KEYS : n_keys++;
	int len = snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"begin\",\"params\":{%s%s%s"
	    "\"tool\":\"bench_refund\",\"key\":"
	    "\"%s:%s:%llu\",\"args\":{\"order_id\":%llu,\"line\":3,\"amount\":\"12.50\",\"memo\":"
	    "\"late\"},\"run\":"
	    "\"run-1\",\"step\":\"7\"}}\n",
	    id, ns ? "\"namespace\":\"" : "", ns ? ns : "", ns ? "\"," : "",
	    old_key ? "replay" : "fresh", run_name, (unsigned long long)key,
	    (unsigned long long)key);

	callers[id].began_ms = bench_now_ms();
	callers[id].completing = false;
	send_line(&wires[id % n_wires], line, (size_t)len);
}

/* Copies the string member `name` of a flat answer of ours. */
static void
member(const char *line, const char *name, char *ret, size_t size)
{
	char pattern[32];
	const char *p, *end;

	snprintf(pattern, sizeof(pattern), "\"%s\":\"", name);
	p = strstr(line, pattern);
	if (p == NULL)
		errx(70, "no \"%s\" in: %s", name, line);
	p += strlen(pattern);
	end = strchr(p, '"');
	if (end == NULL || (size_t)(end - p) >= size)
		errx(70, "\"%s\" is too long in: %s", name, line);
	memcpy(ret, p, (size_t)(end - p));
	ret[end - p] = '\0';
}

static void
finish(int id)
{
	if (measuring) {
		samples_add(&samples, bench_now_ms() - callers[id].began_ms);
		n_units++;
	}
	send_begin(id, replay);
}

static void
answer(const char *line)
{
	static const char prefix[] = "{\"jsonrpc\":\"2.0\",\"id\":";
	char effect[UUID_TEXT_BYTES], token[UUID_TEXT_BYTES], out[LINE_BYTES];
	int id =
	    strncmp(line, prefix, sizeof(prefix) - 1) == 0 ? atoi(line + sizeof(prefix) - 1) : -1;
	int len;

	if (id < 0 || id >= n_callers)
		errx(70, "unexpected line: %s", line);
	if (callers[id].completing) {
		if (strstr(line, "\"state\":\"done\"") == NULL)
			errx(70, "not done: %s", line);
		finish(id);
		return;
	}
	if (replay && strstr(line, "\"decision\":\"replay\"") != NULL) {
		if (strstr(line, "\"result\":" RESULT) == NULL)
			errx(70, "another result: %s", line);
		finish(id);
		return;
	}
	if (strstr(line, "\"decision\":\"busy\"") != NULL && replay) {
		send_begin(id, true);
		return;
	}
	if (strstr(line, "\"decision\":\"run\"") == NULL)
		errx(70, "not run: %s", line);
	member(line, "effect", effect, sizeof(effect));
	member(line, "token", token, sizeof(token));
	len = snprintf(out, sizeof(out),
	    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"complete\",\"params\":{\"effect\":\"%s\","
	    "\"token\":\"%s\","
	    "\"result\":" RESULT "}}\n",
	    id, effect, token);
	callers[id].completing = true;
	send_line(&wires[id % n_wires], out, (size_t)len);
}

static void
read_wire(struct wire *w)
{
	ssize_t n = recv(w->fd, w->in + w->n_in, w->cap - w->n_in - 1, MSG_DONTWAIT);
	char *line = w->in, *lf;

	if (n == 0 || (n < 0 && errno != EAGAIN))
		err(69, "effectd closed the connection");
	if (n < 0)
		return;
	w->n_in += (size_t)n;
	while ((lf = memchr(line, '\n', w->n_in - (size_t)(line - w->in))) != NULL) {
		*lf = '\0';
		answer(line);
		line = lf + 1;
	}
	w->n_in -= (size_t)(line - w->in);
	memmove(w->in, line, w->n_in);
}

static void
write_wire(struct wire *w)
{
	ssize_t n;

	if (w->n_out == 0)
		return;
	n = send(w->fd, w->out, w->n_out, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		err(69, "write to effectd");
	if (n > 0) {
		w->n_out -= (size_t)n;
		memmove(w->out, w->out + n, w->n_out);
	}
}

static void
connect_wires(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(addr.sun_path))
		errx(64, "socket path is too long");
	strcpy(addr.sun_path, path);
	wires = xcalloc((size_t)n_wires, sizeof(*wires));
	for (int i = 0; i < n_wires; i++) {
		wires[i].fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (wires[i].fd < 0 ||
		    connect(wires[i].fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
			err(69, "connect to %s", path);
		wires[i].cap = (size_t)(n_callers / n_wires + 1) * 4 * LINE_BYTES;
		wires[i].in = xmalloc(wires[i].cap);
		wires[i].out = xmalloc(wires[i].cap);
	}
}

static void
run_for(double ms)
{
	struct pollfd *fds = xcalloc((size_t)n_wires, sizeof(*fds));
	double end_ms = bench_now_ms() + ms;

	while (bench_now_ms() < end_ms) {
		for (int i = 0; i < n_wires; i++) {
			write_wire(&wires[i]);
			fds[i].fd = wires[i].fd;
			fds[i].events = (short)(POLLIN | (wires[i].n_out > 0 ? POLLOUT : 0));
		}
		if (poll(fds, (nfds_t)n_wires, 10000) == 0)
			errx(69, "no answer in 10 s");
		for (int i = 0; i < n_wires; i++)
			if (fds[i].revents & (POLLIN | POLLHUP | POLLERR))
				read_wire(&wires[i]);
	}
	free(fds);
}

int
main(int argc, char **argv)
{
	struct uuid name = uuid_random();
	double began_ms, seconds;

	if (argc != 7 && argc != 8)
		errx(64,
		    "usage: socket_load SOCKET fresh|replay IN_FLIGHT CONNECTIONS SECONDS "
		    "WARM_SECONDS [NAMESPACE]");
	ns = argv[7];
	replay = strcmp(argv[2], "replay") == 0;
	n_callers = atoi(argv[3]);
	n_wires = atoi(argv[4]);
	seconds = atof(argv[5]);
	if (n_callers < 1 || n_wires < 1 || n_wires > n_callers || seconds <= 0)
		errx(64, "bad numbers");
	uuid_text(&name, run_name);
	callers = xcalloc((size_t)n_callers, sizeof(*callers));
	connect_wires(argv[1]);
	for (int i = 0; i < n_callers; i++)
		send_begin(i, replay);
	run_for(atof(argv[6]) * 1e3);
	measuring = true;
	began_ms = bench_now_ms();
	run_for(seconds * 1e3);
	samples_print(&samples, n_units, bench_now_ms() - began_ms);
	return 0;
}
