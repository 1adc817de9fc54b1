/*
 * reconcile: the provider's own export against the ledger: what is in one and not in the other,
 * what is there twice, what differs. First the export is read to its end, then the ledger, so that
 * all that the export has was claimed before the ledger was looked at. Nothing is told before both
 * are over; exit 1 where somebody should look, 65 where the export could not be read whole.
 */
#include "alloc.h"
#include "ctl.h"
#include "pages.h"
#include "plan.h"
#include "progress.h"
#include "provider.h"
#include "reckon.h"
#include "show.h"
#include "text.h"
#include "usage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BAD_MAX 1000 /* rows, after which the export is none */
#define PATIENCE_MS 120000
#define ASK_MS 5000
#define PROGRESS_EVERY 4096 /* rows */

/* One run. */
struct run {
	const struct ctl *ctl;
	const char *from, *out;
	struct plan plan;
	struct provider provider;
	struct progress progress;
	struct match *match;
	struct reckon *reckon;
	struct reckon_sum sum;
	struct intake *intake;
	int64_t patience_ms, first_us, last_us;
	bool csv, all, open, quiet;
};

static volatile sig_atomic_t stop_signal;

static void
on_signal(int number)
{
	stop_signal = number;
}

static bool
is_stopped(void)
{
	return stop_signal != 0;
}

static bool
intake_stopped(void *arg)
{
	(void)arg;
	return is_stopped();
}

/* A signal ends the work where it stands; no file of ours has a name. */
static void
take_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal}, before;

	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like a full disk */
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

/* ---- the export ---- */

static int
bad_input(struct run *run, const char *why)
{
	progress_clear(&run->progress);
	return show_failure(
	    run->ctl, CTL_INPUT, "bad_input", "%s: %s; nothing is concluded", run->ctl->verb, why);
}

static int
bad_input_take(struct run *run, char *why)
{
	int code = bad_input(run, why);

	free(why);
	return code;
}

static int
open_provider(struct run *run)
{
	const struct reconcile_spec *spec = run->plan.spec;
	char *why = NULL;

	if (strcmp(run->from, "exec") != 0)
		return provider_open(&run->provider, run->from, &why) ? CTL_OK
								      : bad_input_take(run, why);
	if (spec->n_exec == 0)
		return show_failure(run->ctl, CTL_CONFIG, "config",
		    "%s: the tool's policy names no command ('exec' of 'reconcile')",
		    run->ctl->verb);
	return provider_start(&run->provider, spec->exec, &why) ? CTL_OK : bad_input_take(run, why);
}

static bool
take_row(struct run *run, const struct export_row *row)
{
	run->sum.n_rows++;
	if (row->has_time && row->time_us < run->first_us)
		run->first_us = row->time_us;
	if (row->has_time && row->time_us > run->last_us)
		run->last_us = row->time_us;
	return match_export(run->match, row);
}

static void
show_reading(struct run *run, uint64_t n_rows)
{
	double share = run->provider.n_bytes == 0
	    ? -1
	    : (double)run->intake->n_read / (double)run->provider.n_bytes;

	progress_at(&run->progress, share, n_rows);
}

/* All rows, to the end. The exit code. */
static int
read_rows(struct run *run, struct export *export)
{
	struct export_row row;
	uint64_t n = 0;

	for (;;) {
		if (++n % PROGRESS_EVERY == 0)
			show_reading(run, n);
		switch (export_next(export, &row)) {
		case EXPORT_ROW:
			if (!take_row(run, &row))
				return bad_input(run, match_why(run->match));
			break;
		case EXPORT_SKIPPED:
			run->sum.n_skipped++;
			break;
		case EXPORT_LOST:
			return bad_input_take(
			    run, xasprintf("line %llu: %s", (unsigned long long)row.line, row.why));
		case EXPORT_BAD:
			reckon_bad(run->reckon, row.line, row.why);
			if (reckon_n_bad(run->reckon) > BAD_MAX)
				return bad_input_take(run,
				    xasprintf("more than %d rows are bad, the last one in line "
					      "%llu: %s",
					BAD_MAX, (unsigned long long)row.line, row.why));
			break;
		case EXPORT_END:
			if (run->intake->err && !is_stopped())
				return bad_input_take(run,
				    xasprintf(
					"cannot read the export: %s", strerror(run->intake->err)));
			return CTL_OK;
		}
		if (is_stopped())
			return CTL_OK;
	}
}

static int
read_export(struct run *run)
{
	struct timespec now;
	struct export *export;
	char *why = NULL;
	int code = open_provider(run);

	if (code != CTL_OK)
		return code;
	clock_gettime(CLOCK_REALTIME, &now);
	run->plan.match.read_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	run->intake->fd = run->provider.fd;
	run->intake->stopped = intake_stopped;
	progress_start(&run->progress, "reading the export");
	export = export_open(&run->plan.export, run->intake, &why);
	if (!export && is_stopped()) {
		free(why);
		return CTL_OK;
	}
	code = export ? read_rows(run, export) : bad_input_take(run, why);
	export_close(export);
	why = NULL;
	if (code == CTL_OK && !is_stopped() && !provider_end(&run->provider, &why))
		code = bad_input_take(run, why);
	return code;
}

/* ---- the ledger ---- */

static bool
take_effect(void *arg, const struct match_effect *effect)
{
	struct run *run = arg;

	return match_ledger(run->match, effect) && !is_stopped();
}

static void
show_walking(void *arg, double share, uint64_t n_effects)
{
	struct run *run = arg;

	progress_at(&run->progress, share, n_effects);
}

/* The window: what was typed, else from the first row to the last. */
static int
make_window(struct run *run)
{
	struct match_plan *match = &run->plan.match;

	if (run->sum.n_rows == 0 && reckon_n_bad(run->reckon) > 0)
		return bad_input_take(
		    run, xasprintf("no row could be read; %s", reckon_first_bad(run->reckon)));
	if (run->first_us > run->last_us && (!run->plan.has_from || !run->plan.has_to))
		return bad_input(run,
		    "no row tells a time, so both ends of the window are needed "
		    "(--since, --until)");
	if (!run->plan.has_from)
		match->from_us = run->first_us;
	if (!run->plan.has_to)
		match->to_us = run->last_us;
	if (match->from_us > match->to_us)
		return bad_input(run,
		    run->plan.has_from ? "all rows are of before the window (--since)"
				       : "all rows are of after the window (--until)");
	run->sum.from_us = match->from_us;
	run->sum.to_us = match->to_us;
	match->incomplete = reckon_n_bad(run->reckon) > 0;
	return CTL_OK;
}

static int
walk_ledger(struct run *run)
{
	struct match_plan *match = &run->plan.match;
	struct pages pages = {.ctl = run->ctl,
	    .tool = run->plan.tool,
	    .ns = run->plan.ns,
	    .from_us = match->from_us - match->slack_us,
	    .to_us = match->to_us + match->slack_us,
	    .patience_ms = run->patience_ms,
	    .plan = match,
	    .amounts = run->plan.amounts,
	    .stopped = is_stopped,
	    .take = take_effect,
	    .at = show_walking,
	    .arg = run};
	int code;

	progress_start(&run->progress, "reading the ledger");
	code = pages_walk(&pages);
	if (is_stopped())
		return CTL_OK;
	if (match_why(run->match))
		return bad_input(run, match_why(run->match));
	if (code != CTL_OK)
		return code;
	run->sum.n_effects = pages.n_effects;
	match->installed_us = pages.installed_us;
	match->remembers_us = pages.remembers_us;
	progress_start(&run->progress, "comparing");
	if (!match_end(run->match, is_stopped) && !is_stopped())
		return bad_input(run, match_why(run->match));
	if (reckon_why(run->reckon))
		return bad_input(run, reckon_why(run->reckon));
	return CTL_OK;
}

/* ---- the end ---- */

static int
tell(struct run *run)
{
	char *why = NULL;
	int code = CTL_OK;

	progress_clear(&run->progress);
	if (run->open)
		code = reckon_open(run->reckon, run->ctl, ASK_MS, is_stopped, &run->sum);
	if (run->open && is_stopped()) {
		show_failure(run->ctl, CTL_INPUT, "interrupted",
		    "%s: interrupted: %llu incidents were opened, %llu are left", run->ctl->verb,
		    (unsigned long long)run->sum.n_opened, (unsigned long long)run->sum.n_left);
		return 128 + stop_signal;
	}
	if ((run->out || run->csv) && !reckon_write(run->reckon, run->out, &why)) {
		show_failure(run->ctl, CTL_BUG, "output", "%s: %s", run->ctl->verb, why);
		free(why);
		return CTL_BUG;
	}
	if (run->ctl->json)
		reckon_json(run->reckon, &run->sum);
	else
		reckon_show(run->reckon, &run->sum, run->csv, run->csv || run->out);
	if (code != CTL_OK)
		return code;
	if (reckon_n_bad(run->reckon) > 0)
		return CTL_INPUT;
	return reckon_n_findings(run->reckon) > 0 ? CTL_FINDINGS : CTL_OK;
}

static int
reconcile(struct run *run)
{
	char *why = NULL;
	int code;

	run->reckon = reckon_new(run->plan.tool, run->plan.ns, run->all, run->open, &why);
	if (!run->reckon)
		return bad_input_take(run, why);
	run->match = match_new(&run->plan.match, reckon_found, run->reckon);
	run->intake = xcalloc(1, sizeof *run->intake);
	code = read_export(run);
	if (code == CTL_OK && !is_stopped())
		code = make_window(run);
	if (code == CTL_OK && !is_stopped())
		code = walk_ledger(run);
	if (is_stopped()) {
		progress_clear(&run->progress);
		show_failure(run->ctl, CTL_INPUT, "interrupted",
		    "%s: interrupted, nothing is concluded", run->ctl->verb);
		return 128 + stop_signal;
	}
	return code == CTL_OK ? tell(run) : code;
}

static void
add_flags(struct flag_set *set, struct plan *plan)
{
	flag_add(set, "from", 0, "FILE",
	    "the export: a file, - for standard input, exec for the policy's command");
	plan_add_flags(plan, set);
	flag_add(set, "out", 0, "FILE", "the list of findings as CSV, into that file");
	flag_add(set, "csv", 0, NULL, "the list as CSV on standard output");
	flag_add(set, "all", 0, NULL, "the list has what matches, too");
	flag_add(set, "open", 0, NULL, "open an incident for each serious finding (operators)");
	flag_add(set, "quiet", 'q', NULL, "no progress");
	flag_add(set, "patience", 0, "DURATION",
	    "how long to wait for a daemon that is away (default: 2m)");
}

static int
read_flags(struct run *run, struct flag_set *set)
{
	const char *patience = usage_value(set, "patience");

	run->from = usage_value(set, "from");
	run->out = usage_value(set, "out");
	run->csv = usage_given(set, "csv");
	run->all = usage_given(set, "all");
	run->open = usage_given(set, "open");
	run->quiet = usage_given(set, "quiet");
	run->patience_ms = PATIENCE_MS;
	if (!run->from)
		return show_failure(run->ctl, CTL_USAGE, "usage",
		    "%s: flag \"--from\" is missing: a file, - or exec", run->ctl->verb);
	if (run->csv && (run->out || run->ctl->json))
		return show_failure(run->ctl, CTL_USAGE, "usage",
		    "%s: flag \"--csv\" does not go with \"--%s\"", run->ctl->verb,
		    run->out ? "out" : "json");
	if (patience && !text_duration_ms(patience, &run->patience_ms))
		return show_failure(run->ctl, CTL_USAGE, "usage",
		    "%s: flag \"--patience\" takes a duration such as 30s or 5m, not \"%s\"",
		    run->ctl->verb, patience);
	return CTL_OK;
}

int
ctl_reconcile(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct run run = {
	    .ctl = ctl, .provider = {.fd = -1}, .first_us = INT64_MAX, .last_us = INT64_MIN};
	int code;

	add_flags(&set, &run.plan);
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	take_signals();
	progress_init(&run.progress, false);
	code = read_flags(&run, &set);
	run.progress.quiet = run.quiet;
	if (code == CTL_OK)
		code = plan_make(&run.plan, ctl, &set, ASK_MS);
	if (code == CTL_OK)
		code = reconcile(&run);
	provider_abort(&run.provider);
	match_free(run.match);
	reckon_free(run.reckon);
	free(run.intake);
	plan_clear(&run.plan);
	return code;
}
