/*
 * One function a group of gauges. Promise: no call here waits, allocates without bound or changes
 * anything. A gauge that is not known yet has no row, so that no alert takes it for zero.
 */
#include "scrape.h"

#include "batch.h"
#include "breaker.h"
#include "client.h"
#include "gauges.h"
#include "log.h"
#include "loop.h"
#include "methods/owed.h"
#include "metrics.h"
#include "pgpool.h"
#include "schema.h"
#include "waiting.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MICROSECONDS 1e6

static const struct config *config;
static struct tool_set *tools;
static int64_t started_us;
static bool reload_refused;

/* ---- groups ---- */

static void
add(struct buf *out, enum metric id, double value)
{
	metrics_row(out, id, NULL, value);
}

static void
add_build(struct buf *out)
{
	struct buf labels = {0};
	char version[16];

	snprintf(version, sizeof version, "%d", schema_version());
	metrics_label(&labels, "version", PACKAGE_VERSION);
	metrics_label(&labels, "schema_version", version);
	metrics_row(out, METRIC_BUILD_INFO, &labels, 1);
	buf_free(&labels);
}

static void
add_open(struct buf *out, const struct gauges_open *open)
{
	static const char *const ages[GAUGES_AGES] = {"1m", "15m", "1h", "1d", "+Inf"};

	for (enum gauges_state state = 0; state < GAUGES_STATES; state++)
		for (int i = 0; i < GAUGES_AGES; i++) {
			struct buf labels = {0};

			metrics_label(&labels, "state", gauges_state_name(state));
			metrics_label(&labels, "below", ages[i]);
			metrics_row(out, METRIC_OPEN, &labels, (double)open->by_age[state][i]);
			buf_free(&labels);
		}
}

/* What upkeep.c asked the ledger last; nothing before it was answered once. */
static void
add_ledger_rows(struct buf *out, enum metric id)
{
	const struct gauges_open *open = gauges_open();

	if (!open)
		return;
	if (id == METRIC_OPEN)
		add_open(out, open);
	else if (id == METRIC_OPEN_AT)
		add(out, id, (double)open->at_us / MICROSECONDS);
	else if (id == METRIC_DUE)
		add(out, id, (double)open->n_due);
	else if (open->due_since_us > 0)
		add(out, id, (double)open->due_since_us / MICROSECONDS);
}

/* A tool whose policy is gone has no name here any more; its circuit is of no use to anybody. */
static void
circuit_cb(void *arg, const struct breaker_tool *tool)
{
	struct buf labels = {0};

	if (!metrics_knows(tool->ns, tool->name))
		return;
	metrics_label(&labels, "namespace", tool->ns);
	metrics_label(&labels, "tool", tool->name);
	metrics_row(arg, METRIC_CIRCUIT_OPEN, &labels, tool->circuit != BREAKER_CLOSED);
	buf_free(&labels);
}

static void
add_ledger(struct buf *out, enum metric id)
{
	const struct pgpool_status *status = pgpool_status();

	if (id == METRIC_LEDGER_UP)
		add(out, id, status->up);
	else if (id == METRIC_LEDGER_CHANGE)
		add(out, id, (double)status->since_us / MICROSECONDS);
	else if (id == METRIC_LEDGER_CONNECTIONS)
		add(out, id, pgpool_n_connections());
	else
		add(out, id, pgpool_n_free());
}

/* Since Linux 6.2 the folder's size is their number. */
static unsigned
open_fds(void)
{
	struct stat st;
	unsigned n = 0;
	DIR *dir;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return (unsigned)st.st_size;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n > 3 ? n - 3 : 0; /* ".", ".." and the folder's own */
}

static double
seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / MICROSECONDS;
}

static void
add_memory(struct buf *out, enum metric id)
{
	unsigned long size, resident;
	FILE *f = fopen("/proc/self/statm", "re");
	int n;

	if (!f)
		return;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers of pages fit */
	n = fscanf(f, "%lu %lu", &size, &resident);
	fclose(f);
	if (n == 2)
		add(out, id,
		    (double)(id == METRIC_RESIDENT ? resident : size) *
			(double)sysconf(_SC_PAGESIZE));
}

static void
add_process(struct buf *out, enum metric id)
{
	struct rusage usage;
	struct rlimit limit;

	if (id == METRIC_START_TIME) {
		add(out, id, (double)started_us / MICROSECONDS);
	} else if (id == METRIC_CPU) {
		if (getrusage(RUSAGE_SELF, &usage) == 0)
			add(out, id, seconds(&usage.ru_utime) + seconds(&usage.ru_stime));
	} else if (id == METRIC_FDS) {
		add(out, id, open_fds());
	} else if (id == METRIC_FDS_MAX) {
		if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
			add(out, id, (double)limit.rlim_cur);
	} else {
		add_memory(out, id);
	}
}

static void
add_clients(struct buf *out, enum metric id)
{
	if (id == METRIC_CONNECTIONS)
		add(out, id, client_n());
	else if (id == METRIC_CONNECTIONS_MAX)
		add(out, id, config->max_connections);
	else
		add(out, id, client_n_requests());
}

static void
ask_cb(void *arg, struct buf *out, enum metric id)
{
	(void)arg;
	switch (id) {
	case METRIC_BUILD_INFO:
		add_build(out);
		break;
	case METRIC_OPEN:
	case METRIC_OPEN_AT:
	case METRIC_DUE:
	case METRIC_DUE_SINCE:
		add_ledger_rows(out, id);
		break;
	case METRIC_INCIDENTS:
		if (gauges_incidents() >= 0)
			add(out, id, (double)gauges_incidents());
		break;
	case METRIC_PROBES_RUNNING:
		add(out, id, breaker_running());
		break;
	case METRIC_PROBES_MAX:
		add(out, id, breaker_probes_max());
		break;
	case METRIC_CIRCUIT_OPEN:
		breaker_each(circuit_cb, out);
		break;
	case METRIC_SWEEP_LAST:
		add(out, id, (double)gauges_sweep()->at_us / MICROSECONDS);
		break;
	case METRIC_LEDGER_UP:
	case METRIC_LEDGER_CHANGE:
	case METRIC_LEDGER_CONNECTIONS:
	case METRIC_LEDGER_FREE:
		add_ledger(out, id);
		break;
	case METRIC_QUEUED:
		add(out, id, batch_queued());
		break;
	case METRIC_IN_FLIGHT:
		add(out, id, batch_in_flight());
		break;
	case METRIC_OWED:
		add(out, id, owed_n());
		break;
	case METRIC_CONNECTIONS:
	case METRIC_CONNECTIONS_MAX:
	case METRIC_REQUESTS:
		add_clients(out, id);
		break;
	case METRIC_WAITING:
		add(out, id, waiting_n());
		break;
	case METRIC_LOG_LOST:
		add(out, id, (double)log_n_lost());
		break;
	case METRIC_POLICIES:
		add(out, id, (double)tool_set_n(tools));
		break;
	case METRIC_RELOAD_OK:
		add(out, id, !reload_refused);
		break;
	default:
		add_process(out, id);
		break;
	}
}

/* ---- verbs ---- */

static enum metrics_kind
kind_of(const struct tool_policy *policy)
{
	if (!policy->guarded)
		return METRICS_PASSED;
	return policy->execute ? METRICS_EXECUTED : METRICS_GUARDED;
}

void
scrape_use(const struct config *new_config, const struct access *access, struct tool_set *new_tools)
{
	const char *ns;

	config = new_config;
	tools = new_tools;
	if (started_us == 0)
		started_us = loop_unix_us();
	for (size_t i = 0; (ns = access_namespace_at(access, i)); i++) {
		metrics_tool(ns, METRICS_OTHER, METRICS_GUARDED);
		for (size_t j = 0; j < tool_set_n(tools); j++) {
			const struct tool_policy *policy = tool_set_at(tools, j, ns);

			if (policy)
				metrics_tool(ns, policy->name, kind_of(policy));
		}
	}
}

void
scrape_reloaded(bool taken)
{
	reload_refused = !taken;
	metrics_add(taken ? METRIC_COUNT_RELOAD_TAKEN : METRIC_COUNT_RELOAD_REFUSED, 1);
}

void
scrape_page(struct buf *out)
{
	metrics_render(out, ask_cb, NULL);
}
