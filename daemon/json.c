/*
 * The scanner: one pass, no recursion, a stack of at most JSON_DEPTH_MAX open containers. Duplicate
 * members are looked for when their object ends, by sorting where there are many: 100,000 members
 * of a stranger must not cost seconds. Inside the opaque value even depth is free, hence a bit a
 * level there; it is the same code that walks it, so that its grammar cannot differ.
 *
 * Promise: a doc without fault holds I-JSON outside the opaque value, and every span lies inside
 * the text. What a value means (canonical form, a member's type) does not belong here; reading a
 * doc is json_read.c. Owns the doc's node array; the text stays the caller's.
 */
#include "json.h"

#include "alloc.h"
#include "json_text.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OPAQUE_TOKENS_MAX 8
#define PAIRS_MAX 16 /* members up to which comparing each with each beats sorting */
#define NODES_MIN 64

struct open {
	uint32_t node;
	uint32_t last_child; /* 0 = none yet */
};

struct scan {
	struct json_doc *doc;
	const char *p, *end;
	struct open stack[JSON_DEPTH_MAX];
	unsigned depth;
	uint32_t name_start, name_end; /* of the member whose value is due */
	enum json_fault name_fault;
	const char *name_fault_at;

	struct {
		const char *p;
		size_t len;
	} tokens[OPAQUE_TOKENS_MAX]; /* of the opaque value's pointer */
	unsigned n_tokens;
	unsigned n_matched;    /* of them by the containers open now, counted from the root */
	uint32_t opaque;       /* its node while inside it, else 0 */
	size_t opaque_depth;   /* containers open inside it */
	uint8_t *opaque_kinds; /* a bit each: is it an object? */
	size_t opaque_cap;     /* in bits */

	struct json_error error;
};

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
skip_space(struct scan *s)
{
	while (s->p < s->end && is_space(*s->p))
		s->p++;
}

/* Records a fault of child `node` of the innermost open container, or of that container itself (0).
 */
static void
set_error(struct scan *s, enum json_fault fault, const char *at, uint32_t node)
{
	const struct json_doc *doc = s->doc;
	unsigned n = s->depth + (node != 0 && s->depth > 0), i;
	size_t len = 0;

	s->error.fault = fault;
	s->error.offset = (size_t)(at - doc->text);
	s->error.member = 0;
	for (i = 1; i < n; i++) {
		uint32_t child = i < s->depth ? s->stack[i].node : node;
		const struct json_node *c = &doc->nodes[child];
		char index[16];

		/* before its value: in its name, so it is the root that is at fault */
		if (i == 1 && at >= doc->text + c->start)
			s->error.member = child;
		if (c->name_end > 0) {
			if (!json_text_add_token(s->error.pointer, &len,
				doc->text + c->name_start + 1, doc->text + c->name_end - 1))
				break;
		} else {
			/* whatever is open or just begun is its parent's last child so far */
			char *digit = index + sizeof(index);
			uint32_t rest = doc->nodes[s->stack[i - 1].node].n_children - 1;

			do
				*--digit = (char)('0' + rest % 10);
			while (rest /= 10);
			if (!json_text_add_token(
				s->error.pointer, &len, digit, index + sizeof(index)))
				break;
		}
	}
	s->error.pointer[len] = '\0';
}

/* A fault beyond the grammar: the first counts, and the scan goes on. */
static void
note_fault(struct scan *s, enum json_fault fault, const char *at, uint32_t node)
{
	if (s->error.fault == JSON_OK)
		set_error(s, fault, at, node);
}

static bool
fail(struct scan *s, enum json_fault fault, const char *at)
{
	set_error(s, fault, at, s->opaque);
	return false;
}

static bool
in_object(const struct scan *s)
{
	size_t level;

	if (s->opaque_depth > 0) {
		level = s->opaque_depth - 1;
		return s->opaque_kinds[level / 8] >> level % 8 & 1;
	}
	return s->doc->nodes[s->stack[s->depth - 1].node].type == JSON_OBJECT;
}

/* Is the member whose name was just read the next step towards the opaque value? */
static bool
on_opaque_path(const struct scan *s, uint32_t node)
{
	struct json_ref name;

	if (s->n_matched + 1 != s->depth || s->n_matched >= s->n_tokens || s->name_end == 0)
		return false;
	name = json_text_ref(s->doc->text, s->name_start, s->name_end, node);
	return json_text_is_token(&name, s->tokens[s->n_matched].p, s->tokens[s->n_matched].len);
}

static uint32_t
add_node(struct scan *s)
{
	struct json_doc *doc = s->doc;
	uint32_t i = doc->n_nodes++;
	struct open *top;

	if (i == doc->cap_nodes) {
		doc->cap_nodes = doc->cap_nodes ? 2 * doc->cap_nodes : NODES_MIN;
		doc->nodes = xrealloc(doc->nodes, doc->cap_nodes * sizeof(*doc->nodes));
	}
	doc->nodes[i] = (struct json_node){
	    .start = (uint32_t)(s->p - doc->text),
	    .name_start = s->name_start,
	    .name_end = s->name_end,
	};
	if (s->depth == 0)
		return i;
	top = &s->stack[s->depth - 1];
	if (top->last_child)
		doc->nodes[top->last_child].next = i;
	top->last_child = i;
	doc->nodes[top->node].n_children++;
	if (s->name_fault != JSON_OK) {
		note_fault(s, s->name_fault, s->name_fault_at, i);
		s->name_fault = JSON_OK;
	}
	if (s->n_matched + 1 == s->n_tokens && on_opaque_path(s, i)) {
		doc->nodes[i].type = JSON_OPAQUE;
		s->opaque = i;
	}
	return i;
}

/* The value that began with node `i` (or lies inside the opaque one) ends at p. */
static void
end_value(struct scan *s, uint32_t i)
{
	if (s->opaque && s->opaque_depth > 0)
		return;
	s->doc->nodes[i].end = (uint32_t)(s->p - s->doc->text);
	s->opaque = 0;
}

static void
open_opaque(struct scan *s, bool object)
{
	size_t level = s->opaque_depth++;
	uint8_t bit = (uint8_t)(1 << level % 8);

	if (level == s->opaque_cap) {
		s->opaque_cap = s->opaque_cap ? 2 * s->opaque_cap : 512;
		s->opaque_kinds = xrealloc(s->opaque_kinds, s->opaque_cap / 8);
	}
	if (object)
		s->opaque_kinds[level / 8] |= bit;
	else
		s->opaque_kinds[level / 8] &= (uint8_t)~bit;
}

static bool
open_container(struct scan *s, uint32_t node, bool object)
{
	const char *at = s->p++;

	if (s->opaque) {
		open_opaque(s, object);
		return true;
	}
	if (s->depth == JSON_DEPTH_MAX)
		return fail(s, JSON_DEPTH, at);
	s->doc->nodes[node].type = object ? JSON_OBJECT : JSON_ARRAY;
	s->n_matched += s->depth > 0 && on_opaque_path(s, node);
	s->stack[s->depth++] = (struct open){.node = node};
	return true;
}

/* The first member in the text whose name an earlier one has, or 0. */
static uint32_t
find_duplicate(const struct json_doc *doc, uint32_t object)
{
	uint32_t n = doc->nodes[object].n_children, child = object + 1, found = 0, i, at;
	struct json_ref small[PAIRS_MAX], *refs;

	if (n <= PAIRS_MAX) {
		for (i = 0; i < n; i++, child = doc->nodes[child].next) {
			small[i] = json_text_ref(doc->text, doc->nodes[child].name_start,
			    doc->nodes[child].name_end, child);
			for (at = 0; at < i; at++) {
				if (json_text_equal(&small[at], &small[i]))
					return child;
			}
		}
		return 0;
	}
	refs = xmalloc(n * sizeof(*refs));
	json_sorted(doc, object, refs);
	for (i = 1; i < n; i++) {
		uint32_t a = refs[i - 1].node, b = refs[i].node, later = a > b ? a : b;

		if ((found == 0 || later < found) && json_text_equal(&refs[i - 1], &refs[i]))
			found = later;
	}
	free(refs);
	return found;
}

static void
close_container(struct scan *s)
{
	uint32_t node, twin;

	s->p++;
	if (s->opaque_depth > 0) {
		s->opaque_depth--;
		end_value(s, s->opaque);
		return;
	}
	node = s->stack[s->depth - 1].node;
	if (s->doc->nodes[node].type == JSON_OBJECT) {
		twin = find_duplicate(s->doc, node);
		if (twin)
			note_fault(
			    s, JSON_DUPLICATE, s->doc->text + s->doc->nodes[twin].name_start, twin);
	}
	if (s->n_matched > 0 && s->n_matched + 1 == s->depth)
		s->n_matched--;
	s->depth--;
	end_value(s, node);
}

static bool
scan_string(struct scan *s, uint32_t node)
{
	enum json_fault fault;
	const char *at = NULL, *behind = json_text_string(s->p + 1, s->end, &fault, &at);

	if (!behind)
		return fail(s, JSON_GRAMMAR, at);
	s->p = behind;
	if (!s->opaque) {
		s->doc->nodes[node].type = JSON_STRING;
		if (fault != JSON_OK)
			note_fault(s, fault, at, node);
	}
	end_value(s, node);
	return true;
}

static bool
scan_number(struct scan *s, uint32_t node)
{
	const char *at = s->p, *behind = json_text_number(at, s->end);

	if (!behind)
		return fail(s, JSON_GRAMMAR, at);
	s->p = behind;
	if (!s->opaque) {
		s->doc->nodes[node].type = JSON_NUMBER;
		if (json_text_overflows(at, (size_t)(behind - at)))
			note_fault(s, JSON_OVERFLOW, at, node);
	}
	end_value(s, node);
	return true;
}

static bool
scan_word(struct scan *s, uint32_t node, const char *word, enum json_type type)
{
	size_t len = strlen(word);

	if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
		return fail(s, JSON_GRAMMAR, s->p);
	s->p += len;
	if (!s->opaque)
		s->doc->nodes[node].type = type;
	end_value(s, node);
	return true;
}

/* The value due at p: a leaf is read whole, of a container its bracket. */
static bool
scan_value(struct scan *s, bool *ret_opened)
{
	uint32_t node = s->opaque;
	char c;

	*ret_opened = false;
	skip_space(s);
	if (s->p == s->end)
		return fail(s, JSON_GRAMMAR, s->p);
	if (!s->opaque)
		node = add_node(s);
	c = *s->p;
	switch (c) {
	case '{':
	case '[':
		*ret_opened = true;
		return open_container(s, node, c == '{');
	case '"':
		return scan_string(s, node);
	case 't':
		return scan_word(s, node, "true", JSON_TRUE);
	case 'f':
		return scan_word(s, node, "false", JSON_FALSE);
	case 'n':
		return scan_word(s, node, "null", JSON_NULL);
	default:
		return scan_number(s, node);
	}
}

/* A member's name and its colon. */
static bool
scan_name(struct scan *s)
{
	const char *at = s->p, *fault_at = NULL, *behind;
	enum json_fault fault;

	if (at == s->end || *at != '"')
		return fail(s, JSON_GRAMMAR, at);
	behind = json_text_string(at + 1, s->end, &fault, &fault_at);
	if (!behind)
		return fail(s, JSON_GRAMMAR, fault_at);
	if (!s->opaque) {
		s->name_start = (uint32_t)(at - s->doc->text);
		s->name_end = (uint32_t)(behind - s->doc->text);
		s->name_fault = fault;
		s->name_fault_at = fault_at;
	}
	s->p = behind;
	skip_space(s);
	if (s->p == s->end || *s->p != ':')
		return fail(s, JSON_GRAMMAR, s->p);
	s->p++;
	return true;
}

/*
 * Behind a value, or behind an opening bracket: closes what ends here and stops where the next
 * value is due, its name read; *ret_due is false when the root has ended.
 */
static bool
scan_on(struct scan *s, bool opened, bool *ret_due)
{
	bool object;

	while (s->depth > 0) {
		object = in_object(s);
		skip_space(s);
		if (s->p == s->end)
			return fail(s, JSON_GRAMMAR, s->p);
		if (*s->p == (object ? '}' : ']')) {
			close_container(s);
			opened = false;
			continue;
		}
		if (!opened) {
			if (*s->p != ',')
				return fail(s, JSON_GRAMMAR, s->p);
			s->p++;
			skip_space(s);
		}
		*ret_due = true;
		if (object)
			return scan_name(s);
		if (!s->opaque)
			s->name_start = s->name_end = 0;
		return true;
	}
	*ret_due = false;
	return true;
}

static void
split_opaque(struct scan *s, const char *pointer)
{
	const char *slash;

	assert(*pointer == '/' && json_pointer_valid(pointer));
	for (; *pointer == '/'; pointer = slash) {
		assert(s->n_tokens < OPAQUE_TOKENS_MAX);
		slash = strchrnul(++pointer, '/');
		s->tokens[s->n_tokens].p = pointer;
		s->tokens[s->n_tokens++].len = (size_t)(slash - pointer);
	}
}

int
json_scan(struct json_doc *doc, const char *text, size_t len, const char *opaque,
    struct json_error *ret_error)
{
	struct scan s = {.doc = doc, .p = text, .end = text + len};
	bool due = true, opened, ok = true;

	assert(len < UINT32_MAX);
	doc->text = text;
	doc->len = len;
	doc->n_nodes = 0;
	if (opaque)
		split_opaque(&s, opaque);
	while (ok && due)
		ok = scan_value(&s, &opened) && scan_on(&s, opened, &due);
	if (ok) {
		skip_space(&s);
		ok = s.p == s.end || fail(&s, JSON_GRAMMAR, s.p);
	}
	free(s.opaque_kinds);
	if (ret_error)
		*ret_error = s.error;
	if (!ok)
		doc->n_nodes = 0;
	assert(ok || s.error.fault >= JSON_DEPTH);
	return !ok ? ERR_PARSE : s.error.fault == JSON_OK ? 0 : ERR_INVALID_PARAMS;
}

void
json_free(struct json_doc *doc)
{
	free(doc->nodes);
	*doc = (struct json_doc){0};
}
