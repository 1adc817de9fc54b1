/*
 * The members of a row in the order of daemon/protocol.md.
 */
#include "row.h"

#include "columns.h"
#include "ledger.h"

void
row_object(struct buf *out, const struct batch_row *row, bool with_result)
{
	buf_add_char(out, '{');
	columns_uuid(out, "effect", row, ROW_EFFECT);
	columns_text(out, "namespace", row, ROW_NAMESPACE);
	columns_text(out, "tool", row, ROW_TOOL);
	columns_text(out, "key", row, ROW_KEY);
	columns_hash(out, "fingerprint", row, ROW_FINGERPRINT);
	columns_text(out, "state", row, ROW_STATE);
	columns_int4(out, "attempt", row, ROW_ATTEMPT);
	columns_text_or_null(out, "owner", row, ROW_OWNER);
	columns_text(out, "run", row, ROW_RUN);
	columns_text(out, "step", row, ROW_STEP);
	columns_instant(out, "claimed_at", row, ROW_CLAIMED_AT);
	columns_instant(out, "lease_until", row, ROW_LEASE_UNTIL);
	columns_instant(out, "since", row, ROW_SINCE);
	columns_instant(out, "due_at", row, ROW_DUE_AT);
	columns_instant(out, "done_at", row, ROW_DONE_AT);
	columns_text(out, "outcome", row, ROW_OUTCOME);
	columns_text(out, "by", row, ROW_DECIDED_BY);
	if (with_result)
		columns_result(out, row, ROW_RESULT, ROW_RESULT_STATE);
	columns_text(out, "result_state", row, ROW_RESULT_STATE);
	columns_int8(out, "result_bytes", row, ROW_RESULT_BYTES);
	columns_bytea(out, "result_sha256", row, ROW_RESULT_SHA256);
	columns_instant(out, "protected_until", row, ROW_PROTECTED_UNTIL);
	if (with_result) {
		columns_json(out, "kept", row, ROW_KEPT);
		columns_json(out, "events", row, ROW_EVENTS);
	}
	buf_add_char(out, '}');
}

void
row_incident(struct buf *out, const struct batch_row *row)
{
	buf_add_char(out, '{');
	columns_instant(out, "at", row, INCIDENT_AT);
	columns_uuid(out, "effect", row, INCIDENT_EFFECT);
	columns_text(out, "namespace", row, INCIDENT_NAMESPACE);
	columns_text(out, "tool", row, INCIDENT_TOOL);
	columns_text(out, "key", row, INCIDENT_KEY);
	columns_text(out, "state", row, INCIDENT_STATE);
	columns_int4(out, "attempt", row, INCIDENT_ATTEMPT);
	columns_text(out, "kind", row, INCIDENT_KIND);
	columns_text(out, "by", row, INCIDENT_BY);
	columns_text(out, "outcome", row, INCIDENT_OUTCOME);
	columns_text(out, "reason", row, INCIDENT_REASON);
	columns_text(out, "result_text", row, INCIDENT_RESULT_TEXT);
	columns_int8(out, "result_bytes", row, INCIDENT_RESULT_BYTES);
	columns_bytea(out, "result_sha256", row, INCIDENT_RESULT_SHA256);
	buf_add_char(out, '}');
}
