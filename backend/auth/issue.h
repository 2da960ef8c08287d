/* Makes key pairs, and signs tokens with them: for development, and for apps without a login
 * service. A server needs the key set only. Whoever has the private key can sign a token for any
 * user. */
#ifndef KEDGE_BACKEND_AUTH_ISSUE_H
#define KEDGE_BACKEND_AUTH_ISSUE_H

#include "common/environment.h"

#define KEDGE_KEYS_BYTES_MAX      1048576 /* of a private key or a key set, as JSON */
#define KEDGE_CLAIMS_BYTES_MAX    8192    /* of further claims, as JSON */
#define KEDGE_KID_SIZE            64
#define KEDGE_TOKEN_MINUTES_MAX   525600
#define KEDGE_KEY_ALGORITHMS_TEXT "ES256, EdDSA or RS256"

/* Makes a pair for the algorithm "ES256", "EdDSA" or "RS256". `private_key` gets a JWK (RFC 7517),
 * `key_set` a JWKS with the keys of `others` (the JSON of a JWKS, or NULL) and the new public one.
 * `kid` gets the name of the key: its thumbprint (RFC 7638). The caller initializes
 * both buffers as empty. KEDGE_INVALID_ARGUMENT algorithm-invalid, or jwks-invalid for `others`. */
kedge_status kedge_auth_make_keys(const char *algorithm, const char *others,
                                  kedge_buffer *private_key, kedge_buffer *key_set,
                                  char kid[KEDGE_KID_SIZE], kedge_error *error);

/* The claims of a token. A claim that is NULL is left out; the first four are required. */
typedef struct kedge_auth_claims {
    const char *issuer;
    const char *audience;
    const char *user;
    const char *organization;
    const char *role;
    const char *projects; /* names with commas between them */
    uint32_t minutes;     /* until it expires */
    const char *more;     /* a JSON object: these claims are added, or replace others */
} kedge_auth_claims;

/* A token with these claims, the time (iat) and a random name (jti), signed with a private JWK by
 * the algorithm that the key names (`alg`). KEDGE_INVALID_ARGUMENT key-invalid or claims-invalid
 * with the reason. */
kedge_status kedge_auth_issue(const kedge_environment *environment, const char *private_key,
                              const kedge_auth_claims *claims, kedge_buffer *token,
                              kedge_error *error);

#endif
