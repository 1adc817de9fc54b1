/*
 * Key templates. What compiles is what a reading of the rules of its own takes apart into literals
 * and placeholders; calls whose parts differ as text have different keys, those whose parts are
 * alike have one; a key is well formed; where none derives, the member that is missing is named.
 *
 * An input is: a byte (how many calls; is there a secret), a template's line, then per call the
 * parts, each a short line over an alphabet of what could run into each other. Beside those calls
 * are some that are made of the first to collide with it or with each other: an escape's text in
 * place of what it stands for, a separator that belongs to the part before or behind it.
 */
#include "canon.h"
#include "digest.h"
#include "fuzz.h"
#include "key.h"
#include "limits.h"

#include <ctype.h>

#define CALLS_MAX 4 /* and the made ones */
#define MADE_MAX 3
#define PARTS_MAX 32
#define PART_BYTES_MAX 96

/* What a part is made of: the digits of escapes, separators, controls, one character of each
 * length. */
static const char *const pieces[] = {"%", "2", "5", "3", "A", "a", ":", "/", "-", ".", "_", "~",
    "#", " ", "\x01", "\x7f", "\xc2\x80", "\xc2\x9f", "\xc2\xa0", "\xe2\x82\xac",
    "\xf0\x9f\x98\x80", "{", "}", "|", "true", "0", "1", "e", "+", "\\", "\"", "C"};
/* The members of args that templates name: an object inside, an element, an odd name. */
static const char *const names[] = {"/a", "/b", "/c/d", "/l/0", "/~0~1"};

#define N_NAMES (sizeof names / sizeof *names)
#define N_PARTS (N_NAMES + 4)
static char *const secret[] = {(char *)"/c"};

struct call {
	char *parts[N_NAMES +
	    4];		   /* as JSON would have it: values of args, then run, step, turn, tool */
	bool raw[N_NAMES]; /* not a string: a number or a word */
	struct buf args, tuple, key;
	bool derived;
};

static char *
read_part(struct fuzz_in *in)
{
	struct buf text = {0};
	char *part;

	while (in->p < in->end && *in->p != '\n' && text.len < PART_BYTES_MAX)
		buf_add_str(&text, pieces[*in->p++ % 32]);
	if (in->p < in->end && *in->p == '\n')
		in->p++;
	part = strdup(buf_str(&text));
	buf_free(&text);
	return part;
}

static void
add_value(struct buf *out, struct call *c, size_t i)
{
	struct json_doc doc = {0};
	const char *part = c->parts[i];
	size_t len = strlen(part);

	/* what reads as a number or as true is one, so that types meet */
	c->raw[i] = json_scan(&doc, part, len, NULL, NULL) == 0 && doc.nodes[0].start == 0 &&
	    doc.nodes[0].end == len &&
	    (doc.nodes[0].type == JSON_NUMBER || doc.nodes[0].type == JSON_TRUE);
	json_free(&doc);
	if (c->raw[i])
		buf_add(out, part, len);
	else
		buf_json_string(out, part, len);
}

static void
build_args(struct call *c)
{
	buf_add_str(&c->args, "{\"args\":{\"a\":");
	add_value(&c->args, c, 0);
	buf_add_str(&c->args, ",\"b\":");
	add_value(&c->args, c, 1);
	buf_add_str(&c->args, ",\"c\":{\"d\":");
	add_value(&c->args, c, 2);
	buf_add_str(&c->args, "},\"l\":[");
	add_value(&c->args, c, 3);
	buf_add_str(&c->args, "],\"~/\":");
	add_value(&c->args, c, 4);
	buf_add_str(&c->args, "}}");
}

/* A part as text: what it adds to the key before anything is escaped. Empty: none. */
static void
add_text(struct buf *out, const struct call *c, size_t i)
{
	if (i < N_NAMES && c->raw[i] && strcmp(c->parts[i], "true") != 0)
		canon_number(out, c->parts[i], strlen(c->parts[i]));
	else
		buf_add_str(out, c->parts[i]);
}

/* What stands between braces: the index of its part, -1 for a pointer at nothing, -2 if it breaks a
 * rule. */
static int
read_placeholder(const char *inside, size_t len, bool has_secret)
{
	static const char *const words[] = {"run", "step", "turn", "tool", "args"};
	char text[256];

	if (len >= sizeof text || memchr(inside, '{', len))
		return -2;
	memcpy(text, inside, len);
	text[len] = '\0';
	for (size_t i = 0; i < 5; i++) {
		if (strcmp(text, words[i]) == 0)
			return (int)(N_NAMES + i);
	}
	if (text[0] != '/' || !json_pointer_valid(text))
		return -2;
	if (has_secret && (strcmp(text, "/c") == 0 || strncmp(text, "/c/", 3) == 0))
		return -2;
	for (size_t i = 0; i < N_NAMES; i++) {
		if (strcmp(text, names[i]) == 0)
			return (int)i;
	}
	return -1;
}

/* Reads the template by the rules: how many placeholders it has, -1 if it breaks one. */
static int
read_template(const char *text, bool has_secret, int parts[PARTS_MAX])
{
	const char *p, *close;
	bool apart = true;
	int n = 0;

	if (!*text || !json_utf8(text, strlen(text)))
		return -1;
	for (p = text; *p; p++) {
		if ((uint8_t)*p < 0x20 || *p == 0x7f ||
		    ((uint8_t)*p == 0xc2 && (uint8_t)p[1] < 0xa0))
			return -1;
	}
	for (p = text; *p; p++) {
		if (*p == '}' || *p == '%')
			return -1;
		if (*p != '{') {
			apart |= (uint8_t)*p < 0x80 && !isalnum((uint8_t)*p);
			continue;
		}
		close = strchr(p, '}');
		if (!close || !apart)
			return -1;
		must(n < PARTS_MAX, "a line is short");
		parts[n] = read_placeholder(p + 1, (size_t)(close - p) - 1, has_secret);
		if (parts[n++] == -2)
			return -1;
		apart = false;
		p = close;
	}
	return n;
}

static void
check_refusal(int rc, const char *pointer, const char *why, const struct call *c, const int *parts,
    int n_parts)
{
	static const char *const told[] = {"/args/a", "/args/b", "/args/c/d", "/args/l/0",
	    "/args/~0~1", "/run", "/step", "/turn", "/tool"};
	int i;

	must(rc == ERR_INVALID_PARAMS && why && *why, "a refusal has its reason");
	must(c->key.len == 6, "nothing is added");
	for (i = 0;
	     i < n_parts && (parts[i] == (int)N_PARTS || (parts[i] >= 0 && c->parts[parts[i]][0]));
	     i++)
		;
	must(i < n_parts, "%s: a key without a missing part derives", pointer);
	if (parts[i] >= 0)
		must(strcmp(pointer, told[parts[i]]) == 0, "%s, not %s", told[parts[i]], pointer);
	else
		must(strncmp(pointer, "/args/", 6) == 0 && json_pointer_valid(pointer), "%s",
		    pointer);
}

/* As the daemon does it: args stand in a line, the fingerprint is theirs. */
static void
derive(struct call *c, const struct key_template *t, const int *parts, int n_parts)
{
	struct json_doc doc = {0};
	struct buf form = {0};
	char pointer[KEY_POINTER_BYTES] = "", hex[33];
	struct key_parts given = {.doc = &doc, .args = 1, .fingerprint_hex = hex};
	const char *why = NULL;
	struct uuid print;
	int rc, i;

	must(json_scan(&doc, c->args.data, c->args.len, NULL, NULL) == 0, "args are JSON");
	given.run = c->parts[N_NAMES][0] ? c->parts[N_NAMES] : NULL;
	given.step = c->parts[N_NAMES + 1];
	given.turn = c->parts[N_NAMES + 2];
	given.tool = c->parts[N_NAMES + 3];
	canon_value(&form, &doc, 1, NULL, 0);
	print = digest_fingerprint(form.data, form.len);
	digest_hex(print.b, sizeof print.b, hex);
	buf_free(&form);
	buf_add_str(&c->key, "before");
	rc = key_expand(t, &given, &c->key, pointer, &why);
	c->derived = rc == 0;
	if (rc != 0)
		check_refusal(rc, pointer, why, c, parts, n_parts);
	for (i = 0; rc == 0 && i < n_parts; i++) {
		must(parts[i] >= 0, "a pointer at nothing derives no key");
		if (parts[i] == (int)N_PARTS) {
			buf_add_str(&c->tuple, hex);
		} else {
			must(c->parts[parts[i]][0], "an empty part derives no key");
			add_text(&c->tuple, c, (size_t)parts[i]);
		}
		buf_add_char(&c->tuple, '\0'); /* which no part holds */
	}
	if (rc == 0) {
		must(c->key.len - 6 <= KEY_BYTES_MAX, "a key is bounded");
		why = key_check(c->key.data + 6, c->key.len - 6);
		must(!why, "\"%.*s\": %s", (int)c->key.len, c->key.data, why);
	}
	json_free(&doc);
}

static void
copy_parts(struct call *to, const struct call *from)
{
	for (size_t p = 0; p < N_PARTS; p++)
		to->parts[p] = strdup(from->parts[p]);
}

/* Takes the place of a part. */
static void
put_part(struct call *c, int part, struct buf *text)
{
	free(c->parts[part]);
	c->parts[part] = strdup(buf_str(text));
	buf_clear(text);
}

/* A call in which one character of a part (of ASCII) is written as the escape it would become. */
static void
make_escaped(struct call *c, const struct call *first, int part, struct fuzz_random *r)
{
	const char *text = first->parts[part];
	size_t at = fuzz_roll(r, (uint32_t)strlen(text) + 1);
	struct buf made = {0};

	copy_parts(c, first);
	buf_add(&made, text, at);
	if (text[at] && (uint8_t)text[at] < 0x80)
		buf_printf(&made, "%%%02X%s", (uint8_t)text[at], text + at + 1);
	else
		buf_add_str(&made, text + at);
	put_part(c, part, &made);
	buf_free(&made);
}

/* Two calls, (x L y, z) and (x, y L z): with L between them unescaped they would read the same. */
static void
make_shifted(
    struct call c[2], const struct call *first, const int pair[2], const char *literal, size_t len)
{
	const char *x = first->parts[pair[0]], *z = first->parts[pair[1]];
	struct buf made = {0};

	copy_parts(&c[0], first);
	copy_parts(&c[1], first);
	buf_add_str(&made, x);
	buf_add(&made, literal, len);
	buf_add_char(&made, 'y');
	put_part(&c[0], pair[0], &made);
	buf_add_char(&made, 'y');
	buf_add(&made, literal, len);
	buf_add_str(&made, z);
	put_part(&c[1], pair[1], &made);
	buf_free(&made);
}

/* Calls made of the first one; returns how many. */
static int
make_calls(struct call *c, const struct call *first, const char *text, const int *parts,
    int n_parts, struct fuzz_random *r)
{
	const char *open, *close = text;
	int n = 0, i = n_parts > 0 ? (int)fuzz_roll(r, (uint32_t)n_parts) : 0;

	if (n_parts == 0 || parts[i] < 0 || parts[i] >= (int)N_PARTS)
		return 0;
	make_escaped(&c[n++], first, parts[i], r);
	if (i + 1 == n_parts || parts[i + 1] < 0 || parts[i + 1] >= (int)N_PARTS ||
	    parts[i] == parts[i + 1])
		return n;
	for (int at = 0; at <= i; at++)
		close = strchr(close + 1, '}');
	open = strchr(close, '{');
	make_shifted(&c[n], first, &parts[i], close + 1, (size_t)(open - close) - 1);
	return n + 2;
}

static void
compare(const struct call *a, const struct call *b)
{
	if (!a->derived || !b->derived)
		return;
	must((a->key.len == b->key.len && memcmp(a->key.data, b->key.data, a->key.len) == 0) ==
		(a->tuple.len == b->tuple.len &&
		    (a->tuple.len == 0 || memcmp(a->tuple.data, b->tuple.data, a->tuple.len) == 0)),
	    "\"%.*s\" and \"%.*s\"", (int)a->key.len, a->key.data, (int)b->key.len, b->key.data);
}

static void
check_calls(const struct key_template *t, struct fuzz_in *in, int n_calls, const int *parts,
    int n_parts, struct fuzz_random *r)
{
	struct call calls[CALLS_MAX + MADE_MAX] = {0};
	int i, n_made;

	for (i = 0; i < n_calls; i++) {
		for (size_t p = 0; p < N_PARTS; p++)
			calls[i].parts[p] = read_part(in);
	}
	n_made = make_calls(&calls[n_calls], &calls[0], key_template_text(t), parts, n_parts, r);
	for (i = 0; i < n_calls + n_made; i++) {
		build_args(&calls[i]);
		derive(&calls[i], t, parts, n_parts);
		for (int before = 0; before < i; before++)
			compare(&calls[before], &calls[i]);
	}
	for (i = 0; i < n_calls + n_made; i++) {
		for (size_t p = 0; p < N_PARTS; p++)
			free(calls[i].parts[p]);
		buf_free(&calls[i].args);
		buf_free(&calls[i].tuple);
		buf_free(&calls[i].key);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};
	struct fuzz_random r = fuzz_random(data, size);
	uint8_t how = fuzz_byte(&in);
	char *text = fuzz_line(&in, NULL), *why = NULL;
	int parts[PARTS_MAX], n_parts;
	struct key_template *t;
	bool has_secret = how & 1, constant = true, args = false;

	if (strlen(text) > 3 * PARTS_MAX)
		text[3 * PARTS_MAX] = '\0'; /* so that there are no more parts than that */
	n_parts = read_template(text, has_secret, parts);
	t = key_compile(text, secret, has_secret, &why);
	must((t != NULL) == (n_parts >= 0), "\"%s\" %s: %s", text, t ? "compiles" : "does not",
	    why ? why : "");
	if (t) {
		for (int i = 0; i < n_parts; i++) {
			constant &= parts[i] == (int)N_NAMES + 3;
			args |= parts[i] == (int)N_PARTS;
		}
		must(!why && strcmp(key_template_text(t), text) == 0, "its text is kept");
		must(key_template_uses_args(t) == args, "it knows whether it needs args");
		must(key_template_is_constant(t) == constant, "and whether it is constant");
		check_calls(t, &in, 1 + how / 2 % CALLS_MAX, parts, n_parts, &r);
	} else {
		fuzz_check_message(why);
	}
	key_template_free(t);
	free(why);
	free(text);
	return 0;
}
