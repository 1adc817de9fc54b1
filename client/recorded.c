/*
 * The recorded form of a command's end. Promise: whatever a command wrote, the object is JSON that
 * the ledger takes, and reading it gives the same bytes; what does not fit loses bytes of output,
 * never the status. Prints nothing, keeps nothing.
 */
#include "recorded.h"

#include "alloc.h"
#include "json.h"

#include <openssl/evp.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_MAX 255
#define REDACTED "[secret]" /* what stands where a policy's result_secret took a value out */

static void
add_base64(struct buf *to, const char *data, size_t len)
{
	unsigned char *text = xmalloc(len / 3 * 4 + 8);
	int n;

	assert(len < INT32_MAX / 2); /* far more than is ever kept */
	n = EVP_EncodeBlock(text, (const unsigned char *)data, (int)len);
	buf_json_member(to, "stdout_base64");
	buf_add_char(to, '"');
	buf_add(to, text, (size_t)n);
	buf_add_char(to, '"');
	free(text);
}

/* The object with the first `len` bytes of the output. */
static void
write_head(struct buf *to, const struct recorded *what, size_t len)
{
	buf_add_char(to, '{');
	buf_json_member_int(to, "status", what->status);
	if (json_utf8(what->out, len)) {
		buf_json_member(to, "stdout");
		buf_json_string(to, what->out, len);
	} else {
		add_base64(to, what->out, len);
	}
	if (len < what->out_bytes) {
		buf_json_member_int(to, "stdout_bytes", (int64_t)what->out_bytes);
		buf_json_member_str(to, "stdout_sha256", what->out_sha256);
		buf_json_member_bool(to, "stdout_truncated", true);
	}
	buf_add_char(to, '}');
}

/* Text is not cut inside a character, or it would be no text any more. */
static size_t
character_edge(const char *out, size_t len)
{
	size_t edge = len;

	for (int i = 0; i < 4 && edge > 0; i++) {
		if (json_utf8(out, edge))
			return edge;
		edge--;
	}
	return json_utf8(out, edge) ? edge : len;
}

void
recorded_write(struct buf *to, const struct recorded *what, size_t bytes_max)
{
	size_t before = to->len, fits = 0, too_long = what->out_len + 1, middle, len;

	assert(what->status >= 0 && what->status <= STATUS_MAX && what->out_len <= what->out_bytes);
	if (what->out_len == what->out_bytes) {
		write_head(to, what, what->out_len);
		if (to->len - before <= bytes_max)
			return;
		to->len = before;
	}
	/* a longer beginning is never the shorter object, as long as both are text or both are not:
	 * so it is looked for by halves, and at the end looked at once more */
	while (too_long - fits > 1) {
		middle = fits + (too_long - fits) / 2;
		write_head(to, what, character_edge(what->out, middle));
		len = to->len - before;
		to->len = before;
		if (len <= bytes_max)
			fits = middle;
		else
			too_long = middle;
	}
	write_head(to, what, character_edge(what->out, fits));
}

/* Takes the output out of its member; false: it is of another kind than we write. */
static bool
read_out(const struct json_doc *doc, bool redacted, struct recorded_copy *ret)
{
	uint32_t text = json_member(doc, 0, "stdout"),
		 base64 = json_member(doc, 0, "stdout_base64");
	uint32_t node = text ? text : base64;
	unsigned char *data;
	size_t len;
	char *value;
	int n;

	if (!node || (text && base64) || doc->nodes[node].type != JSON_STRING)
		return false;
	value = json_string(doc, node, &len);
	if (redacted && !strcmp(value, REDACTED)) {
		ret->has_out = false;
	} else if (text) {
		buf_add(&ret->out, value, len);
	} else {
		data = xmalloc(len + 4);
		n = len % 4 || len > INT32_MAX
		    ? -1
		    : EVP_DecodeBlock(data, (unsigned char *)value, (int)len);
		/* libcrypto counts the padding as bytes */
		while (n > 0 && len > 0 && value[len - 1] == '=')
			len--, n--;
		if (n > 0)
			buf_add(&ret->out, data, (size_t)n);
		free(data);
		if (n < 0) {
			free(value);
			return false;
		}
	}
	free(value);
	return true;
}

bool
recorded_read(const char *raw, size_t len, bool redacted, struct recorded_copy *ret)
{
	struct recorded_copy copy = {.has_out = true, .whole = true, .out_bytes = -1};
	struct json_doc doc = {0};
	uint32_t node;
	int64_t status;
	bool ours;

	ours = json_scan(&doc, raw, len, NULL, NULL) == 0 && doc.nodes[0].type == JSON_OBJECT &&
	    (node = json_member(&doc, 0, "status")) && json_int(&doc, node, &status) &&
	    status >= 0 && status <= STATUS_MAX && read_out(&doc, redacted, &copy);
	if (ours) {
		node = json_member(&doc, 0, "stdout_truncated");
		copy.whole = copy.has_out && !(node && doc.nodes[node].type == JSON_TRUE);
		node = json_member(&doc, 0, "stdout_bytes");
		if (!node || !json_int(&doc, node, &copy.out_bytes))
			copy.out_bytes = copy.whole ? (int64_t)copy.out.len : -1;
		copy.status = (int)status;
		*ret = copy;
	} else {
		buf_free(&copy.out);
	}
	json_free(&doc);
	return ours;
}
