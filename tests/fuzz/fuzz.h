/*
 * What the fuzz targets share: assertions that print what broke, a reader that takes an input apart
 * into choices and texts, and random numbers that are the input's own, so that one file is one run.
 *
 * A target is fuzz_<name>.c with LLVMFuzzerTestOneInput(); tests/fuzz/run builds, feeds and reports
 * it. It owns nothing between two inputs but buffers that are used again.
 */
#ifndef EFFECTD_TESTS_FUZZ_H
#define EFFECTD_TESTS_FUZZ_H

#include "buf.h"
#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the run with one sentence; libFuzzer keeps the input. */
#define must(fact, ...)                                                                      \
	do {                                                                                 \
		if (!(fact)) {                                                               \
			fprintf(stderr, "\nbroken: %s:%d: %s: ", __FILE__, __LINE__, #fact); \
			fprintf(stderr, __VA_ARGS__);                                        \
			fputc('\n', stderr);                                                 \
			abort();                                                             \
		}                                                                            \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What is left of an input. Reading past its end gives zeros and empty texts. */
struct fuzz_in {
	const uint8_t *p, *end;
};

static inline uint8_t
fuzz_byte(struct fuzz_in *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static inline uint64_t
fuzz_bytes(struct fuzz_in *in, int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | fuzz_byte(in);
	return v;
}

/* Up to the next line feed, which is taken too: owned, NUL added; bytes NUL in it stay. */
static inline char *
fuzz_line(struct fuzz_in *in, size_t *ret_len)
{
	size_t left = (size_t)(in->end - in->p);
	const uint8_t *lf = left > 0 ? memchr(in->p, '\n', left) : NULL;
	size_t len = lf ? (size_t)(lf - in->p) : left;
	char *text = malloc(len + 1);

	if (len > 0)
		memcpy(text, in->p, len);
	text[len] = '\0';
	in->p += len + (lf != NULL);
	if (ret_len)
		*ret_len = len;
	return text;
}

/* All that is left: owned, NUL added, so that a read past its end is found. */
static inline char *
fuzz_rest(struct fuzz_in *in, size_t *ret_len)
{
	size_t len = (size_t)(in->end - in->p);
	char *text = malloc(len + 1);

	if (len > 0)
		memcpy(text, in->p, len);
	text[len] = '\0';
	in->p = in->end;
	*ret_len = len;
	return text;
}

/* xorshift64*, seeded by the input (FNV-1a). */
struct fuzz_random {
	uint64_t state;
};

static inline struct fuzz_random
fuzz_random(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t h = UINT64_C(14695981039346656037);

	while (size-- > 0)
		h = (h ^ *p++) * UINT64_C(1099511628211);
	return (struct fuzz_random){.state = h | 1};
}

static inline uint32_t
fuzz_roll(struct fuzz_random *r, uint32_t n)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)((r->state * UINT64_C(2685821657736338717)) >> 33) % n;
}

/* One line for people: something, valid UTF-8, no control characters but those named. */
static inline void
fuzz_check_message(const char *text)
{
	must(text && *text, "a message says something");
	for (const char *c = text; *c; c++)
		must((uint8_t)*c >= 0x20 && *c != 0x7f, "a message is one line: %s", text);
}

static inline void
fuzz_same(const struct buf *a, const struct buf *b, const char *what)
{
	must(a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0),
	    "%s: \"%.*s\" and \"%.*s\"", what, (int)a->len, a->data, (int)b->len, b->data);
}

#endif
