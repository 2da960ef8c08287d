/* Fuzz target: gzip. What was compressed comes back, a stream that was cut does not, and no stream
 * gives more than it may. */
#include "common/gzip.h"
#include "tests/fuzz/fuzz.h"

#define PLAIN_MAX ((size_t)262144)

static void check_round_trip(kedge_bytes plain)
{
    kedge_buffer packed = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer back = kedge_buffer_make(&kedge_allocator_default);
    FUZZ_CHECK(kedge_gzip(plain, &packed, NULL) == KEDGE_OK);
    FUZZ_CHECK(kedge_gunzip(kedge_buffer_bytes(&packed), plain.size, &back, NULL) == KEDGE_OK);
    FUZZ_CHECK(kedge_bytes_equal(kedge_buffer_bytes(&back), plain));
    kedge_bytes short_of_one = {packed.data, packed.size - 1};
    FUZZ_CHECK(kedge_gunzip(short_of_one, plain.size, &back, NULL) != KEDGE_OK);
    kedge_buffer_free(&packed);
    kedge_buffer_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kedge_bytes input = {(const char *)data, size};
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    if (kedge_gunzip(input, PLAIN_MAX, &plain, NULL) == KEDGE_OK)
        FUZZ_CHECK(plain.size <= PLAIN_MAX);
    kedge_buffer_free(&plain);
    check_round_trip(input);
    return 0;
}
