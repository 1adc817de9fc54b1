/*
 * Decimal numbers as texts: exact, whatever their length within bounds, and equal if and only if
 * their texts are. Amounts never become floating point. Pure.
 */
#ifndef EFFECTD_DECIMAL_H
#define EFFECTD_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#define DECIMAL_DIGITS_MAX 64 /* of a number written out, on each side of its point */
#define DECIMAL_BYTES (2 * DECIMAL_DIGITS_MAX + 4)

/*
 * The number in text[0, len), divided by 10 to the power of `shift` (0..18), in its one spelling:
 * no leading and no trailing zeros, no exponent, no plus sign, "0" for every zero. Taken are an
 * optional sign, digits with at most one point, and an exponent as JSON has it. False (ret
 * untouched): it is none, or too long; separators of thousands and decimal commas are refused, as
 * they cannot be told from each other.
 */
bool decimal_spell(const char *text, size_t len, int shift, char ret[DECIMAL_BYTES]);

#endif
