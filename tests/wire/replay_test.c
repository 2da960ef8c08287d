/* The entries of a log project in the response of a pull: golden bytes, random ones written and
 * read again, and what is refused by name. */
#include "wire/pull.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/failing_allocator.h"
#include "tests/wire/draw.h"

#include <kedge/limits.h>

#define LINEAGE "0123456789abcdef0123456789abcdef"
#define DIGEST  "00112233445566778899aabbccddeeff"
#define HASH    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

#define NOOP                                                                                       \
    "{\"client\":\"c2\",\"id\":1,\"name\":\"kedge.noop\",\"mutator\":1,\"args\":null,"             \
    "\"timestamp\":0,\"user\":\"\",\"role\":\"\",\"digest\":\"" DIGEST "\"}"
#define ENTRY                                                                                      \
    "{\"version\":5,\"mutations\":[{\"client\":\"c1\",\"id\":7,\"name\":\"set\",\"mutator\":2,"    \
    "\"args\":{\"a\":1},\"timestamp\":-5,\"user\":\"u\\n\",\"role\":\"editor\","                   \
    "\"digest\":\"" DIGEST "\",\"origin\":{\"client\":\"c0\",\"id\":3},"                           \
    "\"outcome\":\"rejected\",\"code\":\"no-way\",\"message\":\"no\"}," NOOP "]}"

static const char good[] =
    "{\"cookie\":{\"order\":7,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
    "\"patch\":[],\"kedge\":{\"from\":3,\"version\":7,\"lineage\":\"" LINEAGE
    "\",\"lmid\":0,\"retired\":false,\"known\":false,\"outcomes\":[],\"outcomes_next\":null,"
    "\"snapshot\":null,\"lost\":false,\"log\":{\"entries\":[" ENTRY
    ",{\"version\":7,\"mutations\":[]}],\"more\":true,\"hash\":\"" HASH "\"}}}";

static kedge_status read_on(const kedge_allocator *allocator, const char *text,
                            kedge_wire_pull_response *out, kedge_error *error)
{
    *out = (kedge_wire_pull_response){.from = 0};
    return kedge_wire_pull_response_read(allocator, kedge_bytes_of(text), out, error);
}

static void write_response(const kedge_wire_pull_response *response, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_wire_cookie cookie = kedge_wire_cookie_of(response->version, response->lineage);
    kedge_wire_pull_response_begin(&writer, &cookie);
    kedge_wire_pull_response_patch_begin(&writer);
    kedge_wire_pull_response_patch_end(&writer);
    kedge_wire_pull_response_native(&writer, response);
    kedge_wire_pull_response_end(&writer);
}

static void test_the_entries_have_these_bytes(void **state)
{
    kedge_wire_replay_mutation mutations[] = {{.client = KEDGE_BYTES("c1"),
                                               .id = 7,
                                               .name = KEDGE_BYTES("set"),
                                               .mutator = 2,
                                               .args = KEDGE_BYTES("{\"a\":1}"),
                                               .timestamp_ms = -5,
                                               .user = KEDGE_BYTES("u\n"),
                                               .role = KEDGE_BYTES("editor"),
                                               .uid = KEDGE_BYTES(DIGEST),
                                               .origin_client = KEDGE_BYTES("c0"),
                                               .origin_id = 3,
                                               .decision = KEDGE_WIRE_REPLAY_REJECTED,
                                               .code = KEDGE_BYTES("no-way"),
                                               .message = KEDGE_BYTES("no")},
                                              {.client = KEDGE_BYTES("c2"),
                                               .id = 1,
                                               .name = KEDGE_BYTES("kedge.noop"),
                                               .mutator = 1,
                                               .args = KEDGE_BYTES("null")}};
    kedge_wire_replay_entry entries[] = {{5, mutations, 2}, {7, NULL, 0}};
    kedge_wire_pull_response response = {
        .from = 3,
        .version = 7,
        .lineage = LINEAGE,
        .log = {.present = true, .entries = entries, .count = 2, .more = true, .hashed = true}};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_true(kedge_hex_decode(KEDGE_BYTES(DIGEST), mutations[i].digest, KEDGE_DIGEST_SIZE));
    assert_true(kedge_hex_decode(KEDGE_BYTES(HASH), response.log.hash, KEDGE_SHA256_SIZE));
    write_response(&response, &out);
    assert_string_equal(out.data, good);
    kedge_buffer_free(&out);
}

static void test_only_the_log_itself_holds_the_uid(void **state)
{
    kedge_wire_replay_mutation read;
    kedge_wire_replay_mutation mutation = {.client = KEDGE_BYTES("c1"),
                                           .id = 1,
                                           .name = KEDGE_BYTES("set"),
                                           .mutator = 1,
                                           .args = KEDGE_BYTES("[]"),
                                           .uid = KEDGE_BYTES(DIGEST)};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_arena arena = kedge_arena_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&out);
    (void)state;
    kedge_wire_replay_mutation_write(&writer, &mutation, true);
    assert_int_equal(
        kedge_wire_replay_mutation_read(kedge_buffer_bytes(&out), 0, &arena, &read, NULL),
        KEDGE_OK);
    assert_true(kedge_bytes_equal_text(read.uid, DIGEST));
    kedge_arena_free(&arena);
    kedge_buffer_free(&out);
}

/* ---- random ones ---- */

static kedge_wire_replay_mutation draw_mutation(draw *from)
{
    kedge_wire_replay_mutation mutation = {.client = draw_client_id(from),
                                           .id = draw_integer(from, 1, KEDGE_LIMIT_MUTATION_ID),
                                           .name = draw_text(from, 64),
                                           .mutator = draw_integer(from, 1, UINT32_MAX),
                                           .args = draw_value(from),
                                           .timestamp_ms = draw_integer(from, -5, 1000000),
                                           .user = draw_text(from, 40),
                                           .role = draw_text(from, 10)};
    draw_bytes(from, mutation.digest, sizeof mutation.digest);
    if (draw_boolean(from)) {
        mutation.origin_client = draw_client_id(from);
        mutation.origin_id = draw_integer(from, 1, KEDGE_LIMIT_MUTATION_ID);
    }
    mutation.decision = (kedge_wire_replay_decision)draw_integer(from, 0, 3);
    if (mutation.decision == KEDGE_WIRE_REPLAY_REJECTED ||
        mutation.decision == KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED) {
        mutation.code = draw_name(from);
        if (mutation.code.size > KEDGE_LIMIT_REJECTION_CODE_BYTES) mutation.code.size = 9;
        mutation.message = draw_text(from, 200);
    }
    return mutation;
}

static void assert_text(kedge_bytes found, kedge_bytes expected)
{
    assert_int_equal(found.size, expected.size);
    if (found.size > 0) assert_memory_equal(found.data, expected.data, found.size);
}

static void assert_mutation(const kedge_wire_replay_mutation *found,
                            const kedge_wire_replay_mutation *expected)
{
    assert_text(found->client, expected->client);
    assert_int_equal(found->id, expected->id);
    assert_text(found->name, expected->name);
    assert_int_equal(found->mutator, expected->mutator);
    assert_text(found->args, expected->args);
    assert_int_equal(found->timestamp_ms, expected->timestamp_ms);
    assert_text(found->user, expected->user);
    assert_text(found->role, expected->role);
    assert_memory_equal(found->digest, expected->digest, sizeof found->digest);
    assert_text(found->origin_client, expected->origin_client);
    assert_int_equal(found->origin_id, expected->origin_id);
    assert_int_equal(found->decision, expected->decision);
    assert_text(found->code, expected->code);
    assert_text(found->message, expected->message);
}

static void test_entries_are_read_as_they_were_written(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_error error = {0};
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_replay_mutation mutations[3] = {draw_mutation(&from), draw_mutation(&from),
                                                   draw_mutation(&from)};
        int64_t first = draw_integer(&from, 1, 1000);
        kedge_wire_replay_entry entries[2] = {{first, mutations, 2}, {first + 1, &mutations[2], 1}};
        kedge_wire_pull_response read;
        kedge_wire_pull_response response = {.from = draw_integer(&from, 0, first - 1),
                                             .version = draw_integer(&from, first + 1, 2000),
                                             .lineage = LINEAGE,
                                             .log = {.present = true,
                                                     .entries = entries,
                                                     .count = 2,
                                                     .more = draw_boolean(&from),
                                                     .hashed = draw_boolean(&from)}};
        if (response.log.hashed) draw_bytes(&from, response.log.hash, KEDGE_SHA256_SIZE);
        write_response(&response, &out);
        if (read_on(&kedge_allocator_default, out.data, &read, &error) != KEDGE_OK)
            fail_msg("%s", error.message);
        assert_true(read.log.present);
        assert_int_equal(read.log.count, 2);
        assert_int_equal(read.log.more, response.log.more);
        assert_int_equal(read.log.hashed, response.log.hashed);
        assert_memory_equal(read.log.hash, response.log.hash, KEDGE_SHA256_SIZE);
        assert_int_equal(read.log.entries[0].version, first);
        assert_int_equal(read.log.entries[0].count, 2);
        assert_mutation(&read.log.entries[0].mutations[0], &mutations[0]);
        assert_mutation(&read.log.entries[0].mutations[1], &mutations[1]);
        assert_mutation(&read.log.entries[1].mutations[0], &mutations[2]);
        kedge_wire_pull_response_free(&read);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

/* ---- what is refused ---- */

static kedge_status read_text(const kedge_allocator *allocator, const char *text)
{
    kedge_wire_pull_response out;
    kedge_status status = read_on(allocator, text, &out, NULL);
    kedge_wire_pull_response_free(&out);
    return status;
}

static void assert_refused(const char *text, const char *named)
{
    kedge_wire_pull_response out;
    kedge_error error = {0};
    assert_int_equal(read_on(&kedge_allocator_default, text, &out, &error), KEDGE_PROTOCOL);
    if (strstr(error.message, named) == NULL) fail_msg("%s instead of %s", error.message, named);
    kedge_wire_pull_response_free(&out);
}

/* `good` with the first `from` replaced by `to`; for the caller to free. */
static char *replaced(const char *from, const char *to)
{
    const char *at = strstr(good, from);
    assert_non_null(at);
    size_t size = sizeof good + strlen(to) + 1;
    char *text = test_malloc(size);
    snprintf(text, size, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return text;
}

static void test_a_wrong_member_is_named(void **state)
{
    static const struct {
        const char *from, *to, *named;
    } cases[] = {
        {"\"log\":{", "\"log\":7,\"x\":{", "'log'"},
        {"\"entries\":[", "\"entries\":7,\"x\":[", "'log.entries'"},
        {"\"entries\":[", "\"entries\":[7,", "'entries[0]'"},
        {"\"version\":5", "\"version\":\"5\"", "'entries[0].version'"},
        {"\"mutations\":[{", "\"mutations\":7,\"x\":[{", "'entries[0].mutations'"},
        {"\"mutations\":[{", "\"mutations\":[7,{", "'mutations[0]'"},
        {"\"more\":true", "\"more\":1", "'log.more'"},
        {"\"hash\":\"00", "\"hash\":\"0", "'log.hash'"},
        {"\"version\":5", "\"version\":3", "'entries[0].version'"},
        {"{\"version\":7,\"mut", "{\"version\":5,\"mut", "'entries[1].version'"},
        {"{\"version\":7,\"mut", "{\"version\":8,\"mut", "'entries[1].version'"},
        {"\"client\":\"c1\"", "\"client\":\"c 1\"", "'mutations[0].client'"},
        {"\"id\":7", "\"id\":0", "'mutations[0].id'"},
        {"\"name\":\"set\"", "\"name\":7", "'mutations[0].name'"},
        {"\"mutator\":2", "\"mutator\":0", "'mutations[0].mutator'"},
        {"\"args\":{\"a\":1}", "\"args\":{\"a\":1,\"a\":1}", "'mutations[0].args'"},
        {"\"args\":{\"a\":1},", "", "'mutations[0].args'"},
        {"\"timestamp\":-5", "\"timestamp\":0.5", "'mutations[0].timestamp'"},
        {"\"user\":\"u\\n\"", "\"user\":null", "'mutations[0].user'"},
        {"\"role\":\"editor\"", "\"role\":[]", "'mutations[0].role'"},
        {"\"digest\":\"00", "\"digest\":\"0x", "'mutations[0].digest'"},
        {"{\"client\":\"c0\",\"id\":3}", "{\"client\":\"c0\"}", "'mutations[0].id'"},
        {"\"origin\":{", "\"origin\":7,\"x\":{", "'mutations[0]'"},
        {"\"outcome\":\"rejected\"", "\"outcome\":\"applied\"", "'mutations[0].outcome'"},
        {"\"code\":\"no-way\"", "\"code\":7", "'mutations[0].code'"},
        {"\"code\":\"no-way\"", "\"code\":\"\"", "'mutations[0].code'"},
        {"\"message\":\"no\"", "\"message\":7", "'mutations[0].message'"},
        {"\"patch\":[]", "\"patch\":[{\"op\":\"del\",\"key\":\"a/b\"}]", "'patch'"},
        {"\"snapshot\":null", "\"snapshot\":{\"version\":7,\"lineage\":\"" LINEAGE "\"}",
         "'kedge.log'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = replaced(cases[i].from, cases[i].to);
        assert_refused(text, cases[i].named);
        test_free(text);
    }
}

/* `front`, as many times `piece` as have `count` bytes or more, and `back`. */
static char *long_text(const char *front, const char *piece, size_t count, const char *back)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    size_t pieces = (count + strlen(piece) - 1) / strlen(piece);
    kedge_buffer_append_text(&text, front);
    for (size_t i = 0; i < pieces; i++)
        kedge_buffer_append_text(&text, piece);
    kedge_buffer_append_text(&text, back);
    assert_int_equal(kedge_buffer_status(&text, NULL), KEDGE_OK);
    return text.data;
}

static void test_what_is_over_a_limit_is_refused(void **state)
{
    static const struct {
        const char *from, *front;
        size_t most;
        const char *named;
    } cases[] = {
        {"\"args\":{\"a\":1}", "\"args\":\"", KEDGE_LIMIT_ARGS_BYTES - 2, "'mutations[0].args'"},
        {"\"code\":\"no-way\"", "\"code\":\"", KEDGE_LIMIT_REJECTION_CODE_BYTES,
         "'mutations[0].code'"},
        {"\"message\":\"no\"", "\"message\":\"", KEDGE_LIMIT_REJECTION_MESSAGE_BYTES,
         "'mutations[0].message'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *most = long_text(cases[i].front, "x", cases[i].most, "\"");
        char *more = long_text(cases[i].front, "x", cases[i].most + 1, "\"");
        char *fits = replaced(cases[i].from, most);
        char *over = replaced(cases[i].from, more);
        assert_int_equal(read_text(&kedge_allocator_default, fits), KEDGE_OK);
        assert_refused(over, cases[i].named);
        test_free(over);
        test_free(fits);
        free(more);
        free(most);
    }
    char *entries = long_text("\"entries\":[", "7,", 2 * KEDGE_WIRE_REPLAY_ENTRIES_MAX, "");
    char *over = replaced("\"entries\":[", entries);
    assert_refused(over, "'log.entries' of the server's response is not within its limit");
    test_free(over);
    free(entries);
}

static void test_a_duplicate_may_have_a_reason(void **state)
{
    kedge_wire_pull_response out;
    char *text = replaced("\"outcome\":\"rejected\"", "\"outcome\":\"duplicate\"");
    (void)state;
    assert_int_equal(read_on(&kedge_allocator_default, text, &out, NULL), KEDGE_OK);
    assert_int_equal(out.log.entries[0].mutations[0].decision,
                     KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED);
    kedge_wire_pull_response_free(&out);
    test_free(text);
    text = replaced("\"outcome\":\"rejected\",\"code\":\"no-way\",\"message\":\"no\"",
                    "\"outcome\":\"duplicate\"");
    assert_int_equal(read_on(&kedge_allocator_default, text, &out, NULL), KEDGE_OK);
    assert_int_equal(out.log.entries[0].mutations[0].decision, KEDGE_WIRE_REPLAY_DUPLICATE);
    kedge_wire_pull_response_free(&out);
    test_free(text);
}

static void test_deep_args_are_a_string_in_an_entry(void **state)
{
    char args[129] = {0};
    (void)state;
    for (size_t depth = 61; depth <= 64; depth += 3) {
        kedge_wire_replay_mutation read;
        kedge_wire_replay_mutation mutation = {.client = KEDGE_BYTES("c1"),
                                               .id = 1,
                                               .name = KEDGE_BYTES("set"),
                                               .mutator = 1,
                                               .args = {args, 2 * depth}};
        memset(args, '[', depth);
        memset(args + depth, ']', depth);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_arena arena = kedge_arena_make(&kedge_allocator_default);
        kedge_json_writer writer = kedge_json_write(&out);
        kedge_json_begin_array(&writer);
        kedge_json_begin_array(&writer);
        kedge_wire_replay_mutation_write(&writer, &mutation, true);
        kedge_json_end_array(&writer);
        kedge_json_end_array(&writer);
        kedge_bytes body = kedge_buffer_bytes(&out);
        assert_int_equal(
            kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL),
            KEDGE_OK);
        kedge_bytes object = {body.data + 2, body.size - 4};
        assert_int_equal(kedge_wire_replay_mutation_read(object, 0, &arena, &read, NULL), KEDGE_OK);
        assert_text(read.args, mutation.args);
        kedge_arena_free(&arena);
        kedge_buffer_free(&out);
    }
}

static void test_args_may_use_the_whole_depth(void **state)
{
    char args[200] = "\"args\":";
    kedge_wire_pull_response out;
    (void)state;
    for (size_t depth = 64; depth <= 65; depth++) {
        size_t front = strlen("\"args\":");
        memset(args + front, '[', depth);
        memset(args + front + depth, ']', depth);
        args[front + 2 * depth] = '\0';
        char *text = replaced("\"args\":{\"a\":1}", args);
        assert_int_equal(read_on(&kedge_allocator_default, text, &out, NULL),
                         depth == 64 ? KEDGE_OK : KEDGE_PROTOCOL);
        kedge_wire_pull_response_free(&out);
        test_free(text);
    }
}

static void assert_failed_allocations_are_told(const char *text, bool sticky)
{
    failing_allocator failing;
    bool failed = true;
    for (uint64_t call = 1; failed; call++) {
        failing_allocator_init(&failing);
        failing_allocator_arm(&failing, call, sticky);
        kedge_status status = read_text(&failing.allocator, text);
        failed = failing.failed > 0;
        assert_int_equal(status, failed ? KEDGE_NO_MEMORY : KEDGE_OK);
        assert_int_equal(failing.living, 0);
    }
}

static void test_every_failed_allocation_is_told_as_that(void **state)
{
    (void)state;
    /* A name that is long when decoded, and long args that are not canonical. */
    char *front =
        long_text("\"name\":\"", "\\u0061", 6000, "\",\"mutator\":2,\"args\":{\"b\":1,\"a\":\"");
    char *call = long_text(front, "x", 4000, "\"}");
    char *hard = replaced("\"name\":\"set\",\"mutator\":2,\"args\":{\"a\":1}", call);
    char *many = replaced("\"mutations\":[]", "\"mutations\":[" NOOP "," NOOP "," NOOP "]");
    for (int sticky = 0; sticky <= 1; sticky++) {
        assert_failed_allocations_are_told(good, sticky == 1);
        assert_failed_allocations_are_told(many, sticky == 1);
        assert_failed_allocations_are_told(hard, sticky == 1);
    }
    test_free(many);
    test_free(hard);
    free(call);
    free(front);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_entries_have_these_bytes),
        cmocka_unit_test(test_only_the_log_itself_holds_the_uid),
        cmocka_unit_test(test_entries_are_read_as_they_were_written),
        cmocka_unit_test(test_a_wrong_member_is_named),
        cmocka_unit_test(test_what_is_over_a_limit_is_refused),
        cmocka_unit_test(test_a_duplicate_may_have_a_reason),
        cmocka_unit_test(test_deep_args_are_a_string_in_an_entry),
        cmocka_unit_test(test_args_may_use_the_whole_depth),
        cmocka_unit_test(test_every_failed_allocation_is_told_as_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
