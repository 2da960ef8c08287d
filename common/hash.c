/* SHA-256 over libcrypto, and hexadecimal.
 *
 * The three-call interface is deprecated in OpenSSL 3 in favour of EVP, which allocates at each
 * call and can fail; a hash that can fail would make every caller's signature worse. These never
 * do. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/hash.h"

#include <openssl/sha.h>

void kedge_sha256(kedge_bytes bytes, uint8_t hash[KEDGE_SHA256_SIZE])
{
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes.size == 0 ? "" : bytes.data, bytes.size);
    SHA256_Final(hash, &context);
}

void kedge_sha256_hex(kedge_bytes bytes, char hex[KEDGE_SHA256_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(bytes, hash);
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
