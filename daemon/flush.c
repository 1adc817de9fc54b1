/*
 * One flush at a time. Promise: what was frozen under a number is sent under that number,
 * unchanged, until the ledger has it; so a connection lost around its COMMIT costs nothing. Nobody
 * waits for a flush, here or in the ledger, which answers `busy` rather than have one wait for
 * another.
 *
 * A kill loses what was counted since the last acknowledged flush, and the ledger knows since when
 * that is (effect.counts_missing). Owns the frozen entries and the arrays made of them.
 */
#include "flush.h"

#include "batch.h"
#include "buf.h"
#include "fault.h"
#include "instance.h"
#include "log.h"
#include "loop.h"
#include "stats.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_MS 10000	 /* between two flushes */
#define FLUSH_MAX 2048	 /* entries; what is more goes at once with the next */
#define BUSY_MS_MIN 50	 /* somebody else was at the counts: look again */
#define BUSY_MS_MAX 150
#define FIRST_MS 100	 /* after the start */

enum flush_param {
	FLUSH_P_BOOT,
	FLUSH_P_INSTANCE,
	FLUSH_P_UP_MS,
	FLUSH_P_HOST,
	FLUSH_P_VERSION,
	FLUSH_P_NO,
	FLUSH_P_DROPPED,
	FLUSH_P_END,
	FLUSH_P_MINUTE, /* from here on arrays, parallel */
	FLUSH_P_NAMESPACE,
	FLUSH_P_TOOL,
	FLUSH_P_DECISION,
	FLUSH_P_COUNT,
	FLUSH_P_MS_LOG2,
	FLUSH_P_N
};

static void
fill_at(struct pgvalue *scalars, int64_t db_now_us)
{
	(void)db_now_us;
	scalars[0] = pg_instant(loop_unix_us());
}

static const struct batch_statement statement = {
    .name = "stat_add",
    .sql = "select answer from effect.stat_add($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, "
	   "$13, $14, $15)",
    .kind = BATCH_WRITE,
    .n_columns = FLUSH_P_N,
    .columns = {[FLUSH_P_BOOT] = PGTYPE_UUID,
	[FLUSH_P_INSTANCE] = PGTYPE_UUID,
	[FLUSH_P_UP_MS] = PGTYPE_INT8,
	[FLUSH_P_HOST] = PGTYPE_TEXT,
	[FLUSH_P_VERSION] = PGTYPE_TEXT,
	[FLUSH_P_NO] = PGTYPE_INT8,
	[FLUSH_P_DROPPED] = PGTYPE_INT8,
	[FLUSH_P_END] = PGTYPE_BOOL,
	[FLUSH_P_MINUTE] = PGTYPE_TIMESTAMPTZ_ARRAY,
	[FLUSH_P_NAMESPACE] = PGTYPE_TEXT_ARRAY,
	[FLUSH_P_TOOL] = PGTYPE_TEXT_ARRAY,
	[FLUSH_P_DECISION] = PGTYPE_TEXT_ARRAY,
	[FLUSH_P_COUNT] = PGTYPE_INT8_ARRAY,
	[FLUSH_P_MS_LOG2] = PGTYPE_TEXT_ARRAY},
    .n_scalars = 1,
    .scalars = {PGTYPE_TIMESTAMPTZ},
    .fill_scalars = fill_at,
    .within_column = -1,
    .resent_column = -1,
    .single = true,
};

static const enum pgtype element_types[FLUSH_P_N] = {[FLUSH_P_MINUTE] = PGTYPE_TIMESTAMPTZ,
    [FLUSH_P_NAMESPACE] = PGTYPE_TEXT,
    [FLUSH_P_TOOL] = PGTYPE_TEXT,
    [FLUSH_P_DECISION] = PGTYPE_TEXT,
    [FLUSH_P_COUNT] = PGTYPE_INT8,
    [FLUSH_P_MS_LOG2] = PGTYPE_TEXT};

static struct stats_entry *frozen[FLUSH_MAX];
static unsigned n_frozen;
static struct buf arrays[FLUSH_P_N];
static struct batch_item item;
static struct loop_timer *timer;
static int64_t flush_no; /* of the one that is frozen, or was last */
static int64_t acknowledged_us, started_us;
static bool sent;   /* the item is with the batch */
static bool waits;  /* frozen, to be sent again by the timer */
static bool ending; /* flush_end() was called */
static bool last;   /* the frozen one says that this boot has ended */
static bool ended;  /* the ledger knows it, or refuses to */

/* ---- freezing ---- */

/* '{1,0,3}' without the zeros at the end. */
static void
flush_log2(const struct stats_entry *e, struct buf *out)
{
	int n = STATS_LOG2_N;

	while (n > 0 && e->ms_log2[n - 1] == 0)
		n--;
	buf_clear(out);
	buf_add_char(out, '{');
	for (int i = 0; i < n; i++)
		buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", e->ms_log2[i]);
	buf_add_char(out, '}');
}

static struct pgvalue
flush_value(void *arg, unsigned i)
{
	static struct buf log2;
	const struct stats_entry *e = frozen[i];

	switch (*(const enum flush_param *)arg) {
	case FLUSH_P_MINUTE:
		return pg_instant(e->minute_us);
	case FLUSH_P_NAMESPACE:
		return pg_text(e->ns);
	case FLUSH_P_TOOL:
		return pg_text(e->tool);
	case FLUSH_P_DECISION:
		return pg_text(e->decision);
	case FLUSH_P_COUNT:
		return pg_int8(e->n);
	default:
		break;
	}
	flush_log2(e, &log2);
	return pg_textn(log2.data, log2.len);
}

static void
flush_freeze(void)
{
	struct pgvalue *v = item.columns;

	assert(n_frozen == 0 && !sent);
	while (n_frozen < FLUSH_MAX && (frozen[n_frozen] = stats_take()))
		n_frozen++;
	last = ending && stats_n() == 0;
	flush_no++;
	v[FLUSH_P_BOOT] = pg_uuid(instance_boot());
	v[FLUSH_P_INSTANCE] = pg_uuid(instance_id());
	v[FLUSH_P_UP_MS] = pg_int8(instance_up_ms());
	v[FLUSH_P_HOST] = pg_text(instance_host());
	v[FLUSH_P_VERSION] = pg_text(PACKAGE_VERSION);
	v[FLUSH_P_NO] = pg_int8(flush_no);
	v[FLUSH_P_DROPPED] = pg_int8(stats_dropped());
	v[FLUSH_P_END] = pg_bool(last);
	for (enum flush_param p = FLUSH_P_MINUTE; p < FLUSH_P_N; p++) {
		buf_clear(&arrays[p]);
		pgarray_encode(&arrays[p], element_types[p], n_frozen, flush_value, &p);
		v[p] = pg_textn(arrays[p].data, arrays[p].len);
	}
	fault_point("flush.frozen");
}

/* ---- sending ---- */

static void flush_done_cb(struct batch_item *done, int err, const struct batch_row *row);

static void
flush_send(void)
{
	assert(!sent);
	waits = false;
	sent = true;
	item.statement = &statement;
	item.deadline_ms = INT64_MAX;
	item.done = flush_done_cb;
	batch_add(&item);
}

static void
flush_send_again(int64_t in_ms)
{
	waits = true;
	if (timer)
		loop_timer_set(timer, in_ms);
}

/* The ledger has it, or never will. */
static void
flush_melt(void (*end)(struct stats_entry *entry))
{
	for (unsigned i = 0; i < n_frozen; i++)
		end(frozen[i]);
	n_frozen = 0;
}

static void
flush_done_cb(struct batch_item *done, int err, const struct batch_row *row)
{
	const char *answer = err == 0 && row->n_rows == 1 ? batch_text(row, 0, NULL) : NULL;

	assert(done == &item && sent);
	sent = false;
	if (answer && strcmp(answer, "busy") == 0) {
		flush_send_again(BUSY_MS_MIN + random() % (BUSY_MS_MAX - BUSY_MS_MIN));
		return;
	}
	if (answer && fault_point("flush.acknowledged")) {
		flush_send_again(0);
		return;
	}
	if (answer) {
		acknowledged_us = loop_unix_us();
		ended = last;
		flush_melt(stats_entry_free);
	} else {
		log_error("stats", "the ledger refuses counts (%s), dropping %u entries",
		    err_name(err), n_frozen);
		/* without any counts it is the end itself that is refused: asked again at once, and
		 * again, that would fill the log until we stop */
		ended = last && n_frozen == 0;
		flush_melt(stats_give_up);
	}
	if (timer && !flush_ended())
		loop_timer_set(timer, ending || stats_n() >= FLUSH_MAX ? 0 : FLUSH_MS);
}

static void
flush_timer_cb(void *arg)
{
	(void)arg;
	if (sent)
		return;
	if (!waits)
		flush_freeze();
	flush_send();
}

/* ---- verbs ---- */

void
flush_start(void)
{
	started_us = loop_unix_us();
	timer = loop_timer_new(flush_timer_cb, NULL);
	/* the first one says that this boot is there; daemons that were started together need not
	 * speak together */
	loop_timer_set(timer, FIRST_MS + random() % FIRST_MS);
}

void
flush_end(void)
{
	assert(!ending);
	ending = true;
	if (!sent)
		loop_timer_set(timer, 0);
}

bool
flush_ended(void)
{
	return ended && stats_n() == 0;
}

void
flush_stop(void)
{
	struct buf since = {0};

	if (!timer)
		return;
	loop_timer_free(timer);
	timer = NULL;
	if (flush_pending() == 0)
		return;
	buf_instant(&since, acknowledged_us ? acknowledged_us : started_us);
	log_warn("stats", "counts since %s are lost, as the ledger has not taken them: %u entries",
	    buf_str(&since), flush_pending());
	buf_free(&since);
}

int64_t
flush_at_us(void)
{
	return acknowledged_us;
}

unsigned
flush_pending(void)
{
	return n_frozen + stats_n();
}
