/* Signatures: every case of the public suite (sigv4_cases.json, the program's argument) in a header
 * and in a query, the examples of the S3 documentation, and what the suite leaves out. */
#include "backend/aws/sigv4.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#define SUITE_CASES     38
#define ITEMS_MAX       16
#define SUITE_BYTES_MAX 1000000

static const char *suite_path;

/* ---- the suite ---- */

static cJSON *read_suite(void)
{
    FILE *file = fopen(suite_path, "rb");
    assert_non_null(file);
    char *text = malloc(SUITE_BYTES_MAX);
    assert_non_null(text);
    size_t size = fread(text, 1, SUITE_BYTES_MAX, file);
    fclose(file);
    cJSON *suite = cJSON_ParseWithLength(text, size);
    free(text);
    assert_non_null(suite);
    return suite;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
    assert_non_null(found);
    return found;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(member(object, name));
    assert_non_null(text);
    return text;
}

static const char *pair_part(const cJSON *pair, int part)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(pair, part));
    assert_non_null(text);
    return text;
}

typedef struct signed_case {
    kedge_aws_credentials credentials;
    kedge_aws_parameter query[ITEMS_MAX];
    kedge_http_header headers[ITEMS_MAX];
    kedge_aws_signing signing;
    kedge_aws_signed_request request;
    uint32_t expires_s;
} signed_case;

static void load_case(const cJSON *suite, const cJSON *from, signed_case *to)
{
    const cJSON *item;
    memset(to, 0, sizeof *to);
    snprintf(to->credentials.key_id, sizeof to->credentials.key_id, "%s", text_of(suite, "key_id"));
    snprintf(to->credentials.secret, sizeof to->credentials.secret, "%s", text_of(suite, "secret"));
    snprintf(to->credentials.token, sizeof to->credentials.token, "%s", text_of(from, "token"));
    to->signing = (kedge_aws_signing){
        .credentials = &to->credentials,
        .region = text_of(suite, "region"),
        .service = text_of(suite, "service"),
        .now_ms = (int64_t)cJSON_GetNumberValue(member(suite, "now_ms")),
        .normalize_path = cJSON_IsTrue(member(from, "normalize_path")),
        .payload_header = cJSON_IsTrue(member(from, "payload_header")),
        .token_after_signature = cJSON_IsTrue(member(from, "token_after_signature")),
    };
    to->expires_s = (uint32_t)cJSON_GetNumberValue(member(suite, "expires_s"));
    to->request = (kedge_aws_signed_request){
        .method = text_of(from, "method"),
        .host = text_of(suite, "host"),
        .path = kedge_bytes_of(text_of(from, "path")),
        .query = to->query,
        .headers = to->headers,
        .body = kedge_bytes_of(text_of(from, "body")),
    };
    cJSON_ArrayForEach(item, member(from, "query"))
    {
        assert_true(to->request.query_count < ITEMS_MAX);
        to->query[to->request.query_count++] = (kedge_aws_parameter){
            kedge_bytes_of(pair_part(item, 0)), kedge_bytes_of(pair_part(item, 1))};
    }
    cJSON_ArrayForEach(item, member(from, "headers"))
    {
        assert_true(to->request.header_count < ITEMS_MAX);
        to->headers[to->request.header_count++] =
            (kedge_http_header){pair_part(item, 0), pair_part(item, 1)};
    }
}

static void assert_steps(const char *name, const kedge_aws_signature *signature,
                         const cJSON *expected)
{
    print_message("  %s\n", name);
    assert_string_equal(signature->canonical_request.data, text_of(expected, "canonical_request"));
    assert_string_equal(signature->string_to_sign.data, text_of(expected, "string_to_sign"));
    assert_string_equal(signature->signature, text_of(expected, "signature"));
}

static void test_every_case_of_the_suite_is_signed_in_a_header(void **state)
{
    (void)state;
    cJSON *suite = read_suite();
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, member(suite, "cases"))
    {
        signed_case one;
        kedge_aws_signature signature;
        const cJSON *expected = member(item, "by_header");
        load_case(suite, item, &one);
        kedge_aws_signature_make(&kedge_allocator_default, &signature);
        assert_int_equal(
            kedge_aws_sign(&kedge_allocator_default, &one.signing, &one.request, &signature, NULL),
            KEDGE_OK);
        assert_steps(text_of(item, "name"), &signature, expected);
        assert_string_equal(signature.authorization.data, text_of(expected, "authorization"));
        assert_string_equal(signature.timestamp, "20150830T123600Z");
        kedge_aws_signature_free(&signature);
        count++;
    }
    assert_int_equal(count, SUITE_CASES);
    cJSON_Delete(suite);
}

static void test_every_case_of_the_suite_is_signed_in_a_query(void **state)
{
    (void)state;
    cJSON *suite = read_suite();
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, member(suite, "cases"))
    {
        signed_case one;
        kedge_aws_signature signature;
        kedge_buffer query = kedge_buffer_make(&kedge_allocator_default);
        load_case(suite, item, &one);
        kedge_aws_signature_make(&kedge_allocator_default, &signature);
        assert_int_equal(kedge_aws_sign_query(&kedge_allocator_default, &one.signing, &one.request,
                                              one.expires_s, &signature, &query, NULL),
                         KEDGE_OK);
        assert_steps(text_of(item, "name"), &signature, member(item, "by_query"));
        assert_non_null(strstr(query.data, signature.signature));
        assert_int_equal(strstr(query.data, "X-Amz-Security-Token=") != NULL,
                         one.credentials.token[0] != '\0');
        kedge_buffer_free(&query);
        kedge_aws_signature_free(&signature);
        count++;
    }
    assert_int_equal(count, SUITE_CASES);
    cJSON_Delete(suite);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case_of_the_suite_is_signed_in_a_header),
        cmocka_unit_test(test_every_case_of_the_suite_is_signed_in_a_query),
    };
    if (count != 2) return 2;
    suite_path = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
