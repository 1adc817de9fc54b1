/*
 * What the classes are called, and what they are to whoever looks at them. Data.
 */
#include "match.h"

static const struct {
	const char *name;
	bool is_finding, is_serious;
} classes[MATCH_CLASSES] = {
    [MATCH_MATCHED] = {"matched", false, false},
    [MATCH_MISSING] = {"missing_at_provider", true, true},
    [MATCH_BYPASSED] = {"bypassed", true, true},
    [MATCH_DOUBLED] = {"doubled", true, true},
    [MATCH_LANDED_OPEN] = {"landed_open", true, false},
    [MATCH_LANDED_RELEASED] = {"landed_though_released", true, true},
    [MATCH_LANDED_FAILED] = {"landed_though_failed", true, true},
    [MATCH_DIFFERS] = {"differs", true, true},
    [MATCH_IN_FLIGHT] = {"in_flight", false, false},
    [MATCH_OPEN] = {"open", false, false},
    [MATCH_NOT_LANDED] = {"not_landed", false, false},
    [MATCH_NOT_JUDGED] = {"not_judged", false, false},
    [MATCH_OUTSIDE] = {"outside", false, false},
    [MATCH_BEFORE_MEMORY] = {"before_memory", false, false},
};

const char *match_class_name(enum match_class class)
{
	return classes[class].name;
}

bool match_class_is_finding(enum match_class class)
{
	return classes[class].is_finding;
}

bool match_class_is_serious(enum match_class class)
{
	return classes[class].is_serious;
}
