/*
 * The one reader of `params`: each method declares its members in a table (name, type, range,
 * required?) and gets a struct filled in, or the pointer of what is wrong and the rule. A member
 * that no table names is refused: a misspelt guard must not be silently off. Pure.
 */
#ifndef EFFECTD_PARAMS_H
#define EFFECTD_PARAMS_H

#include "digest.h"
#include "errors.h"
#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum param_type {
	PARAM_TEXT,	 /* char *: a string of min..max bytes without NUL; NULL = absent */
	PARAM_LABEL,	 /* char *: the same, or an integer, then in its canonical spelling */
	PARAM_NAMESPACE, /* char *: [a-z0-9_.-]{1,63} */
	PARAM_TOOL,	 /* char *: 1..128 bytes, no control characters */
	PARAM_KEY,	 /* char *: as key_check() has it */
	PARAM_WORD,	 /* const char *: one of `words`; NULL = absent */
	PARAM_INT,	 /* struct param_int: an integer literal from min to max */
	PARAM_INSTANT,	 /* struct param_int: RFC 3339 in UTC, as Unix microseconds */
	PARAM_BOOL,	 /* bool; absent = false */
	PARAM_UUID,	 /* struct param_uuid: any case */
	PARAM_SHA256,	 /* struct param_sha256: 64 hex digits, any case */
	PARAM_OBJECT,	 /* uint32_t: node; 0 = absent */
	PARAM_ANY	 /* uint32_t: node of any value; 0 = absent */
};

struct param_int {
	bool set;
	int64_t value;
};
struct param_uuid {
	bool set;
	struct uuid value;
};
struct param_sha256 {
	bool set;
	uint8_t value[SHA256_BYTES];
};

struct param {
	const char *name;
	enum param_type type;
	size_t offset;	  /* of its value in the method's struct */
	int64_t min, max; /* bytes of a text, value of an integer */
	bool required;	  /* may not be absent */
	bool null_absent; /* null means absent; where this is false, null is of the wrong type */
	const char *const *words; /* NULL-terminated */
};

/* A row of a table: PARAM(struct begin_params, lease_ms, PARAM_INT, .min = ..., .max = ...) */
#define PARAM(type_, member, kind, ...)                                                       \
	{                                                                                     \
		.name = #member, .type = kind, .offset = offsetof(type_, member), __VA_ARGS__ \
	}

struct param_fault {
	char pointer[JSON_POINTER_BYTES]; /* relative to params; "" = params itself */
	char why[256];
};

/*
 * Reads object node `params` (0 = absent = {}) into *ret, which the caller has zeroed. Returns 0,
 * or ERR_INVALID_PARAMS with *ret_fault filled. `at` is what a reported pointer starts with ("" for
 * params themselves). In every case params_clear() frees what was read.
 */
int params_read(const struct json_doc *doc, uint32_t params, const char *at,
    const struct param *table, size_t n, void *ret, struct param_fault *ret_fault) must_check;
void params_clear(const struct param *table, size_t n, void *values);
/* The fault of one member, for rules that a table cannot say. */
void params_fault(struct param_fault *fault, const char *pointer, const char *why);

#endif
