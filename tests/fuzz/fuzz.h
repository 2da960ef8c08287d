/* What a fuzz target is: a function that takes any bytes and aborts when something does not hold.
 *
 * With the preset `fuzz` libFuzzer calls it with bytes that it makes up (scripts/fuzz). In other
 * builds replay.c calls it with the seeds, as a unit test. */
#ifndef KEDGE_TESTS_FUZZ_H
#define KEDGE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
