/* Documents in a transaction: which are refused, and that what finds no memory is not decided. */
#include "common/json.h"
#include "mutate/transaction_internal.h"
#include "tests/mutate/tx_fixture.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- mutators of this test ---- */

/* Puts the args as the item "1" without a look at it. */
static kedge_status put_document(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    kedge_json_document document;
    kedge_status status =
        kedge_tx_make_document(tx, (kedge_bytes){args, args_size}, &document, error);
    if (status != KEDGE_OK) return status;
    status = kedge_tx_put_document(tx, "notes", "1", 1, &document, error);
    kedge_json_document_free(&document);
    return status;
}

/* Puts an array of as many times the args as are larger than a mutation may be. */
static kedge_status put_too_much(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    kedge_json_part value = {NULL, {NULL, 0}}, root = {NULL, KEDGE_BYTES("[]")};
    const size_t place = 0;
    kedge_json_rope *rope, *next;
    kedge_status status = kedge_json_rope_make(kedge_tx_allocator(tx), root.text, &rope, error);
    assert_int_equal(status, KEDGE_OK);
    assert_int_equal(kedge_json_rope_open(kedge_tx_allocator(tx), rope, error), KEDGE_OK);
    assert_int_equal(kedge_json_rope_make(kedge_tx_allocator(tx), (kedge_bytes){args, args_size},
                                          &value.rope, error),
                     KEDGE_OK);
    while (kedge_json_rope_size(rope) <= KEDGE_LIMIT_MUTATION_BYTES) {
        const kedge_json_change change = {KEDGE_JSON_INSERT, &place, 1, {NULL, 0}, value};
        status = kedge_json_rope_change(kedge_tx_allocator(tx), rope, &change, &next, error);
        assert_int_equal(status, KEDGE_OK);
        kedge_json_rope_release(kedge_tx_allocator(tx), rope);
        rope = next;
    }
    kedge_json_rope_release(kedge_tx_allocator(tx), value.rope);
    kedge_json_document document =
        kedge_json_document_make(kedge_tx_allocator(tx), rope, KEDGE_LIMIT_MUTATION_BYTES);
    status = kedge_tx_put_document(tx, "notes", "1", 1, &document, error);
    kedge_json_document_free(&document);
    return status;
}

static const kedge_mutator mutators[] = {{"put_document", 1, put_document, NULL},
                                         {"put_too_much", 1, put_too_much, NULL}};
#define MUTATORS (sizeof mutators / sizeof mutators[0])

static int set_up(void **state)
{
    return tx_fixture_set_up_with(state, mutators, MUTATORS);
}

/* ---- refusals ---- */

static void append_times(kedge_buffer *out, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        kedge_buffer_append_text(out, text);
}

static void test_a_document_that_is_larger_than_a_mutation_may_be_is_refused(void **state)
{
    tx_fixture *fixture = *state;
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_byte(&args, '"');
    append_times(&args, "0123456789abcdef", 65536);
    kedge_buffer_append_byte(&args, '"');
    assert_int_equal(tx_fixture_run(fixture, "put_too_much", args.data), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, "mutation-too-costly");
    assert_null(tx_fixture_item(fixture, "notes", "1"));
    kedge_buffer_free(&args);
}

/* It cannot have come from a mutation. */
static void test_an_item_that_is_too_deep_to_be_read_is_not_changed(void **state)
{
    tx_fixture *fixture = *state;
    kedge_buffer deep = kedge_buffer_make(&kedge_allocator_default);
    append_times(&deep, "[", KEDGE_LIMIT_JSON_DEPTH + 1);
    append_times(&deep, "]", KEDGE_LIMIT_JSON_DEPTH + 1);
    assert_int_equal(kedge_overlay_put(fixture->below, KEDGE_BYTES("notes"), KEDGE_BYTES("1"),
                                       kedge_buffer_bytes(&deep), NULL),
                     KEDGE_OK);
    kedge_status status =
        tx_fixture_run(fixture, "kedge.patch",
                       "{\"collection\":\"notes\",\"id\":\"1\",\"patch\":[{\"op\":\"add\","
                       "\"path\":\"/0\",\"value\":1}]}");
    assert_int_equal(status, KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, "json-too-deep");
    assert_string_equal(tx_fixture_item(fixture, "notes", "1"), deep.data);
    kedge_buffer_free(&deep);
}

/* ---- memory that runs out ---- */

/* The item "1" is put, or the project record, and the last call is made. */
typedef struct memory_case {
    const char *front, *pad; /* of the value: front, so many times the pad, end */
    size_t pads;
    const char *end;
    const char *name, *args;
    kedge_status status;
} memory_case;

#define AT_1 "{\"collection\":\"notes\",\"id\":\"1\","

static bool run_case(const kedge_allocator *allocator, void *context)
{
    const memory_case *given = context;
    tx_fixture fixture;
    kedge_status status = KEDGE_NO_MEMORY;
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&args, given->front);
    append_times(&args, given->pad, given->pads);
    kedge_buffer_append_text(&args, given->end);
    bool project = strncmp(given->front, "{\"collection\"", 13) != 0;
    if (tx_fixture_open(&fixture, allocator, mutators, MUTATORS)) {
        status = tx_fixture_run(&fixture, project ? "kedge.project" : "kedge.put", args.data);
        assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
        if (status == KEDGE_OK) {
            status = tx_fixture_run(&fixture, given->name, given->args);
            if (status != given->status && status != KEDGE_NO_MEMORY)
                fail_msg("%s: %d, %s", given->name, (int)status, fixture.error.message);
        }
    }
    const failing_allocator *failing = allocator->context;
    if (failing->failed > 0) assert_int_equal(status, KEDGE_NO_MEMORY);
    tx_fixture_close(&fixture);
    kedge_buffer_free(&args);
    return status == given->status;
}

static void test_what_finds_no_memory_is_not_decided(void **state)
{
    (void)state;
    static memory_case cases[] = {
        {AT_1 "\"value\":{\"n\":1,\"t\":\"", "0123456789abcdef", 2000, "\"}}", "kedge.increment",
         AT_1 "\"add\":{\"n\":1}}", KEDGE_OK},
        {"{\"name\":\"", "a", 10, "\"}", "kedge.restore",
         "{\"changes\":[{\"collection\":\"\",\"id\":\"\",\"path\":\"/name\",\"expected\":"
         "\"aaaaaaaaaa\",\"value\":\"b\"}]}",
         KEDGE_OK},
        /* What it makes needs more room than what it reads. */
        {AT_1 "\"value\":{\"a\":\"", "a", 3000, "\"}}", "kedge.patch",
         AT_1 "\"patch\":[{\"from\":\"/a\",\"op\":\"copy\",\"path\":\"/b\"},"
              "{\"from\":\"/a\",\"op\":\"copy\",\"path\":\"/c\"},"
              "{\"from\":\"/a\",\"op\":\"copy\",\"path\":\"/d\"}]}",
         KEDGE_OK},
        /* Each copy makes it deeper by what it had. */
        {AT_1 "\"value\":{\"a\":", "[", 40,
         "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]],\"b\":[[[[[[[["
         "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]}}",
         "kedge.patch",
         AT_1 "\"patch\":[{\"from\":\"/a\",\"op\":\"copy\",\"path\":"
              "\"/b/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0\"}]}",
         KEDGE_REJECTED},
        {AT_1 "\"value\":{\"t\":\"", "0123456789abcdef", 2000, "\"}}", "put_document", "{\"n\":1}",
         KEDGE_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_true(failing_allocator_try_every_call(run_case, &cases[i], 0) > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tx_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_document_that_is_larger_than_a_mutation_may_be_is_refused),
        TEST(test_an_item_that_is_too_deep_to_be_read_is_not_changed),
        cmocka_unit_test(test_what_finds_no_memory_is_not_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
