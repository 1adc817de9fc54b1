/*
 * How a tool's export is to be read and compared: from the tool's policy, as the daemon tells it,
 * and from what was typed, which wins.
 */
#ifndef EFFECTD_PLAN_H
#define EFFECTD_PLAN_H

#include "ctl.h"
#include "export.h"
#include "flag.h"
#include "match.h"
#include "reconcile_spec.h"

struct plan {
	const char *tool; /* borrowed from the flags */
	char *ns;	  /* NULL: the only one, unknown; never with a business key */
	struct reconcile_spec *spec;
	struct export_plan export;
	struct match_plan match;
	bool amounts[EXPORT_FIELDS_MAX]; /* of match.compare */
	bool has_from, has_to;		 /* the window's ends were typed; in match */
	/* The flags. */
	struct flag_list columns, compare, where;
};

/* Adds the flags that a plan is made of. */
void plan_add_flags(struct plan *plan, struct flag_set *set);
/* Asks the daemon for the policy, and makes the plan. The exit code; what is wrong was told. */
int plan_make(struct plan *plan, const struct ctl *ctl, struct flag_set *set, int64_t deadline_ms);
void plan_clear(struct plan *plan);

#endif
