/*
 * SHA-256 ids and UUIDs. The hash itself is libcrypto's; what belongs here is only what goes into
 * it and how its bytes are read. A failure of libcrypto or getrandom(2) is no state to go on in:
 * assert; but for the start of a hash, where libcrypto asks for memory and does not say why it
 * failed. Worse, where it has none for its own beginnings it goes on and crashes: hence
 * digest_init().
 */
#include "digest.h"

#include "alloc.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * The algorithm is fetched once: an implicit fetch for each hash costs more than hashing a key.
 * Both live until the process ends.
 */
static EVP_MD *sha256;
static EVP_MD_CTX *ctx;

static void *
crypto_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return xmalloc(size);
}

static void *
crypto_realloc(void *old, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	if (size > 0)
		return xrealloc(old, size);
	free(old);
	return NULL;
}

static void
crypto_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

void
digest_init(void)
{
	int ok = CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free);

	assert(ok == 1);
	(void)ok;
}

static void
hash_start(void)
{
	if (!ctx) {
		sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
		ctx = EVP_MD_CTX_new();
	}
	if (!sha256 || !ctx || EVP_DigestInit_ex2(ctx, sha256, NULL) != 1)
		alloc_out_of_memory();
}

static void
hash_add(const void *data, size_t len)
{
	int ok = EVP_DigestUpdate(ctx, data, len);

	assert(ok == 1);
	(void)ok;
}

/* A part with its length in front, so that ("ab", "c") and ("a", "bc") differ. */
static void
hash_add_part(const char *part, size_t len)
{
	uint8_t be[4] = {
	    (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};

	assert(len <= UINT32_MAX);
	hash_add(be, sizeof(be));
	hash_add(part, len);
}

static void
hash_end(uint8_t ret[SHA256_BYTES])
{
	unsigned n = 0;
	int ok = EVP_DigestFinal_ex(ctx, ret, &n);

	assert(ok == 1 && n == SHA256_BYTES);
	(void)ok;
}

void
digest_sha256(const void *data, size_t len, uint8_t ret[SHA256_BYTES])
{
	hash_start();
	hash_add(data, len);
	hash_end(ret);
}

struct digest_stream {
	EVP_MD_CTX *ctx;
};

struct digest_stream *
digest_stream_new(void)
{
	struct digest_stream *stream = xmalloc(sizeof *stream);

	stream->ctx = EVP_MD_CTX_new();
	if (!stream->ctx || EVP_DigestInit_ex(stream->ctx, EVP_sha256(), NULL) != 1)
		alloc_out_of_memory();
	return stream;
}

void
digest_stream_add(struct digest_stream *stream, const void *data, size_t len)
{
	int ok = EVP_DigestUpdate(stream->ctx, data, len);

	assert(ok == 1);
	(void)ok;
}

void
digest_stream_end(struct digest_stream *stream, uint8_t ret[SHA256_BYTES])
{
	unsigned n = 0;
	int ok = EVP_DigestFinal_ex(stream->ctx, ret, &n);

	assert(ok == 1 && n == SHA256_BYTES);
	(void)ok;
	EVP_MD_CTX_free(stream->ctx);
	free(stream);
}

void
digest_hex(const uint8_t *data, size_t len, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		ret[2 * i] = digits[data[i] >> 4];
		ret[2 * i + 1] = digits[data[i] & 15];
	}
	ret[2 * len] = '\0';
}

static struct uuid
hash_three(
    const char *ns, size_t ns_len, const char *tool, size_t tool_len, const char *text, size_t len)
{
	uint8_t hash[SHA256_BYTES];
	struct uuid first;

	hash_start();
	hash_add_part(ns, ns_len);
	hash_add_part(tool, tool_len);
	hash_add_part(text, len);
	hash_end(hash);
	memcpy(first.b, hash, sizeof(first.b));
	return first;
}

static void
make_version_8(struct uuid *id)
{
	id->b[6] = (id->b[6] & 0x0f) | 0x80;
	id->b[8] = (id->b[8] & 0x3f) | 0x80;
}

struct uuid
digest_effect_id(const char *ns, size_t ns_len, const char *tool, size_t tool_len, const char *key,
    size_t key_len)
{
	struct uuid id = hash_three(ns, ns_len, tool, tool_len, key, key_len);

	make_version_8(&id);
	return id;
}

/* Four parts: an effect's id has three. */
struct uuid
digest_reference(const char *ns, const char *tool, const char *reference)
{
	static const char word[] = "reconcile";
	uint8_t hash[SHA256_BYTES];
	struct uuid id;

	hash_start();
	hash_add_part(ns, strlen(ns));
	hash_add_part(tool, strlen(tool));
	hash_add_part(word, sizeof word - 1);
	hash_add_part(reference, strlen(reference));
	hash_end(hash);
	memcpy(id.b, hash, sizeof(id.b));
	make_version_8(&id);
	return id;
}

struct uuid
digest_business(const char *ns, const char *tool, const char *text, size_t len)
{
	return hash_three(ns, strlen(ns), tool, strlen(tool), text, len);
}

struct uuid
digest_fingerprint(const void *canonical, size_t len)
{
	uint8_t hash[SHA256_BYTES];
	struct uuid print;

	digest_sha256(canonical, len, hash);
	memcpy(print.b, hash, sizeof(print.b));
	return print;
}

int64_t
digest_policy_version(const char *ns, const char *tool, const char *policy)
{
	uint8_t hash[SHA256_BYTES];
	uint64_t version = 0;
	int i;

	hash_start();
	hash_add_part(ns, strlen(ns));
	hash_add_part(tool, strlen(tool));
	hash_add_part(policy, strlen(policy));
	hash_end(hash);
	for (i = 0; i < 8; i++)
		version = version << 8 | hash[i];
	return (int64_t)(version & INT64_MAX);
}

struct uuid
uuid_random(void)
{
	struct uuid u;
	ssize_t n;

	do
		n = getrandom(u.b, sizeof(u.b), 0);
	while (n < 0 && errno == EINTR);
	assert(n == (ssize_t)sizeof(u.b));
	u.b[6] = (u.b[6] & 0x0f) | 0x40;
	u.b[8] = (u.b[8] & 0x3f) | 0x80;
	return u;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
uuid_parse(const char *text, size_t len, struct uuid *ret)
{
	struct uuid u;
	size_t at = 0;
	int i, high, low;

	if (len != UUID_TEXT_BYTES - 1)
		return false;
	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10) {
			if (text[at++] != '-')
				return false;
		}
		high = hex_digit(text[at++]);
		low = hex_digit(text[at++]);
		if (high < 0 || low < 0)
			return false;
		u.b[i] = (uint8_t)(high << 4 | low);
	}
	assert(at == len);
	*ret = u;
	return true;
}

void
uuid_text(const struct uuid *u, char ret[UUID_TEXT_BYTES])
{
	static const uint8_t group_bytes[] = {4, 2, 2, 2, 6};
	const uint8_t *b = u->b;
	size_t i;

	for (i = 0; i < sizeof(group_bytes); i++) {
		digest_hex(b, group_bytes[i], ret);
		b += group_bytes[i];
		ret += 2 * group_bytes[i];
		*ret++ = i + 1 < sizeof(group_bytes) ? '-' : '\0';
	}
}

bool
uuid_equal(const struct uuid *a, const struct uuid *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

bool
uuid_is_nil(const struct uuid *u)
{
	static const struct uuid nil;

	return uuid_equal(u, &nil);
}
