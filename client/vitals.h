/*
 * How a daemon and its ledger are, in lines for people: what the method info tells, for status and
 * watch.
 */
#ifndef EFFECTD_VITALS_H
#define EFFECTD_VITALS_H

#include "ask.h"
#include "buf.h"

#include <stdint.h>

/* Each appends its lines, safe for a terminal; what the daemon does not tell is left out. `info` is
 * the answer of that method. */
void vitals_daemon(struct buf *out, const struct ask_answer *info);
void vitals_ledger(struct buf *out, const struct ask_answer *info);
void vitals_sweeper(struct buf *out, const struct ask_answer *info);
void vitals_open(struct buf *out, const struct ask_answer *info); /* by state and age */
/* The daemons that share the ledger, where there is another one; and the tools whose policies
 * differ. */
void vitals_fleet(struct buf *out, const struct ask_answer *info);
void vitals_rights(struct buf *out, const struct ask_answer *info);
/* One line of `name value` pairs out of an object of numbers. */
void vitals_numbers(
    struct buf *out, const struct ask_answer *info, const char *title, const char *name);
/* What to type where something is not as it should be. */
void vitals_advice(struct buf *out, const struct ask_answer *info);

/* "4 min 2 s": two units, the largest first. */
void vitals_duration(struct buf *out, int64_t ms);

#endif
