/* SHA-256 over one piece of memory. Owns nothing. */
#include "effect_sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 64

static const uint32_t rounds[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
    0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3,
    0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354,
    0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
    0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
    0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t
rotated(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void
take_block(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		    (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[i - 7] +
		    (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
	}
	memcpy(s, state, sizeof s);
	for (int i = 0; i < 64; i++) {
		uint32_t e = rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25);
		uint32_t a = rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22);
		uint32_t one = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[i] + w[i];
		uint32_t two = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += one;
		s[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void
effect_sha256(const void *data, size_t len, unsigned char ret[EFFECT_SHA256_BYTES])
{
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
	    0x1f83d9ab, 0x5be0cd19};
	unsigned char last[2 * BLOCK_BYTES] = {0};
	const unsigned char *p = data;
	size_t rest = len % BLOCK_BYTES, last_len = rest < 56 ? BLOCK_BYTES : 2 * BLOCK_BYTES;
	uint64_t bits = (uint64_t)len * 8;

	for (size_t i = 0; i + BLOCK_BYTES <= len; i += BLOCK_BYTES)
		take_block(state, p + i);
	if (rest > 0)
		memcpy(last, p + len - rest, rest);
	last[rest] = 0x80;
	for (int i = 0; i < 8; i++)
		last[last_len - 1 - (size_t)i] = (unsigned char)(bits >> 8 * i);
	for (size_t i = 0; i < last_len; i += BLOCK_BYTES)
		take_block(state, last + i);
	for (int i = 0; i < EFFECT_SHA256_BYTES; i++)
		ret[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void
effect_sha256_hex(const unsigned char sum[EFFECT_SHA256_BYTES], char ret[EFFECT_SHA256_HEX_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < EFFECT_SHA256_BYTES; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[EFFECT_SHA256_HEX_BYTES - 1] = '\0';
}
