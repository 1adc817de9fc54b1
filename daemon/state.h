/*
 * The state folder: made where it is missing, and one daemon's alone while it runs, since two that
 * shared an instance id would take each other's claims for their own.
 */
#ifndef EFFECTD_STATE_H
#define EFFECTD_STATE_H

#include "config.h"
#include "errors.h"

#include <stdbool.h>

/*
 * Returns 0, or an exit code (71 the system refused, 73 another daemon uses it) with one line in
 * *ret_error (owned by the caller). *ret_has_instance: a daemon has lived here before.
 */
int state_open(const struct config *config, bool *ret_has_instance, char **ret_error) must_check;
void state_close(void);

#endif
