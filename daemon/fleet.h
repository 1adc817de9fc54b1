/*
 * The daemons that share the ledger, and where their policies differ, as the ledger last told. For
 * whoever tells it (info); owns copies of all texts.
 */
#ifndef EFFECTD_FLEET_H
#define EFFECTD_FLEET_H

#include "digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fleet_daemon {
	struct uuid instance;
	char *host, *version;
	bool silent; /* not heard of for longer than its flushes take */
	int64_t started_us, seen_us;
};

/* What one daemon has of a tool that not all have alike. */
struct fleet_policy {
	char *ns, *tool; /* tool "": the policy for unknown tools */
	char *host, *version;
	bool none;	/* it has none, */
	int64_t policy; /* else this version */
};

/* NULL, *ret_n 0: not told yet, or none. */
const struct fleet_daemon *fleet_daemons(size_t *ret_n);
const struct fleet_policy *fleet_policies(size_t *ret_n);
/* Both: all that was told is forgotten, then each is added; texts are copied. */
void fleet_clear_daemons(void);
void fleet_add_daemon(const struct fleet_daemon *daemon);
void fleet_clear_policies(void);
void fleet_add_policy(const struct fleet_policy *policy);

#endif
