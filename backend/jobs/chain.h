/* The hash of a series of lines: h(0) is 32 zero bytes, h(n) = SHA-256(h(n-1) and line n without
 * its end). */
#ifndef KEDGE_BACKEND_JOBS_CHAIN_H
#define KEDGE_BACKEND_JOBS_CHAIN_H

#include "common/hash.h"

/* Start from {.allocator = …}. */
typedef struct kedge_chain {
    const kedge_allocator *allocator;
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t lines;
} kedge_chain;

kedge_status kedge_chain_add(kedge_chain *chain, kedge_bytes line, kedge_error *error);

#endif
