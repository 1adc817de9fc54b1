/*
 * Rows and effects that share a business key, in the order of time. A row that the first pass left
 * gets an effect that it left; two rows that are too close to each other are a double, whoever
 * knows of them. Owns two sorts, the row that is held back until the next one is seen, and the
 * effects that wait for their row.
 */
#include "match_rest.h"

#include "alloc.h"
#include "extsort.h"
#include "match_record.h"

#include <stdlib.h>
#include <string.h>

#define ID_BYTES sizeof(struct uuid)
#define ROW_KEY_BYTES (ID_BYTES + MATCH_RECORD_PLACE_BYTES) /* business, time ... */
#define EFFECT_KEY_BYTES (ID_BYTES + 8 + ID_BYTES)	    /* business, claim, id */
#define WAITING_MAX 256 /* effects of one business key that wait for their row */
#define LOOK_EVERY 1024 /* rows between two questions whether to give up */

/* An effect that is left; its text is in `record`. */
struct left {
	struct buf record;
	struct match_effect effect;
};

/* A row; its texts are in `record`. */
struct held {
	struct buf record;
	struct export_row row;
	struct left left; /* has_effect */
	bool there, has_effect, doubled, again;
	enum match_rest_told told;
};

struct match_rest {
	struct match_tell *tell;
	const struct match_plan *plan;
	struct extsort *rows, *effects;
	struct buf record; /* in the making */
	struct left next;  /* the next effect, if there is one */
	bool has_next;
	struct held held[2]; /* the row before, and the one that is looked at */
	struct left waiting[WAITING_MAX];
	size_t n_waiting;
	int64_t begins_us; /* the ledger's memory */
};

struct match_rest *
match_rest_new(struct match_tell *tell)
{
	struct match_rest *m = xcalloc(1, sizeof *m);

	m->tell = tell;
	m->plan = tell->plan;
	m->rows = extsort_new(ROW_KEY_BYTES, m->plan->memory_bytes);
	m->effects = extsort_new(EFFECT_KEY_BYTES, m->plan->memory_bytes);
	return m;
}

void
match_rest_free(struct match_rest *m)
{
	if (!m)
		return;
	extsort_free(m->rows);
	extsort_free(m->effects);
	buf_free(&m->record);
	buf_free(&m->next.record);
	for (size_t i = 0; i < 2; i++) {
		buf_free(&m->held[i].record);
		buf_free(&m->held[i].left.record);
	}
	for (size_t i = 0; i < WAITING_MAX; i++)
		buf_free(&m->waiting[i].record);
	free(m);
}

const char *
match_rest_why(const struct match_rest *m)
{
	const char *why = extsort_why(m->rows);

	return why ? why : extsort_why(m->effects);
}

/* ---- what is left ---- */

bool
match_rest_row(struct match_rest *m, const struct export_row *row,
    const struct match_effect *effect, enum match_rest_told told)
{
	const struct uuid none = {{0}};
	const struct uuid *business = row->has_business ? &row->business
	    : effect && effect->has_business		? &effect->business
							: &none;
	int64_t time_us = row->has_time	 ? row->time_us
	    : effect && effect->has_done ? effect->done_us
					 : INT64_MIN;
	struct buf *out = &m->record;

	buf_clear(out);
	buf_add(out, business, sizeof *business);
	match_record_add_place(out, time_us, row);
	buf_add_char(out, (char)told);
	buf_add_char(out, effect != NULL);
	/* with its effect it was compared before */
	match_record_add_row(out, row, effect ? 0 : m->plan->n_fields);
	if (effect)
		match_record_add_effect(out, effect, 0);
	return extsort_add(m->rows, out->data, out->len);
}

bool
match_rest_effect(struct match_rest *m, const struct match_effect *effect)
{
	struct buf *out = &m->record;

	if (!effect->has_business) {
		match_tell_absent(m->tell, effect);
		return true;
	}
	buf_clear(out);
	buf_add(out, &effect->business, sizeof effect->business);
	match_record_add_i64(out, effect->claimed_us);
	buf_add(out, &effect->id, sizeof effect->id);
	match_record_add_effect(out, effect, m->plan->n_compare);
	return extsort_add(m->effects, out->data, out->len);
}

/* ---- effects that wait for a row ---- */

static bool
next_effect(struct match_rest *m)
{
	size_t len;
	const char *record = extsort_next(m->effects, &len), *at;

	m->has_next = record != NULL;
	if (!record)
		return !extsort_why(m->effects);
	buf_clear(&m->next.record);
	buf_add(&m->next.record, record, len);
	at = m->next.record.data + EFFECT_KEY_BYTES;
	match_record_effect(&at, &m->next.effect, m->plan->n_compare);
	return true;
}

/* Their texts go along: they stand in memory of the record's own. */
static void
swap(struct left *a, struct left *b)
{
	struct left old = *a;

	*a = *b;
	*b = old;
}

/* The memory of the i-th stays, for another one. */
static void
forget_waiting(struct match_rest *m, size_t i)
{
	for (m->n_waiting--; i < m->n_waiting; i++)
		swap(&m->waiting[i], &m->waiting[i + 1]);
}

/* Where too many wait, the one that has waited longest has no row. */
static bool
add_waiting(struct match_rest *m)
{
	if (m->n_waiting == WAITING_MAX) {
		match_tell_absent(m->tell, &m->waiting[0].effect);
		forget_waiting(m, 0);
	}
	swap(&m->waiting[m->n_waiting++], &m->next);
	return next_effect(m);
}

/* Effects whose business key is below `business` (NULL: all) have no row, and so has who waits. */
static bool
pass_effects(struct match_rest *m, const struct uuid *business)
{
	while (m->n_waiting > 0 &&
	    (!business || memcmp(&m->waiting[0].effect.business, business, ID_BYTES) < 0)) {
		match_tell_absent(m->tell, &m->waiting[0].effect);
		forget_waiting(m, 0);
	}
	while (m->has_next &&
	    (!business || memcmp(&m->next.effect.business, business, ID_BYTES) < 0)) {
		match_tell_absent(m->tell, &m->next.effect);
		if (!next_effect(m))
			return false;
	}
	return true;
}

/*
 * The effect that a row is of, among those of its business key that have none: the latest that was
 * under way at its time, else the latest that was claimed before. Without a time one after the
 * other. -1: none.
 */
static ptrdiff_t
choose(const struct match_rest *m, const struct export_row *row)
{
	const int64_t slack_us = m->plan->slack_us;
	ptrdiff_t before = -1;

	if (!row->has_time)
		return m->n_waiting > 0 ? 0 : -1;
	for (size_t i = m->n_waiting; i-- > 0;) {
		const struct match_effect *effect = &m->waiting[i].effect;

		if (effect->claimed_us > row->time_us + slack_us)
			continue;
		if (!effect->has_done || row->time_us <= effect->done_us + slack_us)
			return (ptrdiff_t)i;
		if (before < 0)
			before = (ptrdiff_t)i;
	}
	return before;
}

/* Looks for the effect of a row that has none yet. */
static bool
find_effect(struct match_rest *m, struct held *held)
{
	const struct export_row *row = &held->row;
	ptrdiff_t i;

	if (held->has_effect || !row->has_business)
		return true;
	if (!pass_effects(m, &row->business))
		return false;
	while (m->has_next && uuid_equal(&m->next.effect.business, &row->business) &&
	    (row->has_time ? m->next.effect.claimed_us <= row->time_us + m->plan->slack_us
			   : m->n_waiting == 0))
		if (!add_waiting(m))
			return false;
	if ((i = choose(m, row)) < 0)
		return true;
	swap(&held->left, &m->waiting[i]);
	held->has_effect = true;
	if (match_tell_pair(m->tell, row, &held->left.effect))
		held->told = MATCH_REST_CLASS;
	forget_waiting(m, (size_t)i);
	return true;
}

/* ---- rows ---- */

/* No row that follows can make it a double any more. */
static void
end_row(struct match_rest *m, struct held *held)
{
	const struct match_plan *plan = m->plan;
	const struct export_row *row = &held->row;
	const struct match_effect *effect = held->has_effect ? &held->left.effect : NULL;
	int64_t at_us = row->has_time ? row->time_us : plan->from_us;

	if (!held->there)
		return;
	held->there = false;
	if (held->told == MATCH_REST_DOUBLED)
		return;
	if (held->doubled)
		match_tell_doubled(m->tell, row, effect, held->again);
	else if (held->told == MATCH_REST_CLASS)
		return;
	else if (effect)
		match_tell(m->tell, MATCH_MATCHED, row, effect);
	else if (row->has_time && (row->time_us < plan->from_us || row->time_us > plan->to_us))
		match_tell(m->tell, MATCH_OUTSIDE, row, NULL);
	else
		match_tell(m->tell, at_us < m->begins_us ? MATCH_BEFORE_MEMORY : MATCH_BYPASSED,
		    row, NULL);
}

static uint64_t
time_of(const struct held *held)
{
	const unsigned char *at = (const unsigned char *)held->record.data + ID_BYTES;
	uint64_t time = 0;

	for (size_t i = 0; i < 8; i++)
		time = time << 8 | at[i];
	return time;
}

/*
 * Have both one business key, and that too close to each other? Rows whose time nobody knows come
 * first among their like: one is too many where there is no effect for each.
 */
static bool
is_double(const struct match_rest *m, const struct held *before, const struct held *held)
{
	static const struct uuid none = {{0}};
	const char *business = held->record.data;

	if (!before->there || !memcmp(business, &none, ID_BYTES) ||
	    memcmp(before->record.data, business, ID_BYTES) != 0)
		return false;
	if (time_of(before) == 0)
		return !before->has_effect || !held->has_effect;
	return time_of(held) - time_of(before) <= (uint64_t)m->plan->window_us;
}

static bool
take_row(
    struct match_rest *m, const char *record, size_t len, struct held *before, struct held *held)
{
	const char *at;

	buf_clear(&held->record);
	buf_add(&held->record, record, len);
	at = held->record.data + ROW_KEY_BYTES;
	held->told = (enum match_rest_told) * at++;
	held->has_effect = *at++;
	match_record_row(&at, &held->row, held->has_effect ? 0 : m->plan->n_fields);
	if (held->has_effect)
		match_record_effect(&at, &held->left.effect, 0);
	if (!find_effect(m, held))
		return false;
	held->doubled = held->again = is_double(m, before, held);
	before->doubled = before->doubled || held->doubled;
	held->there = true;
	end_row(m, before);
	return true;
}

bool
match_rest_end(struct match_rest *m, int64_t first_claim_us, bool (*stopped)(void))
{
	const struct match_plan *plan = m->plan;
	const char *record;
	unsigned n = 0;
	size_t len;

	m->begins_us = first_claim_us < plan->installed_us ? first_claim_us : plan->installed_us;
	if (plan->remembers_us > m->begins_us)
		m->begins_us = plan->remembers_us;
	if (!extsort_end(m->rows) || !extsort_end(m->effects) || !next_effect(m))
		return false;
	while ((record = extsort_next(m->rows, &len))) {
		if (!take_row(m, record, len, &m->held[(n + 1) % 2], &m->held[n % 2]))
			return false;
		if (++n % LOOK_EVERY == 0 && stopped && stopped())
			return false;
	}
	end_row(m, &m->held[(n + 1) % 2]);
	return pass_effects(m, NULL) && !match_rest_why(m);
}
