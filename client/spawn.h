/*
 * The start of a command, and what became of the start. The command is in our process group and on
 * our terminal, has our standard input and error, our environment and directory, signals as our
 * caller left them, and no descriptor of ours.
 */
#ifndef EFFECTD_SPAWN_H
#define EFFECTD_SPAWN_H

#include "signals.h"

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
	char *const *argv; /* the first is looked for along PATH, as execvp(3) does */
	int out_fd;	   /* its standard output; -1 = ours */
	const struct signals *signals;
	/*
	 * The last word before it becomes the command, asked in the child: may it start? Must call
	 * nothing but the system. NULL = yes.
	 */
	bool (*may_start)(void *arg);
	void *arg;
};

enum spawn_news {
	SPAWN_NOTHING_YET,
	SPAWN_STARTED, /* it became the command, or died in becoming it */
	SPAWN_REFUSED, /* the system refused: nothing of the command ran */
	SPAWN_LATE     /* may_start() said no: nothing of the command ran */
};

/*
 * Starts it. *ret_news_fd becomes readable when spawn_news() can tell. -1: no child at all, errno
 * says why.
 */
pid_t spawn(const struct spawn *what, int *ret_news_fd);
/* Never blocks. With SPAWN_REFUSED *ret_errno says why. */
enum spawn_news spawn_news(int news_fd, int *ret_errno);

#endif
