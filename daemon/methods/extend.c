/*
 * extend: a longer lease for a call that takes longer. Never a shorter one, and never a new life
 * for one that ran out.
 */
#include "methods.h"

#include "columns.h"
#include "holder.h"
#include "ledger.h"
#include "stats.h"

static void
add_lease_until(struct buf *out, const struct batch_row *row)
{
	columns_instant(out, "lease_until", row, HOLDER_VALUE);
}

static void
count_cut(const struct batch_row *row)
{
	const char *ns = batch_text(row, EXTEND_NAMESPACE, NULL);

	if (ns)
		stats_count(ns, batch_text(row, EXTEND_TOOL, NULL), "hold_max", 0);
}

void
extend_call(struct request *r)
{
	static const struct holder_method method = {
	    .statement = &ledger_extend, .value = add_lease_until, .count = count_cut};

	holder_call(r, &method);
}
