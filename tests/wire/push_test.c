/* Pushes: their bytes, what is read of them, and what a malformed mutation does to its push. */
#include "wire/push.h"

#include "tests/support/failing_allocator.h"
#include "tests/wire/draw.h"
#include "wire/push_mutation.h"
#include "wire/replicache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define UID   "00112233445566778899aabbccddeeff"
#define COUNT 12

/* ---- bytes ---- */

static void test_a_push_has_these_bytes(void **state)
{
    kedge_wire_mutation mutation = {.client_id = KEDGE_BYTES("c1"),
                                    .id = 7,
                                    .name = KEDGE_BYTES("kedge.put"),
                                    .args = KEDGE_BYTES("{\"a\":1}"),
                                    .timestamp_ms = -5,
                                    .uid = KEDGE_BYTES(UID)};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&out);
    (void)state;
    kedge_wire_push_request_begin(&writer, "c1", "2.1");
    kedge_wire_push_request_mutation(&writer, &mutation);
    mutation.id = 8;
    mutation.origin_client_id = KEDGE_BYTES("c0");
    mutation.origin_id = 3;
    mutation.mutator_version = 4;
    mutation.waits = true;
    kedge_wire_push_request_mutation(&writer, &mutation);
    kedge_wire_push_request_end(&writer, "c1");
    assert_string_equal(
        out.data,
        "{\"pushVersion\":1,\"clientGroupID\":\"c1\",\"profileID\":\"kedge\",\"schemaVersion\":"
        "\"2.1\","
        "\"mutations\":[{\"clientID\":\"c1\",\"id\":7,\"name\":\"kedge.put\",\"args\":{\"a\":1},"
        "\"timestamp\":-5,\"uid\":\"" UID "\"},"
        "{\"clientID\":\"c1\",\"id\":8,\"name\":\"kedge.put\",\"args\":{\"a\":1},"
        "\"timestamp\":-5,\"uid\":\"" UID
        "\",\"version\":4,\"wait\":true,\"origin\":{\"client\":\"c0\",\"id\":3}}],"
        "\"kedge\":{\"client\":\"c1\"}}");
    kedge_buffer_free(&out);
}

static void test_the_digest_is_that_of_the_canonical_mutation(void **state)
{
    static const char body[] =
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":["
        "{\"clientID\":\"c\",\"id\":1,\"name\":\"n\",\"args\":{ \"b\":1e0, \"a\":\"\\u0041\"},"
        "\"timestamp\":1,\"uid\":\"" UID "\"},"
        "{\"clientID\":\"c\",\"id\":2,\"name\":\"n\",\"timestamp\":1},"
        "{\"clientID\":\"c\",\"id\":3,\"name\":7}]}";
    static const char *const digested[] = {
        "{\"args\":{\"a\":\"A\",\"b\":1},\"name\":\"n\",\"uid\":\"" UID "\"}",
        "{\"args\":null,\"name\":\"n\"}", "{\"clientID\":\"c\",\"id\":3,\"name\":7}"};
    kedge_wire_push_request read;
    kedge_wire_request request = {.body = KEDGE_BYTES(body)};
    (void)state;
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    assert_int_equal(read.count, 3);
    for (size_t i = 0; i < 3; i++) {
        uint8_t hash[KEDGE_SHA256_SIZE];
        kedge_sha256(kedge_bytes_of(digested[i]), hash);
        assert_memory_equal(read.mutations[i].digest, hash, KEDGE_DIGEST_SIZE);
    }
    kedge_wire_push_request_free(&read);
}

/* What is told to be canonical is stored without another look. */
static void test_only_args_that_came_canonical_are_told_so(void **state)
{
    static const char *const args[] = {"{\"a\":1,\"b\":[true,\"x\"]}",
                                       "null",
                                       "{\"b\":1,\"a\":1}",
                                       "{ \"a\":1}",
                                       "{\"a\":1e0}",
                                       "\"\\u0041\"",
                                       "{\"a\":1,\"a\":1}",
                                       "{\"a\":tru}"};
    (void)state;
    for (size_t i = 0; i < sizeof args / sizeof args[0]; i++) {
        char body[256];
        kedge_wire_push_request read;
        snprintf(body, sizeof body,
                 "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c\","
                 "\"id\":1,"
                 "\"name\":\"n\",\"args\":%s,\"timestamp\":1}]}",
                 args[i]);
        kedge_wire_request request = {.body = kedge_bytes_of(body)};
        assert_int_equal(
            kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
            KEDGE_OK);
        assert_int_equal(read.mutations[0].args_are_canonical, i < 2);
        kedge_wire_push_request_free(&read);
    }
}

/* ---- written and read again ---- */

static kedge_wire_mutation draw_mutation(draw *from)
{
    kedge_wire_mutation mutation = {
        .client_id = draw_client_id(from),
        .id = draw_integer(from, 1, KEDGE_LIMIT_MUTATION_ID),
        .args = draw_value(from),
        .timestamp_ms = draw_integer(from, -KEDGE_LIMIT_MUTATION_ID, KEDGE_LIMIT_MUTATION_ID),
        .uid = draw_hex(from, 32),
        .mutator_version = draw_integer(from, 1, UINT32_MAX),
        .waits = draw_boolean(from)};
    do {
        mutation.name = draw_text(from, KEDGE_LIMIT_NAME_BYTES);
    } while (mutation.name.size == 0);
    if (draw_boolean(from)) {
        mutation.origin_client_id = draw_client_id(from);
        mutation.origin_id = draw_integer(from, 1, KEDGE_LIMIT_MUTATION_ID);
    }
    return mutation;
}

static void assert_bytes(kedge_bytes found, kedge_bytes expected)
{
    assert_true(kedge_bytes_equal(found, expected));
}

static void assert_mutation(const kedge_wire_mutation *found, const kedge_wire_mutation *expected)
{
    assert_null(found->invalid_code);
    assert_bytes(found->client_id, expected->client_id);
    assert_int_equal(found->id, expected->id);
    assert_bytes(found->name, expected->name);
    assert_bytes(found->args, expected->args);
    assert_int_equal(found->timestamp_ms, expected->timestamp_ms);
    assert_bytes(found->uid, expected->uid);
    assert_bytes(found->origin_client_id, expected->origin_client_id);
    assert_int_equal(found->origin_id, expected->origin_id);
    assert_int_equal(found->mutator_version, expected->mutator_version);
    assert_int_equal(found->waits, expected->waits);
}

static void check_copy(const kedge_wire_push_request *read)
{
    kedge_wire_push_request again;
    kedge_buffer copy = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_push_request_copy(read, &copy);
    kedge_wire_request body = {.body = kedge_buffer_bytes(&copy)};
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &body, &again, NULL),
                     KEDGE_OK);
    assert_false(again.native);
    assert_string_equal(again.group_id, read->group_id);
    assert_int_equal(again.count, read->count);
    for (size_t i = 0; i < read->count; i++) {
        assert_mutation(&again.mutations[i], &read->mutations[i]);
        assert_memory_equal(again.mutations[i].digest, read->mutations[i].digest,
                            KEDGE_DIGEST_SIZE);
    }
    kedge_wire_push_request_free(&again);
    kedge_buffer_free(&copy);
}

static void test_a_push_that_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        char client[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
        char schema[KEDGE_LIMIT_SCHEMA_VERSION_BYTES + 1];
        kedge_wire_mutation mutations[COUNT];
        kedge_wire_push_request read;
        kedge_error error = {0};
        size_t count = draw_count(&from, COUNT);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_json_writer writer = kedge_json_write(&out);
        kedge_bytes id = draw_client_id(&from);
        snprintf(client, sizeof client, "%.*s", (int)id.size, id.data);
        draw_chars(&from, schema, sizeof schema);
        kedge_wire_push_request_begin(&writer, client, schema);
        for (size_t i = 0; i < count; i++) {
            mutations[i] = draw_mutation(&from);
            kedge_wire_push_request_mutation(&writer, &mutations[i]);
        }
        kedge_wire_push_request_end(&writer, client);
        kedge_wire_request body = {.body = kedge_buffer_bytes(&out)};
        if (kedge_wire_push_request_read(&kedge_allocator_default, &body, &read, &error) !=
            KEDGE_OK) {
            fail_msg("%s: %s", error.message, out.data);
        }
        assert_true(read.supported && read.native && !read.too_large);
        assert_string_equal(read.group_id, client);
        assert_string_equal(read.schema_version, schema);
        assert_int_equal(read.count, count);
        for (size_t i = 0; i < count; i++)
            assert_mutation(&read.mutations[i], &mutations[i]);
        check_copy(&read);
        kedge_wire_push_request_free(&read);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

/* ---- hostile bodies ---- */

#define AROUND(mutations)                                                                          \
    "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[" mutations "]}"
#define GOOD(id) "{\"clientID\":\"c\",\"id\":" id ",\"name\":\"n\",\"timestamp\":1}"

static void test_a_malformed_mutation_harms_only_itself(void **state)
{
    static const struct {
        const char *mutation;
        const char *message; /* how it begins */
    } malformed[] = {
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"\xff\",\"timestamp\":1}", ""},
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"n\",\"timestamp\":1,\"x\":01}", ""},
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"n\",\"name\":\"n\",\"timestamp\":1}", ""},
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"\",\"timestamp\":1}", "name must be"},
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"n\"}", "timestamp must be"},
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"n\",\"timestamp\":1,\"uid\":\"A\"}",
         "uid must be"},
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"n\",\"timestamp\":1,\"origin\":{}}",
         "origin must be"},
        {"{\"clientID\":\"c\",\"id\":2,\"name\":\"n\",\"timestamp\":1,\"wait\":1}", "wait must be"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        char body[512];
        kedge_wire_push_request read;
        snprintf(body, sizeof body, AROUND(GOOD("1") ",%s," GOOD("3")), malformed[i].mutation);
        kedge_wire_request request = {.body = kedge_bytes_of(body)};
        assert_int_equal(
            kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
            KEDGE_OK);
        assert_int_equal(read.count, 3);
        assert_null(read.mutations[0].invalid_code);
        assert_null(read.mutations[2].invalid_code);
        assert_string_equal(read.mutations[1].invalid_code, "mutation-invalid");
        assert_int_equal(strncmp(read.mutations[1].invalid_message, malformed[i].message,
                                 strlen(malformed[i].message)),
                         0);
        assert_int_equal(read.mutations[1].id, 2);
        assert_bytes(read.mutations[1].args, KEDGE_BYTES("null"));
        kedge_wire_push_request_free(&read);
    }
}

static void test_what_cannot_be_told_refuses_the_push_and_names_the_place(void **state)
{
    static const struct {
        const char *body;
        const char *code;
        const char *message;
    } wrong[] = {
        {"[]", "body-invalid", "the body must be an object"},
        {"{\"clientGroupID\":\"g\",\"mutations\":[]}", "body-invalid",
         "pushVersion is missing; it must be 1"},
        {"{\"pushVersion\":1,\"mutations\":[]}", "body-invalid",
         "clientGroupID is missing; it must be a string of 1 to 128 of A-Z a-z 0-9 _ -"},
        {"{\"pushVersion\":1,\"clientGroupID\":\"g\"}", "body-invalid",
         "mutations is missing; it must be an array"},
        {"{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[],\"kedge\":{}}",
         "body-invalid",
         "kedge.client is missing; it must be a string of 1 to 128 of A-Z a-z 0-9 _ -"},
        {AROUND("7"), "body-invalid", "mutations[0] must be an object"},
        {AROUND(GOOD("1") "," GOOD("0")), "body-invalid",
         "mutations[1].id must be a whole number from 1 to 2^53 - 1"},
        {AROUND("{\"clientID\":\"a b\",\"id\":1}"), "body-invalid",
         "mutations[0].clientID must be a string of 1 to 128 of A-Z a-z 0-9 _ -"},
        {AROUND("{\"clientID\":\"c\",\"id\":1,\"id\":2}"), "body-invalid",
         "mutations[0] must be an object with one clientID and one id"},
        {AROUND(GOOD("1") " " GOOD("2")), "body-not-json",
         "mutations is no array of values after element 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_wire_push_request read;
        kedge_error error = {0};
        kedge_wire_request request = {.body = kedge_bytes_of(wrong[i].body)};
        assert_int_equal(
            kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, &error),
            KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, wrong[i].code);
        assert_string_equal(error.message, wrong[i].message);
        kedge_wire_push_request_free(&read);
    }
}

static void test_of_a_push_that_was_cut_off_the_whole_mutations_count(void **state)
{
    static const char body[] = AROUND(GOOD("1") "," GOOD("2") "," GOOD("3"));
    size_t all = sizeof body - 1;
    (void)state;
    for (size_t size = 1; size <= all; size++) {
        kedge_wire_push_request read;
        kedge_error error = {0};
        kedge_wire_request request = {.body = {body, size}, .truncated = true};
        kedge_status status =
            kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, &error);
        if (status == KEDGE_OK) {
            assert_true(read.too_large);
            assert_int_equal(read.count,
                             size < strlen(AROUND("")) - 2 + strlen(GOOD("1"))              ? 0
                             : size < strlen(AROUND(GOOD("1") ",")) - 2 + strlen(GOOD("2")) ? 1
                             : size < all - 2                                               ? 2
                                                                                            : 3);
        } else {
            assert_int_equal(status, KEDGE_LIMIT_EXCEEDED);
            assert_string_equal(error.code, "body-too-large");
        }
        kedge_wire_push_request_free(&read);
    }
}

/* How many mutations are read of `front`, then `x` up to a body of `size` bytes, then `end`. */
static size_t count_of_cut(const char *front, size_t size, const char *end, const char **code)
{
    kedge_wire_push_request read;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&body, "{\"clientGroupID\":\"g\",\"mutations\":[ ");
    kedge_buffer_append_text(&body, front);
    while (body.size < size)
        kedge_buffer_append_text(&body, "x");
    kedge_buffer_append_text(&body, end);
    kedge_wire_request request = {.body = kedge_buffer_bytes(&body), .truncated = true};
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    size_t count = read.count;
    assert_true(read.too_large);
    *code = count == 0 ? NULL : read.mutations[0].invalid_code;
    if (count > 0) {
        assert_int_equal(read.mutations[0].id, 12);
        assert_true(kedge_bytes_equal_text(read.mutations[0].client_id, "c"));
    }
    kedge_wire_push_request_free(&read);
    kedge_buffer_free(&body);
    return count;
}

static void test_a_first_mutation_that_no_push_holds_is_read_as_an_invalid_one(void **state)
{
    const size_t large = KEDGE_LIMIT_ARGS_BYTES + 1000;
    static const struct {
        const char *front;
        const char *end;
    } unread[] = {
        {"{\"clientID\":\"c\",\"args\":\"", ""},
        {"{\"clientID\":\"c\",\"args\":\"", "\",\"id\":12"}, /* of 123, perhaps */
        {"{\"id\":12,\"args\":\"", "\",\"clientID\":\"c"},
        {"{\"clientID\":\"c\",\"id\":12,\"uid\":\"00112233445566778899aabbccddeeff\",\"args\":\"",
         ""},
        {"[\"", ""},
        {"\"", ""},
    };
    const char *code;
    (void)state;
    const char *front = "{\"clientID\":\"c\",\"id\":12,\"args\":\"";
    assert_int_equal(count_of_cut(front, large, "", &code), 1);
    assert_string_equal(code, "args-too-large");
    assert_int_equal(count_of_cut(front, large, "\",\"name\":\"n", &code), 1);
    assert_string_equal(code, "args-too-large");
    assert_int_equal(count_of_cut(front, KEDGE_LIMIT_ARGS_BYTES, "", &code), 0);
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++)
        assert_int_equal(count_of_cut(unread[i].front, large, unread[i].end, &code), 0);
}

/* Its client knows the mutation by this digest, so that it takes the rejection for its own. */
static void test_args_that_are_nested_too_deep_are_digested_as_they_were_sent(void **state)
{
    uint8_t digest[KEDGE_DIGEST_SIZE];
    char args[2 * (KEDGE_LIMIT_JSON_DEPTH + 1) + 1] = "";
    char body[1024];
    kedge_bytes uid = KEDGE_BYTES("00112233445566778899aabbccddeeff"), none = {NULL, 0};
    kedge_wire_push_request read;
    (void)state;
    memset(args, '[', KEDGE_LIMIT_JSON_DEPTH + 1);
    memset(args + KEDGE_LIMIT_JSON_DEPTH + 1, ']', KEDGE_LIMIT_JSON_DEPTH + 1);
    snprintf(body, sizeof body,
             AROUND("{\"clientID\":\"c\",\"id\":1,\"name\":\"kedge.restore\",\"args\":%s,"
                    "\"timestamp\":1,\"uid\":\"%s\"},"
                    "{\"clientID\":\"c\",\"id\":2,\"name\":\"\\u0022n\",\"args\":%s,"
                    "\"timestamp\":1}"),
             args, uid.data, args);
    kedge_wire_request request = {.body = kedge_bytes_of(body)};
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    assert_int_equal(read.count, 2);
    assert_string_equal(read.mutations[0].invalid_code, "args-invalid");
    kedge_wire_digest(kedge_bytes_of(args), KEDGE_BYTES("kedge.restore"), uid, digest);
    assert_memory_equal(read.mutations[0].digest, digest, KEDGE_DIGEST_SIZE);
    assert_string_equal(read.mutations[1].invalid_code, "args-invalid");
    kedge_wire_digest(kedge_bytes_of(args), KEDGE_BYTES("\\\"n"), none, digest);
    assert_memory_equal(read.mutations[1].digest, digest, KEDGE_DIGEST_SIZE);
    kedge_wire_push_request_free(&read);
}

/* Reads a push whose first mutation, `front` and args after it, was cut off in the args. */
static kedge_status read_cut(const kedge_allocator *allocator, const char *members,
                             const char *front, kedge_wire_push_request *read, kedge_error *error)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&body, "{\"clientGroupID\":\"g\",%s\"mutations\":[%s,\"args\":\"",
                               members, front);
    while (body.size < KEDGE_LIMIT_ARGS_BYTES + 1000)
        kedge_buffer_append_text(&body, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    kedge_wire_request request = {.body = kedge_buffer_bytes(&body), .truncated = true};
    kedge_status status = kedge_wire_push_request_read(allocator, &request, read, error);
    kedge_buffer_free(&body);
    return status;
}

static void test_a_first_mutation_that_was_cut_off_says_whose_it_is_or_is_refused(void **state)
{
    kedge_wire_push_request read;
    kedge_error error = {0};
    (void)state;
    assert_int_equal(
        read_cut(&kedge_allocator_default, "", "{\"clientID\":5,\"id\":12", &read, &error),
        KEDGE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "clientID"));
    assert_int_equal(read.count, 0);
    kedge_wire_push_request_free(&read);
    /* Kedge's own clients make no mutation that is too large for a push. */
    assert_int_equal(read_cut(&kedge_allocator_default, "\"kedge\":{\"client\":\"c\"},",
                              "{\"clientID\":\"c\",\"id\":12", &read, &error),
                     KEDGE_OK);
    assert_true(read.native);
    assert_int_equal(read.count, 0);
    kedge_wire_push_request_free(&read);
}

static bool read_cut_with(const kedge_allocator *allocator, void *context)
{
    kedge_wire_push_request read;
    kedge_error error = {0};
    (void)context;
    kedge_status status =
        read_cut(allocator, "", "{\"clientID\":\"\\u0063\",\"id\":12", &read, &error);
    if (status == KEDGE_OK)
        assert_int_equal(read.count, 1);
    else
        assert_int_equal(error.status, KEDGE_NO_MEMORY);
    kedge_wire_push_request_free(&read);
    return status == KEDGE_OK;
}

static void test_another_version_of_push_is_read_no_further(void **state)
{
    kedge_wire_push_request read;
    kedge_wire_request request = {.body = KEDGE_BYTES("{\"pushVersion\":0,\"mutations\":7}")};
    (void)state;
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    assert_false(read.supported);
    kedge_wire_push_request_free(&read);
}

static bool read_body(const kedge_allocator *allocator, void *context)
{
    const char *body = context;
    kedge_wire_push_request read;
    kedge_wire_request request = {.body = kedge_bytes_of(body)};
    kedge_error error = {0};
    kedge_status status = kedge_wire_push_request_read(allocator, &request, &read, &error);
    if (status != KEDGE_OK) assert_int_equal(error.status, KEDGE_NO_MEMORY);
    kedge_wire_push_request_free(&read);
    return status == KEDGE_OK;
}

static void test_every_failed_allocation_is_survived(void **state)
{
    char plain[] = AROUND("{\"clientID\":\"\\u0063\",\"id\":1,\"name\":\"\\u0063\",\"timestamp\":1,"
                          "\"args\":{\"b\":[1.0],\"a\":2}}");
    char name[6 * KEDGE_LIMIT_NAME_BYTES + 1] = "", args[2 * KEDGE_LIMIT_JSON_DEPTH + 3] = "";
    char deep[1024];
    (void)state;
    for (size_t i = 0; i < KEDGE_LIMIT_NAME_BYTES; i++)
        memcpy(name + 6 * i, "\\u0001", 6);
    memset(args, '[', KEDGE_LIMIT_JSON_DEPTH + 1);
    memset(args + KEDGE_LIMIT_JSON_DEPTH + 1, ']', KEDGE_LIMIT_JSON_DEPTH + 1);
    snprintf(deep, sizeof deep,
             AROUND("{\"clientID\":\"c\",\"id\":1,\"name\":\"%s\",\"timestamp\":1,\"args\":%s}"),
             name, args);
    assert_true(failing_allocator_try_every_call(read_body, plain, 1000) > 0);
    assert_true(failing_allocator_try_every_call(read_body, deep, 1000) > 0);
    assert_true(failing_allocator_try_every_call(read_cut_with, NULL, 0) > 2);
}

/* ---- the response ---- */

static void check_response(const kedge_wire_push_response *response, const char *text)
{
    kedge_wire_push_response read;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_push_response_write(response, &out);
    if (text != NULL) assert_string_equal(out.data, text);
    assert_int_equal(kedge_wire_push_response_read(&kedge_allocator_default,
                                                   kedge_buffer_bytes(&out), &read, NULL),
                     KEDGE_OK);
    assert_int_equal(read.native, response->native);
    assert_int_equal(read.queued, response->queued);
    assert_int_equal(read.version, response->version);
    kedge_buffer_free(&out);
}

static void test_the_response_of_a_push_is_read_as_it_was_written(void **state)
{
    (void)state;
    check_response(&(kedge_wire_push_response){.native = false}, "{}");
    check_response(&(kedge_wire_push_response){.native = true, .queued = true},
                   "{\"kedge\":{\"queued\":true}}");
    check_response(&(kedge_wire_push_response){.native = true, .version = 7},
                   "{\"kedge\":{\"version\":7}}");
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_wire_push_response response = {
            .native = true, .version = draw_integer(&from, 1, KEDGE_LIMIT_MUTATION_ID)};
        check_response(&response, NULL);
        draw_end(&from);
    }
}

static void test_what_is_no_response_of_a_push_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "[1]",
                                        "{\"a\":1}",
                                        "{\"kedge\":{}}",
                                        "{\"kedge\":{\"version\":0}}",
                                        "{\"kedge\":{\"queued\":false}}",
                                        "{\"kedge\":{\"queued\":1}}",
                                        "{\"error\":\"ClientStateNotFound\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_wire_push_response read;
        kedge_error error = {0};
        assert_int_equal(kedge_wire_push_response_read(&kedge_allocator_default,
                                                       kedge_bytes_of(wrong[i]), &read, &error),
                         KEDGE_PROTOCOL);
        assert_string_equal(error.code, "response-invalid");
    }
}

static void test_a_replicache_client_is_told_what_it_understands(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_wire_client_state_not_found_write(&out);
    assert_string_equal(out.data, "{\"error\":\"ClientStateNotFound\"}");
    assert_false(
        kedge_wire_version_not_supported_read(&kedge_allocator_default, kedge_buffer_bytes(&out)));
    kedge_buffer_clear(&out);
    kedge_wire_version_not_supported_write("push", &out);
    assert_string_equal(out.data, "{\"error\":\"VersionNotSupported\",\"versionType\":\"push\"}");
    assert_true(
        kedge_wire_version_not_supported_read(&kedge_allocator_default, kedge_buffer_bytes(&out)));
    assert_false(kedge_wire_version_not_supported_read(&kedge_allocator_default, KEDGE_BYTES("{")));
    assert_false(
        kedge_wire_version_not_supported_read(&kedge_allocator_default, KEDGE_BYTES("{}")));
    kedge_buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_push_has_these_bytes),
        cmocka_unit_test(test_the_digest_is_that_of_the_canonical_mutation),
        cmocka_unit_test(test_args_that_are_nested_too_deep_are_digested_as_they_were_sent),
        cmocka_unit_test(test_only_args_that_came_canonical_are_told_so),
        cmocka_unit_test(test_a_push_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_a_malformed_mutation_harms_only_itself),
        cmocka_unit_test(test_what_cannot_be_told_refuses_the_push_and_names_the_place),
        cmocka_unit_test(test_of_a_push_that_was_cut_off_the_whole_mutations_count),
        cmocka_unit_test(test_a_first_mutation_that_no_push_holds_is_read_as_an_invalid_one),
        cmocka_unit_test(test_a_first_mutation_that_was_cut_off_says_whose_it_is_or_is_refused),
        cmocka_unit_test(test_another_version_of_push_is_read_no_further),
        cmocka_unit_test(test_every_failed_allocation_is_survived),
        cmocka_unit_test(test_the_response_of_a_push_is_read_as_it_was_written),
        cmocka_unit_test(test_what_is_no_response_of_a_push_is_refused),
        cmocka_unit_test(test_a_replicache_client_is_told_what_it_understands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
