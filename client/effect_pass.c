/*
 * One pass over the connection. Promises: what came before the end of a connection is judged before
 * it; a line is sent whole or the connection is lost; reports go before begins, and some room on
 * the wire is always theirs, so that a crowd of waiting begins holds up no result.
 */
#include "effect_pass.h"

#include "effect_judge.h"
#include "effect_sys.h"

#include <poll.h>
#include <stdio.h>

#define PIECES_MAX 32	     /* lines of one sendmsg() */
#define READS_MAX 16	     /* of one pass: the host has other things to do */
#define SILENT_MS_MAX 120000 /* no byte for so long while it is asked: it will not come */

static void
lost(struct effect_ledger *ledger, int64_t now_ms)
{
	effect_conn_close(&ledger->conn, now_ms, ledger->n_sent > 0);
	effect_call_all_again(ledger);
}

/* False: what was said there is not effectd's protocol. */
static bool
take_line(struct effect_ledger *ledger, const char *line, size_t len)
{
	struct effect_wire wire;
	struct effect_call *call;

	if (!effect_answer_read(line, len, &wire))
		return false;
	effect_conn_good(&ledger->conn);
	if (!wire.is_answer)
		return true;
	if (wire.is_nameless && wire.is_error)
		effect_judge_nameless(ledger, &wire);
	call = effect_call_find(ledger, wire.id);
	if (call && call == ledger->out)
		return false; /* it has not even been asked */
	/* an answer that comes twice: only a result is worth a second look */
	if (call && (call->state == EFFECT_CALL_SENT || !wire.is_error))
		effect_judge(call, &wire);
	return true;
}

/* Judges the lines that are there. False: the ledger is not as it was. */
static bool
take_lines(struct effect_ledger *ledger, int64_t now_ms)
{
	uint64_t epoch = ledger->epoch;
	const char *line;
	size_t len;

	while (effect_conn_line(&ledger->conn, &line, &len)) {
		if (!take_line(ledger, line, len)) {
			snprintf(ledger->conn.why, sizeof ledger->conn.why,
			    "what answers there does not speak effectd's protocol");
			lost(ledger, now_ms);
			return true;
		}
		if (!effect_call_go_on(ledger, epoch))
			return false;
	}
	return true;
}

/* Reads and judges until there is no more. False: the ledger is not as it was. */
static bool
read_all(struct effect_ledger *ledger, int64_t now_ms, int n_max)
{
	enum effect_conn_io io = EFFECT_CONN_DONE;

	for (int i = 0; i < n_max && io == EFFECT_CONN_DONE && ledger->conn.fd >= 0; i++) {
		io = effect_conn_recv(&ledger->conn, now_ms);
		if (io == EFFECT_CONN_DONE) {
			ledger->heard_ms = now_ms;
			if (!take_lines(ledger, now_ms))
				return false;
		}
	}
	if (io == EFFECT_CONN_LOST)
		lost(ledger, now_ms);
	return true;
}

static bool
fire_timers(struct effect_ledger *ledger, int64_t now_ms)
{
	uint64_t epoch = ledger->epoch;
	struct effect_timer *timer;

	while ((timer = effect_timer_due(&ledger->timers, now_ms))) {
		timer->fire(timer);
		if (!effect_call_go_on(ledger, epoch))
			return false;
	}
	return true;
}

/* The next call that may be sent now, behind `last` (NULL: the first); NULL if there is none. */
static struct effect_call *
next_to_send(const struct effect_ledger *ledger, struct effect_call *last, size_t n_more,
    size_t n_more_others)
{
	struct effect_call *next = last ? TAILQ_NEXT(last, link) : TAILQ_FIRST(&ledger->urgent);
	bool of_others = last && !effect_call_is_urgent(last);

	if (ledger->n_sent + n_more >= ledger->max_inflight)
		return NULL;
	if (!next && !of_others) {
		next = TAILQ_FIRST(&ledger->others);
		of_others = true;
	}
	/* a quarter of the room is for reports alone */
	if (of_others &&
	    ledger->n_sent_others + n_more_others >=
		ledger->max_inflight - ledger->max_inflight / 4)
		return NULL;
	return next;
}

static bool
has_to_send(const struct effect_ledger *ledger)
{
	return ledger->out || next_to_send(ledger, NULL, 0, 0) != NULL;
}

/* A complete that was found too long while it was sent: once more, without its result. */
static void
out_is_sent(struct effect_ledger *ledger)
{
	struct effect_call *call = ledger->out;

	ledger->out = NULL;
	ledger->out_done = 0;
	if (!call->omit_when_sent)
		return;
	call->omit_when_sent = false;
	if (call->orphan) {
		effect_call_free(call);
		return;
	}
	effect_line_omit(&call->line);
	effect_call_again(call);
}

/* `sent` bytes left: of what stood out, then of those lines. */
static void
take_sent(
    struct effect_ledger *ledger, struct effect_call **calls, size_t n, size_t sent, int64_t now_ms)
{
	if (ledger->out) {
		size_t rest = ledger->out->line.text.len - ledger->out_done;

		if (sent < rest) {
			ledger->out_done += sent;
			return;
		}
		sent -= rest;
		out_is_sent(ledger);
	}
	for (size_t i = 0; i < n && sent > 0; i++) {
		struct effect_call *call = calls[i];
		size_t len = call->line.text.len;
		bool is_other = !effect_call_is_urgent(call);

		TAILQ_REMOVE(is_other ? &ledger->others : &ledger->urgent, call, link);
		TAILQ_INSERT_TAIL(&ledger->sent, call, link);
		call->state = EFFECT_CALL_SENT;
		if (ledger->n_sent++ == 0)
			ledger->heard_ms = now_ms;
		ledger->n_sent_others += is_other;
		if (sent < len) {
			ledger->out = call;
			ledger->out_done = sent;
			return;
		}
		sent -= len;
	}
}

/* One sendmsg() of all that has room. False: there is nothing more to send now. */
static bool
send_some(struct effect_ledger *ledger, enum effect_conn_io *ret_io)
{
	struct effect_call *calls[PIECES_MAX], *call = NULL;
	struct iovec pieces[PIECES_MAX + 1];
	size_t n = 0, n_calls = 0, n_others = 0, total = 0, sent = 0;
	int64_t now_ms = effect_sys_now_ms();

	if (ledger->out) {
		pieces[n].iov_base = ledger->out->line.text.data + ledger->out_done;
		pieces[n].iov_len = ledger->out->line.text.len - ledger->out_done;
		total += pieces[n++].iov_len;
	}
	while (n_calls < PIECES_MAX && (call = next_to_send(ledger, call, n_calls, n_others))) {
		/* before the first byte leaves: the lease may begin right then */
		call->sent_ms = now_ms == EFFECT_SYS_NO_CLOCK ? -EFFECT_SYS_NO_CLOCK : now_ms;
		calls[n_calls++] = call;
		n_others += !effect_call_is_urgent(call);
		pieces[n].iov_base = call->line.text.data;
		pieces[n].iov_len = call->line.text.len;
		total += pieces[n++].iov_len;
	}
	*ret_io = EFFECT_CONN_DONE;
	if (n == 0)
		return false;
	*ret_io = effect_conn_send(&ledger->conn, pieces, n, &sent);
	ledger->blocked = *ret_io == EFFECT_CONN_WAIT || sent < total;
	if (*ret_io != EFFECT_CONN_DONE)
		return false;
	take_sent(ledger, calls, n_calls, sent, now_ms);
	return !ledger->blocked;
}

static void
send_all(struct effect_ledger *ledger, int64_t now_ms)
{
	enum effect_conn_io io = EFFECT_CONN_DONE;

	if (!has_to_send(ledger))
		return;
	if (ledger->conn.fd < 0 &&
	    (now_ms < ledger->conn.due_ms || !effect_conn_open(&ledger->conn, now_ms)))
		return;
	while (send_some(ledger, &io))
		;
	/* what it said before it went is worth to be heard */
	if (io == EFFECT_CONN_LOST && read_all(ledger, now_ms, INT32_MAX) && ledger->conn.fd >= 0)
		lost(ledger, now_ms);
}

static bool
is_silent(const struct effect_ledger *ledger, int64_t now_ms)
{
	return ledger->conn.fd >= 0 && ledger->n_sent > 0 &&
	    now_ms - ledger->heard_ms >= SILENT_MS_MAX;
}

void
effect_pass(struct effect_ledger *ledger, int revents)
{
	int64_t now_ms = effect_sys_now_ms();
	bool good = true;

	ledger->in_pass = true;
	/* also before time runs out for somebody whose answer is there */
	if (ledger->conn.fd >= 0 &&
	    ((revents & ~POLLOUT) || ledger->conn.starved_until_ms > 0 ||
		effect_timer_next_ms(&ledger->timers) <= now_ms))
		good = read_all(ledger, now_ms, READS_MAX);
	if (good && is_silent(ledger, now_ms)) {
		snprintf(ledger->conn.why, sizeof ledger->conn.why, "the daemon does not answer");
		lost(ledger, now_ms);
	}
	good = good && fire_timers(ledger, now_ms);
	if (good)
		send_all(ledger, now_ms);
	ledger->in_pass = false;
}

int
effect_pass_events(const struct effect_ledger *ledger)
{
	int events = 0;

	if (ledger->conn.fd < 0)
		return 0;
	if (ledger->conn.starved_until_ms == 0)
		events |= POLLIN;
	if (ledger->blocked && has_to_send(ledger))
		events |= POLLOUT;
	return events;
}

static void
sooner(int64_t *due_ms, int64_t other_ms)
{
	if (other_ms < *due_ms)
		*due_ms = other_ms;
}

int
effect_pass_timeout_ms(const struct effect_ledger *ledger)
{
	int64_t due_ms = effect_timer_next_ms(&ledger->timers), left_ms;

	if (ledger->conn.fd >= 0) {
		if (!ledger->blocked && has_to_send(ledger))
			return 0;
		if (ledger->n_sent > 0)
			sooner(&due_ms, ledger->heard_ms + SILENT_MS_MAX);
		if (ledger->conn.starved_until_ms > 0)
			sooner(&due_ms, ledger->conn.starved_until_ms);
	} else if (has_to_send(ledger)) {
		sooner(&due_ms, ledger->conn.due_ms);
	}
	if (due_ms == INT64_MAX)
		return -1;
	left_ms = due_ms - effect_sys_now_ms();
	return left_ms <= 0 ? 0 : left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}
