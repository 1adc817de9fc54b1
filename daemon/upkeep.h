/*
 * The standing jobs of low urgency: letting results, keys and counts age, forgetting old history,
 * counting open rows. One bounded statement at a time each, so that none stands in anybody's way.
 */
#ifndef EFFECTD_UPKEEP_H
#define EFFECTD_UPKEEP_H

void upkeep_start(void);
/* No new work; what is with the ledger ends by itself. */
void upkeep_stop(void);

#endif
