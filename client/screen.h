/*
 * A terminal's whole screen for a program that shows what changes: the alternate screen while it
 * runs, and the terminal as it was whichever way it ends or is stopped. Where standard output is no
 * terminal there is no screen, and what is shown are lines one after the other.
 */
#ifndef EFFECTD_SCREEN_H
#define EFFECTD_SCREEN_H

#include "buf.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct screen {
	bool is_terminal;
	bool has_keys; /* keys are read as they come */
	struct termios keys_before;
	sigset_t mask_before;
	unsigned columns, rows; /* as of the last screen_show() */
};

enum screen_event {
	SCREEN_TIME,	/* the wait is over */
	SCREEN_CHANGED, /* its size did, or it is in the foreground again: show it once more */
	SCREEN_QUIT,	/* the user pressed q */
	SCREEN_SIGNAL	/* it is to end, by screen_signal() */
};

/* `wanted` false: lines, also on a terminal. */
void screen_start(struct screen *screen, bool wanted);
/* Shows the lines of `text`, which is safe for a terminal: cut to the screen, in one write. False:
 * nobody can read it any more. */
bool screen_show(struct screen *screen, const struct buf *text);
/* Waits; stops and goes on with the user's job control meanwhile. */
enum screen_event screen_wait(struct screen *screen, int64_t ms);
/* The signal by which it is to end, or 0. */
int screen_signal(void);
/* The terminal is as it was. */
void screen_end(struct screen *screen);

#endif
