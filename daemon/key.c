/*
 * Keys: the readable name of one effect, made of its call by the policy's template. Promise: two
 * calls whose parts differ as text never come out as one key, since what separates parts is escaped
 * inside them. JSON types do not matter (1042 and "1042" are one key): telling those apart is the
 * fingerprint's work. Hashing a key to its id does not belong here (digest.c).
 */
#include "key.h"

#include "alloc.h"
#include "canon.h"
#include "digest.h"
#include "limits.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum part_kind { PART_LITERAL, PART_POINTER, PART_RUN, PART_STEP, PART_TURN, PART_TOOL, PART_ARGS };

static const struct {
	const char *name;
	enum part_kind kind;
} named[] = {{"run", PART_RUN}, {"step", PART_STEP}, {"turn", PART_TURN}, {"tool", PART_TOOL},
    {"args", PART_ARGS}};

struct part {
	enum part_kind kind;
	char *text; /* the literal, or the pointer; owned; NULL otherwise */
};

struct key_template {
	char *text;
	struct part *parts;
	size_t n_parts;
	bool kept[0x80]; /* ASCII that a value keeps as it is */
};

static bool
is_alphanumeric(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct part *
add_part(struct key_template *t, enum part_kind kind, const char *text, size_t len)
{
	struct part *part;

	t->parts = xrealloc(t->parts, (t->n_parts + 1) * sizeof(*t->parts));
	part = &t->parts[t->n_parts++];
	*part = (struct part){.kind = kind, .text = text ? xstrndup(text, len) : NULL};
	return part;
}

/* What stands between two braces. NULL, or the reason, owned. */
static char *
add_placeholder(
    struct key_template *t, const char *inside, size_t len, char *const *secret, size_t n_secret)
{
	const char *pointer;
	size_t i;

	if (inside[0] != '/') {
		for (i = 0; i < sizeof(named) / sizeof(*named); i++) {
			if (strlen(named[i].name) == len &&
			    memcmp(named[i].name, inside, len) == 0) {
				add_part(t, named[i].kind, NULL, 0);
				return NULL;
			}
		}
		return xasprintf("placeholder \"{%.*s}\" is none of {run}, {step}, {turn}, {tool}, "
				 "{args} and {/pointer}",
		    (int)len, inside);
	}
	pointer = add_part(t, PART_POINTER, inside, len)->text;
	if (!json_pointer_valid(pointer))
		return xasprintf("\"%s\" is no json pointer", pointer);
	for (i = 0; i < n_secret; i++) {
		if (json_pointer_under(pointer, secret[i]))
			return xasprintf(
			    "\"%s\" is secret, and a key is stored and shown", pointer);
	}
	return NULL;
}

static char *
add_literal(struct key_template *t, const char *literal, size_t len)
{
	size_t i;

	if (memchr(literal, '%', len))
		return xstrdup("a \"%\" in a literal would read as an escape");
	if (memchr(literal, '}', len))
		return xstrdup("a \"}\" has no \"{\" before it");
	for (i = 0; i < len; i++) {
		if ((uint8_t)literal[i] < 0x80 && !is_alphanumeric(literal[i]))
			t->kept[(uint8_t)literal[i]] = false;
	}
	add_part(t, PART_LITERAL, literal, len);
	return NULL;
}

/* Two placeholders need something between them that no value can hold. */
static char *
check_separators(const struct key_template *t)
{
	bool apart = true;
	const char *c;
	size_t i;

	for (i = 0; i < t->n_parts; i++) {
		if (t->parts[i].kind != PART_LITERAL) {
			if (!apart)
				return xstrdup(
				    "two placeholders have no ascii character between them that is "
				    "neither letter nor digit");
			apart = false;
			continue;
		}
		for (c = t->parts[i].text; *c; c++)
			apart |= (uint8_t)*c < 0x80 && !is_alphanumeric(*c);
	}
	return NULL;
}

static char *
parse(struct key_template *t, char *const *secret, size_t n_secret)
{
	const char *p = t->text, *brace;
	char *why;
	size_t len;

	while (*p) {
		len = strcspn(p, "{");
		if (len > 0) {
			why = add_literal(t, p, len);
			p += len;
		} else {
			brace = p + 1 + strcspn(p + 1, "{}");
			if (*brace != '}')
				return xstrdup("a \"{\" is not closed");
			why = add_placeholder(t, p + 1, (size_t)(brace - p - 1), secret, n_secret);
			p = brace + 1;
		}
		if (why)
			return why;
	}
	return check_separators(t);
}

struct key_template *
key_compile(const char *text, char *const *secret, size_t n_secret, char **ret_why)
{
	struct key_template *t = xcalloc(1, sizeof(*t));
	size_t len = strlen(text);
	char *why;
	int c;

	t->text = xstrdup(text);
	for (c = 0; c < 0x80; c++)
		t->kept[c] = is_alphanumeric((char)c) || (c != 0 && strchr("._~-", c));
	if (len == 0)
		why = xstrdup("it is empty");
	else if (!json_utf8(text, len))
		why = xstrdup("it is not valid utf-8");
	else if (text_has_control(text, len))
		why = xstrdup("it holds control characters");
	else
		why = parse(t, secret, n_secret);
	if (why) {
		key_template_free(t);
		*ret_why = why;
		return NULL;
	}
	return t;
}

void
key_template_free(struct key_template *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->n_parts; i++)
		free(t->parts[i].text);
	free(t->parts);
	free(t->text);
	free(t);
}

const char *
key_template_text(const struct key_template *t)
{
	return t->text;
}

bool
key_template_uses_args(const struct key_template *t)
{
	size_t i;

	for (i = 0; i < t->n_parts; i++) {
		if (t->parts[i].kind == PART_ARGS)
			return true;
	}
	return false;
}

bool
key_template_uses(const struct key_template *t, const char *pointer)
{
	size_t i;

	for (i = 0; i < t->n_parts; i++) {
		if (t->parts[i].kind == PART_POINTER &&
		    json_pointer_under(t->parts[i].text, pointer))
			return true;
	}
	return false;
}

bool
key_template_is_constant(const struct key_template *t)
{
	size_t i;

	for (i = 0; i < t->n_parts; i++) {
		if (t->parts[i].kind != PART_LITERAL && t->parts[i].kind != PART_TOOL)
			return false;
	}
	return true;
}

static void
add_value(struct buf *out, const struct key_template *t, const char *value, size_t len)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t i, run = 0, n_escaped = 0; /* bytes still to escape whatever they are */

	for (i = 0; i < len; i++) {
		uint8_t c = (uint8_t)value[i];
		char escape[3] = {'%', hex[c >> 4], hex[c & 15]};

		if (c == 0xc2 && i + 1 < len && (uint8_t)value[i + 1] < 0xa0)
			n_escaped = 2;
		if (n_escaped == 0 && (c >= 0x80 || t->kept[c]))
			continue;
		n_escaped -= n_escaped > 0;
		buf_add(out, value + run, i - run);
		buf_add(out, escape, sizeof(escape));
		run = i + 1;
	}
	buf_add(out, value + run, len - run);
}

/* NULL, or why a key cannot derive from what stands at the pointer. */
static const char *
add_arg(struct buf *out, const struct key_template *t, const struct key_parts *parts,
    const char *pointer)
{
	const struct json_node *n;
	struct buf number = {0};
	uint32_t node;
	size_t len;
	char *text;

	if (parts->args == 0 || !json_pointer(parts->doc, parts->args, pointer, &node))
		return "is missing";
	n = &parts->doc->nodes[node];
	switch (n->type) {
	case JSON_STRING:
		if (n->end - n->start == 2)
			return "is empty";
		text = json_string(parts->doc, node, &len);
		add_value(out, t, text, len);
		free(text);
		return NULL;
	case JSON_NUMBER:
		canon_number(&number, parts->doc->text + n->start, n->end - n->start);
		add_value(out, t, number.data, number.len);
		buf_free(&number);
		return NULL;
	case JSON_TRUE:
		buf_add_str(out, "true");
		return NULL;
	case JSON_FALSE:
		buf_add_str(out, "false");
		return NULL;
	case JSON_NULL:
		return "is null";
	default:
		return "is an object or an array";
	}
}

static const char *
add_word(struct buf *out, const struct key_template *t, const char *value)
{
	if (!value)
		return "is missing";
	if (!*value)
		return "is empty";
	add_value(out, t, value, strlen(value));
	return NULL;
}

static const char *
add_part_value(struct buf *out, const struct key_template *t, const struct part *part,
    const struct key_parts *parts)
{
	switch (part->kind) {
	case PART_LITERAL:
		buf_add_str(out, part->text);
		return NULL;
	case PART_POINTER:
		return add_arg(out, t, parts, part->text);
	case PART_RUN:
		return add_word(out, t, parts->run);
	case PART_STEP:
		return add_word(out, t, parts->step);
	case PART_TURN:
		return add_word(out, t, parts->turn);
	case PART_TOOL:
		return add_word(out, t, parts->tool);
	case PART_ARGS:
		assert(parts->fingerprint_hex && strlen(parts->fingerprint_hex) == 32);
		buf_add_str(out, parts->fingerprint_hex);
		return NULL;
	}
	assert(!"no such part");
	return NULL;
}

/* The member of params a part comes from, cut at a character's edge. */
static void
name_member(const struct part *part, char *ret_pointer)
{
	const char *prefix = "/args", *rest = part->text;
	size_t i, len;

	if (part->kind != PART_POINTER) {
		prefix = "/";
		for (i = 0; named[i].kind != part->kind; i++)
			assert(i + 1 < sizeof(named) / sizeof(*named));
		rest = named[i].name;
	}
	len = strlen(rest);
	if (len > KEY_POINTER_BYTES - 1 - strlen(prefix)) {
		len = KEY_POINTER_BYTES - 1 - strlen(prefix);
		while (((uint8_t)rest[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(ret_pointer, prefix, strlen(prefix));
	memcpy(ret_pointer + strlen(prefix), rest, len);
	ret_pointer[strlen(prefix) + len] = '\0';
}

/* The key from `start` on is too long: its head and a hash of the whole. */
static void
shorten(struct buf *out, size_t start)
{
	char *key = out->data + start, hex[2 * SHA256_BYTES + 1];
	uint8_t hash[SHA256_BYTES];
	size_t len = KEY_CUT_BYTES;

	digest_sha256(key, out->len - start, hash);
	digest_hex(hash, sizeof(hash), hex);
	while (((uint8_t)key[len] & 0xc0) == 0x80)
		len--;
	/* a '%' is always an escape, for no literal may hold one */
	if (key[len - 1] == '%')
		len--;
	else if (key[len - 2] == '%')
		len -= 2;
	out->len = start + len;
	buf_add_char(out, '#');
	buf_add(out, hex, 2 * SHA256_BYTES);
}

int
key_expand(const struct key_template *t, const struct key_parts *parts, struct buf *out,
    char *ret_pointer, const char **ret_why)
{
	size_t start = out->len, i;
	const char *why;

	for (i = 0; i < t->n_parts; i++) {
		why = add_part_value(out, t, &t->parts[i], parts);
		if (why) {
			out->len = start;
			name_member(&t->parts[i], ret_pointer);
			*ret_why = why;
			return ERR_INVALID_PARAMS;
		}
	}
	assert(out->len > start); /* neither a template nor a value is empty */
	if (out->len - start > KEY_BYTES_MAX)
		shorten(out, start);
	return 0;
}

const char *
key_check(const char *key, size_t len)
{
	if (len == 0)
		return "a key may not be empty";
	if (len > KEY_BYTES_MAX)
		return "a key may hold at most 255 bytes";
	if (!json_utf8(key, len))
		return "a key must be valid utf-8";
	if (text_has_control(key, len))
		return "a key may hold no control characters";
	return NULL;
}
