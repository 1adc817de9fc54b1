/*
 * Notices by exec. Promise: whatever happens to the notifier, the caller learns taken or not, with
 * a reason, within the time-out. When a notice is due and how often it is repeated is the ledger's.
 */
#include "notify.h"

#include "alloc.h"
#include "child.h"

#include <stdlib.h>
#include <string.h>

#define NOTIFY_TIMEOUT_MS 30000
#define NOTIFY_OUT_BYTES_MAX 65536

struct notify {
	struct child *child;
	void (*done)(void *arg, const char *why);
	void *arg;
};

static void
notify_be32(uint8_t *at, int32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)((uint32_t)value >> (24 - 8 * i));
}

struct uuid
notify_id(const struct uuid *effect, int32_t attempt, int32_t notice_no)
{
	uint8_t text[sizeof effect->b + 8], hash[SHA256_BYTES];
	struct uuid id;

	memcpy(text, effect->b, sizeof effect->b);
	notify_be32(text + sizeof effect->b, attempt);
	notify_be32(text + sizeof effect->b + 4, notice_no);
	digest_sha256(text, sizeof text, hash);
	memcpy(id.b, hash, sizeof id.b);
	id.b[6] = (uint8_t)((id.b[6] & 0x0f) | 0x80);
	id.b[8] = (uint8_t)((id.b[8] & 0x3f) | 0x80);
	return id;
}

void
notify_line(const struct notify_notice *notice, struct buf *out)
{
	struct uuid id = notify_id(&notice->effect, notice->attempt, notice->notice_no);
	char text[UUID_TEXT_BYTES];

	buf_add_char(out, '{');
	uuid_text(&id, text);
	buf_json_member_str(out, "id", text);
	uuid_text(&notice->effect, text);
	buf_json_member_str(out, "effect", text);
	buf_json_member_str(out, "namespace", notice->ns);
	buf_json_member_str(out, "tool", notice->tool);
	buf_json_member_str(out, "key", notice->key);
	buf_json_member_int(out, "attempt", notice->attempt);
	buf_json_member_instant(out, "since", notice->since_us);
	if (notice->reason)
		buf_json_member_str(out, "reason", notice->reason);
	buf_json_member_int(out, "reminder", notice->notice_no - 1);
	buf_add_str(out, "}\n");
}

static void
notify_child_cb(void *arg, const struct child_result *result)
{
	struct notify *n = arg;
	char *why = NULL;

	if (result->end != CHILD_EXITED || result->code != 0)
		why = child_describe(result);
	n->done(n->arg, why);
	free(why);
	free(n);
}

struct notify *
notify_send(char *const *argv, const struct notify_notice *notice,
    void (*done)(void *arg, const char *why), void *arg, char **ret_why)
{
	struct child_spec spec = {
	    .argv = argv, .out_max = NOTIFY_OUT_BYTES_MAX, .timeout_ms = NOTIFY_TIMEOUT_MS};
	struct notify *n = xcalloc(1, sizeof *n);
	struct buf line = {0};

	while (argv[spec.n_argv])
		spec.n_argv++;
	notify_line(notice, &line);
	spec.in = line.data;
	spec.in_len = line.len;
	n->done = done;
	n->arg = arg;
	n->child = child_run(&spec, notify_child_cb, n, ret_why);
	buf_free(&line);
	if (!n->child) {
		free(n);
		return NULL;
	}
	return n;
}

void
notify_cancel(struct notify *n)
{
	child_kill(n->child);
	free(n);
}
