/* Pulls, pages, retirements and outcomes: what one side writes the other reads as the same. */
#include "wire/page.h"
#include "wire/pull.h"
#include "wire/retire.h"

#include "tests/wire/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LINEAGE "0123456789abcdef0123456789abcdef"
#define DIGEST  "00112233445566778899aabbccddeeff"
#define HASH    DIGEST DIGEST
#define COUNT   12 /* at most, of what a message has several of */

static void take_chars(char *out, size_t out_size, kedge_bytes text)
{
    snprintf(out, out_size, "%.*s", (int)text.size, text.data);
}

static void assert_bytes(kedge_bytes found, kedge_bytes expected)
{
    assert_true(kedge_bytes_equal(found, expected));
}

/* ---- outcomes ---- */

/* Ids from 1 on; the last is at most `id_max`, and no version above `version_max`. */
static kedge_wire_outcomes draw_outcomes(draw *from, int64_t id_max, int64_t version_max)
{
    kedge_wire_outcomes outcomes = kedge_wire_outcomes_make(&kedge_allocator_default);
    int64_t id = 0;
    for (size_t count = draw_count(from, COUNT); count > 0; count--) {
        kedge_wire_outcome outcome = {.version = draw_integer(from, 1, version_max)};
        outcome.id = id += draw_integer(from, 1, 3);
        if (id > id_max) break;
        outcome.decision = (kedge_wire_decision)draw_count(from, 3);
        draw_bytes(from, outcome.digest, sizeof outcome.digest);
        if (kedge_wire_is_rejection(outcome.decision)) {
            draw_chars(from, outcome.code, sizeof outcome.code);
            draw_chars(from, outcome.message, sizeof outcome.message);
        }
        assert_int_equal(kedge_wire_outcomes_add(&outcomes, &outcome, NULL), KEDGE_OK);
    }
    int64_t last = outcomes.count == 0 ? 0 : outcomes.rows[outcomes.count - 1].id;
    if (draw_boolean(from)) outcomes.next = last + draw_integer(from, 1, 100);
    return outcomes;
}

static void assert_outcomes(const kedge_wire_outcomes *found, const kedge_wire_outcomes *expected)
{
    assert_int_equal(found->count, expected->count);
    assert_int_equal(found->next, expected->next);
    for (size_t i = 0; i < found->count; i++) {
        const kedge_wire_outcome *a = &found->rows[i];
        const kedge_wire_outcome *b = &expected->rows[i];
        assert_int_equal(a->id, b->id);
        assert_int_equal(a->version, b->version);
        assert_int_equal(a->decision, b->decision);
        assert_memory_equal(a->digest, b->digest, sizeof a->digest);
        assert_string_equal(a->code, b->code);
        assert_string_equal(a->message, b->message);
    }
}

static void test_outcomes_are_written_with_a_reason_where_they_were_rejected(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_outcomes outcomes = kedge_wire_outcomes_make(&kedge_allocator_default);
    kedge_wire_outcome outcome = {.id = 3, .version = 6, .code = "no-way", .message = "no"};
    (void)state;
    kedge_hex_decode(KEDGE_BYTES(DIGEST), outcome.digest, sizeof outcome.digest);
    for (int decision = 0; decision <= KEDGE_WIRE_DUPLICATE_REJECTED; decision++) {
        outcome.decision = (kedge_wire_decision)decision;
        kedge_wire_outcomes_add(&outcomes, &outcome, NULL);
    }
    outcomes.next = 9;
    kedge_wire_outcomes_request_write("c1", 2, 5, 7, &out);
    assert_string_equal(out.data, "clients/c1/mutations?from=2&to=5&version=7");
    kedge_buffer_clear(&out);
    kedge_wire_outcomes_response_write(&outcomes, &out);
    assert_string_equal(
        out.data, "{\"outcomes\":["
                  "{\"id\":3,\"digest\":\"" DIGEST "\",\"version\":6,\"outcome\":\"applied\"},"
                  "{\"id\":3,\"digest\":\"" DIGEST "\",\"version\":6,\"outcome\":\"rejected\","
                  "\"code\":\"no-way\",\"message\":\"no\"},"
                  "{\"id\":3,\"digest\":\"" DIGEST "\",\"version\":6,\"outcome\":\"duplicate\"},"
                  "{\"id\":3,\"digest\":\"" DIGEST "\",\"version\":6,\"outcome\":\"duplicate\","
                  "\"code\":\"no-way\",\"message\":\"no\"}],\"outcomes_next\":9}");
    kedge_wire_outcomes_free(&outcomes);
    kedge_buffer_free(&out);
}

static void test_outcomes_that_were_written_are_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_outcomes outcomes = draw_outcomes(&from, INT64_MAX, KEDGE_LIMIT_MUTATION_ID);
        kedge_wire_outcomes read = kedge_wire_outcomes_make(&kedge_allocator_default);
        kedge_wire_outcomes_response_write(&outcomes, &out);
        assert_int_equal(kedge_wire_outcomes_response_read(kedge_buffer_bytes(&out), &read, NULL),
                         KEDGE_OK);
        assert_outcomes(&read, &outcomes);
        kedge_wire_outcomes_free(&outcomes);
        kedge_wire_outcomes_free(&read);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

/* ---- retirements ---- */

static kedge_wire_client_marks draw_marks(draw *from, bool with_ids)
{
    kedge_wire_client_marks marks = {.count = draw_count(from, KEDGE_LIMIT_EARLIER_CLIENTS)};
    for (size_t i = 0; i < marks.count; i++) {
        snprintf(marks.marks[i].client_id, sizeof marks.marks[i].client_id, "%zu-%.*s", i, 29,
                 draw_hex(from, 32).data);
        if (with_ids) marks.marks[i].id = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID);
    }
    return marks;
}

static void assert_marks(const kedge_wire_client_marks *found,
                         const kedge_wire_client_marks *expected)
{
    assert_int_equal(found->count, expected->count);
    for (size_t i = 0; i < found->count; i++) {
        assert_string_equal(found->marks[i].client_id, expected->marks[i].client_id);
        assert_int_equal(found->marks[i].id, expected->marks[i].id);
    }
}

static void test_a_retirement_and_its_response_have_these_bytes(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_retire_request request = {.group_id = "c9", .lowest_pending = 4};
    kedge_wire_retire_response response = {
        .version = 9, .lineage = LINEAGE, .lmid = 5, .earlier = {1, {{"c1", 7}}}};
    (void)state;
    kedge_wire_retire_path_write("c9", &out);
    assert_string_equal(out.data, "clients/c9/retire");
    kedge_buffer_clear(&out);
    kedge_wire_retire_request_write(&request, &out);
    assert_string_equal(out.data, "{\"clientGroupID\":\"c9\",\"lowest_pending\":4}");
    kedge_buffer_clear(&out);
    request.cookie = kedge_wire_cookie_of(7, LINEAGE);
    request.earlier = (kedge_wire_client_marks){2, {{"c1", 0}, {"c2", 0}}};
    kedge_wire_retire_request_write(&request, &out);
    assert_string_equal(out.data, "{\"clientGroupID\":\"c9\",\"lowest_pending\":4,\"cookie\":"
                                  "{\"order\":7,\"lineage\":\"" LINEAGE "\"},"
                                  "\"earlier\":[\"c1\",\"c2\"]}");
    kedge_buffer_clear(&out);
    kedge_wire_retire_response_write(&response, &out);
    assert_string_equal(out.data, "{\"version\":9,\"lineage\":\"" LINEAGE
                                  "\",\"lmid\":5,\"outcomes\":[],\"outcomes_next\":null,"
                                  "\"earlier\":{\"c1\":7}}");
    kedge_buffer_free(&out);
}

static void test_a_retirement_that_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_retire_request read;
        kedge_wire_retire_request request = {.lowest_pending =
                                                 draw_integer(&from, 0, KEDGE_LIMIT_MUTATION_ID),
                                             .earlier = draw_marks(&from, false)};
        char lineage[KEDGE_WIRE_LINEAGE_SIZE];
        take_chars(request.group_id, sizeof request.group_id, draw_client_id(&from));
        take_chars(lineage, sizeof lineage, draw_hex(&from, 32));
        request.cookie = kedge_wire_cookie_of(draw_integer(&from, 0, INT64_C(1) << 51),
                                              draw_boolean(&from) ? lineage : "");
        kedge_wire_retire_request_write(&request, &out);
        kedge_wire_request body = {.body = kedge_buffer_bytes(&out)};
        assert_int_equal(kedge_wire_retire_request_read(&body, &read, NULL), KEDGE_OK);
        assert_string_equal(read.group_id, request.group_id);
        assert_int_equal(read.lowest_pending, request.lowest_pending);
        assert_int_equal(read.cookie.kind, request.cookie.kind);
        assert_string_equal(read.cookie.lineage, request.cookie.lineage);
        assert_marks(&read.earlier, &request.earlier);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

static void test_the_response_to_a_retirement_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_retire_response read = {.version = 0};
        kedge_wire_retire_response response = {
            .version = draw_integer(&from, 1, KEDGE_LIMIT_MUTATION_ID),
            .lmid = draw_integer(&from, 0, KEDGE_LIMIT_MUTATION_ID),
            .earlier = draw_marks(&from, true)};
        take_chars(response.lineage, sizeof response.lineage, draw_hex(&from, 32));
        response.outcomes = draw_outcomes(&from, response.lmid, response.version);
        kedge_wire_retire_response_write(&response, &out);
        assert_int_equal(kedge_wire_retire_response_read(&kedge_allocator_default,
                                                         kedge_buffer_bytes(&out), &read, NULL),
                         KEDGE_OK);
        assert_int_equal(read.version, response.version);
        assert_string_equal(read.lineage, response.lineage);
        assert_int_equal(read.lmid, response.lmid);
        assert_marks(&read.earlier, &response.earlier);
        assert_outcomes(&read.outcomes, &response.outcomes);
        kedge_wire_retire_response_free(&read);
        kedge_wire_retire_response_free(&response);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

static void test_a_retirement_with_wrong_members_is_refused_by_their_names(void **state)
{
    static const char earlier[] =
        "earlier must be an array of at most 64 client ids, each once and "
        "1 to 128 of A-Z a-z 0-9 _ -";
    static const char cookie[] = "cookie must be null or a cookie from the response of a pull";
    static const struct {
        const char *body;
        const char *message;
    } wrong[] = {
        {"[]", "the body must be an object"},
        {"{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"cookie\":[]}", cookie},
        {"{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"cookie\":7}", cookie},
        {"{\"lowest_pending\":1}",
         "clientGroupID is missing; it must be a string of 1 to 128 of A-Z a-z 0-9 _ -"},
        {"{\"clientGroupID\":\"g\",\"lowest_pending\":-1}",
         "lowest_pending must be a whole number, 0 or above"},
        {"{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"earlier\":{}}", earlier},
        {"{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"earlier\":[\"a\",\"a\"]}", earlier},
        {"{\"clientGroupID\":\"g\",\"lowest_pending\":1,\"earlier\":[\"a b\"]}", earlier},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_wire_retire_request read;
        kedge_error error = {0};
        kedge_wire_request body = {.body = kedge_bytes_of(wrong[i].body)};
        assert_int_equal(kedge_wire_retire_request_read(&body, &read, &error),
                         KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "body-invalid");
        assert_string_equal(error.message, wrong[i].message);
    }
}

/* ---- patches ---- */

static kedge_wire_patch draw_patch(draw *from, bool items)
{
    kedge_wire_patch patch = {.text = kedge_buffer_make(&kedge_allocator_default)};
    size_t count = draw_count(from, COUNT);
    patch.operations = kedge_allocate(&kedge_allocator_default, sizeof *patch.operations * COUNT);
    if (!items && count > 0 && draw_boolean(from))
        patch.operations[patch.count++].kind = KEDGE_WIRE_PATCH_CLEAR;
    while (patch.count < count) {
        kedge_wire_patch_operation *operation = &patch.operations[patch.count++];
        operation->kind = draw_boolean(from) ? KEDGE_WIRE_PATCH_PUT : KEDGE_WIRE_PATCH_PUT_HASH;
        if (!items && draw_count(from, 3) == 0) operation->kind = KEDGE_WIRE_PATCH_DELETE;
        operation->collection = draw_name(from);
        /* Different keys: an id that ends in the place in the patch. */
        kedge_bytes id = draw_text(from, 32);
        kedge_buffer_append_format(&from->text, "%zu", patch.count);
        operation->id = (kedge_bytes){from->text.data + from->text.size, 0};
        operation->id.data -= id.size + (patch.count > 9 ? 2 : 1);
        operation->id.size = id.size + (patch.count > 9 ? 2 : 1);
        if (operation->kind == KEDGE_WIRE_PATCH_PUT) operation->value = draw_value(from);
        if (operation->kind != KEDGE_WIRE_PATCH_PUT_HASH) continue;
        draw_bytes(from, operation->hash, sizeof operation->hash);
        operation->size_bytes = draw_integer(from, 1, KEDGE_LIMIT_ITEM_BYTES);
    }
    return patch;
}

static void write_operations(kedge_json_writer *writer, const kedge_wire_patch *patch, bool items)
{
    kedge_buffer scratch = kedge_buffer_make(&kedge_allocator_default);
    for (size_t i = 0; i < patch->count; i++) {
        const kedge_wire_patch_operation *one = &patch->operations[i];
        if (items) {
            kedge_wire_item_begin(writer, one->collection, one->id, &scratch);
        } else {
            kedge_wire_operation_begin(writer, one->kind, one->collection, one->id, &scratch);
        }
        if (one->kind == KEDGE_WIRE_PATCH_PUT) kedge_wire_value_write(writer, one->value);
        if (one->kind == KEDGE_WIRE_PATCH_PUT_HASH)
            kedge_wire_value_write_hash(writer, one->hash, one->size_bytes);
        kedge_json_end_object(writer);
    }
    kedge_buffer_free(&scratch);
}

static void assert_patch(const kedge_wire_patch *found, const kedge_wire_patch *expected)
{
    assert_int_equal(found->count, expected->count);
    for (size_t i = 0; i < found->count; i++) {
        const kedge_wire_patch_operation *a = &found->operations[i];
        const kedge_wire_patch_operation *b = &expected->operations[i];
        assert_int_equal(a->kind, b->kind);
        assert_bytes(a->collection, b->collection);
        assert_bytes(a->id, b->id);
        assert_bytes(a->value, b->value);
        assert_memory_equal(a->hash, b->hash, sizeof a->hash);
        assert_int_equal(a->size_bytes, b->size_bytes);
    }
}

static kedge_wire_damaged draw_damaged(draw *from)
{
    switch (draw_count(from, 2)) {
    case 0:
        return (kedge_wire_damaged){.count = 0};
    case 1:
        return (kedge_wire_damaged){1, KEDGE_BYTES("[\"a/1\"]"), KEDGE_BYTES("[]")};
    default:
        return (kedge_wire_damaged){250, KEDGE_BYTES("[]"), KEDGE_BYTES("[\"notes\",\"tasks\"]")};
    }
}

static void assert_damaged(const kedge_wire_damaged *found, const kedge_wire_damaged *expected)
{
    assert_int_equal(found->count, expected->count);
    assert_bytes(found->keys, expected->keys);
    assert_bytes(found->collections, expected->collections);
}

/* ---- pulls ---- */

static void test_the_request_of_a_pull_has_these_bytes(void **state)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_pull_request request = {.group_id = "c1",
                                       .supported = true,
                                       .cookie = kedge_wire_cookie_of(7, LINEAGE),
                                       .native = true,
                                       .client_id = "c1",
                                       .schema_version = "2.1",
                                       .lowest_pending = 3,
                                       .highest_id = 1007};
    (void)state;
    kedge_wire_pull_request_write(&request, &out);
    assert_string_equal(
        out.data, "{\"pullVersion\":1,\"clientGroupID\":\"c1\",\"profileID\":\"kedge\","
                  "\"schemaVersion\":\"2.1\",\"cookie\":{\"order\":7,\"lineage\":\"" LINEAGE "\"},"
                  "\"kedge\":{\"client\":\"c1\",\"lowest_pending\":3,\"highest_id\":1007}}");
    kedge_buffer_clear(&out);
    request.cookie = kedge_wire_cookie_of(0, "");
    request.seen = true;
    request.seen_version = 8;
    memcpy(request.seen_lineage, LINEAGE, sizeof LINEAGE);
    kedge_wire_pull_request_write(&request, &out);
    assert_string_equal(out.data,
                        "{\"pullVersion\":1,\"clientGroupID\":\"c1\",\"profileID\":\"kedge\","
                        "\"schemaVersion\":\"2.1\",\"cookie\":null,"
                        "\"kedge\":{\"client\":\"c1\",\"lowest_pending\":3,\"highest_id\":1007,"
                        "\"seen\":{\"order\":8,\"lineage\":\"" LINEAGE "\"}}}");
    kedge_buffer_free(&out);
}

static void test_the_request_of_a_pull_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        char lineage[KEDGE_WIRE_LINEAGE_SIZE] = "";
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_pull_request read;
        kedge_wire_pull_request request = {
            .supported = true,
            .native = true,
            .lowest_pending = draw_integer(&from, 0, KEDGE_LIMIT_MUTATION_ID),
            .highest_id = draw_integer(&from, 0, KEDGE_LIMIT_MUTATION_ID),
            .seen = draw_boolean(&from)};
        take_chars(request.group_id, sizeof request.group_id, draw_client_id(&from));
        take_chars(request.client_id, sizeof request.client_id, draw_client_id(&from));
        draw_chars(&from, request.schema_version, sizeof request.schema_version);
        if (draw_boolean(&from)) take_chars(lineage, sizeof lineage, draw_hex(&from, 32));
        request.cookie = kedge_wire_cookie_of(draw_integer(&from, 0, INT64_C(1) << 51), lineage);
        if (request.seen) {
            request.seen_version = draw_integer(&from, 0, KEDGE_LIMIT_MUTATION_ID);
            take_chars(request.seen_lineage, sizeof request.seen_lineage, draw_hex(&from, 32));
        }
        kedge_wire_pull_request_write(&request, &out);
        kedge_wire_request body = {.body = kedge_buffer_bytes(&out)};
        assert_int_equal(kedge_wire_pull_request_read(&body, &read, NULL), KEDGE_OK);
        assert_true(read.supported && read.native);
        assert_string_equal(read.group_id, request.group_id);
        assert_string_equal(read.client_id, request.client_id);
        assert_string_equal(read.schema_version, request.schema_version);
        assert_int_equal(read.cookie.kind, request.cookie.kind);
        if (read.cookie.kind == KEDGE_WIRE_COOKIE_OURS)
            assert_int_equal(read.cookie.version, request.cookie.version);
        assert_string_equal(read.cookie.lineage, request.cookie.lineage);
        assert_int_equal(read.lowest_pending, request.lowest_pending);
        assert_int_equal(read.highest_id, request.highest_id);
        assert_int_equal(read.seen, request.seen);
        assert_int_equal(read.seen_version, request.seen_version);
        assert_string_equal(read.seen_lineage, request.seen_lineage);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

static void write_pull(const kedge_wire_pull_response *response, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_wire_cookie cookie = kedge_wire_cookie_of(response->version, response->lineage);
    kedge_wire_pull_response_begin(&writer, &cookie);
    kedge_wire_pull_response_client(&writer, KEDGE_BYTES("c1"), 4);
    kedge_wire_pull_response_client(&writer, KEDGE_BYTES("c2"), 0);
    kedge_wire_pull_response_patch_begin(&writer);
    write_operations(&writer, &response->patch, false);
    kedge_wire_pull_response_patch_end(&writer);
    kedge_wire_pull_response_native(&writer, response);
    kedge_wire_pull_response_end(&writer);
}

static void test_the_response_of_a_pull_has_these_bytes(void **state)
{
    kedge_wire_patch_operation operations[] = {
        {.kind = KEDGE_WIRE_PATCH_CLEAR},
        {.kind = KEDGE_WIRE_PATCH_PUT, .value = KEDGE_BYTES("{\"name\":\"x\"}")},
        {.kind = KEDGE_WIRE_PATCH_PUT_HASH,
         .collection = KEDGE_BYTES("notes"),
         .id = KEDGE_BYTES("a\n"),
         .size_bytes = 70000},
        {.kind = KEDGE_WIRE_PATCH_DELETE, .collection = KEDGE_BYTES("_"), .id = KEDGE_BYTES("b")}};
    kedge_wire_pull_response response = {
        .from = 3,
        .version = 7,
        .lineage = LINEAGE,
        .lmid = 4,
        .known = true,
        .patch = {operations, sizeof operations / sizeof operations[0], 0, {0}},
        .damaged = {2, KEDGE_BYTES("[\"a/1\"]"), KEDGE_BYTES("[]")}};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_hex_decode(KEDGE_BYTES(HASH), operations[2].hash, sizeof operations[2].hash);
    write_pull(&response, &out);
    assert_string_equal(
        out.data,
        "{\"cookie\":{\"order\":7,\"lineage\":\"" LINEAGE "\"},"
        "\"lastMutationIDChanges\":{\"c1\":4,\"c2\":0},\"patch\":[{\"op\":\"clear\"},"
        "{\"op\":\"put\",\"key\":\"project\",\"value\":{\"name\":\"x\"}},"
        "{\"op\":\"put\",\"key\":\"notes/a\\n\",\"hash\":\"" HASH "\",\"size\":70000},"
        "{\"op\":\"del\",\"key\":\"b\"}],\"kedge\":{\"from\":3,\"version\":7,\"lineage\":\"" LINEAGE
        "\",\"lmid\":4,\"retired\":false,\"known\":true,\"outcomes\":[],\"outcomes_next\":null,"
        "\"snapshot\":null,\"lost\":false,\"damaged\":{\"code\":\"items-damaged\",\"count\":2,"
        "\"keys\":[\"a/1\"],\"collections\":[]}}}");
    kedge_buffer_clear(&out);
    response = (kedge_wire_pull_response){
        .version = 7, .lineage = LINEAGE, .retired = true, .snapshot = true, .lost = true};
    write_pull(&response, &out);
    assert_string_equal(
        out.data,
        "{\"cookie\":{\"order\":7,\"lineage\":\"" LINEAGE "\"},"
        "\"lastMutationIDChanges\":{\"c1\":4,\"c2\":0},\"patch\":[],"
        "\"kedge\":{\"from\":0,\"version\":7,\"lineage\":\"" LINEAGE
        "\",\"lmid\":0,\"retired\":true,\"known\":false,\"outcomes\":[],\"outcomes_next\":null,"
        "\"snapshot\":{\"version\":7,\"lineage\":\"" LINEAGE "\"},\"lost\":true}}");
    kedge_buffer_free(&out);
}

static kedge_wire_pull_response draw_pull(draw *from)
{
    kedge_wire_pull_response response = {.from = draw_integer(from, 0, 1000),
                                         .known = draw_boolean(from),
                                         .retired = draw_boolean(from),
                                         .lost = draw_boolean(from),
                                         .snapshot = draw_boolean(from),
                                         .damaged = draw_damaged(from)};
    /* Only a lost cookie may be of a later version than the response. */
    response.version = draw_integer(from, response.lost ? 1 : response.from + 1,
                                    response.lost ? 900 : KEDGE_LIMIT_MUTATION_ID);
    response.lmid = response.known ? draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID) : 0;
    take_chars(response.lineage, sizeof response.lineage, draw_hex(from, 32));
    response.outcomes = draw_outcomes(from, response.lmid, response.version);
    response.patch = draw_patch(from, false);
    if (response.snapshot) response.patch.count = 0;
    return response;
}

static void test_the_response_of_a_pull_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_error error = {0};
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_pull_response response = draw_pull(&from);
        kedge_wire_pull_response read = {.version = 0};
        write_pull(&response, &out);
        if (kedge_wire_pull_response_read(&kedge_allocator_default, kedge_buffer_bytes(&out), &read,
                                          &error) != KEDGE_OK) {
            fail_msg("%s", error.message);
        }
        assert_int_equal(read.from, response.from);
        assert_int_equal(read.version, response.version);
        assert_string_equal(read.lineage, response.lineage);
        assert_int_equal(read.lmid, response.lmid);
        assert_int_equal(read.retired, response.retired);
        assert_int_equal(read.known, response.known);
        assert_int_equal(read.lost, response.lost);
        assert_int_equal(read.snapshot, response.snapshot);
        assert_outcomes(&read.outcomes, &response.outcomes);
        assert_patch(&read.patch, &response.patch);
        assert_damaged(&read.damaged, &response.damaged);
        kedge_wire_pull_response_free(&read);
        kedge_wire_pull_response_free(&response);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

/* ---- pages ---- */

static void test_a_page_and_its_request_have_these_bytes(void **state)
{
    kedge_bytes next = KEDGE_BYTES("a/\"2\"");
    kedge_wire_damaged none = {.count = 0};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    kedge_wire_page_request_write(9, (kedge_bytes){NULL, 0}, &out);
    assert_string_equal(out.data, "snapshot?version=9");
    kedge_buffer_clear(&out);
    kedge_wire_page_request_write(9, KEDGE_BYTES("a/b c"), &out);
    assert_string_equal(out.data, "snapshot?version=9&after=a%2Fb%20c");
    kedge_buffer_clear(&out);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_wire_page_response_begin(&writer, 9, LINEAGE);
    kedge_wire_page_response_end(&writer, &next, &none);
    assert_string_equal(out.data, "{\"version\":9,\"lineage\":\"" LINEAGE
                                  "\",\"items\":[],\"next\":\"a/\\\"2\\\"\"}");
    kedge_buffer_free(&out);
}

static void test_a_page_that_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        kedge_error error = {0};
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_page_response page = {.version =
                                             draw_integer(&from, 0, KEDGE_LIMIT_MUTATION_ID)};
        kedge_wire_page_response read = {.version = 0};
        take_chars(page.lineage, sizeof page.lineage, draw_hex(&from, 32));
        page.items = draw_patch(&from, true);
        page.damaged = draw_damaged(&from);
        page.last = draw_boolean(&from) || page.items.count + (size_t)page.damaged.count == 0;
        page.next = draw_text(&from, 40);
        kedge_json_writer writer = kedge_json_write(&out);
        kedge_wire_page_response_begin(&writer, page.version, page.lineage);
        write_operations(&writer, &page.items, true);
        kedge_wire_page_response_end(&writer, page.last ? NULL : &page.next, &page.damaged);
        if (kedge_wire_page_response_read(&kedge_allocator_default, kedge_buffer_bytes(&out), &read,
                                          &error) != KEDGE_OK) {
            fail_msg("%s", error.message);
        }
        assert_int_equal(read.version, page.version);
        assert_string_equal(read.lineage, page.lineage);
        assert_int_equal(read.last, page.last);
        if (!page.last) assert_bytes(read.next, page.next);
        assert_patch(&read.items, &page.items);
        assert_damaged(&read.damaged, &page.damaged);
        kedge_wire_patch_free(&page.items);
        kedge_wire_page_response_free(&read);
        kedge_buffer_free(&out);
        draw_end(&from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes_are_written_with_a_reason_where_they_were_rejected),
        cmocka_unit_test(test_outcomes_that_were_written_are_read_as_the_same),
        cmocka_unit_test(test_a_retirement_and_its_response_have_these_bytes),
        cmocka_unit_test(test_a_retirement_that_was_written_is_read_as_the_same),
        cmocka_unit_test(test_the_response_to_a_retirement_is_read_as_it_was_written),
        cmocka_unit_test(test_a_retirement_with_wrong_members_is_refused_by_their_names),
        cmocka_unit_test(test_the_request_of_a_pull_has_these_bytes),
        cmocka_unit_test(test_the_request_of_a_pull_is_read_as_it_was_written),
        cmocka_unit_test(test_the_response_of_a_pull_has_these_bytes),
        cmocka_unit_test(test_the_response_of_a_pull_is_read_as_it_was_written),
        cmocka_unit_test(test_a_page_and_its_request_have_these_bytes),
        cmocka_unit_test(test_a_page_that_was_written_is_read_as_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
