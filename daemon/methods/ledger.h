/*
 * The SQL functions that methods call, as statements for batch.c: which parameter stands in which
 * column, which result in which. The signatures are sql/README.md's; a statement names its result
 * columns, so their order is ours.
 */
#ifndef EFFECTD_LEDGER_H
#define EFFECTD_LEDGER_H

#include "batch.h"

/* The first two result columns of every statement; the lists have them for form's sake. */
enum { LEDGER_ORD, LEDGER_ANSWER, LEDGER_REST };

enum ledger_begin_param {
	BEGIN_P_ID,
	BEGIN_P_POLICY,
	BEGIN_P_KEY,
	BEGIN_P_FINGERPRINT,
	BEGIN_P_TOKEN,
	BEGIN_P_REQUEST,
	BEGIN_P_LEASE_MS,
	BEGIN_P_OWNER,
	BEGIN_P_RUN,
	BEGIN_P_STEP,
	BEGIN_P_TURN,
	BEGIN_P_KEPT,
	BEGIN_P_REGRANT,
	BEGIN_P_WITHIN_MS,
	BEGIN_P_RESENT,
	/* begin_guarded alone: */
	BEGIN_P_BUSINESS,
	BEGIN_P_AGAIN,
	BEGIN_P_COUNTED
};
enum ledger_begin_column {
	BEGIN_ATTEMPT = LEDGER_REST,
	BEGIN_TOKEN,
	BEGIN_LEASE_UNTIL,
	BEGIN_LEASE_MS,
	BEGIN_PROTECTED_UNTIL,
	BEGIN_ON_ERROR,
	BEGIN_STATE,
	BEGIN_CLAIMED_AT,
	BEGIN_SINCE,
	BEGIN_NEXT_PROBE_AT,
	BEGIN_OWNER,
	BEGIN_OUTCOME,
	BEGIN_DECIDED_BY,
	BEGIN_DONE_AT,
	BEGIN_RESULT,
	BEGIN_RESULT_STATE,
	BEGIN_RESULT_BYTES,
	BEGIN_RESULT_SHA256,
	BEGIN_KEPT,
	BEGIN_BUDGET,
	BEGIN_BUDGET_MAX,
	BEGIN_COUNTED, /* names and milliseconds, for stats_count_all(), as in all that follow */
	/* begin_guarded alone; null in begin: */
	BEGIN_TWIN,
	BEGIN_TWIN_KEY,
	BEGIN_WINDOW_MS
};
extern const struct batch_statement ledger_begin, ledger_begin_guarded;

/* The scalars of an execution's own statements, which execution.c sends. */
enum ledger_execute_param {
	EXECUTE_P_ID,
	EXECUTE_P_POLICY,
	EXECUTE_P_KEY,
	EXECUTE_P_FINGERPRINT,
	EXECUTE_P_TOKEN,
	EXECUTE_P_REQUEST,
	EXECUTE_P_OWNER,
	EXECUTE_P_RUN,
	EXECUTE_P_STEP,
	EXECUTE_P_TURN,
	EXECUTE_P_KEPT,
	EXECUTE_P_BUSINESS,
	EXECUTE_P_AGAIN,
	EXECUTE_P_COUNTED,
	EXECUTE_P_RESENT
};
enum ledger_execute_done_param {
	EXECUTE_DONE_P_ID,
	EXECUTE_DONE_P_TOKEN,
	EXECUTE_DONE_P_RESULT,
	EXECUTE_DONE_P_REDACTED
};
enum ledger_execute_done_column {
	EXECUTE_DONE_AT,
	EXECUTE_DONE_PROTECTED_UNTIL,
	EXECUTE_DONE_RESULT_STATE
};
/* The first is answered by the columns of begin_guarded. */
extern const struct batch_statement ledger_execute_begin, ledger_execute_done;

enum ledger_execute_failed_param {
	EXECUTE_FAILED_P_POLICY,
	EXECUTE_FAILED_P_RUN,
	EXECUTE_FAILED_P_TURN
};
extern const struct batch_statement ledger_execute_failed;

enum ledger_register_param {
	REGISTER_P_VERSION,
	REGISTER_P_NS,
	REGISTER_P_NAME,
	REGISTER_P_POLICY
};
extern const struct batch_statement ledger_register_tools;

enum ledger_complete_param {
	COMPLETE_P_ID,
	COMPLETE_P_TOKEN,
	COMPLETE_P_SCOPE,
	COMPLETE_P_POLICY,
	COMPLETE_P_OUTCOME,
	COMPLETE_P_RESULT,
	COMPLETE_P_RESULT_BYTES,
	COMPLETE_P_RESULT_SHA256,
	COMPLETE_P_REDACTED
};
enum ledger_complete_column {
	COMPLETE_SHAPE = LEDGER_REST,
	COMPLETE_STATE,
	COMPLETE_OUTCOME,
	COMPLETE_ALREADY,
	COMPLETE_ATTEMPT,
	COMPLETE_NEXT_PROBE_AT,
	COMPLETE_POLICY,
	COMPLETE_RESULT_SECRET,
	COMPLETE_NAMESPACE, /* whose tool it is, and what is to be counted of it: call_count() */
	COMPLETE_TOOL,
	COMPLETE_COUNTED
};
extern const struct batch_statement ledger_complete;

enum ledger_probe_now_param { PROBE_NOW_P_ID, PROBE_NOW_P_SCOPE, PROBE_NOW_P_WAITED_MS };
/* What must be known to start a probe: probe_look has all but the last two. */
enum ledger_probe_column {
	PROBE_EFFECT = LEDGER_REST,
	PROBE_STATE,
	PROBE_NAMESPACE,
	PROBE_TOOL,
	PROBE_KEY,
	PROBE_ATTEMPT,
	PROBE_POLICY,
	PROBE_NO,
	PROBE_TIMEOUT_MS,
	PROBE_AT,
	PROBE_CLAIMED_AT,
	PROBE_SINCE,
	PROBE_KEPT,
	PROBE_IN_MS,
	PROBE_NEXT_AT
};
extern const struct batch_statement ledger_probe_now, ledger_probe_look;

enum ledger_would_param {
	WOULD_P_ID,
	WOULD_P_SCOPE,
	WOULD_P_ATTEMPT,
	WOULD_P_STARTED_AT,
	WOULD_P_VERDICT
};
enum ledger_would_column {
	WOULD_STATE = LEDGER_REST,
	WOULD_ATTEMPT,
	WOULD_THEN_STATE,
	WOULD_THEN_OUTCOME,
	WOULD_COUNTS,
	WOULD_ABSENT_N,
	WOULD_ABSENT_NEEDED,
	WOULD_WHY
};
extern const struct batch_statement ledger_would;

enum ledger_policy_of_column { POLICY_OF_POLICY = LEDGER_REST, POLICY_OF_RESULT_SECRET };
extern const struct batch_statement ledger_policy_of;

/* release, unknown and extend: three first parameters alike. */
enum ledger_holder_param {
	HOLDER_P_ID,
	HOLDER_P_TOKEN,
	HOLDER_P_SCOPE,
	HOLDER_P_REASON, /* extend: its lease_ms */
	HOLDER_P_FLAG	 /* release: not told; unknown: closed */
};
enum ledger_holder_column {
	HOLDER_STATE = LEDGER_REST,
	HOLDER_ATTEMPT,
	HOLDER_VALUE,	  /* release: already; unknown: next_probe_at; extend: lease_until */
	HOLDER_NAMESPACE, /* and its tool, and what is to be counted, as in complete */
	HOLDER_TOOL,
	HOLDER_COUNTED
};
extern const struct batch_statement ledger_release, ledger_unknown, ledger_extend;

enum ledger_resolve_param {
	RESOLVE_P_ID,
	RESOLVE_P_SCOPE,
	RESOLVE_P_VERDICT,
	RESOLVE_P_ATTEMPT,
	RESOLVE_P_STATE,
	RESOLVE_P_REASON,
	RESOLVE_P_EVIDENCE,
	RESOLVE_P_POLICY,
	RESOLVE_P_RESULT,
	RESOLVE_P_RESULT_BYTES,
	RESOLVE_P_RESULT_SHA256,
	RESOLVE_P_REDACTED,
	RESOLVE_P_BY
};
enum ledger_resolve_column {
	RESOLVE_STATE = LEDGER_REST,
	RESOLVE_ATTEMPT,
	RESOLVE_POLICY,
	RESOLVE_RESULT_SECRET,
	RESOLVE_NAMESPACE, /* as in complete */
	RESOLVE_TOOL,
	RESOLVE_COUNTED
};
extern const struct batch_statement ledger_resolve;

enum ledger_get_param { GET_P_ID, GET_P_SCOPE, GET_P_EVENTS };
/* The columns of get; the list has the same ones, without what follows ROW_PROTECTED_UNTIL. */
enum ledger_row_column {
	ROW_EFFECT = LEDGER_REST,
	ROW_NAMESPACE,
	ROW_TOOL,
	ROW_KEY,
	ROW_FINGERPRINT,
	ROW_STATE,
	ROW_ATTEMPT,
	ROW_OWNER,
	ROW_RUN,
	ROW_STEP,
	ROW_CLAIMED_AT,
	ROW_LEASE_UNTIL,
	ROW_SINCE,
	ROW_DUE_AT,
	ROW_DONE_AT,
	ROW_OUTCOME,
	ROW_DECIDED_BY,
	ROW_RESULT_STATE,
	ROW_RESULT_BYTES,
	ROW_RESULT_SHA256,
	ROW_PROTECTED_UNTIL,
	ROW_RESULT,
	ROW_KEPT,
	ROW_EVENTS
};
extern const struct batch_statement ledger_get;

enum ledger_list_param {
	LIST_P_SCOPE,
	LIST_P_STATE,
	LIST_P_TOOL,
	LIST_P_NAMESPACE,
	LIST_P_KEY_PREFIX,
	LIST_P_OLDER_THAN_MS,
	LIST_P_LIMIT,
	LIST_P_BEFORE,
	LIST_P_BEFORE_ID,
	LIST_P_BUSINESS
};
extern const struct batch_statement ledger_list;

enum ledger_incidents_param {
	INCIDENTS_P_SCOPE,
	INCIDENTS_P_TOOL,
	INCIDENTS_P_NAMESPACE,
	INCIDENTS_P_OLDER_THAN_MS,
	INCIDENTS_P_LIMIT,
	INCIDENTS_P_BEFORE,
	INCIDENTS_P_BEFORE_ID
};
enum ledger_incident_column {
	INCIDENT_ID = LEDGER_REST,
	INCIDENT_AT,
	INCIDENT_EFFECT,
	INCIDENT_NAMESPACE,
	INCIDENT_TOOL,
	INCIDENT_KEY,
	INCIDENT_STATE,
	INCIDENT_ATTEMPT,
	INCIDENT_KIND,
	INCIDENT_BY,
	INCIDENT_OUTCOME,
	INCIDENT_REASON,
	INCIDENT_RESULT_TEXT,
	INCIDENT_RESULT_BYTES,
	INCIDENT_RESULT_SHA256
};
extern const struct batch_statement ledger_incidents;

enum ledger_report_param {
	REPORT_P_SCOPE,
	REPORT_P_NAME,
	REPORT_P_NAMESPACE,
	REPORT_P_TOOL,
	REPORT_P_FROM,
	REPORT_P_TO,
	REPORT_P_LIMIT,
	REPORT_P_WITHIN_MS,
	REPORT_P_KEYS_MIN
};
enum ledger_report_column { REPORT_BODY = LEDGER_REST };
extern const struct batch_statement ledger_report;

enum ledger_scan_param {
	SCAN_P_SCOPE,
	SCAN_P_NAMESPACE,
	SCAN_P_TOOL,
	SCAN_P_FROM,
	SCAN_P_TO,
	SCAN_P_AFTER,
	SCAN_P_LIMIT,
	SCAN_P_KEPT
};
/* Of the last row, whose state is `end`: the cursor, `remembers_from`, `at`, `installed_at` stand
 * in effect, lease_until, done_at, claimed_at. */
enum ledger_scan_column {
	SCAN_EFFECT = LEDGER_REST,
	SCAN_KEY,
	SCAN_STATE,
	SCAN_OUTCOME,
	SCAN_ATTEMPT,
	SCAN_CLAIMED_AT,
	SCAN_DONE_AT,
	SCAN_LEASE_UNTIL,
	SCAN_BUSINESS,
	SCAN_KEPT
};
extern const struct batch_statement ledger_scan;

enum ledger_incident_param {
	INCIDENT_P_ID,
	INCIDENT_P_SCOPE,
	INCIDENT_P_NAMESPACE,
	INCIDENT_P_TOOL,
	INCIDENT_P_KEY,
	INCIDENT_P_REASON,
	INCIDENT_P_EVIDENCE,
	INCIDENT_P_BY
};
enum ledger_incident_answer { INCIDENT_ALREADY = LEDGER_REST };
extern const struct batch_statement ledger_incident;

#endif
