/*
 * Load through libeffect: a closed loop of `in_flight` guarded no-ops (begin, run, complete) on one
 * connection, by the calls for event loops; with 1 in flight, by those that block. Prints one JSON
 * line: how many a second, and their latencies. An answer that is no `run` ends the program.
 *
 *   client_load SOCKET TOOL IN_FLIGHT SECONDS WARM_SECONDS
 */
#include "bench.h"
#include "effect.h"

#include <err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RESULT "{\"status\":\"ok\"}"

static struct effect_ledger *ledger;
static const char *tool;
static struct samples samples;
static uint64_t n_units, n_keys;
static bool measuring, ending;

struct unit {
	double began_ms;
};

static void
must(enum effect_kind kind, enum effect_kind good)
{
	if (kind != good)
		errx(69, "%s: %s", effect_kind_name(kind), effect_error(ledger));
}

static void
count(double began_ms)
{
	if (!measuring)
		return;
	samples_add(&samples, bench_now_ms() - began_ms);
	n_units++;
}

/* The n-th key of this process. */
static const char *
next_key(void)
{
	static char key[64];

	snprintf(key, sizeof key, "load:%d:%lld:%llu", (int)getpid(), (long long)time(NULL),
	    (unsigned long long)n_keys++);
	return key;
}

static void begin(struct unit *unit);

static void
completed_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct unit *unit = arg;

	must(kind, EFFECT_OK);
	effect_answer_free(answer);
	count(unit->began_ms);
	if (!ending)
		begin(unit);
}

static void
begun_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct effect_report report =
	    EFFECT_REPORT(.result = RESULT, .result_len = sizeof RESULT - 1);

	must(kind, EFFECT_RUN);
	must(effect_start(ledger, answer), EFFECT_RUN);
	must(effect_complete_async(ledger, answer, &report, completed_cb, arg, NULL), EFFECT_OK);
	effect_answer_free(answer);
}

static void
begin(struct unit *unit)
{
	struct effect_params params = EFFECT_PARAMS(.tool = tool, .key = next_key());

	unit->began_ms = bench_now_ms();
	must(effect_begin_async(ledger, &params, begun_cb, unit, NULL), EFFECT_OK);
}

static void
turn(void)
{
	struct pollfd pfd = {.fd = effect_fd(ledger), .events = (short)effect_events(ledger)};

	if (poll(&pfd, 1, effect_timeout_ms(ledger)) < 0)
		err(71, "poll");
	effect_dispatch(ledger, pfd.revents);
}

static enum effect_kind
no_op(
    struct effect_ledger *of, struct effect_answer *grant, struct effect_report *report, void *arg)
{
	(void)of;
	(void)grant;
	(void)arg;
	report->result = RESULT;
	report->result_len = sizeof RESULT - 1;
	return EFFECT_OK;
}

static void
run_until(double end_ms, bool blocking)
{
	while (bench_now_ms() < end_ms) {
		struct effect_params params = EFFECT_PARAMS(.tool = tool);
		double began_ms = bench_now_ms();

		if (!blocking) {
			turn();
			continue;
		}
		params.key = next_key();
		must(effect_guard(ledger, &params, no_op, NULL, NULL, NULL), EFFECT_OK);
		count(began_ms);
	}
}

int
main(int argc, char **argv)
{
	struct effect_options options = EFFECT_OPTIONS_INIT;
	double began_ms, warm_ms;
	struct unit *units;
	int in_flight;

	if (argc != 6)
		errx(64, "usage: client_load SOCKET TOOL IN_FLIGHT SECONDS WARM_SECONDS");
	options.socket = argv[1];
	tool = argv[2];
	in_flight = atoi(argv[3]);
	if (in_flight < 1 || atof(argv[4]) <= 0)
		errx(64, "bad numbers");
	ledger = effect_new(&options);
	units = calloc((size_t)in_flight, sizeof *units);
	if (!ledger || !units)
		errx(71, "out of memory");
	for (int i = 0; in_flight > 1 && i < in_flight; i++)
		begin(&units[i]);
	warm_ms = bench_now_ms() + atof(argv[5]) * 1e3;
	run_until(warm_ms, in_flight == 1);
	measuring = true;
	began_ms = bench_now_ms();
	run_until(began_ms + atof(argv[4]) * 1e3, in_flight == 1);
	measuring = false;
	samples_print(&samples, n_units, bench_now_ms() - began_ms);
	ending = true;
	while (effect_pending(ledger) > 0)
		turn();
	effect_free(ledger);
	free(units);
	return 0;
}
