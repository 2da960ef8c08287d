/* The budget of bytes of a mutation ends inside the built-in mutators: at whichever step it is
 * passed, the mutation is refused whole. */
#include "common/json.h"
#include "tests/mutate/tx_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- with little left ---- */

static struct {
    uint64_t left;    /* of the budget, in bytes */
    const char *name; /* of the built-in mutator */
} little;

/* Spends all but `left` bytes, and runs the built-in mutator with its own args. */
static kedge_status run_with_little(kedge_tx *tx, const char *args, size_t args_size,
                                    void *userdata, kedge_error *error)
{
    (void)userdata;
    kedge_status status = kedge_tx_charge(tx, KEDGE_LIMIT_MUTATION_BYTES - little.left, error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_run_part(tx, kedge_bytes_of(little.name), (kedge_bytes){args, args_size},
                             error);
}

static const kedge_mutator mutators[] = {{"run-with-little", 1, run_with_little, NULL}};

static int open_fixture(void **state)
{
    return tx_fixture_set_up_with(state, mutators, 1);
}

#define NOTE(rest) "{\"collection\":\"notes\",\"id\":\"1\"," rest "}"
#define VALUE      "{\"n\":1,\"o\":{\"x\":1,\"y\":2},\"t\":\"a b c\"}"

/* The cost is part of what a mutator means: all copies must refuse the same mutations. */
static void test_the_budget_ends_at_whichever_step_passes_it(void **state)
{
    static const struct {
        const char *name, *args;
        uint64_t cost;
    } edits[] = {
        {"kedge.put", NOTE("\"value\":[1]"), 3},
        {"kedge.merge", NOTE("\"patch\":{\"o\":{\"z\":3}}"), 80},
        {"kedge.patch", NOTE("\"patch\":[{\"op\":\"remove\",\"path\":\"/o/x\"}]"), 413},
        {"kedge.increment", NOTE("\"add\":{\"n\":1}"), 74},
        {"kedge.text", NOTE("\"path\":\"/t\",\"base\":\"a c\",\"text\":\"a d\""), 1149},
        {"kedge.restore",
         "{\"changes\":[" NOTE("\"path\":\"/o/x\",\"expected\":1") "," NOTE(
             "\"path\":\"/n\",\"add\":1") ",{\"collection\":\"notes\",\"id\":\"2\","
                                          "\"path\":\"\",\"value\":1}]}",
         674},
        {"kedge.batch",
         "{\"mutations\":[{\"name\":\"kedge.put\",\"args\":" NOTE(
             "\"value\":[2]") "},{\"name\":\"kedge.noop\"}]}",
         3},
        {"kedge.apply",
         "{\"reads\":[{\"collection\":\"notes\",\"hash\":null,\"id\":\"3\"}],"
         "\"ops\":[{\"op\":\"merge\",\"collection\":\"notes\",\"id\":\"1\","
         "\"patch\":{\"n\":2}}]}",
         74},
    };
    tx_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        tx_fixture_put(fixture, "1", VALUE);
        size_t there = kedge_overlay_count(fixture->overlay);
        little.name = edits[i].name;
        for (little.left = 0; little.left < edits[i].cost; little.left++) {
            assert_int_equal(tx_fixture_run(fixture, "run-with-little", edits[i].args),
                             KEDGE_REJECTED);
            assert_string_equal(fixture->error.code, "mutation-too-costly");
            assert_string_equal(tx_fixture_item(fixture, "notes", "1"), VALUE);
            assert_int_equal(kedge_overlay_count(fixture->overlay), there);
        }
        assert_int_equal(tx_fixture_run(fixture, "run-with-little", edits[i].args), KEDGE_OK);
        assert_string_not_equal(tx_fixture_item(fixture, "notes", "1"), VALUE);
    }
}

/* ---- the work on one document ---- */

/* Appends `count` times `piece` after `front`, and then `back`. */
static void append_many(kedge_buffer *out, const char *front, const char *piece, size_t count,
                        const char *back)
{
    kedge_buffer_append_text(out, front);
    for (size_t i = 0; i < count; i++)
        kedge_buffer_append_text(out, piece);
    kedge_buffer_append_text(out, back);
}

static void run_well(tx_fixture *fixture, const char *name, kedge_buffer *args)
{
    assert_int_equal(kedge_buffer_status(args, NULL), KEDGE_OK);
    if (tx_fixture_run(fixture, name, args->data) != KEDGE_OK)
        fail_msg("%s", fixture->error.message);
    kedge_buffer_free(args);
}

static void costs_too_much(tx_fixture *fixture, const char *name, kedge_buffer *args)
{
    assert_int_equal(kedge_buffer_status(args, NULL), KEDGE_OK);
    assert_int_equal(tx_fixture_run(fixture, name, args->data), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, "mutation-too-costly");
    kedge_buffer_free(args);
}

/* Compares the whole item, of some 1.2 MB, which is written out for it once it was opened. */
#define COMPARE NOTE("\"path\":\"\",\"expected\":0") ","
#define SET_A   NOTE("\"path\":\"/a\",\"expected\":1,\"value\":2")
/* Merges a text of 80,000 lines, which costs some 5 MB. */
#define MERGE NOTE("\"path\":\"/t\",\"expected\":\"x\",\"text\":true,\"value\":\"y\"")

static void test_a_restore_is_refused_when_its_work_on_an_item_costs_too_much(void **state)
{
    static const struct {
        size_t compares;
        const char *last;
        bool fits;
    } cases[] = {{50, SET_A, true},
                 {70, SET_A, false},
                 {20, MERGE "," SET_A, true},
                 {50, MERGE "," SET_A, false}};
    tx_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
        append_many(&args, "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"a\":1,\"l\":\"",
                    "nine lines", 100000, "\",\"t\":\"");
        append_many(&args, "", "w\\n", 80000, "\"}}");
        run_well(fixture, "kedge.put", &args);
        append_many(&args, "{\"changes\":[" SET_A ",", COMPARE, cases[i].compares, "");
        append_many(&args, cases[i].last, "", 0, "]}");
        if (cases[i].fits)
            run_well(fixture, "kedge.restore", &args);
        else
            costs_too_much(fixture, "kedge.restore", &args);
    }
}

static void test_a_text_that_lies_too_deep_in_a_large_item_costs_too_much(void **state)
{
    enum { DEPTH = 60, FITS = 20 };
    tx_fixture *fixture = *state;
    for (size_t depth = FITS; depth <= DEPTH; depth += DEPTH - FITS) {
        kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
        append_many(&args, "{\"collection\":\"notes\",\"id\":\"1\",\"value\":", "{\"a\":", depth,
                    "{\"l\":\"");
        append_many(&args, "", "nine lines", 130000, "\",\"t\":\"\"}");
        append_many(&args, "", "}", depth, "}");
        run_well(fixture, "kedge.put", &args);
        append_many(&args, "{\"collection\":\"notes\",\"id\":\"1\",\"path\":\"", "/a", depth,
                    "/t\",\"base\":\"\",\"text\":\"b\"}");
        if (depth == FITS)
            run_well(fixture, "kedge.text", &args);
        else
            costs_too_much(fixture, "kedge.text", &args);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, tx_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_budget_ends_at_whichever_step_passes_it),
        TEST(test_a_restore_is_refused_when_its_work_on_an_item_costs_too_much),
        TEST(test_a_text_that_lies_too_deep_in_a_large_item_costs_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
