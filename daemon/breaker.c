/*
 * Slots and circuits, by tool.
 *
 * Promises: half open lets one probe through; what a probe says that began before the last answer
 * came, or before the circuit opened, opens nothing; the memory is bounded: of tools with nothing
 * under way the oldest are forgotten. Owns its list.
 */
#include "breaker.h"

#include "alloc.h"
#include "json.h"
#include "log.h"
#include "loop.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define FAILURES_MAX 5
#define PAUSE_MS_MIN 100
#define PAUSE_MS_MAX 300000
#define JITTER_PART 5 /* of a pause, on top: rows that wait do not all come back at once */
#define TOOLS_MAX 1024
#define SAY_AGAIN_MS 60000
#define ERROR_BYTES_MAX 255

struct breaker {
	TAILQ_ENTRY(breaker) link; /* in `breakers`, the one that was asked last at the end */
	char *ns, *tool;
	unsigned running, n_trials;
	int64_t n_failures;    /* in a row */
	int64_t answered_ms;   /* when an answer last came */
	int64_t asked_ms;      /* when a probe last began or ended */
	int64_t open_until_ms; /* 0 = closed */
	int64_t open_since_us;
	unsigned n_pauses; /* since it opened */
	int64_t said_ms;   /* when it was last logged that it opened; 0 = never */
	bool said;	   /* that it is open */
	char *error;	   /* of the last failure; NULL = none since the last answer */
};

static TAILQ_HEAD(breakers, breaker) breakers = TAILQ_HEAD_INITIALIZER(breakers);
static unsigned n_breakers, n_running, probes_max;

/* One that was not asked for as long is forgotten. */
static const int64_t forget_ms[] = {
    [BREAKER_CLOSED] = 600000,
    [BREAKER_OPEN] = INT64_MAX,
    [BREAKER_HALF_OPEN] = 3600000,
};

static const char *const circuit_names[] = {
    [BREAKER_CLOSED] = "closed",
    [BREAKER_OPEN] = "open",
    [BREAKER_HALF_OPEN] = "half_open",
};

static void
breaker_forget(struct breaker *b)
{
	assert(b->running == 0);
	TAILQ_REMOVE(&breakers, b, link);
	n_breakers--;
	free(b->ns);
	free(b->tool);
	free(b->error);
	free(b);
}

void
breaker_init(unsigned n_probes_max)
{
	probes_max = n_probes_max;
}

void
breaker_free(void)
{
	struct breaker *b, *next;

	for (b = TAILQ_FIRST(&breakers); b; b = next) {
		next = TAILQ_NEXT(b, link);
		breaker_forget(b);
	}
}

unsigned
breaker_probes_max(void)
{
	return probes_max;
}

unsigned
breaker_running(void)
{
	return n_running;
}

unsigned
breaker_share(void)
{
	return probes_max - probes_max / 4;
}

static struct breaker *
breaker_find(const char *ns, const char *tool)
{
	struct breaker *b;

	TAILQ_FOREACH (b, &breakers, link)
		if (strcmp(b->tool, tool) == 0 && strcmp(b->ns, ns) == 0)
			return b;
	return NULL;
}

static struct breaker *
breaker_of(const char *ns, const char *tool)
{
	struct breaker *b = breaker_find(ns, tool), *oldest;

	if (b) {
		TAILQ_REMOVE(&breakers, b, link);
	} else {
		for (oldest = TAILQ_FIRST(&breakers); oldest && n_breakers >= TOOLS_MAX;
		     oldest = b) {
			b = TAILQ_NEXT(oldest, link);
			if (oldest->running == 0)
				breaker_forget(oldest);
		}
		b = xcalloc(1, sizeof *b);
		b->ns = xstrdup(ns);
		b->tool = xstrdup(tool);
		n_breakers++;
	}
	TAILQ_INSERT_TAIL(&breakers, b, link);
	b->asked_ms = loop_now_ms();
	return b;
}

static enum breaker_circuit
breaker_circuit(const struct breaker *b)
{
	if (b->open_until_ms == 0)
		return BREAKER_CLOSED;
	return loop_now_ms() < b->open_until_ms ? BREAKER_OPEN : BREAKER_HALF_OPEN;
}

static unsigned
breaker_room_of(const struct breaker *b)
{
	switch (breaker_circuit(b)) {
	case BREAKER_CLOSED:
		return b->running < breaker_share() ? breaker_share() - b->running : 0;
	case BREAKER_HALF_OPEN:
		return b->n_trials == 0 ? 1 : 0;
	case BREAKER_OPEN:
		break;
	}
	return 0;
}

unsigned
breaker_room(const char *ns, const char *tool)
{
	const struct breaker *b = breaker_find(ns, tool);

	return b ? breaker_room_of(b) : breaker_share();
}

unsigned
breaker_open_circuits(void)
{
	const struct breaker *b;
	unsigned n = 0;

	TAILQ_FOREACH (b, &breakers, link)
		n += b->open_until_ms != 0;
	return n;
}

bool
breaker_any_waits(void)
{
	const struct breaker *b;

	TAILQ_FOREACH (b, &breakers, link)
		if (b->open_until_ms != 0 || b->running >= breaker_share())
			return true;
	return false;
}

/* ---- the circuit ---- */

static void
breaker_log(const struct breaker *b, enum log_level level, const char *state)
{
	struct log_line l;

	if (!log_start(&l, level, "circuit"))
		return;
	log_str(&l, "ns", b->ns);
	log_str(&l, "tool", b->tool);
	log_str(&l, "state", state);
	log_int(&l, "failures", b->n_failures);
	log_str(&l, "reason", b->error);
	log_end(&l);
}

static void
breaker_open(struct breaker *b, const struct tool_policy *policy)
{
	int64_t now_ms = loop_now_ms(), pause_ms = PAUSE_MS_MAX;
	size_t n = policy->n_probe_backoff;

	if (n > 0)
		pause_ms = policy->probe_backoff_ms[b->n_pauses < n ? b->n_pauses : n - 1];
	if (pause_ms < PAUSE_MS_MIN)
		pause_ms = PAUSE_MS_MIN;
	if (pause_ms > PAUSE_MS_MAX)
		pause_ms = PAUSE_MS_MAX;
	if (b->open_until_ms == 0) {
		b->open_since_us = loop_unix_us();
		b->said = b->said_ms == 0 || now_ms - b->said_ms >= SAY_AGAIN_MS;
		if (b->said) {
			breaker_log(b, LOG_LEVEL_WARNING, "open");
			b->said_ms = now_ms;
		}
	}
	b->n_pauses++;
	b->open_until_ms = now_ms + pause_ms + random() % (pause_ms / JITTER_PART + 1);
}

/* As if nothing had ever happened; what is under way says nothing about it any more. */
static void
breaker_reset(struct breaker *b)
{
	b->n_failures = 0;
	b->n_pauses = 0;
	b->open_until_ms = 0;
	b->answered_ms = loop_now_ms();
	free(b->error);
	b->error = NULL;
}

static void
breaker_answered(struct breaker *b)
{
	bool said = b->open_until_ms != 0 && b->said;

	breaker_reset(b);
	if (said)
		breaker_log(b, LOG_LEVEL_INFO, "closed");
}

/* At most ERROR_BYTES_MAX bytes of it, ended at a character's edge. */
static char *
error_of(const char *why)
{
	size_t len = strlen(why);

	if (len > ERROR_BYTES_MAX)
		for (len = ERROR_BYTES_MAX; len > 0 && ((unsigned char)why[len] & 0xc0) == 0x80;)
			len--;
	return xstrndup(why, len);
}

static void
breaker_failed(struct breaker *b, const struct breaker_probe *p, const struct tool_policy *policy,
    const char *why)
{
	bool closed = b->open_until_ms == 0;

	/* an answer came since it began, or the circuit opened: it tells nothing new */
	if (p->started_ms < b->answered_ms || (!closed && !p->trial))
		return;
	b->n_failures++;
	free(b->error);
	b->error = error_of(why);
	if (!closed || b->n_failures >= FAILURES_MAX)
		breaker_open(b, policy);
}

/* ---- probes ---- */

void
breaker_start(struct breaker_probe *p, const struct tool_policy *policy)
{
	struct breaker *b = breaker_of(policy->ns, policy->name);

	assert(!p->breaker);
	p->breaker = b;
	p->started_ms = b->asked_ms;
	p->trial = breaker_circuit(b) == BREAKER_HALF_OPEN;
	b->n_trials += p->trial;
	b->running++;
	n_running++;
}

void
breaker_drop(struct breaker_probe *p)
{
	struct breaker *b = p->breaker;

	if (!b)
		return;
	assert(b->running > 0 && n_running > 0 && b->n_trials >= p->trial);
	b->asked_ms = loop_now_ms();
	b->n_trials -= p->trial;
	b->running--;
	n_running--;
	p->breaker = NULL;
}

void
breaker_end(struct breaker_probe *p, const struct tool_policy *policy, const char *why)
{
	struct breaker *b = p->breaker;

	if (!b)
		return;
	breaker_drop(p);
	if (why)
		breaker_failed(b, p, policy, why);
	else
		breaker_answered(b);
}

/* ---- what is told ---- */

void
breaker_each(void (*cb)(void *arg, const struct breaker_tool *tool), void *arg)
{
	int64_t now_ms = loop_now_ms();
	struct breaker *b, *next;

	for (b = TAILQ_FIRST(&breakers); b; b = next) {
		enum breaker_circuit circuit = breaker_circuit(b);

		next = TAILQ_NEXT(b, link);
		if (b->running == 0 && now_ms - b->asked_ms > forget_ms[circuit])
			breaker_forget(b);
		else if (b->running > 0 || circuit != BREAKER_CLOSED)
			cb(arg,
			    &(struct breaker_tool){.ns = b->ns,
				.name = b->tool,
				.circuit = circuit,
				.running = b->running,
				.room = breaker_room_of(b),
				.open_since_us = b->open_since_us});
	}
}

void
breaker_json(const char *ns, const char *tool, struct buf *out)
{
	static const struct breaker none;
	const struct breaker *b = breaker_find(ns, tool);
	enum breaker_circuit circuit;

	if (!b)
		b = &none;
	circuit = breaker_circuit(b);
	buf_add_char(out, '{');
	buf_json_member_str(out, "circuit", circuit_names[circuit]);
	buf_json_member_int(out, "failures", b->n_failures);
	if (circuit == BREAKER_OPEN)
		buf_json_member_instant(
		    out, "open_until", loop_unix_us() + (b->open_until_ms - loop_now_ms()) * 1000);
	buf_json_member_int(out, "running", b->running);
	if (b->error && json_utf8(b->error, strlen(b->error)))
		buf_json_member_str(out, "last_error", b->error);
	buf_add_char(out, '}');
}

void
breaker_reload(struct tool_set *old_tools, struct tool_set *new_tools)
{
	struct breaker *b;

	TAILQ_FOREACH (b, &breakers, link) {
		const struct tool_policy *was = tool_find(old_tools, b->ns, b->tool);
		const struct tool_policy *is = tool_find(new_tools, b->ns, b->tool);

		if (!was || !is || was->version != is->version)
			breaker_reset(b);
	}
}
