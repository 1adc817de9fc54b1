/*
 * The life of a guarded command. Promises: it is started once, while the grant is fresh by our own
 * clock, and asked again in the child; while it runs the lease is kept and signals reach it; what
 * it came to is reported before anything else is waited for; `release` is said only where it is
 * sure that nothing of it ran. Words for people do not belong here.
 */
#include "guard.h"

#include "alloc.h"
#include "conn.h"
#include "json.h"
#include "recorded.h"
#include "relay.h"
#include "spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIVE_BACK_MS 5000    /* for a claim that came too late; as long as any release takes */
#define AWAY_MS 2000	     /* without a connection: then people are told */
#define CANCEL_MS 300	     /* for a claim that nobody waits for any more */
#define LAST_TRY_MS 1000     /* to record, once we are told to end */
#define LIMITS_MS 1000	     /* for the daemon to say how much it keeps */
#define SURE_BYTES 512	     /* so much output is recorded whole without asking */
#define LINE_REST_BYTES 1024 /* of a line: what stands around a result */
#define RESULT_BYTES_DEFAULT 65536 /* a policy's result_max, where it says nothing */
#define LINE_BYTES_DEFAULT 1048576 /* the daemon's max_line */
#define FOREVER INT64_MAX

struct guard {
	const struct guard_spec *spec;
	struct guard_end *end;
	bool guarded; /* there is a claim, and a report to make */
	struct relay relay;
	pid_t pid;   /* -1 = gone */
	int news_fd; /* of its start; -1 = known */
	int wait_status;
	int64_t stop_at_ms; /* when it is to be ended by us next */
	bool limits_asked;
	uint64_t calls[2]; /* the limits asked for; 0 = none under way */
	int64_t result_max, max_line;
	bool reported;
	int told_to_end; /* a signal that came when the command was gone; 0 = none */
};

/* One wait: for the ledger, the n descriptors in fds[1, n + 1) and the time. fds[0] is ours. */
static void
turn(struct effect_ledger *ledger, struct pollfd *fds, nfds_t n, int64_t until_ms)
{
	int64_t left_ms = until_ms == FOREVER ? -1 : until_ms - conn_now_ms();
	int ledger_ms = effect_timeout_ms(ledger);

	if (until_ms != FOREVER && left_ms < 0)
		left_ms = 0;
	if (ledger_ms >= 0 && (left_ms < 0 || ledger_ms < left_ms))
		left_ms = ledger_ms;
	if (left_ms > INT32_MAX)
		left_ms = INT32_MAX;
	fds[0] = (struct pollfd){.fd = effect_fd(ledger), .events = (short)effect_events(ledger)};
	if (poll(fds, n + 1, (int)left_ms) < 0) {
		for (nfds_t i = 0; i <= n; i++)
			fds[i].revents = 0;
	}
	effect_dispatch(ledger, fds[0].revents);
}

static bool
ends_us(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* --- begin --- */

struct asked {
	bool answered;
	enum effect_kind kind;
	struct effect_answer *answer;
};

static void
begin_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct asked *asked = arg;

	*asked = (struct asked){.answered = true, .kind = kind, .answer = answer};
}

/* A look at what begin_cb() may have written meanwhile. */
static bool
is_open(const struct asked *asked)
{
	return !asked->answered;
}

/* Nobody waits for it any more: what was granted, or may be yet, is given back. */
static void
let_go(struct effect_ledger *ledger, uint64_t call, struct asked *asked)
{
	effect_cancel(ledger, call);
	if (asked->kind == EFFECT_RUN)
		effect_release_async(ledger, asked->answer,
		    "a signal came before the command was started", NULL, NULL, NULL);
	effect_flush(ledger, asked->answered ? GIVE_BACK_MS : CANCEL_MS);
	effect_answer_free(asked->answer);
}

enum effect_kind
guard_begin(struct effect_ledger *ledger, const struct signals *signals,
    const struct effect_params *params, void (*away)(void), struct effect_answer **ret_answer,
    int *ret_signal)
{
	int64_t away_at_ms = conn_now_ms() + AWAY_MS;
	struct asked asked = {0};
	struct signals_word word;
	struct pollfd fds[2];
	uint64_t call = 0;
	enum effect_kind kind = effect_begin_async(ledger, params, begin_cb, &asked, &call);

	*ret_signal = 0;
	if (kind != EFFECT_OK)
		return kind;
	while (is_open(&asked) && !*ret_signal) {
		fds[1] = (struct pollfd){.fd = signals->fd, .events = POLLIN};
		turn(ledger, fds, 1, away_at_ms);
		if (conn_now_ms() >= away_at_ms) {
			if (effect_fd(ledger) < 0 && is_open(&asked))
				away();
			away_at_ms = FOREVER;
		}
		while (signals_next(signals, &word))
			if (ends_us(word.number))
				*ret_signal = word.number;
	}
	if (*ret_signal) {
		let_go(ledger, call, &asked);
		return EFFECT_CANCELLED;
	}
	if (asked.kind == EFFECT_LATE)
		effect_flush(ledger, GIVE_BACK_MS); /* the library has only queued it */
	*ret_answer = asked.answer;
	return asked.kind;
}

/* --- how much of an output is kept --- */

static int64_t
number_at(const struct json_doc *doc, uint32_t object, const char *name, int64_t otherwise)
{
	uint32_t node = json_member(doc, object, name);
	int64_t value;

	return node && json_int(doc, node, &value) && value > 0 ? value : otherwise;
}

static bool
text_is(const struct json_doc *doc, uint32_t object, const char *name, const char *text)
{
	uint32_t node = json_member(doc, object, name);
	char *value;
	bool same;

	if (!node || doc->nodes[node].type != JSON_STRING)
		return false;
	value = json_string(doc, node, NULL);
	same = !strcmp(value, text);
	free(value);
	return same;
}

static void
tools_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct guard *g = arg;
	struct json_doc doc = {0};
	uint32_t tools, tool;
	const char *raw;
	size_t len;

	g->calls[0] = 0;
	if (kind == EFFECT_OK && (raw = effect_answer_raw(answer, NULL, &len)) &&
	    json_scan(&doc, raw, len, NULL, NULL) == 0 && (tools = json_member(&doc, 0, "tools"))) {
		tool = doc.nodes[tools].n_children ? tools + 1 : 0;
		for (; tool; tool = doc.nodes[tool].next) {
			if (text_is(&doc, tool, "name", g->spec->tool) &&
			    (!g->spec->ns || !json_member(&doc, tool, "namespace") ||
				text_is(&doc, tool, "namespace", g->spec->ns)))
				g->result_max =
				    number_at(&doc, tool, "result_max", RESULT_BYTES_DEFAULT);
		}
	}
	json_free(&doc);
	effect_answer_free(answer);
}

static void
info_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct guard *g = arg;
	struct json_doc doc = {0};
	const char *raw;
	uint32_t limits;
	size_t len;

	g->calls[1] = 0;
	if (kind == EFFECT_OK && (raw = effect_answer_raw(answer, NULL, &len)) &&
	    json_scan(&doc, raw, len, NULL, NULL) == 0 && (limits = json_member(&doc, 0, "limits")))
		g->max_line = number_at(&doc, limits, "max_line", LINE_BYTES_DEFAULT);
	json_free(&doc);
	effect_answer_free(answer);
}

/* Only of an output that is not small: a guarded command that says little costs two round trips. */
static void
ask_limits(struct guard *g)
{
	struct effect_ledger *ledger = g->spec->ledger;

	if (!g->guarded || g->limits_asked || g->relay.n_bytes <= SURE_BYTES)
		return;
	g->limits_asked = true;
	if (effect_call_async(ledger, "tools", NULL, LIMITS_MS, tools_cb, g, &g->calls[0]))
		g->calls[0] = 0;
	if (effect_call_async(ledger, "info", NULL, LIMITS_MS, info_cb, g, &g->calls[1]))
		g->calls[1] = 0;
}

/* --- the command --- */

/* Asked in the child: by the clock of this moment. Touches nothing but memory. */
static bool
may_start_cb(void *arg)
{
	const struct guard *g = arg;

	return effect_fresh_ms(g->spec->grant) > 0;
}

static void
lost_cb(struct effect_answer *grant, void *arg)
{
	struct guard *g = arg;

	(void)grant;
	g->end->lost = true;
	if (g->spec->lost)
		g->spec->lost();
}

/* What the command may pass on to whoever does the work. */
static void
set_environment(const struct effect_answer *answer)
{
	static const char *const names[][2] = {{"EFFECT_ID", "effect"}, {"EFFECT_KEY", "key"},
	    {"EFFECT_PROVIDER_KEY", "provider_key"}};
	int64_t attempt = effect_answer_int(answer, "attempt", 0);
	char number[32];

	/* those of a run around this one would be another effect's */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = effect_answer_text(answer, names[i][1]);

		if (value ? setenv(names[i][0], value, 1) : unsetenv(names[i][0]))
			alloc_out_of_memory();
	}
	snprintf(number, sizeof number, "%lld", (long long)attempt);
	if (attempt ? setenv("EFFECT_ATTEMPT", number, 1) : unsetenv("EFFECT_ATTEMPT"))
		alloc_out_of_memory();
}

static void
set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Its output goes through us only where it is to be recorded. */
static bool
start(struct guard *g)
{
	struct spawn what = {.argv = g->spec->argv,
	    .out_fd = -1,
	    .signals = g->spec->signals,
	    .may_start = g->guarded ? may_start_cb : NULL,
	    .arg = g};
	int out[2] = {-1, -1}, error;

	if (g->guarded) {
		if (pipe2(out, O_CLOEXEC) < 0)
			return false;
		set_nonblocking(out[0]);
		relay_start(&g->relay, out[0]);
		what.out_fd = out[1];
	}
	set_environment(g->spec->grant);
	g->pid = spawn(&what, &g->news_fd);
	error = errno;
	if (out[1] >= 0)
		close(out[1]);
	errno = error;
	return g->pid > 0;
}

/* A signal of the terminal, or of the command to its own group, has reached the command already. */
static void
forward(struct guard *g, const struct signals_word *word)
{
	bool reached = word->from_terminal || word->sender == g->pid;

	if (word->from_terminal && word->number == SIGINT)
		g->end->interrupted_by_terminal = true;
	/* a terminal that is gone tells the leader of its session, and nobody else */
	if (word->from_terminal && word->number == SIGHUP && getsid(0) == getpid())
		reached = false;
	if (g->pid < 0 && ends_us(word->number))
		g->told_to_end = word->number;
	else if (g->pid > 0 && word->number != SIGCHLD && !reached)
		kill(g->pid, word->number);
}

/* Takes leave of the command, and of whoever else is our child: we may be a container's init. */
static void
reap(struct guard *g)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == g->pid) {
			g->pid = -1;
			g->wait_status = status;
		}
	}
}

static void
look_at_news(struct guard *g)
{
	enum spawn_news news;

	if (g->news_fd < 0)
		return;
	news = spawn_news(g->news_fd, &g->end->code);
	if (news == SPAWN_NOTHING_YET)
		return;
	if (news == SPAWN_LATE)
		g->end->how = GUARD_LATE;
	else if (news == SPAWN_REFUSED)
		g->end->how = GUARD_REFUSED;
	close(g->news_fd);
	g->news_fd = -1;
}

static void
stop_in_time(struct guard *g)
{
	if (g->pid < 0 || conn_now_ms() < g->stop_at_ms)
		return;
	if (g->end->how != GUARD_TIMED_OUT) {
		g->end->how = GUARD_TIMED_OUT;
		kill(g->pid, SIGTERM);
		kill(g->pid, SIGCONT); /* a stopped one could not obey */
		g->stop_at_ms = conn_now_ms() + g->spec->kill_after_ms;
	} else {
		kill(g->pid, SIGKILL);
		g->stop_at_ms = FOREVER;
	}
}

/* One turn of everything. */
static void
guard_turn(struct guard *g, int64_t until_ms)
{
	struct pollfd fds[5];
	struct signals_word word;

	fds[1] = (struct pollfd){.fd = g->spec->signals->fd, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = g->news_fd, .events = POLLIN};
	relay_poll(&g->relay, &fds[3]);
	turn(g->spec->ledger, fds, 4, until_ms < g->stop_at_ms ? until_ms : g->stop_at_ms);
	relay_turn(&g->relay);
	ask_limits(g);
	while (signals_next(g->spec->signals, &word))
		forward(g, &word);
	reap(g);
	look_at_news(g);
	stop_in_time(g);
}

/* The news of a child that is gone are there, as no one else has that pipe's end. */
static void
understand_end(struct guard *g)
{
	g->stop_at_ms = FOREVER;
	look_at_news(g);
	relay_drain(&g->relay);
	ask_limits(g);
	if (g->end->how != GUARD_EXITED)
		return;
	if (WIFSIGNALED(g->wait_status)) {
		g->end->how = GUARD_SIGNALED;
		g->end->code = WTERMSIG(g->wait_status);
	} else {
		g->end->code = WEXITSTATUS(g->wait_status);
	}
}

/* --- the report --- */

static void
report_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct guard *g = arg;

	g->reported = true;
	g->end->report = kind;
	g->end->answer = answer;
	if (kind != EFFECT_OK)
		g->end->report_error = xstrdup(effect_error(g->spec->ledger));
}

/* What is recorded of a command that ended by itself. */
static void
build_result(struct guard *g, struct buf *to)
{
	char hash[2 * SHA256_BYTES + 1];
	struct recorded what = {.status = g->end->code,
	    .out = g->relay.kept.data,
	    .out_len = g->relay.kept.len,
	    .out_bytes = g->relay.n_bytes,
	    .out_sha256 = hash};
	int64_t until_ms = conn_now_ms() + LIMITS_MS, line;

	while ((g->calls[0] || g->calls[1]) && !g->told_to_end && conn_now_ms() < until_ms)
		guard_turn(g, until_ms);
	line = g->max_line - LINE_REST_BYTES;
	relay_hash(&g->relay, hash);
	recorded_write(to, &what, (size_t)(g->result_max < line ? g->result_max : line));
}

static enum effect_kind
send_report(struct guard *g, uint64_t *ret_call)
{
	const struct guard_spec *spec = g->spec;
	struct effect_report end = EFFECT_REPORT(.outcome = EFFECT_OUTCOME_SUCCEEDED);
	struct buf result = {0};
	enum effect_kind kind;
	char *why;

	if (g->end->how == GUARD_LATE || g->end->how == GUARD_REFUSED) {
		why = g->end->how == GUARD_LATE
		    ? xstrdup("the grant was too old to be used, the command was not started")
		    : xasprintf("the command was not started: %s", strerror(g->end->code));
		kind = effect_release_async(spec->ledger, spec->grant, why, report_cb, g, ret_call);
		free(why);
	} else if (g->end->how != GUARD_EXITED) {
		why = g->end->how == GUARD_TIMED_OUT
		    ? xstrdup("the command was ended by a time-out")
		    : xasprintf("the command died of signal %d (%s)", g->end->code,
			  strsignal(g->end->code));
		kind = effect_unknown_async(spec->ledger, spec->grant, why, report_cb, g, ret_call);
		free(why);
	} else {
		build_result(g, &result);
		if (g->end->code != 0)
			end.outcome = EFFECT_OUTCOME_ERROR;
		end.result = result.data;
		end.result_len = result.len;
		end.complete_timeout_ms = spec->record_timeout_ms;
		kind =
		    effect_complete_async(spec->ledger, spec->grant, &end, report_cb, g, ret_call);
		buf_free(&result);
	}
	return kind;
}

/* Until the ledger has it, or the time for it is over; soon, once somebody wants us to end. */
static void
report(struct guard *g)
{
	int64_t until_ms = FOREVER;
	uint64_t call = 0;
	enum effect_kind kind = send_report(g, &call);

	if (kind != EFFECT_OK) {
		report_cb(kind, NULL, g);
		return;
	}
	while (!g->reported) {
		if (g->told_to_end && until_ms == FOREVER)
			until_ms = conn_now_ms() + LAST_TRY_MS;
		guard_turn(g, until_ms);
		if (!g->reported && conn_now_ms() >= until_ms) {
			effect_cancel(g->spec->ledger, call);
			g->reported = true;
			g->end->report = EFFECT_NOT_RECORDED;
			g->end->report_error =
			    xasprintf("ended by signal %d before an answer came", g->told_to_end);
		}
	}
}

void
guard_run(const struct guard_spec *spec, struct guard_end *ret)
{
	struct guard g = {.spec = spec,
	    .end = ret,
	    .guarded = effect_answer_kind(spec->grant) == EFFECT_RUN,
	    .relay = {.in = -1, .out = -1},
	    .news_fd = -1,
	    .stop_at_ms = FOREVER,
	    .result_max = RESULT_BYTES_DEFAULT,
	    .max_line = LINE_BYTES_DEFAULT};

	*ret = (struct guard_end){.how = GUARD_EXITED, .report = EFFECT_OK};
	if (g.guarded && effect_start(spec->ledger, spec->grant) != EFFECT_RUN) {
		ret->how = GUARD_LATE;
		ret->report = effect_flush(spec->ledger, GIVE_BACK_MS); /* of the give-back */
		return;
	}
	if (!start(&g)) {
		ret->how = GUARD_REFUSED;
		ret->code = errno;
		g.pid = -1;
	} else {
		if (spec->timeout_ms)
			g.stop_at_ms = conn_now_ms() + spec->timeout_ms;
		if (g.guarded && effect_keep(spec->ledger, spec->grant, lost_cb, &g) != EFFECT_OK)
			lost_cb(spec->grant, &g);
		while (g.pid > 0)
			guard_turn(&g, FOREVER);
		understand_end(&g);
	}
	if (g.guarded)
		report(&g);
	while (relay_waits(&g.relay) && !g.told_to_end)
		guard_turn(&g, FOREVER);
	for (size_t i = 0; i < sizeof g.calls / sizeof *g.calls; i++)
		if (g.calls[i])
			effect_cancel(spec->ledger, g.calls[i]);
	ret->out_error = relay_waits(&g.relay) ? EINTR : g.relay.out_error;
	relay_free(&g.relay);
}

void
guard_end_free(struct guard_end *end)
{
	effect_answer_free(end->answer);
	free(end->report_error);
}
