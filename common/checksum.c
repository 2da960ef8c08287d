#include "common/checksum.h"

#include <string.h>

/* Constants without structure: the first 64 bits behind the point of the square roots of 2, 3, 5,
 * 7 and 11. */
#define START   UINT64_C(0x6a09e667f3bcc909)
#define INTEGER UINT64_C(0xbb67ae8584caa73b)
#define BYTES   UINT64_C(0x3c6ef372fe94f82b)
#define NOTHING UINT64_C(0xa54ff53a5f1d36f1)
#define FACTOR  UINT64_C(0x510e527fade682d1)

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Little-endian on every machine, since files move between them. */
static uint64_t read_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t rotate(uint64_t word)
{
    return word << 23 | word >> 41;
}

/* What goes in is added beside the product, too: a factor that happens to be 0 would throw the
 * other one away. */
static void mix(kedge_checksum *checksum, uint64_t first, uint64_t second)
{
    uint64_t state = checksum->state;
    checksum->state = fold(state ^ first, second ^ FACTOR) + rotate(state + second) + first;
}

kedge_checksum kedge_checksum_begin(int64_t kind)
{
    kedge_checksum checksum = {START};
    kedge_checksum_integer(&checksum, kind);
    return checksum;
}

void kedge_checksum_integer(kedge_checksum *checksum, int64_t value)
{
    mix(checksum, INTEGER, (uint64_t)value);
}

void kedge_checksum_null(kedge_checksum *checksum)
{
    mix(checksum, NOTHING, 0);
}

void kedge_checksum_bytes(kedge_checksum *checksum, kedge_bytes bytes)
{
    const char *at = bytes.data;
    size_t left = bytes.size;
    char rest[16] = {0};
    for (; left >= sizeof rest; at += sizeof rest, left -= sizeof rest)
        mix(checksum, read_word(at), read_word(at + 8));
    if (left > 0) memcpy(rest, at, left);
    mix(checksum, read_word(rest), read_word(rest + 8));
    mix(checksum, BYTES, bytes.size);
}

void kedge_checksum_blob(kedge_checksum *checksum, kedge_bytes bytes)
{
    mix(checksum, BYTES, START);
    kedge_checksum_bytes(checksum, bytes);
}

int64_t kedge_checksum_end(const kedge_checksum *checksum)
{
    uint64_t state = fold(checksum->state ^ START, FACTOR) ^ checksum->state;
    return (int64_t)((state ^ state >> 32) & UINT32_MAX);
}
