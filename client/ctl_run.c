/*
 * run -- COMMAND: runs it if the ledger says so, records its exit status and standard output, and
 * replays both on a repeat. What is here are flags, words for people and exit codes; the command's
 * life is guard.c's. Standard output is the command's alone.
 */
#include "alloc.h"
#include "conn.h"
#include "ctl.h"
#include "effect.h"
#include "flag.h"
#include "guard.h"
#include "json.h"
#include "member.h"
#include "recorded.h"
#include "show.h"
#include "signals.h"
#include "text.h"
#include "usage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS_ONCE 60000 /* begin waits so long at most */
#define PAUSE_MS_MIN 50
#define DAY_MS 86400000LL
#define CANNOT_RUN 126 /* as shells have them */
#define NOT_FOUND 127
#define SIGNAL_BASE 128

enum time { WAIT, LEASE, TIMEOUT, KILL_AFTER, DEADLINE, RECORD_DEADLINE, N_TIMES };

static const struct {
	const char *flag, *help;
	int64_t otherwise_ms, min_ms, max_ms;
} times[N_TIMES] = {
    [WAIT] = {"wait", "for another holder's outcome, or a probe's word (default: 30s)", 30000, 0,
	DAY_MS},
    [LEASE] = {"lease", "how long the claim is held without a word from us (default: the policy's)",
	0, 1000, 3600000},
    [TIMEOUT] = {"timeout", "end the command after so long; its outcome is then unknown", 0, 1,
	365 * DAY_MS},
    [KILL_AFTER] = {"kill_after", "between SIGTERM and SIGKILL of a time-out (default: 10s)", 10000,
	0, DAY_MS},
    [DEADLINE] = {"deadline",
	"how long to keep asking for the claim, on top of the wait (default: 10s)", 10000, 1,
	3600000},
    [RECORD_DEADLINE] = {"record_deadline",
	"how long to keep trying to record what the command came to (default: 60s)", 60000, 1,
	DAY_MS},
};

struct run {
	struct ctl *ctl;
	struct flag_set set;
	struct flag_list arg_list;
	char **command;
	struct buf args; /* JSON; empty = none */
	int64_t ms[N_TIMES];
	struct signals signals;
	struct effect_ledger *ledger;
	struct effect_answer *answer; /* to begin */
};

/* --- flags --- */

static void
add_flags(struct run *run)
{
	member_flags(&run->set, MEMBER_RUN);
	flag_add_many(&run->set, "arg", "NAME=TEXT",
	    "one of the call's arguments; NAME:=JSON if it is no text", &run->arg_list);
	flag_add(&run->set, "args_json", 0, "FILE",
	    "the call's arguments from a file, - for standard input");
	for (int i = 0; i < N_TIMES; i++)
		flag_add(&run->set, times[i].flag, 0, "DURATION", times[i].help);
}

static int
usage(const struct run *run, const char *fmt, const char *word)
{
	char *text = xasprintf(fmt, word);
	int code = show_failure(run->ctl, CTL_USAGE, "usage", "run: %s", text);

	free(text);
	return code;
}

static int
read_times(struct run *run)
{
	char name[FLAG_NAME_BYTES];
	const char *value;

	for (int i = 0; i < N_TIMES; i++) {
		run->ms[i] = times[i].otherwise_ms;
		value = usage_value(&run->set, times[i].flag);
		if (value &&
		    (!text_duration_ms(value, &run->ms[i]) || run->ms[i] < times[i].min_ms ||
			run->ms[i] > times[i].max_ms))
			return show_failure(run->ctl, CTL_USAGE, "usage",
			    "run: flag \"--%s\" takes a duration such as 500ms, 30s or 10m, not "
			    "\"%s\"",
			    flag_spell(times[i].flag, name), value);
	}
	return CTL_OK;
}

/* NAME=TEXT, or NAME:=JSON. */
static int
add_arg(struct run *run, const char *word, size_t n_before)
{
	const char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL, *why;
	bool json = equals && equals > word && equals[-1] == ':';
	size_t len = equals ? (size_t)(equals - word) - (json ? 1 : 0) : 0;

	if (len == 0)
		return usage(run, "flag \"--arg\" takes NAME=TEXT or NAME:=JSON, not \"%s\"", word);
	if (!json_utf8(word, strlen(word)))
		return show_failure(run->ctl, CTL_INPUT, "bad_input", "run: --arg: no UTF-8");
	for (size_t i = 0; i < n_before; i++) {
		const char *other = run->arg_list.values[i];

		if (!strncmp(other, word, len) &&
		    (other[len] == '=' || (other[len] == ':' && other[len + 1] == '=')))
			return usage(run, "the argument of --arg \"%s\" is given twice", word);
	}
	buf_add_char(&run->args, n_before ? ',' : '{');
	buf_json_string(&run->args, word, len);
	buf_add_char(&run->args, ':');
	if (!json) {
		buf_json_string(&run->args, value, strlen(value));
	} else if ((why = member_json_text(value, strlen(value), &run->args))) {
		return show_failure(
		    run->ctl, CTL_INPUT, "bad_input", "run: --arg \"%s\" %s", word, why);
	}
	return CTL_OK;
}

static int
read_args(struct run *run)
{
	const char *args = usage_value(&run->set, "args");
	const char *file = usage_value(&run->set, "args_json");
	char *why = NULL, *value;
	bool good;
	int code;

	if ((args != NULL) + (file != NULL) + (run->arg_list.n > 0) > 1)
		return usage(run, "%s are three ways to say the same: use one",
		    "--arg, --args and --args-json");
	for (size_t i = 0; i < run->arg_list.n; i++)
		if ((code = add_arg(run, run->arg_list.values[i], i)))
			return code;
	if (run->arg_list.n > 0)
		buf_add_char(&run->args, '}');
	if (!args && !file)
		return CTL_OK;
	value = args ? xstrdup(args) : xasprintf("%s%s", strcmp(file, "-") ? "@" : "", file);
	good = member_json(args ? "--args" : "--args-json", value, &run->args, &why);
	free(value);
	if (good && buf_str(&run->args)[0] != '{')
		return show_failure(run->ctl, CTL_INPUT, "bad_input",
		    "run: the call's arguments are no JSON object");
	if (good)
		return CTL_OK;
	code = show_failure(run->ctl, CTL_INPUT, "bad_input", "run: %s", why);
	free(why);
	return code;
}

/* What stands behind "--" is the command's, whatever it looks like. */
static int
read_command_line(struct run *run)
{
	struct ctl *ctl = run->ctl;
	int i = 0, code;

	while (i < ctl->argc && strcmp(ctl->argv[i], "--"))
		i++;
	run->command = i < ctl->argc ? ctl->argv + i + 1 : NULL;
	ctl->argc = i;
	if ((code = usage_read(ctl, &run->set, "-- COMMAND [ARG...]", 0, 0)) != USAGE_GO_ON)
		return code;
	if (ctl->json)
		return usage(run, "there is no --json, as %s",
		    "standard output is the command's; effectctl --json get tells what was "
		    "recorded");
	if (!run->command || !run->command[0])
		return usage(run, "%s", "a command is missing: run [FLAG...] -- COMMAND [ARG...]");
	if (!usage_given(&run->set, "tool"))
		return usage(run, "%s", "flag \"--tool\" is missing");
	if ((code = read_times(run)) || (code = read_args(run)))
		return code;
	return USAGE_GO_ON;
}

static struct effect_params
params_of(struct run *run)
{
	struct flag_set *set = &run->set;
	struct effect_params params = EFFECT_PARAMS(.tool = usage_value(set, "tool"));

	params.key = usage_value(set, "key");
	params.args = run->args.len ? buf_str(&run->args) : NULL;
	params.ns = usage_value(set, "namespace");
	params.run = usage_value(set, "run");
	params.step = usage_value(set, "step");
	params.turn = usage_value(set, "turn");
	params.call = usage_value(set, "call");
	params.owner = usage_value(set, "owner");
	params.again = usage_value(set, "again");
	params.lease_ms = run->ms[LEASE];
	params.begin_timeout_ms = run->ms[DEADLINE];
	return params;
}

/* --- before the command --- */

/* Nothing that we open may take the place of a standard stream that our caller closed. */
static bool
occupy_standard_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return false;
	return true;
}

static enum ctl_exit
exit_of(enum effect_kind kind)
{
	switch (kind) {
	case EFFECT_BUSY:
	case EFFECT_OVERLOADED:
		return CTL_BUSY;
	case EFFECT_MISMATCH:
		return CTL_MISMATCH;
	case EFFECT_UNKNOWN:
	case EFFECT_ESCALATED:
	case EFFECT_LATE:
		return CTL_UNKNOWN;
	case EFFECT_EXHAUSTED:
		return CTL_EXHAUSTED;
	case EFFECT_HELD:
		return CTL_HELD;
	case EFFECT_UNAVAILABLE:
	case EFFECT_NOT_RECORDED:
		return CTL_UNAVAILABLE;
	case EFFECT_PARSE_ERROR:
	case EFFECT_INVALID_REQUEST:
	case EFFECT_UNKNOWN_METHOD:
	case EFFECT_INVALID_PARAMS:
		return CTL_INPUT;
	case EFFECT_DENIED:
		return CTL_DENIED;
	case EFFECT_NOT_FOUND:
		return CTL_NOT_FOUND;
	case EFFECT_CONFLICT:
	case EFFECT_NOT_OWNER:
	case EFFECT_LOST:
		return CTL_CONFLICT;
	default:
		return CTL_BUG; /* whatever it is, it is no permission */
	}
}

static const char *
or_else(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

static void
away_cb(void)
{
	static const char line[] =
	    "effectctl: the daemon cannot be reached (-s, EFFECTD_SOCKET); still trying\n";

	fputs(line, stderr);
}

/* Asks until the answer is not busy, or the wait is over: one begin waits for a minute at most. */
static enum effect_kind
claim(struct run *run, int *ret_signal)
{
	struct effect_params params = params_of(run);
	int64_t until_ms = conn_now_ms() + run->ms[WAIT], left_ms = run->ms[WAIT], pause_ms;
	struct pollfd pfd = {.fd = run->signals.fd, .events = POLLIN};
	enum effect_kind kind;

	for (;;) {
		params.wait_ms = left_ms > WAIT_MS_ONCE ? WAIT_MS_ONCE
		    : left_ms > 0			? left_ms
							: EFFECT_NO_WAIT;
		kind = guard_begin(
		    run->ledger, &run->signals, &params, away_cb, &run->answer, ret_signal);
		left_ms = until_ms - conn_now_ms();
		if (kind != EFFECT_BUSY || left_ms <= 0)
			return kind;
		/* also where a daemon that is being stopped sends its waiters away */
		pause_ms = effect_answer_int(run->answer, "retry_after_ms", 0);
		if (pause_ms < PAUSE_MS_MIN)
			pause_ms = PAUSE_MS_MIN;
		poll(&pfd, 1, (int)(pause_ms < left_ms ? pause_ms : left_ms));
		left_ms = until_ms - conn_now_ms();
		effect_answer_free(run->answer);
		run->answer = NULL;
	}
}

/* Why it is not run. */
static int
tell_refusal(const struct run *run, enum effect_kind kind)
{
	const struct effect_answer *answer = run->answer;
	const char *decision = effect_answer_text(answer, "decision");
	const char *owner = effect_answer_text(answer, "owner");
	const char *why = effect_answer_text(answer, "why");
	struct buf text = {0};
	int code = exit_of(kind);

	buf_add_str(&text, "not run: ");
	if (kind == EFFECT_LATE) {
		buf_add_str(
		    &text, "the grant came too late to be used, and was given back: ask again");
	} else if (decision) {
		buf_printf(&text, "%s", decision);
		if (effect_answer_text(answer, "effect"))
			buf_printf(&text, ", effect %s", effect_answer_text(answer, "effect"));
		if (owner)
			buf_printf(&text, ", held by %s", owner);
		buf_printf(
		    &text, ": %s", or_else(effect_answer_text(answer, "advice"), "no advice"));
	} else if (why) {
		buf_printf(&text, "%s: %s: %s",
		    or_else(effect_answer_text(answer, "name"), "error"),
		    or_else(effect_answer_text(answer, "pointer"), ""), why);
	} else if (answer) {
		buf_printf(&text, "%s: %s", or_else(effect_answer_text(answer, "name"), "error"),
		    or_else(effect_answer_text(answer, "message"), effect_strerror(kind)));
	} else {
		buf_add_str(&text, effect_error(run->ledger));
	}
	show_failure(run->ctl, code, "run", "%s", buf_str(&text));
	buf_free(&text);
	return code;
}

/* --- a replay --- */

static void
say_replay(const struct run *run)
{
	struct buf text = {0};

	show_replay(&text, effect_answer_int(run->answer, "attempt", 0),
	    effect_answer_text(run->answer, "outcome"), effect_answer_text(run->answer, "done_at"),
	    effect_answer_text(run->answer, "by"));
	fwrite(text.data, 1, text.len, stderr);
	buf_free(&text);
}

/* A result that no run recorded: a probe's, an operator's, another client's. */
static int
replay_foreign(const struct run *run, const char *raw, size_t len, bool succeeded)
{
	if (raw) {
		fwrite(raw, 1, len, stdout);
		putchar('\n');
		show_failure(run->ctl, CTL_OK, "run",
		    "its result was not recorded by run; it is printed as JSON");
	} else if (succeeded) {
		show_failure(run->ctl, CTL_OK, "run", "its output is kept no more");
	}
	return succeeded ? CTL_OK : CTL_REPLAY_FAILED;
}

static int
replay(const struct run *run, enum effect_kind kind)
{
	const char *state = effect_answer_text(run->answer, "result_state"), *raw;
	bool succeeded = kind != EFFECT_FAILED;
	struct recorded_copy copy;
	size_t len = 0;
	int status;

	say_replay(run);
	raw = effect_answer_raw(run->answer, "result", &len);
	if (!raw || !recorded_read(raw, len, state && !strcmp(state, "redacted"), &copy))
		return replay_foreign(run, raw, len, succeeded);
	show_out(&copy.out);
	fflush(stdout);
	if (!copy.has_out)
		show_failure(
		    run->ctl, CTL_OK, "run", "its output was not kept, as the policy says");
	else if (!copy.whole)
		show_failure(run->ctl, CTL_OK, "run",
		    "only the first %zu of %lld bytes of its output are kept", copy.out.len,
		    (long long)copy.out_bytes);
	/* a failure is one, whatever number somebody wrote into its result */
	status = copy.status == 0 && !succeeded ? CTL_REPLAY_FAILED : copy.status;
	buf_free(&copy.out);
	return status;
}

/* --- after the command --- */

static void
lost_cb(void)
{
	fputs("effectctl: the claim was lost while the command runs: what it comes to is reported "
	      "all the same\n",
	    stderr);
}

static int
tell_not_started(const struct run *run, const struct guard_end *end)
{
	const char *given_back = end->report == EFFECT_OK
	    ? "the claim was given back"
	    : "the claim could not be given back, and turns unknown when its lease ends";
	const char *why = strerror(end->code), *word = run->command[0];
	int code;

	if (end->how == GUARD_LATE)
		return show_failure(run->ctl, CTL_UNKNOWN, "late",
		    "not run: the grant was too old to be used; %s", given_back);
	code = end->code == ENOENT ? NOT_FOUND : CANNOT_RUN;
	if (end->code == ENOENT && strchr(word, '/') && access(word, F_OK) == 0)
		why = "what is to interpret it (its \"#!\" line, or its loader) does not exist";
	return show_failure(
	    run->ctl, code, "not_started", "cannot run \"%s\": %s; %s", word, why, given_back);
}

/* Nobody may take it for something that did not run. */
static int
tell_not_recorded(const struct run *run, const struct guard_end *end)
{
	int code = exit_of(end->report);

	if (end->report == EFFECT_CONFLICT)
		return show_failure(run->ctl, CTL_CONFLICT, "conflict",
		    "the command ran and ended with status %d, but the claim was not its own any "
		    "more: another outcome stands, and this one is kept as evidence; do not run it "
		    "again (effectctl explain %s)",
		    end->code, or_else(effect_answer_text(run->answer, "effect"), "EFFECT"));
	return show_failure(run->ctl, code == CTL_OK ? CTL_BUG : code, "not_recorded",
	    "the command ran and ended with status %d, but that could not be recorded: %s; do not "
	    "run it again",
	    end->code, end->report_error ? end->report_error : "no answer");
}

static int
tell_unknown(const struct run *run, const struct guard_end *end, bool guarded)
{
	const char *next = !guarded ? ""
	    : end->report == EFFECT_OK
	    ? ": whether it did its work is not known, and a repeat does not run it until that is "
	      "settled"
	    : ": whether it did its work is not known; that could not be recorded, and turns out "
	      "so when its lease ends";

	if (end->how == GUARD_TIMED_OUT)
		return show_failure(run->ctl, CTL_UNKNOWN, "timed_out",
		    "the command was ended by the time-out%s", next);
	return show_failure(run->ctl, SIGNAL_BASE + end->code, "died",
	    "the command died of signal %d (%s)%s", end->code, strsignal(end->code), next);
}

static int
tell_exit(const struct run *run, const struct guard_end *end, bool guarded)
{
	const char *state = effect_answer_text(end->answer, "state");

	if (end->report != EFFECT_OK)
		return tell_not_recorded(run, end);
	if (guarded && end->code != 0)
		show_failure(run->ctl, end->code, "status", "exit status %d: %s", end->code,
		    !state			 ? "recorded"
			: !strcmp(state, "done") ? "recorded as a failure, which a repeat replays"
			: !strcmp(state, "released") ? "given back, so that a repeat runs it again"
						     : "recorded as unknown, so that a repeat does "
						       "not run it until that is settled");
	if (end->out_error && end->code == 0)
		return show_failure(run->ctl, CTL_BUG, "output",
		    "cannot write to standard output: %s; the command succeeded, and a repeat "
		    "prints its output again",
		    strerror(end->out_error));
	return end->code;
}

static int
run_command(struct run *run)
{
	bool guarded = effect_answer_kind(run->answer) == EFFECT_RUN;
	struct guard_spec spec = {.ledger = run->ledger,
	    .grant = run->answer,
	    .signals = &run->signals,
	    .argv = run->command,
	    .tool = usage_value(&run->set, "tool"),
	    .ns = usage_value(&run->set, "namespace"),
	    .timeout_ms = run->ms[TIMEOUT],
	    .kill_after_ms = run->ms[KILL_AFTER],
	    .record_timeout_ms = run->ms[RECORD_DEADLINE],
	    .lost = lost_cb};
	struct guard_end end;
	int code;

	guard_run(&spec, &end);
	if (end.how == GUARD_LATE || end.how == GUARD_REFUSED)
		code = tell_not_started(run, &end);
	else if (end.how == GUARD_EXITED)
		code = tell_exit(run, &end, guarded);
	else
		code = tell_unknown(run, &end, guarded);
	/* Ctrl-C: a script that called us ends with us, which it would not for an exit status */
	if (end.how == GUARD_SIGNALED && end.code == SIGINT && end.interrupted_by_terminal)
		signals_die(SIGINT);
	guard_end_free(&end);
	return code;
}

static int
go(struct run *run)
{
	int number = 0;
	enum effect_kind kind = claim(run, &number);

	if (number) {
		show_failure(run->ctl, SIGNAL_BASE + number, "interrupted",
		    "not run: ended by signal %d while asking", number);
		if (number != SIGQUIT)
			signals_die(number);
		return SIGNAL_BASE + number;
	}
	if (kind == EFFECT_RUN || kind == EFFECT_PASS)
		return run_command(run);
	/* nothing is held: to write what stands may take as long as our reader likes */
	signals_let_end_us(&run->signals);
	switch (kind) {
	case EFFECT_REPLAY:
	case EFFECT_RESULT_GONE:
	case EFFECT_FAILED:
		return replay(run, kind);
	default:
		return tell_refusal(run, kind);
	}
}

int
ctl_run(struct ctl *ctl)
{
	struct run run = {.ctl = ctl, .signals = {.fd = -1}};
	struct effect_options options = EFFECT_OPTIONS(.socket = ctl->socket);
	int code;

	if (!occupy_standard_streams())
		return CTL_BUG;
	add_flags(&run);
	if ((code = read_command_line(&run)) != USAGE_GO_ON)
		goto out;
	options.socket = ctl->socket;
	run.ledger = effect_new(&options);
	if (!run.ledger)
		alloc_out_of_memory();
	if (signals_take(&run.signals))
		code = go(&run);
	else
		code =
		    show_failure(ctl, CTL_BUG, "internal", "run: no signals: %s", strerror(errno));
out:
	effect_answer_free(run.answer);
	effect_free(run.ledger);
	buf_free(&run.args);
	return code;
}
