/*
 * What this boot of the daemon has granted and whether its holder was told: the memory behind
 * re-grants (same `request`), behind `not_told` releases, bound claims, and behind knowing by which
 * policy a result must be redacted. Bounded; what falls out is judged as told (never granted
 * again).
 *
 * The rule: the same request gets the same grant again only if this boot granted it and
 * (a) has written no `run` for it, or (b) that line was the last thing written on a connection that
 * has ended and the kernel did not take it whole or the end was ECONNRESET; or (c) an earlier boot
 * of this instance granted it (SQL judges that by instance and boot).
 */
#ifndef EFFECTD_GRANT_H
#define EFFECTD_GRANT_H

#include "digest.h"
#include "tool.h"

#include <stdbool.h>
#include <stdint.h>

struct grant;

void grant_init(unsigned grants_max);
void grant_free(void); /* what clients still hold lives until they let go */

/*
 * A begin of this effect with this request goes to the ledger now. Returns whether p_regrant may be
 * true: a grant of this very effect for it exists that nobody was told of, or whose line was lost,
 * and no other begin with this request is under way. grant_ask_end() when its answer came (or it
 * was never sent).
 */
bool grant_ask(const struct uuid *request, const struct uuid *effect);
void grant_ask_end(const struct uuid *request);
/* Begins with this request that are under way now. */
unsigned grant_asks(const struct uuid *request);

/* The ledger answered `run`: remembers it (or finds it, for a re-grant). Takes a reference to
 * policy. request NULL = none. */
struct grant *grant_add(const struct uuid *effect, const struct uuid *token,
    const struct uuid *request, struct tool_policy *policy);
const struct uuid *grant_effect(const struct grant *g);
const struct uuid *grant_token(const struct grant *g);

/*
 * A client holds a grant whose line it has yet to write, or wrote last: the pointer stays good
 * until grant_unref(), also when the grant was forgotten meanwhile (the calls below then do
 * nothing).
 */
struct grant *grant_ref(struct grant *g);
void grant_unref(struct grant *g);

/* Its line goes to a client now: until the client reports its fate it may still be told. */
void grant_telling(struct grant *g);
/* Fate of its `run` line: taken whole by the kernel on `connection`; or the connection ended before
 * that. */
void grant_written(struct grant *g, uint64_t connection);
void grant_unwritten(struct grant *g);
/* The line was not sent at all, and the caller was told `unavailable`: with a request the grant
 * waits to be asked for again. */
void grant_untold(struct grant *g);
/* A connection ended; `last` is the grant whose line was the last thing written on it, or NULL;
 * `reset` = the end was ECONNRESET. */
void grant_connection_end(struct grant *last, bool reset);
/* Was its `run` told to somebody (written), or may it still be? */
bool grant_told(const struct grant *g);

/* Settled or lost: forget it. Safe with ids that are not known. */
void grant_forget(const struct uuid *effect, const struct uuid *token);
/* The policy under which (effect, token) was granted by this boot, or NULL. Borrowed. */
struct tool_policy *grant_policy(const struct uuid *effect, const struct uuid *token);

/* Bound claims: the connection that holds the claim now (0 = none); a re-grant moves it. */
void grant_bind(struct grant *g, uint64_t connection);
/* Its row is pending no more, though the grant may still be spoken of: its connection no longer
 * stands for it. Safe with ids that are not known. */
void grant_unbind(const struct uuid *effect, const struct uuid *token);
/* Is any claim bound to it? A half-closed connection then stays open. */
bool grant_has_bound(uint64_t connection);
/*
 * Calls cb for each claim bound to `connection` and unbinds it (the peer closed it). None of them
 * is told again, as cb ends it. Where a word of the holder is under way, which came before the
 * close, cb is not called: grant_word_end() then says that it is to be done.
 */
void grant_each_bound(uint64_t connection,
    void (*cb)(void *arg, const struct uuid *effect, const struct uuid *token), void *arg);

/* A word of the holder (complete, release, unknown, extend) goes to the ledger. False: the claim is
 * not known here, there is nothing to end. */
bool grant_word(const struct uuid *effect, const struct uuid *token);
/* The word was answered. Returns whether the claim's connection was closed meanwhile and the close
 * is now to be told; each close is returned once. */
bool grant_word_end(const struct uuid *effect, const struct uuid *token) must_check;

#endif
