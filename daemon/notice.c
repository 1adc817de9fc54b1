/* What is told, and under which id. Who is told and how is notify.c's. */
#include "notice.h"

#include <string.h>

static void
be64(uint8_t *at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (56 - 8 * i));
}

struct uuid
notice_id(const struct notice *notice)
{
	const struct uuid *effect = &notice->effect;
	uint8_t text[sizeof effect->b + 16], hash[SHA256_BYTES];
	struct uuid id;

	memcpy(text, effect->b, sizeof effect->b);
	be64(text + sizeof effect->b,
	    (uint64_t)(uint32_t)notice->attempt << 32 | (uint32_t)notice->notice_no);
	be64(text + sizeof effect->b + 8, (uint64_t)notice->since_us);
	digest_sha256(text, sizeof text, hash);
	memcpy(id.b, hash, sizeof id.b);
	id.b[6] = (uint8_t)((id.b[6] & 0x0f) | 0x80);
	id.b[8] = (uint8_t)((id.b[8] & 0x3f) | 0x80);
	return id;
}

void
notice_line(const struct notice *notice, struct buf *out)
{
	struct uuid id = notice_id(notice);
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
