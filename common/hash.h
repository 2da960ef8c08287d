/* SHA-256, HMAC-SHA-256, hexadecimal, and the wiping of secrets. Over OpenSSL's libcrypto. */
#ifndef KEDGE_COMMON_HASH_H
#define KEDGE_COMMON_HASH_H

#include "common/bytes.h"

#define KEDGE_SHA256_SIZE 32
#define KEDGE_SHA256_HEX  65 /* 64 lower-case digits and a NUL */
#define KEDGE_MD5_HEX     33
#define KEDGE_DIGEST_SIZE 16 /* a mutation's digest: the first half of a SHA-256 */
#define KEDGE_DIGEST_HEX  33

void kedge_sha256(kedge_bytes bytes, uint8_t hash[KEDGE_SHA256_SIZE]);
/* The same over the concatenation of several pieces. */
void kedge_sha256_of(const kedge_bytes *pieces, size_t count, uint8_t hash[KEDGE_SHA256_SIZE]);
/* The same over pieces that are added one by one. No call fails. */
typedef struct kedge_sha256_stream {
    uint64_t state[16];
} kedge_sha256_stream;
void kedge_sha256_begin(kedge_sha256_stream *stream);
void kedge_sha256_add(kedge_sha256_stream *stream, kedge_bytes piece);
/* Adds a size as 4 bytes, little endian. */
void kedge_sha256_add_size(kedge_sha256_stream *stream, size_t size);
void kedge_sha256_end(kedge_sha256_stream *stream, uint8_t hash[KEDGE_SHA256_SIZE]);
void kedge_sha256_hex(kedge_bytes bytes, char hex[KEDGE_SHA256_HEX]);
/* RFC 2104. `mac` may be where `key` is. */
void kedge_hmac_sha256(kedge_bytes key, kedge_bytes bytes, uint8_t mac[KEDGE_SHA256_SIZE]);
/* Overwrites memory that held a secret, in a way that the compiler does not leave out. */
void kedge_cleanse(void *data, size_t size);
/* Overwrites the memory of the buffer, and frees it. Memory that the buffer had before it grew is
 * not overwritten. */
void kedge_buffer_wipe(kedge_buffer *buffer);
/* MD5, for services that require it as a checksum. It is no protection against forgery. */
void kedge_md5_hex(kedge_bytes bytes, char hex[KEDGE_MD5_HEX]);
/* Lower-case; `hex` holds 2 * size + 1 bytes. */
void kedge_hex_encode(const uint8_t *bytes, size_t size, char *hex);
/* Accepts exactly 2 * size lower-case digits; false otherwise, and `bytes` is untouched. */
bool kedge_hex_decode(kedge_bytes hex, uint8_t *bytes, size_t size);

#endif
