/*
 * A histogram in one line of text. Pure.
 */
#ifndef EFFECTD_BARS_H
#define EFFECTD_BARS_H

#include "buf.h"

#include <stdbool.h>

/* Appends one character a value, by its share of the highest; what is more than nothing is seen.
 * blocks: those of Unicode, in UTF-8; else ASCII. */
void bars_add(struct buf *out, const double *values, size_t n, bool blocks);

#endif
