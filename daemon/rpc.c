/*
 * The envelope of JSON-RPC 2.0. Promise: an id leaves as it came, byte for byte, or not at all; a
 * line that is at fault anywhere never reaches a method; no text of the caller goes into an error
 * but the names of members in a pointer. What params mean does not belong here. Owns a line's
 * method name and nodes.
 */
#include "rpc.h"

#include "limits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A result is stored as it comes and judged by nobody, for every method that has one. */
#define OPAQUE_POINTER "/params/result"
#define PARAMS_POINTER "/params"

static const char *const fault_whys[] = {
    [JSON_DUPLICATE] = "two members have one name",
    [JSON_SURROGATE] = "half a surrogate pair is no character",
    [JSON_UTF8] = "it is not valid utf-8",
    [JSON_OVERFLOW] = "the number is beyond a double",
    [JSON_DEPTH] = "it nests deeper than 64",
    [JSON_GRAMMAR] = "it is not json",
};

static void
refuse(struct rpc_line *r, int err, const char *why)
{
	if (r->error)
		return; /* the first reason is told */
	r->error = err;
	r->why = why;
}

static bool
is_blank(const char *line, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r' && line[i] != '\n')
			return false;
	}
	return true;
}

/* May an id of a line at fault be given back? Only one that is not at fault itself. */
static bool
id_is_sound(const struct rpc_line *r, uint32_t id)
{
	const struct json_node *n = &r->doc.nodes[id];
	struct json_doc alone = {0};
	uint32_t i, child = 1;
	int err;

	err = json_scan(&alone, r->doc.text + n->start, n->end - n->start, NULL, NULL);
	json_free(&alone);
	if (err)
		return false;
	for (i = 0; i < r->doc.nodes[0].n_children; i++, child = r->doc.nodes[child].next) {
		size_t len;
		char *name = json_name(&r->doc, child, &len);
		bool twin = child != id && len == 2 && memcmp(name, "id", 2) == 0;

		free(name);
		if (twin)
			return false;
	}
	return true;
}

static void
take_id(struct rpc_line *r, uint32_t id, bool faulty)
{
	const struct json_node *n = &r->doc.nodes[id];
	uint32_t quotes;

	if (n->type != JSON_STRING && n->type != JSON_NUMBER) {
		refuse(r, ERR_INVALID_REQUEST, "id must be a string or a number");
		return;
	}
	quotes = n->type == JSON_STRING ? 2 : 0;
	if (n->end - n->start > LABEL_BYTES_MAX + quotes) {
		refuse(r, ERR_INVALID_REQUEST, "id may have at most 255 bytes, as it is spelt");
		return;
	}
	if (faulty && !id_is_sound(r, id))
		return; /* the fault is told, to nobody by name */
	r->id = r->doc.text + n->start;
	r->id_len = n->end - n->start;
}

/* Is that member the string "2.0"? */
static bool
is_version(const struct rpc_line *r, uint32_t node)
{
	const struct json_node *n = &r->doc.nodes[node];
	size_t len;
	char *text;
	bool ok;

	if (node == 0 || n->type != JSON_STRING)
		return false;
	if (n->end - n->start == 5)
		return memcmp(r->doc.text + n->start, "\"2.0\"", 5) == 0;
	text = json_string(&r->doc, node, &len); /* spelt with escapes, or another version */
	ok = len == 3 && memcmp(text, "2.0", 3) == 0;
	free(text);
	return ok;
}

static void
take_method(struct rpc_line *r, uint32_t node)
{
	size_t len;

	if (node == 0 || r->doc.nodes[node].type != JSON_STRING) {
		refuse(r, ERR_INVALID_REQUEST, "method must be a string");
		return;
	}
	r->method = json_string(&r->doc, node, &len);
	if (strlen(r->method) != len) {
		/* "begin\u0000" must not read as begin further down */
		free(r->method);
		r->method = NULL;
		refuse(r, ERR_INVALID_REQUEST, "method may hold no nul");
	}
}

static void
take_params(struct rpc_line *r, uint32_t node, const struct json_error *fault)
{
	if (fault->fault != JSON_OK) {
		assert(fault->member == node &&
		    strncmp(fault->pointer, PARAMS_POINTER, strlen(PARAMS_POINTER)) == 0);
		snprintf(
		    r->pointer, sizeof r->pointer, "%s", fault->pointer + strlen(PARAMS_POINTER));
		refuse(r, ERR_INVALID_PARAMS, fault_whys[fault->fault]);
	}
	if (node != 0 && r->doc.nodes[node].type != JSON_OBJECT)
		refuse(r, ERR_INVALID_PARAMS, "params must be an object");
	else
		r->params = node;
}

void
rpc_parse(struct rpc_line *r, const char *line, size_t len)
{
	struct json_error fault;
	uint32_t id, params;
	int err;

	rpc_line_clear(r);
	r->blank = is_blank(line, len);
	if (r->blank)
		return;
	err = json_scan(&r->doc, line, len, OPAQUE_POINTER, &fault);
	if (err == ERR_PARSE) {
		refuse(r, ERR_PARSE, fault_whys[fault.fault]);
		return;
	}
	if (r->doc.nodes[0].type != JSON_OBJECT) {
		refuse(r, ERR_INVALID_REQUEST,
		    r->doc.nodes[0].type == JSON_ARRAY ? "batches are refused"
						       : "it is not an object");
		return;
	}
	id = json_member(&r->doc, 0, "id");
	params = json_member(&r->doc, 0, "params");
	if (err && (fault.member == 0 || fault.member != params))
		refuse(r, ERR_INVALID_REQUEST, fault_whys[fault.fault]);
	if (id)
		take_id(r, id, err != 0);
	if (!is_version(r, json_member(&r->doc, 0, "jsonrpc")))
		refuse(r, ERR_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	if (!r->error)
		take_method(r, json_member(&r->doc, 0, "method"));
	if (r->error)
		return;
	r->notification = id == 0;
	take_params(r, params, &fault);
}

void
rpc_line_clear(struct rpc_line *r)
{
	struct json_doc kept = r->doc;

	free(r->method);
	kept.text = NULL;
	kept.len = 0;
	kept.n_nodes = 0;
	*r = (struct rpc_line){.doc = kept};
}

void
rpc_line_free(struct rpc_line *r)
{
	rpc_line_clear(r);
	json_free(&r->doc);
}

static void
begin_answer(struct buf *out, const char *id, size_t id_len)
{
	buf_add_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (id)
		buf_add(out, id, id_len);
	else
		buf_add_str(out, "null");
}

void
rpc_result_begin(struct buf *out, const char *id, size_t id_len)
{
	begin_answer(out, id, id_len);
	buf_add_str(out, ",\"result\":");
}

void
rpc_result_end(struct buf *out)
{
	buf_add_str(out, "}\n");
}

static void
add_data(struct buf *out, const struct rpc_error_data *data)
{
	if (data->pointer)
		buf_json_member_str(out, "pointer", data->pointer);
	if (data->why)
		buf_json_member_str(out, "why", data->why);
	if (data->retry_after_ms)
		buf_json_member_int(out, "retry_after_ms", data->retry_after_ms);
	if (data->state)
		buf_json_member_str(out, "state", data->state);
	if (data->attempt)
		buf_json_member_int(out, "attempt", data->attempt);
	if (data->has_kept)
		buf_json_member_bool(out, "kept", data->kept);
	if (data->sqlstate)
		buf_json_member_str(out, "sqlstate", data->sqlstate);
}

/* Of a fault of the line: what it is and where. Of all else: what the error means. */
static void
add_message(struct buf *out, int err, const struct rpc_error_data *data)
{
	struct buf text = {0};

	if (data && data->why &&
	    (err == ERR_PARSE || err == ERR_INVALID_REQUEST || err == ERR_INVALID_PARAMS)) {
		if (data->pointer)
			buf_printf(&text, "params%s: ", data->pointer);
		buf_add_str(&text, data->why);
	} else {
		buf_add_str(&text, err_meaning(err));
	}
	buf_json_member_str(out, "message", buf_str(&text));
	buf_free(&text);
}

void
rpc_error(struct buf *out, const char *id, size_t id_len, int err, const char *message,
    const struct rpc_error_data *data)
{
	begin_answer(out, id, id_len);
	buf_add_str(out, ",\"error\":{");
	buf_json_member_int(out, "code", err_code(err));
	if (message)
		buf_json_member_str(out, "message", message);
	else
		add_message(out, err, data);
	buf_json_member(out, "data");
	buf_add_char(out, '{');
	buf_json_member_str(out, "name", err_name(err));
	if (data)
		add_data(out, data);
	buf_add_str(out, "}}}\n");
}
