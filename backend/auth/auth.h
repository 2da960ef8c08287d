/* Finds the identity of a caller: from a bearer JWT (RFC 7519), which librhonabwy checks against a
 * JWKS, or the identity of open mode.
 *
 * librhonabwy was chosen because it reads key sets (JWKS), selects by `kid`, and is packaged by
 * Debian; libjwt 1.10 knows no JWKS and cjose has single keys only. Algorithms are pinned to
 * asymmetric ones, and keys that a token brings along (jwk, jku, x5u, x5c) are never used. */
#ifndef KEDGE_BACKEND_AUTH_H
#define KEDGE_BACKEND_AUTH_H

#include "backend/base/options.h"
#include "common/environment.h"

#define KEDGE_TOKEN_PROJECTS_MAX 64
#define KEDGE_TOKEN_NAME_SIZE    256

/* The claims, copied: `sub` (user), `org`, `role`, `projects` (an array; absent: all), `exp`. The
 * role "admin" may use every organization when `org` is "*". */
typedef struct kedge_auth_result {
    char user[KEDGE_TOKEN_NAME_SIZE];
    char role[KEDGE_TOKEN_NAME_SIZE];
    char organization[KEDGE_TOKEN_NAME_SIZE];
    char projects[KEDGE_TOKEN_PROJECTS_MAX][KEDGE_TOKEN_NAME_SIZE];
    const char *project_list[KEDGE_TOKEN_PROJECTS_MAX];
    uint64_t generation;     /* of the keys and revoked tokens that it was checked with */
    int64_t expires_ms;      /* from then on the token is refused; INT64_MAX in open mode */
    kedge_identity identity; /* borrows from this struct: do not copy it away */
} kedge_auth_result;

typedef struct kedge_auth_options {
    const kedge_environment *environment;
    bool open; /* everybody on loopback is the administrator */
    /* JSON text of the key set. Keys that are not for verifying signatures (`use`, `key_ops`) are
     * left out. A set with an RSA key of less than 2048 bits is refused. */
    const char *jwks;
    const char *issuer;     /* required value of `iss` */
    const char *audience;   /* required value or member of `aud` */
    const char *algorithms; /* "RS256,ES256"; NULL: RS256, PS256, ES256, EdDSA */
} kedge_auth_options;

typedef struct kedge_auth kedge_auth;

kedge_status kedge_auth_new(const kedge_auth_options *options, kedge_auth **auth,
                            kedge_error *error);
void kedge_auth_free(kedge_auth *auth);
/* Replaces the key set. `changed` is whether its text differs from that of the set before. After an
 * error the keys from before stay in use. Any thread. */
kedge_status kedge_auth_set_keys(kedge_auth *auth, const char *jwks, bool *changed,
                                 kedge_error *error);
/* The same for the list of revoked tokens (revoked.h). */
kedge_status kedge_auth_set_revoked(kedge_auth *auth, const char *revoked, bool *changed,
                                    kedge_error *error);
/* A number that rises with each change of the keys or of the revoked tokens. A token that was good
 * under a lower number must be checked again. Any thread. */
uint64_t kedge_auth_generation(kedge_auth *auth);
/* `authorization` is the header's value, or NULL. KEDGE_UNAUTHORIZED with the code token-missing,
 * token-invalid, token-expired or token-revoked. Any thread. */
kedge_status kedge_auth_check(kedge_auth *auth, const char *authorization,
                              kedge_auth_result *result, kedge_error *error);
/* Looks for the token among those that were found good before. This saves the check of a signature,
 * which takes some 100 us. KEDGE_NOT_FOUND: it is not among them; ask kedge_auth_check. */
kedge_status kedge_auth_look(kedge_auth *auth, const char *authorization, kedge_auth_result *result,
                             kedge_error *error);
/* The number of signatures that were checked. Any thread. */
uint64_t kedge_auth_checks(const kedge_auth *auth);

#endif
