/*
 * A writer of JSON that shares nothing with canon.c: writes a scanned value anew, its members in
 * another order, with other white space, other escapes and other spellings of numbers, and without
 * one value if that is wanted. What it writes must have the same canonical form.
 */
#ifndef EFFECTD_TESTS_RESPELL_H
#define EFFECTD_TESTS_RESPELL_H

#include "fuzz.h"

#define RESPELL_MEMBERS_MAX 512 /* beyond it they keep their order */

static inline void
respell_space(struct buf *out, struct fuzz_random *r)
{
	static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t", "\r\n "};

	buf_add_str(out, spaces[fuzz_roll(r, 8)]);
}

static inline void
respell_unit(struct buf *out, struct fuzz_random *r, unsigned unit)
{
	buf_printf(out, fuzz_roll(r, 2) ? "\\u%04x" : "\\u%04X", unit);
}

/* One character of valid UTF-8 at p; returns its length. */
static inline size_t
respell_char(struct buf *out, const uint8_t *p, struct fuzz_random *r)
{
	size_t n = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
	uint32_t cp = n == 1 ? *p : *p & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		cp = cp << 6 | (p[i] & 0x3f);
	if (cp == '/' && fuzz_roll(r, 2)) {
		buf_add_str(out, "\\/");
	} else if (cp == '\n' && fuzz_roll(r, 2)) {
		buf_add_str(out, "\\n");
	} else if (cp >= 0x20 && cp != '"' && cp != '\\' && fuzz_roll(r, 2)) {
		buf_add(out, p, n);
	} else if (cp >= 0x10000) {
		respell_unit(out, r, 0xd800 + ((cp - 0x10000) >> 10));
		respell_unit(out, r, 0xdc00 + ((cp - 0x10000) & 0x3ff));
	} else {
		respell_unit(out, r, cp);
	}
	return n;
}

static inline void
respell_string(struct buf *out, char *text, size_t len, struct fuzz_random *r)
{
	buf_add_char(out, '"');
	for (size_t i = 0; i < len;)
		i += respell_char(out, (const uint8_t *)text + i, r);
	buf_add_char(out, '"');
	free(text);
}

/* Only what changes no value: long integers are left alone, as their spelling may count. */
static inline void
respell_number(struct buf *out, const char *text, size_t len, struct fuzz_random *r)
{
	static const char *const tails[] = {"", ".0", "e0", "E+00", ".00e-0", "e-00"};
	bool integer = true;

	buf_add(out, text, len);
	for (size_t i = 0; i < len; i++)
		integer &= text[i] == '-' || (text[i] >= '0' && text[i] <= '9');
	if (integer && len <= 15)
		buf_add_str(out, tails[fuzz_roll(r, 6)]);
}

/* `without` is a node to be left out, 0 for none. The doc has no fault. */
static inline void
respell(struct buf *out, const struct json_doc *doc, uint32_t node, uint32_t without,
    struct fuzz_random *r)
{
	const struct json_node *n = &doc->nodes[node];
	uint32_t order[RESPELL_MEMBERS_MAX], count = 0, i, child = node + 1;
	bool object = n->type == JSON_OBJECT,
	     shuffled = object && n->n_children <= RESPELL_MEMBERS_MAX;
	size_t len;
	char *text;

	respell_space(out, r);
	if (n->type == JSON_STRING) {
		text = json_string(doc, node, &len);
		respell_string(out, text, len, r);
	} else if (n->type == JSON_NUMBER) {
		respell_number(out, doc->text + n->start, n->end - n->start, r);
	} else if (!object && n->type != JSON_ARRAY) {
		buf_add(out, doc->text + n->start, n->end - n->start);
	} else {
		buf_add_char(out, object ? '{' : '[');
		for (i = 0; shuffled && i < n->n_children; i++, child = doc->nodes[child].next) {
			uint32_t at = fuzz_roll(r, i + 1);

			order[i] = order[at];
			order[at] = child;
		}
		for (i = 0; i < n->n_children; i++) {
			if (shuffled)
				child = order[i];
			if (child != without) {
				if (count++ > 0)
					buf_add_char(out, ',');
				if (object) {
					respell_space(out, r);
					text = json_name(doc, child, &len);
					respell_string(out, text, len, r);
					respell_space(out, r);
					buf_add_char(out, ':');
				}
				respell(out, doc, child, without, r);
			}
			if (!shuffled)
				child = doc->nodes[child].next;
		}
		respell_space(out, r);
		buf_add_char(out, object ? '}' : ']');
	}
	respell_space(out, r);
}

#endif
