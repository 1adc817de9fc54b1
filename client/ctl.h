/*
 * What every file of effectctl shares: the command line as it was understood, the verbs and the
 * exit codes. Types only; there is no ctl.c.
 */
#ifndef EFFECTD_CTL_H
#define EFFECTD_CTL_H

#include <stdbool.h>

/* Exit codes: part of the contract, listed in effectctl(1). */
enum ctl_exit {
	CTL_OK = 0,
	CTL_FINDINGS = 1, /* a lint or a check found something */
	CTL_REPLAY = 10,  /* begin: a recorded success came back */
	CTL_REPLAY_FAILED = 11,
	CTL_USAGE = 64,
	CTL_INPUT = 65,
	CTL_UNAVAILABLE = 69, /* no daemon, or no ledger */
	CTL_BUG = 70,
	CTL_BUSY = 75,	  /* or overloaded */
	CTL_UNKNOWN = 76, /* or escalated */
	CTL_DENIED = 77,
	CTL_CONFIG = 78,
	CTL_MISMATCH = 79,
	CTL_EXHAUSTED = 80,
	CTL_HELD = 81,
	CTL_NOT_FOUND = 83,
	CTL_CONFLICT = 84 /* or not the owner */
};

struct ctl {
	const char *verb;   /* as in verbs.def; --json names its schema after it */
	const char *socket; /* -s, or NULL */
	bool json;
	int argc; /* what stands behind the verb */
	char **argv;
};

/* A verb returns the exit code, having said what there was to say. */
#define VERB(name, handler, help) int handler(struct ctl *ctl);
#include "verbs.def"
#undef VERB

#endif
