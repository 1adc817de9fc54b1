/*
 * Packing. A record never leaves the process that made it, so numbers and structs stand as they are
 * in memory, texts behind them with a NUL. Owns nothing.
 */
#include "match_record.h"

#include <string.h>

static void
add_u64(struct buf *out, uint64_t value)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		buf_add_char(out, (char)(value >> shift));
}

void
match_record_add_i64(struct buf *out, int64_t value)
{
	add_u64(out, (uint64_t)value ^ UINT64_C(1) << 63);
}

void
match_record_add_place(struct buf *out, int64_t time_us, const struct export_row *row)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

	for (const char *at = row->reference; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
	match_record_add_i64(out, time_us);
	add_u64(out, hash);
	add_u64(out, row->line);
}

static void
add_text(struct buf *out, const char *text)
{
	buf_add_char(out, text != NULL);
	if (text)
		buf_add(out, text, strlen(text) + 1);
}

static const char *
read_text(const char **at)
{
	const char *text = NULL;

	if (*(*at)++) {
		text = *at;
		*at += strlen(text) + 1;
	}
	return text;
}

void
match_record_add_row(struct buf *out, const struct export_row *row, size_t n_fields)
{
	struct export_row bare = *row;

	memset(bare.values, 0, sizeof bare.values);
	buf_add(out, &bare, offsetof(struct export_row, reference));
	add_text(out, row->reference);
	for (size_t i = 0; i < n_fields; i++)
		add_text(out, row->values[i]);
}

void
match_record_row(const char **at, struct export_row *ret, size_t n_fields)
{
	*ret = (struct export_row){0};
	memcpy(ret, *at, offsetof(struct export_row, reference));
	*at += offsetof(struct export_row, reference);
	ret->reference = read_text(at);
	for (size_t i = 0; i < n_fields; i++)
		ret->values[i] = read_text(at);
}

void
match_record_add_effect(struct buf *out, const struct match_effect *effect, size_t n_compare)
{
	struct match_effect bare = *effect;

	bare.key = NULL;
	buf_add(out, &bare, offsetof(struct match_effect, values));
	add_text(out, effect->key);
	for (size_t i = 0; i < n_compare; i++) {
		add_text(out, effect->values[i]);
		buf_add_char(out, (char)effect->numbers[i]);
	}
}

void
match_record_effect(const char **at, struct match_effect *ret, size_t n_compare)
{
	*ret = (struct match_effect){0};
	memcpy(ret, *at, offsetof(struct match_effect, values));
	*at += offsetof(struct match_effect, values);
	ret->key = read_text(at);
	for (size_t i = 0; i < n_compare; i++) {
		ret->values[i] = read_text(at);
		ret->numbers[i] = *(*at)++;
	}
}
