/*
 * A provider's export against the ledger: which row belongs to which effect, and what that says. By
 * the provider key (which is the effect's id) first, what is left by business key. Bounded memory,
 * whatever the sizes.
 *
 * In this order: match_new(), match_export() for each row, match_ledger() for each effect by
 * ascending id, match_end(). What is found is told on the way, by `found`, and most of it by the
 * last one. What is printed and noted of it does not belong here.
 */
#ifndef EFFECTD_MATCH_H
#define EFFECTD_MATCH_H

#include "export.h"

enum match_state {
	MATCH_PENDING,
	MATCH_UNKNOWN,
	MATCH_ESCALATED,
	MATCH_RELEASED,
	MATCH_SUCCEEDED,
	MATCH_FAILED,
	MATCH_FORGOTTEN /* it had succeeded */
};

/* An effect as `scan` tells it. Texts are borrowed. */
struct match_effect {
	struct uuid id, business;
	const char *key; /* NULL: forgotten */
	enum match_state state;
	int64_t attempt, claimed_us, done_us;
	bool has_business, has_done, has_lease; /* its lease is not over */
	const char *values[EXPORT_FIELDS_MAX]; /* kept args, by the plan's `compare`; NULL = none */
	bool numbers[EXPORT_FIELDS_MAX];       /* JSON numbers, in decimal_spell()'s spelling */
};

enum match_class {
	MATCH_MATCHED,
	MATCH_MISSING,	       /* in the ledger, not at the provider */
	MATCH_BYPASSED,	       /* at the provider, not in the ledger */
	MATCH_DOUBLED,	       /* at the provider more than once */
	MATCH_LANDED_OPEN,     /* at the provider; the ledger does not know yet */
	MATCH_LANDED_RELEASED, /* at the provider; the ledger says that it did not land */
	MATCH_LANDED_FAILED,   /* at the provider; the ledger says that it was refused */
	MATCH_DIFFERS,	       /* compared fields differ */
	MATCH_IN_FLIGHT,       /* its holder is at work */
	MATCH_OPEN,	       /* nobody knows, and the provider has it not */
	MATCH_NOT_LANDED,      /* both say that it did not land */
	MATCH_NOT_JUDGED,    /* in the ledger; too close to the window's ends to be missed, or rows
				were bad */
	MATCH_OUTSIDE,	     /* at the provider, outside of the window */
	MATCH_BEFORE_MEMORY, /* at the provider, before what the ledger remembers */
	MATCH_CLASSES
};

const char *match_class_name(enum match_class class);
/* Should a person look? */
bool match_class_is_finding(enum match_class class);
/* Does it contradict the ledger, so that an incident is opened? */
bool match_class_is_serious(enum match_class class);

struct match_finding {
	enum match_class class;
	const struct export_row *row;	   /* NULL: the provider has none */
	const struct match_effect *effect; /* NULL: the ledger has none */
	bool again;			   /* doubled: not the first one of them */
	/* differs: what is compared, and both values, several joined by "; " */
	const char *field, *ledger, *provider;
	const char *words; /* all of that, for people */
};

/* Compared fields: the kept arg's name, and which of the export's fields. */
struct match_compare {
	const char *pointer;
	int field;
};

struct match_plan {
	size_t n_fields; /* of the export */
	struct match_compare compare[EXPORT_FIELDS_MAX];
	size_t n_compare;
	int64_t slack_us;    /* how close to the window's ends absence is not judged */
	int64_t window_us;   /* within which a business key must not come again */
	size_t memory_bytes; /* of each of three sorts */
	/* May be set until match_end(). */
	int64_t from_us, to_us; /* the window */
	int64_t read_us;	/* when the export began to be read: what came later is not in it */
	int64_t remembers_us;	/* since when the ledger remembers all that landed */
	int64_t installed_us;	/* when the ledger began */
	bool incomplete;	/* rows could not be read: nothing is missing */
};

struct match;

/* `plan` is borrowed, and read until the end. */
struct match *match_new(const struct match_plan *plan,
    void (*found)(void *arg, const struct match_finding *finding), void *arg);
void match_free(struct match *match); /* NULL is fine */
/* All three: false: match_why(). */
bool match_export(struct match *match, const struct export_row *row);
bool match_ledger(struct match *match, const struct match_effect *effect);
/* `stopped` is asked now and then: true = give up, and return false without a reason. */
bool match_end(struct match *match, bool (*stopped)(void));
const char *match_why(const struct match *match);

#endif
