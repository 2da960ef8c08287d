/* Tokens that were found good, so that the next request with one costs no signature.
 *
 * A token is known by its SHA-256, under one generation of the keys and of the revoked tokens.
 * When those change, all are checked anew. The hash says which place of the table a token has; of
 * several with the same place, the last has it. Claims of more than KEDGE_TOKEN_CACHE_CLAIMS are
 * not kept, so the memory is bounded. Any thread. */
#ifndef KEDGE_BACKEND_AUTH_TOKEN_CACHE_H
#define KEDGE_BACKEND_AUTH_TOKEN_CACHE_H

#include "backend/auth/auth.h"
#include "common/hash.h"

#define KEDGE_TOKEN_CACHE_PLACES 4096
#define KEDGE_TOKEN_CACHE_CLAIMS 1024 /* bytes of the names of one token */

typedef struct kedge_token_cache kedge_token_cache;

/* NULL: no memory. */
kedge_token_cache *kedge_token_cache_new(const kedge_allocator *allocator);
void kedge_token_cache_free(kedge_token_cache *cache);

/* Fills the result. False when the token is not known under this generation, or has expired. */
bool kedge_token_cache_find(kedge_token_cache *cache, const uint8_t hash[KEDGE_SHA256_SIZE],
                            uint64_t generation, int64_t now_ms, kedge_auth_result *result);
/* Keeps the result of this token, unless its claims are too large or there is no memory. */
void kedge_token_cache_add(kedge_token_cache *cache, const uint8_t hash[KEDGE_SHA256_SIZE],
                           const kedge_auth_result *result);

#endif
