/*
 * SHA-256 (libcrypto) and what is made of it: effect ids, fingerprints, policy versions. Also UUID
 * text and random UUIDs. Pure but for getrandom(2) in uuid_random(). One context is reused from
 * call to call, so it is for programs without threads.
 */
#ifndef EFFECTD_DIGEST_H
#define EFFECTD_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define UUID_TEXT_BYTES 37 /* 36 and a NUL */

struct uuid {
	uint8_t b[16];
};

/* For a program whose memory is alloc.h's, before anything of it speaks to libcrypto: out of memory
 * in there is the end that alloc.h has. */
void digest_init(void);
void digest_sha256(const void *data, size_t len, uint8_t ret[SHA256_BYTES]);
/* The same over what comes piece by piece; _end frees it. Any number at a time. */
struct digest_stream;
struct digest_stream *digest_stream_new(void);
void digest_stream_add(struct digest_stream *stream, const void *data, size_t len);
void digest_stream_end(struct digest_stream *stream, uint8_t ret[SHA256_BYTES]);
void digest_hex(const uint8_t *data, size_t len, char *ret); /* 2 * len + 1 bytes, lower case */
/*
 * UUID version 8 from the length-prefixed parts; the rule stands in daemon/protocol.md, vectors in
 * tests/vectors/ids.json. Parts may hold any bytes; the caller keeps them within limits.h.
 */
struct uuid digest_effect_id(const char *ns, size_t ns_len, const char *tool, size_t tool_len,
    const char *key, size_t key_len);
/* First 16 bytes of SHA-256 over the length-prefixed parts: what twins by business key share. */
struct uuid digest_business(const char *ns, const char *tool, const char *text, size_t len);
/* What stands for something at the provider of which there is no effect: a UUID version 8 that is
 * no effect's. */
struct uuid digest_reference(const char *ns, const char *tool, const char *reference);
/* First 16 bytes of SHA-256 over canonical args: no UUID, but as long as one. */
struct uuid digest_fingerprint(const void *canonical, size_t len);
/*
 * Policy version: 63 bits, never negative, of SHA-256 over the length-prefixed (namespace, tool,
 * canonical effective policy).
 */
int64_t digest_policy_version(const char *ns, const char *tool, const char *policy);

struct uuid uuid_random(void);					 /* version 4, from getrandom(2) */
bool uuid_parse(const char *text, size_t len, struct uuid *ret); /* 8-4-4-4-12, any case, only */
void uuid_text(const struct uuid *u, char ret[UUID_TEXT_BYTES]); /* lower case */
bool uuid_equal(const struct uuid *a, const struct uuid *b);
bool uuid_is_nil(const struct uuid *u);

#endif
