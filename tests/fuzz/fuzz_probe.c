/*
 * What a probe's command wrote. A verdict that settles anything comes only of exit 0 and one JSON
 * object whose `verdict` spells it, as another reader of JSON sees it too; the result is one whole
 * value of the output, told with landed and failed alone; a reason is text that can be stored.
 */
#include "child.h"
#include "fuzz.h"
#include "limits.h"
#include "probe_exec.h"

#include <cjson/cJSON.h>

static const char *const ends[] = {"", "no such host", "a: b"};
static struct buf wrapped;

/* Grammar alone, as nothing else is asked of a result. */
static bool
is_value(const char *text, size_t len, struct json_doc *doc)
{
	wrapped.len = 0;
	buf_add_str(&wrapped, "{\"r\":");
	buf_add(&wrapped, text, len);
	buf_add_char(&wrapped, '}');
	return json_scan(doc, wrapped.data, wrapped.len, "/r", NULL) == 0 && doc->n_nodes == 2 &&
	    doc->nodes[1].end - doc->nodes[1].start == len;
}

static void
check_settled(const struct child_result *end, const struct probe_answer *answer)
{
	const char *word = probe_verdict_name(answer->verdict);
	struct json_doc doc = {0};
	const cJSON *verdict;
	uint32_t node;
	size_t len;
	cJSON *tree;
	char *text;

	must(end->end == CHILD_EXITED && end->code == 0, "only a command that ended well settles");
	must(json_scan(&doc, end->out, end->out_len, "/result", NULL) == 0, "one JSON text");
	must(doc.nodes[0].type == JSON_OBJECT, "an object");
	node = json_member(&doc, 0, "verdict");
	must(node && doc.nodes[node].type == JSON_STRING, "with a verdict");
	text = json_string(&doc, node, &len);
	must(len == strlen(word) && memcmp(text, word, len) == 0, "that says %s, not \"%.*s\"",
	    word, (int)len, text);
	free(text);
	node = json_member(&doc, 0, "result");
	must(!answer->result == (node == 0 || answer->verdict == PROBE_ABSENT), "its result");
	if (answer->result)
		must(answer->result == end->out + doc.nodes[node].start, "cut out where it stands");
	tree = cJSON_ParseWithLength(end->out, end->out_len);
	if (tree) { /* it nests no deeper than a thousand */
		verdict = cJSON_GetObjectItemCaseSensitive(tree, "verdict");
		must(cJSON_IsString(verdict) && strcmp(verdict->valuestring, word) == 0,
		    "another reader sees the same");
		cJSON_Delete(tree);
	}
	json_free(&doc);
}

/* Where a verdict was understood, the reason is the output's, whole or cut where a character ends.
 */
static void
check_reason(const struct child_result *end, const char *reason)
{
	struct json_doc doc = {0};
	uint32_t node;
	size_t len, told;
	char *text;

	if (json_scan(&doc, end->out ? end->out : "", end->out_len, "/result", NULL) != 0 ||
	    doc.nodes[0].type != JSON_OBJECT) {
		must(reason && *reason, "what is no JSON object is told as such");
		json_free(&doc);
		return;
	}
	node = json_member(&doc, 0, "reason");
	if (node && doc.nodes[node].type == JSON_STRING && reason && *reason) {
		text = json_string(&doc, node, &len);
		told = strlen(reason);
		must(strcmp(reason, "its output names no verdict") == 0 ||
			(told <= len && memcmp(text, reason, told) == 0 &&
			    (told == len || told > REASON_BYTES_MAX - 4)),
		    "\"%s\" is the reason, not \"%s\"", text, reason);
		free(text);
	}
	json_free(&doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};
	uint8_t how = fuzz_byte(&in);
	struct child_result end = {.end = how < 240 ? CHILD_EXITED : (enum child_end)(how % 4),
	    .code = how < 240 ? how / 230 : how,
	    .err = ends[how % 3]};
	char *text = fuzz_rest(&in, &end.out_len), *reason = (char *)1;
	struct json_doc doc = {0};
	struct probe_answer answer;

	end.out = end.out_len == 0 && how % 2 ? NULL : text;
	answer = probe_exec_judge(&end, &reason);
	must(reason != (char *)1 && answer.reason == reason, "the reason is handed over");
	must(answer.verdict >= PROBE_LANDED && answer.verdict <= PROBE_INCONCLUSIVE, "a verdict");
	if (answer.verdict != PROBE_INCONCLUSIVE)
		check_settled(&end, &answer);
	if (answer.result) {
		must(answer.verdict == PROBE_LANDED || answer.verdict == PROBE_FAILED, "a result");
		must(answer.result > text && answer.result + answer.result_len < text + end.out_len,
		    "it lies in the output");
		must(is_value(answer.result, answer.result_len, &doc), "it is one value");
		json_free(&doc);
	}
	if (reason) {
		must(strlen(reason) <= REASON_BYTES_MAX, "a reason is bounded");
		must(json_utf8(reason, strlen(reason)), "and text");
	}
	if (end.end == CHILD_EXITED && end.code == 0)
		check_reason(&end, reason);
	else
		must(
		    answer.verdict == PROBE_INCONCLUSIVE && reason && *reason, "a bad end is told");
	free(reason);
	free(text);
	return 0;
}
