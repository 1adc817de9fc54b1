/*
 * report: what operators look at in the morning. The ledger makes the whole of the answer
 * (effect.report), as its columns differ from report to report; here are the params, whose data may
 * be shown, and what is told when it takes too long.
 */
#include "methods.h"

#include "alloc.h"
#include "call.h"
#include "columns.h"
#include "ledger.h"
#include "limits.h"
#include "slow.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 100
#define KEYS_MIN_DEFAULT 3
#define KEYS_MIN_MAX 1000

struct report_params {
	const char *name;
	char *tool, *ns;
	struct param_int from, to; /* Unix microseconds */
	struct param_int limit, within_ms, keys_min;
};

/* Those of effect.report_rows. */
static const char *const names[] = {"summary", "stuck", "escalated", "incidents", "duplicates",
    "mismatches", "churn", "budgets", "timeouts", "retention", "capacity", "daily", NULL};

static const struct param table[] = {
    PARAM(struct report_params, name, PARAM_WORD, .words = names, .required = true),
    {.name = "namespace", .type = PARAM_NAMESPACE, .offset = offsetof(struct report_params, ns)},
    PARAM(struct report_params, tool, PARAM_TOOL),
    PARAM(struct report_params, from, PARAM_INSTANT),
    PARAM(struct report_params, to, PARAM_INSTANT),
    PARAM(struct report_params, limit, PARAM_INT, .min = 1, .max = LIST_ROWS_MAX),
    PARAM(struct report_params, within_ms, PARAM_INT, .min = 1,
	.max = DURATION_DAYS_MAX * INT64_C(86400000)),
    PARAM(struct report_params, keys_min, PARAM_INT, .min = 2, .max = KEYS_MIN_MAX),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

struct report {
	struct call call;
	struct report_params p;
	char *scope;
	bool past; /* its deadline, while the statement ran: see slow_late() */
};

static void
report_row(struct call *c, const struct batch_row *row)
{
	struct report *s = (struct report *)c;
	struct request *r = c->r;
	struct buf line = {0};
	const char *pointer, *body;
	size_t len;

	if (call_answer_is(row, "ok")) {
		if (r) {
			call_log(r, NULL, "report", s->p.name);
			call_line(r, &line);
			body = batch_text(row, REPORT_BODY, &len);
			buf_add(&line, body, len);
			call_reply(c, &line, NULL);
		}
		call_end(c);
	} else if (call_answer_is(row, "window")) {
		pointer = s->p.from.set ? "/from" : "/to"; /* the call ends before its request */
		call_end(c);
		if (r)
			call_refuse_member(r, pointer,
			    "must leave a window that ends after it begins, and is of at most 800 "
			    "days");
	} else {
		call_strange_row(c, row);
	}
}

static void
report_late(struct call *c)
{
	slow_late(c, ledger_report.timeout_ms, &((struct report *)c)->past);
}

static void
report_clear(struct call *c)
{
	struct report *s = (struct report *)c;

	params_clear(table, N_TABLE, &s->p);
	free(s->scope);
}

static const struct call_kind kind = {
    .row = report_row, .failed = slow_failed, .late = report_late, .clear = report_clear};

/* What only one report has is no param of the others: one that is silently off would mislead. */
static bool
params_agree(struct request *r, const struct report_params *p)
{
	const char *pointer = NULL, *why = NULL;

	if (p->within_ms.set && strcmp(p->name, "duplicates") != 0) {
		pointer = "/within_ms";
		why = "is a param of 'duplicates' only";
	} else if (p->keys_min.set && strcmp(p->name, "churn") != 0) {
		pointer = "/keys_min";
		why = "is a param of 'churn' only";
	} else if (p->from.set && p->to.set && p->from.value >= p->to.value) {
		pointer = "/from";
		why = "must be before 'to'";
	}
	return !pointer || call_refuse_member(r, pointer, why);
}

/* Takes the contents of `p`, and `scope`. */
static void
report_start(struct request *r, const struct report_params *p, char *scope)
{
	struct report *s = call_new(r, &kind, sizeof(*s), call_deadline(r));
	struct pgvalue *v = s->call.item.columns;

	s->p = *p;
	s->scope = scope;
	v[REPORT_P_SCOPE] = pg_text(scope);
	v[REPORT_P_NAME] = pg_text(p->name);
	v[REPORT_P_NAMESPACE] = pg_text(p->ns);
	v[REPORT_P_TOOL] = pg_text(p->tool);
	v[REPORT_P_FROM] = p->from.set ? pg_instant(p->from.value) : pg_null();
	v[REPORT_P_TO] = p->to.set ? pg_instant(p->to.value) : pg_null();
	v[REPORT_P_LIMIT] = pg_int4(p->limit.set ? (int32_t)p->limit.value : LIMIT_DEFAULT);
	v[REPORT_P_WITHIN_MS] = p->within_ms.set ? pg_int8(p->within_ms.value) : pg_null();
	v[REPORT_P_KEYS_MIN] =
	    pg_int4(p->keys_min.set ? (int32_t)p->keys_min.value : KEYS_MIN_DEFAULT);
	call_ask(&s->call, &ledger_report, call_deadline(r));
}

void
report_call(struct request *r)
{
	struct report_params p = {0};
	char *scope;

	if (!call_params(r, table, N_TABLE, &p) || !params_agree(r, &p))
		goto out;
	if (p.ns && !call_namespace(r, p.ns))
		goto out;
	scope = call_scope(r);
	if (!scope)
		goto out;
	report_start(r, &p, scope);
	return;
out:
	params_clear(table, N_TABLE, &p);
}
