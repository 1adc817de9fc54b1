/*
 * The end of slow calls that have no answer: who could be served a little later is told so. Owns
 * nothing.
 */
#include "slow.h"

#include "loop.h"
#include "pgpool.h"

#define GRACE_MS 500 /* what the statement's own time-out needs to be told */
#define RETRY_MS_MIN 1000
#define RETRY_MS_MAX 5000

void
slow_late(struct call *c, int64_t statement_ms, bool *past)
{
	/* the answer may be here in this very pass; what was not sent ends by the item's own
	 * deadline */
	if (c->asked && !*past) {
		*past = true;
		call_set_due(c, loop_now_ms() + statement_ms + GRACE_MS);
	} else if (call_take_back(c)) {
		slow_failed(c, ERR_UNAVAILABLE);
	} else {
		call_unavailable(c, NULL);
	}
}

void
slow_failed(struct call *c, int err)
{
	struct rpc_error_data data = {
	    .why = "it took too long: narrow the filter or the window",
	    .retry_after_ms = call_random(RETRY_MS_MIN, RETRY_MS_MAX),
	};

	if (err == ERR_UNAVAILABLE && pgpool_slow_busy()) {
		err = ERR_OVERLOADED;
		data.why = "another list or report is being made, and it had no turn in time";
	}
	if (err == ERR_OVERLOADED)
		call_error(c, err, &data);
	else if (err == ERR_UNAVAILABLE)
		call_unavailable(c, NULL);
	else
		call_error(c, err, NULL);
	call_end(c);
}
