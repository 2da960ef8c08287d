/* See issue.h. */
#include "backend/auth/issue.h"

#include "backend/auth/auth.h"
#include "common/error.h"
#include "common/names.h"

#include <jansson.h>
#include <rhonabwy.h>
#include <string.h>

#define RSA_BITS 3072

/* ---- keys ---- */

typedef struct key_kind {
    const char *algorithm;
    int type;
    unsigned bits;
} key_kind;

static const key_kind kinds[] = {{"ES256", R_KEY_TYPE_EC, 256},
                                 {"EdDSA", R_KEY_TYPE_EDDSA, 256},
                                 {"RS256", R_KEY_TYPE_RSA, RSA_BITS}};

static const key_kind *kind_of(const char *algorithm)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].algorithm, algorithm) == 0) return &kinds[i];
    }
    return NULL;
}

static bool name_key(jwk_t *key, const char *kid, const char *algorithm)
{
    return r_jwk_set_property_str(key, "kid", kid) == RHN_OK &&
           r_jwk_set_property_str(key, "alg", algorithm) == RHN_OK &&
           r_jwk_set_property_str(key, "use", "sig") == RHN_OK;
}

static bool generate(const key_kind *kind, jwk_t *private_key, jwk_t *public_key, char *kid)
{
    if (r_jwk_generate_key_pair(private_key, public_key, kind->type, kind->bits, "") != RHN_OK) {
        return false;
    }
    char *thumbprint = r_jwk_thumbprint(public_key, R_JWK_THUMB_SHA256, 0);
    bool named = thumbprint != NULL && strlen(thumbprint) < KEDGE_KID_SIZE;
    if (named) memcpy(kid, thumbprint, strlen(thumbprint) + 1);
    r_free(thumbprint);
    return named && name_key(private_key, kid, kind->algorithm) &&
           name_key(public_key, kid, kind->algorithm);
}

static kedge_status export(char *text, kedge_buffer *out, kedge_error *error)
{
    if (text == NULL) return kedge_fail_no_memory(error);
    kedge_buffer_append_text(out, text);
    r_free(text);
    return kedge_buffer_status(out, error);
}

kedge_status kedge_auth_make_keys(const char *algorithm, const char *others,
                                  kedge_buffer *private_key, kedge_buffer *key_set,
                                  char kid[KEDGE_KID_SIZE], kedge_error *error)
{
    const key_kind *kind = kind_of(algorithm);
    jwk_t *secret = NULL;
    jwk_t *shown = NULL;
    jwks_t *set = NULL;
    kedge_status status = KEDGE_OK;
    if (kind == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "algorithm-invalid",
                          "keys are made for " KEDGE_KEY_ALGORITHMS_TEXT ", not for \"%s\"",
                          algorithm);
    }
    if (r_global_init() != RHN_OK || r_jwk_init(&secret) != RHN_OK ||
        r_jwk_init(&shown) != RHN_OK || r_jwks_init(&set) != RHN_OK) {
        status = kedge_fail_no_memory(error);
        goto out;
    }
    if (others != NULL && r_jwks_import_from_json_str(set, others) != RHN_OK) {
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "jwks-invalid",
                            "what is there already is not a key set (RFC 7517)");
        goto out;
    }
    if (!generate(kind, secret, shown, kid) || r_jwks_append_jwk(set, shown) != RHN_OK) {
        status = kedge_fail(error, KEDGE_INTERNAL, "keys-not-made",
                            "the library for keys could not make a pair for %s", algorithm);
        goto out;
    }
    status = export(r_jwk_export_to_json_str(secret, 0), private_key, error);
    if (status == KEDGE_OK) status = export(r_jwks_export_to_json_str(set, 0), key_set, error);
out:
    if (secret) r_jwk_free(secret);
    if (shown) r_jwk_free(shown);
    if (set) r_jwks_free(set);
    return status;
}

/* ---- tokens ---- */

static kedge_status refuse(kedge_error *error, const char *what)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "claims-invalid", "%s", what);
}

static kedge_status check_names(const kedge_auth_claims *claims, kedge_error *error)
{
    size_t user = strlen(claims->user);
    bool all = strcmp(claims->organization, "*") == 0;
    if (user == 0 || user >= KEDGE_TOKEN_NAME_SIZE) {
        return refuse(error, "the user must have 1 to 255 bytes");
    }
    if (claims->role != NULL && strlen(claims->role) >= KEDGE_TOKEN_NAME_SIZE) {
        return refuse(error, "the role must have at most 255 bytes");
    }
    if (!all) {
        return kedge_check_name("organization", kedge_bytes_of(claims->organization), error);
    }
    if (claims->role == NULL || strcmp(claims->role, "admin") != 0) {
        return refuse(error, "the organization * is for the role admin");
    }
    return KEDGE_OK;
}

static kedge_status add_projects(const char *list, json_t *claims, kedge_error *error)
{
    json_t *names = json_array();
    kedge_status status = json_object_set_new(claims, "projects", names) == 0
                              ? KEDGE_OK
                              : kedge_fail_no_memory(error);
    for (const char *name = list; status == KEDGE_OK && name != NULL;) {
        size_t size = strcspn(name, ",");
        status = kedge_check_name("project", (kedge_bytes){name, size}, error);
        if (status == KEDGE_OK && json_array_size(names) == KEDGE_TOKEN_PROJECTS_MAX) {
            status = refuse(error, "a token names at most 64 projects; leave them out for all");
        }
        if (status == KEDGE_OK && json_array_append_new(names, json_stringn(name, size)) != 0) {
            status = kedge_fail_no_memory(error);
        }
        name = name[size] == ',' ? name + size + 1 : NULL;
    }
    return status;
}

static kedge_status add_more(const char *text, json_t *claims, kedge_error *error)
{
    json_t *more = strlen(text) <= KEDGE_CLAIMS_BYTES_MAX
                       ? json_loads(text, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    kedge_status status = KEDGE_OK;
    if (!json_is_object(more)) {
        status = refuse(error, "the further claims must be a JSON object of at most 8192 bytes");
    } else if (json_object_update(claims, more) != 0) {
        status = kedge_fail_no_memory(error);
    }
    json_decref(more);
    return status;
}

static kedge_status add_claims(const kedge_environment *environment,
                               const kedge_auth_claims *wanted, json_t *claims, kedge_error *error)
{
    char id[33];
    kedge_random_hex(environment, 16, id);
    json_int_t now_s = environment->now_ms(environment->context) / 1000;
    json_int_t expires_s = now_s + (json_int_t)wanted->minutes * 60;
    const struct {
        const char *name;
        json_t *value;
    } members[] = {{"iss", json_string(wanted->issuer)},
                   {"aud", json_string(wanted->audience)},
                   {"sub", json_string(wanted->user)},
                   {"org", json_string(wanted->organization)},
                   {"iat", json_integer(now_s)},
                   {"exp", json_integer(expires_s)},
                   {"jti", json_string(id)}};
    bool utf8 = true;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        utf8 = json_object_set_new(claims, members[i].name, members[i].value) == 0 && utf8;
    }
    if (wanted->role != NULL) {
        utf8 = json_object_set_new(claims, "role", json_string(wanted->role)) == 0 && utf8;
    }
    if (!utf8) return refuse(error, "each claim must be UTF-8");
    kedge_status status = KEDGE_OK;
    if (wanted->projects != NULL) status = add_projects(wanted->projects, claims, error);
    if (status == KEDGE_OK && wanted->more != NULL) status = add_more(wanted->more, claims, error);
    return status;
}

static kedge_status refuse_key(kedge_error *error, const char *what)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "key-invalid", "%s", what);
}

static kedge_status sign(jwk_t *key, json_t *claims, kedge_buffer *token, kedge_error *error)
{
    jwt_t *made = NULL;
    const char *name = r_jwk_get_property_str(key, "alg");
    const char *kid = r_jwk_get_property_str(key, "kid");
    if ((r_jwk_key_type(key, NULL, 0) & R_KEY_TYPE_PRIVATE) == 0) {
        return refuse_key(error, "the file has no private key (a JWK, as make-keys makes it)");
    }
    if (name == NULL || kid == NULL) {
        return refuse_key(error, "the private key has no algorithm (alg), or no name (kid)");
    }
    if (r_jwt_init(&made) != RHN_OK) return kedge_fail_no_memory(error);
    char *text = NULL;
    if (r_jwt_set_sign_alg(made, r_str_to_jwa_alg(name)) == RHN_OK &&
        r_jwt_set_header_str_value(made, "kid", kid) == RHN_OK &&
        r_jwt_set_full_claims_json_t(made, claims) == RHN_OK) {
        text = r_jwt_serialize_signed(made, key, 0);
    }
    r_jwt_free(made);
    if (text == NULL) return refuse_key(error, "nothing can be signed with the private key");
    return export(text, token, error);
}

kedge_status kedge_auth_issue(const kedge_environment *environment, const char *private_key,
                              const kedge_auth_claims *wanted, kedge_buffer *token,
                              kedge_error *error)
{
    jwk_t *key = NULL;
    json_t *claims = json_object();
    kedge_status status = check_names(wanted, error);
    if (status != KEDGE_OK) goto out;
    if (claims == NULL || r_global_init() != RHN_OK || r_jwk_init(&key) != RHN_OK) {
        status = kedge_fail_no_memory(error);
        goto out;
    }
    status = add_claims(environment, wanted, claims, error);
    if (status != KEDGE_OK) goto out;
    if (r_jwk_import_from_json_str(key, private_key) != RHN_OK) {
        status = refuse_key(error, "the file has no private key (a JWK, as make-keys makes it)");
        goto out;
    }
    status = sign(key, claims, token, error);
out:
    json_decref(claims);
    if (key) r_jwk_free(key);
    return status;
}
