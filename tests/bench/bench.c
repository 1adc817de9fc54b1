/*
 * Samples of latencies. Every one is kept: a percentile here is a percentile, not an estimate.
 */
#include "bench.h"

#include "alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double
bench_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void
samples_add(struct samples *s, double ms)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 65536;
		s->ms = xrealloc(s->ms, s->cap * sizeof(*s->ms));
	}
	s->ms[s->n++] = ms;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
samples_print(struct samples *s, uint64_t units, double elapsed_ms)
{
	double p50 = 0, p99 = 0;

	qsort(s->ms, s->n, sizeof(*s->ms), by_value);
	if (s->n > 0) {
		p50 = s->ms[s->n / 2];
		p99 = s->ms[s->n * 99 / 100];
	}
	printf("{\"ops\":%llu,\"ops_s\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n",
	    (unsigned long long)units, (double)units * 1e3 / elapsed_ms, p50, p99);
	free(s->ms);
}
