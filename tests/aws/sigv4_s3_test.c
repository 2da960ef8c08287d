/* Signatures as a real S3 server verifies them: in headers and in URLs, with the keys that break
 * careless encoders, and with what it must refuse. The bucket is addressed by path. */
#include "backend/aws/sigv4.h"
#include "common/percent.h"
#include "tests/support/engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RESPONSE_BYTES_MAX 1000000
#define DEADLINE_MS        90000
#define POLLS_MAX          2000

static kedge_environment environment;
static kedge_http *http;
static const char *endpoint;
static char bucket[64];
static kedge_aws_credentials credentials;

/* What came back. */
typedef struct response {
    int status;
    kedge_buffer body;
    bool done;
} response;

static kedge_aws_signing signing(void)
{
    const char *region = getenv("AWS_REGION");
    return (kedge_aws_signing){
        .credentials = &credentials,
        .region = region == NULL ? "us-east-1" : region,
        .service = "s3",
        .now_ms = environment.now_ms(environment.context),
        .payload_header = true,
    };
}

static void done(void *context, const kedge_http_response *came)
{
    response *to = context;
    to->status = came->status;
    to->done = true;
    kedge_buffer_append_bytes(&to->body, came->body);
    if (came->status == 0) print_error("%s\n", came->error.message);
}

static void exchange(kedge_http_request *request, response *to)
{
    *to = (response){.body = kedge_buffer_make(&kedge_allocator_default)};
    request->deadline_ms = DEADLINE_MS;
    request->response_bytes_max = RESPONSE_BYTES_MAX;
    request->done = done;
    request->context = to;
    assert_int_equal(kedge_http_send(http, request, NULL, NULL), KEDGE_OK);
    for (int i = 0; i < POLLS_MAX && !to->done; i++) {
        assert_int_equal(kedge_http_poll(http, 1000, -1, NULL, NULL), KEDGE_OK);
    }
    assert_true(to->done);
}

/* "/bucket/key" */
static kedge_buffer path_of(const char *key)
{
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&path, "/%s%s%s", bucket, key[0] == '\0' ? "" : "/", key);
    return path;
}

static kedge_aws_signed_request request_to(const char *method, const kedge_buffer *path,
                                           const char *body)
{
    return (kedge_aws_signed_request){
        .method = method,
        .host = strstr(endpoint, "://") + 3,
        .path = kedge_buffer_bytes(path),
        .body = kedge_bytes_of(body),
    };
}

/* `body` is what goes out, be it what was signed or not. */
static void send_with_body(const kedge_aws_signing *with, const kedge_aws_signed_request *request,
                           const char *body, response *to)
{
    kedge_aws_signature signature;
    kedge_buffer url = kedge_buffer_make(&kedge_allocator_default);
    kedge_aws_signature_make(&kedge_allocator_default, &signature);
    assert_int_equal(kedge_aws_sign(&kedge_allocator_default, with, request, &signature, NULL),
                     KEDGE_OK);
    kedge_buffer_append_text(&url, endpoint);
    kedge_percent_encode(request->path, KEDGE_PERCENT_UNRESERVED "/", &url);
    for (size_t i = 0; i < request->query_count; i++) {
        kedge_buffer_append_byte(&url, i == 0 ? '?' : '&');
        kedge_percent_encode(request->query[i].name, KEDGE_PERCENT_UNRESERVED, &url);
        kedge_buffer_append_byte(&url, '=');
        kedge_percent_encode(request->query[i].value, KEDGE_PERCENT_UNRESERVED, &url);
    }
    kedge_http_header headers[4] = {
        {"Authorization", signature.authorization.data},
        {"X-Amz-Date", signature.timestamp},
        {"X-Amz-Content-Sha256", signature.payload_sha256},
    };
    assert_true(request->header_count <= 1);
    if (request->header_count > 0) headers[3] = request->headers[0];
    kedge_http_request sent = {
        .method = request->method,
        .url = url.data,
        .headers = headers,
        .header_count = 3 + request->header_count,
        .body = kedge_bytes_of(body),
    };
    exchange(&sent, to);
    kedge_buffer_free(&url);
    kedge_aws_signature_free(&signature);
}

static void send_signed(const kedge_aws_signing *with, const kedge_aws_signed_request *request,
                        response *to)
{
    send_with_body(with, request, request->body.size == 0 ? "" : request->body.data, to);
}

static void send_presigned(const kedge_aws_signing *with, const char *method, const char *key,
                           const char *body, response *to)
{
    kedge_buffer path = path_of(key);
    kedge_buffer url = kedge_buffer_make(&kedge_allocator_default);
    kedge_aws_signed_request request = request_to(method, &path, body);
    assert_int_equal(
        kedge_aws_presign(&kedge_allocator_default, with, &request, endpoint, 60, &url, NULL),
        KEDGE_OK);
    kedge_http_request sent = {.method = method, .url = url.data, .body = kedge_bytes_of(body)};
    exchange(&sent, to);
    kedge_buffer_free(&url);
    kedge_buffer_free(&path);
}

static void send_to_key(const kedge_aws_signing *with, const char *method, const char *key,
                        const char *body, response *to)
{
    kedge_buffer path = path_of(key);
    kedge_aws_signed_request request = request_to(method, &path, body);
    send_signed(with, &request, to);
    kedge_buffer_free(&path);
}

static void assert_response(response *came, int status, const char *part)
{
    if (came->status != status) print_error("%d %s\n", came->status, came->body.data);
    assert_int_equal(came->status, status);
    if (part != NULL) {
        assert_non_null(came->body.data);
        assert_non_null(strstr(came->body.data, part));
    }
    kedge_buffer_free(&came->body);
}

static const char *const odd_keys[] = {
    "plain",
    "with a space",
    "a+b",
    "a%b",
    "a%20b",
    "a%2Fb",
    "f\xC3\xBC"
    "r/\xE1\x88\xB4/\xF0\x9F\x98\x80",
    "double//slash",
    "/leading",
    "trailing/",
    "a:b",
    "a=b&c?d#e",
    "quote'\"()*!$,;@[]{}|^`<>~\\",
    "x/./y",
    "x/../z",
    "..",
};
#define ODD_KEYS (sizeof odd_keys / sizeof odd_keys[0])

static void test_odd_keys_are_put_and_read_with_signed_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ODD_KEYS; i++) {
        kedge_aws_signing with = signing();
        response came;
        print_message("  %s\n", odd_keys[i]);
        send_to_key(&with, "PUT", odd_keys[i], odd_keys[i], &came);
        assert_response(&came, 200, NULL);
    }
    for (size_t i = 0; i < ODD_KEYS; i++) {
        kedge_aws_signing with = signing();
        response came;
        send_to_key(&with, "GET", odd_keys[i], "", &came);
        assert_string_equal(came.body.data, odd_keys[i]);
        assert_response(&came, 200, NULL);
    }
}

static void test_odd_keys_are_put_and_read_by_presigned_urls(void **state)
{
    (void)state;
    for (size_t i = 0; i < ODD_KEYS; i++) {
        kedge_aws_signing with = signing();
        char body[32];
        response came;
        print_message("  %s\n", odd_keys[i]);
        snprintf(body, sizeof body, "presigned %zu", i);
        send_presigned(&with, "PUT", odd_keys[i], body, &came);
        assert_response(&came, 200, NULL);
        send_presigned(&with, "GET", odd_keys[i], "", &came);
        assert_string_equal(came.body.data, body);
        assert_response(&came, 200, NULL);
    }
}

static void test_odd_queries_are_signed_as_they_are_sent(void **state)
{
    const kedge_aws_parameter query[] = {
        {KEDGE_BYTES("prefix"), KEDGE_BYTES("f\xC3\xBCr/ +%&=~*")},
        {KEDGE_BYTES("list-type"), KEDGE_BYTES("2")},
        {KEDGE_BYTES("start-after"), KEDGE_BYTES("")},
        {KEDGE_BYTES("delimiter"), KEDGE_BYTES("/")},
    };
    kedge_aws_signing with = signing();
    kedge_buffer path = path_of("");
    kedge_aws_signed_request request = request_to("GET", &path, "");
    response came;
    (void)state;
    request.query = query;
    request.query_count = 4;
    send_signed(&with, &request, &came);
    assert_response(&came, 200, "<ListBucketResult");
    kedge_buffer_free(&path);
}

static void test_a_wrong_secret_is_refused(void **state)
{
    kedge_aws_credentials wrong = credentials;
    kedge_aws_signing with = signing();
    response came;
    (void)state;
    wrong.secret[0] = wrong.secret[0] == 'x' ? 'y' : 'x';
    with.credentials = &wrong;
    send_to_key(&with, "GET", "plain", "", &came);
    assert_response(&came, 403, "SignatureDoesNotMatch");
    send_presigned(&with, "GET", "plain", "", &came);
    assert_response(&came, 403, "SignatureDoesNotMatch");
}

/* One that lost all of its bytes is not: radosgw accepts it, unless a
 * Content-MD5 says otherwise. */
static void test_a_body_that_changed_on_the_way_is_refused(void **state)
{
    static const char *const changed[] = {"whole bodz", "whole bo", "whole body!"};
    kedge_aws_signing with = signing();
    kedge_buffer path = path_of("changed");
    const kedge_aws_signed_request request = request_to("PUT", &path, "whole body");
    response came;
    (void)state;
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
        send_with_body(&with, &request, changed[i], &came);
        assert_response(&came, 400, "XAmzContentSHA256Mismatch");
    }
    const kedge_http_header md5[] = {{"Content-MD5", "545pNJyJ+Rbdui3fxDkwAw=="}};
    kedge_aws_signed_request summed = request;
    summed.headers = md5;
    summed.header_count = 1;
    send_with_body(&with, &summed, "", &came);
    assert_response(&came, 400, "BadDigest");
    send_to_key(&with, "GET", "changed", "", &came);
    assert_response(&came, 404, "NoSuchKey");
    kedge_buffer_free(&path);
}

static void test_an_old_url_and_a_wrong_clock_are_refused(void **state)
{
    kedge_aws_signing with = signing();
    response came;
    (void)state;
    with.now_ms -= 3600000;
    send_presigned(&with, "GET", "plain", "", &came);
    assert_response(&came, 403, "AccessDenied");
    send_to_key(&with, "GET", "plain", "", &came);
    assert_response(&came, 403, "RequestTimeTooSkewed");
}

static int open_bucket(void **state)
{
    char name[17];
    response came;
    (void)state;
    environment = kedge_environment_system(NULL);
    endpoint = getenv("AWS_ENDPOINT_URL_S3");
    kedge_random_hex(&environment, 8, name);
    snprintf(bucket, sizeof bucket, "kedge-signing-%s", name);
    kedge_aws_credentials_provider *provider = NULL;
    kedge_aws_credentials_options options = {.environment = &environment};
    assert_int_equal(kedge_aws_credentials_provider_new(&options, &provider, NULL), KEDGE_OK);
    assert_int_equal(kedge_aws_credentials_get(provider, &credentials, NULL), KEDGE_OK);
    kedge_aws_credentials_provider_free(provider);
    assert_int_equal(kedge_http_new(&environment, 4, &http, NULL), KEDGE_OK);
    kedge_aws_signing with = signing();
    send_to_key(&with, "PUT", "", "", &came);
    assert_response(&came, 200, NULL);
    return 0;
}

static int remove_bucket(void **state)
{
    response came;
    (void)state;
    for (size_t i = 0; i < ODD_KEYS; i++) {
        kedge_aws_signing with = signing();
        send_to_key(&with, "DELETE", odd_keys[i], "", &came);
        assert_response(&came, 204, NULL);
    }
    kedge_aws_signing with = signing();
    send_to_key(&with, "DELETE", "", "", &came);
    assert_response(&came, 204, NULL);
    kedge_http_free(http);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_keys_are_put_and_read_with_signed_headers),
        cmocka_unit_test(test_odd_keys_are_put_and_read_by_presigned_urls),
        cmocka_unit_test(test_odd_queries_are_signed_as_they_are_sent),
        cmocka_unit_test(test_a_wrong_secret_is_refused),
        cmocka_unit_test(test_a_body_that_changed_on_the_way_is_refused),
        cmocka_unit_test(test_an_old_url_and_a_wrong_clock_are_refused),
    };
    int missing = engines_missing("AWS_ENDPOINT_URL_S3");
    if (missing != 0) return missing;
    return cmocka_run_group_tests(tests, open_bucket, remove_bucket);
}
