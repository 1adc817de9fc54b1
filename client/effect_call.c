/*
 * Calls and where they stand. Promises: a call ends once; its line is never changed between two
 * sendings but to leave a result out; what it needs memory for later is there from its start. A
 * ledger owns its calls; spare ones belong to whoever took them.
 */
#include "effect_call.h"

#include "effect_sys.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_MS_MIN 50
#define PAUSE_MS_MAX 1000
#define TIMEOUT_MS_MAX (INT64_C(1) << 40)

static const char *
name_of(enum effect_call_method method)
{
	static const char *const names[] = {
	    "begin", "complete", "release", "unknown", "extend", "call", "report"};

	return names[method];
}

void
effect_call_say(struct effect_ledger *ledger, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ledger->error, sizeof ledger->error, format, args);
	va_end(args);
}

static struct effect_call_list *
bucket_of(const struct effect_ledger *ledger, uint64_t id)
{
	return (struct effect_call_list *)&ledger->buckets[id % EFFECT_CALL_BUCKETS];
}

bool
effect_call_is_urgent(const struct effect_call *call)
{
	return call->method != EFFECT_CALL_BEGIN && call->method != EFFECT_CALL_OTHER;
}

static struct effect_call_queue *
queue_of(struct effect_call *call)
{
	return effect_call_is_urgent(call) ? &call->ledger->urgent : &call->ledger->others;
}

/* Its time is over: what that means to whom. */
static enum effect_kind
kind_of_timeout(const struct effect_call *call)
{
	switch (call->method) {
	case EFFECT_CALL_NOTHING:
		return EFFECT_OK;
	case EFFECT_CALL_COMPLETE:
		return EFFECT_NOT_RECORDED;
	case EFFECT_CALL_EXTEND:
		return EFFECT_LOST;
	default:
		return EFFECT_UNAVAILABLE;
	}
}

/* Before its end by time: the last reason that there was. */
static void
tell_why(struct effect_call *call)
{
	const struct effect_conn *conn = &call->ledger->conn;

	if (call->why[0])
		return;
	snprintf(call->why, sizeof call->why, "%s",
	    conn->fd < 0 && conn->why[0] ? conn->why : "the daemon did not answer in time");
}

static void
call_fire_cb(struct effect_timer *timer)
{
	struct effect_call *call = (struct effect_call *)timer;

	if (effect_sys_now_ms() >= call->until_ms) {
		tell_why(call);
		effect_call_end(call, kind_of_timeout(call), NULL);
	} else {
		call->state = EFFECT_CALL_QUEUED;
		TAILQ_INSERT_TAIL(queue_of(call), call, link);
		effect_timer_set(&call->ledger->timers, &call->timer, call->until_ms);
	}
}

struct effect_call *
effect_call_new(struct effect_ledger *ledger, enum effect_call_method method,
    void (*cb)(enum effect_kind kind, struct effect_answer *answer, void *arg), void *arg)
{
	struct effect_call *call = malloc(sizeof *call);

	if (!call || !effect_timer_reserve(&ledger->timers)) {
		free(call);
		return NULL;
	}
	*call = (struct effect_call){.ledger = ledger, .method = method, .cb = cb, .arg = arg};
	call->timer.fire = call_fire_cb;
	call->state = EFFECT_CALL_SPARE;
	call->id = ledger->next_id++;
	return call;
}

void
effect_call_start(struct effect_call *call, int64_t timeout_ms)
{
	struct effect_ledger *ledger = call->ledger;

	if (timeout_ms < 0)
		timeout_ms = 0;
	if (timeout_ms > TIMEOUT_MS_MAX)
		timeout_ms = TIMEOUT_MS_MAX;
	call->until_ms = effect_sys_now_ms();
	call->until_ms = call->until_ms == EFFECT_SYS_NO_CLOCK ? 0 : call->until_ms + timeout_ms;
	call->pause_ms = PAUSE_MS_MIN;
	LIST_INSERT_HEAD(bucket_of(ledger, call->id), call, bucket);
	ledger->n_calls++;
	ledger->n_background += call->background;
	if (call->method == EFFECT_CALL_NOTHING) {
		call->state = EFFECT_CALL_RESTING;
	} else {
		call->state = EFFECT_CALL_QUEUED;
		TAILQ_INSERT_TAIL(queue_of(call), call, link);
	}
	effect_timer_set(&ledger->timers, &call->timer, call->until_ms);
}

/* Out of the list that its state says. */
static void
leave_list(struct effect_call *call)
{
	struct effect_ledger *ledger = call->ledger;

	if (call->state == EFFECT_CALL_QUEUED)
		TAILQ_REMOVE(queue_of(call), call, link);
	if (call->state != EFFECT_CALL_SENT)
		return;
	TAILQ_REMOVE(&ledger->sent, call, link);
	ledger->n_sent--;
	ledger->n_sent_others -= !effect_call_is_urgent(call);
	if (ledger->out == call) { /* only where the connection is gone, too */
		ledger->out = NULL;
		ledger->out_done = 0;
	}
}

void
effect_call_take(struct effect_call *call)
{
	if (call->state == EFFECT_CALL_SPARE)
		return;
	leave_list(call);
	LIST_REMOVE(call, bucket);
	effect_timer_stop(&call->ledger->timers, &call->timer);
	call->ledger->n_calls--;
	call->ledger->n_background -= call->background;
	call->state = EFFECT_CALL_SPARE;
}

void
effect_call_free(struct effect_call *call)
{
	if (!call)
		return;
	effect_call_take(call);
	effect_timer_drop(&call->ledger->timers, &call->timer);
	effect_answer_free(call->told);
	free(call->line.text.data);
	free(call);
}

static bool
is_good(enum effect_kind kind)
{
	return kind == EFFECT_OK || kind == EFFECT_RUN || kind == EFFECT_PASS ||
	    kind == EFFECT_REPLAY;
}

/* "begin: it was refused for good, on 2026-...: Do not call it again" */
static void
say_end(struct effect_call *call, enum effect_kind kind, const struct effect_answer *answer)
{
	const char *done_at = effect_answer_text(answer, "done_at");
	const char *why = call->why[0] ? call->why : effect_answer_text(answer, "advice");

	effect_call_say(call->ledger, "%s: %s%s%s%s%s", name_of(call->method),
	    effect_strerror(kind), done_at ? ", on " : "", done_at ? done_at : "", why ? ": " : "",
	    why ? why : "");
}

void
effect_call_end(struct effect_call *call, enum effect_kind kind, struct effect_answer *answer)
{
	void (*cb)(enum effect_kind, struct effect_answer *, void *) = call->cb;
	void *arg = call->arg;

	if (call->background && cb) {
		effect_answer_free(answer);
		kind = call->told_kind;
		answer = call->told;
		call->told = NULL;
		effect_call_say(call->ledger, "begin: %s", effect_strerror(kind));
	} else if (!is_good(kind) && cb) {
		say_end(call, kind, answer);
	}
	/* what may still be answered stays known: a late `run` has to be given back */
	effect_call_drop(call);
	if (cb)
		cb(kind, answer, arg);
	else
		effect_answer_free(answer);
}

void
effect_call_drop(struct effect_call *call)
{
	if (call->state != EFFECT_CALL_SENT) {
		effect_call_free(call);
		return;
	}
	call->cb = NULL;
	call->orphan = true;
	effect_timer_stop(&call->ledger->timers, &call->timer);
}

void
effect_call_rest(struct effect_call *call, int64_t retry_after_ms)
{
	struct effect_ledger *ledger = call->ledger;
	int64_t pause_ms = retry_after_ms > 0 ? retry_after_ms : call->pause_ms, due_ms;

	if (retry_after_ms <= 0 && call->pause_ms < PAUSE_MS_MAX)
		call->pause_ms =
		    call->pause_ms * 2 < PAUSE_MS_MAX ? call->pause_ms * 2 : PAUSE_MS_MAX;
	if (pause_ms > TIMEOUT_MS_MAX)
		pause_ms = TIMEOUT_MS_MAX;
	due_ms = effect_sys_now_ms() + effect_conn_jittered(&ledger->conn, pause_ms);
	leave_list(call);
	call->state = EFFECT_CALL_RESTING;
	effect_timer_set(
	    &ledger->timers, &call->timer, due_ms < call->until_ms ? due_ms : call->until_ms);
}

void
effect_call_again(struct effect_call *call)
{
	leave_list(call);
	call->state = EFFECT_CALL_QUEUED;
	TAILQ_INSERT_HEAD(queue_of(call), call, link);
}

void
effect_call_give_back(struct effect_call *call, const struct effect_json_span *effect,
    const struct effect_json_span *token, const char *reason, enum effect_kind kind,
    struct effect_answer *told)
{
	effect_call_take(call);
	call->alias = call->id;
	call->told_kind = kind;
	call->told = told;
	/* a new id: an answer that comes twice is no answer to this */
	call->id = call->ledger->next_id++;
	call->method = EFFECT_CALL_RELEASE;
	call->orphan = false;
	call->background = true;
	call->why[0] = '\0';
	effect_line_give_back(&call->line, call->id, effect, token, reason);
	effect_call_start(call, call->ledger->report_timeout_ms);
}

struct effect_call *
effect_call_find(const struct effect_ledger *ledger, uint64_t id)
{
	struct effect_call *call;

	LIST_FOREACH (call, bucket_of(ledger, id), bucket)
		if (call->id == id)
			return call;
	return NULL;
}

struct effect_call *
effect_call_of_caller(const struct effect_ledger *ledger, uint64_t id)
{
	struct effect_call *call = effect_call_find(ledger, id);

	if (call && (call->orphan || call->background))
		return NULL;
	/* rare, and few are there then */
	for (size_t i = 0; !call && ledger->n_background > 0 && i < EFFECT_CALL_BUCKETS; i++)
		LIST_FOREACH (call, &ledger->buckets[i], bucket)
			if (call->background && call->cb && call->alias == id)
				break;
	return call;
}

void
effect_call_all_again(struct effect_ledger *ledger)
{
	struct effect_call *call;

	ledger->out = NULL;
	ledger->out_done = 0;
	ledger->blocked = false;
	while ((call = TAILQ_LAST(&ledger->sent, effect_call_queue))) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): TAILQ_REMOVE took it out */
		if (call->orphan) {
			effect_call_free(call);
			continue;
		}
		effect_call_again(call);
		if (call->omit_when_sent)
			effect_line_omit(&call->line);
		call->omit_when_sent = false;
	}
}

void
effect_call_end_all(struct effect_ledger *ledger, bool told)
{
	struct effect_call *call;

	ledger->epoch++;
	for (size_t i = 0; i < EFFECT_CALL_BUCKETS; i++) {
		while ((call = LIST_FIRST(&ledger->buckets[i]))) {
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): LIST_REMOVE took it out */
			void (*cb)(enum effect_kind, struct effect_answer *, void *) = call->cb;
			void *arg = call->arg;

			effect_call_free(call);
			if (told && cb)
				cb(EFFECT_CANCELLED, NULL, arg);
		}
	}
	ledger->out = NULL;
	ledger->out_done = 0;
	ledger->blocked = false;
}

bool
effect_call_forked(struct effect_ledger *ledger)
{
	struct effect_answer *grant;
	pid_t pid = getpid();

	if (ledger->pid == pid)
		return false;
	ledger->pid = pid;
	effect_conn_forget(&ledger->conn);
	effect_call_end_all(ledger, false);
	LIST_FOREACH (grant, &ledger->grants, grant.link) {
		grant->grant.keeping = false;
		grant->grant.extend_call = 0;
		effect_timer_stop(&ledger->timers, &grant->grant.timer);
	}
	return true;
}

bool
effect_call_go_on(struct effect_ledger *ledger, uint64_t epoch)
{
	effect_call_forked(ledger);
	return ledger->epoch == epoch && !ledger->doomed;
}
