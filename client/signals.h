/*
 * The signals of a program that runs a command for somebody: taken as readable words while it
 * waits, as they were for the command.
 */
#ifndef EFFECTD_SIGNALS_H
#define EFFECTD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
	int fd; /* readable when one is there; close-on-exec */
	sigset_t mask_before;
	struct sigaction child_before, pipe_before, size_before;
};

struct signals_word {
	int number;
	bool from_terminal; /* the kernel sent it to everybody in the foreground, our command too */
	pid_t sender;	    /* 0 = the kernel */
};

/*
 * From now on SIGCHLD and whatever should reach a command (SIGINT, SIGTERM, SIGHUP, SIGQUIT,
 * SIGUSR1, SIGUSR2, SIGWINCH) come by the descriptor, and SIGPIPE and SIGXFSZ are ignored. What
 * was ignored before stays so and does not come: nohup(1) means us, too. Once in a process. False:
 * errno says why.
 */
bool signals_take(struct signals *signals);
/* The next one that is there; false: none is. */
bool signals_next(const struct signals *signals, struct signals_word *ret);
/*
 * In a child, right before it becomes the command: mask and dispositions as we found them. Calls
 * the system and nothing else.
 */
void signals_restore(const struct signals *signals);
/* For a process that has no command to care for: signals act on it as on any other again. */
void signals_let_end_us(const struct signals *signals);
/* Ends this process as an unhandled `number` does. Returns where that is not possible. */
void signals_die(int number);

#endif
