/*
 * libeffect: a ledger's beginning and end, and its face for event loops. Owns what struct
 * effect_ledger points to. What happens in between is below: effect_pass.c moves the bytes,
 * effect_judge.c says what they mean, effect_call.c knows what is asked.
 */
#include "effect.h"

#include "effect_block.h"
#include "effect_call.h"
#include "effect_pass.h"
#include "effect_sys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INFLIGHT 256
#define MAX_INFLIGHT_MIN 4 /* a quarter of it is for reports */
#define MAX_LINE 1048576
#define REPORT_TIMEOUT_MS 5000

const char *
effect_version(void)
{
	return PACKAGE_VERSION;
}

struct effect_ledger *
effect_new(const struct effect_options *options)
{
	struct effect_options o = {0};
	struct effect_ledger *ledger = calloc(1, sizeof *ledger);

	if (!ledger)
		return NULL;
	if (options)
		memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
	if (!effect_conn_init(&ledger->conn, o.socket)) {
		free(ledger);
		return NULL;
	}
	ledger->pid = getpid();
	TAILQ_INIT(&ledger->urgent);
	TAILQ_INIT(&ledger->others);
	TAILQ_INIT(&ledger->sent);
	for (size_t i = 0; i < EFFECT_CALL_BUCKETS; i++)
		LIST_INIT(&ledger->buckets[i]);
	LIST_INIT(&ledger->grants);
	ledger->next_id = ledger->next_serial = 1;
	ledger->max_inflight = o.max_inflight ? o.max_inflight : MAX_INFLIGHT;
	if (ledger->max_inflight < MAX_INFLIGHT_MIN)
		ledger->max_inflight = MAX_INFLIGHT_MIN;
	ledger->max_line = o.max_line ? o.max_line : MAX_LINE;
	ledger->report_timeout_ms =
	    o.report_timeout_ms > 0 ? o.report_timeout_ms : REPORT_TIMEOUT_MS;
	return ledger;
}

void
effect_free(struct effect_ledger *ledger)
{
	if (!ledger)
		return;
	effect_call_forked(ledger);
	ledger->doomed = true;
	effect_block_free_doomed(ledger);
}

const char *
effect_error(const struct effect_ledger *ledger)
{
	return ledger->error;
}

int
effect_fd(const struct effect_ledger *ledger)
{
	/* in a child, what stands there is its parent's */
	return ledger->pid == getpid() ? ledger->conn.fd : -1;
}

int
effect_events(const struct effect_ledger *ledger)
{
	return effect_pass_events(ledger);
}

int
effect_timeout_ms(const struct effect_ledger *ledger)
{
	return effect_pass_timeout_ms(ledger);
}

void
effect_dispatch(struct effect_ledger *ledger, int revents)
{
	effect_call_forked(ledger);
	if (ledger->in_pass || ledger->doomed) {
		effect_call_say(ledger, "effect_dispatch() in a callback");
		return;
	}
	effect_pass(ledger, revents);
	effect_block_free_doomed(ledger);
}

size_t
effect_pending(const struct effect_ledger *ledger)
{
	return ledger->n_calls;
}
