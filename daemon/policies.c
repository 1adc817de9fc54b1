/*
 * A walk over namespaces and policies, a bounded number with the ledger at a time; then, when it
 * has them all, over the namespaces once more with the policy for unknown tools. Promise: that one
 * comes last, so that no tool is taken for unknown whose own policy is still on its way. A reload
 * or a new ledger begins the walk again. What is under way stands in `slots` and holds a reference.
 */
#include "policies.h"

#include "batch.h"
#include "methods/ledger.h"
#include "pgpool.h"

#include <assert.h>
#include <stddef.h>

#define SLOTS 64
#define UNKNOWN "" /* the name under which the policy for unknown tools stands */

struct slot {
	struct batch_item item;
	struct tool_policy *policy; /* referenced; NULL: that for unknown tools is taken back */
	unsigned walk;
	bool used;
};

static struct slot slots[SLOTS];
static unsigned n_used, walk; /* a walk that was begun again has a new number */
static const struct config *config;
static const struct access *access_in_force;
static struct tool_set *tools;
static size_t ns_next, policy_next;
static enum { POLICIES_IDLE, POLICIES_KNOWN, POLICIES_UNKNOWN } phase;

static void walk_on(void);

static void
slot_free(struct slot *s)
{
	tool_unref(s->policy);
	s->policy = NULL;
	s->used = false;
	n_used--;
}

static void
told_cb(struct batch_item *item, int err, const struct batch_row *row)
{
	struct slot *s = (struct slot *)(void *)((char *)item - offsetof(struct slot, item));

	(void)row;
	if (err != 0 && s->walk == walk)
		phase = POLICIES_IDLE; /* the batch has logged why */
	slot_free(s);
	walk_on();
}

/* Takes a reference to `policy`. */
static void
tell(const char *ns, struct tool_policy *policy)
{
	struct slot *s = slots;

	while (s->used)
		s++;
	*s = (struct slot){.walk = walk, .used = true, .policy = policy ? tool_ref(policy) : NULL};
	n_used++;
	s->item.statement = &ledger_register_tools;
	s->item.columns[REGISTER_P_VERSION] = pg_int8(policy ? policy->version : 0);
	s->item.columns[REGISTER_P_NS] = pg_text(ns);
	s->item.columns[REGISTER_P_NAME] = pg_text(policy ? policy->name : UNKNOWN);
	s->item.columns[REGISTER_P_POLICY] = policy ? pg_text(policy->json) : pg_null();
	s->item.deadline_ms = INT64_MAX;
	s->item.done = told_cb;
	batch_add(&s->item);
}

/* The next step of the walk; false at its end, and where it has to wait for what is under way. */
static bool
step(void)
{
	const char *ns = access_namespace_at(access_in_force, ns_next);
	struct tool_policy *policy;

	if (!ns && phase == POLICIES_UNKNOWN) {
		phase = POLICIES_IDLE;
		return false;
	} else if (!ns) {
		if (n_used > 0)
			return false;
		phase = POLICIES_UNKNOWN;
		ns_next = 0;
		return true;
	} else if (phase == POLICIES_UNKNOWN) {
		ns_next++;
		policy =
		    config->unknown_tools == CONFIG_GUARD ? tool_default(tools, ns, UNKNOWN) : NULL;
		tell(ns, policy);
		return true;
	} else if (policy_next == tool_set_n(tools)) {
		policy_next = 0;
		ns_next++;
		return true;
	}
	policy = tool_set_at(tools, policy_next++, ns);
	if (policy)
		tell(ns, policy);
	return true;
}

static void
walk_on(void)
{
	while (phase != POLICIES_IDLE && n_used < SLOTS)
		if (!step())
			break;
}

void
policies_tell(void)
{
	walk++;
	ns_next = policy_next = 0;
	phase = POLICIES_KNOWN;
	walk_on();
}

void
policies_use(
    const struct config *new_config, const struct access *new_access, struct tool_set *new_tools)
{
	config = new_config;
	access_in_force = new_access;
	tools = new_tools;
	phase = POLICIES_IDLE;
	if (pgpool_status()->up)
		policies_tell();
}

void
policies_stop(void)
{
	phase = POLICIES_IDLE;
	for (struct slot *s = slots; s < slots + SLOTS; s++)
		if (s->used && batch_cancel(&s->item))
			slot_free(s);
}
