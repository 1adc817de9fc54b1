/*
 * Lines. Promise: what is sent is grammar, one line each, and no deeper than the daemon reads: an
 * error of the grammar would come back without an id, and could not be told to its caller. All
 * other rules are the daemon's to judge.
 */
#include "effect_line.h"

#include "effect_sha256.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REASON_BYTES_MAX 1000

static void
open_line(struct effect_line *line, uint64_t id, const char *method)
{
	char head[64];

	snprintf(head, sizeof head, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"method\":", id);
	effect_text_str(&line->text, head);
	effect_text_string(&line->text, method, SIZE_MAX);
	effect_text_str(&line->text, ",\"params\":");
}

static enum effect_kind
close_line(struct effect_line *line, const char *end)
{
	effect_text_str(&line->text, end);
	return line->text.failed ? EFFECT_ENOMEM : EFFECT_OK;
}

static void
add_ids(struct effect_line *line, const struct effect_json_span *effect,
    const struct effect_json_span *token)
{
	effect_text_str(&line->text, "{\"effect\":");
	effect_text_add(&line->text, effect->at, effect->len);
	effect_text_str(&line->text, ",\"token\":");
	effect_text_add(&line->text, token->at, token->len);
}

static bool
is_object(const char *json)
{
	struct effect_json_span value;

	return effect_json_one(json, strlen(json), EFFECT_LINE_DEPTH_MAX, &value) &&
	    value.type == EFFECT_JSON_OBJECT;
}

/* What stands between the braces of an object. */
static void
add_members(struct effect_text *text, const char *object)
{
	const char *first = strchr(object, '{') + 1, *end = strrchr(object, '}');

	while (first < end && strchr(" \t\r\n", *first))
		first++;
	if (first == end)
		return;
	effect_text_str(text, ",");
	effect_text_json(text, first, (size_t)(end - first));
}

enum effect_kind
effect_line_begin(struct effect_line *line, uint64_t id, const char *request,
    const struct effect_params *params, int64_t wait_ms, char *why)
{
	struct effect_text *t = &line->text;

	if (!params->tool) {
		snprintf(why, EFFECT_LINE_WHY_BYTES, "params have no tool");
		return EFFECT_MISUSE;
	}
	if ((params->args && !is_object(params->args)) ||
	    (params->members && !is_object(params->members))) {
		snprintf(why, EFFECT_LINE_WHY_BYTES,
		    "args or members are no JSON object, or nest too deep");
		return EFFECT_INVALID_PARAMS;
	}
	effect_text_reserve(t, EFFECT_LINE_GIVE_BACK_BYTES);
	open_line(line, id, "begin");
	effect_text_str(t, "{\"tool\":");
	effect_text_string(t, params->tool, SIZE_MAX);
	effect_text_member(t, "key", params->key);
	if (params->args) {
		effect_text_str(t, ",\"args\":");
		effect_text_json(t, params->args, strlen(params->args));
	}
	effect_text_member(t, "namespace", params->ns);
	effect_text_member(t, "run", params->run);
	effect_text_member(t, "step", params->step);
	effect_text_member(t, "turn", params->turn);
	effect_text_member(t, "call", params->call);
	effect_text_member(t, "owner", params->owner);
	effect_text_member(t, "again", params->again);
	effect_text_member(t, "request", request);
	if (params->lease_ms)
		effect_text_member_int(t, "lease_ms", params->lease_ms);
	effect_text_member_int(t, "wait_ms", wait_ms);
	if (!params->unbound)
		effect_text_str(t, ",\"bind\":true");
	if (params->members)
		add_members(t, params->members);
	return close_line(line, "}}\n");
}

static void
add_omitted(struct effect_text *text, uint64_t bytes, const unsigned char *sum)
{
	char hex[EFFECT_SHA256_HEX_BYTES], member[160];

	effect_sha256_hex(sum, hex);
	snprintf(member, sizeof member, ",\"omitted\":{\"bytes\":%" PRIu64 ",\"sha256\":\"%s\"}",
	    bytes, hex);
	effect_text_str(text, member);
}

/* The result as it is, or by its hash where it is no JSON or as long as a line alone. */
static void
add_result(struct effect_line *line, const char *result, size_t len, size_t max_line)
{
	static const char name[] = ",\"result\":";
	unsigned char sum[EFFECT_SHA256_BYTES];
	struct effect_json_span value;

	if (len >= max_line || !effect_json_one(result, len, EFFECT_JSON_DEPTH_MAX, &value)) {
		effect_sha256(result, len, sum);
		add_omitted(&line->text, len, sum);
		return;
	}
	effect_text_str(&line->text, name);
	line->result_at = line->text.len;
	line->result_len = len;
	effect_text_json(&line->text, result, len);
}

enum effect_kind
effect_line_complete(struct effect_line *line, uint64_t id, const struct effect_json_span *effect,
    const struct effect_json_span *token, const struct effect_report *report, size_t max_line,
    char *why)
{
	static const char *const outcomes[] = {"succeeded", "failed", "error"};
	bool known = (unsigned)report->outcome <= EFFECT_OUTCOME_ERROR;
	enum effect_kind kind;

	if (!known || (report->result && report->omitted_sha256)) {
		snprintf(why, EFFECT_LINE_WHY_BYTES,
		    known ? "a result, and one that is omitted" : "no such outcome");
		return EFFECT_MISUSE;
	}
	effect_text_reserve(&line->text, EFFECT_LINE_OMIT_BYTES);
	open_line(line, id, "complete");
	add_ids(line, effect, token);
	effect_text_member(&line->text, "outcome", outcomes[report->outcome]);
	if (report->omitted_sha256)
		add_omitted(&line->text, report->omitted_bytes, report->omitted_sha256);
	else if (report->result)
		add_result(line, report->result, report->result_len, max_line);
	kind = close_line(line, "}}\n");
	if (kind == EFFECT_OK && line->text.len - 1 > max_line && line->result_at > 0)
		effect_line_omit(line);
	return kind;
}

/* How many bytes of valid UTF-8 a character at p[0, len) has; 0 if it is none. */
static size_t
character(const unsigned char *p, size_t len)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (n == 0 || n > len || p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* Whatever an error's text was: a report must not be refused for it. */
static void
add_reason(struct effect_text *text, const char *reason)
{
	char clean[REASON_BYTES_MAX + 1];
	size_t len = strnlen(reason, REASON_BYTES_MAX), at = 0, n;

	while (at < len) {
		n = character((const unsigned char *)reason + at, len - at);
		if (n > 0)
			memcpy(clean + at, reason + at, n);
		else
			clean[at] = '?';
		at += n > 0 ? n : 1;
	}
	clean[at] = '\0';
	effect_text_member(text, "reason", clean);
}

enum effect_kind
effect_line_report(struct effect_line *line, uint64_t id, const char *method,
    const struct effect_json_span *effect, const struct effect_json_span *token, const char *reason)
{
	open_line(line, id, method);
	add_ids(line, effect, token);
	if (reason && reason[0])
		add_reason(&line->text, reason);
	return close_line(line, "}}\n");
}

enum effect_kind
effect_line_extend(struct effect_line *line, uint64_t id, const struct effect_json_span *effect,
    const struct effect_json_span *token, int64_t lease_ms)
{
	open_line(line, id, "extend");
	add_ids(line, effect, token);
	if (lease_ms)
		effect_text_member_int(&line->text, "lease_ms", lease_ms);
	return close_line(line, "}}\n");
}

enum effect_kind
effect_line_other(
    struct effect_line *line, uint64_t id, const char *method, const char *params, char *why)
{
	if (!method || (params && !is_object(params))) {
		snprintf(why, EFFECT_LINE_WHY_BYTES,
		    method ? "params are no JSON object, or nest too deep" : "there is no method");
		return method ? EFFECT_INVALID_PARAMS : EFFECT_MISUSE;
	}
	open_line(line, id, method);
	if (!params)
		params = "{}";
	effect_text_json(&line->text, params, strlen(params));
	return close_line(line, "}\n");
}

void
effect_line_give_back(struct effect_line *line, uint64_t id, const struct effect_json_span *effect,
    const struct effect_json_span *token, const char *reason)
{
	line->text.len = 0;
	line->result_at = line->result_len = 0;
	effect_line_report(line, id, "release", effect, token, reason);
}

void
effect_line_omit(struct effect_line *line)
{
	static const char name[] = ",\"result\":";
	size_t len = line->result_len;
	unsigned char sum[EFFECT_SHA256_BYTES];

	effect_sha256(line->text.data + line->result_at, len, sum);
	line->text.len = line->result_at - (sizeof name - 1);
	line->result_at = line->result_len = 0;
	add_omitted(&line->text, len, sum);
	effect_text_str(&line->text, "}}\n");
}
