/*
 * The standing jobs of low urgency: bringing counts to the ledger, letting results and keys age,
 * forgetting old history, counting open rows. One bounded statement at a time each, so that none
 * stands in anybody's way.
 */
#ifndef EFFECTD_UPKEEP_H
#define EFFECTD_UPKEEP_H

void upkeep_start(void);
/* Brings what was counted to the ledger now (the daemon is stopping). */
void upkeep_flush(void);
/* No new work; what is with the ledger ends by itself. */
void upkeep_stop(void);

#endif
