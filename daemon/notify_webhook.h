/*
 * The webhook notifier, by Standard Webhooks 1.0.0: one POST, signed by each of the secrets. A
 * part of notify.
 */
#ifndef EFFECTD_NOTIFY_WEBHOOK_H
#define EFFECTD_NOTIFY_WEBHOOK_H

#include "buf.h"
#include "notify.h"

struct notify_webhook;

/* As notify_send() and notify_cancel(). An answer of 200 to 299 = taken. */
struct notify_webhook *notify_webhook_send(const struct notify_to *to, const struct notice *notice,
    void (*done)(void *arg, const char *why), void *arg, char **ret_why);
void notify_webhook_cancel(struct notify_webhook *webhook);

/* {"type", "timestamp", "data"}; no args, no result. */
void notify_webhook_body(const struct notice *notice, struct buf *out);
/*
 * Appends "v1,SIGNATURE" over `id.timestamp.body`, a blank before it if `out` holds one already.
 * `secret` is "whsec_" and base64. False: it is not.
 */
bool notify_webhook_sign(const char *secret, const char *id, int64_t timestamp_s, const char *body,
    size_t body_len, struct buf *out);

#endif
