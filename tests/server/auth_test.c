/* Bearer tokens: what is accepted, and each thing that is refused, with real
 * keys and signatures. */
#include "backend/auth/auth.h"

#include <jansson.h>
#include <rhonabwy.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static kedge_environment environment;
static jwk_t *signing_key;
static jwk_t *public_key;
static jwk_t *stranger_key;
static jwk_t *stranger_public;
static char *key_set;

static int make_keys(void **state)
{
    (void)state;
    environment = kedge_environment_system(NULL);
    r_global_init();
    r_jwk_init(&signing_key);
    r_jwk_init(&public_key);
    r_jwk_init(&stranger_key);
    r_jwk_init(&stranger_public);
    if (r_jwk_generate_key_pair(signing_key, public_key, R_KEY_TYPE_EC, 256, "one") != RHN_OK ||
        r_jwk_generate_key_pair(stranger_key, stranger_public, R_KEY_TYPE_EC, 256, "one") !=
            RHN_OK) {
        return -1;
    }
    jwks_t *keys = NULL;
    r_jwks_init(&keys);
    r_jwks_append_jwk(keys, public_key);
    key_set = r_jwks_export_to_json_str(keys, 0);
    r_jwks_free(keys);
    return key_set ? 0 : -1;
}

static int free_keys(void **state)
{
    (void)state;
    r_jwk_free(signing_key);
    r_jwk_free(public_key);
    r_jwk_free(stranger_key);
    r_jwk_free(stranger_public);
    r_free(key_set);
    r_global_close();
    return 0;
}

static kedge_auth *make_auth(const char *algorithms)
{
    kedge_auth_options options = {.environment = &environment,
                                  .jwks = key_set,
                                  .issuer = "https://issuer.example",
                                  .audience = "kedge",
                                  .algorithms = algorithms};
    kedge_auth *auth = NULL;
    kedge_error error = {0};
    assert_int_equal(kedge_auth_new(&options, &auth, &error), KEDGE_OK);
    return auth;
}

/* A token of the claims, with `change` merged over good ones: a null takes a claim away. */
static char *make_token(const char *change, jwk_t *key, jwa_alg algorithm)
{
    json_t *claims = json_pack("{s:s,s:s,s:s,s:s,s:s,s:I}", "iss", "https://issuer.example", "aud",
                               "kedge", "sub", "u1", "org", "acme", "role", "editor", "exp",
                               (json_int_t)time(NULL) + 600);
    json_t *changes = json_loads(change, 0, NULL);
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(changes, name, value)
    {
        if (json_is_null(value)) {
            json_object_del(claims, name);
        } else {
            json_object_set(claims, name, value);
        }
    }
    jwt_t *token = NULL;
    r_jwt_init(&token);
    r_jwt_set_sign_alg(token, algorithm);
    r_jwt_set_full_claims_json_t(token, claims);
    char *text = r_jwt_serialize_signed(token, key, 0);
    r_jwt_free(token);
    json_decref(changes);
    json_decref(claims);
    return text;
}

static kedge_status check(kedge_auth *auth, const char *token, kedge_auth_result *result,
                          kedge_error *error)
{
    char header[8192];
    snprintf(header, sizeof header, "Bearer %s", token);
    return kedge_auth_check(auth, header, result, error);
}

static void test_a_good_token_gives_its_identity(void **state)
{
    (void)state;
    kedge_auth *auth = make_auth(NULL);
    char *token = make_token("{\"projects\":[\"p1\",\"p2\"]}", signing_key, R_JWA_ALG_ES256);
    assert_non_null(token);
    kedge_auth_result result;
    kedge_error error = {0};
    assert_int_equal(check(auth, token, &result, &error), KEDGE_OK);
    assert_string_equal(result.identity.user, "u1");
    assert_string_equal(result.identity.role, "editor");
    assert_string_equal(result.identity.organization, "acme");
    assert_int_equal(result.identity.project_count, 2);
    assert_string_equal(result.identity.projects[1], "p2");
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    assert_in_range(result.expires_ms - now_ms, 600000, 661000); /* with the leeway */
    assert_false(result.identity.admin);
    r_free(token);
    kedge_auth_free(auth);
}

static void test_a_token_with_a_wrong_claim_is_refused_with_its_code(void **state)
{
    (void)state;
    static const struct {
        const char *change;
        const char *code;
        const char *message;
    } cases[] = {
        {"{\"iss\":\"https://other.example\"}", "token-invalid", "iss"},
        {"{\"aud\":\"other\"}", "token-invalid", "aud"},
        {"{\"aud\":[\"x\",\"y\"]}", "token-invalid", "aud"},
        {"{\"aud\":null}", "token-invalid", "aud"},
        {"{\"exp\":1000}", "token-expired",
         "its exp is 1970-01-01T00:16:40Z, and the server's clock says 20"},
        {"{\"exp\":null}", "token-invalid", "exp"},
        {"{\"exp\":\"soon\"}", "token-invalid", "exp"},
        {"{\"nbf\":4102444800}", "token-invalid", "its nbf is 2100-01-01T00:00:00Z, and"},
        {"{\"nbf\":\"soon\"}", "token-invalid", "no number"},
        {"{\"iss\":[\"https://issuer.example\"]}", "token-invalid", "iss"},
        {"{\"exp\":-1e300}", "token-expired", "its exp is 1970-01-01T00:00:00Z, and"},
        {"{\"sub\":null}", "token-invalid", "sub"},
        {"{\"sub\":\"\"}", "token-invalid", "sub"},
        {"{\"org\":7}", "token-invalid", "org"},
        {"{\"org\":\"*\"}", "token-invalid", "admin"},
        {"{\"role\":[]}", "token-invalid", "role"},
        {"{\"projects\":\"p1\"}", "token-invalid", "projects"},
        {"{\"projects\":[1]}", "token-invalid", "projects"},
    };
    kedge_auth *auth = make_auth(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *token = make_token(cases[i].change, signing_key, R_JWA_ALG_ES256);
        kedge_auth_result result;
        kedge_error error = {0};
        assert_int_equal(check(auth, token, &result, &error), KEDGE_UNAUTHORIZED);
        assert_string_equal(error.code, cases[i].code);
        assert_non_null(strstr(error.message, cases[i].message));
        r_free(token);
    }
    kedge_auth_free(auth);
}

static void test_an_audience_may_be_one_of_several(void **state)
{
    (void)state;
    kedge_auth *auth = make_auth(NULL);
    char *token = make_token("{\"aud\":[\"other\",\"kedge\"]}", signing_key, R_JWA_ALG_ES256);
    kedge_auth_result result;
    kedge_error error = {0};
    assert_int_equal(check(auth, token, &result, &error), KEDGE_OK);
    r_free(token);
    kedge_auth_free(auth);
}

static void test_a_signature_by_another_key_of_the_same_id_is_refused(void **state)
{
    (void)state;
    kedge_auth *auth = make_auth(NULL);
    char *token = make_token("{}", stranger_key, R_JWA_ALG_ES256);
    kedge_auth_result result;
    kedge_error error = {0};
    assert_int_equal(check(auth, token, &result, &error), KEDGE_UNAUTHORIZED);
    assert_non_null(strstr(error.message, "signature"));
    r_free(token);
    kedge_auth_free(auth);
}

static void test_an_algorithm_that_is_not_pinned_is_refused(void **state)
{
    (void)state;
    kedge_auth *auth = make_auth("RS256");
    char *token = make_token("{}", signing_key, R_JWA_ALG_ES256);
    kedge_auth_result result;
    kedge_error error = {0};
    assert_int_equal(check(auth, token, &result, &error), KEDGE_UNAUTHORIZED);
    assert_non_null(strstr(error.message, "algorithm"));
    r_free(token);
    kedge_auth_free(auth);
}

static void test_a_token_without_signature_or_with_a_shared_secret_is_refused(void **state)
{
    (void)state;
    /* {"alg":"none"} and {"alg":"HS256"} over the same claims. */
    static const char *const heads[] = {"eyJhbGciOiJub25lIn0",
                                        "eyJhbGciOiJIUzI1NiIsImtpZCI6Im9uZSJ9"};
    kedge_auth *auth = make_auth(NULL);
    char *good = make_token("{}", signing_key, R_JWA_ALG_ES256);
    char *claims = strchr(good, '.');
    for (size_t i = 0; i < 2; i++) {
        char token[4096];
        snprintf(token, sizeof token, "%s%s", heads[i], claims);
        kedge_auth_result result;
        kedge_error error = {0};
        assert_int_equal(check(auth, token, &result, &error), KEDGE_UNAUTHORIZED);
        assert_string_equal(error.code, "token-invalid");
    }
    r_free(good);
    kedge_auth_free(auth);
}

static void test_a_token_that_asks_for_extensions_is_refused(void **state)
{
    (void)state;
    kedge_auth *auth = make_auth(NULL);
    jwt_t *token = NULL;
    json_t *critical = json_pack("[s]", "b64");
    r_jwt_init(&token);
    r_jwt_set_sign_alg(token, R_JWA_ALG_ES256);
    r_jwt_set_header_json_t_value(token, "crit", critical);
    r_jwt_set_claim_str_value(token, "sub", "u1");
    char *text = r_jwt_serialize_signed(token, signing_key, 0);
    assert_non_null(text);
    kedge_auth_result result;
    kedge_error error = {0};
    assert_int_equal(check(auth, text, &result, &error), KEDGE_UNAUTHORIZED);
    assert_non_null(strstr(error.message, "crit"));
    r_free(text);
    r_jwt_free(token);
    json_decref(critical);
    kedge_auth_free(auth);
}

static void test_garbage_in_place_of_a_token_is_refused(void **state)
{
    (void)state;
    static const char *const garbage[] = {
        "x", "a.b.c", "..", "eyJ.eyJ.eyJ", "\x01\xff", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"};
    kedge_auth *auth = make_auth(NULL);
    kedge_auth_result result;
    kedge_error error = {0};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        assert_int_equal(check(auth, garbage[i], &result, &error), KEDGE_UNAUTHORIZED);
        assert_string_equal(error.code, "token-invalid");
    }
    assert_int_equal(kedge_auth_check(auth, NULL, &result, &error), KEDGE_UNAUTHORIZED);
    assert_string_equal(error.code, "token-missing");
    kedge_auth_free(auth);
}

static void test_wrong_options_are_named(void **state)
{
    (void)state;
    kedge_auth *auth = NULL;
    kedge_error error = {0};
    kedge_auth_options options = {.environment = &environment, .jwks = key_set};
    assert_int_equal(kedge_auth_new(&options, &auth, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "token-options-missing");
    options.issuer = "i";
    options.audience = "a";
    options.algorithms = "ES256,HS256";
    assert_int_equal(kedge_auth_new(&options, &auth, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "algorithm-invalid");
    assert_non_null(strstr(error.message, "HS256"));
    options.algorithms = NULL;
    options.jwks = "{\"keys\":[]}";
    assert_int_equal(kedge_auth_new(&options, &auth, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "jwks-invalid");
    options.jwks = "<html>";
    assert_int_equal(kedge_auth_new(&options, &auth, &error), KEDGE_INVALID_ARGUMENT);
    assert_null(auth);
}

/* The key set of one public key, with a property of the key set to a JSON value. */
static char *set_of(jwk_t *key, const char *property, const char *value)
{
    char *key_text = r_jwk_export_to_json_str(key, 0);
    json_t *one = json_loads(key_text, 0, NULL);
    if (property) json_object_set_new(one, property, json_loads(value, JSON_DECODE_ANY, NULL));
    json_t *set = json_pack("{s:[o]}", "keys", one);
    char *text = json_dumps(set, 0);
    json_decref(set);
    r_free(key_text);
    return text;
}

static void test_a_key_is_used_for_nothing_but_what_it_says(void **state)
{
    (void)state;
    bool changed;
    static const struct {
        const char *property;
        const char *value;
        kedge_status loaded;
        const char *refused; /* the token; NULL: it is accepted */
    } cases[] = {
        {"use", "\"sig\"", KEDGE_OK, NULL},
        {"use", "\"enc\"", KEDGE_INVALID_ARGUMENT, NULL},
        {"key_ops", "[\"sign\",\"verify\"]", KEDGE_OK, NULL},
        {"key_ops", "[\"encrypt\",\"wrapKey\"]", KEDGE_INVALID_ARGUMENT, NULL},
        {"alg", "\"ES256\"", KEDGE_OK, NULL},
        {"alg", "\"ES384\"", KEDGE_OK, "another algorithm"},
    };
    kedge_auth *auth = make_auth(NULL);
    char *token = make_token("{}", signing_key, R_JWA_ALG_ES256);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kedge_auth_result result;
        kedge_error error = {0};
        char *set = set_of(public_key, cases[i].property, cases[i].value);
        assert_int_equal(kedge_auth_set_keys(auth, set, &changed, &error), cases[i].loaded);
        free(set);
        if (cases[i].loaded != KEDGE_OK) {
            assert_string_equal(error.code, "jwks-invalid");
            continue;
        }
        kedge_status status = check(auth, token, &result, &error);
        assert_int_equal(status, cases[i].refused ? KEDGE_UNAUTHORIZED : KEDGE_OK);
        if (cases[i].refused) assert_non_null(strstr(error.message, cases[i].refused));
    }
    r_free(token);
    kedge_auth_free(auth);
}

static void test_a_short_rsa_key_refuses_the_key_set(void **state)
{
    (void)state;
    bool changed;
    jwk_t *private_key = NULL, *short_key = NULL;
    kedge_error error = {0};
    kedge_auth *auth = make_auth(NULL);
    r_jwk_init(&private_key);
    r_jwk_init(&short_key);
    assert_int_equal(r_jwk_generate_key_pair(private_key, short_key, R_KEY_TYPE_RSA, 1024, "short"),
                     RHN_OK);
    char *set = set_of(short_key, NULL, NULL);
    assert_int_equal(kedge_auth_set_keys(auth, set, &changed, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.message,
                        "the RSA key \"short\" of the key set has 1024 bits; at least "
                        "2048 are needed");
    free(set);
    r_jwk_free(private_key);
    r_jwk_free(short_key);
    kedge_auth_free(auth);
}

static void test_other_keys_count_from_when_they_are_set(void **state)
{
    (void)state;
    bool changed;
    kedge_auth_result result;
    kedge_error error = {0};
    kedge_auth *auth = make_auth(NULL);
    char *old = make_token("{}", signing_key, R_JWA_ALG_ES256);
    char *new = make_token("{}", stranger_key, R_JWA_ALG_ES256);
    char *set = set_of(stranger_public, NULL, NULL);
    assert_int_equal(kedge_auth_set_keys(auth, "{\"keys\":[]}", &changed, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_auth_set_keys(auth, "<html>", &changed, &error), KEDGE_INVALID_ARGUMENT);
    assert_false(changed);
    assert_int_equal(check(auth, old, &result, &error), KEDGE_OK);
    uint64_t generation = kedge_auth_generation(auth);
    assert_int_equal(kedge_auth_set_keys(auth, set, &changed, &error), KEDGE_OK);
    assert_true(changed);
    assert_int_not_equal(kedge_auth_generation(auth), generation);
    generation = kedge_auth_generation(auth);
    assert_int_equal(kedge_auth_set_keys(auth, set, &changed, &error), KEDGE_OK);
    assert_false(changed);
    assert_int_equal(kedge_auth_generation(auth), generation);
    assert_int_equal(check(auth, old, &result, &error), KEDGE_UNAUTHORIZED);
    assert_int_equal(check(auth, new, &result, &error), KEDGE_OK);
    free(set);
    r_free(old);
    r_free(new);
    kedge_auth_free(auth);
}

static void test_a_revoked_token_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *claims;
        bool refused;
    } cases[] = {
        {"{}", "{\"jti\":\"a\"}", false},
        {"{\"tokens\":[\"c\",\"b\",\"a\"]}", "{\"jti\":\"a\"}", true},
        {"{\"tokens\":[\"c\",\"b\",\"a\"]}", "{\"jti\":\"ab\"}", false},
        {"{\"tokens\":[\"a\"]}", "{}", false},
        {"{\"users\":[{\"user\":\"u1\",\"before\":1000}]}", "{\"iat\":999}", true},
        {"{\"users\":[{\"user\":\"u1\",\"before\":1000}]}", "{\"iat\":999.5}", true},
        {"{\"users\":[{\"user\":\"u1\",\"before\":1000}]}", "{\"iat\":1000}", false},
        {"{\"users\":[{\"user\":\"u1\",\"before\":1000}]}", "{}", true},
        {"{\"users\":[{\"user\":\"u1\",\"before\":1000}]}", "{\"iat\":1e300}", true},
        {"{\"users\":[{\"user\":\"u1\",\"before\":1000}]}", "{\"iat\":\"2000\"}", true},
        {"{\"users\":[{\"user\":\"u2\",\"before\":1000},{\"user\":\"u0\",\"before\":1000}]}", "{}",
         false},
        {"{\"users\":[{\"user\":\"u1\",\"organization\":\"other\",\"before\":1000}]}", "{}", false},
        {"{\"users\":[{\"user\":\"u1\",\"organization\":\"other\",\"before\":1000},"
         "{\"user\":\"u1\",\"organization\":\"acme\",\"before\":1000}]}",
         "{}", true},
    };
    kedge_auth *auth = make_auth(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool changed;
        kedge_auth_result result;
        kedge_error error = {0};
        char *token = make_token(cases[i].claims, signing_key, R_JWA_ALG_ES256);
        assert_int_equal(kedge_auth_set_revoked(auth, cases[i].list, &changed, &error), KEDGE_OK);
        kedge_status status = check(auth, token, &result, &error);
        assert_int_equal(status, cases[i].refused ? KEDGE_UNAUTHORIZED : KEDGE_OK);
        if (cases[i].refused) assert_string_equal(error.code, "token-revoked");
        r_free(token);
    }
    kedge_auth_free(auth);
}

static void test_a_wrong_list_of_revoked_tokens_leaves_the_one_of_before(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "[]",
        "{\"tokens\":[\"a\"]",
        "{\"token\":[\"a\"]}",
        "{\"tokens\":\"a\"}",
        "{\"tokens\":[1]}",
        "{\"tokens\":[],\"tokens\":[]}",
        "{\"users\":{}}",
        "{\"users\":[\"u1\"]}",
        "{\"users\":[{\"user\":\"u1\"}]}",
        "{\"users\":[{\"before\":1}]}",
        "{\"users\":[{\"user\":\"u1\",\"before\":-1}]}",
        "{\"users\":[{\"user\":\"u1\",\"before\":\"now\"}]}",
        "{\"users\":[{\"user\":\"u1\",\"before\":1,\"org\":\"acme\"}]}",
        "{\"users\":[{\"user\":\"u1\",\"before\":1,\"organization\":1}]}",
    };
    bool changed;
    kedge_auth_result result;
    kedge_error error = {0};
    kedge_auth *auth = make_auth(NULL);
    char *token = make_token("{\"jti\":\"a\"}", signing_key, R_JWA_ALG_ES256);
    assert_int_equal(kedge_auth_set_revoked(auth, "{\"tokens\":[\"a\"]}", &changed, &error),
                     KEDGE_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(kedge_auth_set_revoked(auth, wrong[i], &changed, &error),
                         KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "revoked-invalid");
        assert_false(changed);
        assert_int_equal(check(auth, token, &result, &error), KEDGE_UNAUTHORIZED);
    }
    r_free(token);
    kedge_auth_free(auth);
}

static void test_a_token_without_its_scheme_is_refused(void **state)
{
    (void)state;
    kedge_auth_result result;
    kedge_error error = {0};
    char header[4096];
    kedge_auth *auth = make_auth(NULL);
    char *token = make_token("{}", signing_key, R_JWA_ALG_ES256);
    static const char *const schemes[] = {"", "Basic ", "Bearer", "Bearer  ", " Bearer "};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        snprintf(header, sizeof header, "%s%s", schemes[i], token);
        assert_int_equal(kedge_auth_check(auth, header, &result, &error), KEDGE_UNAUTHORIZED);
        assert_string_equal(error.code, "token-invalid");
    }
    snprintf(header, sizeof header, "bearer %s", token); /* its case does not count */
    assert_int_equal(kedge_auth_check(auth, header, &result, &error), KEDGE_OK);
    r_free(token);
    kedge_auth_free(auth);
}

/* ---- tokens that are known ---- */

static int64_t later_ms;

static int64_t later(void *context)
{
    (void)context;
    return (int64_t)time(NULL) * 1000 + later_ms;
}

static kedge_status look(kedge_auth *auth, const char *token, kedge_auth_result *result,
                         kedge_error *error)
{
    char header[8192];
    snprintf(header, sizeof header, "Bearer %s", token);
    return kedge_auth_look(auth, header, result, error);
}

static void test_a_known_token_gives_the_same_identity_without_its_signature(void **state)
{
    (void)state;
    static const char *const claims[] = {"{}", "{\"projects\":[]}",
                                         "{\"projects\":[\"p1\",\"p2\"]}",
                                         "{\"org\":\"*\",\"role\":\"admin\"}", "{\"role\":null}"};
    kedge_auth *auth = make_auth(NULL);
    kedge_error error = {0};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        kedge_auth_result first, again;
        char *token = make_token(claims[i], signing_key, R_JWA_ALG_ES256);
        assert_int_equal(look(auth, token, &again, &error), KEDGE_NOT_FOUND);
        assert_int_equal(check(auth, token, &first, &error), KEDGE_OK);
        assert_int_equal(look(auth, token, &again, &error), KEDGE_OK);
        assert_int_equal(check(auth, token, &again, &error), KEDGE_OK);
        assert_int_equal(kedge_auth_checks(auth), i + 1);
        assert_string_equal(again.identity.user, first.identity.user);
        assert_string_equal(again.identity.role, first.identity.role);
        assert_string_equal(again.identity.organization, first.identity.organization);
        assert_int_equal(again.identity.admin, first.identity.admin);
        assert_int_equal(again.expires_ms, first.expires_ms);
        assert_int_equal(again.generation, first.generation);
        assert_int_equal(again.identity.projects == NULL, first.identity.projects == NULL);
        assert_int_equal(again.identity.project_count, first.identity.project_count);
        for (size_t k = 0; k < first.identity.project_count; k++)
            assert_string_equal(again.identity.projects[k], first.identity.projects[k]);
        /* A signature that differs in one character is another token. */
        token[strlen(token) - 10] = token[strlen(token) - 10] == 'A' ? 'B' : 'A';
        assert_int_equal(look(auth, token, &again, &error), KEDGE_NOT_FOUND);
        r_free(token);
    }
    kedge_auth_free(auth);
}

static void test_a_known_token_is_checked_again_when_it_may_not_be_good_any_more(void **state)
{
    (void)state;
    kedge_auth_result result;
    kedge_error error = {0};
    bool changed;
    later_ms = 0;
    environment.now_ms = later;
    kedge_auth *auth = make_auth(NULL);
    char *token = make_token("{\"jti\":\"a\"}", signing_key, R_JWA_ALG_ES256);
    assert_int_equal(check(auth, token, &result, &error), KEDGE_OK);
    later_ms = 700 * 1000; /* it lasts 600 s, and the leeway */
    assert_int_equal(look(auth, token, &result, &error), KEDGE_NOT_FOUND);
    assert_int_equal(check(auth, token, &result, &error), KEDGE_UNAUTHORIZED);
    assert_string_equal(error.code, "token-expired");
    later_ms = 0;
    assert_int_equal(look(auth, token, &result, &error), KEDGE_OK);
    assert_int_equal(kedge_auth_set_revoked(auth, "{\"tokens\":[\"b\"]}", &changed, &error),
                     KEDGE_OK);
    assert_int_equal(look(auth, token, &result, &error), KEDGE_NOT_FOUND);
    assert_int_equal(check(auth, token, &result, &error), KEDGE_OK);
    assert_int_equal(kedge_auth_set_revoked(auth, "{\"tokens\":[\"a\"]}", &changed, &error),
                     KEDGE_OK);
    assert_int_equal(check(auth, token, &result, &error), KEDGE_UNAUTHORIZED);
    assert_string_equal(error.code, "token-revoked");
    assert_int_equal(look(auth, token, &result, &error), KEDGE_NOT_FOUND);
    r_free(token);
    kedge_auth_free(auth);
    environment = kedge_environment_system(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_token_gives_its_identity),
        cmocka_unit_test(test_a_token_with_a_wrong_claim_is_refused_with_its_code),
        cmocka_unit_test(test_an_audience_may_be_one_of_several),
        cmocka_unit_test(test_a_signature_by_another_key_of_the_same_id_is_refused),
        cmocka_unit_test(test_an_algorithm_that_is_not_pinned_is_refused),
        cmocka_unit_test(test_a_token_without_signature_or_with_a_shared_secret_is_refused),
        cmocka_unit_test(test_a_token_that_asks_for_extensions_is_refused),
        cmocka_unit_test(test_garbage_in_place_of_a_token_is_refused),
        cmocka_unit_test(test_a_key_is_used_for_nothing_but_what_it_says),
        cmocka_unit_test(test_a_short_rsa_key_refuses_the_key_set),
        cmocka_unit_test(test_other_keys_count_from_when_they_are_set),
        cmocka_unit_test(test_a_revoked_token_is_refused),
        cmocka_unit_test(test_a_wrong_list_of_revoked_tokens_leaves_the_one_of_before),
        cmocka_unit_test(test_a_token_without_its_scheme_is_refused),
        cmocka_unit_test(test_a_known_token_gives_the_same_identity_without_its_signature),
        cmocka_unit_test(test_a_known_token_is_checked_again_when_it_may_not_be_good_any_more),
        cmocka_unit_test(test_wrong_options_are_named),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
