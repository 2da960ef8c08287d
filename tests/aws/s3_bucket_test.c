/* Where a bucket is, whether it is there, and making it. */
#include "tests/aws/scripted_s3.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define XML "<?xml version=\"1.0\"?>"

static const s3_step good = {S3_GOOD, 0, NULL, NULL};

/* ---- where the bucket is ---- */

static void assert_address(const char *bucket, bool path_style, const char *host,
                           const char *target)
{
    char expected[256], endpoint[64];
    scripted_s3 s3;
    S3_BEGIN(&s3, good);
    const char *port = strrchr(scripted_server_url(s3.server), ':');
    snprintf(endpoint, sizeof endpoint, "http://localhost%s", port);
    s3.blobs.vtable->close(s3.blobs.self);
    client_world_open(&s3.world,
                      (kedge_aws_client_options){.endpoints = {[KEDGE_AWS_S3] = endpoint}});
    s3.options = (kedge_s3_options){
        .client = s3.world.client, .bucket = bucket, .prefix = "p/", .path_style = path_style};
    assert_int_equal(kedge_s3_blobs_open(&s3.options, &s3.blobs, &s3.error), KEDGE_OK);
    assert_int_equal(
        S3_CALL(&s3, s3.blobs.vtable->put_if_absent(s3.blobs.self, KEDGE_BYTES("a/../b"),
                                                    KEDGE_BYTES("x"), &s3.error)),
        KEDGE_OK);
    snprintf(expected, sizeof expected, "PUT %s HTTP/1.1\r\nHost: %s%s\r\n", target, host, port);
    assert_int_equal(strncmp(s3.last_head, expected, strlen(expected)), 0);
    scripted_s3_end(&s3);
}

static void test_a_bucket_is_addressed_by_its_host_or_by_path(void **state)
{
    (void)state;
    assert_address("my-bucket", false, "my-bucket.localhost", "/p/a/../b");
    assert_address("my-bucket", true, "localhost", "/my-bucket/p/a/../b");
    assert_address("my.bucket", false, "localhost", "/my.bucket/p/a/../b");
}

static void test_names_of_buckets_and_prefixes_outside_the_rules_are_refused(void **state)
{
    (void)state;
    static const char *const buckets[] = {"", "ab", "Upper", "under_score", "-dash", "a/b", "a b"};
    static const char *const prefixes[] = {"p", "/p", "\xff/"};
    scripted_s3 s3;
    kedge_blobs blobs;
    S3_BEGIN(&s3, good);
    kedge_s3_options options = s3.options;
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++) {
        options.bucket = buckets[i];
        assert_int_equal(kedge_s3_blobs_open(&options, &blobs, &s3.error), KEDGE_INVALID_ARGUMENT);
    }
    options.bucket = "bucket";
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        options.prefix = prefixes[i];
        assert_int_equal(kedge_s3_blobs_open(&options, &blobs, &s3.error), KEDGE_INVALID_ARGUMENT);
    }
    scripted_s3_end(&s3);
}

/* ---- checking and making a bucket ---- */

static void assert_check(const s3_step *step, kedge_status expected, const char *code,
                         const char *words)
{
    scripted_s3 s3;
    scripted_s3_begin(&s3, step, 1);
    kedge_status status = S3_CALL(&s3, kedge_s3_check(&s3.options, &s3.error));
    if (status != expected) print_error("%s\n", s3.error.message);
    assert_int_equal(status, expected);
    assert_string_equal(s3.error.code, code);
    assert_non_null(strstr(s3.error.message, words));
    scripted_s3_end(&s3);
}

static void test_a_check_names_what_is_wrong_with_the_bucket(void **state)
{
    (void)state;
    const s3_step missing = {S3_RESPONSE, 404, XML "<Error><Code>NoSuchBucket</Code></Error>",
                             NULL};
    const s3_step redirect = {S3_RESPONSE, 301, XML "<Error><Code>PermanentRedirect</Code></Error>",
                              "x-amz-bucket-region: ap-south-1\r\n"};
    const s3_step malformed = {
        S3_RESPONSE, 400,
        XML "<Error><Code>AuthorizationHeaderMalformed</Code><Region>us-west-2</Region></Error>",
        NULL};
    const s3_step denied = {S3_RESPONSE, 403, XML "<Error><Code>AccessDenied</Code></Error>", NULL};
    const s3_step key = {S3_RESPONSE, 403, XML "<Error><Code>InvalidAccessKeyId</Code></Error>",
                         NULL};
    assert_check(&missing, KEDGE_NOT_FOUND, "aws-bucket-missing", "bucket in eu-west-1");
    assert_check(&redirect, KEDGE_NOT_FOUND, "aws-bucket-region", "ap-south-1");
    assert_check(&malformed, KEDGE_NOT_FOUND, "aws-bucket-region", "us-west-2");
    assert_check(&denied, KEDGE_FORBIDDEN, "aws-permission-missing", "s3:ListBucket");
    assert_check(&key, KEDGE_UNAUTHORIZED, "aws-credentials-refused", "InvalidAccessKeyId");
}

static void test_making_a_bucket_that_is_ours_already_is_no_failure(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3,
             {S3_RESPONSE, 409, XML "<Error><Code>BucketAlreadyOwnedByYou</Code></Error>", NULL},
             {S3_RESPONSE, 200, XML "<LifecycleConfiguration/>", NULL},
             {S3_RESPONSE, 409, XML "<Error><Code>BucketAlreadyExists</Code></Error>", NULL});
    assert_int_equal(S3_CALL(&s3, kedge_s3_create(&s3.options, &s3.error)), KEDGE_OK);
    assert_int_equal(S3_CALL(&s3, kedge_s3_create(&s3.options, &s3.error)), KEDGE_FORBIDDEN);
    assert_string_equal(s3.error.code, "aws-bucket-taken");
    assert_string_equal(s3.trace, "PUT 409, GET 200, PUT 409");
    scripted_s3_end(&s3);
}

static void test_a_bucket_without_a_lifecycle_gets_one_and_others_keep_theirs(void **state)
{
    (void)state;
    scripted_s3 s3;
    static const s3_step made = {S3_RESPONSE, 200, "", NULL};
    static const s3_step none = {
        S3_RESPONSE, 404, XML "<Error><Code>NoSuchLifecycleConfiguration</Code></Error>", NULL};
    static const s3_step denied = {S3_RESPONSE, 403, XML "<Error><Code>AccessDenied</Code></Error>",
                                   NULL};
    S3_BEGIN(&s3, made, none, made, made, made, made, denied);
    assert_int_equal(S3_CALL(&s3, kedge_s3_create(&s3.options, &s3.error)), KEDGE_OK);
    assert_int_equal(strncmp(s3.last_head, "PUT /", 5), 0);
    assert_non_null(strstr(s3.last_head, "?lifecycle="));
    assert_string_equal(s3.trace, "PUT 200, GET 404, PUT 200");
    assert_int_equal(S3_CALL(&s3, kedge_s3_create(&s3.options, &s3.error)), KEDGE_OK);
    assert_string_equal(s3.trace, "PUT 200, GET 404, PUT 200, PUT 200, GET 200");
    assert_int_equal(S3_CALL(&s3, kedge_s3_create(&s3.options, &s3.error)), KEDGE_FORBIDDEN);
    assert_non_null(strstr(s3.error.message, "s3:GetLifecycleConfiguration"));
    scripted_s3_end(&s3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bucket_is_addressed_by_its_host_or_by_path),
        cmocka_unit_test(test_names_of_buckets_and_prefixes_outside_the_rules_are_refused),
        cmocka_unit_test(test_a_check_names_what_is_wrong_with_the_bucket),
        cmocka_unit_test(test_making_a_bucket_that_is_ours_already_is_no_failure),
        cmocka_unit_test(test_a_bucket_without_a_lifecycle_gets_one_and_others_keep_theirs),
    };
    return cmocka_run_group_tests_name("buckets", tests, NULL, NULL);
}
