/*
 * Promise: one write a picture, so that nothing flickers and no half of one is seen; no more than
 * the screen holds, by the columns that characters take; and the terminal is given back before the
 * process ends or is stopped. Signals are taken only while it waits, so that what is shown is
 * whole. What is shown is the caller's, who has escaped it.
 */
#include "screen.h"

#include "conn.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define ENTER "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
#define LEAVE "\x1b[?25h\x1b[?1049l"
#define LINE_END "\x1b[K"  /* what stood there before */
#define REST_END "\x1b[J"  /* and below */
#define COLUMNS_DEFAULT 80 /* of a terminal that does not know */
#define ROWS_DEFAULT 24

static volatile sig_atomic_t ending, stopping, resized;
static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

static void
handle(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else if (number == SIGTSTP)
		stopping = 1;
	else
		ending = number;
}

static bool
write_all(const char *data, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(STDOUT_FILENO, data, len);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return true;
}

static void
take_keys(struct screen *s)
{
	struct termios keys;

	if (!s->has_keys)
		return;
	keys = s->keys_before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
}

static void
enter(struct screen *s)
{
	if (!s->is_terminal)
		return;
	take_keys(s);
	(void)write_all(ENTER, sizeof ENTER - 1);
}

static void
leave(struct screen *s)
{
	if (!s->is_terminal)
		return;
	(void)write_all(LEAVE, sizeof LEAVE - 1);
	if (s->has_keys)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &s->keys_before);
}

void
screen_start(struct screen *s, bool wanted)
{
	struct sigaction action = {.sa_handler = handle}, before;
	sigset_t mask;

	*s = (struct screen){.is_terminal = wanted && isatty(STDOUT_FILENO) == 1};
	/* in the background a change of the keys would stop us */
	s->has_keys = s->is_terminal && tcgetattr(STDIN_FILENO, &s->keys_before) == 0 &&
	    tcgetpgrp(STDIN_FILENO) == getpgrp();
	sigemptyset(&mask);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
		if (taken[i] == SIGTSTP && !s->is_terminal)
			continue;
		/* what was ignored stays so: nohup(1) means us, too */
		if (sigaction(taken[i], NULL, &before) < 0 || before.sa_handler == SIG_IGN)
			continue;
		(void)sigaction(taken[i], &action, NULL);
		sigaddset(&mask, taken[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &mask, &s->mask_before);
	enter(s);
}

static void
measure(struct screen *s)
{
	struct winsize size;

	s->columns = COLUMNS_DEFAULT;
	s->rows = ROWS_DEFAULT;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
		s->columns = size.ws_col;
		s->rows = size.ws_row;
	}
}

/* As much of line[0, len) as `columns` hold; bytes that are no character count one. */
static size_t
fits(const char *line, size_t len, unsigned columns)
{
	mbstate_t state;
	size_t at = 0, n;
	wchar_t c;
	int width;

	memset(&state, 0, sizeof state);
	while (at < len) {
		n = mbrtowc(&c, line + at, len - at, &state);
		if (n == 0 || n == (size_t)-1 || n == (size_t)-2) {
			memset(&state, 0, sizeof state);
			n = 1;
			width = 1;
		} else {
			width = wcwidth(c);
		}
		if (width > 0 && (unsigned)width > columns)
			break;
		columns -= width > 0 ? (unsigned)width : 0;
		at += n;
	}
	return at;
}

bool
screen_show(struct screen *s, const struct buf *text)
{
	const char *line = text->data, *end = line + text->len, *next;
	struct buf out = {0};
	bool ok;

	if (!s->is_terminal)
		return write_all(text->data, text->len);
	measure(s);
	buf_add_str(&out, "\x1b[H");
	for (unsigned row = 0; row < s->rows && line < end; row++, line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (row > 0)
			buf_add_str(&out, "\r\n");
		buf_add(&out, line, fits(line, (size_t)((next ? next : end) - line), s->columns));
		buf_add_str(&out, LINE_END);
		next = next ? next + 1 : end;
	}
	buf_add_str(&out, REST_END);
	ok = write_all(out.data, out.len);
	buf_free(&out);
	return ok;
}

/* The user's Ctrl-Z: the terminal is his until he brings us back. */
static void
stop(struct screen *s)
{
	struct sigaction action = {.sa_handler = handle}, plain = {.sa_handler = SIG_DFL};
	sigset_t mask, before;

	stopping = 0;
	leave(s);
	sigemptyset(&action.sa_mask);
	sigemptyset(&plain.sa_mask);
	(void)sigaction(SIGTSTP, &plain, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTSTP);
	(void)kill(getpid(), SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &mask, &before); /* here it stands still */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)sigaction(SIGTSTP, &action, NULL);
	enter(s);
}

static bool
pressed_q(struct screen *s)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof keys);

	if (n <= 0)
		s->has_keys = false; /* it hung up: nothing will come any more */
	return n > 0 && (memchr(keys, 'q', (size_t)n) || memchr(keys, 'Q', (size_t)n));
}

enum screen_event
screen_wait(struct screen *s, int64_t ms)
{
	int64_t until_ms = conn_now_ms() + ms, left_ms;
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec wait;

	for (;;) {
		left_ms = until_ms - conn_now_ms();
		if (left_ms < 0)
			left_ms = 0;
		wait = (struct timespec){left_ms / 1000, left_ms % 1000 * 1000000};
		fd.revents = 0;
		(void)ppoll(&fd, s->has_keys ? 1 : 0, &wait, &s->mask_before);
		if (ending)
			return SCREEN_SIGNAL;
		if (stopping) {
			stop(s);
			return SCREEN_CHANGED;
		}
		if (resized) {
			resized = 0;
			return SCREEN_CHANGED;
		}
		if (fd.revents && pressed_q(s))
			return SCREEN_QUIT;
		if (left_ms == 0)
			return SCREEN_TIME;
	}
}

int
screen_signal(void)
{
	return ending;
}

void
screen_end(struct screen *s)
{
	leave(s);
	(void)sigprocmask(SIG_SETMASK, &s->mask_before, NULL);
}
