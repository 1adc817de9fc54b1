/*
 * The sweep: a timer, or a word that something is due now, asks the ledger for due rows and deals
 * its orders out.
 *
 * Promises: one sweep at a time; a full one is followed by the next at once, one that left rows
 * waiting for room as soon as there is some; waiters of a row that a sweep moved are woken. What is
 * due, whose turn it is and what becomes of it is SQL's to decide (effect.sweep), by what it is
 * told of the tools; running probes and notices is sweep_task.c's.
 */
#include "sweeper.h"

#include "batch.h"
#include "breaker.h"
#include "buf.h"
#include "due.h"
#include "fault.h"
#include "gauges.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "notify.h"
#include "stats.h"
#include "sweep_task.h"
#include "waiting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 256
#define KICK_MS 20    /* at least between two sweeps that were asked for */
#define JITTER_PART 8 /* of the interval: daemons that share a ledger do not sweep in step */

enum sweep_column {
	SWEEP_TASK,
	SWEEP_EFFECT,
	SWEEP_NAMESPACE,
	SWEEP_TOOL,
	SWEEP_KEY,
	SWEEP_ATTEMPT,
	SWEEP_POLICY,
	SWEEP_PROBE_NO,
	SWEEP_PROBE_TIMEOUT_MS,
	SWEEP_NOTICE_NO,
	SWEEP_CLAIMED_AT,
	SWEEP_SINCE,
	SWEEP_KEPT,
	SWEEP_REASON,
	SWEEP_COUNTED
};

enum sweep_param {
	SWEEP_P_ROWS_MAX,
	SWEEP_P_PROBES_MAX,
	SWEEP_P_NOTIFY,
	SWEEP_P_TOOL_ROOM,
	SWEEP_P_NAMESPACE, /* from here on arrays, parallel: the tools of which something is to be
			      said */
	SWEEP_P_TOOL,
	SWEEP_P_RUNNING,
	SWEEP_P_ROOM,
	SWEEP_P_WHY,
	SWEEP_P_NO,
	SWEEP_P_RESENT,
	SWEEP_P_N
};

static const struct batch_statement sweep_statement = {
    .name = "sweep",
    .sql = "select task, effect, namespace, tool, key, attempt, policy, probe_no, "
	   "probe_timeout_ms, notice_no, "
	   "claimed_at, since, kept, reason, counted "
	   "from effect.sweep($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    .kind = BATCH_WRITE,
    .n_columns = SWEEP_P_N,
    .columns = {[SWEEP_P_ROWS_MAX] = PGTYPE_INT4,
	[SWEEP_P_PROBES_MAX] = PGTYPE_INT4,
	[SWEEP_P_NOTIFY] = PGTYPE_BOOL,
	[SWEEP_P_TOOL_ROOM] = PGTYPE_INT4,
	[SWEEP_P_NAMESPACE] = PGTYPE_TEXT_ARRAY,
	[SWEEP_P_TOOL] = PGTYPE_TEXT_ARRAY,
	[SWEEP_P_RUNNING] = PGTYPE_INT4_ARRAY,
	[SWEEP_P_ROOM] = PGTYPE_INT4_ARRAY,
	[SWEEP_P_WHY] = PGTYPE_TEXT_ARRAY,
	[SWEEP_P_NO] = PGTYPE_TEXT,
	[SWEEP_P_RESENT] = PGTYPE_BOOL},
    .within_column = -1,
    .resent_column = SWEEP_P_RESENT,
    .single = true,
};

static const struct config *config;
static struct tool_set *tools;
static struct loop_timer *timer;
static struct batch_item item;
static bool sweeping; /* the item is with the batch */
static bool asked;    /* for another sweep, while one was under way */
static bool starved;  /* the last sweep may have left rows waiting for room */
static bool stopped;
static int64_t swept_ms; /* when the last one was sent */

static void
sweeper_kick(void)
{
	int64_t in_ms;

	if (stopped)
		return;
	if (sweeping) {
		asked = true;
		return;
	}
	in_ms = swept_ms + KICK_MS - loop_now_ms();
	loop_timer_set(timer, in_ms > 0 ? in_ms : 0);
}

/* A probe or a notice ended. */
static void
sweeper_room(void)
{
	if (starved)
		sweeper_kick();
}

static void
sweeper_log(const char *task, const struct sweep_order *order)
{
	char effect[UUID_TEXT_BYTES];
	struct log_line l;

	if (!log_start(
		&l, strcmp(task, "escalated") == 0 ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, task))
		return;
	uuid_text(&order->effect, effect);
	log_str(&l, "ns", order->ns);
	log_str(&l, "tool", order->tool);
	log_str(&l, "key", order->key);
	log_str(&l, "effect", effect);
	log_int(&l, "attempt", order->attempt);
	log_str(&l, "reason", order->reason);
	log_end(&l);
}

static bool
sweeper_notifies(void)
{
	return config->notify_exec || config->notify_webhook;
}

/* One row of a sweep. */
static void
sweeper_order(const struct batch_row *row)
{
	const char *task = batch_text(row, SWEEP_TASK, NULL);
	struct sweep_order order = {.ns = batch_text(row, SWEEP_NAMESPACE, NULL),
	    .tool = batch_text(row, SWEEP_TOOL, NULL),
	    .key = batch_text(row, SWEEP_KEY, NULL),
	    .attempt = batch_int4(row, SWEEP_ATTEMPT),
	    .policy = batch_int8(row, SWEEP_POLICY),
	    .claimed_at_us = batch_instant(row, SWEEP_CLAIMED_AT),
	    .kept = batch_text(row, SWEEP_KEPT, NULL),
	    .reason = batch_text(row, SWEEP_REASON, NULL)};

	if (!batch_uuid(row, SWEEP_EFFECT, &order.effect))
		return;
	order.since_us =
	    batch_null(row, SWEEP_SINCE) ? order.claimed_at_us : batch_instant(row, SWEEP_SINCE);
	if (strcmp(task, "probe") == 0) {
		order.probe_no = batch_int4(row, SWEEP_PROBE_NO);
		order.probe_timeout_ms = batch_int8(row, SWEEP_PROBE_TIMEOUT_MS);
		sweep_task_probe(&order, tools);
	} else if (strcmp(task, "notify") == 0) {
		order.notice_no = batch_int4(row, SWEEP_NOTICE_NO);
		if (sweeper_notifies())
			sweep_task_notify(&order,
			    &(struct notify_to){.argv = config->notify_exec,
				.webhook = config->notify_webhook,
				.webhook_ca_file = config->notify_webhook_ca_file,
				.webhook_secrets = config->notify_webhook_secrets});
	} else {
		sweeper_log(task, &order);
		waiting_wake(&order.effect);
	}
}

static int64_t
sweeper_pause_ms(void)
{
	int64_t interval_ms = config->sweep_interval_ms;

	return interval_ms + random() % (interval_ms / JITTER_PART + 1);
}

/* Said of the last sweep to whoever asks. */
static void
sweeper_note(int err, int n_rows, bool full)
{
	struct gauges_sweep sweep = *gauges_sweep();
	int64_t took_ms = loop_now_ms() - swept_ms;

	if (err == 0)
		sweep = (struct gauges_sweep){.at_us = loop_unix_us() - took_ms * 1000,
		    .took_ms = took_ms,
		    .n_rows = n_rows,
		    .full = full};
	else
		sweep.failed_at_us = loop_unix_us();
	gauges_set_sweep(&sweep);
}

/* Also of a sweep that is answered while we stop, of which nothing else is made. */
static void
sweeper_count(int err, const struct batch_row *rows, int n)
{
	metrics_add(err == 0 ? METRIC_COUNT_SWEEP_OK : METRIC_COUNT_SWEEP_FAILED, 1);
	metrics_add(METRIC_COUNT_SWEEP_ROW, (uint64_t)n);
	for (int i = 0; i < n; i++) {
		struct batch_row row = {.result = rows->result, .row = i, .n_rows = n};

		stats_count_all(batch_text(&row, SWEEP_NAMESPACE, NULL),
		    batch_text(&row, SWEEP_TOOL, NULL), batch_text(&row, SWEEP_COUNTED, NULL),
		    false);
	}
}

static void
sweeper_done_cb(struct batch_item *done, int err, const struct batch_row *row)
{
	int n = err == 0 ? row->n_rows : 0, n_probes = 0;
	bool full = n >= ROWS_MAX;

	assert(done == &item && sweeping);
	sweeping = false;
	sweeper_count(err, row, n);
	if (stopped)
		return;
	sweeper_note(err, n, full);
	if (n > 0)
		fault_point("sweep.taken");
	for (int i = 0; i < n; i++) {
		struct batch_row one = {.result = row->result, .row = i, .n_rows = n};

		n_probes += strcmp(batch_text(&one, SWEEP_TASK, NULL), "probe") == 0;
		sweeper_order(&one);
	}
	starved = err == 0 &&
	    ((n_probes > 0 && n_probes == item.columns[SWEEP_P_PROBES_MAX].i4) ||
		breaker_any_waits());
	if (err == 0 && (asked || full || (starved && n_probes > 0 && sweep_task_probe_room() > 0)))
		sweeper_kick();
	else
		loop_timer_set(timer, sweeper_pause_ms());
	asked = false;
}

/* ---- what is said of the tools ---- */

struct said {
	const struct breaker_tool *tools;
	enum sweep_param param;
};

static void
said_add_cb(void *arg, const struct breaker_tool *tool)
{
	buf_add(arg, tool, sizeof *tool);
}

static struct pgvalue
said_value(void *arg, unsigned i)
{
	const struct said *said = arg;
	const struct breaker_tool *tool = said->tools + i;
	static struct buf why;

	switch (said->param) {
	case SWEEP_P_NAMESPACE:
		return pg_text(tool->ns);
	case SWEEP_P_TOOL:
		return pg_text(tool->name);
	case SWEEP_P_RUNNING:
		return pg_int4((int32_t)tool->running);
	case SWEEP_P_ROOM:
		return pg_int4((int32_t)tool->room);
	default:
		break;
	}
	if (tool->circuit == BREAKER_CLOSED)
		return pg_null();
	buf_clear(&why);
	buf_add_str(&why, "probe circuit open since ");
	buf_instant(&why, tool->open_since_us);
	return pg_textn(why.data, why.len);
}

/* Five arrays in the item, whose bytes stay here until the next sweep. */
static void
sweeper_say_tools(void)
{
	static struct buf arrays[SWEEP_P_WHY + 1];
	struct buf list = {0};

	breaker_each(said_add_cb, &list);
	for (enum sweep_param p = SWEEP_P_NAMESPACE; p <= SWEEP_P_WHY; p++) {
		struct said said = {(const struct breaker_tool *)(const void *)list.data, p};
		bool number = p == SWEEP_P_RUNNING || p == SWEEP_P_ROOM;

		buf_clear(&arrays[p]);
		pgarray_encode(&arrays[p], number ? PGTYPE_INT4 : PGTYPE_TEXT,
		    (unsigned)(list.len / sizeof *said.tools), said_value, &said);
		item.columns[p] = pg_textn(arrays[p].data, arrays[p].len);
	}
	buf_free(&list);
}

/* By which the ledger knows it again, should its answer be lost. */
static void
sweeper_number(void)
{
	static char no[UUID_TEXT_BYTES];
	struct uuid random = uuid_random();

	uuid_text(&random, no);
	item.columns[SWEEP_P_NO] = pg_text(no);
}

static void
sweeper_timer_cb(void *arg)
{
	(void)arg;
	assert(!sweeping);
	sweeping = true;
	swept_ms = loop_now_ms();
	item.columns[SWEEP_P_ROWS_MAX] = pg_int4(ROWS_MAX);
	item.columns[SWEEP_P_PROBES_MAX] = pg_int4((int32_t)sweep_task_probe_room());
	item.columns[SWEEP_P_NOTIFY] = pg_bool(sweeper_notifies() && sweep_task_notify_room());
	item.columns[SWEEP_P_TOOL_ROOM] = pg_int4((int32_t)breaker_share());
	sweeper_number();
	sweeper_say_tools();
	item.statement = &sweep_statement;
	item.deadline_ms = swept_ms + config->request_timeout_ms;
	item.done = sweeper_done_cb;
	batch_add(&item);
}

void
sweeper_start(const struct config *live_config)
{
	assert(tools && !timer);
	config = live_config;
	stopped = false;
	timer = loop_timer_new(sweeper_timer_cb, NULL);
	sweep_task_init(sweeper_room);
	due_set_hook(sweeper_kick);
	loop_timer_set(timer, 0);
}

void
sweeper_use(struct tool_set *new_tools)
{
	if (tools)
		breaker_reload(tools, new_tools);
	tools = new_tools;
}

void
sweeper_stop(void)
{
	if (stopped || !timer)
		return;
	stopped = true;
	due_set_hook(NULL);
	loop_timer_free(timer);
	timer = NULL;
	if (sweeping && batch_cancel(&item))
		sweeping = false;
	sweep_task_stop();
	breaker_free();
}

bool
sweeper_idle(void)
{
	return sweep_task_idle();
}

void
sweeper_kill(void)
{
	sweep_task_kill();
}
