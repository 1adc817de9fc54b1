/*
 * Probes and notices under way. A task waits for room (notices only), runs, and is told to the
 * ledger; then it ends.
 *
 * Promises: a bounded number runs at a time, of a tool as many as breaker.c has room for; every
 * probe that was taken is answered, `unstarted` if it could not even be started, `unasked` if there
 * was no room for it; a look's word is told and never recorded; a result is stored only as the
 * row's own policy allows; commands come from this host's files. Owns its tasks; holds a reference
 * to each one's policy.
 */
#include "sweep_task.h"

#include "alloc.h"
#include "batch.h"
#include "breaker.h"
#include "fault.h"
#include "ledger.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "notify.h"
#include "probe.h"
#include "result.h"
#include "stats.h"
#include "waiting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PROBES_MAX 32
#define NOTICES_MAX 8
#define FEW_FDS 768 /* fewer descriptors than this: */
#define PROBES_MAX_FEW 4
#define NOTICES_MAX_FEW 1
#define TELL_MS 60000 /* how long a word waits for the ledger; then the row is due again anyway */
#define NOTICE_WAIT_MS                                                                             \
	45000 /* a notice waits for room; this, what a notifier may take and the telling of it fit \
	       * in the two minutes after which the ledger hands it out again (effect.take_notice) \
	       */

enum task_kind { TASK_PROBE, TASK_NOTICE };
enum task_state { TASK_WAITS, TASK_RUNS, TASK_ASKS, TASK_TOLD };

struct task {
	struct batch_item item;
	TAILQ_ENTRY(task) link; /* in `tasks` */
	enum task_kind kind;
	enum task_state state;
	struct sweep_order order; /* its texts are owned, kept is NULL */
	char *ns, *tool, *key, *order_reason;
	struct tool_policy *policy; /* NULL = none on this host */
	struct probe *probe;
	struct breaker_probe asked; /* of the provider, while `probe` is under way */
	bool look;		    /* nothing is recorded */
	struct sweep_asker *asker;  /* NULL = nobody waits for its word */
	struct notify *notify;
	struct notify_to to; /* notices; what it points to is a config's, which lives on */
	int64_t queued_ms;
	int64_t started_ms, took_ms; /* of the probe */
	/* what is told: */
	enum probe_verdict verdict;
	const char *no_verdict; /* why nobody was asked, in the ledger's word; NULL = verdict */
	bool taken;
	char *reason; /* NULL = none */
	struct result result;
};

static const char unasked[] = "unasked", unstarted[] = "unstarted";
static TAILQ_HEAD(, task) tasks = TAILQ_HEAD_INITIALIZER(tasks);
static void (*ended_cb)(void);
static bool stopped;
static unsigned notices_max = NOTICES_MAX;

enum verdict_column {
	VERDICT_STATE = LEDGER_REST,
	VERDICT_OUTCOME,
	VERDICT_COUNTS,
	VERDICT_ABSENT_N,
	VERDICT_ABSENT_NEEDED,
	VERDICT_WHY,
	VERDICT_COUNTED
};

static const struct batch_statement verdict_statement = {
    .name = "verdict",
    .sql = "select ord, answer, state, outcome, counts, absent_n, absent_needed, why, counted "
	   "from effect.verdict($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .kind = BATCH_WRITE,
    .n_columns = 9,
    .columns = {PGTYPE_UUID, PGTYPE_INT4, PGTYPE_INT4, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_TEXT,
	PGTYPE_INT8, PGTYPE_BYTEA, PGTYPE_BOOL},
    .within_column = -1,
    .resent_column = -1,
};

static const struct batch_statement notified_statement = {
    .name = "notified",
    .sql = "select ord, answer from effect.notified($1, $2, $3, $4)",
    .kind = BATCH_WRITE,
    .n_columns = 4,
    .columns = {PGTYPE_UUID, PGTYPE_INT4, PGTYPE_BOOL, PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
};

static void task_start_notices(void);

void
sweep_task_init(void (*ended)(void))
{
	struct rlimit limit;
	bool few_fds;

	ended_cb = ended;
	stopped = false;
	few_fds = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FEW_FDS;
	if (few_fds)
		notices_max = NOTICES_MAX_FEW;
	breaker_init(few_fds ? PROBES_MAX_FEW : PROBES_MAX);
}

static unsigned
tasks_n(enum task_kind kind, enum task_state state)
{
	struct task *t;
	unsigned n = 0;

	TAILQ_FOREACH (t, &tasks, link)
		n += t->kind == kind && t->state == state;
	return n;
}

unsigned
sweep_task_probe_room(void)
{
	return stopped ? 0 : breaker_probes_max() - breaker_running();
}

bool
sweep_task_tool_room(const char *ns, const char *tool)
{
	return sweep_task_probe_room() > 0 && breaker_room(ns, tool) > 0;
}

bool
sweep_task_notify_room(void)
{
	return tasks_n(TASK_NOTICE, TASK_WAITS) == 0;
}

static struct task *
task_new(enum task_kind kind, const struct sweep_order *order)
{
	struct task *t = xcalloc(1, sizeof *t);

	t->kind = kind;
	t->order = *order;
	t->order.ns = t->ns = xstrdup(order->ns);
	t->order.tool = t->tool = xstrdup(order->tool);
	t->order.key = t->key = xstrdup(order->key);
	t->order_reason = order->reason ? xstrdup(order->reason) : NULL;
	t->order.reason = t->order_reason;
	t->order.kept = NULL;
	TAILQ_INSERT_TAIL(&tasks, t, link);
	return t;
}

static void
task_end(struct task *t)
{
	TAILQ_REMOVE(&tasks, t, link);
	breaker_drop(&t->asked);
	if (t->policy)
		tool_unref(t->policy);
	free(t->ns);
	free(t->tool);
	free(t->key);
	free(t->order_reason);
	free(t->reason);
	result_clear(&t->result);
	free(t);
}

static const char *
verdict_word(const struct task *t)
{
	return t->no_verdict ? t->no_verdict : probe_verdict_name(t->verdict);
}

static void
task_log(const struct task *t, const char *event, const char *what, const char *state)
{
	bool untaken = t->kind == TASK_NOTICE && !t->taken;
	char effect[UUID_TEXT_BYTES];
	struct log_line l;

	if (!log_start(&l, untaken ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, event))
		return;
	uuid_text(&t->order.effect, effect);
	log_str(&l, "ns", t->ns);
	log_str(&l, "tool", t->tool);
	log_str(&l, "key", t->key);
	log_str(&l, "effect", effect);
	log_int(&l, "attempt", t->order.attempt);
	log_str(&l, t->kind == TASK_PROBE ? "verdict" : "taken", what);
	log_str(&l, "state", state);
	log_str(&l, "reason", t->reason);
	log_end(&l);
}

/* ---- what became of it ---- */

/* row: of effect.verdict; NULL = nothing was recorded. */
static void
task_answer(struct task *t, int err, const struct batch_row *row)
{
	struct sweep_asker *asker = t->asker;
	const struct buf *redacted = &t->result.redacted;
	struct sweep_word word = {.err = err,
	    .verdict = verdict_word(t),
	    .reason = t->reason,
	    .result = redacted->len > 0 ? redacted->data : t->result.text,
	    .result_len = redacted->len > 0 ? redacted->len : t->result.len};

	if (!asker)
		return;
	if (row) {
		word.state = batch_text(row, VERDICT_STATE, NULL);
		word.outcome = batch_text(row, VERDICT_OUTCOME, NULL);
		word.why = batch_text(row, VERDICT_WHY, NULL);
		word.counts = batch_bool(row, VERDICT_COUNTS);
		word.absent_n = batch_int4(row, VERDICT_ABSENT_N);
		word.absent_needed = batch_int4(row, VERDICT_ABSENT_NEEDED);
	}
	t->asker = NULL;
	asker->task = NULL;
	asker->told(asker, &word);
}

/* The word of a probe that was asked, and what the ledger made of it. */
static void
task_count(const struct task *t, const struct batch_row *row)
{
	static const char *const names[] = {[PROBE_LANDED] = "probe_landed",
	    [PROBE_FAILED] = "probe_failed",
	    [PROBE_ABSENT] = "probe_absent",
	    [PROBE_INCONCLUSIVE] = "probe_inconclusive"};

	if (!t->no_verdict)
		stats_count(t->ns, t->tool, names[t->verdict], t->took_ms);
	stats_count_all(t->ns, t->tool, batch_text(row, VERDICT_COUNTED, NULL), row->resent);
}

static void
task_told_cb(struct batch_item *item, int err, const struct batch_row *row)
{
	struct task *t = (struct task *)(void *)item;
	bool probe = t->kind == TASK_PROBE;
	const char *what = probe ? verdict_word(t) : t->taken ? "yes" : "no";

	if (err == 0 && probe)
		task_count(t, row);
	if (err == 0 && t->no_verdict == unasked) {
		/* no news to anybody, and there may be thousands: neither a line nor a wake-up */
	} else if (err == 0) {
		task_log(t, probe ? "verdict" : "notified", what,
		    probe ? batch_text(row, VERDICT_STATE, NULL) : NULL);
		/* also an inconclusive one is news to whoever waits for a word */
		if (probe)
			waiting_wake(&t->order.effect);
	} else {
		log_warn("sweep",
		    "what became of a %s could not be recorded (%s), the row will be due again",
		    probe ? "probe" : "notice", err_name(err));
	}
	task_answer(t, err, err ? NULL : row);
	task_end(t);
}

static void
task_tell(struct task *t, const struct batch_statement *statement)
{
	assert(offsetof(struct task, item) == 0 && t->state != TASK_TOLD);
	fault_point(t->kind == TASK_PROBE ? "probe.ended" : "notice.ended");
	t->state = TASK_TOLD;
	t->item.statement = statement;
	t->item.deadline_ms = loop_now_ms() + TELL_MS;
	t->item.done = task_told_cb;
	batch_add(&t->item);
	ended_cb();
}

/* The verdict with its result, which may leave this process as it now is. */
static void
task_verdict(struct task *t)
{
	struct pgvalue *columns = t->item.columns, policy;

	if (t->look) {
		task_answer(t, 0, NULL);
		task_end(t);
		ended_cb();
		return;
	}
	columns[0] = pg_uuid(&t->order.effect);
	columns[1] = pg_int4(t->order.attempt);
	columns[2] = pg_int4(t->order.probe_no);
	columns[3] = pg_text(verdict_word(t));
	columns[4] = pg_text(t->reason);
	result_fill(&t->result, &policy, columns + 5);
	task_tell(t, &verdict_statement);
}

/* A reported failure waits for one word of the provider, and absents count in a row: an
 * `inconclusive` that nobody said would decide the one and break the other. */
static void
task_no_verdict(struct task *t, const char *word, const char *why)
{
	t->no_verdict = word;
	t->reason = xstrdup(why);
	task_verdict(t);
}

/* The ledger says what is secret under the policy of the claim; without its word, nothing but size
 * and hash is told. */
static void
task_policy_cb(struct batch_item *item, int err, const struct batch_row *row)
{
	struct task *t = (struct task *)(void *)item;
	const char *pointers;
	size_t len = 0;

	if (err == 0 && strcmp(batch_text(row, LEDGER_ANSWER, NULL), "ok") == 0 &&
	    batch_int8(row, POLICY_OF_POLICY) == t->order.policy) {
		pointers = batch_text(row, POLICY_OF_RESULT_SECRET, &len);
		result_redact_by(&t->result, t->order.policy, pointers, len);
	} else {
		result_omit(&t->result);
	}
	task_verdict(t);
}

static void
task_ask_policy(struct task *t)
{
	t->state = TASK_ASKS;
	t->item.statement = &ledger_policy_of;
	t->item.columns[0] = pg_uuid(&t->order.effect);
	t->item.deadline_ms = loop_now_ms() + TELL_MS;
	t->item.done = task_policy_cb;
	batch_add(&t->item);
	ended_cb();
}

static void
task_notified(struct task *t, const char *why)
{
	struct pgvalue *columns = t->item.columns;

	t->taken = why == NULL;
	metrics_add(t->taken ? METRIC_COUNT_NOTICE_TAKEN : METRIC_COUNT_NOTICE_FAILED, 1);
	t->reason = why ? xstrdup(why) : NULL;
	columns[0] = pg_uuid(&t->order.effect);
	columns[1] = pg_int4(t->order.notice_no);
	columns[2] = pg_bool(t->taken);
	columns[3] = pg_text(t->reason);
	task_tell(t, &notified_statement);
}

/* ---- probes ---- */

/* Bytes that are no UTF-8 cannot be stored: size and hash. */
static void
task_take_result(struct task *t, const char *text, size_t len)
{
	uint8_t sha256[SHA256_BYTES];

	if (!text || (len == 4 && memcmp(text, "null", 4) == 0))
		return;
	if (json_utf8(text, len)) {
		t->result.text = xstrndup(text, len);
		t->result.len = len;
		return;
	}
	digest_sha256(text, len, sha256);
	result_set_omitted(&t->result, (int64_t)len, sha256);
}

/* What this tells of the provider itself, whatever it tells of the effect. */
static void
task_asked(struct task *t, const struct probe_answer *answer)
{
	bool answered = answer->verdict != PROBE_INCONCLUSIVE || answer->answered;

	breaker_end(&t->asked, t->policy,
	    answered		 ? NULL
		: answer->reason ? answer->reason
				 : "no answer");
}

static void
task_probe_cb(void *arg, const struct probe_answer *answer)
{
	struct task *t = arg;

	t->probe = NULL;
	t->took_ms = loop_now_ms() - t->started_ms;
	task_asked(t, answer);
	t->verdict = answer->verdict;
	t->reason = answer->reason ? xstrdup(answer->reason) : NULL;
	task_take_result(t, answer->result, answer->result_len);
	if (result_has_text(&t->result) && t->policy->version != t->order.policy) {
		task_ask_policy(t);
		return;
	}
	result_redact(&t->result, t->policy);
	task_verdict(t);
}

static void
task_ask(struct task *t, const char *kept)
{
	const struct sweep_order *o = &t->order;
	struct probe_ask ask = {.argv = t->policy->probe_exec.items,
	    .n_argv = t->policy->probe_exec.n,
	    .http = t->policy->probe_http,
	    .sql = t->policy->probe_sql,
	    .timeout_ms = o->probe_timeout_ms,
	    .effect = o->effect,
	    .ns = o->ns,
	    .tool = o->tool,
	    .key = o->key,
	    .attempt = o->attempt,
	    .claimed_at_us = o->claimed_at_us,
	    .since_us = o->since_us,
	    .kept = kept};
	char *why = NULL;

	breaker_start(&t->asked, t->policy);
	t->started_ms = loop_now_ms();
	t->probe = probe_start(&ask, task_probe_cb, t, &why);
	if (t->probe) {
		fault_point("probe.started");
		t->state = TASK_RUNS;
		return;
	}
	breaker_drop(&t->asked); /* it was not the provider's fault */
	task_no_verdict(t, unstarted, why);
	free(why);
}

void
sweep_task_probe(const struct sweep_order *order, struct tool_set *tools)
{
	sweep_task_ask(order, tools, NULL);
}

void
sweep_task_ask(const struct sweep_order *order, struct tool_set *tools, struct sweep_asker *asker)
{
	struct task *t = task_new(TASK_PROBE, order);
	struct tool_policy *policy = tool_by_version(order->policy);

	t->asker = asker;
	t->look = asker && asker->look;
	if (asker)
		asker->task = t;
	if (!policy)
		policy = tool_find(tools, order->ns, order->tool);
	if (policy)
		t->policy = tool_ref(policy);
	if (!policy)
		task_no_verdict(t, unstarted, "this host has no policy of the tool");
	else if (t->look ? sweep_task_probe_room() == 0 : !sweep_task_tool_room(t->ns, t->tool))
		task_no_verdict(t, unasked, "there is no room for another probe of the tool");
	else
		task_ask(t, order->kept);
}

void
sweep_task_leave(struct sweep_asker *asker)
{
	struct task *t = asker->task;

	if (!t)
		return;
	t->asker = NULL;
	asker->task = NULL;
	if (!t->look || t->state != TASK_RUNS)
		return; /* what is with the ledger ends by itself */
	probe_cancel(t->probe);
	task_end(t);
	ended_cb();
}

/* ---- notices ---- */

static void
task_notify_cb(void *arg, const char *why)
{
	struct task *t = arg;

	t->notify = NULL;
	task_notified(t, why);
	task_start_notices();
}

static void
task_send(struct task *t)
{
	const struct sweep_order *o = &t->order;
	struct notice notice = {.effect = o->effect,
	    .ns = o->ns,
	    .tool = o->tool,
	    .key = o->key,
	    .attempt = o->attempt,
	    .notice_no = o->notice_no,
	    .since_us = o->since_us,
	    .reason = o->reason};
	char *why = NULL;

	t->notify = notify_send(&t->to, &notice, task_notify_cb, t, &why);
	if (t->notify) {
		fault_point("notice.started");
		t->state = TASK_RUNS;
		return;
	}
	task_notified(t, why);
	free(why);
}

static void
task_start_notices(void)
{
	unsigned n = tasks_n(TASK_NOTICE, TASK_RUNS);
	int64_t now_ms = loop_now_ms();
	struct task *t, *next;

	for (t = TAILQ_FIRST(&tasks); t && n < notices_max; t = next) {
		next = TAILQ_NEXT(t, link);
		if (t->kind != TASK_NOTICE || t->state != TASK_WAITS)
			continue;
		if (now_ms - t->queued_ms > NOTICE_WAIT_MS) {
			task_end(t);
			continue;
		}
		task_send(t);
		n++;
	}
}

void
sweep_task_notify(const struct sweep_order *order, const struct notify_to *to)
{
	struct task *t = task_new(TASK_NOTICE, order);

	t->state = TASK_WAITS;
	t->to = *to;
	t->queued_ms = loop_now_ms();
	task_start_notices();
}

void
sweep_task_stop(void)
{
	struct task *t, *next;

	stopped = true;
	for (t = TAILQ_FIRST(&tasks); t; t = next) {
		next = TAILQ_NEXT(t, link);
		if (t->probe)
			probe_cancel(t->probe);
		if (t->state == TASK_WAITS || (t->state == TASK_RUNS && !t->notify)) {
			task_answer(t, ERR_UNAVAILABLE, NULL);
			task_end(t);
		}
	}
}

bool
sweep_task_idle(void)
{
	return tasks_n(TASK_NOTICE, TASK_RUNS) == 0;
}

void
sweep_task_kill(void)
{
	struct task *t, *next;

	for (t = TAILQ_FIRST(&tasks); t; t = next) {
		next = TAILQ_NEXT(t, link);
		if (t->notify) {
			notify_cancel(t->notify);
			task_end(t);
		}
	}
}
