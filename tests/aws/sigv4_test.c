/* Signatures: every case of the public suite (sigv4_cases.json, the program's argument) in a header
 * and in a query, the examples of the S3 documentation, and what the suite leaves out. */
#include "backend/aws/sigv4.h"
#include "tests/support/failing_allocator.h"

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

/* ---- the examples of the S3 documentation ---- */

static const kedge_aws_credentials example_credentials = {
    .key_id = "AKIAIOSFODNN7EXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

static const kedge_aws_signing example_signing = {
    .credentials = &example_credentials,
    .region = "us-east-1",
    .service = "s3",
    .now_ms = INT64_C(1369353600000),
    .payload_header = true,
};

static void assert_signature(const kedge_aws_signing *signing, kedge_aws_signed_request request,
                             const char *expected)
{
    kedge_aws_signature signature;
    kedge_aws_signature_make(&kedge_allocator_default, &signature);
    assert_int_equal(kedge_aws_sign(&kedge_allocator_default, signing, &request, &signature, NULL),
                     KEDGE_OK);
    assert_string_equal(signature.signature, expected);
    kedge_aws_signature_free(&signature);
}

static void test_the_documented_requests_to_s3_have_their_signatures(void **state)
{
    const char *host = "examplebucket.s3.amazonaws.com";
    const kedge_http_header range = {"Range", "bytes=0-9"};
    const kedge_http_header upload[] = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                                        {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
    const kedge_aws_parameter lifecycle = {KEDGE_BYTES("lifecycle"), {NULL, 0}};
    const kedge_aws_parameter list[] = {{KEDGE_BYTES("max-keys"), KEDGE_BYTES("2")},
                                        {KEDGE_BYTES("prefix"), KEDGE_BYTES("J")}};
    (void)state;
    assert_signature(&example_signing,
                     (kedge_aws_signed_request){.method = "GET",
                                                .host = host,
                                                .path = KEDGE_BYTES("/test.txt"),
                                                .headers = &range,
                                                .header_count = 1},
                     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    assert_signature(&example_signing,
                     (kedge_aws_signed_request){.method = "PUT",
                                                .host = host,
                                                .path = KEDGE_BYTES("/test$file.text"),
                                                .headers = upload,
                                                .header_count = 2,
                                                .body = KEDGE_BYTES("Welcome to Amazon S3.")},
                     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    assert_signature(&example_signing,
                     (kedge_aws_signed_request){.method = "GET",
                                                .host = host,
                                                .path = KEDGE_BYTES("/"),
                                                .query = &lifecycle,
                                                .query_count = 1},
                     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    assert_signature(&example_signing,
                     (kedge_aws_signed_request){.method = "GET",
                                                .host = host,
                                                .path = KEDGE_BYTES("/"),
                                                .query = list,
                                                .query_count = 2},
                     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static const kedge_aws_signed_request example_request = {
    .method = "GET",
    .host = "examplebucket.s3.amazonaws.com",
    .path = {"/test.txt", 9},
};

static void test_the_documented_url_is_presigned(void **state)
{
    kedge_buffer url = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    assert_int_equal(kedge_aws_presign(&kedge_allocator_default, &example_signing, &example_request,
                                       "https://examplebucket.s3.amazonaws.com", 86400, &url, NULL),
                     KEDGE_OK);
    assert_string_equal(
        url.data,
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
    kedge_buffer_free(&url);
}

static void test_a_presigned_url_is_good_for_a_second_to_seven_days(void **state)
{
    static const uint32_t wrong[] = {0, 604801, UINT32_MAX};
    kedge_buffer url = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    (void)state;
    kedge_buffer_append_text(&url, "here: ");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(kedge_aws_presign(&kedge_allocator_default, &example_signing,
                                           &example_request, "https://host", wrong[i], &url,
                                           &error),
                         KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "aws-request-invalid");
        assert_string_equal(url.data, "here: ");
    }
    assert_int_equal(kedge_aws_presign(&kedge_allocator_default, &example_signing, &example_request,
                                       "https://host", 604800, &url, &error),
                     KEDGE_OK);
    kedge_buffer_free(&url);
}

/* ---- what the suite leaves out ---- */

/* The expected values are botocore's. */
static void test_odd_paths_are_encoded_twice_or_taken_as_they_are(void **state)
{
    const kedge_aws_credentials credentials = {
        .key_id = "AKIDEXAMPLE",
        .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        .token = "toke/n+=",
    };
    const kedge_http_header type = {"Content-Type", "application/x-amz-json-1.0"};
    const kedge_aws_parameter sorted[] = {{KEDGE_BYTES("b"), KEDGE_BYTES("2")},
                                          {KEDGE_BYTES("a"), KEDGE_BYTES("x y+z")},
                                          {KEDGE_BYTES("a"), KEDGE_BYTES("")}};
    const kedge_aws_parameter part[] = {{KEDGE_BYTES("uploadId"), KEDGE_BYTES("a/b=c")},
                                        {KEDGE_BYTES("partNumber"), KEDGE_BYTES("7")}};
    kedge_aws_signed_request request = {
        .method = "POST",
        .host = "example.amazonaws.com",
        .path = KEDGE_BYTES("/a b/../c:d+e%f=g&h//\xE1\x88\xB4/.x/..y/"),
        .query = sorted,
        .query_count = 3,
        .headers = &type,
        .header_count = 1,
        .body = KEDGE_BYTES("{}"),
    };
    kedge_aws_signing signing = {
        .credentials = &credentials,
        .region = "us-east-1",
        .service = "service",
        .now_ms = INT64_C(1440938160000),
        .encode_path_twice = true,
        .normalize_path = true,
    };
    (void)state;
    assert_signature(&signing, request,
                     "1954dbfbe20163bbb5d39abcaaf8761b5948bf991eb9a0bbca97262c6fadb990");

    signing.service = "s3";
    signing.encode_path_twice = false;
    signing.normalize_path = false;
    signing.payload_header = true;
    request.method = "PUT";
    request.query = part;
    request.query_count = 2;
    request.header_count = 0;
    assert_signature(&signing, request,
                     "8b68deec10fc3783b97dce3225fccc70c22e493c81e3fcc5456950ed570ed23d");
}

static void test_too_many_headers_or_parameters_are_refused(void **state)
{
    kedge_http_header headers[KEDGE_HTTP_HEADERS_MAX + 1];
    kedge_aws_parameter parameters[KEDGE_AWS_PARAMETERS_MAX + 1];
    kedge_aws_signed_request request = example_request;
    kedge_aws_signature signature;
    kedge_error error = {0};
    (void)state;
    for (int i = 0; i <= KEDGE_HTTP_HEADERS_MAX; i++) {
        headers[i] = (kedge_http_header){"A", "b"};
    }
    for (int i = 0; i <= KEDGE_AWS_PARAMETERS_MAX; i++) {
        parameters[i] = (kedge_aws_parameter){KEDGE_BYTES("a"), KEDGE_BYTES("b")};
    }
    request.headers = headers;
    request.query = parameters;
    request.header_count = KEDGE_HTTP_HEADERS_MAX;
    request.query_count = KEDGE_AWS_PARAMETERS_MAX;
    kedge_aws_signature_make(&kedge_allocator_default, &signature);
    assert_int_equal(
        kedge_aws_sign(&kedge_allocator_default, &example_signing, &request, &signature, &error),
        KEDGE_OK);
    request.header_count++;
    assert_int_equal(
        kedge_aws_sign(&kedge_allocator_default, &example_signing, &request, &signature, &error),
        KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "aws-request-invalid");
    assert_int_equal(signature.authorization.size, 0);
    request.header_count = 0;
    request.query_count++;
    assert_int_equal(
        kedge_aws_sign(&kedge_allocator_default, &example_signing, &request, &signature, &error),
        KEDGE_INVALID_ARGUMENT);
    request.query_count = 0;
    request.path = KEDGE_BYTES("test.txt");
    assert_int_equal(
        kedge_aws_sign(&kedge_allocator_default, &example_signing, &request, &signature, &error),
        KEDGE_INVALID_ARGUMENT);
    kedge_aws_signature_free(&signature);
}

typedef struct both {
    kedge_aws_signed_request request;
    char signature[65]; /* of the first run, in which nothing fails */
    char url[2048];
} both;

static void remember_or_compare(char *known, size_t size, const char *got)
{
    if (known[0] == '\0') snprintf(known, size, "%s", got);
    assert_string_equal(known, got);
}

/* Signs and presigns. What fails leaves nothing behind, and what does not is right. */
static bool sign_both(const kedge_allocator *allocator, void *context)
{
    both *self = context;
    kedge_aws_signing signing = example_signing;
    kedge_aws_credentials credentials = example_credentials;
    kedge_aws_signature signature;
    kedge_buffer url = kedge_buffer_make(allocator);
    memset(credentials.token, 't', 500);
    signing.credentials = &credentials;
    kedge_aws_signature_make(allocator, &signature);
    kedge_status status = kedge_aws_sign(allocator, &signing, &self->request, &signature, NULL);
    if (status == KEDGE_OK) {
        remember_or_compare(self->signature, sizeof self->signature, signature.signature);
        status =
            kedge_aws_presign(allocator, &signing, &self->request, "https://host", 60, &url, NULL);
        if (status == KEDGE_OK) remember_or_compare(self->url, sizeof self->url, url.data);
        if (status != KEDGE_OK) assert_int_equal(url.size, 0);
    } else {
        assert_int_equal(signature.canonical_request.size, 0);
        assert_int_equal(signature.authorization.size, 0);
        assert_string_equal(signature.signature, "");
    }
    if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NO_MEMORY);
    kedge_buffer_free(&url);
    kedge_aws_signature_free(&signature);
    return status == KEDGE_OK;
}

static void test_every_failed_allocation_is_survived(void **state)
{
    const kedge_aws_parameter parameter = {KEDGE_BYTES("a b"), KEDGE_BYTES("c/d")};
    const kedge_http_header header = {"Range", "bytes=0-9"};
    both self = {.request = example_request};
    (void)state;
    self.request.query = &parameter;
    self.request.query_count = 1;
    self.request.headers = &header;
    self.request.header_count = 1;
    assert_true(failing_allocator_try_every_call(sign_both, &self, 1000) > 20);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case_of_the_suite_is_signed_in_a_header),
        cmocka_unit_test(test_every_case_of_the_suite_is_signed_in_a_query),
        cmocka_unit_test(test_the_documented_requests_to_s3_have_their_signatures),
        cmocka_unit_test(test_the_documented_url_is_presigned),
        cmocka_unit_test(test_a_presigned_url_is_good_for_a_second_to_seven_days),
        cmocka_unit_test(test_odd_paths_are_encoded_twice_or_taken_as_they_are),
        cmocka_unit_test(test_too_many_headers_or_parameters_are_refused),
        cmocka_unit_test(test_every_failed_allocation_is_survived),
    };
    if (count != 2) return 2;
    suite_path = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
