/*
 * What happens to a result's bytes, and nothing else: they are copied once, since a complete
 * outlives its request when the ledger is away. Owns the copy.
 */
#include "result.h"

#include "alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void
result_take(struct result *res, const struct json_doc *doc, uint32_t node)
{
	const char *text;
	size_t len;

	if (!node)
		return;
	text = doc->text + doc->nodes[node].start;
	len = doc->nodes[node].end - doc->nodes[node].start;
	if (len == 4 && memcmp(text, "null", 4) == 0)
		return;
	if (!json_utf8(text, len)) {
		res->omitted = true;
		res->bytes = (int64_t)len;
		digest_sha256(text, len, res->sha256);
		return;
	}
	res->text = xstrndup(text, len);
	res->len = len;
}

void
result_set_omitted(struct result *res, int64_t bytes, const uint8_t sha256[SHA256_BYTES])
{
	res->omitted = true;
	res->bytes = bytes;
	memcpy(res->sha256, sha256, SHA256_BYTES);
}

void
result_omit(struct result *res)
{
	if (!res->text)
		return;
	res->omitted = true;
	res->bytes = (int64_t)res->len;
	digest_sha256(res->text, res->len, res->sha256);
	free(res->text);
	res->text = NULL;
	buf_clear(&res->redacted);
}

void
result_redact(struct result *res, const struct tool_policy *policy)
{
	buf_clear(&res->redacted);
	res->looked = true;
	res->policy = policy->version;
	if (res->text && policy->result_secret.n > 0)
		(void)tool_redact_result(policy, res->text, res->len, &res->redacted);
}

/* A list of the strings in a JSON array; false: it is none. */
static bool
read_pointers(struct tool_list *list, const char *text, size_t len)
{
	struct json_doc doc = {0};
	uint32_t node, i;
	bool ok;

	ok = json_scan(&doc, text, len, NULL, NULL) == 0 && doc.nodes[0].type == JSON_ARRAY;
	if (ok)
		list->items = xcalloc(doc.nodes[0].n_children + 1, sizeof(*list->items));
	for (i = 0, node = 1; ok && i < doc.nodes[0].n_children; i++, node = doc.nodes[node].next) {
		ok = doc.nodes[node].type == JSON_STRING;
		if (ok)
			list->items[list->n++] = json_string(&doc, node, NULL);
	}
	json_free(&doc);
	return ok;
}

void
result_redact_by(struct result *res, int64_t version, const char *pointers, size_t len)
{
	struct tool_policy *known = tool_by_version(version);
	struct tool_policy of_row = {.version = version};
	size_t i;

	if (known) {
		result_redact(res, known);
		return;
	}
	/* what cannot be read may hide a secret: then nothing of the text is stored */
	if (pointers && !read_pointers(&of_row.result_secret, pointers, len))
		result_omit(res);
	result_redact(res, &of_row);
	for (i = 0; i < of_row.result_secret.n; i++)
		free(of_row.result_secret.items[i]);
	free(of_row.result_secret.items);
}

bool
result_has_text(const struct result *res)
{
	return res->text != NULL;
}

void
result_fill(const struct result *res, struct pgvalue *policy, struct pgvalue *values)
{
	bool redacted = res->redacted.len > 0;
	const char *text = redacted ? res->redacted.data : res->text;
	size_t len = redacted ? res->redacted.len : res->len;

	assert(!(res->omitted && res->text));
	*policy = res->looked ? pg_int8(res->policy) : pg_null();
	values[0] = res->text ? pg_textn(text, len) : pg_null();
	/* a size beside a text would say that the text is not all there */
	values[1] = res->omitted ? pg_int8(res->bytes) : pg_null();
	values[2] = res->omitted ? pg_textn((const char *)res->sha256, SHA256_BYTES) : pg_null();
	values[3] = pg_bool(redacted);
}

size_t
result_memory(const struct result *res)
{
	return res->len + res->redacted.cap;
}

void
result_clear(struct result *res)
{
	free(res->text);
	res->text = NULL;
	buf_free(&res->redacted);
}
