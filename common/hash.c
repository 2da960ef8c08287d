/* SHA-256 and HMAC over libcrypto, hexadecimal, and the wiping of secrets.
 *
 * OpenSSL 3 deprecates the functions that are used here in favour of EVP. EVP allocates at each
 * call and can fail. The deprecated functions cannot, so callers need no error path. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/hash.h"

#include "common/assert.h"

#include <openssl/crypto.h>
#include <openssl/md5.h>
#include <openssl/sha.h>
#include <string.h>

_Static_assert(sizeof(SHA256_CTX) <= sizeof(kedge_sha256_stream),
               "a stream holds the library's context");

void kedge_sha256_begin(kedge_sha256_stream *stream)
{
    SHA256_Init((SHA256_CTX *)(void *)stream->state);
}

void kedge_sha256_add(kedge_sha256_stream *stream, kedge_bytes piece)
{
    if (piece.size > 0) SHA256_Update((SHA256_CTX *)(void *)stream->state, piece.data, piece.size);
}

void kedge_sha256_add_size(kedge_sha256_stream *stream, size_t size)
{
    KEDGE_ASSERT(size <= UINT32_MAX);
    char bytes[4] = {(char)(size & 0xff), (char)(size >> 8 & 0xff), (char)(size >> 16 & 0xff),
                     (char)(size >> 24 & 0xff)};
    kedge_sha256_add(stream, (kedge_bytes){bytes, sizeof bytes});
}

void kedge_sha256_end(kedge_sha256_stream *stream, uint8_t hash[KEDGE_SHA256_SIZE])
{
    SHA256_Final(hash, (SHA256_CTX *)(void *)stream->state);
}

void kedge_sha256_of(const kedge_bytes *pieces, size_t count, uint8_t hash[KEDGE_SHA256_SIZE])
{
    SHA256_CTX context;
    SHA256_Init(&context);
    for (size_t i = 0; i < count; i++)
        SHA256_Update(&context, pieces[i].size == 0 ? "" : pieces[i].data, pieces[i].size);
    SHA256_Final(hash, &context);
}

void kedge_sha256(kedge_bytes bytes, uint8_t hash[KEDGE_SHA256_SIZE])
{
    kedge_sha256_of(&bytes, 1, hash);
}

void kedge_sha256_hex(kedge_bytes bytes, char hex[KEDGE_SHA256_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(bytes, hash);
    kedge_hex_encode(hash, sizeof hash, hex);
}

/* Adds the key's block, each byte combined with `pad` (RFC 2104, section 2). */
static void add_key_block(SHA256_CTX *context, const uint8_t block[SHA256_CBLOCK], uint8_t pad)
{
    uint8_t padded[SHA256_CBLOCK];
    for (size_t i = 0; i < sizeof padded; i++) {
        padded[i] = block[i] ^ pad;
    }
    SHA256_Update(context, padded, sizeof padded);
    OPENSSL_cleanse(padded, sizeof padded);
}

void kedge_hmac_sha256(kedge_bytes key, kedge_bytes bytes, uint8_t mac[KEDGE_SHA256_SIZE])
{
    SHA256_CTX context;
    uint8_t block[SHA256_CBLOCK] = {0};
    uint8_t inner[KEDGE_SHA256_SIZE];
    if (key.size > sizeof block) {
        kedge_sha256(key, block);
    } else if (key.size > 0) {
        memcpy(block, key.data, key.size);
    }
    SHA256_Init(&context);
    add_key_block(&context, block, 0x36);
    SHA256_Update(&context, bytes.size == 0 ? "" : bytes.data, bytes.size);
    SHA256_Final(inner, &context);
    SHA256_Init(&context);
    add_key_block(&context, block, 0x5c);
    SHA256_Update(&context, inner, sizeof inner);
    SHA256_Final(mac, &context);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(&context, sizeof context);
}

void kedge_cleanse(void *data, size_t size)
{
    OPENSSL_cleanse(data, size);
}

void kedge_buffer_wipe(kedge_buffer *buffer)
{
    if (buffer->data != NULL) kedge_cleanse(buffer->data, buffer->capacity);
    kedge_buffer_free(buffer);
}

void kedge_md5_hex(kedge_bytes bytes, char hex[KEDGE_MD5_HEX])
{
    MD5_CTX context;
    uint8_t hash[MD5_DIGEST_LENGTH];
    MD5_Init(&context);
    MD5_Update(&context, bytes.size == 0 ? "" : bytes.data, bytes.size);
    MD5_Final(hash, &context);
    kedge_hex_encode(hash, sizeof hash, hex);
}

void kedge_hex_encode(const uint8_t *bytes, size_t size, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * size] = '\0';
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
}

bool kedge_hex_decode(kedge_bytes hex, uint8_t *bytes, size_t size)
{
    if (hex.size % 2 != 0 || hex.size / 2 != size) return false;
    for (size_t i = 0; i < hex.size; i++) {
        if (digit_value(hex.data[i]) < 0) return false;
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(digit_value(hex.data[2 * i]) << 4 | digit_value(hex.data[2 * i + 1]));
    }
    return true;
}
