/*
 * Types and ranges of what a stranger sends, one function a type. What a member means, and rules
 * between two members, are the method's. Texts that come out are owned by the method's struct until
 * params_clear().
 */
#include "params.h"

#include "alloc.h"
#include "buf.h"
#include "canon.h"
#include "key.h"
#include "limits.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS_MAX 24 /* members of one table */

struct reader {
	const struct json_doc *doc;
	uint32_t node;
	const struct param *param;
	void *value;
	char *why; /* of the fault */
	size_t why_bytes;
};

__attribute__((format(printf, 2, 3))) static bool
refuse(struct reader *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, r->why_bytes, fmt, args);
	va_end(args);
	return false;
}

static enum json_type
type_of(const struct reader *r)
{
	return r->doc->nodes[r->node].type;
}

static const char *
raw(const struct reader *r, size_t *ret_len)
{
	const struct json_node *node = &r->doc->nodes[r->node];

	*ret_len = node->end - node->start;
	return r->doc->text + node->start;
}

/* Takes `text` in every case. */
static bool
keep_text(struct reader *r, char *text, size_t len, int64_t min, int64_t max)
{
	if (strlen(text) != len) {
		free(text);
		return refuse(r, "must not hold a NUL character");
	}
	if ((int64_t)len < min || (int64_t)len > max) {
		free(text);
		return refuse(r, "must have %" PRId64 " to %" PRId64 " bytes", min, max);
	}
	*(char **)r->value = text;
	return true;
}

static bool
read_text(struct reader *r)
{
	size_t len;
	char *text;

	if (type_of(r) != JSON_STRING)
		return refuse(r, "must be a string");
	text = json_string(r->doc, r->node, &len);
	return keep_text(r, text, len, r->param->min, r->param->max);
}

static bool
read_label(struct reader *r)
{
	struct buf canonical = {0};
	const char *text;
	size_t len;
	bool ok;

	if (type_of(r) == JSON_STRING)
		return read_text(r);
	text = raw(r, &len);
	if (type_of(r) != JSON_NUMBER || strcspn(text, ".eE") < len)
		return refuse(r, "must be a string or an integer");
	canon_number(&canonical, text, len);
	ok = keep_text(r, xstrndup(canonical.data, canonical.len), canonical.len, r->param->min,
	    r->param->max);
	buf_free(&canonical);
	return ok;
}

static bool
read_namespace(struct reader *r)
{
	size_t len;
	char *text;

	if (type_of(r) != JSON_STRING)
		return refuse(r, "must be a string");
	text = json_string(r->doc, r->node, &len);
	if (len == 0 || len > NAMESPACE_BYTES_MAX ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != len) {
		free(text);
		return refuse(r, "must have 1 to %d of a-z, 0-9, _ . -", NAMESPACE_BYTES_MAX);
	}
	*(char **)r->value = text;
	return true;
}

static bool
read_tool(struct reader *r)
{
	size_t len;
	char *text;

	if (type_of(r) != JSON_STRING)
		return refuse(r, "must be a string");
	text = json_string(r->doc, r->node, &len);
	if (text_has_control(text, len)) {
		free(text);
		return refuse(r, "must not hold control characters");
	}
	return keep_text(r, text, len, 1, TOOL_BYTES_MAX);
}

static bool
read_key(struct reader *r)
{
	const char *why;
	size_t len;
	char *text;

	if (type_of(r) != JSON_STRING)
		return refuse(r, "must be a string");
	text = json_string(r->doc, r->node, &len);
	why = key_check(text, len);
	if (why) {
		free(text);
		return refuse(r, "%s", why);
	}
	*(char **)r->value = text;
	return true;
}

static bool
refuse_word(struct reader *r)
{
	char list[224] = "";
	size_t at = 0, i;

	for (i = 0; r->param->words[i] && at < sizeof(list); i++)
		at += (size_t)snprintf(
		    list + at, sizeof(list) - at, "%s'%s'", i ? ", " : "", r->param->words[i]);
	return refuse(r, "must be one of %s", list);
}

static bool
read_word(struct reader *r)
{
	bool ok = false;
	size_t len, i;
	char *text;

	if (type_of(r) != JSON_STRING)
		return refuse_word(r);
	text = json_string(r->doc, r->node, &len);
	for (i = 0; r->param->words[i] && !ok; i++) {
		ok = strlen(text) == len && strcmp(text, r->param->words[i]) == 0;
		if (ok)
			*(const char **)r->value = r->param->words[i];
	}
	free(text);
	return ok || refuse_word(r);
}

static bool
read_int(struct reader *r)
{
	struct param_int *value = r->value;
	int64_t v;

	if (type_of(r) != JSON_NUMBER || !json_int(r->doc, r->node, &v) || v < r->param->min ||
	    v > r->param->max)
		return refuse(r, "must be an integer from %" PRId64 " to %" PRId64, r->param->min,
		    r->param->max);
	*value = (struct param_int){.set = true, .value = v};
	return true;
}

static bool
read_instant(struct reader *r)
{
	struct param_int *value = r->value;
	char *text = NULL;
	size_t len = 0;
	bool ok;

	if (type_of(r) == JSON_STRING)
		text = json_string(r->doc, r->node, &len);
	ok = text && strlen(text) == len && text_instant_us(text, &value->value);
	value->set = ok;
	free(text);
	return ok || refuse(r, "must be an instant such as '2026-11-30T04:29:12Z'");
}

static bool
read_bool(struct reader *r)
{
	if (type_of(r) != JSON_TRUE && type_of(r) != JSON_FALSE)
		return refuse(r, "must be true or false");
	*(bool *)r->value = type_of(r) == JSON_TRUE;
	return true;
}

static bool
read_uuid(struct reader *r)
{
	struct param_uuid *value = r->value;
	const char *text;
	size_t len;

	/* A UUID needs no escapes: the raw text will do, quotes cut off. */
	text = raw(r, &len);
	if (type_of(r) != JSON_STRING || len < 2 || !uuid_parse(text + 1, len - 2, &value->value))
		return refuse(r, "must be a UUID");
	value->set = true;
	return true;
}

static bool
read_sha256(struct reader *r)
{
	struct param_sha256 *value = r->value;
	const char *text;
	size_t len, i;
	char byte[3] = "";

	text = raw(r, &len);
	if (type_of(r) != JSON_STRING || len != 2 * SHA256_BYTES + 2 ||
	    strspn(text + 1, "0123456789abcdefABCDEF") != 2 * SHA256_BYTES)
		return refuse(r, "must have %d hex digits", 2 * SHA256_BYTES);
	for (i = 0; i < SHA256_BYTES; i++) {
		memcpy(byte, text + 1 + 2 * i, 2);
		value->value[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	value->set = true;
	return true;
}

static bool
read_node(struct reader *r)
{
	if (r->param->type == PARAM_OBJECT && type_of(r) != JSON_OBJECT)
		return refuse(r, "must be an object");
	*(uint32_t *)r->value = r->node;
	return true;
}

static bool
read_value(struct reader *r)
{
	switch (r->param->type) {
	case PARAM_TEXT:
		return read_text(r);
	case PARAM_LABEL:
		return read_label(r);
	case PARAM_NAMESPACE:
		return read_namespace(r);
	case PARAM_TOOL:
		return read_tool(r);
	case PARAM_KEY:
		return read_key(r);
	case PARAM_WORD:
		return read_word(r);
	case PARAM_INT:
		return read_int(r);
	case PARAM_INSTANT:
		return read_instant(r);
	case PARAM_BOOL:
		return read_bool(r);
	case PARAM_UUID:
		return read_uuid(r);
	case PARAM_SHA256:
		return read_sha256(r);
	case PARAM_OBJECT:
	case PARAM_ANY:
		return read_node(r);
	}
	assert(!"a type that no reader knows");
	return false;
}

/* Appends "/name" to the fault's pointer, as RFC 6901 escapes it, cut at a character's edge if it
 * is too long. */
static void
point_at(struct param_fault *fault, const char *at, const char *name, size_t len)
{
	size_t n = strlen(at), i, width;

	assert(n + 2 < sizeof(fault->pointer));
	memcpy(fault->pointer, at, n);
	fault->pointer[n++] = '/';
	for (i = 0; i < len; i++) {
		for (width = 1; i + width < len && ((unsigned char)name[i + width] & 0xc0) == 0x80;)
			width++;
		if (n + (width < 2 ? 2 : width) >= sizeof(fault->pointer))
			break;
		if (name[i] == '~' || name[i] == '/') {
			fault->pointer[n++] = '~';
			fault->pointer[n++] = name[i] == '~' ? '0' : '1';
		} else if (name[i] == '\0') {
			fault->pointer[n++] = '?';
		} else {
			memcpy(fault->pointer + n, name + i, width);
			n += width;
			i += width - 1;
		}
	}
	fault->pointer[n] = '\0';
}

static const struct param *
find(const struct param *table, size_t n, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
			return &table[i];
	return NULL;
}

static void
unknown_member(struct param_fault *fault, const char *at, const struct param *table, size_t n,
    const char *name, size_t len)
{
	const char *names[PARAMS_MAX], *near;
	size_t i;

	assert(n <= PARAMS_MAX);
	for (i = 0; i < n; i++)
		names[i] = table[i].name;
	point_at(fault, at, name, len);
	near = text_nearest(name, names, n);
	if (near)
		snprintf(fault->why, sizeof(fault->why),
		    "there is no such member, did you mean '%s'?", near);
	else
		snprintf(fault->why, sizeof(fault->why), "there is no such member");
}

static int
read_member(const struct json_doc *doc, uint32_t node, const char *at, const struct param *table,
    size_t n, void *ret, struct param_fault *fault)
{
	const struct param *param;
	struct reader reader;
	size_t len;
	char *name;
	int err = ERR_INVALID_PARAMS;

	name = json_name(doc, node, &len);
	param = find(table, n, name, len);
	if (!param) {
		unknown_member(fault, at, table, n, name, len);
		goto out;
	}
	err = 0;
	if (doc->nodes[node].type == JSON_NULL && param->null_absent)
		goto out;
	reader = (struct reader){.doc = doc,
	    .node = node,
	    .param = param,
	    .value = (char *)ret + param->offset,
	    .why = fault->why,
	    .why_bytes = sizeof(fault->why)};
	if (!read_value(&reader)) {
		point_at(fault, at, name, len);
		err = ERR_INVALID_PARAMS;
	}
out:
	free(name);
	return err;
}

int
params_read(const struct json_doc *doc, uint32_t params, const char *at, const struct param *table,
    size_t n, void *ret, struct param_fault *ret_fault)
{
	uint32_t node, i;
	size_t k;
	int err;

	if (params && doc->nodes[params].type != JSON_OBJECT) {
		params_fault(ret_fault, at, "must be an object");
		return ERR_INVALID_PARAMS;
	}
	if (params) {
		for (i = 0, node = params + 1; i < doc->nodes[params].n_children;
		     i++, node = doc->nodes[node].next) {
			err = read_member(doc, node, at, table, n, ret, ret_fault);
			if (err)
				return err;
		}
	}
	for (k = 0; k < n; k++) {
		if (!table[k].required)
			continue;
		node = params ? json_member(doc, params, table[k].name) : 0;
		if (!node || (table[k].null_absent && doc->nodes[node].type == JSON_NULL)) {
			point_at(ret_fault, at, table[k].name, strlen(table[k].name));
			snprintf(ret_fault->why, sizeof(ret_fault->why), "is required");
			return ERR_INVALID_PARAMS;
		}
	}
	return 0;
}

void
params_clear(const struct param *table, size_t n, void *values)
{
	char **text;
	size_t i;

	for (i = 0; i < n; i++) {
		if (table[i].type > PARAM_KEY)
			continue;
		text = (char **)(void *)((char *)values + table[i].offset);
		free(*text);
		*text = NULL;
	}
}

void
params_fault(struct param_fault *fault, const char *pointer, const char *why)
{
	snprintf(fault->pointer, sizeof(fault->pointer), "%s", pointer);
	snprintf(fault->why, sizeof(fault->why), "%s", why);
}
