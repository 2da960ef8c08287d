/* Tokens that are void before they expire: a list that an operator keeps, as JSON.
 *
 *   {"tokens": ["ID", ...],                                    the claim jti
 *    "users": [{"user": "ann", "organization": "acme", "before": 1795770000}, ...]}
 *
 * An entry of `users` voids the tokens that were made (iat) before a time, in seconds since 1970,
 * and those that do not tell when they were made. Without `organization` it is for all. */
#ifndef KEDGE_BACKEND_AUTH_REVOKED_H
#define KEDGE_BACKEND_AUTH_REVOKED_H

#include "common/environment.h"

typedef struct kedge_revoked kedge_revoked;

/* What is asked of the list. */
typedef struct kedge_revoked_token {
    const char *id; /* NULL: the token has none */
    const char *user;
    const char *organization;
    int64_t made_s; /* -1: the token does not tell */
} kedge_revoked_token;

/* KEDGE_INVALID_ARGUMENT "revoked-invalid" names what is wrong. An unknown member is wrong, too: it
 * may be a misspelt one. */
kedge_status kedge_revoked_read(const kedge_allocator *allocator, const char *text,
                                kedge_revoked **revoked, kedge_error *error);
void kedge_revoked_free(kedge_revoked *revoked); /* NULL is allowed */
bool kedge_revoked_has(const kedge_revoked *revoked, const kedge_revoked_token *token);

#endif
