/* A place for what the ledger told of the others; bounded by what upkeep.c asks for. */
#include "fleet.h"

#include "alloc.h"

#include <stdlib.h>

static struct fleet_daemon *daemons;
static struct fleet_policy *policies;
static size_t n_daemons, n_policies;

const struct fleet_daemon *
fleet_daemons(size_t *ret_n)
{
	*ret_n = n_daemons;
	return daemons;
}

const struct fleet_policy *
fleet_policies(size_t *ret_n)
{
	*ret_n = n_policies;
	return policies;
}

void
fleet_clear_daemons(void)
{
	for (size_t i = 0; i < n_daemons; i++) {
		free(daemons[i].host);
		free(daemons[i].version);
	}
	free(daemons);
	daemons = NULL;
	n_daemons = 0;
}

void
fleet_add_daemon(const struct fleet_daemon *daemon)
{
	struct fleet_daemon *mine;

	daemons = xrealloc(daemons, (n_daemons + 1) * sizeof *daemons);
	mine = &daemons[n_daemons++];
	*mine = *daemon;
	mine->host = xstrdup(daemon->host);
	mine->version = xstrdup(daemon->version);
}

void
fleet_clear_policies(void)
{
	for (size_t i = 0; i < n_policies; i++) {
		free(policies[i].ns);
		free(policies[i].tool);
		free(policies[i].host);
		free(policies[i].version);
	}
	free(policies);
	policies = NULL;
	n_policies = 0;
}

void
fleet_add_policy(const struct fleet_policy *policy)
{
	struct fleet_policy *mine;

	policies = xrealloc(policies, (n_policies + 1) * sizeof *policies);
	mine = &policies[n_policies++];
	*mine = *policy;
	mine->ns = xstrdup(policy->ns);
	mine->tool = xstrdup(policy->tool);
	mine->host = xstrdup(policy->host);
	mine->version = xstrdup(policy->version);
}
