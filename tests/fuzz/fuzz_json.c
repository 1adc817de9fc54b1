/*
 * Scanner and canonical form. What is accepted has spans that lie in the text and within each
 * other, and scans again; its canonical form is its own canonical form, that of every other
 * spelling, and where the document holds no integer beyond a double, the one that the oracle gives.
 * What is refused has a place and a pointer, and to V8 it is no JSON either.
 */
#include "canon.h"
#include "fuzz.h"
#include "json_text.h"
#include "oracle.h"
#include "respell.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define RESCANS_MAX 32
#define POINTERS_MAX 64
#define INTEGER_DIGITS_MAX 400

static struct json_doc doc, again;
static struct buf form, other, odd;

static bool
is_gap(const char *p, const char *end, const char *punctuation)
{
	bool seen = false;

	for (; p < end; p++) {
		if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
			continue;
		if (seen || !*punctuation || *p != *punctuation)
			return false;
		seen = true;
	}
	return !*punctuation || seen;
}

/* The node's children, and theirs: in order, within it, nothing but space and one sign between. */
static uint32_t
check_spans(const struct json_doc *d, uint32_t node)
{
	const struct json_node *n = &d->nodes[node];
	uint32_t child = node + 1, next = child, i, at = n->start + 1;
	bool object = n->type == JSON_OBJECT;

	must(n->start < n->end && n->end <= d->len, "node %u lies in the text", node);
	if (!object && n->type != JSON_ARRAY) {
		must(n->n_children == 0, "a leaf has no children");
		return child;
	}
	for (i = 0; i < n->n_children; i++) {
		const struct json_node *c = &d->nodes[child];
		uint32_t start = object ? c->name_start : c->start;

		must(child == next && child < d->n_nodes, "children follow their elders");
		must(at <= start && start <= c->start && c->end < n->end, "a child lies inside");
		must(is_gap(d->text + at, d->text + start, i == 0 ? "" : ","), "one comma");
		must(object == (c->name_end > 0), "members have names, elements have none");
		if (object) {
			must(c->name_end <= c->start && d->text[c->name_start] == '"' &&
				d->text[c->name_end - 1] == '"',
			    "a name in quotes");
			must(is_gap(d->text + c->name_end, d->text + c->start, ":"), "one colon");
		}
		next = check_spans(d, child);
		at = c->end;
		must(i + 1 < n->n_children || c->next == 0, "the last child is the last");
		child = c->next;
	}
	must(is_gap(d->text + at, d->text + n->end - 1, ""), "nothing behind the last child");
	return next;
}

/* A value cut out of its document is a document. */
static void
check_cuts(void)
{
	for (uint32_t i = 0; i < doc.n_nodes && i < RESCANS_MAX; i++) {
		const struct json_node *n = &doc.nodes[i];

		must(json_scan(&again, doc.text + n->start, n->end - n->start, NULL, NULL) == 0,
		    "\"%.*s\" scans alone", (int)(n->end - n->start), doc.text + n->start);
		must(again.nodes[0].type == n->type && again.nodes[0].n_children == n->n_children,
		    "and is the same");
	}
}

static int
compare_utf16(const char *a, size_t a_len, const char *b, size_t b_len)
{
	uint16_t units[2][4096];
	size_t n[2] = {0, 0};

	for (int side = 0; side < 2; side++) {
		const uint8_t *p = (const uint8_t *)(side ? b : a),
			      *end = p + (side ? b_len : a_len);

		while (p < end) {
			size_t len = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
			uint32_t cp = len == 1 ? *p : *p & (0x7fu >> len);

			for (size_t i = 1; i < len; i++)
				cp = cp << 6 | (p[i] & 0x3f);
			p += len;
			must(n[side] + 2 <= 4096, "max_len keeps names short");
			if (cp >= 0x10000) {
				units[side][n[side]++] =
				    (uint16_t)(0xd800 + ((cp - 0x10000) >> 10));
				cp = 0xdc00 + ((cp - 0x10000) & 0x3ff);
			}
			units[side][n[side]++] = (uint16_t)cp;
		}
	}
	for (size_t i = 0; i < n[0] && i < n[1]; i++) {
		if (units[0][i] != units[1][i])
			return units[0][i] < units[1][i] ? -1 : 1;
	}
	return n[0] < n[1] ? -1 : n[0] > n[1];
}

/* Members stand in the order of UTF-16 code units, no two alike, and are found by their names. */
static void
check_members(uint32_t object)
{
	uint32_t n = doc.nodes[object].n_children;
	struct json_ref *refs = malloc((n + 1) * sizeof *refs);
	char *name = NULL, *before = NULL;
	size_t len, before_len = 0;

	json_sorted(&doc, object, refs);
	for (uint32_t i = 0; i < n; i++) {
		name = json_name(&doc, refs[i].node, &len);
		must(json_utf8(name, len), "names are UTF-8");
		if (before)
			must(compare_utf16(before, before_len, name, len) < 0,
			    "\"%s\" stands before \"%s\"", before, name);
		if (strlen(name) == len)
			must(json_member(&doc, object, name) == refs[i].node, "%s is found", name);
		free(before);
		before = name;
		before_len = len;
	}
	free(before);
	free(refs);
}

/* Of every value: the pointer that leads to it, made here, leads to it. Returns how many there
 * were. */
static unsigned
check_pointers(uint32_t node, struct buf *path, unsigned n_seen)
{
	uint32_t child = node + 1, found, i;
	size_t len = path->len, name_len;
	bool nul;
	char *name;

	must(json_pointer(&doc, 0, buf_str(path), &found) && found == node, "%s leads there",
	    buf_str(path));
	for (i = 0; i < doc.nodes[node].n_children && n_seen < POINTERS_MAX; i++) {
		nul = false;
		buf_add_char(path, '/');
		if (doc.nodes[node].type == JSON_ARRAY) {
			buf_printf(path, "%u", (unsigned)i);
		} else {
			name = json_name(&doc, child, &name_len);
			for (size_t at = 0; at < name_len; at++) {
				nul |= name[at] == '\0';
				if (name[at] == '~' || name[at] == '/')
					buf_add_str(path, name[at] == '~' ? "~0" : "~1");
				else
					buf_add_char(path, name[at]);
			}
			free(name);
		}
		if (!nul)
			n_seen = check_pointers(child, path, n_seen + 1);
		path->len = len;
		child = doc.nodes[child].next;
	}
	return n_seen;
}

/* Digits of an integer literal or of a number in the canonical spelling, without exponent. */
static void
plain_digits(const char *text, size_t len, char out[INTEGER_DIGITS_MAX])
{
	size_t n = 0, point = 0, exponent = 0, i = text[0] == '-';
	bool negative = i == 1, fraction = false;

	for (; i < len && text[i] != 'e'; i++) {
		if (text[i] == '.')
			fraction = true;
		else if (n > 0 || text[i] != '0' || fraction)
			out[n++] = text[i], point += fraction;
	}
	if (i < len)
		exponent = (size_t)strtoul(text + i + 2, NULL, 10);
	must(exponent >= point && n + exponent - point < INTEGER_DIGITS_MAX - 1, "an integer");
	for (i = point; i < exponent; i++)
		out[n++] = '0';
	out[n] = '\0';
	while (n > 0 && out[0] == '0')
		memmove(out, out + 1, n--);
	if (n > 0 && negative) {
		memmove(out + 1, out, n + 1);
		out[0] = '-';
	}
}

/* The spelling keeps the double, and of an integer literal every digit. */
static void
check_number(const struct json_node *n)
{
	char literal[INTEGER_DIGITS_MAX], spelt[INTEGER_DIGITS_MAX], small[64];
	const char *text = doc.text + n->start;
	size_t len = n->end - n->start;
	struct json_decimal d = json_text_decimal(text, len);
	double a = json_double(text, len), b;
	int64_t value;
	bool fits;

	must(isfinite(a), "what is accepted is no infinity");
	other.len = 0;
	canon_number(&other, text, len);
	b = strtod(buf_str(&other), NULL);
	must(a == b, "%.*s and %s are one double", (int)len, text, other.data);
	if (d.integer && len < INTEGER_DIGITS_MAX / 2) {
		plain_digits(text, len, literal);
		plain_digits(other.data, other.len, spelt);
		must(strcmp(literal, spelt) == 0, "%.*s keeps its digits: %s", (int)len, text,
		    other.data);
	}
	fits = json_text_int(text, len, &value);
	must(!fits || d.integer, "only integer literals are integers");
	if (d.integer && len < sizeof small) {
		memcpy(small, text, len);
		small[len] = '\0';
		errno = 0;
		must((strtoll(small, NULL, 10) == value || !fits) && fits == (errno == 0),
		    "%s is %" PRId64, small, value);
	}
}

static void
check_values(void)
{
	struct buf path = {0};
	char *text;
	size_t len;

	check_pointers(0, &path, 0);
	buf_free(&path);
	for (uint32_t i = 0; i < doc.n_nodes; i++) {
		switch (doc.nodes[i].type) {
		case JSON_OBJECT:
			check_members(i);
			break;
		case JSON_NUMBER:
			check_number(&doc.nodes[i]);
			break;
		case JSON_STRING:
			text = json_string(&doc, i, &len);
			must(json_utf8(text, len), "strings are UTF-8");
			free(text);
			break;
		default:
			break;
		}
	}
}

static void
canonical_of(const char *text, size_t len, struct buf *out)
{
	int rc = json_scan(&again, text, len, NULL, NULL);

	must(rc == 0, "\"%.*s\" scans: %d", (int)len, text, rc);
	out->len = 0;
	canon_value(out, &again, 0, NULL, 0);
}

/* An integer beyond what a double counts: there the form is ours alone. */
static bool
is_beyond_double(void)
{
	for (uint32_t i = 0; i < doc.n_nodes; i++) {
		const struct json_node *n = &doc.nodes[i];

		if (n->type == JSON_NUMBER &&
		    json_text_decimal(doc.text + n->start, n->end - n->start).integer &&
		    fabs(json_double(doc.text + n->start, n->end - n->start)) > 9007199254740991.0)
			return true;
	}
	return false;
}

static void
check_form(const uint8_t *data, size_t size)
{
	struct fuzz_random r = fuzz_random(data, size);
	struct buf judged = {0};
	cJSON *tree;

	form.len = 0;
	canon_value(&form, &doc, 0, NULL, 0);
	canonical_of(form.data, form.len, &other);
	fuzz_same(&form, &other, "the form of the form");
	odd.len = 0;
	respell(&odd, &doc, 0, 0, &r);
	canonical_of(odd.data, odd.len, &other);
	fuzz_same(&form, &other, "the form of another spelling");
	tree = cJSON_ParseWithLength(buf_str(&form), form.len);
	must(tree, "cJSON reads what the scanner lets pass");
	cJSON_Delete(tree);
	if (oracle_is_there() && !is_beyond_double()) {
		must(oracle_ask(doc.text, doc.len, &judged), "it is JSON to V8");
		fuzz_same(&form, &judged, "the oracle");
		buf_free(&judged);
	}
}

/* Left out by its pointer, or never written: one form. */
static void
check_skip(const uint8_t *data, size_t size)
{
	struct fuzz_random r = fuzz_random(data, size);
	uint32_t node = fuzz_roll(&r, doc.n_nodes), at = 0, child, i, index = 0;
	char pointer[JSON_POINTER_BYTES] = "", *const skip[] = {pointer};
	size_t len = 0;
	char number[16];

	while (at != node) { /* down to it; a sibling's subtree ends where the next begins */
		for (child = at + 1, i = 0; doc.nodes[child].next && doc.nodes[child].next <= node;
		     child = doc.nodes[child].next)
			i++;
		index = (uint32_t)snprintf(number, sizeof number, "%u", (unsigned)i);
		if (doc.nodes[at].type == JSON_ARRAY
			? !json_text_add_token(pointer, &len, number, number + index)
			: !json_text_add_token(pointer, &len,
			      doc.text + doc.nodes[child].name_start + 1,
			      doc.text + doc.nodes[child].name_end - 1))
			return;
		at = child;
	}
	pointer[len] = '\0';
	if (node == 0 || strstr(pointer, "\xef\xbf\xbd"))
		return; /* a NUL in a name, which no pointer can spell */
	form.len = odd.len = 0;
	canon_value(&form, &doc, 0, skip, 1);
	respell(&odd, &doc, 0, node, &r);
	canonical_of(odd.data, odd.len, &other);
	fuzz_same(&form, &other, pointer);
}

static void
check_error(int rc, const struct json_error *error, size_t len)
{
	uint32_t found, child;
	bool is_child = error->member == 0;

	must((rc == 0) == (error->fault == JSON_OK), "an error has its fault");
	must((rc == ERR_PARSE) == (error->fault >= JSON_DEPTH), "and the right kind of it");
	must(error->offset <= len, "a fault stands in the text");
	must(json_pointer_valid(error->pointer), "a pointer is one: %s", error->pointer);
	must(strlen(error->pointer) < JSON_POINTER_BYTES, "and ends");
	if (rc != ERR_INVALID_PARAMS) {
		must(rc == 0 || doc.n_nodes == 0, "no node of what is no JSON");
		return;
	}
	must(check_spans(&doc, 0) == doc.n_nodes, "all nodes are somebody's");
	for (child = 1; !is_child && child && doc.nodes[0].n_children;
	     child = doc.nodes[child].next)
		is_child = child == error->member;
	must(is_child, "member %u is a child of the root", error->member);
	if (strlen(error->pointer) < JSON_POINTER_BYTES - 8 &&
	    !strstr(error->pointer, "\xef\xbf\xbd"))
		must(json_pointer(&doc, 0, error->pointer, &found), "%s is there", error->pointer);
}

/* Do two members of `object`, or below it on the way of `pointer`, share a name? Such a text is
 * refused, though another of its faults may be the one that is told. */
static bool
is_ambiguous(uint32_t object, const char *pointer)
{
	const char *token, *end;
	uint32_t child, next = 0;
	unsigned n = 0;

	if (!*pointer || doc.nodes[object].type != JSON_OBJECT || doc.nodes[object].n_children == 0)
		return false;
	token = pointer + 1;
	end = strchrnul(token, '/');
	for (child = object + 1; child; child = doc.nodes[child].next) {
		size_t len;
		char *name = json_name(&doc, child, &len);

		if (len == (size_t)(end - token) && memcmp(name, token, len) == 0 && n++ == 0)
			next = child;
		free(name);
	}
	return n > 1 || (n == 1 && is_ambiguous(next, end));
}

/* The text with its opaque value taken for null is as good or as bad without the exemption. */
static void
check_opaque(const char *text, size_t len, int plain, const char *pointer)
{
	struct json_error error, without;
	uint32_t node = 0, found, i;
	int rc;

	rc = json_scan(&doc, text, len, pointer, &error);
	check_error(rc, &error, len);
	must(plain != 0 || rc == 0, "an exemption makes nothing worse");
	if (rc == ERR_PARSE)
		return;
	for (i = 0; i < doc.n_nodes; i++) {
		if (doc.nodes[i].type == JSON_OPAQUE && node == 0)
			node = i;
	}
	if (!is_ambiguous(0, pointer))
		must(json_pointer(&doc, 0, pointer, &found) ? found == node : node == 0,
		    "what is exempt is what stands at %s", pointer);
	if (node == 0) {
		must(rc == plain, "without an exempt value nothing changes");
		return;
	}
	odd.len = 0;
	buf_add(&odd, text, doc.nodes[node].start);
	buf_add_str(&odd, "null");
	buf_add(&odd, text + doc.nodes[node].end, len - doc.nodes[node].end);
	must(json_scan(&again, odd.data, odd.len, pointer, &without) == rc, "as with null");
	must(without.fault == error.fault && strcmp(without.pointer, error.pointer) == 0 &&
		again.n_nodes == doc.n_nodes,
	    "the same fault at the same place");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};
	struct json_error error;
	struct buf judged = {0};
	size_t len;
	char *text = fuzz_rest(&in, &len);
	int rc = json_scan(&doc, text, len, NULL, &error);

	check_error(rc, &error, len);
	if (rc == 0) {
		must(check_spans(&doc, 0) == doc.n_nodes, "all nodes are somebody's");
		must(is_gap(text, text + doc.nodes[0].start, "") &&
			is_gap(text + doc.nodes[0].end, text + len, ""),
		    "nothing but space around the root");
		must(json_utf8(text, len), "what is accepted is UTF-8");
		check_cuts();
		check_values();
		check_form(data, size);
		check_skip(data, size);
	} else if (error.fault != JSON_DEPTH && oracle_is_there() && json_utf8(text, len)) {
		must(oracle_ask(text, len, &judged) == (rc != ERR_PARSE), "V8 thinks so too");
		buf_free(&judged);
	}
	check_opaque(text, len, rc, "/r");
	check_opaque(text, len, rc, "/a/b");
	free(text);
	return 0;
}
