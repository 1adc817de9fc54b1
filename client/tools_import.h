/* The verb tools import. */
#ifndef EFFECTD_TOOLS_IMPORT_H
#define EFFECTD_TOOLS_IMPORT_H

#include "ctl.h"

/* Returns the exit code, having said what there was to say. */
int tools_import(struct ctl *ctl);

#endif
