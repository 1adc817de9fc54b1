/*
 * A batch layer that a test answers itself: link-time seam, included by the one source of a unit
 * test, whose definitions then stand before those of libdaemon.a. Rows are tables of text.
 */
#ifndef EFFECTD_TESTS_FAKE_BATCH_H
#define EFFECTD_TESTS_FAKE_BATCH_H

#include "batch.h"
#include "tap.h"

#include <stdbool.h>
#include <string.h>

#define FAKE_COLUMNS 32

/* Every column as the reader of its type finds it. */
struct fake_cell {
	const char *text; /* NULL = null */
	int64_t number;	  /* int4, int8, bool, instant; counts where text is "" */
	struct uuid uuid;
};

struct fake_row {
	struct fake_cell cells[FAKE_COLUMNS];
};

static TAILQ_HEAD(, batch_item) fake_items = TAILQ_HEAD_INITIALIZER(fake_items);
static unsigned fake_n; /* items added and not done */

void
batch_add(struct batch_item *item)
{
	item->in_flight = item->resent = false;
	TAILQ_INSERT_TAIL(&fake_items, item, link);
	fake_n++;
}

bool
batch_cancel(struct batch_item *item)
{
	if (item->in_flight)
		return false;
	TAILQ_REMOVE(&fake_items, item, link);
	fake_n--;
	return true;
}

/* Nothing of it is ever sent. */
unsigned
batch_queued(void)
{
	return fake_n;
}

unsigned
batch_in_flight(void)
{
	return 0;
}

/* Ends the item with an error, or with a row. */
static inline void
fake_end(struct batch_item *item, int err, const struct fake_row *row)
{
	struct batch_row r = {
	    .result = (const PGresult *)(const void *)row, .n_rows = 1, .resent = item->resent};

	TAILQ_REMOVE(&fake_items, item, link);
	fake_n--;
	item->in_flight = false;
	item->done(item, err, err ? NULL : &r);
}

static inline void
fake_fly(void)
{
	struct batch_item *item;

	TAILQ_FOREACH (item, &fake_items, link)
		item->in_flight = true;
}

static const struct fake_cell *
fake_cell(const struct batch_row *row, int column)
{
	ck_assert_int_lt(column, FAKE_COLUMNS);
	return &((const struct fake_row *)(const void *)row->result)->cells[column];
}

bool
batch_null(const struct batch_row *row, int column)
{
	return fake_cell(row, column)->text == NULL;
}

int32_t
batch_int4(const struct batch_row *row, int column)
{
	return (int32_t)fake_cell(row, column)->number;
}

int64_t
batch_int8(const struct batch_row *row, int column)
{
	return fake_cell(row, column)->number;
}

bool
batch_bool(const struct batch_row *row, int column)
{
	return fake_cell(row, column)->number != 0;
}

int64_t
batch_instant(const struct batch_row *row, int column)
{
	return fake_cell(row, column)->number;
}

const char *
batch_text(const struct batch_row *row, int column, size_t *ret_len)
{
	const char *text = fake_cell(row, column)->text;

	if (text && ret_len)
		*ret_len = strlen(text);
	return text;
}

bool
batch_uuid(const struct batch_row *row, int column, struct uuid *ret)
{
	if (batch_null(row, column))
		return false;
	*ret = fake_cell(row, column)->uuid;
	return true;
}

#endif
