/* The decoders: what the wire says is read exactly, everything else is refused by name. */
#include "wire/page.h"
#include "wire/pull.h"
#include "wire/retire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/error.h"
#include "tests/support/failing_allocator.h"
#include "wire/key.h"
#include "wire/response.h"

#define LINEAGE "0123456789abcdef0123456789abcdef"
#define DIGEST  "00112233445566778899aabbccddeeff"
#define HASH    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const char good_pull[] =
    "{\"cookie\":{\"order\":7,\"lineage\":\"" LINEAGE "\"},"
    "\"lastMutationIDChanges\":{\"c1\":4},"
    "\"patch\":[{\"op\":\"put\",\"key\":\"notes/a\",\"value\":{\"b\":2,\"a\":1e0}},"
    "{\"op\":\"del\",\"key\":\"notes/b/c\"},"
    "{\"op\":\"put\",\"key\":\"project\",\"value\":{\"name\":\"x\"}},"
    "{\"op\":\"put\",\"key\":\"z\\u00e9\",\"value\":[1,2]},"
    "{\"op\":\"put\",\"key\":\"zz/big\",\"hash\":\"" HASH "\",\"size\":70000}],"
    "\"kedge\":{\"from\":3,\"version\":7,\"lineage\":\"" LINEAGE "\",\"lmid\":4,\"retired\":false,"
    "\"known\":true,\"outcomes\":[{\"id\":3,\"digest\":\"" DIGEST "\",\"version\":6,"
    "\"outcome\":\"rejected\",\"code\":\"no-way\",\"message\":\"no\"},"
    "{\"id\":4,\"digest\":\"" DIGEST "\",\"version\":7,\"outcome\":\"applied\"}],"
    "\"outcomes_next\":null,\"snapshot\":null,\"lost\":false,\"later\":{}},\"more\":[1]}";

static const char good_page[] = "{\"version\":9,\"lineage\":\"" LINEAGE "\",\"items\":["
                                "{\"key\":\"a/1\",\"value\":null},"
                                "{\"key\":\"a/2\",\"hash\":\"" HASH "\",\"size\":9}],"
                                "\"next\":\"a/2\\n\"}";

static const char good_retire[] =
    "{\"version\":9,\"lineage\":\"" LINEAGE
    "\",\"lmid\":4,\"outcomes\":[{\"id\":4,\"digest\":\"" DIGEST
    "\",\"version\":7,\"outcome\":\"duplicate\"}],\"outcomes_next\":null,"
    "\"earlier\":{\"c1\":7,\"c2\":0}}";

static kedge_status decode_pull(const char *text, size_t size, kedge_error *error)
{
    kedge_wire_pull_response response = {0};
    kedge_status status = kedge_wire_pull_response_read(
        &kedge_allocator_default, (kedge_bytes){text, size}, &response, error);
    kedge_wire_pull_response_free(&response);
    return status;
}

/* `good` with the first `from` replaced by `to`; for the caller to free. */
static char *replaced(const char *good, const char *from, const char *to)
{
    const char *at = strstr(good, from);
    assert_non_null(at);
    size_t size = strlen(good) + strlen(to) + 1;
    char *text = test_malloc(size);
    snprintf(text, size, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return text;
}

static void assert_bytes(kedge_bytes bytes, const char *expected)
{
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
}

/* ---- what is read ---- */

static void test_a_pull_is_read_member_by_member(void **state)
{
    (void)state;
    kedge_wire_pull_response response = {0};
    kedge_bytes body = KEDGE_BYTES(good_pull);
    assert_int_equal(kedge_wire_pull_response_read(&kedge_allocator_default, body, &response, NULL),
                     KEDGE_OK);
    assert_int_equal(response.from, 3);
    assert_int_equal(response.version, 7);
    assert_string_equal(response.lineage, LINEAGE);
    assert_int_equal(response.lmid, 4);
    assert_true(response.known && !response.retired && !response.lost && !response.snapshot);
    assert_int_equal(response.outcomes.count, 2);
    assert_int_equal(response.outcomes.rows[0].decision, KEDGE_WIRE_REJECTED);
    assert_string_equal(response.outcomes.rows[0].code, "no-way");
    assert_int_equal(response.outcomes.rows[0].digest[15], 0xff);
    assert_int_equal(response.outcomes.rows[1].id, 4);
    assert_int_equal(response.outcomes.next, 0);
    kedge_wire_pull_response_free(&response);
}

static kedge_status decode_retire(const char *text, kedge_wire_retire_response *response,
                                  kedge_error *error)
{
    *response = (kedge_wire_retire_response){0};
    return kedge_wire_retire_response_read(&kedge_allocator_default, kedge_bytes_of(text), response,
                                           error);
}

static void test_a_retire_tells_the_lmids_of_earlier_clients(void **state)
{
    (void)state;
    kedge_wire_retire_response response;
    kedge_error error;
    assert_int_equal(decode_retire(good_retire, &response, &error), KEDGE_OK);
    assert_int_equal(response.earlier.count, 2);
    assert_string_equal(response.earlier.marks[0].client_id, "c1");
    assert_int_equal(response.earlier.marks[0].id, 7);
    assert_int_equal(response.earlier.marks[1].id, 0);
    kedge_wire_retire_response_free(&response);
    static const char *const wrong[] = {"[]", "7", "{\"c1\":-1}", "{\"c1\":\"7\"}",
                                        "{\"0123456789abcdef0123456789abcdef0\":1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *text = replaced(good_retire, "{\"c1\":7,\"c2\":0}", wrong[i]);
        assert_int_equal(decode_retire(text, &response, &error), KEDGE_PROTOCOL);
        assert_non_null(strstr(error.message, "'earlier'"));
        kedge_wire_retire_response_free(&response);
        test_free(text);
    }
}

static void test_a_retire_tells_the_lmids_of_at_most_64_earlier_clients(void **state)
{
    (void)state;
    for (int count = 64; count <= 65; count++) {
        kedge_wire_retire_response answer;
        char marks[1024];
        size_t size = 0;
        for (int i = 0; i < count; i++) {
            size += (size_t)snprintf(marks + size, sizeof marks - size, "%s\"c%d\":1",
                                     i == 0 ? "{" : ",", i);
        }
        snprintf(marks + size, sizeof marks - size, "}");
        char *text = replaced(good_retire, "{\"c1\":7,\"c2\":0}", marks);
        assert_int_equal(decode_retire(text, &answer, NULL),
                         count == 64 ? KEDGE_OK : KEDGE_PROTOCOL);
        assert_int_equal(answer.earlier.count, 64);
        kedge_wire_retire_response_free(&answer);
        test_free(text);
    }
}

static void test_a_duplicate_with_a_reason_is_a_rejection(void **state)
{
    (void)state;
    kedge_wire_retire_response response;
    char *text = replaced(good_retire, "\"duplicate\"",
                          "\"duplicate\",\"code\":\"no-way\",\"message\":\"no\"");
    assert_int_equal(decode_retire(good_retire, &response, NULL), KEDGE_OK);
    assert_int_equal(response.outcomes.rows[0].decision, KEDGE_WIRE_DUPLICATE);
    kedge_wire_retire_response_free(&response);
    assert_int_equal(decode_retire(text, &response, NULL), KEDGE_OK);
    assert_int_equal(response.outcomes.rows[0].decision, KEDGE_WIRE_DUPLICATE_REJECTED);
    assert_string_equal(response.outcomes.rows[0].code, "no-way");
    kedge_wire_retire_response_free(&response);
    test_free(text);
}

static void test_keys_are_split_and_values_are_canonical(void **state)
{
    (void)state;
    kedge_wire_pull_response response = {0};
    kedge_bytes body = KEDGE_BYTES(good_pull);
    assert_int_equal(kedge_wire_pull_response_read(&kedge_allocator_default, body, &response, NULL),
                     KEDGE_OK);
    const kedge_wire_patch_operation *operations = response.patch.operations;
    assert_int_equal(response.patch.count, 5);
    assert_bytes(operations[0].collection, "notes");
    assert_bytes(operations[0].id, "a");
    assert_bytes(operations[0].value, "{\"a\":1,\"b\":2}");
    assert_int_equal(operations[1].kind, KEDGE_WIRE_PATCH_DELETE);
    assert_bytes(operations[1].id, "b/c");
    assert_bytes(operations[2].collection, "");
    assert_bytes(operations[3].collection, "_");
    assert_bytes(operations[3].id, "z\xc3\xa9");
    assert_int_equal(operations[4].kind, KEDGE_WIRE_PATCH_PUT_HASH);
    assert_int_equal(operations[4].size_bytes, 70000);
    /* What is canonical already is not copied. */
    assert_true(operations[2].value.data > body.data &&
                operations[2].value.data < body.data + body.size);
    kedge_wire_pull_response_free(&response);
}

static void test_a_page_and_a_retirement_are_read(void **state)
{
    (void)state;
    kedge_wire_page_response page = {0};
    kedge_wire_retire_response retire = {0};
    assert_int_equal(kedge_wire_page_response_read(&kedge_allocator_default, KEDGE_BYTES(good_page),
                                                   &page, NULL),
                     KEDGE_OK);
    assert_int_equal(page.items.count, 2);
    assert_bytes(page.items.operations[0].value, "null");
    assert_false(page.last);
    assert_bytes(page.next, "a/2\n");
    kedge_wire_page_response_free(&page);
    assert_int_equal(kedge_wire_retire_response_read(&kedge_allocator_default,
                                                     KEDGE_BYTES(good_retire), &retire, NULL),
                     KEDGE_OK);
    assert_int_equal(retire.outcomes.rows[0].decision, KEDGE_WIRE_DUPLICATE);
    kedge_wire_retire_response_free(&retire);
}

static void test_further_outcomes_are_appended_in_order(void **state)
{
    (void)state;
    kedge_wire_outcomes list = {.allocator = &kedge_allocator_default};
    kedge_bytes more = KEDGE_BYTES("{\"outcomes\":[{\"id\":5,\"digest\":\"" DIGEST
                                   "\",\"version\":8,\"outcome\":\"applied\"}],"
                                   "\"outcomes_next\":6}");
    assert_int_equal(kedge_wire_outcomes_response_read(more, &list, NULL), KEDGE_OK);
    assert_int_equal(list.next, 6);
    /* The same again goes backwards, and leaves what was there. */
    assert_int_equal(kedge_wire_outcomes_response_read(more, &list, NULL), KEDGE_PROTOCOL);
    assert_int_equal(list.count, 1);
    assert_int_equal(kedge_wire_outcomes_response_read(KEDGE_BYTES("[]"), &list, NULL),
                     KEDGE_PROTOCOL);
    assert_int_equal(list.count, 1);
    kedge_release(&kedge_allocator_default, list.rows);
}

/* A page with one item that is named by the hash of `body`. */
static void read_page_with_body(const kedge_allocator *allocator, kedge_bytes body, size_t size,
                                kedge_wire_page_response *page)
{
    char text[512];
    char hash[KEDGE_SHA256_HEX];
    kedge_sha256_hex(body, hash);
    snprintf(text, sizeof text,
             "{\"version\":9,\"lineage\":\"" LINEAGE
             "\",\"items\":[{\"key\":\"a/1\",\"hash\":\"%s\","
             "\"size\":%zu}],\"next\":null}",
             hash, size);
    *page = (kedge_wire_page_response){0};
    assert_int_equal(kedge_wire_page_response_read(allocator, kedge_bytes_of(text), page, NULL),
                     KEDGE_OK);
}

static void test_a_fetched_body_must_have_its_hash(void **state)
{
    (void)state;
    kedge_wire_page_response page;
    kedge_bytes body = KEDGE_BYTES("{\"a\":[1,2]}");
    read_page_with_body(&kedge_allocator_default, body, body.size, &page);
    assert_int_equal(kedge_wire_patch_set_body(&page.items, 0, KEDGE_BYTES("{\"a\":[1,3]}"), NULL),
                     KEDGE_PROTOCOL);
    assert_int_equal(page.items.operations[0].kind, KEDGE_WIRE_PATCH_PUT_HASH);
    assert_int_equal(kedge_wire_patch_set_body(&page.items, 0, body, NULL), KEDGE_OK);
    assert_bytes(page.items.operations[0].value, "{\"a\":[1,2]}");
    kedge_wire_page_response_free(&page);
}

static void test_a_fetched_body_must_have_its_size_and_be_canonical(void **state)
{
    (void)state;
    char deep[131] = {0};
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    const struct {
        const char *body;
        size_t more; /* than its size is told */
        const char *code;
    } cases[] = {{"{\"a\":1}", 1, "body-hash"},
                 {"{\"b\":1,\"a\":2}", 0, "body-invalid"},
                 {"{\"a\":", 0, "body-invalid"},
                 {deep, 0, "body-invalid"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kedge_wire_page_response page;
        kedge_error error = {0};
        kedge_bytes body = kedge_bytes_of(cases[i].body);
        read_page_with_body(&kedge_allocator_default, body, body.size + cases[i].more, &page);
        assert_int_equal(kedge_wire_patch_set_body(&page.items, 0, body, &error), KEDGE_PROTOCOL);
        assert_string_equal(error.code, cases[i].code);
        assert_int_equal(page.items.operations[0].kind, KEDGE_WIRE_PATCH_PUT_HASH);
        kedge_wire_page_response_free(&page);
    }
}

static void test_a_body_without_memory_for_it_stays_to_be_fetched(void **state)
{
    (void)state;
    failing_allocator failing;
    kedge_wire_page_response page;
    kedge_bytes body = KEDGE_BYTES("{\"a\":[1,2]}");
    failing_allocator_init(&failing);
    read_page_with_body(&failing.allocator, body, body.size, &page);
    failing_allocator_arm(&failing, 1, true);
    assert_int_equal(kedge_wire_patch_set_body(&page.items, 0, body, NULL), KEDGE_NO_MEMORY);
    assert_int_equal(page.items.operations[0].kind, KEDGE_WIRE_PATCH_PUT_HASH);
    kedge_wire_page_response_free(&page);
    assert_int_equal(failing.living, 0);
}

static void test_an_item_id_has_at_most_512_bytes(void **state)
{
    (void)state;
    char id[600] = {0};
    kedge_error error = {0};
    for (size_t size = 512; size <= 513; size++) {
        char key[620];
        memset(id, 'i', size);
        snprintf(key, sizeof key, "\"notes/%s\"", id);
        char *text = replaced(good_pull, "\"notes/b/c\"", key);
        assert_int_equal(decode_pull(text, strlen(text), &error),
                         size == 512 ? KEDGE_OK : KEDGE_PROTOCOL);
        test_free(text);
    }
    assert_non_null(strstr(error.message, "'patch[1].key'"));
}

static void test_a_name_of_a_member_may_be_written_with_escapes(void **state)
{
    (void)state;
    char *text = replaced(good_pull, "\"lmid\"", "\"lm\\u0069d\"");
    assert_int_equal(decode_pull(text, strlen(text), NULL), KEDGE_OK);
    test_free(text);
}

static void test_what_is_damaged_is_named_by_keys_that_are_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {"[7]", "[\"\\ud800\"]", "{}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char value[64];
        kedge_error error = {0};
        kedge_wire_damaged damaged = {0};
        snprintf(value, sizeof value, "{\"count\":1,\"keys\":%s}", wrong[i]);
        kedge_wire_member member = {.name = "damaged", .value = kedge_bytes_of(value)};
        assert_int_equal(kedge_wire_damaged_read(&member, &damaged, &error), KEDGE_PROTOCOL);
        assert_non_null(strstr(error.message, "'damaged.keys'"));
    }
}

static void test_a_value_may_be_nested_as_deep_as_the_limit(void **state)
{
    (void)state;
    char value[200];
    kedge_error error;
    for (int depth = 64; depth <= 65; depth++) {
        memset(value, '[', (size_t)depth);
        memset(value + depth, ']', (size_t)depth);
        value[2 * depth] = '\0';
        char *text = replaced(good_pull, "[1,2]", value);
        assert_int_equal(decode_pull(text, strlen(text), &error),
                         depth == 64 ? KEDGE_OK : KEDGE_PROTOCOL);
        test_free(text);
    }
}

/* ---- what is refused ---- */

static const struct {
    const char *from;
    const char *to;
    const char *named;
} refused[] = {
    {"\"version\":7,\"lineage\":\"" LINEAGE "\",\"lmid\"",
     "\"version\":2,\"lineage\":\"" LINEAGE "\",\"lmid\"", "kedge.version"},
    {"\"lmid\":4", "\"lmid\":-1", "kedge.lmid"},
    {"\"lmid\":4", "\"lmid\":4.5", "kedge.lmid"},
    {"\"lmid\":4", "\"lmid\":\"4\"", "kedge.lmid"},
    {"\"lmid\":4", "\"lmid\":4,\"lmid\":4", "kedge.lmid"},
    {"\"lmid\":4", "\"lmix\":4", "kedge.lmid"},
    {"\"lmid\":4", "\"lm\\u0069x\":4", "kedge.lmid"},
    {"\"lmid\":4", "\"lmid\":4,\"lm\\u0069d\":4", "kedge.lmid"},
    {"\"lmid\":4", "\"lmid\":3", "outcomes[1].id"},
    {"\"known\":true", "\"known\":false", "kedge.lmid"},
    {"\"known\":true", "\"known\":1", "kedge.known"},
    {"\"lost\":false", "\"lost\":null", "kedge.lost"},
    {"\"from\":3", "\"from\":8", "kedge.version"},
    {"\"order\":7", "\"order\":6", "cookie"},
    {"\"order\":7", "\"orders\":7", "cookie.order"},
    {"\"cookie\"", "\"cooky\"", "cookie"},
    {"\"cookie\":{\"order\":7,\"lineage\":\"0", "\"cookie\":{\"order\":7,\"lineage\":\"1",
     "cookie"},
    {"\"cookie\":{\"order\":7,\"lineage\":\"0", "\"cookie\":{\"order\":7,\"lineage\":\"G",
     "cookie.lineage"},
    {"\"lastMutationIDChanges\":{\"c1\":4}", "\"lastMutationIDChanges\":{\"c1\":-4}",
     "lastMutationIDChanges"},
    {"\"lastMutationIDChanges\":{\"c1\":4}", "\"lastMutationIDChanges\":[]",
     "lastMutationIDChanges"},
    {"\"snapshot\":null", "\"snapshot\":{\"version\":6,\"lineage\":\"" LINEAGE "\"}", "snapshot"},
    {"\"snapshot\":null", "\"snapshot\":{\"version\":7,\"lineage\":\"" LINEAGE "\"}", "patch"},
    {"\"outcomes_next\":null", "\"outcomes_next\":4", "kedge.outcomes_next"},
    {"\"id\":4,", "\"id\":3,", "outcomes[1].id"},
    {"\"id\":3,", "\"id\":0,", "outcomes[0].id"},
    {"\"digest\":\"00", "\"digest\":\"0A", "outcomes[0].digest"},
    {"\"version\":7,\"outcome\"", "\"version\":8,\"outcome\"", "outcomes[1].version"},
    {"\"outcome\":\"applied\"", "\"outcome\":\"maybe\"", "outcomes[1].outcome"},
    {"\"code\":\"no-way\",", "", "outcomes[0].code"},
    {"\"no-way\"", "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0\"",
     "outcomes[0].code"},
    {"\"message\":\"no\"", "\"message\":\"\\ud800\"", "outcomes[0].message"},
    {"\"op\":\"del\"", "\"op\":\"clear\"", "patch[1].op"},
    {"\"op\":\"del\",", "", "patch[1].op"},
    {"\"notes/b/c\"", "\"notes/a\"", "patch"},
    {"\"zz/big\"", "\"notes/a\"", "patch"},
    {"\"notes/b/c\"", "\"notes/\\u0000\"", "patch[1].key"},
    {"\"notes/b/c\"", "17", "patch[1].key"},
    {"\"value\":[1,2]", "\"value\":[1,,2]", "patch[3].value"},
    {"\"value\":[1,2]", "\"value\":{\"a\":1,\"a\":1}", "patch[3].value"},
    {"\"value\":[1,2]", "\"value\":1e999", "patch[3].value"},
    {"\"value\":[1,2]", "\"hash\":\"12\",\"size\":1", "patch[3].hash"},
    {"\"size\":70000", "\"size\":0", "patch[4].size"},
    {"\"key\":\"project\",\"value\":{\"name\":\"x\"}",
     "\"key\":\"project\",\"hash\":\"" HASH "\",\"size\":9", "patch[2].hash"},
    {"\"size\":70000", "\"size\":8388609", "patch[4].size"},
    {"\"size\":70000", "\"size\":70000,\"value\":1", "patch[4].hash"},
    {"\"kedge\":{", "\"kedges\":{", "kedge"},
};

static void test_what_the_wire_does_not_say_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        kedge_error error = {0};
        char named[64];
        char *text = replaced(good_pull, refused[i].from, refused[i].to);
        kedge_status status = decode_pull(text, strlen(text), &error);
        snprintf(named, sizeof named, "'%s'", refused[i].named);
        if (status != KEDGE_PROTOCOL || strstr(error.message, named) == NULL) {
            print_error("%s -> %s: %d %s\n", refused[i].from, refused[i].to, status, error.message);
            fail();
        }
        test_free(text);
    }
}

static void test_a_body_that_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {"",           "<!doctype html><p>Log in", "[]", "7", "{",
                                         "{\"kedge\":"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        kedge_error error = {0};
        assert_int_equal(decode_pull(bodies[i], strlen(bodies[i]), &error), KEDGE_PROTOCOL);
        assert_string_equal(error.message, "the server's response is not a JSON object");
    }
}

static void test_a_page_that_leads_nowhere_is_refused(void **state)
{
    (void)state;
    kedge_wire_page_response page = {0};
    kedge_error error = {0};
    char *text = replaced("{\"version\":9,\"lineage\":\"" LINEAGE "\",\"items\":[],\"next\":\"a\"}",
                          "9", "9");
    assert_int_equal(kedge_wire_page_response_read(&kedge_allocator_default, kedge_bytes_of(text),
                                                   &page, &error),
                     KEDGE_PROTOCOL);
    assert_non_null(strstr(error.message, "items"));
    kedge_wire_page_response_free(&page);
    test_free(text);
}

/* ---- damaged responses ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed >> 11;
}

/* A copy of exact size, so that a read past the end is seen by the sanitizer. */
static void decode_damaged(kedge_bytes good, uint64_t *seed)
{
    static const char pieces[] = "{}[]\",:\\0123456789eE+-.nulltruefalse\x80\xff";
    size_t size = next_random(seed) % 4 == 0 ? (size_t)(next_random(seed) % good.size) : good.size;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, good.data, size);
    for (uint64_t i = next_random(seed) % 4; i > 0 && size > 0; i--)
        text[next_random(seed) % size] = pieces[next_random(seed) % (sizeof pieces - 1)];
    char *exact = realloc(text, size == 0 ? 1 : size);
    kedge_bytes body = {exact, size};
    kedge_wire_pull_response pull = {0};
    kedge_wire_page_response page = {0};
    kedge_wire_retire_response retire = {0};
    kedge_status status[3];
    status[0] = kedge_wire_pull_response_read(&kedge_allocator_default, body, &pull, NULL);
    status[1] = kedge_wire_page_response_read(&kedge_allocator_default, body, &page, NULL);
    status[2] = kedge_wire_retire_response_read(&kedge_allocator_default, body, &retire, NULL);
    for (int i = 0; i < 3; i++)
        assert_true(status[i] == KEDGE_OK || status[i] == KEDGE_PROTOCOL);
    kedge_wire_pull_response_free(&pull);
    kedge_wire_page_response_free(&page);
    kedge_wire_retire_response_free(&retire);
    free(exact);
}

static void test_damaged_answers_are_refused_or_read_and_nothing_else(void **state)
{
    (void)state;
    const kedge_bytes goods[] = {KEDGE_BYTES(good_pull), KEDGE_BYTES(good_page),
                                 KEDGE_BYTES(good_retire)};
    uint64_t seed = 20240229;
    for (int i = 0; i < 60000; i++)
        decode_damaged(goods[i % 3], &seed);
}

static bool decode_escaped_key(const kedge_allocator *allocator, void *context)
{
    (void)context;
    static const char body[] = "{\"version\":9,\"lineage\":\"" LINEAGE "\",\"items\":["
                               "{\"key\":\"a\\/1\",\"value\":null}],\"next\":null}";
    kedge_wire_page_response page = {0};
    kedge_status status = kedge_wire_page_response_read(allocator, KEDGE_BYTES(body), &page, NULL);
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    if (status == KEDGE_OK) assert_bytes(page.items.operations[0].collection, "a");
    kedge_wire_page_response_free(&page);
    return status == KEDGE_OK;
}

static bool decode_all(const kedge_allocator *allocator, void *context)
{
    (void)context;
    kedge_wire_pull_response pull = {0};
    kedge_wire_page_response page = {0};
    kedge_wire_retire_response retire = {0};
    kedge_status status[3];
    status[0] = kedge_wire_pull_response_read(allocator, KEDGE_BYTES(good_pull), &pull, NULL);
    status[1] = kedge_wire_page_response_read(allocator, KEDGE_BYTES(good_page), &page, NULL);
    status[2] = kedge_wire_retire_response_read(allocator, KEDGE_BYTES(good_retire), &retire, NULL);
    kedge_wire_pull_response_free(&pull);
    kedge_wire_page_response_free(&page);
    kedge_wire_retire_response_free(&retire);
    bool well = true;
    for (int i = 0; i < 3; i++) {
        assert_true(status[i] == KEDGE_OK || status[i] == KEDGE_NO_MEMORY);
        well = well && status[i] == KEDGE_OK;
    }
    return well;
}

static void test_every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(decode_all, NULL, 0) > 5);
    assert_true(failing_allocator_try_every_call(decode_escaped_key, NULL, 0) > 1);
}

/* ---- keys ---- */

static void test_a_key_that_is_joined_is_split_into_the_same(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"notes", "a"}, {"notes", ""},      {"notes", "a/b"},
                                           {"_", "a"},     {"_", "a/b"},       {"_", "project"},
                                           {"_", ""},      {"_", "no name/x"}, {"", ""}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        kedge_buffer key = kedge_buffer_make(&kedge_allocator_default);
        kedge_bytes collection;
        kedge_bytes id;
        kedge_wire_key_join(kedge_bytes_of(pairs[i][0]), kedge_bytes_of(pairs[i][1]), &key);
        kedge_wire_key_split(kedge_buffer_bytes(&key), &collection, &id);
        assert_bytes(collection, pairs[i][0]);
        assert_bytes(id, pairs[i][1]);
        kedge_buffer_free(&key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pull_is_read_member_by_member),
        cmocka_unit_test(test_a_retire_tells_the_lmids_of_earlier_clients),
        cmocka_unit_test(test_a_retire_tells_the_lmids_of_at_most_64_earlier_clients),
        cmocka_unit_test(test_a_duplicate_with_a_reason_is_a_rejection),
        cmocka_unit_test(test_keys_are_split_and_values_are_canonical),
        cmocka_unit_test(test_a_page_and_a_retirement_are_read),
        cmocka_unit_test(test_further_outcomes_are_appended_in_order),
        cmocka_unit_test(test_a_fetched_body_must_have_its_hash),
        cmocka_unit_test(test_a_fetched_body_must_have_its_size_and_be_canonical),
        cmocka_unit_test(test_a_body_without_memory_for_it_stays_to_be_fetched),
        cmocka_unit_test(test_an_item_id_has_at_most_512_bytes),
        cmocka_unit_test(test_a_name_of_a_member_may_be_written_with_escapes),
        cmocka_unit_test(test_what_is_damaged_is_named_by_keys_that_are_text),
        cmocka_unit_test(test_a_value_may_be_nested_as_deep_as_the_limit),
        cmocka_unit_test(test_what_the_wire_does_not_say_is_refused_by_name),
        cmocka_unit_test(test_a_body_that_is_no_json_is_refused),
        cmocka_unit_test(test_a_page_that_leads_nowhere_is_refused),
        cmocka_unit_test(test_damaged_answers_are_refused_or_read_and_nothing_else),
        cmocka_unit_test(test_every_failed_allocation_is_survived),
        cmocka_unit_test(test_a_key_that_is_joined_is_split_into_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
