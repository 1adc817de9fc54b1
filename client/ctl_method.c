/*
 * complete, release, unknown, extend, key, get, resolve: a verb that sends its method's params and
 * shows the result. What was known once must not be lost for a daemon that is just being restarted:
 * complete and its like ask until their deadline, and a result that is longer than a line may be is
 * recorded by its size and hash.
 */
#include "alloc.h"
#include "ask.h"
#include "ctl.h"
#include "digest.h"
#include "member.h"
#include "show.h"
#include "usage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_SURE 4096 /* the least that max_line can be set to */
#define ENVELOPE_BYTES 128

/* The daemon's max_line, or 0 if it does not say. */
static int64_t
line_bytes_max(const struct ctl *ctl)
{
	struct ask what = {.method = "info",
	    .params = "{}",
	    .params_len = 2,
	    .again = ASK_ONCE,
	    .deadline_ms = ASK_DEADLINE_MS};
	struct ask_answer answer = {0};
	char *why = NULL;
	int64_t max = 0;
	uint32_t limits;

	if (ask(ctl, &what, &answer, NULL, &why)) {
		free(why);
	} else if (answer.result) {
		limits = json_member(&answer.doc, answer.result, "limits");
		if (limits && !ask_int(&answer, limits, "max_line", &max))
			max = 0;
	}
	ask_answer_free(&answer);
	return max;
}

/* A result's size never prevents its recording: says how long it is and what it hashes to instead.
 * False: it is short enough. */
static bool
omit_result(
    const struct ctl *ctl, struct flag_set *set, const struct buf *params, struct buf *omitted)
{
	uint8_t hash[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];
	struct json_doc doc = {0};
	int64_t max;
	uint32_t node;
	bool too_long = false;

	if (params->len + ENVELOPE_BYTES <= LINE_BYTES_SURE || !usage_given(set, "result"))
		return false;
	max = line_bytes_max(ctl);
	if (max == 0 || params->len + ENVELOPE_BYTES <= (size_t)max)
		return false;
	if (json_scan(&doc, params->data, params->len, "/result", NULL) == 0 &&
	    (node = json_member(&doc, 0, "result"))) {
		digest_sha256(params->data + doc.nodes[node].start,
		    doc.nodes[node].end - doc.nodes[node].start, hash);
		digest_hex(hash, sizeof hash, hex);
		buf_printf(omitted, "{\"bytes\":%u,\"sha256\":\"%s\"}",
		    doc.nodes[node].end - doc.nodes[node].start, hex);
		flag_find(set, "result")->value = NULL;
		flag_find(set, "omitted")->value = buf_str(omitted);
		too_long = true;
	}
	json_free(&doc);
	return too_long;
}

static int
tell(const struct ctl *ctl, const struct ask_answer *answer, const char *only)
{
	struct buf out = {0};
	const char *raw;
	size_t len;

	if (ctl->json) {
		raw = ask_raw(answer, answer->result, &len);
		show_schema(ctl->verb, raw, len);
	} else if (only) {
		show_member(answer, answer->result, only);
	} else {
		show_members(&out, answer, answer->result, NULL);
		show_out(&out);
	}
	buf_free(&out);
	return CTL_OK;
}

static enum ask_again
again_of(unsigned verb)
{
	if (verb & MEMBER_TOKENS)
		return ASK_ALWAYS;
	return verb == MEMBER_RESOLVE ? ASK_SENT : ASK_ONCE;
}

/* Builds the params, a second time without the result if the line would be too long. */
static enum ctl_exit
build_params(
    const struct ctl *ctl, struct flag_set *set, unsigned verb, struct buf *params, char **ret_why)
{
	enum ctl_exit code = member_params(set, verb, params, ret_why);
	struct buf omitted = {0};

	if (!code && verb == MEMBER_COMPLETE && omit_result(ctl, set, params, &omitted)) {
		buf_clear(params);
		code = member_params(set, verb, params, ret_why);
	}
	buf_free(&omitted);
	return code;
}

static int
send_params(const struct ctl *ctl, struct flag_set *set, unsigned verb, int64_t deadline_ms)
{
	struct ask what = {.method = ctl->verb,
	    .opaque = "/result/result",
	    .again = again_of(verb),
	    .deadline_ms = deadline_ms};
	struct ask_answer answer = {0};
	struct buf params = {0};
	char *why = NULL;
	int code = build_params(ctl, set, verb, &params, &why), err;

	if (code) {
		show_failure(
		    ctl, code, code == CTL_USAGE ? "usage" : "bad_input", "%s: %s", ctl->verb, why);
		free(why);
	} else {
		what.params = params.data;
		what.params_len = params.len;
		err = ask(ctl, &what, &answer, NULL, &why);
		code = show_asked(ctl, err, why, &answer);
		if (code == CTL_OK)
			code = tell(ctl, &answer, usage_value(set, "print"));
	}
	ask_answer_free(&answer);
	buf_free(&params);
	return code;
}

int
ctl_method(struct ctl *ctl)
{
	unsigned verb = member_verb(ctl->verb);
	struct flag_set set = {0};
	struct flag *effect;
	int64_t deadline_ms;
	int code;

	member_flags(&set, verb);
	usage_add_deadline(&set);
	flag_add(&set, "print", 0, "MEMBER", "print this member of the answer alone");
	effect = flag_find(&set, "effect");
	code = usage_read(ctl, &set, effect ? "[EFFECT]" : "", 0, effect ? 1 : 0);
	if (code != USAGE_GO_ON)
		return code;
	assert(effect || set.n_args == 0); /* or usage_read had refused it */
	if (set.n_args > 0 && effect->value)
		return show_failure(
		    ctl, CTL_USAGE, "usage", "%s: the effect is given twice", ctl->verb);
	if (set.n_args > 0)
		effect->value = set.args[0];
	if (!usage_deadline(ctl, &set, &deadline_ms))
		return CTL_USAGE;
	return send_params(ctl, &set, verb, deadline_ms);
}
