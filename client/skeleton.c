/*
 * From a tool's definition to a policy. Promise: nothing of the server is believed that makes a
 * tool run more often than it would without it, unless a person says so: every guess is named in
 * `decide`. What comes out loads once `decide` is taken out, as the loader itself is asked before.
 * Names and schemas are a stranger's: bounded in number and depth, and never more than JSON strings
 * here.
 */
#include "skeleton.h"

#include "alloc.h"
#include "digest.h"
#include "text.h"
#include "tool_field.h"
#include "tool_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64 /* of a schema are looked at */
#define DEPTH_MAX 4
#define POINTER_BYTES 255
#define KEY_FIELDS_MAX 6
#define LINE_BYTES 380 /* of one thing to decide: what the loader shows of it */
#define FILE_PLAIN_BYTES 200
#define FILE_HEAD_BYTES 160

const char *const skeleton_classes[] = {
    "read", "overwrite", "natural", "accumulate", "irreversible", NULL};

/* An arg that holds one value. */
struct field {
	char *pointer; /* owned */
	bool required; /* and so is all above it */
	bool plain;    /* a text or a whole number, not a date, a document or a choice of types */
	bool secret;
};

struct skeleton {
	const struct json_doc *doc;
	struct field fields[FIELDS_MAX];
	size_t n_fields;
	bool more; /* there are fields that were not looked at */
};

typedef bool (*field_test)(const struct field *f);

/* ---- the schema ---- */

static bool
text_is(const struct json_doc *doc, uint32_t object, const char *name, const char *text)
{
	uint32_t node = json_member(doc, object, name);
	size_t len;
	char *value;
	bool is;

	if (!node || doc->nodes[node].type != JSON_STRING)
		return false;
	value = json_string(doc, node, &len);
	is = len == strlen(text) && !strcmp(value, text);
	free(value);
	return is;
}

static bool
is_true(const struct json_doc *doc, uint32_t object, const char *name)
{
	uint32_t node = json_member(doc, object, name);

	return node && doc->nodes[node].type == JSON_TRUE;
}

static bool
is_required(const struct json_doc *doc, uint32_t schema, const char *name, size_t len)
{
	uint32_t list = json_member(doc, schema, "required"), node;
	size_t item_len;
	char *item;
	bool is = false;

	if (!list || doc->nodes[list].type != JSON_ARRAY || !doc->nodes[list].n_children)
		return false;
	for (node = list + 1; node && !is; node = doc->nodes[node].next) {
		if (doc->nodes[node].type != JSON_STRING)
			continue;
		item = json_string(doc, node, &item_len);
		is = item_len == len && !memcmp(item, name, len);
		free(item);
	}
	return is;
}

/* A pointer's next token; NULL where it could be none of a policy's. */
static char *
pointer_below(const char *above, const char *name, size_t len)
{
	struct buf b = {0};

	buf_add_str(&b, above);
	buf_add_char(&b, '/');
	for (size_t i = 0; i < len; i++) {
		if (name[i] == '~' || name[i] == '/')
			buf_add_str(&b, name[i] == '~' ? "~0" : "~1");
		else
			buf_add_char(&b, name[i]);
	}
	if (b.len > POINTER_BYTES || memchr(b.data, '\0', b.len) || memchr(b.data, '{', b.len) ||
	    memchr(b.data, '}', b.len) || text_has_control(b.data, b.len)) {
		buf_free(&b);
		return NULL;
	}
	buf_add_char(&b, '\0');
	return b.data;
}

static bool
is_plain(const struct json_doc *doc, uint32_t schema)
{
	return text_is(doc, schema, "type", "integer") ||
	    (text_is(doc, schema, "type", "string") &&
		!text_is(doc, schema, "format", "date-time") &&
		!text_is(doc, schema, "format", "date") &&
		!text_is(doc, schema, "format", "time") &&
		!json_member(doc, schema, "contentEncoding") &&
		!json_member(doc, schema, "contentMediaType"));
}

/* The args that an object's schema names, in its order. */
static void
read_fields(struct skeleton *s, uint32_t schema, const char *above, bool required, unsigned depth)
{
	const struct json_doc *doc = s->doc;
	uint32_t list = json_member(doc, schema, "properties"), node;
	char *name, *pointer;
	struct field *f;
	size_t len;

	if (!list || doc->nodes[list].type != JSON_OBJECT || !doc->nodes[list].n_children)
		return;
	for (node = list + 1; node; node = doc->nodes[node].next) {
		name = json_name(doc, node, &len);
		pointer = pointer_below(above, name, len);
		if (!pointer || s->n_fields == FIELDS_MAX || doc->nodes[node].type != JSON_OBJECT) {
			s->more |= s->n_fields == FIELDS_MAX;
			free(pointer);
		} else if (json_member(doc, node, "properties")) {
			if (depth < DEPTH_MAX)
				read_fields(s, node, pointer,
				    required && is_required(doc, schema, name, len), depth + 1);
			free(pointer);
		} else {
			f = &s->fields[s->n_fields++];
			f->pointer = pointer;
			f->required = required && is_required(doc, schema, name, len);
			f->plain = is_plain(doc, node);
			f->secret = tool_field_is_secret(pointer) ||
			    text_is(doc, node, "format", "password") ||
			    is_true(doc, node, "writeOnly");
		}
		free(name);
	}
}

static bool
is_secret(const struct field *f)
{
	return f->secret;
}

static bool
is_key(const struct field *f)
{
	return f->required && f->plain && !f->secret && tool_field_is_id(f->pointer);
}

static bool
is_other(const struct field *f)
{
	return f->required && f->plain && !f->secret && !tool_field_is_id(f->pointer) &&
	    !tool_field_of(f->pointer) && !tool_field_is_amount(f->pointer);
}

static bool
is_amount(const struct field *f)
{
	return f->required && !f->secret && tool_field_is_amount(f->pointer);
}

static bool
is_business(const struct field *f)
{
	return is_key(f) || is_other(f) || is_amount(f);
}

static bool
is_text(const struct field *f)
{
	const struct tool_field *kind = tool_field_of(f->pointer);

	return kind && !strcmp(kind->code, "key_free_text");
}

static bool
is_idempotency_key(const struct field *f)
{
	const char *end = strrchr(f->pointer, '/');
	char plain[POINTER_BYTES + 1];
	size_t n = 0;

	for (const char *c = end; *c; c++)
		if (*c != '/' && *c != '_' && *c != '-')
			plain[n++] = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
	plain[n] = '\0';
	return !strcmp(plain, "idempotencykey");
}

static bool
is_made_for_a_call(const struct field *f)
{
	const struct tool_field *kind = tool_field_of(f->pointer);

	return kind && !strcmp(kind->code, "key_call_id") && !is_idempotency_key(f);
}

static size_t
count(const struct skeleton *s, field_test test)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_fields; i++)
		n += test(&s->fields[i]);
	return n;
}

/* ---- the text ---- */

struct writer {
	struct buf *out;
	const char *indent;
	bool any; /* a member stands before */
};

static void
member(struct writer *w, const char *name)
{
	buf_printf(w->out, "%s\n%s  \"%s\": ", w->any ? "," : "", w->indent, name);
	w->any = true;
}

static void
member_text(struct writer *w, const char *name, const char *text)
{
	member(w, name);
	buf_json_string(w->out, text, strlen(text));
}

/* A list of those fields that pass one of the tests. */
static void
member_fields(struct writer *w, const struct skeleton *s, const char *name, field_test test,
    field_test or_test)
{
	size_t n = 0;

	if (count(s, test) == 0 && (!or_test || count(s, or_test) == 0))
		return;
	member(w, name);
	for (size_t i = 0; i < s->n_fields; i++) {
		if (!test(&s->fields[i]) && !(or_test && or_test(&s->fields[i])))
			continue;
		buf_add_str(w->out, n++ ? ", " : "[");
		buf_json_string(w->out, s->fields[i].pointer, strlen(s->fields[i].pointer));
	}
	buf_add_char(w->out, ']');
}

/* One more thing to decide: `before`, the fields that pass the test, `after`; nothing without them.
 */
static void
decide(struct writer *w, const struct skeleton *s, field_test test, const char *before,
    const char *after)
{
	struct buf line = {0};
	size_t n = 0;

	buf_add_str(&line, before);
	for (size_t i = 0; test && i < s->n_fields; i++) {
		if (!test(&s->fields[i]))
			continue;
		if (line.len + strlen(s->fields[i].pointer) + strlen(after) > LINE_BYTES) {
			buf_add_str(&line, ", ...");
			break;
		}
		buf_printf(&line, "%s%s", n++ ? ", " : " ", s->fields[i].pointer);
	}
	if (n > 0 || !test) {
		buf_add_str(&line, after);
		buf_printf(w->out, "%s\n%s    ", w->any ? "," : "", w->indent);
		buf_json_string(w->out, line.data, line.len);
		w->any = true;
	}
	buf_free(&line);
}

struct hint {
	const char *class, *why;
};

/* As the protocol reads annotations: hints of the server about itself. */
static struct hint
hint_of(const struct json_doc *doc, uint32_t tool)
{
	uint32_t a = json_member(doc, tool, "annotations"), node;
	bool destructive = true;

	node = a ? json_member(doc, a, "destructiveHint") : 0;
	if (node && doc->nodes[node].type == JSON_FALSE)
		destructive = false;
	if (a && is_true(doc, a, "readOnlyHint"))
		return (struct hint){"read", "the server hints readOnlyHint"};
	if (destructive)
		return (struct hint){"irreversible", "the server hints nothing better"};
	if (is_true(doc, a, "idempotentHint"))
		return (struct hint){
		    "overwrite", "the server hints idempotentHint and no destructiveHint"};
	return (struct hint){"accumulate", "the server hints that it is not destructive"};
}

static bool
is_guarded(const char *class)
{
	return !strcmp(class, "accumulate") || !strcmp(class, "irreversible");
}

static void
decide_class(struct writer *w, const char *name, const struct hint *hint)
{
	bool unlikely =
	    (!strcmp(hint->class, "read") && (tool_field_adds(name) || tool_field_removes(name))) ||
	    (!strcmp(hint->class, "overwrite") && tool_field_adds(name));
	struct buf line = {0};

	buf_printf(&line, "class: '%s' is a guess: %s. What does a repeat of the call do?%s%s",
	    hint->class, hint->why,
	    is_guarded(hint->class) ? "" : " As this class it is let pass, and every repeat runs.",
	    unlikely ? " The tool's name speaks against it." : "");
	decide(w, NULL, NULL, line.data, "");
	buf_free(&line);
}

static void
decide_guard(struct writer *w, const struct skeleton *s, bool irreversible)
{
	if (count(s, is_key) > 0)
		decide(w, s, is_key, "key: a guess by names:",
		    ". Is it the same for every repeat of one effect, and another for every "
		    "other?");
	else
		decide(w, NULL, NULL,
		    "key: no required arg names one effect by its name. Which args do, or do run "
		    "and "
		    "step, or does the caller hand a key over?",
		    "");
	decide(w, s, is_other, "key: do these belong to it, too:", "?");
	decide(
	    w, s, is_text, "ignore: are these free text, whose wording makes no difference:", "?");
	decide(w, s, is_made_for_a_call,
	    "ignore: are these made anew for each call, so that a repeat differs in them:", "?");
	decide(w, s, is_secret,
	    "secret: these look as if they let somebody in:", ". Is that all of them?");
	decide(w, s, is_idempotency_key, "provider_key_to: does the provider take its key at", "?");
	decide(w, NULL, NULL,
	    "probe: who can be asked whether a lost call landed (exec, http or sql)? Without one a "
	    "person settles each.",
	    "");
	decide(w, NULL, NULL,
	    "lease, turn_budget: how long does a call take at most, and how often may one turn "
	    "make "
	    "it?",
	    "");
	if (irreversible)
		decide(w, s, is_business,
		    "business_key: would a person say that it was done twice, under whatever keys, "
		    "by the same",
		    "?");
	if (s->more)
		decide(w, NULL, NULL, "args: there are more of them than were looked at.", "");
}

static void
write_key(struct writer *w, const struct skeleton *s)
{
	struct buf key = {0};
	size_t n = 0;

	buf_add_str(&key, "{tool}");
	for (size_t i = 0; i < s->n_fields && n < KEY_FIELDS_MAX; i++)
		if (is_key(&s->fields[i])) {
			buf_printf(&key, ":{%s}", s->fields[i].pointer);
			n++;
		}
	if (n > 0)
		member_text(w, "key", buf_str(&key));
	buf_free(&key);
}

/* All but `decide` and the braces. */
static void
write_members(struct writer *w, const struct skeleton *s, const char *name, const char *class)
{
	bool irreversible = !strcmp(class, "irreversible");

	member_text(w, "name", name);
	member_text(w, "class", class);
	if (!is_guarded(class))
		return;
	write_key(w, s);
	member_fields(w, s, "secret", is_secret, NULL);
	member_fields(w, s, "keep", is_key, is_amount);
	for (size_t i = 0; i < s->n_fields; i++)
		if (is_idempotency_key(&s->fields[i])) {
			member_text(w, "provider_key_to", s->fields[i].pointer);
			break;
		}
	member_text(w, "lease", "60s");
	/* with the key's own fields in it no twin could have another key */
	if (irreversible && count(s, is_key) == 0)
		member_fields(w, s, "business_key", is_business, NULL);
}

static void
first_fault_cb(void *arg, const struct tool_finding *f)
{
	char **why = arg;

	if (!*why)
		*why = xasprintf("%s%s%s", f->pointer, *f->pointer ? ": " : "", f->text);
}

/* Would the loader take it? It knows the rules of names. */
static bool
loads(const struct skeleton *s, const char *name, const char *class, char **ret_why)
{
	struct tool_parse_list list = {0};
	struct buf text = {0};
	struct writer w = {.out = &text, .indent = ""};
	bool ok;

	buf_add_char(&text, '{');
	write_members(&w, s, name, class);
	buf_add_char(&text, '}');
	ok = tool_parse(&list, "", buf_str(&text), text.len, false, first_fault_cb, ret_why);
	for (size_t i = 0; i < list.n; i++)
		tool_policy_free(list.items[i]);
	free(list.items);
	buf_free(&text);
	return ok;
}

static void
write_policy(struct writer *w, const struct skeleton *s, const char *name, const char *class,
    const struct hint *hint)
{
	bool decided = hint->why == NULL;

	buf_add_char(w->out, '{');
	if (!decided || is_guarded(class)) {
		member(w, "decide");
		buf_add_char(w->out, '[');
		w->any = false;
		if (!decided)
			decide_class(w, name, hint);
		if (is_guarded(class))
			decide_guard(w, s, !strcmp(class, "irreversible"));
		buf_printf(w->out, "\n%s  ]", w->indent);
	}
	write_members(w, s, name, class);
	buf_printf(w->out, "\n%s}", w->indent);
}

/* The name, or NULL and why there is none. */
static char *
name_of(const struct json_doc *doc, uint32_t tool, char **ret_why)
{
	uint32_t node = json_member(doc, tool, "name");
	char *name;
	size_t len;

	if (!node || doc->nodes[node].type != JSON_STRING) {
		*ret_why = xstrdup("it has no name");
		return NULL;
	}
	name = json_string(doc, node, &len);
	if (strlen(name) == len)
		return name;
	free(name);
	*ret_why = xstrdup("there is a NUL in its name");
	return NULL;
}

bool
skeleton_write(struct buf *out, const struct json_doc *doc, uint32_t tool, const char *class,
    const char *indent, char **ret_name, char **ret_why)
{
	struct skeleton s = {.doc = doc};
	struct writer w = {.out = out, .indent = indent};
	struct hint hint = class ? (struct hint){class, NULL} : hint_of(doc, tool);
	uint32_t schema = json_member(doc, tool, "inputSchema");
	char *name = name_of(doc, tool, ret_why);
	bool ok = false;

	*ret_name = name;
	if (name) {
		if (schema)
			read_fields(&s, schema, "", true, 0);
		ok = loads(&s, name, hint.class, ret_why);
		if (ok)
			write_policy(&w, &s, name, hint.class, &hint);
	}
	for (size_t i = 0; i < s.n_fields; i++)
		free(s.fields[i].pointer);
	return ok;
}

char *
skeleton_file(const char *name)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	uint8_t hash[SHA256_BYTES];
	struct buf b = {0};

	for (const char *c = name; *c; c++) {
		if (strchr(plain, *c) && !(c == name && *c == '.'))
			buf_add_char(&b, *c);
		else
			buf_printf(&b, "%%%02X", (unsigned char)*c);
	}
	if (b.len > FILE_PLAIN_BYTES) {
		digest_sha256(name, strlen(name), hash);
		b.len = FILE_HEAD_BYTES;
		buf_add_char(&b, '-');
		for (size_t i = 0; i < 8; i++)
			buf_printf(&b, "%02x", hash[i]);
	}
	buf_add_str(&b, ".json");
	buf_add_char(&b, '\0');
	return b.data;
}
