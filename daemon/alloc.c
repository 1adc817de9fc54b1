/*
 * Allocation that cannot fail: the process ends instead, saying so. Promise: no caller sees NULL.
 * What these return belongs to the caller, who frees it with free(3).
 */
#include "alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* One write, nothing that allocates: not log.c, which stands above. */
void
alloc_out_of_memory(void)
{
	static const char line[] = "effectd: out of memory\n";

	if (write(STDERR_FILENO, line, sizeof line - 1) < 0) {
		/* there is nothing left to tell it to */
	}
	_exit(EX_OSERR);
}

void *
xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		alloc_out_of_memory();
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		alloc_out_of_memory();
	return p;
}

void *
xrealloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		alloc_out_of_memory();
	return p;
}

char *
xstrdup(const char *text)
{
	return xstrndup(text, strlen(text));
}

char *
xstrndup(const char *text, size_t len)
{
	size_t n = strnlen(text, len); /* as strndup(3): text may end before len */
	char *p = xmalloc(n + 1);

	memcpy(p, text, n);
	p[n] = '\0';
	return p;
}

char *
xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&p, fmt, ap);
	va_end(ap);
	if (n < 0)
		alloc_out_of_memory();
	return p;
}
