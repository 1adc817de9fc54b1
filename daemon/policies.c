/*
 * A walk over namespaces and policies, a bounded number with the ledger at a time; then, when it
 * has them all, over the namespaces once more with the policy for unknown tools. Promise: that one
 * comes last, so that no tool is taken for unknown whose own policy is still on its way. When all
 * of them are there, the versions are told as those that are in force on this daemon. A reload or a
 * new ledger begins the walk again. What is under way stands in `slots` and holds a reference.
 */
#include "policies.h"

#include "batch.h"
#include "buf.h"
#include "instance.h"
#include "methods/ledger.h"
#include "pgpool.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define SLOTS 64
#define UNKNOWN "" /* the name under which the policy for unknown tools stands */

struct slot {
	struct batch_item item;
	struct tool_policy *policy; /* referenced; NULL: that for unknown tools is taken back */
	struct buf in_force;	    /* the array of an item of `in_force_statement` */
	unsigned walk;
	bool used;
};

enum in_force_param {
	IN_FORCE_P_BOOT,
	IN_FORCE_P_INSTANCE,
	IN_FORCE_P_UP_MS,
	IN_FORCE_P_HOST,
	IN_FORCE_P_VERSION,
	IN_FORCE_P_POLICIES,
	IN_FORCE_P_N
};

static const struct batch_statement in_force_statement = {
    .name = "daemon_policies",
    .sql = "select effect.daemon_policies($1, $2, $3, $4, $5, $6)",
    .kind = BATCH_WRITE,
    .n_columns = IN_FORCE_P_N,
    .columns = {PGTYPE_UUID, PGTYPE_UUID, PGTYPE_INT8, PGTYPE_TEXT, PGTYPE_TEXT, PGTYPE_INT8_ARRAY},
    .within_column = -1,
    .resent_column = -1,
    .single = true,
};

static struct slot slots[SLOTS];
static struct buf versions; /* int64_t each, of the policies that this walk has told */
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
	buf_free(&s->in_force);
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

static struct slot *
slot_new(struct tool_policy *policy)
{
	struct slot *s = slots;

	while (s->used)
		s++;
	*s = (struct slot){.walk = walk, .used = true, .policy = policy ? tool_ref(policy) : NULL};
	s->item.deadline_ms = INT64_MAX;
	s->item.done = told_cb;
	n_used++;
	return s;
}

/* Takes a reference to `policy`. */
static void
tell(const char *ns, struct tool_policy *policy)
{
	struct slot *s = slot_new(policy);

	if (policy)
		buf_add(&versions, &policy->version, sizeof policy->version);
	s->item.statement = &ledger_register_tools;
	s->item.columns[REGISTER_P_VERSION] = pg_int8(policy ? policy->version : 0);
	s->item.columns[REGISTER_P_NS] = pg_text(ns);
	s->item.columns[REGISTER_P_NAME] = pg_text(policy ? policy->name : UNKNOWN);
	s->item.columns[REGISTER_P_POLICY] = policy ? pg_text(policy->json) : pg_null();
	batch_add(&s->item);
}

static struct pgvalue
version_at(void *arg, unsigned i)
{
	int64_t version;

	memcpy(&version, (const char *)arg + i * sizeof version, sizeof version);
	return pg_int8(version);
}

static void
tell_in_force(void)
{
	struct slot *s = slot_new(NULL);
	struct pgvalue *v = s->item.columns;

	pgarray_encode(&s->in_force, PGTYPE_INT8, (unsigned)(versions.len / sizeof(int64_t)),
	    version_at, versions.data);
	v[IN_FORCE_P_BOOT] = pg_uuid(instance_boot());
	v[IN_FORCE_P_INSTANCE] = pg_uuid(instance_id());
	v[IN_FORCE_P_UP_MS] = pg_int8(instance_up_ms());
	v[IN_FORCE_P_HOST] = pg_text(instance_host());
	v[IN_FORCE_P_VERSION] = pg_text(PACKAGE_VERSION);
	v[IN_FORCE_P_POLICIES] = pg_textn(s->in_force.data, s->in_force.len);
	s->item.statement = &in_force_statement;
	batch_add(&s->item);
}

/* The next step of the walk; false at its end, and where it has to wait for what is under way. */
static bool
step(void)
{
	const char *ns = access_namespace_at(access_in_force, ns_next);
	struct tool_policy *policy;

	if (!ns && phase == POLICIES_UNKNOWN) {
		if (n_used > 0)
			return false;
		phase = POLICIES_IDLE;
		tell_in_force();
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
	buf_clear(&versions);
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
	buf_free(&versions);
}
