/*
 * unknown: the wrapper does not know whether the effect landed. From here on a probe or a person
 * finds out; the token stays good for a complete that comes after all.
 */
#include "methods.h"

#include "columns.h"
#include "holder.h"
#include "ledger.h"

static void
add_next_probe_at(struct buf *out, const struct batch_row *row)
{
	columns_instant_or_null(out, "next_probe_at", row, HOLDER_VALUE);
}

void
unknown_call(struct request *r)
{
	static const struct holder_method method = {.statement = &ledger_unknown,
	    .has_reason = true,
	    .wakes = true,
	    .makes_due = true,
	    .value = add_next_probe_at};

	holder_call(r, &method);
}
