/*
 * What the daemon owes the ledger though nobody waits for the answer: claims that turned out to
 * stand and that nobody was told of, and claims whose bound connection was closed. Kept until the
 * ledger is back; bounded, and what falls out ends by its lease as every other claim does.
 */
#ifndef EFFECTD_OWED_H
#define EFFECTD_OWED_H

#include "digest.h"

#include <stdbool.h>

/* Nobody was told of this `run`, and nobody can ask for it again. Forgets the grant. Until it is
 * given back a begin with the same request (NULL = none) waits for that, as for one under way. */
void owed_not_told(
    const struct uuid *effect, const struct uuid *token, const struct uuid *request);
/* The peer closed the connection that the claim was bound to. The signature is
 * grant_each_bound()'s; arg is not used. */
void owed_closed(void *arg, const struct uuid *effect, const struct uuid *token);
/* A word of a claim's holder begins, and ends: a close that came during it is owed from then on, so
 * that it never overtakes what was said before it. True: owed_word_end() is to be called. */
bool owed_word(const struct uuid *effect, const struct uuid *token);
void owed_word_end(const struct uuid *effect, const struct uuid *token);
/* How many are not written yet. */
unsigned owed_n(void);

#endif
