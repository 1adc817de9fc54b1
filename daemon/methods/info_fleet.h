/* The members of info's answer about all daemons of the ledger. */
#ifndef EFFECTD_METHODS_INFO_FLEET_H
#define EFFECTD_METHODS_INFO_FLEET_H

#include "access.h"
#include "buf.h"

/* `daemons` and `differ`: for a peer that has a right in any namespace; policies of his own only.
 */
void info_fleet_json(const struct access_peer *peer, struct buf *out);
/* Does the peer have any right there? */
bool info_fleet_may_see(const struct access_peer *peer, const char *ns);

#endif
