/*
 * A table of jobs, each a statement of its own with a timer: done -> when again. Promise: a backlog
 * is worked off in bounded steps with room for others between them; a ledger that is away costs one
 * waiting item a job.
 *
 * What ages and when is the ledger's to say.
 */
#include "upkeep.h"

#include "batch.h"
#include "fleet.h"
#include "gauges.h"
#include "loop.h"

#include <assert.h>
#include <stdlib.h>

#define COUNTS_MS 5000	   /* open rows are counted so often, and more seldom the more there are: */
#define COUNTS_A_MS 10	   /* for so many of them a millisecond later */
#define INCIDENTS_MS 15000 /* and those of the last day, for metrics */
#define FLEET_MS 10000	   /* who shares the ledger */
#define DIFFER_ROWS_MAX 500
#define RETAIN_MS 60000	  /* nothing was due: look again */
#define FORGET_MS 3600000 /* the walk over the history is at its end: begin again */
#define ROLL_MS 600000	  /* no counts were old enough: look again */
#define STEP_MS 50	  /* between two full steps of a backlog */
#define WALK_MS 1000	  /* between two steps that found nothing */
#define TRY_MS                                                                             \
	30000 /* how long a step waits for the ledger, and the pause after one that failed \
	       */
#define RETAIN_ROWS_MAX 500  /* a step */
#define FORGET_ROWS_MAX 1000 /* a step */
#define ROLL_ROWS_MAX 1000   /* a step */
#define FIRST_MS 100	     /* after the start */

struct upkeep_job {
	const struct batch_statement statement;
	void (*fill)(struct pgvalue *columns);	     /* NULL: no parameters */
	int64_t (*row)(const struct batch_row *row); /* returns ms until the next run */
	struct loop_timer *timer;
	struct batch_item item;
	bool asked;
	bool none_is_news; /* `row` is called, too, where no row came */
};

static int64_t walk_after; /* effect.forget_events: where the last step ended */
static bool stopped;

/* A row for each state, in the order of enum gauges_state: count, ages, due, due_since. */
static int64_t
upkeep_counts_row(const struct batch_row *rows)
{
	struct gauges_open open = {.at_us = loop_unix_us()};
	int64_t total = 0, since_us;

	for (int s = 0; s < rows->n_rows && s < GAUGES_STATES; s++) {
		struct batch_row row = {.result = rows->result, .row = s, .n_rows = rows->n_rows};

		total += open.n[s] = batch_int8(&row, 0);
		for (int age = 0; age < GAUGES_AGES; age++)
			open.by_age[s][age] = batch_int8(&row, 1 + age);
		open.n_due += batch_int8(&row, 1 + GAUGES_AGES);
		since_us = batch_instant(&row, 2 + GAUGES_AGES);
		if (since_us && (!open.due_since_us || since_us < open.due_since_us))
			open.due_since_us = since_us;
	}
	gauges_set_open(&open);
	return COUNTS_MS + total / COUNTS_A_MS;
}

static int64_t
upkeep_incidents_row(const struct batch_row *row)
{
	gauges_set_incidents(batch_int8(row, 0));
	return INCIDENTS_MS;
}

static void
upkeep_incidents_fill(struct pgvalue *columns)
{
	columns[0] = pg_int4(GAUGES_INCIDENTS_MAX);
}

static void
upkeep_retain_fill(struct pgvalue *columns)
{
	columns[0] = pg_int4(RETAIN_ROWS_MAX);
}

static int64_t
upkeep_retain_row(const struct batch_row *row)
{
	bool full = batch_int4(row, 0) + batch_int4(row, 1) >= RETAIN_ROWS_MAX;

	return full ? STEP_MS : RETAIN_MS;
}

static void
upkeep_forget_fill(struct pgvalue *columns)
{
	columns[0] = pg_int8(walk_after);
	columns[1] = pg_int4(FORGET_ROWS_MAX);
}

static int64_t
upkeep_forget_row(const struct batch_row *row)
{
	walk_after = batch_int8(row, 0);
	if (walk_after == 0)
		return FORGET_MS;
	return batch_int4(row, 1) > 0 ? STEP_MS : WALK_MS;
}

static void
upkeep_roll_fill(struct pgvalue *columns)
{
	columns[0] = pg_int4(ROLL_ROWS_MAX);
}

static int64_t
upkeep_roll_row(const struct batch_row *row)
{
	if (batch_bool(row, 2))
		return WALK_MS + random() % WALK_MS;
	return batch_int4(row, 0) + batch_int4(row, 1) > 0 ? STEP_MS : ROLL_MS;
}

static int64_t
upkeep_fleet_row(const struct batch_row *rows)
{
	fleet_clear_daemons();
	for (int i = 0; i < rows->n_rows; i++) {
		struct batch_row row = {.result = rows->result, .row = i, .n_rows = rows->n_rows};
		struct fleet_daemon d = {.silent = batch_bool(&row, 3),
		    .started_us = batch_instant(&row, 4),
		    .seen_us = batch_instant(&row, 5)};

		if (!batch_uuid(&row, 0, &d.instance))
			continue;
		d.host = (char *)(uintptr_t)batch_text(&row, 1, NULL);
		d.version = (char *)(uintptr_t)batch_text(&row, 2, NULL);
		fleet_add_daemon(&d);
	}
	return FLEET_MS;
}

static void
upkeep_differ_fill(struct pgvalue *columns)
{
	columns[0] = pg_int4(DIFFER_ROWS_MAX);
}

static int64_t
upkeep_differ_row(const struct batch_row *rows)
{
	fleet_clear_policies();
	for (int i = 0; i < rows->n_rows; i++) {
		struct batch_row row = {.result = rows->result, .row = i, .n_rows = rows->n_rows};

		fleet_add_policy(
		    &(struct fleet_policy){.ns = (char *)(uintptr_t)batch_text(&row, 0, NULL),
			.tool = (char *)(uintptr_t)batch_text(&row, 1, NULL),
			.host = (char *)(uintptr_t)batch_text(&row, 2, NULL),
			.version = (char *)(uintptr_t)batch_text(&row, 3, NULL),
			.none = batch_null(&row, 4),
			.policy = batch_int8(&row, 4)});
	}
	return FLEET_MS;
}

static struct upkeep_job jobs[] = {
    {.none_is_news = true,
	.statement = {.name = "fleet",
	    .sql =
		"select instance, host, version, silent, started_at, seen_at from effect.fleet()",
	    .kind = BATCH_READ,
	    .within_column = -1,
	    .resent_column = -1,
	    .single = true},
	.row = upkeep_fleet_row},
    {.none_is_news = true,
	.statement = {.name = "policies_differ",
	    .sql = "select namespace, tool, host, version, policy from effect.policies_differ($1)",
	    .kind = BATCH_READ,
	    .n_columns = 1,
	    .columns = {PGTYPE_INT4},
	    .within_column = -1,
	    .resent_column = -1,
	    .single = true},
	.fill = upkeep_differ_fill,
	.row = upkeep_differ_row},
    {.statement = {.name = "open_counts",
	 .sql = "select n, n_1m, n_15m, n_1h, n_1d, n_older, due, due_since "
		"from effect.open_counts()",
	 .kind = BATCH_READ,
	 .within_column = -1,
	 .resent_column = -1,
	 .single = true},
	.row = upkeep_counts_row},
    {.statement = {.name = "recent_incidents",
	 .sql = "select count(*) from effect.incidents(null, null, null, null, $1, null, null) i "
		"where i.at > effect.now() - interval '1 day'",
	 .kind = BATCH_READ,
	 .n_columns = 1,
	 .columns = {PGTYPE_INT4},
	 .within_column = -1,
	 .resent_column = -1,
	 .single = true},
	.fill = upkeep_incidents_fill,
	.row = upkeep_incidents_row},
    {.statement = {.name = "retain",
	 .sql = "select dropped, deleted from effect.retain($1)",
	 .kind = BATCH_WRITE,
	 .n_columns = 1,
	 .columns = {PGTYPE_INT4},
	 .within_column = -1,
	 .resent_column = -1,
	 .single = true},
	.fill = upkeep_retain_fill,
	.row = upkeep_retain_row},
    {.statement = {.name = "forget_events",
	 .sql = "select next_after, deleted from effect.forget_events($1, $2)",
	 .kind = BATCH_WRITE,
	 .n_columns = 2,
	 .columns = {PGTYPE_INT8, PGTYPE_INT4},
	 .within_column = -1,
	 .resent_column = -1,
	 .single = true},
	.fill = upkeep_forget_fill,
	.row = upkeep_forget_row},
    {.statement = {.name = "stat_roll",
	 .sql = "select moved, dropped, busy from effect.stat_roll($1)",
	 .kind = BATCH_WRITE,
	 .n_columns = 1,
	 .columns = {PGTYPE_INT4},
	 .within_column = -1,
	 .resent_column = -1,
	 .single = true},
	.fill = upkeep_roll_fill,
	.row = upkeep_roll_row},
};

#define N_JOBS (sizeof jobs / sizeof *jobs)

static void
upkeep_job_done(struct batch_item *item, int err, const struct batch_row *row)
{
	struct upkeep_job *job =
	    (struct upkeep_job *)(void *)((char *)item - offsetof(struct upkeep_job, item));
	int64_t next_ms = TRY_MS;

	assert(job->asked);
	job->asked = false;
	if (stopped)
		return;
	if (err == 0 && (row->n_rows > 0 || job->none_is_news))
		next_ms = job->row(row);
	loop_timer_set(job->timer, next_ms);
}

static void
upkeep_job_cb(void *arg)
{
	struct upkeep_job *job = arg;

	assert(!job->asked);
	job->asked = true;
	if (job->fill)
		job->fill(job->item.columns);
	job->item.statement = &job->statement;
	job->item.deadline_ms = loop_now_ms() + TRY_MS;
	job->item.done = upkeep_job_done;
	batch_add(&job->item);
}

void
upkeep_start(void)
{
	stopped = false;
	for (size_t i = 0; i < N_JOBS; i++) {
		jobs[i].timer = loop_timer_new(upkeep_job_cb, &jobs[i]);
		/* daemons that were started together need not ask together */
		loop_timer_set(jobs[i].timer, FIRST_MS + random() % FIRST_MS);
	}
}

void
upkeep_stop(void)
{
	stopped = true;
	for (size_t i = 0; i < N_JOBS; i++) {
		loop_timer_free(jobs[i].timer);
		jobs[i].timer = NULL;
		if (jobs[i].asked && batch_cancel(&jobs[i].item))
			jobs[i].asked = false;
	}
}
