/*
 * The first pass: by id, the export's rows beside the ledger's effects. What it leaves goes to the
 * second one (match_rest.c), and so do matched rows that have a business key. Promise: each row and
 * each effect is told once, under the class that says most; doubles of what is worse are told
 * besides. Owns a sort, and the lives of the id at hand.
 */
#include "match.h"

#include "alloc.h"
#include "extsort.h"
#include "match_record.h"
#include "match_rest.h"
#include "match_tell.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ID_BYTES sizeof(struct uuid)
#define KEY_BYTES (ID_BYTES + MATCH_RECORD_PLACE_BYTES)

/* The lives of one id: the ledger's row, and the newest of those that were forgotten. */
struct lives {
	struct match_effect now, past;
	bool has_now, has_past;
	char *key; /* now's, owned, and so are its values */
	char *values[EXPORT_FIELDS_MAX];
};

struct match {
	const struct match_plan *plan;
	struct match_tell tell;
	struct match_rest *rest;
	struct extsort *rows;
	struct buf record; /* in the making */
	struct buf held;   /* the row at hand */
	const char *next;  /* the export's next record; NULL = there is none */
	bool reading;	   /* match_export() is over */
	struct lives lives;
	int64_t first_claim_us; /* of all effects */
};

struct match *
match_new(const struct match_plan *plan,
    void (*found)(void *arg, const struct match_finding *finding), void *arg)
{
	struct match *m = xcalloc(1, sizeof *m);

	m->plan = plan;
	m->tell = (struct match_tell){.plan = plan, .found = found, .arg = arg};
	m->first_claim_us = INT64_MAX;
	m->rows = extsort_new(KEY_BYTES, plan->memory_bytes);
	m->rest = match_rest_new(&m->tell);
	return m;
}

static void
clear_lives(struct lives *lives)
{
	free(lives->key);
	for (size_t i = 0; i < EXPORT_FIELDS_MAX; i++)
		free(lives->values[i]);
	*lives = (struct lives){0};
}

void
match_free(struct match *m)
{
	if (!m)
		return;
	extsort_free(m->rows);
	match_rest_free(m->rest);
	match_tell_free(&m->tell);
	buf_free(&m->record);
	buf_free(&m->held);
	clear_lives(&m->lives);
	free(m);
}

const char *
match_why(const struct match *m)
{
	const char *why = m->rows ? extsort_why(m->rows) : NULL;

	return why ? why : match_rest_why(m->rest);
}

bool
match_export(struct match *m, const struct export_row *row)
{
	struct buf *out = &m->record;

	assert(!m->reading);
	if (!row->has_id)
		return match_rest_row(m->rest, row, NULL, MATCH_REST_NOTHING);
	buf_clear(out);
	buf_add(out, &row->id, sizeof row->id);
	match_record_add_place(out, row->has_time ? row->time_us : INT64_MIN, row);
	match_record_add_row(out, row, m->plan->n_fields);
	return extsort_add(m->rows, out->data, out->len);
}

static void
next_row(struct match *m)
{
	size_t len;

	m->next = extsort_next(m->rows, &len);
}

static bool
start_reading(struct match *m)
{
	m->reading = true;
	if (!extsort_end(m->rows))
		return false;
	next_row(m);
	return true;
}

static void
row_of_next(const struct match *m, struct export_row *ret)
{
	const char *at = m->next + KEY_BYTES;

	match_record_row(&at, ret, m->plan->n_fields);
}

/* Rows whose id is below `id` (NULL: all) are no effect's. */
static bool
pass_rows(struct match *m, const struct uuid *id)
{
	struct export_row row;

	while (m->next && (!id || memcmp(m->next, id, ID_BYTES) < 0)) {
		row_of_next(m, &row);
		if (!match_rest_row(m->rest, &row, NULL, MATCH_REST_NOTHING))
			return false;
		next_row(m);
	}
	return !match_why(m);
}

/* Which life does the only row of an id belong to? A row of before the next life began is the past
 * one's. */
static const struct match_effect *
life_of(const struct match *m, const struct export_row *row)
{
	const struct lives *lives = &m->lives;

	if (!lives->has_now)
		return &lives->past;
	if (lives->has_past && row->has_time &&
	    row->time_us < lives->now.claimed_us - m->plan->slack_us)
		return &lives->past;
	return &lives->now;
}

/* One row of an effect, or one of several. */
static bool
take_row(struct match *m, const struct export_row *row, bool first, bool only)
{
	const struct match_effect *effect = life_of(m, row);
	enum match_rest_told told =
	    match_tell_pair(&m->tell, row, effect) ? MATCH_REST_CLASS : MATCH_REST_NOTHING;

	if (!only) {
		match_tell_doubled(&m->tell, row, effect, !first);
		told = MATCH_REST_DOUBLED;
	}
	if (row->has_business || effect->has_business)
		return match_rest_row(m->rest, row, effect, told);
	if (told == MATCH_REST_NOTHING)
		match_tell(&m->tell, MATCH_MATCHED, row, effect);
	return true;
}

/* The rows of the id that is at hand, and its lives that have none. */
static bool
end_lives(struct match *m)
{
	struct lives *lives = &m->lives;
	const struct uuid id = lives->has_now ? lives->now.id : lives->past.id;
	bool first = true, ok = true, only, took_now = false, took_past = false;
	struct export_row row;
	const char *at;

	if (!lives->has_now && !lives->has_past)
		return true;
	ok = pass_rows(m, &id);
	while (ok && m->next && !memcmp(m->next, &id, ID_BYTES)) {
		/* a copy: what follows it decides, and takes its place in memory */
		row_of_next(m, &row);
		buf_clear(&m->held);
		match_record_add_row(&m->held, &row, m->plan->n_fields);
		next_row(m);
		at = m->held.data;
		match_record_row(&at, &row, m->plan->n_fields);
		only = first && !(m->next && !memcmp(m->next, &id, ID_BYTES));
		took_now = took_now || !only || life_of(m, &row) == &lives->now;
		took_past = took_past || !only || life_of(m, &row) == &lives->past;
		ok = take_row(m, &row, first, only);
		first = false;
	}
	if (ok && lives->has_now && !took_now)
		ok = match_rest_effect(m->rest, &lives->now);
	if (ok && lives->has_past && !took_past)
		ok = match_rest_effect(m->rest, &lives->past);
	clear_lives(lives);
	return ok && !match_why(m);
}

bool
match_ledger(struct match *m, const struct match_effect *effect)
{
	struct lives *lives = &m->lives;
	const struct uuid *id = lives->has_now ? &lives->now.id : &lives->past.id;

	if (!m->reading && !start_reading(m))
		return false;
	if ((lives->has_now || lives->has_past) && !uuid_equal(id, &effect->id) && !end_lives(m))
		return false;
	if (effect->claimed_us < m->first_claim_us)
		m->first_claim_us = effect->claimed_us;
	if (effect->state == MATCH_FORGOTTEN) {
		if (!lives->has_past || lives->past.done_us < effect->done_us)
			lives->past = *effect;
		lives->has_past = true;
		return true;
	}
	lives->now = *effect;
	lives->has_now = true;
	lives->now.key = lives->key = effect->key ? xstrdup(effect->key) : NULL;
	for (size_t i = 0; i < m->plan->n_compare; i++)
		lives->now.values[i] = lives->values[i] =
		    effect->values[i] ? xstrdup(effect->values[i]) : NULL;
	return true;
}

bool
match_end(struct match *m, bool (*stopped)(void))
{
	if ((!m->reading && !start_reading(m)) || !end_lives(m) || !pass_rows(m, NULL))
		return false;
	extsort_free(m->rows);
	m->rows = NULL;
	return match_rest_end(m->rest, m->first_claim_us, stopped);
}
