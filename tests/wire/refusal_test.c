/* What the readers refuse, and by which name: requests of all kinds, and what is odd in a push. */
#include "wire/pull.h"
#include "wire/push.h"
#include "wire/retire.h"
#include "wire/upload.h"

#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

typedef kedge_status read_function(const kedge_wire_request *request, kedge_error *error);

static kedge_status read_pull(const kedge_wire_request *request, kedge_error *error)
{
    kedge_wire_pull_request out;
    return kedge_wire_pull_request_read(request, &out, error);
}

static kedge_status read_push(const kedge_wire_request *request, kedge_error *error)
{
    kedge_wire_push_request out;
    kedge_status status =
        kedge_wire_push_request_read(&kedge_allocator_default, request, &out, error);
    kedge_wire_push_request_free(&out);
    return status;
}

static kedge_status read_retire(const kedge_wire_request *request, kedge_error *error)
{
    kedge_wire_retire_request out;
    return kedge_wire_retire_request_read(request, &out, error);
}

static kedge_status read_upload(const kedge_wire_request *request, kedge_error *error)
{
    kedge_wire_upload_request out;
    return kedge_wire_upload_request_read(request, &out, error);
}

static kedge_status read_project(const kedge_wire_request *request, kedge_error *error)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    return kedge_wire_request_project(request->body, "to", name, error);
}

/* ---- requests ---- */

#define PULL   "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null"
#define NATIVE PULL ",\"kedge\":{\"client\":\"c\",\"lowest_pending\":0"
#define PUSH   "{\"pushVersion\":1,\"clientGroupID\":\"g\""
#define SEEN   "kedge.seen must be {\"order\":…,\"lineage\":…}"

static void test_a_member_that_is_wrong_is_named(void **state)
{
    static const char cookie[] = "cookie must be null or a cookie from the response of a pull";
    static const char id[] = "a string of 1 to 128 of A-Z a-z 0-9 _ -";
    static const struct {
        read_function *read;
        const char *body;
        const char *message;
    } wrong[] = {
        {read_pull, "{}", "pullVersion must be the number 1"},
        {read_pull, "{\"pullVersion\":\"1\"}", "pullVersion must be the number 1"},
        {read_pull, "{\"pullVersion\":1,\"clientGroupID\":\"g\"}", cookie},
        {read_pull, "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":[]}", cookie},
        {read_pull, PULL ",\"profileID\":1}", "profileID must be a string"},
        {read_pull, PULL ",\"schemaVersion\":1}", "schemaVersion must be a string"},
        {read_pull, PULL ",\"kedge\":1}", "kedge must be an object"},
        {read_pull, PULL ",\"kedge\":{\"client\":\"a b\"}}",
         "kedge.client must be a string of 1 to 128 of A-Z a-z 0-9 _ -"},
        {read_pull, PULL ",\"kedge\":{\"client\":\"c\"}}",
         "kedge.lowest_pending is missing; it must be a whole number, 0 or above"},
        {read_pull, NATIVE "}}",
         "kedge.highest_id is missing; it must be a whole number, 0 or above"},
        {read_pull, NATIVE ",\"highest_id\":1,\"seen\":1}}", SEEN},
        {read_pull, NATIVE ",\"highest_id\":1,\"seen\":{\"order\":-1,\"lineage\":\"\"}}}", SEEN},
        {read_pull, NATIVE ",\"highest_id\":1,\"seen\":{\"order\":1}}}", SEEN},
        {read_push, "{\"pushVersion\":\"1\",\"mutations\":[]}", "pushVersion must be the number 1"},
        {read_push, PUSH ",\"mutations\":[],\"profileID\":1}", "profileID must be a string"},
        {read_push, PUSH ",\"mutations\":[],\"schemaVersion\":1}",
         "schemaVersion must be a string"},
        {read_push, PUSH ",\"mutations\":[],\"kedge\":1}", "kedge must be an object"},
        {read_push, PUSH ",\"mutations\":{}}", "mutations must be an array"},
        {read_push, PUSH ",\"mutations\":[{\"clientID\":\"c\",\"id\":\"1\"}]}",
         "mutations[0].id must be a whole number from 1 to 2^53 - 1"},
        {read_retire, "{\"clientGroupID\":\"g\",\"lowest_pending\":\"1\"}",
         "lowest_pending must be a whole number, 0 or above"},
        {read_upload, "{\"sha256\":\"00\"}", "sha256 must be 64 lower-case hexadecimal digits"},
        {read_upload, "{\"sha256\":7}", "sha256 must be 64 lower-case hexadecimal digits"},
        {read_upload, "{\"sha256\":\"" HASH "\",\"bytes\":0}",
         "bytes must be a whole number above 0"},
        {read_project, "{}",
         "to is missing; it must be the name of a project: 1 to 64 of A-Z a-z 0-9 _ . -"},
        {read_project, "{\"to\":\"a b\"}",
         "to must be the name of a project: 1 to 64 of A-Z a-z 0-9 _ . -"},
    };
    char long_message[256];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_error error = {0};
        kedge_wire_request request = {.body = kedge_bytes_of(wrong[i].body)};
        assert_int_equal(wrong[i].read(&request, &error), KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "body-invalid");
        assert_string_equal(error.message, wrong[i].message);
    }
    kedge_error error = {0};
    kedge_wire_request request = {.body =
                                      KEDGE_BYTES("{\"pullVersion\":1,\"clientGroupID\":\"a b\"}")};
    assert_int_equal(read_pull(&request, &error), KEDGE_INVALID_ARGUMENT);
    snprintf(long_message, sizeof long_message, "clientGroupID must be %s", id);
    assert_string_equal(error.message, long_message);
}

static void test_a_body_that_is_no_json_or_no_object_or_too_large_is_refused_as_that(void **state)
{
    static read_function *const readers[] = {read_pull, read_push, read_retire, read_upload};
    static const struct {
        kedge_wire_request request;
        kedge_status status;
        const char *code;
    } wrong[] = {
        {{{"", 0}, false}, KEDGE_INVALID_ARGUMENT, "body-not-json"},
        {{{"{", 1}, false}, KEDGE_INVALID_ARGUMENT, "body-not-json"},
        {{{"{} x", 4}, false}, KEDGE_INVALID_ARGUMENT, "body-not-json"},
        {{{"[]", 2}, false}, KEDGE_INVALID_ARGUMENT, "body-invalid"},
        {{{"{\"a\":1", 6}, true}, KEDGE_LIMIT_EXCEEDED, "body-too-large"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (size_t reader = 0; reader < sizeof readers / sizeof readers[0]; reader++) {
            kedge_error error = {0};
            assert_int_equal(readers[reader](&wrong[i].request, &error), wrong[i].status);
            assert_string_equal(error.code, wrong[i].code);
        }
    }
}

static void test_a_project_and_a_version_of_pull_that_are_right_are_read(void **state)
{
    kedge_error error = {0};
    kedge_wire_pull_request pull;
    kedge_wire_request request = {.body = KEDGE_BYTES("{\"to\":\"notes\"}")};
    (void)state;
    assert_int_equal(read_project(&request, &error), KEDGE_OK);
    request.body = KEDGE_BYTES("{\"pullVersion\":0}");
    assert_int_equal(kedge_wire_pull_request_read(&request, &pull, &error), KEDGE_OK);
    assert_false(pull.supported);
    request.body = KEDGE_BYTES(PULL "}");
    assert_int_equal(kedge_wire_pull_request_read(&request, &pull, &error), KEDGE_OK);
    assert_true(pull.supported && !pull.native && !pull.seen);
}

/* ---- what is odd in a push ---- */

static void read_one(const char *mutation, kedge_wire_mutation *out)
{
    char body[1024];
    kedge_wire_push_request read;
    snprintf(body, sizeof body, " \t\r\n" PUSH " , \"mutations\" : [%s]} ", mutation);
    kedge_wire_request request = {.body = kedge_bytes_of(body)};
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    assert_int_equal(read.count, 1);
    *out = read.mutations[0];
    kedge_wire_push_request_free(&read);
}

#define MUTATION(rest) "{\"clientID\":\"c\",\"id\":1,\"name\":\"n\"," rest "}"

static void test_a_timestamp_is_rounded_and_bounded(void **state)
{
    static const struct {
        const char *mutation;
        int64_t timestamp_ms;
    } cases[] = {{MUTATION("\"timestamp\":1.5"), 2},
                 {MUTATION("\"timestamp\":-1.5"), -2},
                 {MUTATION("\"timestamp\":1.4999"), 1},
                 {MUTATION("\"timestamp\":4503599627370497"), 4503599627370497},
                 {MUTATION("\"timestamp\":-4503599627370497"), -4503599627370497},
                 {MUTATION("\"timestamp\":1e300"), KEDGE_LIMIT_MUTATION_ID},
                 {MUTATION("\"timestamp\":-1e300"), -KEDGE_LIMIT_MUTATION_ID}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kedge_wire_mutation read;
        read_one(cases[i].mutation, &read);
        assert_null(read.invalid_code);
        assert_int_equal(read.timestamp_ms, cases[i].timestamp_ms);
    }
}

static void test_an_origin_that_is_not_whole_makes_its_mutation_invalid(void **state)
{
    static const char *const origins[] = {"7", "{\"client\":\"a b\",\"id\":1}",
                                          "{\"client\":\"c\"}", "{\"client\":\"c\",\"id\":0}",
                                          "{\"client\":\"c\",\"id\":\"1\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        char mutation[256];
        kedge_wire_mutation read;
        snprintf(mutation, sizeof mutation, MUTATION("\"timestamp\":1,\"origin\":%s"), origins[i]);
        read_one(mutation, &read);
        assert_string_equal(read.invalid_code, "mutation-invalid");
        assert_int_equal(read.origin_client_id.size, 0);
    }
}

static void test_a_version_of_a_mutator_is_from_1_and_1_when_it_is_not_told(void **state)
{
    static const char *const wrong[] = {"0", "-1", "1.5", "4294967296", "\"1\"", "null"};
    kedge_wire_mutation read;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char mutation[256];
        snprintf(mutation, sizeof mutation, MUTATION("\"timestamp\":1,\"version\":%s"), wrong[i]);
        read_one(mutation, &read);
        assert_string_equal(read.invalid_code, "mutation-invalid");
        assert_int_equal(read.mutator_version, 1);
    }
}

static void test_args_that_are_too_deep_are_invalid_and_no_deeper_ones_are_not(void **state)
{
    (void)state;
    for (int depth = KEDGE_LIMIT_JSON_DEPTH; depth <= KEDGE_LIMIT_JSON_DEPTH + 1; depth++) {
        char args[2 * KEDGE_LIMIT_JSON_DEPTH + 3] = "";
        char mutation[512];
        kedge_wire_mutation read;
        memset(args, '[', (size_t)depth);
        memset(args + depth, ']', (size_t)depth);
        snprintf(mutation, sizeof mutation, MUTATION("\"timestamp\":1,\"args\":%s"), args);
        read_one(mutation, &read);
        if (depth <= KEDGE_LIMIT_JSON_DEPTH) {
            assert_null(read.invalid_code);
        } else {
            assert_string_equal(read.invalid_code, "args-invalid");
        }
    }
    kedge_wire_mutation read;
    read_one(MUTATION("\"timestamp\":1,\"args\":{\"a\":1,\"a\":2}"), &read);
    assert_string_equal(read.invalid_code, "mutation-invalid");
}

static void test_args_of_more_than_8_mib_are_too_large(void **state)
{
    kedge_wire_push_request read;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_buffer_append_text(&body, PUSH ",\"mutations\":[{\"clientID\":\"c\",\"id\":1,"
                                         "\"name\":\"n\",\"timestamp\":1,\"args\":\"");
    for (size_t i = 0; i < KEDGE_LIMIT_ARGS_BYTES; i++)
        kedge_buffer_append_byte(&body, 'x');
    kedge_buffer_append_text(&body, "\"}]}");
    kedge_wire_request request = {.body = kedge_buffer_bytes(&body)};
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    assert_string_equal(read.mutations[0].invalid_code, "args-too-large");
    assert_true(kedge_bytes_equal_text(read.mutations[0].args, "null"));
    kedge_wire_push_request_free(&read);
    kedge_buffer_free(&body);
}

static void test_more_than_10000_mutations_are_a_push_that_is_too_large(void **state)
{
    kedge_wire_push_request read;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_buffer_append_text(&body, PUSH ",\"mutations\":[");
    for (int i = 1; i <= KEDGE_LIMIT_PUSH_MUTATIONS + 1; i++)
        kedge_buffer_append_format(&body, "%s{\"clientID\":\"c\",\"id\":%d}", i > 1 ? "," : "", i);
    kedge_buffer_append_text(&body, "]}");
    kedge_wire_request request = {.body = kedge_buffer_bytes(&body)};
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    assert_true(read.too_large);
    assert_int_equal(read.count, KEDGE_LIMIT_PUSH_MUTATIONS);
    kedge_wire_push_request_free(&read);
    kedge_buffer_free(&body);
}

static void test_of_a_push_that_was_cut_off_what_stands_in_front_counts(void **state)
{
    static const char list[] = "\"mutations\":[{\"clientID\":\"c\",\"id\":1,\"name\":\"n\","
                               "\"timestamp\":1,\"uid\":\"00112233445566778899aabbccddeeff\"},{";
    char body[512];
    kedge_wire_push_request read;
    kedge_error error = {0};
    (void)state;
    snprintf(body, sizeof body, "{\"clientGroupID\":\"g\",%s", list);
    kedge_wire_request request = {.body = kedge_bytes_of(body), .truncated = true};
    assert_int_equal(kedge_wire_push_request_read(&kedge_allocator_default, &request, &read, NULL),
                     KEDGE_OK);
    assert_true(read.native && read.too_large && read.supported);
    assert_int_equal(read.count, 1);
    kedge_wire_push_request_free(&read);
    snprintf(body, sizeof body, "{%s", list);
    request.body = kedge_bytes_of(body);
    assert_int_equal(read_push(&request, &error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.message, "the body has more than 16777216 bytes, and no "
                                       "clientGroupID in front of \"mutations\"");
}

static void test_a_push_that_was_cut_off_in_a_strange_place_is_refused(void **state)
{
    static const char *const bodies[] = {"{\"a\":1",
                                         "{\"a\":1,\"b\"",
                                         "{\"a\":1 \"mutations\":[",
                                         "{\"a\":1,\"mutations\" [",
                                         "{\"a\":1,\"mutations\":{",
                                         "{\"a\":1,\"mutations\":",
                                         "{"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        kedge_error error = {0};
        kedge_wire_request request = {.body = kedge_bytes_of(bodies[i]), .truncated = true};
        assert_int_equal(read_push(&request, &error), KEDGE_LIMIT_EXCEEDED);
        assert_string_equal(error.message, "the body has more than 16777216 bytes, and no "
                                           "\"mutations\" among the first");
    }
}

static void test_an_envelope_that_is_no_json_refuses_the_push(void **state)
{
    static const char *const wrong[] = {PUSH ",\"a\":01,\"mutations\":[]}",
                                        PUSH ",\"mutations\":[],\"mutations\":[]}",
                                        PUSH ",\"mutations\":[] \"a\":1}"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_error error = {0};
        kedge_wire_request request = {.body = kedge_bytes_of(wrong[i])};
        assert_int_equal(read_push(&request, &error), KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "body-not-json");
    }
}

/* ---- memory ---- */

static bool read_grant(const kedge_allocator *allocator, void *context)
{
    kedge_wire_upload_response read;
    kedge_error error = {0};
    kedge_status status =
        kedge_wire_upload_response_read(allocator, kedge_bytes_of(context), &read, &error);
    if (status != KEDGE_OK) assert_int_equal(error.status, KEDGE_NO_MEMORY);
    if (status == KEDGE_OK) assert_int_equal(read.expires_in_ms, 0);
    kedge_wire_upload_response_free(&read);
    return status == KEDGE_OK;
}

static bool read_response(const kedge_allocator *allocator, void *context)
{
    kedge_wire_push_response read;
    kedge_error error = {0};
    kedge_status status =
        kedge_wire_push_response_read(allocator, kedge_bytes_of(context), &read, &error);
    if (status != KEDGE_OK) assert_int_equal(error.status, KEDGE_NO_MEMORY);
    return status == KEDGE_OK;
}

static bool read_pushed(const kedge_allocator *allocator, void *context)
{
    kedge_wire_push_request read;
    kedge_error error = {0};
    kedge_wire_request request = {.body = kedge_bytes_of(context)};
    kedge_status status = kedge_wire_push_request_read(allocator, &request, &read, &error);
    if (status != KEDGE_OK) assert_int_equal(error.status, KEDGE_NO_MEMORY);
    kedge_wire_push_request_free(&read);
    return status == KEDGE_OK;
}

/* To check that no name is there twice takes memory when there are many. */
static void test_no_memory_for_many_members_is_told_as_that(void **state)
{
    static const char *const ends[] = {
        "\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[]}",
        "\"url\":\"u\",\"headers\":{}}", "\"kedge\":{\"version\":1}}"};
    static bool (*const reads[])(const kedge_allocator *allocator,
                                 void *context) = {read_pushed, read_grant, read_response};
    (void)state;
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_append_byte(&body, '{');
        for (int member = 0; member < 300; member++)
            kedge_buffer_append_format(&body, "\"m%03d\":0,", member);
        kedge_buffer_append_text(&body, ends[i]);
        kedge_buffer_append_byte(&body, '\0');
        assert_true(failing_allocator_try_every_call(reads[i], body.data, 1000) > 1);
        kedge_buffer_free(&body);
    }
}

static void test_every_failed_allocation_is_told_as_that(void **state)
{
    char uid[] = PUSH ",\"mutations\":[{\"clientID\":\"c\",\"id\":1,\"name\":\"n\","
                      "\"timestamp\":1,\"uid\":\"\\u00300112233445566778899aabbccddeeff\","
                      "\"args\":[[1,{\"a\":1}]]}]}";
    char name[] = PUSH ",\"mutations\":[{\"clientID\":\"c\",\"id\":1,\"name\":\"\\u006e\","
                       "\"timestamp\":1}]}";
    char origin[] = PUSH ",\"mutations\":[{\"clientID\":\"c\",\"id\":1,\"name\":\"n\","
                         "\"timestamp\":1,\"origin\":{\"client\":\"\\u0063\",\"id\":1}}]}";
    kedge_wire_push_request none = {.supported = false};
    char grant[] = "{\"url\":\"u\",\"headers\":{\"a\":\"b\"}}";
    char args[512];
    (void)state;
    assert_true(failing_allocator_try_every_call(read_grant, grant, 1000) > 0);
    assert_true(failing_allocator_try_every_call(read_pushed, uid, 1000) > 0);
    assert_true(failing_allocator_try_every_call(read_pushed, name, 1000) > 0);
    assert_true(failing_allocator_try_every_call(read_pushed, origin, 1000) > 0);
    for (int size = 1; size < 300; size++) { /* wherever the room for args and name ends */
        snprintf(args, sizeof args,
                 PUSH ",\"mutations\":[{\"clientID\":\"c\",\"id\":1,\"name\":\"name\","
                      "\"timestamp\":1,\"args\":\"%0*d\"}]}",
                 size, 0);
        assert_true(failing_allocator_try_every_call(read_pushed, args, 1000) > 0);
    }
    kedge_wire_push_request_free(&none);
}

static void test_a_retirement_names_at_most_64_earlier_clients(void **state)
{
    (void)state;
    for (int count = 64; count <= 65; count++) {
        kedge_error error = {0};
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_append_text(&body, "{\"clientGroupID\":\"g\",\"lowest_pending\":1,"
                                        "\"earlier\":[");
        for (int i = 0; i < count; i++)
            kedge_buffer_append_format(&body, "%s\"c%d\"", i > 0 ? "," : "", i);
        kedge_buffer_append_text(&body, "]}");
        kedge_wire_request request = {.body = kedge_buffer_bytes(&body)};
        assert_int_equal(read_retire(&request, &error),
                         count == 64 ? KEDGE_OK : KEDGE_INVALID_ARGUMENT);
        kedge_buffer_free(&body);
    }
    kedge_error error = {0};
    kedge_wire_request request = {
        .body = KEDGE_BYTES("{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"earlier\":[7]}")};
    assert_int_equal(read_retire(&request, &error), KEDGE_INVALID_ARGUMENT);
}

static void test_a_list_has_at_most_1000_outcomes(void **state)
{
    (void)state;
    for (int64_t count = 1000; count <= 1001; count++) {
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_outcomes outcomes = kedge_wire_outcomes_make(&kedge_allocator_default);
        kedge_wire_outcomes read = kedge_wire_outcomes_make(&kedge_allocator_default);
        for (int64_t i = 1; i <= count; i++) {
            kedge_wire_outcome outcome = {.id = i, .version = 1};
            assert_int_equal(kedge_wire_outcomes_add(&outcomes, &outcome, NULL), KEDGE_OK);
        }
        kedge_wire_outcomes_response_write(&outcomes, &body);
        assert_int_equal(kedge_wire_outcomes_response_read(kedge_buffer_bytes(&body), &read, NULL),
                         count == 1000 ? KEDGE_OK : KEDGE_PROTOCOL);
        assert_int_equal(read.count, count == 1000 ? 1000 : 0);
        kedge_wire_outcomes_free(&outcomes);
        kedge_wire_outcomes_free(&read);
        kedge_buffer_free(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_member_that_is_wrong_is_named),
        cmocka_unit_test(test_a_body_that_is_no_json_or_no_object_or_too_large_is_refused_as_that),
        cmocka_unit_test(test_a_project_and_a_version_of_pull_that_are_right_are_read),
        cmocka_unit_test(test_a_timestamp_is_rounded_and_bounded),
        cmocka_unit_test(test_an_origin_that_is_not_whole_makes_its_mutation_invalid),
        cmocka_unit_test(test_a_version_of_a_mutator_is_from_1_and_1_when_it_is_not_told),
        cmocka_unit_test(test_args_that_are_too_deep_are_invalid_and_no_deeper_ones_are_not),
        cmocka_unit_test(test_args_of_more_than_8_mib_are_too_large),
        cmocka_unit_test(test_more_than_10000_mutations_are_a_push_that_is_too_large),
        cmocka_unit_test(test_of_a_push_that_was_cut_off_what_stands_in_front_counts),
        cmocka_unit_test(test_a_push_that_was_cut_off_in_a_strange_place_is_refused),
        cmocka_unit_test(test_an_envelope_that_is_no_json_refuses_the_push),
        cmocka_unit_test(test_every_failed_allocation_is_told_as_that),
        cmocka_unit_test(test_no_memory_for_many_members_is_told_as_that),
        cmocka_unit_test(test_a_retirement_names_at_most_64_earlier_clients),
        cmocka_unit_test(test_a_list_has_at_most_1000_outcomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
