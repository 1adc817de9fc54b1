/*
 * Which tools' providers this daemon may ask: how many probes of each tool are under way, of how
 * many that may be, and each tool's circuit. A provider that does not answer is left alone: after
 * five probes in a row without an answer the circuit opens, and nobody is asked until a pause is
 * over; then one probe is let through (half open). An answer closes the circuit, whatever it says;
 * none opens it again, for longer. The pauses are those of the policy's probe_backoff, five minutes
 * at most, with up to a fifth of jitter.
 *
 * Of this process only. Knows no ledger: what becomes of a row that is not asked about is the
 * sweep's.
 */
#ifndef EFFECTD_BREAKER_H
#define EFFECTD_BREAKER_H

#include "buf.h"
#include "tool.h"

#include <stdbool.h>
#include <stdint.h>

enum breaker_circuit { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

struct breaker;

/* One probe under way; its owner's, zeroed at first. */
struct breaker_probe {
	struct breaker *breaker; /* NULL = it is not under way */
	int64_t started_ms;
	bool trial; /* the one that was let through half open */
};

/* A tool of which there is something to say. */
struct breaker_tool {
	const char *ns, *name; /* valid until the next call of this module */
	enum breaker_circuit circuit;
	unsigned running, room; /* how many more may start */
	int64_t open_since_us;	/* Unix microseconds; of an open or half open one */
};

/* At most that many probes run at a time, of all tools. */
void breaker_init(unsigned probes_max);
void breaker_free(void); /* no probe may be under way any more */

unsigned breaker_probes_max(void);
unsigned breaker_running(void);
/* Of the probes so many at most may be one tool's, so that a provider that hangs starves no other.
 */
unsigned breaker_share(void);
/* How many more probes of the tool may be started. */
unsigned breaker_room(const char *ns, const char *tool);
/* Of how many tools the circuit is not closed. */
unsigned breaker_open_circuits(void);
/* Does any tool wait for room: are its probes as many as may be, or is its circuit not closed? */
bool breaker_any_waits(void);

void breaker_start(struct breaker_probe *p, const struct tool_policy *policy);
/*
 * It ended. `why`: the provider did not answer, for this reason, which is kept to be shown; NULL =
 * it did. Nothing for one that is not under way.
 */
void breaker_end(struct breaker_probe *p, const struct tool_policy *policy, const char *why);
/* We ended it ourselves: no news of the provider. Nothing for one that is not under way. */
void breaker_drop(struct breaker_probe *p);

/* Each tool that has probes under way or a circuit that is not closed. */
void breaker_each(void (*cb)(void *arg, const struct breaker_tool *tool), void *arg);
/* The member `probe_state` of the wire: an object. */
void breaker_json(const char *ns, const char *tool, struct buf *out);
/* What was known of tools whose policies are others now is forgotten. */
void breaker_reload(struct tool_set *old_tools, struct tool_set *new_tools);

#endif
