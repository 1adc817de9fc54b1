/*
 * The strict JSON scanner: grammar of RFC 8259, UTF-8, depth, duplicate members, lone surrogates and overflow, with
 * the raw span of every value. It builds one flat array of nodes, so that a line costs no allocation a value.
 * Pure: no I/O, no log. cJSON builds and reads what is ours (policies); every byte of a stranger comes through here.
 */
#ifndef EFFECTD_JSON_H
#define EFFECTD_JSON_H

#include "errors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT, JSON_OPAQUE };

/* What is wrong with a value beyond the grammar (I-JSON); the scan goes on and the first one found is reported. */
enum json_fault { JSON_OK, JSON_DUPLICATE, JSON_SURROGATE, JSON_UTF8, JSON_OVERFLOW, JSON_DEPTH, JSON_GRAMMAR };

/*
 * A value. Its raw text is text[start, end). Object members are pairs: the node of an object's child carries its
 * name's raw span, quotes included. Children of node i are node i + 1 and then along `next` (0 = last).
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

struct json_error {
	enum json_fault fault;
	size_t offset;
	uint32_t member; /* index of the root's direct child (a member of the envelope) the fault stands under, or 0 */
	char pointer[256]; /* RFC 6901 pointer of the faulty value, cut at its end if longer */
};

/*
 * Scans text[0, len). `opaque` (or NULL) is the RFC 6901 pointer of one value (such as "/params/result") of which only the end is
 * found: duplicates, depth, surrogate escapes, big numbers and invalid UTF-8 in it are accepted; it becomes one node JSON_OPAQUE. Grammar
 * is still demanded there (a JSON value, raw control characters in strings refused).
 * Returns 0, or ERR_PARSE (JSON_GRAMMAR, JSON_DEPTH: the rest is not known) or ERR_INVALID_PARAMS (the other faults: the whole text was
 * scanned and the doc is usable for reading the envelope). `doc` may be reused for the next line; json_free() ends it.
 */
int json_scan(struct json_doc *doc, const char *text, size_t len, const char *opaque, struct json_error *ret_error) must_check;
void json_free(struct json_doc *doc);

/* The member `name` (compared after unescaping) of object node `object`, or 0 if absent (or not an object). */
uint32_t json_member(const struct json_doc *doc, uint32_t object, const char *name);
/* The value at an RFC 6901 pointer below node `from`, found = true; "" is `from` itself. Array indices as of RFC 6901. */
bool json_pointer(const struct json_doc *doc, uint32_t from, const char *pointer, uint32_t *ret_node);
/* A string node (or a member's name span) unescaped into malloc'ed memory, NUL added; may hold NUL bytes inside (see ret_len). Caller frees. */
char *json_string(const struct json_doc *doc, uint32_t node, size_t *ret_len);
char *json_name(const struct json_doc *doc, uint32_t node, size_t *ret_len);
/* An integer literal (no fraction, no exponent) within int64; false otherwise. */
bool json_int(const struct json_doc *doc, uint32_t node, int64_t *ret_value);
/* Is text[0, len) valid UTF-8 (no overlong forms, no surrogates, up to U+10FFFF)? */
bool json_utf8(const char *text, size_t len);
/* A syntactically valid RFC 6901 pointer ("" or /...; ~ only as ~0 ~1)? And: is `pointer` equal to or below `above`? */
bool json_pointer_valid(const char *pointer);
bool json_pointer_under(const char *pointer, const char *above);

#endif
