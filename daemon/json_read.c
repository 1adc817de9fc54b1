/*
 * Reading a scanned doc: members, pointers, strings, numbers. It never looks at grammar again: what
 * the scanner let pass is taken for granted, and asserted where that is cheap. Strings handed out
 * are the caller's to free; nothing else is allocated.
 */
#include "json.h"

#include "alloc.h"
#include "json_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define INSERTION_MAX 16 /* members up to which insertion beats qsort(3) */

static struct json_ref
ref_of(const struct json_doc *doc, uint32_t node)
{
	const struct json_node *n = &doc->nodes[node];

	return json_text_ref(doc->text, n->name_start, n->name_end, node);
}

static int
compare_refs(const void *a, const void *b)
{
	return json_text_cmp(a, b);
}

void
json_sorted(const struct json_doc *doc, uint32_t object, struct json_ref *ret)
{
	uint32_t n = doc->nodes[object].n_children, i, at, child = object + 1;

	assert(doc->nodes[object].type == JSON_OBJECT);
	for (i = 0; i < n; i++, child = doc->nodes[child].next) {
		ret[i] = ref_of(doc, child);
		if (n > INSERTION_MAX)
			continue;
		/* few members: insertion, which costs next to nothing where they come sorted */
		for (at = i; at > 0 && json_text_cmp(&ret[at - 1], &ret[at]) > 0; at--) {
			struct json_ref moved = ret[at];

			ret[at] = ret[at - 1];
			ret[at - 1] = moved;
		}
	}
	if (n > INSERTION_MAX)
		qsort(ret, n, sizeof(*ret), compare_refs);
}

uint32_t
json_member(const struct json_doc *doc, uint32_t object, const char *name)
{
	struct json_ref wanted = {.name = name, .len = (uint32_t)strlen(name)}, ref;
	uint32_t i, n, child = object + 1;

	if (object >= doc->n_nodes || doc->nodes[object].type != JSON_OBJECT)
		return 0;
	n = doc->nodes[object].n_children;
	for (i = 0; i < n; i++, child = doc->nodes[child].next) {
		ref = ref_of(doc, child);
		if (json_text_equal(&ref, &wanted))
			return child;
	}
	return 0;
}

static uint32_t
member_by_token(const struct json_doc *doc, uint32_t object, const char *token, size_t len)
{
	uint32_t i, n = doc->nodes[object].n_children, child = object + 1;
	struct json_ref ref;

	for (i = 0; i < n; i++, child = doc->nodes[child].next) {
		ref = ref_of(doc, child);
		if (json_text_is_token(&ref, token, len))
			return child;
	}
	return 0;
}

static uint32_t
element_by_token(const struct json_doc *doc, uint32_t array, const char *token, size_t len)
{
	uint32_t child = array + 1;
	uint32_t index;

	if (!json_text_index(token, len, &index) || index >= doc->nodes[array].n_children)
		return 0;
	while (index-- > 0)
		child = doc->nodes[child].next;
	return child;
}

bool
json_pointer(const struct json_doc *doc, uint32_t from, const char *pointer, uint32_t *ret_node)
{
	uint32_t node = from;
	const char *slash;

	assert(from < doc->n_nodes);
	for (; *pointer; pointer = slash) {
		assert(*pointer == '/');
		slash = strchrnul(++pointer, '/');
		if (doc->nodes[node].type == JSON_OBJECT)
			node = member_by_token(doc, node, pointer, (size_t)(slash - pointer));
		else if (doc->nodes[node].type == JSON_ARRAY)
			node = element_by_token(doc, node, pointer, (size_t)(slash - pointer));
		else
			return false;
		if (node == 0)
			return false;
	}
	*ret_node = node;
	return true;
}

static char *
unescaped(const struct json_ref *ref, size_t *ret_len)
{
	char *out = xmalloc((size_t)ref->len + 1);
	size_t n = json_text_unescape(ref->name, ref->len, out);

	out[n] = '\0';
	if (ret_len)
		*ret_len = n;
	return out;
}

char *
json_string(const struct json_doc *doc, uint32_t node, size_t *ret_len)
{
	const struct json_node *n = &doc->nodes[node];
	struct json_ref ref = json_text_ref(doc->text, n->start, n->end, node);

	assert(n->type == JSON_STRING);
	return unescaped(&ref, ret_len);
}

char *
json_name(const struct json_doc *doc, uint32_t node, size_t *ret_len)
{
	struct json_ref ref = ref_of(doc, node);

	return unescaped(&ref, ret_len);
}

bool
json_int(const struct json_doc *doc, uint32_t node, int64_t *ret_value)
{
	const struct json_node *n = &doc->nodes[node];

	return n->type == JSON_NUMBER &&
	    json_text_int(doc->text + n->start, n->end - n->start, ret_value);
}

double
json_double(const char *text, size_t len)
{
	return json_text_double(text, len);
}

bool
json_utf8(const char *text, size_t len)
{
	return json_text_utf8(text, len);
}

bool
json_pointer_valid(const char *pointer)
{
	return json_text_is_pointer(pointer, strlen(pointer));
}

bool
json_pointer_under(const char *pointer, const char *above)
{
	size_t n = strlen(above);

	return strncmp(pointer, above, n) == 0 && (pointer[n] == '\0' || pointer[n] == '/');
}
