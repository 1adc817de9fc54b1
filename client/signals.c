/*
 * Signals by descriptor, so that one poll(2) waits for them and for everything else, and no handler
 * ever runs. Promise: the command finds every disposition and the mask as our own caller left them.
 * Who gets which signal does not belong here.
 */
#include "signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int for_a_command[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

bool
signals_take(struct signals *signals)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, by_default = {.sa_handler = SIG_DFL};
	struct sigaction now;
	sigset_t taken;

	sigemptyset(&taken);
	sigaddset(&taken, SIGCHLD);
	for (size_t i = 0; i < sizeof for_a_command / sizeof *for_a_command; i++) {
		if (sigaction(for_a_command[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&taken, for_a_command[i]);
	}
	/* an ignored SIGCHLD would let the kernel throw exit statuses away */
	sigaction(SIGCHLD, &by_default, &signals->child_before);
	sigaction(SIGPIPE, &ignore, &signals->pipe_before);
	/* a limit on the size of files is an error of the write, and no end of us */
	sigaction(SIGXFSZ, &ignore, &signals->size_before);
	sigprocmask(SIG_BLOCK, &taken, &signals->mask_before);
	signals->fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals->fd >= 0;
}

bool
signals_next(const struct signals *signals, struct signals_word *ret)
{
	struct signalfd_siginfo info;
	ssize_t n;

	do
		n = read(signals->fd, &info, sizeof info);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof info)
		return false;
	*ret = (struct signals_word){.number = (int)info.ssi_signo,
	    .from_terminal = info.ssi_code == SI_KERNEL,
	    .sender = (pid_t)info.ssi_pid};
	return true;
}

void
signals_restore(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->child_before, NULL);
	sigaction(SIGPIPE, &signals->pipe_before, NULL);
	sigaction(SIGXFSZ, &signals->size_before, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

void
signals_let_end_us(const struct signals *signals)
{
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

void
signals_die(int number)
{
	struct sigaction by_default = {.sa_handler = SIG_DFL};
	sigset_t only;

	sigemptyset(&only);
	sigaddset(&only, number);
	sigaction(number, &by_default, NULL);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	raise(number);
}
