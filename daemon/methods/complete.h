/*
 * What the method table has to know of complete beside its function: how many it keeps.
 */
#ifndef EFFECTD_COMPLETE_H
#define EFFECTD_COMPLETE_H

/* Completes that were told `kept: true`, or whose caller is gone, and that are not written yet. */
unsigned complete_n_kept(void);

#endif
