/*
 * The exec probe.
 *
 * Promise: `landed`, `failed` and `absent` are told only for exit 0 and one JSON object that says
 * so in its `verdict`; everything else is `inconclusive` with a short reason. The result is cut out
 * raw. Running the command is child.c's; what a verdict does is the ledger's.
 */
#include "probe_exec.h"

#include "alloc.h"
#include "child.h"
#include "json.h"
#include "limits.h"

#include <stdlib.h>
#include <string.h>

#define ENV_N 6

struct probe_exec {
	struct child *child;
	void (*done)(void *arg, const struct probe_answer *answer);
	void *arg;
};

void
probe_exec_question(const struct probe_ask *ask, struct buf *out)
{
	char effect[UUID_TEXT_BYTES];

	uuid_text(&ask->effect, effect);
	buf_add_char(out, '{');
	buf_json_member_str(out, "namespace", ask->ns);
	buf_json_member_str(out, "tool", ask->tool);
	buf_json_member_str(out, "effect", effect);
	buf_json_member_str(out, "key", ask->key);
	buf_json_member_str(out, "provider_key", effect);
	buf_json_member_int(out, "attempt", ask->attempt);
	buf_json_member_instant(out, "claimed_at", ask->claimed_at_us);
	buf_json_member_instant(out, "since", ask->since_us);
	if (ask->kept)
		buf_json_member_raw(out, "kept", ask->kept, strlen(ask->kept));
	else
		buf_json_member_raw(out, "kept", "{}", 2);
	buf_add_str(out, "}\n");
}

/* At most REASON_BYTES_MAX bytes, ended at a character's edge; what is not UTF-8 or holds NUL is
 * not taken. */
static char *
probe_exec_reason(const struct json_doc *doc)
{
	uint32_t node = json_member(doc, 0, "reason");
	char *reason;
	size_t len;

	if (node == 0 || doc->nodes[node].type != JSON_STRING)
		return NULL;
	reason = json_string(doc, node, &len);
	if (len != strlen(reason) || !json_utf8(reason, len)) {
		free(reason);
		return NULL;
	}
	if (len > REASON_BYTES_MAX) {
		len = REASON_BYTES_MAX;
		while ((reason[len] & 0xc0) == 0x80)
			len--;
		reason[len] = '\0';
	}
	return reason;
}

static bool
probe_exec_verdict(const struct json_doc *doc, enum probe_verdict *ret)
{
	uint32_t node = json_member(doc, 0, "verdict");
	bool found = false;
	size_t len;
	char *word;

	if (node == 0 || doc->nodes[node].type != JSON_STRING)
		return false;
	word = json_string(doc, node, &len);
	for (int v = PROBE_LANDED; v <= PROBE_INCONCLUSIVE && !found; v++) {
		const char *name = probe_verdict_name((enum probe_verdict)v);

		/* by its length: "landed\u0000" is none */
		if (len == strlen(name) && memcmp(word, name, len) == 0) {
			*ret = (enum probe_verdict)v;
			found = true;
		}
	}
	free(word);
	return found;
}

struct probe_answer
probe_exec_judge(const struct child_result *result, char **ret_reason)
{
	struct probe_answer answer = {.verdict = PROBE_INCONCLUSIVE};
	struct json_doc doc = {0};
	uint32_t node;

	*ret_reason = NULL;
	if (result->end != CHILD_EXITED || result->code != 0) {
		*ret_reason = child_describe(result);
	} else if (json_scan(&doc, result->out ? result->out : "", result->out_len, "/result",
		       NULL) != 0 ||
	    doc.nodes[0].type != JSON_OBJECT) {
		*ret_reason = xstrdup("its output is not one JSON object");
	} else if (!probe_exec_verdict(&doc, &answer.verdict)) {
		*ret_reason = xstrdup("its output names no verdict");
	} else {
		*ret_reason = probe_exec_reason(&doc);
		answer.answered = true;
		node = json_member(&doc, 0, "result");
		if (node != 0 &&
		    (answer.verdict == PROBE_LANDED || answer.verdict == PROBE_FAILED)) {
			answer.result = doc.text + doc.nodes[node].start;
			answer.result_len = doc.nodes[node].end - doc.nodes[node].start;
		}
	}
	answer.reason = *ret_reason;
	json_free(&doc);
	return answer;
}

static void
probe_exec_child_cb(void *arg, const struct child_result *result)
{
	struct probe_exec *p = arg;
	struct probe_answer answer;
	char *reason;

	answer = probe_exec_judge(result, &reason);
	p->done(p->arg, &answer);
	free(reason);
	free(p);
}

struct probe_exec *
probe_exec_start(const struct probe_ask *ask,
    void (*done)(void *arg, const struct probe_answer *answer), void *arg, char **ret_why)
{
	struct probe_exec *p = xcalloc(1, sizeof *p);
	char effect[UUID_TEXT_BYTES];
	struct buf question = {0};
	char *env[ENV_N];

	uuid_text(&ask->effect, effect);
	env[0] = xasprintf("EFFECT_NAMESPACE=%s", ask->ns);
	env[1] = xasprintf("EFFECT_TOOL=%s", ask->tool);
	env[2] = xasprintf("EFFECT_ID=%s", effect);
	env[3] = xasprintf("EFFECT_KEY=%s", ask->key);
	env[4] = xasprintf("EFFECT_PROVIDER_KEY=%s", effect);
	env[5] = xasprintf("EFFECT_ATTEMPT=%d", ask->attempt);
	probe_exec_question(ask, &question);
	p->done = done;
	p->arg = arg;
	p->child = child_run(&(struct child_spec){.argv = ask->argv,
				 .n_argv = ask->n_argv,
				 .env = env,
				 .n_env = ENV_N,
				 .in = question.data,
				 .in_len = question.len,
				 .out_max = PROBE_OUTPUT_BYTES_MAX,
				 .timeout_ms = ask->timeout_ms},
	    probe_exec_child_cb, p, ret_why);
	for (size_t i = 0; i < ENV_N; i++)
		free(env[i]);
	buf_free(&question);
	if (!p->child) {
		free(p);
		return NULL;
	}
	return p;
}

void
probe_exec_cancel(struct probe_exec *p)
{
	child_kill(p->child);
	free(p);
}
