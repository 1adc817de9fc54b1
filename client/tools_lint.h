/* The verb tools lint. */
#ifndef EFFECTD_TOOLS_LINT_H
#define EFFECTD_TOOLS_LINT_H

#include "ctl.h"

/* Returns the exit code, having said what there was to say. */
int tools_lint(struct ctl *ctl);

#endif
