/*
 * Policies against figures. Promise: it is the policy in hand that is held against them, not the
 * one under which they were measured; a figure of fewer than 20 is none. Durations are known by
 * powers of two, and what is told as one is the most that it can be: so a finding is what holds for
 * the least, half of it, or what lapses and late outcomes bear out.
 */
#include "measured.h"

#include "alloc.h"
#include "execute_spec.h"
#include "file.h"
#include "report_ask.h"
#include "report_value.h"
#include "show.h"
#include "when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_MIN 20
#define DAYS 30
#define FILE_BYTES_MAX (64U << 20)
#define UNANSWERED_MIN 3

static struct measured_tool *
tool_of(struct measured *m, const char *ns, const char *tool)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->tools[i].tool, tool) && !strcmp(m->tools[i].ns, ns))
			return &m->tools[i];
	m->tools = xrealloc(m->tools, (m->n + 1) * sizeof *m->tools);
	m->tools[m->n] = (struct measured_tool){.ns = xstrdup(ns), .tool = xstrdup(tool)};
	return &m->tools[m->n++];
}

/* ---- reports ---- */

static double
number(const struct report *report, size_t row, const char *name)
{
	double value = 0;

	(void)report_number(report, row, name, &value);
	return value;
}

static bool
take_report(struct measured *m, const struct report *report, const char **ret_why)
{
	bool times = !strcmp(report->name, "timeouts"), memory = !strcmp(report->name, "retention");
	struct measured_tool *t;
	char *ns, *tool;

	if (!times && !memory) {
		*ret_why = "of reports it takes timeouts and retention";
		return false;
	}
	for (size_t i = 0; i < report->n_rows; i++) {
		ns = report_text(report, i, "namespace");
		tool = report_text(report, i, "tool");
		if (ns && tool) {
			t = tool_of(m, ns, tool);
			if (times) {
				t->n = number(report, i, "n");
				t->p99_ms = number(report, i, "p99_ms");
				t->late = number(report, i, "lapsed") + number(report, i, "late");
			} else {
				t->n_repeats = number(report, i, "n");
				t->oldest_ms = number(report, i, "oldest_ms");
				t->reruns = number(report, i, "reruns");
				t->keep_key_ms = number(report, i, "keep_key_ms");
			}
		}
		free(ns);
		free(tool);
	}
	for (size_t i = 0; i < report->n_findings; i++) {
		const struct report_finding *f = &report->findings[i];

		if (!f->code || !f->ns || !f->tool || !f->text ||
		    strcmp(f->code, "client_timeout_below_p99") != 0)
			continue;
		t = tool_of(m, f->ns, f->tool);
		free(t->client_timeout);
		t->client_timeout = xstrdup(f->text);
	}
	return true;
}

/* ---- tools list, status ---- */

static double
count(const struct ask_answer *a, uint32_t object, const char *name)
{
	int64_t n = 0;

	(void)!ask_int(a, object, name, &n);
	return (double)n;
}

static void
take_tools(struct measured *m, const struct ask_answer *a)
{
	uint32_t node = ask_first(a, a->result, "tools"), probes, state;
	struct measured_tool *t;
	char *ns, *tool;

	for (; node; node = a->doc.nodes[node].next) {
		ns = ask_text(a, node, "namespace");
		tool = ask_text(a, node, "name");
		probes = json_member(&a->doc, node, "probes");
		state = json_member(&a->doc, node, "probe_state");
		if (ns && tool && probes) {
			t = tool_of(m, ns, tool);
			t->n_answered = count(a, probes, "landed") + count(a, probes, "failed") +
			    count(a, probes, "absent");
			t->n_inconclusive = count(a, probes, "inconclusive");
			free(t->probe_error);
			t->probe_error = state ? ask_text(a, state, "last_error") : NULL;
		}
		free(ns);
		free(tool);
	}
}

static void
take_differ(struct measured *m, const struct ask_answer *a)
{
	uint32_t node = ask_first(a, a->result, "differ"), daemon;
	struct buf text = {0};
	struct measured_tool *t;
	char *ns, *tool, *host, *policy;

	for (; node; node = a->doc.nodes[node].next) {
		ns = ask_text(a, node, "namespace");
		tool = ask_text(a, node, "tool");
		daemon = ask_first(a, node, "daemons");
		buf_clear(&text);
		for (; daemon; daemon = a->doc.nodes[daemon].next) {
			host = ask_text(a, daemon, "host");
			policy = ask_text(a, daemon, "policy");
			buf_printf(&text, "%s%s has %s", text.len ? ", " : "", host ? host : "?",
			    policy ? policy : "none");
			free(host);
			free(policy);
		}
		if (ns && tool) {
			t = tool_of(m, ns, tool);
			free(t->differs);
			t->differs = xstrdup(buf_str(&text));
		}
		free(ns);
		free(tool);
	}
	buf_free(&text);
}

/* Takes the answer over. False: it is none that measures anything, *ret_why is static. */
static bool
take_answer(struct measured *m, struct ask_answer *a, const char **ret_why)
{
	uint32_t tools = json_member(&a->doc, a->result, "tools");
	uint32_t differ = json_member(&a->doc, a->result, "differ");
	struct report report = {0};
	bool ok = false;

	*ret_why = "it is none of report timeouts, report retention, tools list and status, saved "
		   "with --json";
	if (json_member(&a->doc, a->result, "columns")) {
		ok = report_read(&report, a, ret_why) && take_report(m, &report, ret_why);
		report_free(&report);
		return ok;
	}
	if (tools && a->doc.nodes[tools].type == JSON_ARRAY) {
		take_tools(m, a);
		ok = true;
	} else if (json_member(&a->doc, a->result, "database")) {
		if (differ && a->doc.nodes[differ].type == JSON_ARRAY)
			take_differ(m, a);
		ok = true;
	}
	ask_answer_free(a);
	return ok;
}

static int
ask_method(struct measured *m, const struct ctl *ctl, const char *method)
{
	struct ask what = {.method = method,
	    .params = "{}",
	    .params_len = 2,
	    .again = ASK_ONCE,
	    .deadline_ms = ASK_DEADLINE_MS};
	struct ask_answer answer = {0};
	const char *odd;
	char *why = NULL;
	int err = ask(ctl, &what, &answer, NULL, &why), code = show_asked(ctl, err, why, &answer);

	if (code != CTL_OK)
		ask_answer_free(&answer);
	else if (!take_answer(m, &answer, &odd))
		code = show_failure(ctl, CTL_BUG, "internal", "%s: %s", method, odd);
	return code;
}

int
measured_ask(struct measured *m, const struct ctl *ctl)
{
	static const char *const names[] = {"timeouts", "retention"};
	int64_t now_ms = when_now_ms();
	struct report report = {0};
	const char *odd;
	int code;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct report_query query = {.name = names[i],
		    .from_ms = now_ms - (int64_t)DAYS * 86400000,
		    .to_ms = now_ms,
		    .limit = 1000,
		    .within_ms = -1,
		    .keys_min = -1,
		    .deadline_ms = REPORT_DEADLINE_MS};

		code = report_ask(ctl, &query, &report, NULL);
		if (code != CTL_OK)
			return code;
		if (!take_report(m, &report, &odd))
			code = show_failure(ctl, CTL_BUG, "internal", "report: %s", odd);
		report_free(&report);
		report = (struct report){0};
		if (code != CTL_OK)
			return code;
	}
	code = ask_method(m, ctl, "tools");
	return code == CTL_OK ? ask_method(m, ctl, "info") : code;
}

int
measured_file(struct measured *m, const struct ctl *ctl, const char *file)
{
	struct ask_answer a = {0};
	const char *odd = "it is not strict JSON, one object";
	bool missing, ok;
	char *why = NULL, *text;
	size_t len;

	text = file_read(file, FILE_BYTES_MAX, &len, &missing, &why);
	if (!text) {
		(void)show_failure(ctl, CTL_INPUT, "bad_input", "%s: %s", file, why);
		free(why);
		return CTL_INPUT;
	}
	buf_add(&a.line, text, len);
	free(text);
	ok = json_scan(&a.doc, a.line.data, a.line.len, NULL, NULL) == 0 &&
	    a.doc.nodes[0].type == JSON_OBJECT;
	if (!ok)
		ask_answer_free(&a);
	else
		ok = take_answer(m, &a, &odd);
	return ok ? CTL_OK : show_failure(ctl, CTL_INPUT, "bad_input", "%s: %s", file, odd);
}

void
measured_free(struct measured *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->tools[i].ns);
		free(m->tools[i].tool);
		free(m->tools[i].client_timeout);
		free(m->tools[i].probe_error);
		free(m->tools[i].differs);
	}
	free(m->tools);
	*m = (struct measured){0};
}

/* ---- holding against ---- */

struct against {
	const struct tool_policy *policy;
	const struct measured_tool *t;
	void (*cb)(void *arg, const struct tool_finding *f);
	void *arg;
};

/* Takes `text`. */
static void
found(const struct against *a, const char *code, const char *pointer, char *text)
{
	struct tool_finding f = {
	    .tool = a->policy->name, .pointer = pointer, .code = code, .text = text};

	(void)tool_finding_level(code, &f.level);
	a->cb(a->arg, &f);
	free(text);
}

static char *
words_of(double ms)
{
	struct buf b = {0};

	report_value_ms(&b, ms);
	buf_add_char(&b, '\0');
	return b.data;
}

/* Is a limit below what was measured? A measured time is between half of what is told and that. */
static bool
is_below(const struct measured_tool *t, double limit_ms)
{
	return t->n >= N_MIN && t->p99_ms > limit_ms &&
	    (t->p99_ms / 2 >= limit_ms || t->late * 100 >= t->n);
}

static void
hold_times(const struct against *a)
{
	const struct tool_policy *p = a->policy;
	double limit_ms = (double)(p->execute ? p->execute->timeout_ms : p->lease_ms);
	char *p99 = words_of(a->t->p99_ms), *limit = words_of(limit_ms);

	if (is_below(a->t, limit_ms) && p->execute)
		found(a, "timeout_below_p99", "/execute/timeout",
		    xasprintf(
			"%s is below the p99 of %s that %.0f calls in '%s' took: those above it "
			"are cut off",
			limit, p99, a->t->n, a->t->ns));
	else if (is_below(a->t, limit_ms))
		found(a, "lease_below_p99", "/lease",
		    xasprintf(
			"%s is below the p99 of %s that %.0f calls in '%s' took, of which %.0f "
			"lapsed or were late: what takes longer, with nobody to extend it, is "
			"unknown while it is still under way",
			limit, p99, a->t->n, a->t->ns, a->t->late));
	if (a->t->client_timeout)
		found(a, "client_timeout_below_p99", "",
		    xasprintf("in '%s': %s", a->t->ns, a->t->client_timeout));
	free(p99);
	free(limit);
}

static void
hold_memory(const struct against *a)
{
	double keep_ms = (double)a->policy->keep_key_ms;
	char *keep = words_of(keep_ms), *oldest = words_of(a->t->oldest_ms / 2),
	     *was = words_of(a->t->keep_key_ms);

	if (a->t->n_repeats > 0 && a->t->oldest_ms / 2 >= keep_ms)
		found(a, "memory_below_oldest", "/keep_key",
		    xasprintf(
			"%s is below the age of the oldest repeat that was caught in '%s', %s "
			"or more: such a one would run again",
			keep, a->t->ns, oldest));
	if (a->t->reruns > 0 && keep_ms <= a->t->keep_key_ms)
		found(a, "memory_short", "/keep_key",
		    xasprintf("%.0f effect%s in '%s' ran again after the key was forgotten, with a "
			      "memory of %s, and this is %s",
			a->t->reruns, a->t->reruns == 1 ? "" : "s", a->t->ns, was, keep));
	free(keep);
	free(oldest);
	free(was);
}

static void
hold_probes(const struct against *a)
{
	if (a->t->n_inconclusive < UNANSWERED_MIN || a->t->n_answered > 0)
		return;
	found(a, "probe_silent", "/probe",
	    xasprintf("none of %.0f probes in '%s' was answered since the daemon's start%s%s",
		a->t->n_inconclusive, a->t->ns, a->t->probe_error ? ": " : "",
		a->t->probe_error ? a->t->probe_error : ""));
}

void
measured_own(struct measured *m, const char *ns, const char *tool)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->tools[i].tool, tool) && !strcmp(m->tools[i].ns, ns))
			m->tools[i].own = true;
}

void
measured_lint(const struct measured *m, const struct tool_policy *policy, bool any,
    void (*cb)(void *arg, const struct tool_finding *f), void *arg)
{
	for (size_t i = 0; i < m->n; i++) {
		struct against a = {policy, &m->tools[i], cb, arg};

		if (strcmp(a.t->tool, policy->name) != 0 ||
		    (any ? a.t->own : strcmp(a.t->ns, policy->ns) != 0))
			continue;
		if (a.t->differs)
			found(&a, "policy_differs", "",
			    xasprintf("daemons have different policies in force in '%s': %s",
				a.t->ns, a.t->differs));
		if (!policy->guarded)
			continue;
		hold_times(&a);
		hold_memory(&a);
		if (tool_has_probe(policy))
			hold_probes(&a);
	}
}
