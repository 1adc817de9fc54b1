/*
 * info: what this daemon is, works with and is allowed to do for this peer. Asks no ledger: what it
 * says about it is what was last heard.
 */
#include "methods.h"

#include "access.h"
#include "batch.h"
#include "breaker.h"
#include "call.h"
#include "flush.h"
#include "gauges.h"
#include "info_fleet.h"
#include "loop.h"
#include "metrics.h"
#include "params.h"
#include "pgpool.h"
#include "stats.h"
#include "waiting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BEGINS_DECISIONS_MAX 16
#define BEGINS_TOOLS_MAX 100 /* are told */

struct info_params {
	bool begins;
};

static const struct param params[] = {
    PARAM(struct info_params, begins, PARAM_BOOL),
};

static void
add_database(struct buf *out, const struct pgpool_status *status)
{
	buf_json_member(out, "database");
	buf_add_char(out, '{');
	buf_json_member_str(out, "state", status->up ? "up" : "down");
	buf_json_member_instant(out, "since", status->since_us);
	if (status->server_version[0])
		buf_json_member_str(out, "server_version", status->server_version);
	if (status->error[0])
		buf_json_member_str(out, "error", status->error);
	buf_add_char(out, '}');
}

/* What a client has to keep to, by the names of the config. */
static void
add_limits(struct buf *out, const struct config *config)
{
	buf_json_member(out, "limits");
	buf_add_char(out, '{');
	buf_json_member_int(out, "request_timeout", config->request_timeout_ms);
	buf_json_member_int(out, "max_line", config->max_line);
	buf_json_member_int(out, "max_connections", config->max_connections);
	buf_json_member_int(out, "max_inflight", config->max_inflight);
	buf_json_member_int(out, "max_output", config->max_output);
	buf_json_member_int(out, "batch_max", config->batch_max);
	buf_add_char(out, '}');
}

static void
add_open(struct buf *out)
{
	const struct gauges_open *open = gauges_open();

	if (!open)
		return;
	buf_json_member(out, "open");
	buf_add_char(out, '{');
	for (int s = 0; s < GAUGES_STATES; s++)
		buf_json_member_int(out, gauges_state_name(s), open->n[s]);
	buf_json_member(out, "by_age");
	buf_add_char(out, '{');
	for (int s = 0; s < GAUGES_STATES; s++) {
		buf_json_member(out, gauges_state_name(s));
		for (int age = 0; age < GAUGES_AGES; age++)
			buf_printf(out, "%s%lld", age ? "," : "[", (long long)open->by_age[s][age]);
		buf_add_char(out, ']');
	}
	buf_add_char(out, '}');
	buf_json_member_int(out, "due", open->n_due);
	if (open->due_since_us)
		buf_json_member_instant(out, "due_since", open->due_since_us);
	buf_json_member_instant(out, "at", open->at_us);
	buf_add_char(out, '}');
}

/* Of this daemon; absent until the first one was answered or failed. */
static void
add_sweeper(struct buf *out)
{
	const struct gauges_sweep *sweep = gauges_sweep();

	if (!sweep->at_us && !sweep->failed_at_us)
		return;
	buf_json_member(out, "sweeper");
	buf_add_char(out, '{');
	if (sweep->at_us) {
		buf_json_member_instant(out, "at", sweep->at_us);
		buf_json_member_int(out, "took_ms", sweep->took_ms);
		buf_json_member_int(out, "rows", sweep->n_rows);
		buf_json_member_bool(out, "full", sweep->full);
	}
	if (sweep->failed_at_us)
		buf_json_member_instant(out, "failed_at", sweep->failed_at_us);
	buf_add_char(out, '}');
}

static void
add_queues(struct buf *out)
{
	unsigned connections, requests;

	gauges_clients(&connections, &requests);
	buf_json_member(out, "queues");
	buf_add_char(out, '{');
	buf_json_member_int(out, "connections", connections);
	buf_json_member_int(out, "requests", requests);
	buf_json_member_int(out, "waiting", waiting_n());
	buf_json_member_int(out, "queued", batch_queued());
	buf_json_member_int(out, "in_flight", batch_in_flight());
	buf_add_char(out, '}');
}

/* How far what this daemon counted has come. */
static void
add_counts(struct buf *out)
{
	buf_json_member(out, "counts");
	buf_add_char(out, '{');
	if (flush_at_us())
		buf_json_member_instant(out, "flushed_at", flush_at_us());
	buf_json_member_int(out, "pending", flush_pending());
	buf_json_member_int(out, "dropped", stats_dropped());
	buf_add_char(out, '}');
}

/* Probes of all tools that this daemon runs; how many tools' providers it leaves alone. */
static void
add_probes(struct buf *out)
{
	buf_json_member(out, "probes");
	buf_add_char(out, '{');
	buf_json_member_int(out, "running", breaker_running());
	buf_json_member_int(out, "max", breaker_probes_max());
	buf_json_member_int(out, "open_circuits", breaker_open_circuits());
	buf_add_char(out, '}');
}

/* ---- begins ---- */

struct begins_tool {
	const char *ns, *tool; /* of metrics.c, good for this call */
	uint64_t n, by_decision[BEGINS_DECISIONS_MAX];
};

struct begins {
	const struct access_peer *peer;
	struct buf tools; /* of struct begins_tool: those that the peer may know of */
	const char *decisions[BEGINS_DECISIONS_MAX];
	uint64_t total[BEGINS_DECISIONS_MAX];
	size_t n_decisions;
};

static size_t
decision_of(struct begins *b, const char *decision)
{
	size_t i = 0;

	while (i < b->n_decisions && strcmp(b->decisions[i], decision) != 0)
		i++;
	assert(i < BEGINS_DECISIONS_MAX);
	if (i == b->n_decisions)
		b->decisions[b->n_decisions++] = decision;
	return i;
}

/* Those of a tool come in a row. */
static void
begins_cb(void *arg, const char *ns, const char *tool, const char *decision, uint64_t n)
{
	struct begins *b = arg;
	struct begins_tool *last = NULL;
	size_t i = decision_of(b, decision);

	b->total[i] += n;
	if (!info_fleet_may_see(b->peer, ns))
		return;
	if (b->tools.len > 0)
		last = (struct begins_tool *)(void *)(b->tools.data + b->tools.len) - 1;
	if (!last || last->ns != ns || last->tool != tool) {
		buf_add(&b->tools, &(struct begins_tool){.ns = ns, .tool = tool}, sizeof *last);
		last = (struct begins_tool *)(void *)(b->tools.data + b->tools.len) - 1;
	}
	last->n += n;
	last->by_decision[i] = n;
}

static int
begins_more(const void *a, const void *b)
{
	const struct begins_tool *x = a, *y = b;

	return x->n < y->n ? 1 : x->n > y->n ? -1 : strcmp(x->tool, y->tool);
}

static void
add_decisions(struct buf *out, const struct begins *b, const uint64_t *n)
{
	for (size_t i = 0; i < b->n_decisions; i++)
		if (n[i] > 0)
			buf_json_member_int(out, b->decisions[i], (int64_t)n[i]);
}

/* What begin and execute have told since the start: of all, and by tool, those with the most. */
static void
add_begins(struct buf *out, const struct access_peer *peer)
{
	struct begins b = {.peer = peer};
	struct begins_tool *tools;
	size_t n;

	metrics_each_decision(begins_cb, &b);
	tools = (struct begins_tool *)(void *)b.tools.data;
	n = b.tools.len / sizeof *tools;
	if (n > 0)
		qsort(tools, n, sizeof *tools, begins_more);
	buf_json_member(out, "begins");
	buf_add_str(out, "{\"total\":{");
	add_decisions(out, &b, b.total);
	buf_add_str(out, "},\"tools\":[");
	for (size_t i = 0; i < n && i < BEGINS_TOOLS_MAX; i++) {
		buf_add_str(out, i > 0 ? ",{" : "{");
		buf_json_member_str(out, "namespace", tools[i].ns);
		buf_json_member_str(out, "tool", tools[i].tool);
		buf_add_str(out, ",\"begins\":{");
		add_decisions(out, &b, tools[i].by_decision);
		buf_add_str(out, "}}");
	}
	buf_add_char(out, ']');
	buf_json_member_int(out, "n_tools", (int64_t)n);
	buf_add_char(out, '}');
	buf_free(&b.tools);
}

void
info_call(struct request *r)
{
	struct info_params p = {0};
	const struct pgpool_status *status = pgpool_status();
	struct buf line = {0};

	if (!call_params(r, params, sizeof params / sizeof *params, &p))
		return;
	call_log(r, NULL, "tool", NULL);
	call_line(r, &line);
	buf_add_char(&line, '{');
	buf_json_member_str(&line, "version", PACKAGE_VERSION);
	buf_json_member_int(&line, "protocol", 1);
	if (status->schema_version)
		buf_json_member_int(&line, "schema_version", status->schema_version);
	buf_json_member_int(&line, "uptime_ms", loop_now_ms() - call_started_ms());
	buf_json_member_bool(&line, "ready", status->up);
	add_database(&line, status);
	add_limits(&line, call_config());
	add_open(&line);
	add_sweeper(&line);
	add_queues(&line);
	if (p.begins)
		add_begins(&line, r->peer);
	add_probes(&line);
	add_counts(&line);
	info_fleet_json(r->peer, &line);
	buf_json_member(&line, "peer");
	access_peer_json(r->peer, &line);
	buf_add_char(&line, '}');
	call_send(r, &line);
}
