/*
 * The commands that config and policies name, looked at when these are loaded: what would not be
 * run is better heard of then than when an outcome is open.
 */
#ifndef EFFECTD_PROGRAMS_H
#define EFFECTD_PROGRAMS_H

struct config;
struct tool_set;

/* Warns of each exec probe and notifier that is not there or must not be run (runnable.h). */
void programs_warn(const struct config *config, struct tool_set *tools);

#endif
