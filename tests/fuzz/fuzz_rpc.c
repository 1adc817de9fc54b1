/*
 * The envelope of JSON-RPC. A line is refused with a reason, or has a method and params that are an
 * object; an id leaves as it came, byte for byte, in answers that are one line of strict JSON each;
 * what an earlier line left in the struct does not count; the same call spelt anew reads the same.
 */
#include "fuzz.h"
#include "limits.h"
#include "respell.h"
#include "rpc.h"

#define LINES_MAX 3

static struct rpc_line used; /* line after line, as a connection does */
static struct json_doc answer;
static struct buf out, anew;

static bool
same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

static void
check_id(const struct rpc_line *r, const char *line, size_t len)
{
	struct json_doc alone = {0};

	if (!r->id)
		return;
	must(r->id >= line && r->id + r->id_len <= line + len, "an id lies in its line");
	must(r->id_len >= 1 && r->id_len <= LABEL_BYTES_MAX + 2 * (*r->id == '"'), "it is bounded");
	must(json_scan(&alone, r->id, r->id_len, NULL, NULL) == 0, "it is sound");
	must(alone.nodes[0].type == JSON_STRING || alone.nodes[0].type == JSON_NUMBER,
	    "a string or a number");
	json_free(&alone);
}

static void
check_line(const struct rpc_line *r, const char *line, size_t len)
{
	check_id(r, line, len);
	must((r->error != 0) == (r->why != NULL), "a refusal has its reason");
	must(json_pointer_valid(r->pointer), "a pointer is one");
	must(!r->pointer[0] || r->error == ERR_INVALID_PARAMS, "and tells of params");
	must(!r->method || json_utf8(r->method, strlen(r->method)), "a method is text");
	if (r->blank) {
		must(!r->error && !r->method && !r->id && !r->notification, "a blank line is none");
		return;
	}
	switch (r->error) {
	case ERR_PARSE:
		must(!r->id && !r->method && r->params == 0, "nothing is known of no JSON");
		return;
	case ERR_INVALID_REQUEST:
		must(r->params == 0 && !r->notification, "a bad envelope has no params");
		return;
	case ERR_INVALID_PARAMS:
		must(r->method, "the envelope of bad params is whole");
		return;
	}
	must(r->error == 0, "no other error");
	must(r->method && r->notification == !r->id, "a call, or a notification");
	must(r->params == 0 || r->doc.nodes[r->params].type == JSON_OBJECT, "params are an object");
}

static void
check_fresh(const char *line, size_t len)
{
	struct rpc_line r = {0};

	rpc_parse(&r, line, len);
	must(r.error == used.error && r.why == used.why && r.blank == used.blank &&
		r.notification == used.notification && r.params == used.params &&
		strcmp(r.pointer, used.pointer) == 0 && r.id == used.id &&
		r.id_len == used.id_len && !r.method == !used.method &&
		(!r.method || strcmp(r.method, used.method) == 0),
	    "what was parsed before does not count");
	rpc_line_free(&r);
}

/* The answer in `out`: strict JSON in one line that has our id, and `member` of it. */
static uint32_t
check_answer(const char *member)
{
	uint32_t node;
	const char *raw;

	must(out.len > 0 && memchr(out.data, '\n', out.len) == out.data + out.len - 1, "one line");
	must(json_scan(&answer, out.data, out.len - 1, NULL, NULL) == 0, "strict JSON: %.*s",
	    (int)out.len, out.data);
	must(answer.nodes[0].type == JSON_OBJECT && answer.nodes[0].n_children == 3, "3 members");
	node = json_member(&answer, 0, "jsonrpc");
	must(node && strncmp(out.data + answer.nodes[node].start, "\"2.0\"", 5) == 0, "version");
	node = json_member(&answer, 0, "id");
	must(node, "an id");
	raw = out.data + answer.nodes[node].start;
	if (used.id)
		must(same_text(raw, answer.nodes[node].end - answer.nodes[node].start, used.id,
			 used.id_len),
		    "as it came");
	else
		must(answer.nodes[node].type == JSON_NULL, "or null");
	node = json_member(&answer, 0, member);
	must(node, "%s", member);
	return node;
}

static void
check_text(uint32_t object, const char *name, const char *expected)
{
	uint32_t node = json_member(&answer, object, name);
	size_t len;
	char *text;

	must(!node == !expected, "%s is there if it is told", name);
	if (!node)
		return;
	text = json_string(&answer, node, &len);
	must(same_text(text, len, expected, strlen(expected)), "%s reads \"%s\"", name, text);
	free(text);
}

/* Of a fault of the line its message says what it is and where. */
static void
check_message(uint32_t node, int err, const char *message, const struct rpc_error_data *data)
{
	bool faulty = err == ERR_PARSE || err == ERR_INVALID_REQUEST || err == ERR_INVALID_PARAMS;
	struct buf expected = {0};

	if (!message && faulty && data && data->why) {
		if (data->pointer)
			buf_printf(&expected, "params%s: ", data->pointer);
		buf_add_str(&expected, data->why);
		message = buf_str(&expected);
	}
	check_text(node, "message", message ? message : err_meaning(err));
	buf_free(&expected);
}

static void
check_answers(struct fuzz_random *r)
{
	const struct rpc_error_data *told;
	struct rpc_error_data data = {.pointer = used.pointer[0] ? used.pointer : NULL,
	    .why = used.why,
	    .state = used.method,
	    .attempt = (int32_t)fuzz_roll(r, 3),
	    .retry_after_ms = fuzz_roll(r, 2) * INT64_C(1000000007),
	    .has_kept = fuzz_roll(r, 2),
	    .kept = fuzz_roll(r, 2)};
	int err = used.error ? used.error : -1 - (int)fuzz_roll(r, ERR_COUNT);
	const char *message = fuzz_roll(r, 2) ? used.method : NULL;
	uint32_t node, child;
	int64_t code;

	out.len = 0;
	rpc_result_begin(&out, used.id, used.id_len);
	buf_add_str(&out, "{\"decision\":\"run\"}");
	rpc_result_end(&out);
	must(answer.nodes == NULL || out.len > 0, "an answer");
	node = check_answer("result");
	must(answer.nodes[node].type == JSON_OBJECT, "a result");

	out.len = 0;
	told = fuzz_roll(r, 4) ? &data : NULL;
	rpc_error(&out, used.id, used.id_len, err, message, told);
	node = check_answer("error");
	must(json_int(&answer, json_member(&answer, node, "code"), &code) && code == err_code(err),
	    "its code");
	check_message(node, err, message, told);
	child = json_member(&answer, node, "data");
	must(child, "data");
	check_text(child, "name", err_name(err));
	if (answer.nodes[child].n_children > 1) {
		check_text(child, "pointer", data.pointer);
		check_text(child, "why", data.why);
		check_text(child, "state", data.state);
	}
}

/* A sound line written anew is the same call. (The result's value may be anything: it is skipped.)
 */
static void
check_anew(const char *line, size_t len, struct fuzz_random *r)
{
	struct json_doc doc = {0};
	struct rpc_line again = {0};

	if (used.error || used.blank || json_scan(&doc, line, len, NULL, NULL) != 0) {
		json_free(&doc);
		return;
	}
	anew.len = 0;
	respell(&anew, &doc, 0, 0, r);
	rpc_parse(&again, anew.data, anew.len);
	/* an id may have grown too long in its new spelling */
	if (again.error != ERR_INVALID_REQUEST || used.id_len * 12 <= LABEL_BYTES_MAX) {
		must(again.error == 0 && again.notification == used.notification &&
			strcmp(again.method, used.method) == 0 && !again.params == !used.params,
		    "\"%.*s\" is the same call", (int)anew.len, anew.data);
		must(!used.params ||
			again.doc.nodes[again.params].n_children ==
			    used.doc.nodes[used.params].n_children,
		    "with as many params");
	}
	rpc_line_free(&again);
	json_free(&doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};
	struct fuzz_random r = fuzz_random(data, size);

	for (int i = 0; i < LINES_MAX && in.p < in.end; i++) {
		size_t len;
		char *line = fuzz_line(&in, &len);

		rpc_parse(&used, line, len);
		check_line(&used, line, len);
		check_fresh(line, len);
		if (!used.blank && !used.notification)
			check_answers(&r);
		check_anew(line, len, &r);
		free(line);
	}
	rpc_line_free(&used);
	json_free(&answer);
	return 0;
}
