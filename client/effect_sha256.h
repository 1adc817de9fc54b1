/*
 * SHA-256 (FIPS 180-4), for results that are too long for a line. Of our own, so that a host that
 * links libeffect links nothing else but its C library. Pure.
 */
#ifndef EFFECT_SHA256_H
#define EFFECT_SHA256_H

#include <stddef.h>

#define EFFECT_SHA256_BYTES 32
#define EFFECT_SHA256_HEX_BYTES (2 * EFFECT_SHA256_BYTES + 1)

void effect_sha256(const void *data, size_t len, unsigned char ret[EFFECT_SHA256_BYTES]);
void effect_sha256_hex(
    const unsigned char sum[EFFECT_SHA256_BYTES], char ret[EFFECT_SHA256_HEX_BYTES]);

#endif
