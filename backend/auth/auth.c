/* See auth.h. */
#include "backend/auth/auth.h"

#include "backend/auth/revoked.h"
#include "backend/auth/token_cache.h"
#include "common/error.h"
#include "common/hash.h"

#include <jansson.h>
#include <pthread.h>
#include <rhonabwy.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define ALGORITHMS_MAX  8
#define CLOCK_LEEWAY_S  60
#define TOKEN_BYTES_MAX 16384
#define RSA_BITS_MIN    2048
#define TIME_MAX_S      253402300799.0 /* the end of the year 9999 */

struct kedge_auth {
    const kedge_environment *environment;
    bool open;
    char *issuer;
    char *audience;
    jwa_alg algorithms[ALGORITHMS_MAX];
    size_t algorithm_count;
    jwks_t *keys;
    kedge_revoked *revoked;           /* NULL: none */
    char keys_hash[KEDGE_SHA256_HEX]; /* of the text that `keys` was read from */
    char revoked_hash[KEDGE_SHA256_HEX];
    atomic_uint_fast64_t generation;
    atomic_uint_fast64_t checks; /* of signatures */
    kedge_token_cache *cache;    /* NULL in open mode */
    pthread_mutex_t mutex;       /* over `keys`, whose copies count references, and `revoked` */
};

static kedge_status refuse(kedge_error *error, const char *code, const char *what)
{
    return kedge_fail(error, KEDGE_UNAUTHORIZED, code, "%s", what);
}

/* Only signatures by a private key: a shared secret or "none" would let a holder of the key set
 * sign. */
static bool is_asymmetric(jwa_alg algorithm)
{
    static const jwa_alg allowed[] = {
        R_JWA_ALG_RS256, R_JWA_ALG_RS384, R_JWA_ALG_RS512, R_JWA_ALG_PS256, R_JWA_ALG_PS384,
        R_JWA_ALG_PS512, R_JWA_ALG_ES256, R_JWA_ALG_ES384, R_JWA_ALG_ES512, R_JWA_ALG_EDDSA};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (allowed[i] == algorithm) return true;
    }
    return false;
}

static kedge_status parse_algorithms(kedge_auth *auth, const char *list, kedge_error *error)
{
    if (!list) list = "RS256,PS256,ES256,EdDSA";
    while (*list) {
        size_t size = strcspn(list, ",");
        char name[16] = "";
        if (size < sizeof name) memcpy(name, list, size);
        jwa_alg algorithm = r_str_to_jwa_alg(name);
        if (!is_asymmetric(algorithm) || auth->algorithm_count == ALGORITHMS_MAX) {
            return kedge_fail(
                error, KEDGE_INVALID_ARGUMENT, "algorithm-invalid",
                "the token algorithm \"%.*s\" is not allowed; there are RS256, RS384, "
                "RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA",
                (int)size, list);
        }
        auth->algorithms[auth->algorithm_count++] = algorithm;
        list += size + (list[size] == ',');
    }
    return KEDGE_OK;
}

/* ---- the key set ---- */

/* What the key is for, when it says so. */
static bool is_for_verifying(jwk_t *key)
{
    const char *use = r_jwk_get_property_str(key, "use");
    int count = r_jwk_get_property_array_size(key, "key_ops");
    bool listed = count <= 0;
    for (int i = 0; i < count; i++) {
        const char *operation = r_jwk_get_property_array(key, "key_ops", (size_t)i);
        listed = listed || (operation && strcmp(operation, "verify") == 0);
    }
    return listed && (!use || strcmp(use, "sig") == 0);
}

static kedge_status check_key(jwk_t *key, bool *usable, kedge_error *error)
{
    unsigned bits = 0;
    int type = r_jwk_key_type(key, &bits, 0);
    const char *kid = r_jwk_get_property_str(key, "kid");
    *usable = (type & R_KEY_TYPE_SYMMETRIC) == 0 && is_for_verifying(key);
    if (*usable && (type & R_KEY_TYPE_RSA) && bits < RSA_BITS_MIN) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "jwks-invalid",
                          "the RSA key \"%s\" of the key set has %u bits; at least %d are needed",
                          kid ? kid : "", bits, RSA_BITS_MIN);
    }
    return KEDGE_OK;
}

/* Moves the keys of `all` that can be used into `usable`. */
static kedge_status select_keys(jwks_t *all, jwks_t *usable, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < r_jwks_size(all) && status == KEDGE_OK; i++) {
        bool wanted = false;
        jwk_t *key = r_jwks_get_at(all, i);
        if (!key) return kedge_fail_no_memory(error);
        status = check_key(key, &wanted, error);
        if (status == KEDGE_OK && wanted && r_jwks_append_jwk(usable, key) != RHN_OK)
            status = kedge_fail_no_memory(error);
        r_jwk_free(key);
    }
    return status;
}

static kedge_status read_keys(const char *text, jwks_t *all, jwks_t *usable, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    bool read = r_jwks_import_from_json_str(all, text) == RHN_OK;
    if (read) status = select_keys(all, usable, error);
    if (status != KEDGE_OK || r_jwks_size(usable) > 0) return status;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "jwks-invalid",
                      "the key set is not a JWKS (RFC 7517) with at least one public key that "
                      "verifies signatures");
}

/* With the mutex. Whether the text is another one than before. */
static bool note_text(kedge_auth *auth, char hash[KEDGE_SHA256_HEX], const char *text)
{
    char before[KEDGE_SHA256_HEX];
    memcpy(before, hash, sizeof before);
    kedge_sha256_hex(kedge_bytes_of(text), hash);
    if (strcmp(before, hash) == 0) return false;
    atomic_fetch_add(&auth->generation, 1);
    return true;
}

kedge_status kedge_auth_set_keys(kedge_auth *auth, const char *jwks, bool *changed,
                                 kedge_error *error)
{
    *changed = false;
    jwks_t *all = NULL;
    jwks_t *usable = NULL;
    bool made = r_jwks_init(&all) == RHN_OK && r_jwks_init(&usable) == RHN_OK;
    kedge_status status = made ? read_keys(jwks, all, usable, error) : kedge_fail_no_memory(error);
    if (status == KEDGE_OK) {
        pthread_mutex_lock(&auth->mutex);
        jwks_t *before = auth->keys;
        auth->keys = usable;
        usable = before;
        *changed = note_text(auth, auth->keys_hash, jwks);
        pthread_mutex_unlock(&auth->mutex);
    }
    if (all) r_jwks_free(all);
    if (usable) r_jwks_free(usable);
    return status;
}

kedge_status kedge_auth_set_revoked(kedge_auth *auth, const char *text, bool *changed,
                                    kedge_error *error)
{
    *changed = false;
    kedge_revoked *revoked = NULL;
    kedge_status status = kedge_revoked_read(auth->environment->allocator, text, &revoked, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&auth->mutex);
    kedge_revoked *before = auth->revoked;
    auth->revoked = revoked;
    *changed = note_text(auth, auth->revoked_hash, text);
    pthread_mutex_unlock(&auth->mutex);
    kedge_revoked_free(before);
    return KEDGE_OK;
}

uint64_t kedge_auth_generation(kedge_auth *auth)
{
    return atomic_load(&auth->generation);
}

static kedge_status load_keys(kedge_auth *auth, const kedge_auth_options *options,
                              kedge_error *error)
{
    if (!options->jwks || !options->issuer || !options->audience) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "token-options-missing",
                          "tokens need --jwks, --issuer and --audience; "
                          "or start with --open on loopback");
    }
    auth->issuer =
        kedge_copy_text(options->environment->allocator, kedge_bytes_of(options->issuer));
    auth->audience =
        kedge_copy_text(options->environment->allocator, kedge_bytes_of(options->audience));
    auth->cache = kedge_token_cache_new(options->environment->allocator);
    if (!auth->issuer || !auth->audience || !auth->cache) return kedge_fail_no_memory(error);
    if (r_global_init() != RHN_OK) return kedge_fail_no_memory(error);
    bool changed;
    kedge_status status = kedge_auth_set_keys(auth, options->jwks, &changed, error);
    return status == KEDGE_OK ? parse_algorithms(auth, options->algorithms, error) : status;
}

kedge_status kedge_auth_new(const kedge_auth_options *options, kedge_auth **auth,
                            kedge_error *error)
{
    kedge_auth *made = kedge_allocate(options->environment->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->environment = options->environment;
    made->open = options->open;
    pthread_mutex_init(&made->mutex, NULL);
    kedge_status status = options->open ? KEDGE_OK : load_keys(made, options, error);
    if (status != KEDGE_OK) {
        kedge_auth_free(made);
        return status;
    }
    *auth = made;
    return KEDGE_OK;
}

void kedge_auth_free(kedge_auth *auth)
{
    if (!auth) return;
    const kedge_allocator *allocator = auth->environment->allocator;
    if (auth->keys) r_jwks_free(auth->keys);
    kedge_revoked_free(auth->revoked);
    kedge_token_cache_free(auth->cache);
    pthread_mutex_destroy(&auth->mutex);
    kedge_release(allocator, auth->issuer);
    kedge_release(allocator, auth->audience);
    kedge_release(allocator, auth);
}

/* The key that the token names, or the only one there is. Free with r_jwk_free. */
static jwk_t *find_key(kedge_auth *auth, jwt_t *token)
{
    const char *kid = r_jwt_get_header_str_value(token, "kid");
    pthread_mutex_lock(&auth->mutex);
    jwk_t *key = kid                            ? r_jwks_get_by_kid(auth->keys, kid)
                 : r_jwks_size(auth->keys) == 1 ? r_jwks_get_at(auth->keys, 0)
                                                : NULL;
    pthread_mutex_unlock(&auth->mutex);
    return key;
}

static kedge_status check_signature(kedge_auth *auth, jwt_t *token, kedge_error *error)
{
    jwa_alg algorithm = r_jwt_get_sign_alg(token);
    bool pinned = false;
    for (size_t i = 0; i < auth->algorithm_count; i++) {
        pinned = pinned || auth->algorithms[i] == algorithm;
    }
    if (!pinned) return refuse(error, "token-invalid", "the token's algorithm is not accepted");
    jwk_t *key = find_key(auth, token);
    if (!key) return refuse(error, "token-invalid", "the token's key is not in the key set");
    const char *wanted = r_jwk_get_property_str(key, "alg");
    bool fits = !wanted || r_str_to_jwa_alg(wanted) == algorithm;
    int verified = fits ? r_jwt_verify_signature(token, key, 0) : RHN_ERROR_INVALID;
    r_jwk_free(key);
    if (!fits) return refuse(error, "token-invalid", "the token's key is for another algorithm");
    if (verified != RHN_OK) return refuse(error, "token-invalid", "the token's signature is wrong");
    return KEDGE_OK;
}

static bool is_member(const json_t *value, const char *text)
{
    if (json_is_string(value)) return strcmp(json_string_value(value), text) == 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *element = json_array_get(value, i);
        if (json_is_string(element) && strcmp(json_string_value(element), text) == 0) return true;
    }
    return false;
}

#define TIME_SIZE 32

/* As RFC 3339 has it: "1994-11-06T08:49:37Z". */
static const char *write_time(int64_t time_s, char text[TIME_SIZE])
{
    struct tm utc;
    time_t seconds = (time_t)time_s;
    bool fine = gmtime_r(&seconds, &utc) != NULL &&
                strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0;
    return fine ? text : "no time";
}

/* Names the claim and the clock that do not fit: the wrong one may be either. */
static kedge_status refuse_time(kedge_error *error, const char *code, const char *what,
                                double claim_s, int64_t now_ms)
{
    int64_t told_s = claim_s < 0            ? 0
                     : claim_s > TIME_MAX_S ? (int64_t)TIME_MAX_S
                                            : (int64_t)claim_s;
    char told[TIME_SIZE], now[TIME_SIZE];
    return kedge_fail(error, KEDGE_UNAUTHORIZED, code, "%s %s, and the server's clock says %s",
                      what, write_time(told_s, told), write_time(now_ms / 1000, now));
}

/* `exp` is required; `nbf` is optional; both in seconds, with a minute's leeway. */
static kedge_status check_times(kedge_auth *auth, const json_t *claims, kedge_auth_result *result,
                                kedge_error *error)
{
    int64_t now_ms = auth->environment->now_ms(auth->environment->context);
    const json_t *expires = json_object_get(claims, "exp");
    const json_t *starts = json_object_get(claims, "nbf");
    if (!json_is_number(expires)) {
        return refuse(error, "token-invalid", "the token has no expiry (exp)");
    }
    double until_s = json_number_value(expires) + CLOCK_LEEWAY_S;
    if (until_s > TIME_MAX_S) until_s = TIME_MAX_S;
    if (until_s * 1000 <= (double)now_ms) {
        return refuse_time(error, "token-expired", "the token has expired: its exp is",
                           json_number_value(expires), now_ms);
    }
    result->expires_ms = (int64_t)(until_s * 1000);
    if (starts && !json_is_number(starts))
        return refuse(error, "token-invalid", "the token's nbf is no number");
    double from_s = starts ? json_number_value(starts) - CLOCK_LEEWAY_S : 0;
    if (from_s * 1000 > (double)now_ms) {
        return refuse_time(error, "token-invalid", "the token is not valid yet: its nbf is",
                           json_number_value(starts), now_ms);
    }
    return KEDGE_OK;
}

static bool copy_claim(const json_t *value, char *out)
{
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);
    if (!text || size >= KEDGE_TOKEN_NAME_SIZE || strlen(text) != size) return false;
    memcpy(out, text, size + 1);
    return true;
}

static kedge_status copy_projects(const json_t *projects, kedge_auth_result *result,
                                  kedge_error *error)
{
    if (!projects) return KEDGE_OK;
    size_t count = json_array_size(projects);
    if (!json_is_array(projects) || count > KEDGE_TOKEN_PROJECTS_MAX) {
        return refuse(error, "token-invalid",
                      "the claim projects must be an array of at most 64 names");
    }
    for (size_t i = 0; i < count; i++) {
        if (!copy_claim(json_array_get(projects, i), result->projects[i])) {
            return refuse(error, "token-invalid",
                          "the claim projects holds something else than names");
        }
        result->project_list[i] = result->projects[i];
    }
    result->identity.projects = result->project_list;
    result->identity.project_count = count;
    return KEDGE_OK;
}

static kedge_status check_revoked(kedge_auth *auth, const json_t *claims,
                                  const kedge_auth_result *result, kedge_error *error)
{
    const json_t *made = json_object_get(claims, "iat");
    double made_s = json_is_number(made) ? json_number_value(made) : -1;
    const kedge_revoked_token token = {
        .id = json_string_value(json_object_get(claims, "jti")),
        .user = result->user,
        .organization = result->organization,
        .made_s = made_s >= 0 && made_s <= TIME_MAX_S ? (int64_t)made_s : -1};
    pthread_mutex_lock(&auth->mutex);
    bool revoked = auth->revoked != NULL && kedge_revoked_has(auth->revoked, &token);
    pthread_mutex_unlock(&auth->mutex);
    if (revoked) return refuse(error, "token-revoked", "the token was revoked");
    return KEDGE_OK;
}

static kedge_status read_claims(kedge_auth *auth, const json_t *claims, kedge_auth_result *result,
                                kedge_error *error)
{
    const char *issuer = json_string_value(json_object_get(claims, "iss"));
    if (!issuer || strcmp(issuer, auth->issuer) != 0) {
        return refuse(error, "token-invalid", "the token is of another issuer (iss)");
    }
    if (!is_member(json_object_get(claims, "aud"), auth->audience)) {
        return refuse(error, "token-invalid", "the token is for another audience (aud)");
    }
    kedge_status status = check_times(auth, claims, result, error);
    if (status != KEDGE_OK) return status;
    if (!copy_claim(json_object_get(claims, "sub"), result->user) || !result->user[0] ||
        !copy_claim(json_object_get(claims, "org"), result->organization)) {
        return refuse(error, "token-invalid",
                      "the token needs the claims sub and org, as strings of at most 255 bytes");
    }
    const json_t *role = json_object_get(claims, "role");
    if (role && !copy_claim(role, result->role)) {
        return refuse(error, "token-invalid", "the claim role must be a string");
    }
    result->identity.user = result->user;
    result->identity.role = result->role;
    result->identity.organization = result->organization;
    result->identity.admin = strcmp(result->role, "admin") == 0;
    if (strcmp(result->organization, "*") == 0 && !result->identity.admin) {
        return refuse(error, "token-invalid", "the organization * is for the role admin");
    }
    status = copy_projects(json_object_get(claims, "projects"), result, error);
    return status == KEDGE_OK ? check_revoked(auth, claims, result, error) : status;
}

static kedge_status check_token(kedge_auth *auth, const char *text, kedge_auth_result *result,
                                kedge_error *error)
{
    jwt_t *token = NULL;
    json_t *claims = NULL;
    json_t *critical = NULL;
    kedge_status status;
    if (r_jwt_init(&token) != RHN_OK) return kedge_fail_no_memory(error);
    if (r_jwt_advanced_parse(token, text, R_PARSE_NONE, 0) != RHN_OK ||
        r_jwt_get_type(token) != R_JWT_TYPE_SIGN) {
        status = refuse(error, "token-invalid", "the token is not a signed JWT");
        goto out;
    }
    /* RFC 7515, section 4.1.11: extensions that must be understood; none is. */
    critical = r_jwt_get_header_json_t_value(token, "crit");
    if (critical) {
        status = refuse(error, "token-invalid", "the token asks for extensions (crit)");
        goto out;
    }
    status = check_signature(auth, token, error);
    if (status != KEDGE_OK) goto out;
    claims = r_jwt_get_full_claims_json_t(token);
    status = claims ? read_claims(auth, claims, result, error) : kedge_fail_no_memory(error);
out:
    json_decref(critical);
    json_decref(claims);
    r_jwt_free(token);
    return status;
}

/* ---- the header ---- */

/* The token that the header carries. */
static kedge_status read_header(const char *authorization, const char **token, kedge_error *error)
{
    if (!authorization || !*authorization) {
        return refuse(error, "token-missing", "the header Authorization: Bearer … is missing");
    }
    if (strncasecmp(authorization, "Bearer ", 7) != 0) {
        return refuse(error, "token-invalid",
                      "the header Authorization must be Bearer, a space, and the token");
    }
    *token = authorization + 7;
    if (strlen(*token) <= TOKEN_BYTES_MAX) return KEDGE_OK;
    return refuse(error, "token-invalid", "the token is over 16 KiB");
}

/* Also gives what a check of the signature needs: the token and its hash. */
static kedge_status look(kedge_auth *auth, const char *authorization, const char **token,
                         uint8_t hash[KEDGE_SHA256_SIZE], kedge_auth_result *result,
                         kedge_error *error)
{
    memset(result, 0, sizeof *result);
    result->generation = kedge_auth_generation(auth);
    result->identity.user = result->user;
    result->identity.role = result->role;
    if (auth->open) {
        result->identity.organization = "*";
        result->identity.admin = true;
        result->expires_ms = INT64_MAX;
        return KEDGE_OK;
    }
    kedge_status status = read_header(authorization, token, error);
    if (status != KEDGE_OK) return status;
    const kedge_bytes text = kedge_bytes_of(*token);
    kedge_sha256_of(&text, 1, hash);
    int64_t now_ms = auth->environment->now_ms(auth->environment->context);
    bool known = kedge_token_cache_find(auth->cache, hash, result->generation, now_ms, result);
    return known ? KEDGE_OK : KEDGE_NOT_FOUND;
}

kedge_status kedge_auth_look(kedge_auth *auth, const char *authorization, kedge_auth_result *result,
                             kedge_error *error)
{
    const char *token;
    uint8_t hash[KEDGE_SHA256_SIZE];
    return look(auth, authorization, &token, hash, result, error);
}

kedge_status kedge_auth_check(kedge_auth *auth, const char *authorization,
                              kedge_auth_result *result, kedge_error *error)
{
    const char *token;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_status status = look(auth, authorization, &token, hash, result, error);
    if (status != KEDGE_NOT_FOUND) return status;
    atomic_fetch_add(&auth->checks, 1);
    status = check_token(auth, token, result, error);
    if (status == KEDGE_OK) kedge_token_cache_add(auth->cache, hash, result);
    return status;
}

uint64_t kedge_auth_checks(const kedge_auth *auth)
{
    return atomic_load(&auth->checks);
}
