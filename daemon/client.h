/*
 * One connection: lines in, replies out. Reads and answers within the limits of the config, each
 * with its back-pressure; tells grants whether their `run` line reached the kernel, and the methods
 * which claims were bound to a connection that its peer has closed.
 *
 * Knows no method and no ledger: a line becomes a request (request.h) and the answer comes back
 * through its reply pointer.
 */
#ifndef EFFECTD_CLIENT_H
#define EFFECTD_CLIENT_H

#include "access.h"
#include "config.h"
#include "digest.h"

#include <stdbool.h>

/*
 * `config` is borrowed for good; its limits are read anew at each use. `bound_closed` is called for
 * each claim that was bound to a connection when its peer closed it.
 */
void client_init(const struct config *config,
    void (*bound_closed)(void *arg, const struct uuid *effect, const struct uuid *token));
/* Takes the connected, non-blocking fd and the peer's contents. */
void client_new(int fd, const struct access_peer *peer);
unsigned client_n(void);
unsigned client_n_requests(void); /* in flight on all connections */

/* After a reload: every peer's rights are judged anew. */
void client_judge_all(const struct access *access);

/*
 * End-of-pass hooks. client_resume() stands before batch_flush: it goes on with lines that waited
 * for room; client_flush() after it: it writes what the pass has answered and ends connections.
 */
void client_resume(void);
void client_flush(void);

/*
 * The daemon is stopping: no more bytes are read and no further line is begun; what is only waiting
 * is answered. Requests in flight go on, and client_idle() is true when none is left and all
 * answers are in the kernel's hands.
 */
void client_drain(void);
bool client_idle(void);
/* Ends all connections as the daemon's doing: claims bound to them stay as they are. */
void client_close_all(void);

#endif
