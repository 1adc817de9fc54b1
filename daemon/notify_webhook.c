/*
 * Body, signatures and the POST. Promises: the id is the same in every try of a notice; a body
 * holds nothing that a tool was called with; the secrets are read anew for each, so that one can be
 * added, and the older one taken away, without a reload.
 */
#include "notify_webhook.h"

#include "alloc.h"
#include "credential.h"
#include "http.h"
#include "notify.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_MS 15000
#define ANSWER_BYTES_MAX 65536
#define HMAC_KEY_BYTES_MIN 24 /* as the standard has it */
#define HMAC_KEY_BYTES_MAX 64
#define DECODED_BYTES_MAX 96
#define HEADERS_N 4
#define PREFIX "whsec_"

struct notify_webhook {
	struct http_call *call;
	void (*done)(void *arg, const char *why);
	void *arg;
};

void
notify_webhook_body(const struct notice *notice, struct buf *out)
{
	struct buf data = {0};

	notice_line(notice, &data);
	buf_add_char(out, '{');
	buf_json_member_str(
	    out, "type", notice->notice_no > 1 ? "effect.escalated.reminder" : "effect.escalated");
	buf_json_member_instant(out, "timestamp", notice->since_us);
	buf_json_member_raw(out, "data", data.data, data.len - 1); /* its LF is the pipe's */
	buf_add_char(out, '}');
	buf_free(&data);
}

/* The bytes that the secret stands for; -1: it is none. */
static int
secret_key(const char *secret, uint8_t ret[DECODED_BYTES_MAX])
{
	size_t len;
	int n, padding = 0;

	if (strncmp(secret, PREFIX, strlen(PREFIX)) != 0)
		return -1;
	secret += strlen(PREFIX);
	len = strlen(secret);
	if (len < 4 || len % 4 != 0 || len / 4 * 3 > DECODED_BYTES_MAX)
		return -1;
	while (padding < 2 && secret[len - 1 - (size_t)padding] == '=')
		padding++;
	n = EVP_DecodeBlock(ret, (const uint8_t *)secret, (int)len);
	return n < 0 ? -1 : n - padding;
}

bool
notify_webhook_sign(const char *secret, const char *id, int64_t timestamp_s, const char *body,
    size_t body_len, struct buf *out)
{
	uint8_t key[DECODED_BYTES_MAX], mac[EVP_MAX_MD_SIZE], text[2 * EVP_MAX_MD_SIZE];
	int n_key = secret_key(secret, key);
	struct buf content = {0};
	unsigned n_mac = 0;

	if (n_key < HMAC_KEY_BYTES_MIN || n_key > HMAC_KEY_BYTES_MAX)
		return false;
	buf_printf(&content, "%s.%" PRId64 ".", id, timestamp_s);
	buf_add(&content, body, body_len);
	if (!HMAC(
		EVP_sha256(), key, n_key, (const uint8_t *)content.data, content.len, mac, &n_mac))
		alloc_out_of_memory();
	EVP_EncodeBlock(text, mac, (int)n_mac);
	buf_printf(out, "%sv1,%s", out->len > 0 ? " " : "", (const char *)text);
	buf_free(&content);
	memset(key, 0, sizeof key);
	return true;
}

static bool
sign_all(char *const *secrets, const char *id, int64_t timestamp_s, const struct buf *body,
    struct buf *out, char **ret_why)
{
	for (size_t i = 0; secrets[i]; i++) {
		char *secret = credential_read(secrets[i], ret_why);
		char *half = *ret_why;
		bool good;

		if (!secret) {
			*ret_why = xasprintf("the webhook's secret '%s' %s", secrets[i], half);
			free(half);
			return false;
		}
		good = notify_webhook_sign(secret, id, timestamp_s, body->data, body->len, out);
		free(secret);
		if (!good) {
			*ret_why = xasprintf("the webhook's secret '%s' is not \"" PREFIX
					     "\" and the base64 of 24 to 64 bytes",
			    secrets[i]);
			return false;
		}
	}
	return true;
}

static void
notify_webhook_http_cb(void *arg, const struct http_result *result)
{
	struct notify_webhook *w = arg;
	char *why = NULL;

	if (!result->why && (result->status < 200 || result->status > 299))
		why = xasprintf("HTTP %ld", result->status);
	w->done(w->arg, result->why ? result->why : why);
	free(why);
	free(w);
}

static struct http_call *
post(struct notify_webhook *w, const struct notify_to *to, const struct notice *notice,
    char **ret_why)
{
	struct uuid uuid = notice_id(notice);
	int64_t now_s = time(NULL);
	struct buf body = {0}, signatures = {0};
	struct http_call *call = NULL;
	char id[UUID_TEXT_BYTES], *headers[HEADERS_N] = {0};

	uuid_text(&uuid, id);
	notify_webhook_body(notice, &body);
	if (sign_all(to->webhook_secrets, id, now_s, &body, &signatures, ret_why)) {
		headers[0] = xstrdup("Content-Type: application/json");
		headers[1] = xasprintf("webhook-id: %s", id);
		headers[2] = xasprintf("webhook-timestamp: %" PRId64, now_s);
		headers[3] = xasprintf("webhook-signature: %s", buf_str(&signatures));
		call = http_start(&(struct http_spec){.url = to->webhook,
				      .headers = (const char *const *)headers,
				      .n_headers = HEADERS_N,
				      .body = body.data,
				      .body_len = body.len,
				      .ca_file = to->webhook_ca_file,
				      .body_max = ANSWER_BYTES_MAX,
				      .timeout_ms = TIMEOUT_MS},
		    notify_webhook_http_cb, w, ret_why);
	}
	for (size_t i = 0; i < HEADERS_N; i++)
		free(headers[i]);
	buf_free(&body);
	buf_free(&signatures);
	return call;
}

struct notify_webhook *
notify_webhook_send(const struct notify_to *to, const struct notice *notice,
    void (*done)(void *arg, const char *why), void *arg, char **ret_why)
{
	struct notify_webhook *w = xcalloc(1, sizeof *w);

	w->done = done;
	w->arg = arg;
	*ret_why = NULL;
	w->call = post(w, to, notice, ret_why);
	if (w->call)
		return w;
	free(w);
	return NULL;
}

void
notify_webhook_cancel(struct notify_webhook *w)
{
	http_cancel(w->call);
	free(w);
}
