/*
 * release: the wrapper knows that nothing was sent. The row may be claimed again at once.
 */
#include "methods.h"

#include "columns.h"
#include "holder.h"
#include "ledger.h"

static void
add_already(struct buf *out, const struct batch_row *row)
{
	/* after a lost connection it may be our own first try that did it */
	buf_json_member_bool(out, "already", batch_bool(row, HOLDER_VALUE) && !row->resent);
}

void
release_call(struct request *r)
{
	static const struct holder_method method = {.statement = &ledger_release,
	    .has_reason = true,
	    .settles = true,
	    .wakes = true,
	    .value = add_already};

	holder_call(r, &method);
}
