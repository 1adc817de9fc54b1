/*
 * What a result may be stored as. Promise: no byte of a secret value stays, and no other byte
 * changes; where the text cannot be looked into, all of it is taken for secret. Works on the raw
 * spans of the scanner and on every duplicate of a member, since readers differ in which one they
 * take. Owns nothing beyond the call.
 */
#include "tool.h"

#include "alloc.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDACTED "\"[secret]\""

struct span {
	uint32_t start, end;
};

struct redaction {
	struct json_doc doc;
	struct span *spans; /* unordered, may lie within each other */
	size_t n, cap;
};

static void
add_span(struct redaction *r, uint32_t node)
{
	if (r->n == r->cap) {
		r->cap = r->cap == 0 ? 8 : r->cap * 2;
		r->spans = xrealloc(r->spans, r->cap * sizeof *r->spans);
	}
	r->spans[r->n++] = (struct span){r->doc.nodes[node].start, r->doc.nodes[node].end};
}

/* Does the reference token text[0, len) (~0, ~1) spell that name? */
static bool
token_spells(const char *token, size_t len, const char *name, size_t name_len)
{
	size_t i, n = 0;
	char c;

	for (i = 0; i < len; i++, n++) {
		c = token[i];
		if (c == '~')
			c = token[++i] == '0' ? '~' : '/';
		if (n == name_len || name[n] != c)
			return false;
	}
	return n == name_len;
}

static bool
is_child(const struct redaction *r, uint32_t node, uint32_t child, uint32_t index,
    const char *token, size_t len)
{
	char number[16], *name;
	size_t name_len;
	bool same;

	if (r->doc.nodes[node].type == JSON_ARRAY) {
		snprintf(number, sizeof number, "%u", (unsigned)index);
		return strlen(number) == len && memcmp(number, token, len) == 0;
	}
	name = json_name(&r->doc, child, &name_len);
	same = token_spells(token, len, name, name_len);
	free(name);
	return same;
}

/* The depth is the pointer's, which is bounded. */
static void
collect(struct redaction *r, uint32_t node, const char *pointer)
{
	const struct json_node *n = &r->doc.nodes[node];
	const char *token, *end;
	uint32_t i, child;

	if (pointer[0] == '\0') {
		add_span(r, node);
		return;
	}
	if (n->type != JSON_OBJECT && n->type != JSON_ARRAY)
		return;
	token = pointer + 1;
	end = strchrnul(token, '/');
	for (i = 0, child = node + 1; i < n->n_children; i++, child = r->doc.nodes[child].next)
		if (is_child(r, node, child, i, token, (size_t)(end - token)))
			collect(r, child, end);
}

static int
compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end; /* the outer one first */
}

bool
tool_redact_result(const struct tool_policy *policy, const char *text, size_t len, struct buf *out)
{
	struct redaction r = {0};
	struct json_error error;
	uint32_t at = 0;
	bool redacted;
	size_t i;

	if (policy->result_secret.n == 0)
		return false;
	if (json_scan(&r.doc, text, len, NULL, &error) == ERR_PARSE) {
		json_free(&r.doc);
		buf_add_str(out, REDACTED);
		return true;
	}
	for (i = 0; i < policy->result_secret.n; i++)
		collect(&r, 0, policy->result_secret.items[i]);
	redacted = r.n > 0;
	if (redacted) {
		qsort(r.spans, r.n, sizeof *r.spans, compare_spans);
		for (i = 0; i < r.n; i++) {
			if (r.spans[i].start < at)
				continue; /* within the one before */
			buf_add(out, text + at, r.spans[i].start - at);
			buf_add_str(out, REDACTED);
			at = r.spans[i].end;
		}
		buf_add(out, text + at, len - at);
	}
	free(r.spans);
	json_free(&r.doc);
	return redacted;
}
