/* FNV-1a of 32 bits. */
#include "hash.h"

uint32_t
hash_text(uint32_t hash, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	do
		hash = (hash ^ *p) * 16777619U;
	while (*p++);
	return hash;
}
