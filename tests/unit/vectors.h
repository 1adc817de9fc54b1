/*
 * Reading tests/vectors/NAME.json: published vectors, for the authors of other clients as well.
 */
#ifndef EFFECTD_TESTS_VECTORS_H
#define EFFECTD_TESTS_VECTORS_H

#include "buf.h"
#include "json.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vectors {
	struct buf text;
	struct json_doc doc;
};

static inline struct vectors
vectors_read(const char *name)
{
	struct vectors v = {0};
	const char *src = getenv("EFFECTD_SRC");
	char path[4096], block[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "%s/tests/vectors/%s", src ? src : ".", name);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "cannot open %s", path);
	while ((n = fread(block, 1, sizeof block, f)) > 0)
		buf_add(&v.text, block, n);
	fclose(f);
	ck_assert_int_eq(json_scan(&v.doc, v.text.data, v.text.len, NULL, NULL), 0);
	return v;
}

static inline void
vectors_free(struct vectors *v)
{
	json_free(&v->doc);
	buf_free(&v->text);
}

/* The first row of a list of them, which must not be empty; then along `next`. */
static inline uint32_t
vectors_rows(const struct vectors *v, const char *list)
{
	uint32_t node = json_member(&v->doc, 0, list);

	ck_assert(node != 0 && v->doc.nodes[node].n_children > 0);
	return node + 1;
}

/* A string member of a row, NULL if absent. The caller frees. */
static inline char *
vectors_string(const struct vectors *v, uint32_t row, const char *name, size_t *ret_len)
{
	uint32_t node = json_member(&v->doc, row, name);

	return node ? json_string(&v->doc, node, ret_len) : NULL;
}

#endif
