/*
 * The face for hosts without a loop: each call is its sister of effect_async.c and a poll() loop of
 * its own until that one has ended. Everything else that is in flight goes on meanwhile.
 */
#include "effect_block.h"

#include "effect_grant.h"
#include "effect_pass.h"
#include "effect_sys.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#define STARVED_NS 10000000 /* poll() has no memory: once more after so long */

struct wait {
	bool done;
	enum effect_kind kind;
	struct effect_answer *answer;
};

static void
block_ended_cb(enum effect_kind kind, struct effect_answer *answer, void *arg)
{
	struct wait *wait = arg;

	*wait = (struct wait){true, kind, answer};
}

void
effect_block_free_doomed(struct effect_ledger *ledger)
{
	if (!ledger->doomed || ledger->in_pass || ledger->n_blocking > 0)
		return;
	effect_call_end_all(ledger, true);
	effect_grant_orphan_all(ledger);
	effect_timer_free(&ledger->timers);
	effect_conn_free(&ledger->conn);
	free(ledger);
}

/* One poll() of at most so long, and one pass. */
static void
turn(struct effect_ledger *ledger, int64_t most_ms)
{
	struct pollfd pfd = {.fd = ledger->conn.fd, .events = (short)effect_pass_events(ledger)};
	int timeout_ms = effect_pass_timeout_ms(ledger), n;
	struct timespec pause = {.tv_nsec = STARVED_NS};

	if (timeout_ms < 0 || timeout_ms > most_ms)
		timeout_ms = (int)most_ms;
	n = poll(&pfd, 1, timeout_ms);
	if (n < 0 && errno != EINTR) {
		nanosleep(&pause, NULL);
		pfd.revents = POLLIN | POLLOUT; /* nothing blocks that is tried in vain */
	}
	effect_pass(ledger, n == 0 || (n < 0 && errno == EINTR) ? 0 : pfd.revents);
}

/* Until none is left of what *n_left counts. */
static enum effect_kind
flush(struct effect_ledger *ledger, int64_t timeout_ms, const size_t *n_left)
{
	int64_t until_ms = effect_sys_now_ms() + timeout_ms, left_ms = timeout_ms;
	bool done = *n_left == 0;

	ledger->n_blocking++;
	while (!done && left_ms > 0 && !ledger->doomed) {
		turn(ledger, left_ms < 60000 ? left_ms : 60000);
		left_ms = until_ms - effect_sys_now_ms();
		done = *n_left == 0;
	}
	ledger->n_blocking--;
	effect_block_free_doomed(ledger);
	return done ? EFFECT_OK : EFFECT_UNAVAILABLE;
}

/* Until the call has ended, which it does by its own deadline. Also if the ledger ends under it. */
static enum effect_kind
wait_for(struct effect_ledger *ledger, struct wait *wait, struct effect_answer **ret_answer)
{
	uint64_t epoch = ledger->epoch;

	ledger->n_blocking++;
	/* another epoch: we are a child now, or the ledger has ended */
	while (!wait->done && !ledger->doomed && ledger->epoch == epoch)
		turn(ledger, 60000);
	ledger->n_blocking--;
	effect_block_free_doomed(ledger);
	if (!wait->done)
		wait->kind = EFFECT_CANCELLED;
	if (ret_answer)
		*ret_answer = wait->answer;
	else
		effect_answer_free(wait->answer);
	return wait->kind;
}

/* May a blocking call be made now? Sets *ret_answer to none. */
static bool
may_block(struct effect_ledger *ledger, struct effect_answer **ret_answer)
{
	if (ret_answer)
		*ret_answer = NULL;
	effect_call_forked(ledger);
	if (!ledger->in_pass && !ledger->doomed)
		return true;
	effect_call_say(ledger, "a blocking call in a callback");
	return false;
}

void
effect_block_give_back(struct effect_ledger *ledger)
{
	if (may_block(ledger, NULL))
		(void)flush(ledger, ledger->report_timeout_ms, &ledger->n_background);
}

enum effect_kind
effect_flush(struct effect_ledger *ledger, int64_t timeout_ms)
{
	if (!may_block(ledger, NULL))
		return EFFECT_MISUSE;
	return flush(ledger, timeout_ms, &ledger->n_calls);
}

enum effect_kind
effect_begin(struct effect_ledger *ledger, const struct effect_params *params,
    struct effect_answer **ret_answer)
{
	struct wait wait = {0};
	enum effect_kind kind;

	if (!ret_answer) {
		effect_call_say(ledger, "begin: there is no place for the answer");
		return EFFECT_MISUSE;
	}
	if (!may_block(ledger, ret_answer))
		return EFFECT_MISUSE;
	kind = effect_begin_async(ledger, params, block_ended_cb, &wait, NULL);
	return kind == EFFECT_OK ? wait_for(ledger, &wait, ret_answer) : kind;
}

enum effect_kind
effect_complete(struct effect_ledger *ledger, struct effect_answer *grant,
    const struct effect_report *report, struct effect_answer **ret_answer)
{
	struct wait wait = {0};
	enum effect_kind kind;

	if (!may_block(ledger, ret_answer))
		return EFFECT_MISUSE;
	kind = effect_complete_async(ledger, grant, report, block_ended_cb, &wait, NULL);
	return kind == EFFECT_OK ? wait_for(ledger, &wait, ret_answer) : kind;
}

enum effect_kind
effect_release(struct effect_ledger *ledger, struct effect_answer *grant, const char *reason,
    struct effect_answer **ret_answer)
{
	struct wait wait = {0};
	enum effect_kind kind;

	if (!may_block(ledger, ret_answer))
		return EFFECT_MISUSE;
	kind = effect_release_async(ledger, grant, reason, block_ended_cb, &wait, NULL);
	return kind == EFFECT_OK ? wait_for(ledger, &wait, ret_answer) : kind;
}

enum effect_kind
effect_unknown(struct effect_ledger *ledger, struct effect_answer *grant, const char *reason,
    struct effect_answer **ret_answer)
{
	struct wait wait = {0};
	enum effect_kind kind;

	if (!may_block(ledger, ret_answer))
		return EFFECT_MISUSE;
	kind = effect_unknown_async(ledger, grant, reason, block_ended_cb, &wait, NULL);
	return kind == EFFECT_OK ? wait_for(ledger, &wait, ret_answer) : kind;
}

enum effect_kind
effect_extend(struct effect_ledger *ledger, struct effect_answer *grant, int64_t lease_ms,
    struct effect_answer **ret_answer)
{
	struct wait wait = {0};
	enum effect_kind kind;

	if (!may_block(ledger, ret_answer))
		return EFFECT_MISUSE;
	kind = effect_extend_async(ledger, grant, lease_ms, block_ended_cb, &wait, NULL);
	return kind == EFFECT_OK ? wait_for(ledger, &wait, ret_answer) : kind;
}

enum effect_kind
effect_call(struct effect_ledger *ledger, const char *method, const char *params,
    int64_t timeout_ms, struct effect_answer **ret_answer)
{
	struct wait wait = {0};
	enum effect_kind kind;

	if (!may_block(ledger, ret_answer))
		return EFFECT_MISUSE;
	kind = effect_call_async(ledger, method, params, timeout_ms, block_ended_cb, &wait, NULL);
	return kind == EFFECT_OK ? wait_for(ledger, &wait, ret_answer) : kind;
}

enum effect_kind
effect_keep_now(struct effect_ledger *ledger, struct effect_answer *grant)
{
	enum effect_kind kind;

	if (effect_answer_kind(grant) == EFFECT_PASS)
		return EFFECT_OK;
	if (!may_block(ledger, NULL))
		return EFFECT_MISUSE;
	if (grant && grant->grant.lost)
		return EFFECT_LOST;
	if (grant && !grant->grant.keeping) {
		kind = effect_keep(ledger, grant, NULL, NULL);
		if (kind != EFFECT_OK)
			return kind;
	}
	ledger->n_blocking++;
	turn(ledger, 0);
	ledger->n_blocking--;
	if (ledger->doomed) {
		effect_block_free_doomed(ledger);
		return EFFECT_LOST;
	}
	return grant && grant->grant.lost ? EFFECT_LOST : EFFECT_OK;
}
