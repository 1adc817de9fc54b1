/*
 * Bars of eight heights. Owns nothing.
 */
#include "bars.h"

void
bars_add(struct buf *out, const double *values, size_t n, bool blocks)
{
	static const char *const steps[2][9] = {{"_", ".", ":", "-", "=", "+", "*", "#", "@"},
	    {"_", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84", "\xe2\x96\x85",
		"\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"}};
	double highest = 0;

	for (size_t i = 0; i < n; i++)
		highest = values[i] > highest ? values[i] : highest;
	for (size_t i = 0; i < n; i++)
		buf_add_str(
		    out, steps[blocks][values[i] > 0 ? 1 + (int)(values[i] / highest * 7) : 0]);
}
