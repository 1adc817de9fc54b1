/*
 * A word from whoever made a row due now (a claim turned unknown, a probe is wanted) to the
 * sweeper, who stands above all of them: it then sweeps at once instead of at its next interval.
 * Nothing is lost if nobody listens: the sweeper's timer finds the row anyway.
 */
#ifndef EFFECTD_DUE_H
#define EFFECTD_DUE_H

/* A row became due. Cheap: many calls in one loop pass are one sweep. */
void due_now(void);
/* `hook` is called by due_now(); it must only arm a timer. NULL = nobody listens. */
void due_set_hook(void (*hook)(void));

#endif
