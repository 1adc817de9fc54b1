/*
 * extend: a longer lease for a call that takes longer. Never a shorter one, and never a new life
 * for one that ran out.
 */
#include "methods.h"

#include "columns.h"
#include "holder.h"
#include "ledger.h"

static void
add_lease_until(struct buf *out, const struct batch_row *row)
{
	columns_instant(out, "lease_until", row, HOLDER_VALUE);
}

void
extend_call(struct request *r)
{
	static const struct holder_method method = {
	    .statement = &ledger_extend, .value = add_lease_until};

	holder_call(r, &method);
}
