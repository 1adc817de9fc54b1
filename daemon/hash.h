/* Hashes for tables in memory: quick, and proof against nobody who wants them to collide. Pure. */
#ifndef EFFECTD_HASH_H
#define EFFECTD_HASH_H

#include <stdint.h>

#define HASH_SEED UINT32_C(2166136261)

/* `hash` and then `text`, its NUL included, so that texts in a row do not run into each other. */
uint32_t hash_text(uint32_t hash, const char *text);

#endif
