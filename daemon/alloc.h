/*
 * Memory of a program: these never return NULL. Out of memory ends the process (exit 71) after one
 * log line; every truth is in PostgreSQL, so a restart loses nothing. libeffect does not use them.
 */
#ifndef EFFECTD_ALLOC_H
#define EFFECTD_ALLOC_H

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same end for what a library could not allocate and says so. */
_Noreturn void alloc_out_of_memory(void);

#endif
