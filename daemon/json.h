/*
 * The strict JSON scanner: grammar of RFC 8259, UTF-8, depth, duplicate members, lone surrogates
 * and overflow, with the raw span of every value. It builds one flat array of nodes, so that a line
 * costs no allocation a value. Pure: no I/O, no log, the same in every locale. cJSON builds and
 * reads what is ours (policies); every byte of a stranger comes through here.
 */
#ifndef EFFECTD_JSON_H
#define EFFECTD_JSON_H

#include "errors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
	JSON_OPAQUE
};

/*
 * What is wrong with a value beyond the grammar (I-JSON); the scan goes on and the first one found
 * is reported. A duplicate is found when its object ends.
 */
enum json_fault {
	JSON_OK,
	JSON_DUPLICATE,
	JSON_SURROGATE,
	JSON_UTF8,
	JSON_OVERFLOW,
	JSON_DEPTH,
	JSON_GRAMMAR
};

/*
 * A value. Its raw text is text[start, end). Object members are pairs: the node of an object's
 * child carries its name's raw span, quotes included. Children of node i are node i + 1 and then
 * along `next` (0 = last); n_children says whether there are any.
 */
struct json_node {
	enum json_type type;
	uint32_t start, end;
	uint32_t name_start, name_end; /* 0, 0 outside objects */
	uint32_t next;		       /* index of the next sibling, 0 if none */
	uint32_t n_children;
};

struct json_doc {
	const char *text; /* borrowed; must outlive the doc's use */
	size_t len;
	struct json_node *nodes; /* node 0 is the root */
	uint32_t n_nodes, cap_nodes;
};

#define JSON_POINTER_BYTES 256 /* a reported pointer with its NUL */

struct json_error {
	enum json_fault fault;
	size_t offset;
	/*
	 * Index of the root's direct child (a member of the envelope) the fault stands in or under.
	 * 0 if it is the root's own: grammar between members, a duplicate among them, a fault in
	 * one's name.
	 */
	uint32_t member;
	/*
	 * RFC 6901 pointer of the faulty value (of the later one of two duplicates), cut at a
	 * character's edge if longer. Always valid UTF-8: U+FFFD stands for what is not, and for
	 * NUL.
	 */
	char pointer[JSON_POINTER_BYTES];
};

/*
 * Scans text[0, len), len below 4 GiB. `doc` is zeroed, or left by an earlier scan whose memory is
 * used again; json_free() ends it.
 *
 * `opaque` (or NULL) is the RFC 6901 pointer of one value (such as "/params/result"; object members
 * only) of which only the end is found: duplicates, depth, surrogate escapes, big numbers and
 * invalid UTF-8 in it are accepted; it becomes one node JSON_OPAQUE. Grammar is still demanded
 * there (a JSON value, raw control characters in strings refused).
 *
 * Returns 0, or ERR_PARSE (JSON_GRAMMAR, JSON_DEPTH: the rest is not known, the doc holds no node)
 * or ERR_INVALID_PARAMS (the other faults: the whole text was scanned and the doc is usable for
 * reading what stands outside error->member). ret_error (may be NULL) is set in every case; JSON_OK
 * if 0.
 */
int json_scan(struct json_doc *doc, const char *text, size_t len, const char *opaque,
    struct json_error *ret_error) must_check;
void json_free(struct json_doc *doc);

/* The member `name` (compared after unescaping) of object node `object`, or 0 if absent (or no
 * object). */
uint32_t json_member(const struct json_doc *doc, uint32_t object, const char *name);
/*
 * The value at an RFC 6901 pointer below node `from`: true if there is one. "" is `from` itself.
 * Array indices as of RFC 6901 (no leading zero; "-" is never there).
 */
bool json_pointer(
    const struct json_doc *doc, uint32_t from, const char *pointer, uint32_t *ret_node);
/*
 * A string node, or a member's name, unescaped into malloc'ed memory, NUL added; it may hold NUL
 * bytes inside (see ret_len, which may be NULL). Caller frees.
 */
char *json_string(const struct json_doc *doc, uint32_t node, size_t *ret_len);
char *json_name(const struct json_doc *doc, uint32_t node, size_t *ret_len);
/* An integer literal (no fraction, no exponent) within int64; false otherwise. */
bool json_int(const struct json_doc *doc, uint32_t node, int64_t *ret_value);
/* The nearest double of one number literal text[0, len), right in every locale; infinite past
 * double. */
double json_double(const char *text, size_t len);

/* A member of an object for comparison: what stands between the quotes of its name, and its node.
 */
struct json_ref {
	const char *name;
	uint32_t len;
	bool escaped; /* `name` holds a backslash */
	uint32_t node;
};
/* The n_children members of `object` in the order of their unescaped names' UTF-16 code units. */
void json_sorted(const struct json_doc *doc, uint32_t object, struct json_ref *ret);

/* Is text[0, len) valid UTF-8 (no overlong forms, no surrogates, up to U+10FFFF)? */
bool json_utf8(const char *text, size_t len);
/* A syntactically valid RFC 6901 pointer ("" or /...; ~ only as ~0 ~1; valid UTF-8)? */
bool json_pointer_valid(const char *pointer);
/* Is `pointer` equal to or below `above` (both valid)? Everything is below "". */
bool json_pointer_under(const char *pointer, const char *above);

#endif
