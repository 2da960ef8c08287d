/* The checksum of a row: what goes in is mixed into one state of 64 bits. */
#include "common/checksum.h"

#include <string.h>

/* Constants without structure: the first 64 bits after the point of the square roots of 2, 3, 5,
 * 7 and 11. */
#define START   UINT64_C(0x6a09e667f3bcc909)
#define INTEGER UINT64_C(0xbb67ae8584caa73b)
#define BYTES   UINT64_C(0x3c6ef372fe94f82b)
#define NOTHING UINT64_C(0xa54ff53a5f1d36f1)
#define FACTOR  UINT64_C(0x510e527fade682d1)

/* The product of 128 bits, its upper half over its lower one. */
static uint64_t fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else /* a processor of 32 bits: four products of halves */
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    uint64_t high = a_high * b_high + (middle >> 32) + (other >> 32);
    return a * b ^ high;
#endif
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
static uint64_t mix(uint64_t state, uint64_t first, uint64_t second)
{
    return fold(state ^ first, second ^ FACTOR) + rotate(state + second) + first;
}

/* 0 to 16 bytes as two words. With their number, which goes in as well, they are told apart. */
static void read_rest(const char *at, size_t size, uint64_t words[2])
{
    words[0] = words[1] = 0;
    if (size >= 8) {
        words[0] = read_word(at);
        words[1] = read_word(at + size - 8);
        return;
    }
    for (size_t i = 0; i < size; i++)
        words[0] |= (uint64_t)(unsigned char)at[i] << 8 * i;
}

kedge_checksum kedge_checksum_begin(int64_t kind)
{
    kedge_checksum checksum = {START};
    kedge_checksum_integer(&checksum, kind);
    return checksum;
}

void kedge_checksum_integer(kedge_checksum *checksum, int64_t value)
{
    checksum->state = mix(checksum->state, INTEGER, (uint64_t)value);
}

void kedge_checksum_null(kedge_checksum *checksum)
{
    checksum->state = mix(checksum->state, NOTHING, 0);
}

/* Each step waits for the one before, so that long values go in as three chains at once. */
void kedge_checksum_bytes(kedge_checksum *checksum, kedge_bytes bytes)
{
    const char *at = bytes.data;
    size_t left = bytes.size;
    uint64_t state = checksum->state;
    uint64_t rest[2];
    if (left >= 48) {
        uint64_t second = state ^ INTEGER;
        uint64_t third = state ^ NOTHING;
        for (; left >= 48; at += 48, left -= 48) {
            state = mix(state, read_word(at), read_word(at + 8));
            second = mix(second, read_word(at + 16), read_word(at + 24));
            third = mix(third, read_word(at + 32), read_word(at + 40));
        }
        state = mix(state, second, third);
    }
    for (; left > 16; at += 16, left -= 16)
        state = mix(state, read_word(at), read_word(at + 8));
    read_rest(at, left, rest);
    state = mix(state, rest[0], rest[1]);
    checksum->state = mix(state, BYTES, bytes.size);
}

void kedge_checksum_blob(kedge_checksum *checksum, kedge_bytes bytes)
{
    checksum->state = mix(checksum->state, BYTES, START);
    kedge_checksum_bytes(checksum, bytes);
}

int64_t kedge_checksum_end(const kedge_checksum *checksum)
{
    uint64_t state = fold(checksum->state ^ START, FACTOR) ^ checksum->state;
    return (int64_t)((state ^ state >> 32) & UINT32_MAX);
}
