/*
 * What the load generators share: a clock, a list of latencies and the one JSON line that each
 * prints.
 */
#ifndef EFFECTD_BENCH_H
#define EFFECTD_BENCH_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	double *ms; /* owned */
	size_t n, cap;
};

double bench_now_ms(void);
void samples_add(struct samples *s, double ms);
/* Sorts, and prints {"ops":..,"ops_s":..,"p50_ms":..,"p99_ms":..} over `units` done in
 * `elapsed_ms`; frees. */
void samples_print(struct samples *s, uint64_t units, double elapsed_ms);

#endif
