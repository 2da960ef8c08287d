/* What the blobs port on S3 makes of every way in which a response can go wrong. */
#include "backend/aws/s3_internal.h"
#include "backend/ports/deadline.h"
#include "tests/aws/scripted_s3.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define XML      "<?xml version=\"1.0\"?>"
#define SLOW     XML "<Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>"
#define RACE     XML "<Error><Code>ConditionalRequestConflict</Code></Error>"
#define INTERNAL XML "<Error><Code>InternalError</Code><Message>We failed</Message></Error>"
#define HTML     "<html><body>Please log in</body></html>"

#define GOOD                                                                                       \
    {                                                                                              \
        S3_GOOD, 0, NULL, NULL                                                                     \
    }
#define LOST                                                                                       \
    {                                                                                              \
        S3_LOST, 0, NULL, NULL                                                                     \
    }
#define OVERTAKEN                                                                                  \
    {                                                                                              \
        S3_OVERTAKEN, 0, NULL, NULL                                                                \
    }

static kedge_status put_bytes(scripted_s3 *s3, const char *bytes, size_t size)
{
    return S3_CALL(s3, s3->blobs.vtable->put_if_absent(s3->blobs.self, KEDGE_BYTES("k"),
                                                       (kedge_bytes){bytes, size}, &s3->error));
}

static kedge_status put(scripted_s3 *s3)
{
    return put_bytes(s3, "bytes", 5);
}

static void assert_ended(scripted_s3 *s3, kedge_status status, kedge_status expected,
                         const char *trace)
{
    if (status != expected) print_error("%s: %s\n", s3->trace, s3->error.message);
    assert_int_equal(status, expected);
    if (status != KEDGE_OK) assert_int_equal(s3->error.status, expected);
    assert_string_equal(s3->trace, trace);
    scripted_s3_end(s3);
}

/* Reads after what the buffer holds, which a failure must leave as it was. */
static kedge_status get(scripted_s3 *s3, const char *expected, size_t size)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&out, "before ");
    kedge_status status =
        S3_CALL(s3, s3->blobs.vtable->get(s3->blobs.self, KEDGE_BYTES("k"), &out, &s3->error));
    assert_int_equal(out.size, 7 + (status == KEDGE_OK ? size : 0));
    if (status == KEDGE_OK) assert_memory_equal(out.data + 7, expected, size);
    kedge_buffer_free(&out);
    return status;
}

static kedge_status remove_blob(scripted_s3 *s3)
{
    return S3_CALL(s3, s3->blobs.vtable->remove(s3->blobs.self, KEDGE_BYTES("k"), &s3->error));
}

/* ---- put ---- */

static void test_a_put_that_is_told_to_slow_down_is_tried_again(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 503, SLOW, NULL}, {S3_RESPONSE, 503, SLOW, NULL}, GOOD);
    assert_ended(&s3, put(&s3), KEDGE_OK, "PUT 503, PUT 503, PUT 200");
}

static void test_a_put_that_meets_another_one_is_tried_again(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 409, RACE, NULL}, GOOD);
    assert_ended(&s3, put(&s3), KEDGE_OK, "PUT 409, PUT 200");
    S3_BEGIN(&s3, {S3_RESPONSE, 409, RACE, NULL}, OVERTAKEN);
    assert_ended(&s3, put(&s3), KEDGE_CONFLICT, "PUT 409, PUT 412");
}

static void test_a_put_that_took_effect_unheard_finds_its_own_object(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, LOST, GOOD);
    kedge_status status = put(&s3);
    assert_memory_equal(s3.object.bytes, "bytes", 5);
    assert_ended(&s3, status, KEDGE_OK, "PUT lost, PUT 412, HEAD 200");
}

static void test_a_put_that_got_lost_may_find_anothers_object(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_NEVER, 0, NULL, NULL}, OVERTAKEN, GOOD);
    kedge_status status = put(&s3);
    assert_string_equal(s3.error.code, "blob-exists");
    assert_ended(&s3, status, KEDGE_CONFLICT, "PUT lost, PUT 412, HEAD 200");
}

static void test_a_put_that_cannot_ask_whose_the_object_is_is_unknown(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, LOST, GOOD, {S3_RESPONSE, 403, "", NULL});
    assert_ended(&s3, put(&s3), KEDGE_UNAVAILABLE, "PUT lost, PUT 412, HEAD 403");
    S3_BEGIN(&s3, LOST, GOOD, {S3_RESPONSE, 400, "", NULL}); /* that of a token that has expired */
    kedge_status status = put(&s3);
    assert_non_null(strstr(s3.error.message, "the credentials may have expired"));
    assert_ended(&s3, status, KEDGE_UNAVAILABLE, "PUT lost, PUT 412, HEAD 400");
}

static void test_a_page_of_somebody_else_is_no_success(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_FOREIGN, 200, HTML, "Content-Type: text/html\r\n"});
    assert_ended(&s3, put(&s3), KEDGE_UNAVAILABLE, "PUT 200");
    S3_BEGIN(&s3, {S3_FOREIGN, 200, HTML, "Content-Type: text/html\r\n"});
    assert_ended(&s3, get(&s3, "", 0), KEDGE_UNAVAILABLE, "GET 200");
    S3_BEGIN(&s3, {S3_FOREIGN, 404, HTML, "Content-Type: text/html\r\n"});
    assert_ended(&s3, get(&s3, "", 0), KEDGE_UNAVAILABLE, "GET 404");
    S3_BEGIN(&s3, {S3_FOREIGN, 200, HTML, "Content-Type: text/html\r\n"});
    assert_ended(&s3, remove_blob(&s3), KEDGE_UNAVAILABLE, "DELETE 200");
}

/* The scripted S3 checks the SHA-256 of every body that comes. */
static void test_a_body_travels_with_both_of_its_checksums(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD);
    kedge_status status = put(&s3);
    assert_non_null(strcasestr(s3.last_head, "\r\nContent-MD5: SzpiGLs+OnMD6KFxpg/Pkg==\r\n"));
    assert_non_null(
        strcasestr(s3.last_head,
                   "\r\nx-amz-checksum-sha256: J3CJ2RwL308uaGK6fkoHYFEZQx9dE/cm3TUrBvGyBqk=\r\n"));
    assert_ended(&s3, status, KEDGE_OK, "PUT 200");
}

static bool sent(const scripted_s3 *s3, const char *header)
{
    return strcasestr(s3->last_head, header) != NULL;
}

static kedge_status put_under(scripted_s3 *s3, kedge_bytes key)
{
    const kedge_blobs *blobs = &s3->blobs;
    return S3_CALL(
        s3, blobs->vtable->put_if_absent(blobs->self, key, KEDGE_BYTES("bytes"), &s3->error));
}

static void test_a_blob_that_its_key_calls_gzipped_json_says_so(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD);
    kedge_status status = put_under(&s3, KEDGE_BYTES("a/b.json.gz"));
    assert_true(sent(&s3, "\r\nContent-Type: application/json\r\n"));
    assert_true(sent(&s3, "\r\nContent-Encoding: gzip\r\n"));
    assert_ended(&s3, status, KEDGE_OK, "PUT 200");
    S3_BEGIN(&s3, GOOD);
    status = put_under(&s3, KEDGE_BYTES("a/b.json"));
    assert_true(sent(&s3, "\r\nContent-Type: application/octet-stream\r\n"));
    assert_false(sent(&s3, "Content-Encoding"));
    assert_ended(&s3, status, KEDGE_OK, "PUT 200");
}

/* The bytes as they were put, although libcurl could undo their encoding. */
static void test_a_blob_that_says_how_it_is_encoded_is_read_as_it_is(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 206, "bytes",
                   "ETag: \"1\"\r\nContent-Range: bytes 0-4/5\r\n"
                   "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"});
    assert_ended(&s3, get(&s3, "bytes", 5), KEDGE_OK, "GET 206");
}

static void test_a_response_with_another_checksum_is_no_success(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 200, "", "ETag: \"1\"\r\nx-amz-checksum-sha256: AAAA\r\n"});
    assert_ended(&s3, put(&s3), KEDGE_UNAVAILABLE, "PUT 200");
}

static void test_a_missing_bucket_is_not_a_missing_blob(void **state)
{
    (void)state;
    scripted_s3 s3;
    const char *gone = XML "<Error><Code>NoSuchBucket</Code></Error>";
    S3_BEGIN(&s3, {S3_RESPONSE, 404, gone, NULL});
    kedge_status status = get(&s3, "", 0);
    assert_string_equal(s3.error.code, "aws-bucket-missing");
    assert_ended(&s3, status, KEDGE_IO, "GET 404");
    S3_BEGIN(&s3, GOOD);
    assert_ended(&s3, get(&s3, "", 0), KEDGE_NOT_FOUND, "GET 404");
}

/* ---- remove ---- */

static void test_a_removal_whose_response_is_lost_takes_nothing_that_was_put_since(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_FOLLOWED, 0, NULL, NULL}, GOOD);
    scripted_s3_put(&s3, "garbage", 7);
    kedge_status status = remove_blob(&s3);
    assert_non_null(s3.object.bytes);
    assert_memory_equal(s3.object.bytes, "another's", 9);
    assert_ended(&s3, status, KEDGE_UNAVAILABLE, "DELETE lost");
    S3_BEGIN(&s3, {S3_RESPONSE, 500, INTERNAL, NULL}, GOOD);
    assert_ended(&s3, remove_blob(&s3), KEDGE_UNAVAILABLE, "DELETE 500");
}

static void test_a_removal_that_had_no_effect_is_tried_again(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 503, SLOW, NULL}, {S3_RESPONSE, 409, RACE, NULL}, GOOD);
    scripted_s3_put(&s3, "garbage", 7);
    kedge_status status = remove_blob(&s3);
    assert_null(s3.object.bytes);
    assert_ended(&s3, status, KEDGE_OK, "DELETE 503, DELETE 409, DELETE 204");
}

/* ---- get ---- */

static void test_a_body_that_was_cut_is_read_again(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_CUT, 0, NULL, NULL}, GOOD);
    scripted_s3_put(&s3, "whole bytes", 11);
    assert_ended(&s3, get(&s3, "whole bytes", 11), KEDGE_OK, "GET 206, GET 206");
}

static void test_a_response_that_contradicts_itself_is_not_taken(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "",
        "ETag: \"1\"\r\n",
        "ETag: \"1\"\r\nContent-Range: bytes 0-3/5\r\n",
        "ETag: \"1\"\r\nContent-Range: bytes 0-4/4\r\n",
        "ETag: \"1\"\r\nContent-Range: bytes 1-5/6\r\n",
        "ETag: \"1\"\r\nContent-Range: bytes 0-4/*\r\n",
        "ETag: \"1\"\r\nContent-Range: bytes 0-4/5x\r\n",
        "ETag: \"1\"\r\nContent-Range: pages 0-4/5\r\n",
        "ETag: \"1\"\r\nContent-Range: bytes 0-4/99999999999999999999\r\n",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        scripted_s3 s3;
        S3_BEGIN(&s3, {S3_RESPONSE, 206, "bytes", headers[i]});
        assert_ended(&s3, get(&s3, "", 0), KEDGE_UNAVAILABLE, "GET 206");
    }
}

static void test_a_blob_without_bytes_has_no_range(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD);
    scripted_s3_put(&s3, "", 0);
    assert_ended(&s3, get(&s3, "", 0), KEDGE_OK, "GET 416, GET 200");
}

/* Bytes that differ from piece to piece. */
static char *large(size_t size)
{
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i >> 16);
    return bytes;
}

static void test_a_large_blob_is_read_in_pieces(void **state)
{
    (void)state;
    scripted_s3 s3;
    size_t size = 2 * KEDGE_S3_PART_BYTES + 1;
    char *bytes = large(size);
    S3_BEGIN(&s3, GOOD);
    scripted_s3_put(&s3, bytes, size);
    assert_ended(&s3, get(&s3, bytes, size), KEDGE_OK, "GET 206, GET 206, GET 206");
    free(bytes);
}

static void test_pieces_of_two_objects_are_not_put_together(void **state)
{
    (void)state;
    scripted_s3 s3;
    size_t size = KEDGE_S3_PART_BYTES + 1;
    char *bytes = large(size), *zeros = calloc(1, size);
    assert_non_null(zeros);
    S3_BEGIN(&s3, GOOD, {S3_REPLACED, 0, NULL, NULL}, GOOD);
    scripted_s3_put(&s3, bytes, size);
    assert_ended(&s3, get(&s3, zeros, size), KEDGE_OK, "GET 206, GET 206, GET 206, GET 206");
    S3_BEGIN(&s3, {S3_REPLACED, 0, NULL, NULL});
    scripted_s3_put(&s3, bytes, size);
    assert_ended(&s3, get(&s3, "", 0), KEDGE_UNAVAILABLE,
                 "GET 206, GET 206, GET 206, GET 206, GET 206, GET 206");
    free(bytes);
    free(zeros);
}

static void test_an_object_of_more_than_64_mebibytes_is_refused_by_its_size(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 206, "b", "ETag: \"1\"\r\nContent-Range: bytes 0-0/67108865\r\n"});
    assert_ended(&s3, get(&s3, "", 0), KEDGE_LIMIT_EXCEEDED, "GET 206");
}

/* ---- uploads in parts ---- */

#define UPLOAD "HEAD 404, CREATE 200, PART1 200, PART2 200, HEAD 404, "

static kedge_status put_large(scripted_s3 *s3)
{
    size_t size = KEDGE_S3_MULTIPART_BYTES;
    char *bytes = large(size);
    kedge_status status = put_bytes(s3, bytes, size);
    if (status == KEDGE_OK) {
        assert_int_equal(s3->object.size, size);
        assert_memory_equal(s3->object.bytes, bytes, size);
    }
    free(bytes);
    return status;
}

static void test_a_large_blob_goes_in_parts(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD);
    assert_ended(&s3, put_large(&s3), KEDGE_OK, UPLOAD "COMPLETE 200");
}

static void test_a_large_blob_that_is_there_is_not_uploaded(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, OVERTAKEN);
    assert_ended(&s3, put_large(&s3), KEDGE_CONFLICT, "HEAD 200");
}

static void test_a_completion_with_an_error_behind_200_is_tried_again(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD, GOOD, GOOD, GOOD, GOOD, {S3_RESPONSE, 200, INTERNAL, NULL}, GOOD);
    assert_ended(&s3, put_large(&s3), KEDGE_OK, UPLOAD "COMPLETE 200, COMPLETE 200");
}

static void test_a_completion_that_is_never_confirmed_is_aborted(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD, GOOD, GOOD, GOOD, GOOD, {S3_RESPONSE, 200, XML "<Fine/>", NULL}, GOOD);
    kedge_status status = put_large(&s3);
    assert_false(s3.uploading);
    assert_ended(&s3, status, KEDGE_UNAVAILABLE, UPLOAD "COMPLETE 200, HEAD 404, ABORT 204");
}

static void test_a_completion_that_took_effect_unheard_finds_its_own_object(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD, GOOD, GOOD, GOOD, GOOD, LOST, GOOD);
    assert_ended(&s3, put_large(&s3), KEDGE_OK, UPLOAD "COMPLETE lost, COMPLETE 404, HEAD 200");
}

static void test_an_upload_that_another_overtakes_is_aborted(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD, GOOD, GOOD, GOOD, GOOD, OVERTAKEN, GOOD);
    kedge_status status = put_large(&s3);
    assert_memory_equal(s3.object.bytes, "another's", 9);
    assert_ended(&s3, status, KEDGE_CONFLICT, UPLOAD "COMPLETE 412, HEAD 200, ABORT 204");
}

static void test_an_upload_looks_for_another_before_it_is_completed(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, GOOD, GOOD, GOOD, OVERTAKEN, GOOD);
    s3.ignores_condition = true;
    kedge_status status = put_large(&s3);
    assert_memory_equal(s3.object.bytes, "another's", 9);
    assert_false(s3.uploading);
    assert_ended(&s3, status, KEDGE_CONFLICT,
                 "HEAD 404, CREATE 200, PART1 200, PART2 200, HEAD 200, ABORT 204");
}

static void test_an_upload_that_met_another_one_starts_again(void **state)
{
    (void)state;
    scripted_s3 s3;
    const char *gone = XML "<Error><Code>NoSuchUpload</Code></Error>";
    S3_BEGIN(&s3, GOOD, GOOD, GOOD, GOOD, GOOD, {S3_RESPONSE, 404, gone, NULL}, GOOD);
    assert_ended(&s3, put_large(&s3), KEDGE_OK,
                 UPLOAD "COMPLETE 404, HEAD 404, ABORT 204, " UPLOAD "COMPLETE 200");
}

static void test_a_part_that_cannot_be_put_aborts_the_upload(void **state)
{
    (void)state;
    scripted_s3 s3;
    const char *bad = XML "<Error><Code>BadDigest</Code></Error>";
    S3_BEGIN(&s3, GOOD, GOOD, GOOD, {S3_RESPONSE, 400, bad, NULL}, GOOD);
    kedge_status status = put_large(&s3);
    assert_false(s3.uploading);
    assert_ended(&s3, status, KEDGE_IO, "HEAD 404, CREATE 200, PART1 200, PART2 400, ABORT 204");
}

static void test_an_upload_without_an_id_is_not_begun(void **state)
{
    (void)state;
    scripted_s3 s3;
    static const char *const bodies[] = {
        HTML,
        XML,
        "",
        "garbage",
        XML "<InitiateMultipartUploadResult/>",
        XML "<InitiateMultipartUploadResult><UploadId></UploadId></InitiateMultipartUploadResult>"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        S3_BEGIN(&s3, GOOD, {S3_RESPONSE, 200, bodies[i], NULL}, GOOD);
        assert_ended(&s3, put_large(&s3), KEDGE_UNAVAILABLE, "HEAD 404, CREATE 200");
    }
}

/* ---- listings and tags ---- */

static const char *const no_listings[] = {
    "",
    "garbage",
    HTML,
    XML "<ListBucketResult>",
    XML "<ListBucketResult></ListBucketResult>",
    XML "<Other><IsTruncated>false</IsTruncated></Other>",
    XML "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
#define ONE(key, time, size)                                                                       \
    XML "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>" key                    \
        "</Key><LastModified>" time "</LastModified><Size>" size "</Size></Contents>"              \
        "</ListBucketResult>"
    ONE("", "2026-11-21T16:34:12.345Z", "1"),
    ONE("%4", "2026-11-21T16:34:12.345Z", "1"),
    ONE("%C3", "2026-11-21T16:34:12.345Z", "1"),
    ONE("%00", "2026-11-21T16:34:12.345Z", "1"),
    ONE("k", "yesterday", "1"),
    ONE("k", "2026-99-21T16:34:12.345Z", "1"),
    ONE("k", "2026-11-21T16:34:12.345Z", "-1"),
    ONE("k", "2026-11-21T16:34:12.345Z", ""),
};

static kedge_status list(scripted_s3 *s3, kedge_blob_list *found)
{
    kedge_bytes none = {0};
    return S3_CALL(s3, s3->blobs.vtable->list(s3->blobs.self, none, none, 10, found, &s3->error));
}

static void test_what_is_no_listing_is_not_an_empty_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof no_listings / sizeof no_listings[0]; i++) {
        scripted_s3 s3;
        kedge_blob_list found = {0};
        S3_BEGIN(&s3, {S3_RESPONSE, 200, no_listings[i], NULL});
        kedge_status status = list(&s3, &found);
        assert_null(found.blobs);
        assert_ended(&s3, status, KEDGE_UNAVAILABLE, "LIST 200");
    }
}

static void test_a_listing_is_decoded_and_its_times_are_read(void **state)
{
    (void)state;
    scripted_s3 s3;
    kedge_blob_list found = {0};
    S3_BEGIN(&s3, {S3_RESPONSE, 200, ONE("a+b%2Bc%0a%3C", "2026-11-21T16:34:12.345Z", "67"), NULL});
    assert_int_equal(list(&s3, &found), KEDGE_OK);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.blobs[0].key, "a b+c\n<");
    assert_int_equal(found.blobs[0].size_bytes, 67);
    assert_int_equal(found.blobs[0].modified_ms, 1795278852345);
    assert_false(found.more);
    kedge_blob_list_free(&found);
    scripted_s3_end(&s3);
}

static kedge_status tag(scripted_s3 *s3, kedge_bytes value)
{
    return S3_CALL(s3, s3->blobs.vtable->tag(s3->blobs.self, KEDGE_BYTES("k"), KEDGE_BYTES("name"),
                                             value, &s3->error));
}

static void test_what_is_no_set_of_tags_is_not_an_empty_one(void **state)
{
    (void)state;
    static const char *const bodies[] = {"", "garbage", HTML, XML "<Tagging>", XML "<Other/>"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        scripted_s3 s3;
        S3_BEGIN(&s3, {S3_RESPONSE, 200, bodies[i], NULL});
        assert_ended(&s3, tag(&s3, KEDGE_BYTES("value")), KEDGE_UNAVAILABLE, "GET-TAGS 200");
    }
}

static void test_a_tag_that_s3_does_not_take_is_an_invalid_argument(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 200, XML "<Tagging><TagSet/></Tagging>", NULL},
             {S3_RESPONSE, 400, XML "<Error><Code>InvalidTag</Code></Error>", NULL});
    kedge_status status = tag(&s3, KEDGE_BYTES("\xc3\xa4"));
    assert_string_equal(s3.error.code, "invalid-tag");
    assert_ended(&s3, status, KEDGE_INVALID_ARGUMENT, "GET-TAGS 200, PUT-TAGS 400");
}

static void test_a_tag_waits_for_no_other_change_beyond_its_deadline(void **state)
{
    (void)state;
    scripted_s3 s3;
    S3_BEGIN(&s3, {S3_RESPONSE, 200, XML "<Tagging><TagSet/></Tagging>", NULL},
             {S3_RESPONSE, 200, "", NULL});
    kedge_s3 *port = s3.blobs.self;
    const kedge_environment *environment = &s3.world.environment;
    const int64_t begin_ms = environment->monotonic_ms(environment->context);
    const kedge_deadline soon = {
        .environment = environment, .end_ms = begin_ms + 20, .slice_end_ms = INT64_MAX};
    memset(port->tag_locks.taken, true, sizeof port->tag_locks.taken); /* others have them */
    kedge_deadline_set(&soon);
    kedge_status status = tag(&s3, KEDGE_BYTES("value"));
    kedge_deadline_set(NULL);
    assert_int_equal(status, KEDGE_UNAVAILABLE);
    assert_string_equal(s3.error.code, "deadline-exceeded");
    assert_true(environment->monotonic_ms(environment->context) >= begin_ms + 20);
    assert_string_equal(s3.trace, "");
    memset(port->tag_locks.taken, false, sizeof port->tag_locks.taken);
    assert_ended(&s3, tag(&s3, KEDGE_BYTES("value")), KEDGE_OK, "GET-TAGS 200, PUT-TAGS 200");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_put_that_is_told_to_slow_down_is_tried_again),
        cmocka_unit_test(test_a_put_that_meets_another_one_is_tried_again),
        cmocka_unit_test(test_a_put_that_took_effect_unheard_finds_its_own_object),
        cmocka_unit_test(test_a_put_that_got_lost_may_find_anothers_object),
        cmocka_unit_test(test_a_put_that_cannot_ask_whose_the_object_is_is_unknown),
        cmocka_unit_test(test_a_page_of_somebody_else_is_no_success),
        cmocka_unit_test(test_a_body_travels_with_both_of_its_checksums),
        cmocka_unit_test(test_a_blob_that_its_key_calls_gzipped_json_says_so),
        cmocka_unit_test(test_a_blob_that_says_how_it_is_encoded_is_read_as_it_is),
        cmocka_unit_test(test_a_response_with_another_checksum_is_no_success),
        cmocka_unit_test(test_a_missing_bucket_is_not_a_missing_blob),
        cmocka_unit_test(test_a_removal_whose_response_is_lost_takes_nothing_that_was_put_since),
        cmocka_unit_test(test_a_removal_that_had_no_effect_is_tried_again),
        cmocka_unit_test(test_a_body_that_was_cut_is_read_again),
        cmocka_unit_test(test_a_response_that_contradicts_itself_is_not_taken),
        cmocka_unit_test(test_a_blob_without_bytes_has_no_range),
        cmocka_unit_test(test_a_large_blob_is_read_in_pieces),
        cmocka_unit_test(test_pieces_of_two_objects_are_not_put_together),
        cmocka_unit_test(test_an_object_of_more_than_64_mebibytes_is_refused_by_its_size),
        cmocka_unit_test(test_a_large_blob_goes_in_parts),
        cmocka_unit_test(test_a_large_blob_that_is_there_is_not_uploaded),
        cmocka_unit_test(test_a_completion_with_an_error_behind_200_is_tried_again),
        cmocka_unit_test(test_a_completion_that_is_never_confirmed_is_aborted),
        cmocka_unit_test(test_a_completion_that_took_effect_unheard_finds_its_own_object),
        cmocka_unit_test(test_an_upload_that_another_overtakes_is_aborted),
        cmocka_unit_test(test_an_upload_looks_for_another_before_it_is_completed),
        cmocka_unit_test(test_an_upload_that_met_another_one_starts_again),
        cmocka_unit_test(test_a_part_that_cannot_be_put_aborts_the_upload),
        cmocka_unit_test(test_an_upload_without_an_id_is_not_begun),
        cmocka_unit_test(test_what_is_no_listing_is_not_an_empty_one),
        cmocka_unit_test(test_a_listing_is_decoded_and_its_times_are_read),
        cmocka_unit_test(test_what_is_no_set_of_tags_is_not_an_empty_one),
        cmocka_unit_test(test_a_tag_that_s3_does_not_take_is_an_invalid_argument),
        cmocka_unit_test(test_a_tag_waits_for_no_other_change_beyond_its_deadline),
    };
    return cmocka_run_group_tests_name("S3 with faults", tests, NULL, NULL);
}
