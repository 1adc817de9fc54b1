/*
 * JSON-RPC 2.0 text <-> struct: one line in, one line out. Pure: knows no method, no socket, no
 * ledger.
 */
#ifndef EFFECTD_RPC_H
#define EFFECTD_RPC_H

#include "buf.h"
#include "json.h"

/*
 * A parsed request line; zeroed before its first use. Spans point into the line, which the caller
 * keeps as long as the struct is read.
 */
struct rpc_line {
	struct json_doc doc;
	const char *id; /* raw spelling, as it came; NULL when the line had none that may be used */
	size_t id_len;
	char *method;	   /* owned, unescaped; NULL unless the envelope is sound */
	uint32_t params;   /* node of an object, 0 if absent (= {}) */
	bool notification; /* a whole envelope but for the id: does nothing at all */
	bool blank;	   /* white space only: skipped */
	/*
	 * 0 or ERR_PARSE, ERR_INVALID_REQUEST, ERR_INVALID_PARAMS: answer rpc_error() with it,
	 * unless notification or blank.
	 */
	int error;
	/* For ERR_INVALID_PARAMS: relative to params ("/args/amount"); "" = params itself. */
	char pointer[JSON_POINTER_BYTES];
	const char *why; /* static reason; NULL without error */
};

/*
 * Parses line[0, len) (LF and CR already cut). Always leaves `r` readable; rpc_line_clear() makes
 * it reusable, rpc_line_free() ends it.
 *
 * Grammar and depth: ERR_PARSE. Not one object (a batch is an array), "jsonrpc" not "2.0", no
 * method, an id that is neither string nor number or has more than 255 bytes as it is spelt (the
 * quotes apart), two members of one name or I-JSON's other faults in the envelope:
 * ERR_INVALID_REQUEST. The same faults inside params, or params that are no object:
 * ERR_INVALID_PARAMS. Whatever stands in the value of params.result is no fault (JSON_OPAQUE).
 * Members of the envelope that JSON-RPC does not know are ignored. The id is kept for an error's
 * answer unless it is at fault itself.
 */
void rpc_parse(struct rpc_line *r, const char *line, size_t len);
void rpc_line_clear(struct rpc_line *r);
void rpc_line_free(struct rpc_line *r);

/* `{"jsonrpc":"2.0","id":ID,"result":` ... the caller appends the result object and then
 * rpc_result_end(). id NULL = null. */
void rpc_result_begin(struct buf *out, const char *id, size_t id_len);
void rpc_result_end(struct buf *out); /* closing brace and LF */

/* What an error carries in data beside its name. Zero / NULL members are left out. */
struct rpc_error_data {
	const char *pointer, *why, *state, *sqlstate;
	int64_t retry_after_ms; /* 0 = absent */
	int32_t attempt;	/* 0 = absent */
	bool has_kept, kept;
};
/*
 * One whole error line, LF included. `message` (one lower-case line) NULL = err_meaning(); `data`
 * may be NULL: data.name is always there.
 */
void rpc_error(struct buf *out, const char *id, size_t id_len, int err, const char *message,
    const struct rpc_error_data *data);

#endif
