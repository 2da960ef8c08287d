/* Fuzz target: what says who asks: the header with the bearer token, key sets, lists of revoked
 * tokens, by the first byte of the input. No made-up token is good. */
#include "backend/auth/auth.h"
#include "backend/auth/revoked.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* A public key of the curve P-256 (RFC 7515, appendix A.3). */
static const char keys[] =
    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k\",\"alg\":\"ES256\","
    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";

static kedge_environment environment;

static kedge_auth *open_auth(const char *jwks)
{
    kedge_auth *auth = NULL;
    const kedge_auth_options options = {
        .environment = &environment, .jwks = jwks, .issuer = "i", .audience = "a"};
    return kedge_auth_new(&options, &auth, NULL) == KEDGE_OK ? auth : NULL;
}

static void check_header(const char *text)
{
    static kedge_auth_result who;
    kedge_error error = {0};
    kedge_auth *auth = open_auth(keys);
    FUZZ_CHECK(auth != NULL);
    kedge_status status = kedge_auth_check(auth, text, &who, &error);
    FUZZ_CHECK(status == KEDGE_UNAUTHORIZED);
    FUZZ_CHECK(strncmp(error.code, "token-", 6) == 0);
    kedge_auth_free(auth);
}

static void read_revoked(const char *text)
{
    kedge_revoked *revoked = NULL;
    const kedge_revoked_token token = {"id", "ann", "acme", 1};
    if (kedge_revoked_read(&kedge_allocator_default, text, &revoked, NULL) == KEDGE_OK)
        (void)kedge_revoked_has(revoked, &token);
    kedge_revoked_free(revoked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    environment = kedge_environment_system(NULL);
    char *text = malloc(size);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == '0' % 3) check_header(text);
    if (data[0] % 3 == '1' % 3) kedge_auth_free(open_auth(text));
    if (data[0] % 3 == '2' % 3) read_revoked(text);
    free(text);
    return 0;
}
