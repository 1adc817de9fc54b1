/*
 * What a row and an effect are together, or each alone: the classes. Where they are found does not
 * belong here. Owns the texts of one difference.
 */
#include "match_tell.h"

#include "decimal.h"

#include <string.h>

void
match_tell(struct match_tell *t, enum match_class class, const struct export_row *row,
    const struct match_effect *effect)
{
	struct match_finding finding = {.class = class, .row = row, .effect = effect};

	t->found(t->arg, &finding);
}

void
match_tell_doubled(struct match_tell *t, const struct export_row *row,
    const struct match_effect *effect, bool again)
{
	struct match_finding finding = {
	    .class = MATCH_DOUBLED, .row = row, .effect = effect, .again = again};

	t->found(t->arg, &finding);
}

void
match_tell_absent(struct match_tell *t, const struct match_effect *effect)
{
	const struct match_plan *plan = t->plan;
	int64_t to_us = plan->to_us < plan->read_us ? plan->to_us : plan->read_us;
	enum match_class class;

	switch (effect->state) {
	case MATCH_PENDING:
		class = effect->has_lease ? MATCH_IN_FLIGHT : MATCH_OPEN;
		break;
	case MATCH_UNKNOWN:
	case MATCH_ESCALATED:
		class = MATCH_OPEN;
		break;
	case MATCH_RELEASED:
	case MATCH_FAILED:
		class = MATCH_NOT_LANDED;
		break;
	default:
		class = !plan->incomplete && effect->claimed_us >= plan->from_us + plan->slack_us &&
			effect->done_us <= to_us - plan->slack_us
		    ? MATCH_MISSING
		    : MATCH_NOT_JUDGED;
	}
	match_tell(t, class, NULL, effect);
}

static void
add_difference(struct match_tell *t, const char *field, const char *ledger, const char *provider)
{
	const char *between = t->field.len > 0 ? "; " : "";

	buf_printf(&t->field, "%s%s", between, field);
	buf_printf(&t->ledger, "%s%s", between, ledger);
	buf_printf(&t->provider, "%s%s", between, provider);
	buf_printf(&t->words, "%s%s: the ledger has %s, the provider %s", between, field, ledger,
	    *provider ? provider : "nothing");
}

/* Of the ledger's there is the hash alone. */
static void
add_business(struct match_tell *t)
{
	const char *between = t->field.len > 0 ? "; " : "";

	buf_printf(&t->field, "%sbusiness_key", between);
	buf_printf(&t->ledger, "%sanother", between);
	buf_printf(&t->provider, "%sits own", between);
	buf_printf(&t->words, "%sthe business key is another than the ledger's", between);
}

/* What is a number in the ledger is one at the provider, too, however it is spelt there. */
static bool
is_equal(const char *ledger, bool is_number, const char *provider)
{
	char spelling[DECIMAL_BYTES];

	return !strcmp(ledger, provider) ||
	    (is_number && decimal_spell(provider, strlen(provider), 0, spelling) &&
		!strcmp(ledger, spelling));
}

/* True: they differ, and it was told. */
static bool
tell_differences(
    struct match_tell *t, const struct export_row *row, const struct match_effect *effect)
{
	struct match_finding finding = {.class = MATCH_DIFFERS, .row = row, .effect = effect};
	const struct match_plan *plan = t->plan;
	const char *ledger, *provider;

	buf_clear(&t->field);
	buf_clear(&t->ledger);
	buf_clear(&t->provider);
	buf_clear(&t->words);
	for (size_t i = 0; i < plan->n_compare; i++) {
		ledger = effect->values[i];
		provider = row->values[plan->compare[i].field];
		provider = provider ? provider : "";
		if (ledger && !is_equal(ledger, effect->numbers[i], provider))
			add_difference(t, plan->compare[i].pointer, ledger, provider);
	}
	if (row->has_business && effect->has_business &&
	    !uuid_equal(&row->business, &effect->business))
		add_business(t);
	if (t->field.len == 0)
		return false;
	finding.field = buf_str(&t->field);
	finding.ledger = buf_str(&t->ledger);
	finding.provider = buf_str(&t->provider);
	finding.words = buf_str(&t->words);
	t->found(t->arg, &finding);
	return true;
}

bool
match_tell_pair(
    struct match_tell *t, const struct export_row *row, const struct match_effect *effect)
{
	switch (effect->state) {
	case MATCH_PENDING:
		match_tell(t, effect->has_lease ? MATCH_IN_FLIGHT : MATCH_LANDED_OPEN, row, effect);
		return true;
	case MATCH_UNKNOWN:
	case MATCH_ESCALATED:
		match_tell(t, MATCH_LANDED_OPEN, row, effect);
		return true;
	case MATCH_RELEASED:
		match_tell(t, MATCH_LANDED_RELEASED, row, effect);
		return true;
	case MATCH_FAILED:
		match_tell(t, MATCH_LANDED_FAILED, row, effect);
		return true;
	default:
		return tell_differences(t, row, effect);
	}
}

void
match_tell_free(struct match_tell *t)
{
	buf_free(&t->field);
	buf_free(&t->ledger);
	buf_free(&t->provider);
	buf_free(&t->words);
}
