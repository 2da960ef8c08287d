/* kedge.batch: all of its mutations or none, with the reason of the first that is refused. */
#include <kedge/cjson.h>

#include "mutate/batch.h"
#include "mutate/replay.h"
#include "tests/mutate/tx_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the mutators of this test ---- */

/* {id}: counts an item up, with cJSON; one that has 3 is full. */
static kedge_status count(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *item;
    double n = 0;
    kedge_status status =
        kedge_tx_edit_json(tx, "notes", kedge_member_text(args, "id"), &item, error);
    if (status == KEDGE_OK) status = kedge_member_number(item, "n", &n, error);
    if (status != KEDGE_OK) return status;
    if (n >= 3) return kedge_tx_reject(tx, "full", "there are three already", error);
    return kedge_member_set_number(item, "n", n + 1, error);
}

/* Says that it refuses, and then does not. */
static kedge_status waver(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                          kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    (void)kedge_tx_reject(tx, "wavered", "or maybe not", error);
    return KEDGE_OK;
}

/* Fails without saying anything. */
static kedge_status fall_silent(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    return KEDGE_REJECTED;
}

/* Tries to make a batch inside an edit of its own. */
static kedge_status nest(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)args, (void)userdata;
    cJSON *batch = cJSON_Parse("{\"mutations\":[{\"name\":\"kedge.noop\"}]}");
    kedge_status status = kedge_tx_call_json(tx, "kedge.batch", batch, error);
    cJSON_Delete(batch);
    return status;
}

/* Does not look at what its calls return: a read, and one that costs more than a mutation may. */
static kedge_status shrug(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                          kedge_error *error)
{
    (void)args, (void)userdata, (void)error;
    const char *value;
    size_t size;
    (void)kedge_tx_get(tx, "notes", "below", 5, &value, &size, NULL);
    if (args_size > 4) (void)kedge_tx_charge(tx, UINT64_MAX, NULL);
    return KEDGE_OK;
}

static const kedge_mutator mutators[] = {KEDGE_JSON_MUTATOR("count", 2, count),
                                         {"waver", 1, waver, NULL},
                                         {"fall-silent", 1, fall_silent, NULL},
                                         {"shrug", 1, shrug, NULL},
                                         KEDGE_JSON_MUTATOR("nest", 1, nest)};
#define MUTATORS (sizeof mutators / sizeof mutators[0])

static int open_fixture(void **state)
{
    return tx_fixture_set_up_with(state, mutators, MUTATORS);
}

static void applies(tx_fixture *fixture, const char *name, const char *args)
{
    if (tx_fixture_run(fixture, name, args) != KEDGE_OK) fail_msg("%s", fixture->error.message);
}

static void refuses(tx_fixture *fixture, const char *args, const char *code, const char *words)
{
    size_t there = kedge_overlay_count(fixture->overlay);
    assert_int_equal(tx_fixture_run(fixture, "kedge.batch", args), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, code);
    if (strstr(fixture->error.message, words) == NULL)
        fail_msg("\"%s\" does not say %s", fixture->error.message, words);
    assert_int_equal(kedge_overlay_count(fixture->overlay), there);
}

#define PUT_A0                                                                                     \
    "{\"name\":\"kedge.put\",\"args\":{\"collection\":\"notes\",\"id\":\"a\",\"value\":{\"n\":0}}" \
    "}"
#define COUNT_A  "{\"name\":\"count\",\"args\":{\"id\":\"a\"},\"version\":2}"
#define BATCH(x) "{\"mutations\":[" x "]}"

/* ---- all or nothing ---- */

static void test_each_mutation_of_a_batch_sees_what_those_before_it_did(void **state)
{
    applies(*state, "kedge.batch", BATCH(PUT_A0 "," COUNT_A "," COUNT_A));
    assert_string_equal(tx_fixture_item(*state, "notes", "a"), "{\"n\":2}");
}

static void test_a_batch_whose_last_mutation_is_refused_changes_nothing(void **state)
{
    refuses(*state, BATCH(PUT_A0 "," COUNT_A "," COUNT_A "," COUNT_A "," COUNT_A), "full",
            "mutation 4 of the batch (count): there are three already");
    assert_null(tx_fixture_item(*state, "notes", "a"));
    refuses(*state, BATCH(PUT_A0 ",{\"name\":\"newer\"}"), "mutator-unknown",
            "mutation 1 of the batch (newer): there is no mutator");
}

static void test_a_batch_that_is_refused_takes_back_what_it_changed(void **state)
{
    applies(*state, "kedge.batch", BATCH(PUT_A0 "," COUNT_A));
    refuses(*state,
            BATCH(COUNT_A ",{\"name\":\"kedge.delete\",\"args\":{\"collection\":\"notes\","
                          "\"id\":\"a\"}},{\"name\":\"kedge.put\",\"args\":7}"),
            "args-invalid", "mutation 2 of the batch (kedge.put)");
    assert_string_equal(tx_fixture_item(*state, "notes", "a"), "{\"n\":1}");
}

static void test_the_reason_is_that_of_the_mutation_that_failed(void **state)
{
    refuses(*state, BATCH("{\"name\":\"waver\"},{\"name\":\"fall-silent\"}"), "mutator-failed",
            "mutation 1 of the batch (fall-silent)");
    applies(*state, "kedge.batch", BATCH("{\"name\":\"waver\"}"));
}

static void test_a_read_that_fails_decides_nothing_of_a_batch(void **state)
{
    tx_fixture *fixture = *state;
    fixture->fail_read = 1;
    assert_int_equal(tx_fixture_run(fixture, "kedge.batch", BATCH(COUNT_A)), KEDGE_IO);
    assert_string_equal(fixture->error.code, "read-failed");
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
}

/* ---- what is allowed ---- */

static void test_wrong_args_are_refused_with_what_is_allowed(void **state)
{
    static const struct {
        const char *args;
        const char *code;
        const char *words;
    } wrong[] = {
        {"null", "args-invalid", "an object {\"mutations\"}"},
        {"{}", "args-invalid", "an object {\"mutations\"}"},
        {"{\"mutations\":{}}", "args-invalid", "an array of"},
        {"{\"mutations\":[],\"more\":1}", "args-invalid", "an object {\"mutations\"}"},
        {"{\"mutations\":[],\"zzz\":1}", "args-invalid", "an object {\"mutations\"}"},
        {"{\"mutations\":[]}", "batch-empty", "1 to 10000 are allowed"},
        {BATCH("7"), "args-invalid", "mutation 0 of the batch: it must be an object"},
        {BATCH("{}"), "args-invalid", "\"name\" must be the name of a mutator"},
        {BATCH("{\"name\":1}"), "args-invalid", "\"name\" must be the name of a mutator"},
        {BATCH("{\"name\":\"a b\"}"), "args-invalid", "the mutator"},
        {BATCH("{\"name\":\"x\",\"arg\":1}"), "args-invalid", "unknown member; allowed are"},
        {BATCH(PUT_A0 ",{\"name\":\"x\",\"version\":0}"), "args-invalid",
         "mutation 1 of the batch: its \"version\" must be an integer from 1"},
        {BATCH("{\"name\":\"x\",\"version\":4294967296}"), "args-invalid", "an integer from 1"},
        {BATCH("{\"name\":\"x\",\"version\":\"1\"}"), "args-invalid", "an integer from 1"},
        {BATCH("{\"name\":\"kedge.batch\",\"args\":{\"mutations\":[]}}"), "args-invalid",
         "a batch must not have in it"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuses(*state, wrong[i].args, wrong[i].code, wrong[i].words);
}

static void test_a_part_that_does_not_look_at_its_failures_decides_nothing(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "kedge.batch", BATCH("{\"name\":\"shrug\"}"));
    fixture->fail_read = 1;
    assert_int_equal(tx_fixture_run(fixture, "kedge.batch", BATCH("{\"name\":\"shrug\"}," PUT_A0)),
                     KEDGE_IO);
    assert_int_equal(kedge_overlay_count(fixture->overlay), 0);
    refuses(fixture, BATCH("{\"name\":\"shrug\",\"args\":[1,2,3]}," PUT_A0), "mutation-too-costly",
            "more than");
}

static void test_a_mutator_cannot_make_a_batch(void **state)
{
    refuses(*state, BATCH("{\"name\":\"nest\"}"), "batch-in-mutator", "(nest): a mutator cannot");
}

static void repeat(kedge_buffer *out, const char *part, size_t times)
{
    kedge_buffer_clear(out);
    kedge_buffer_append_text(out, "{\"mutations\":[");
    for (size_t i = 0; i < times; i++)
        kedge_buffer_append_format(out, "%s%s", i == 0 ? "" : ",", part);
    kedge_buffer_append_text(out, "]}");
}

static void test_a_batch_has_its_own_limit_and_those_of_one_mutation(void **state)
{
    tx_fixture *fixture = *state;
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    repeat(&args, "{\"name\":\"kedge.noop\"}", KEDGE_LIMIT_BATCH_MUTATIONS);
    applies(fixture, "kedge.batch", args.data);
    repeat(&args, "{\"name\":\"kedge.noop\"}", KEDGE_LIMIT_BATCH_MUTATIONS + 1);
    refuses(fixture, args.data, "batch-too-large", "more than 10000 mutations");
    /* What its mutations read and write adds up. */
    applies(fixture, "kedge.batch", BATCH(PUT_A0));
    kedge_buffer_clear(&args);
    kedge_buffer_append_text(&args, "{\"collection\":\"notes\",\"id\":\"a\",\"value\":\"");
    for (size_t i = 0; i < KEDGE_LIMIT_ITEM_BYTES - 1024; i++)
        kedge_buffer_append_byte(&args, 'x');
    kedge_buffer_append_text(&args, "\"}");
    applies(fixture, "kedge.put", args.data);
    repeat(
        &args,
        "{\"name\":\"kedge.patch\",\"args\":{\"collection\":\"notes\",\"id\":\"a\",\"patch\":[]}}",
        9);
    refuses(fixture, args.data, "mutation-too-costly", "more than 67108864 bytes");
    kedge_buffer_free(&args);
}

/* ---- a batch equals its edits ---- */

static uint64_t dice(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static const char *roll(uint64_t *seed, char *args, size_t size)
{
    char id = (char)('a' + dice(seed, 4));
    unsigned n = (unsigned)dice(seed, 4);
    switch (dice(seed, 6)) {
    case 0:
        (void)snprintf(args, size, "{\"collection\":\"notes\",\"id\":\"%c\",\"value\":{\"n\":%u}}",
                       id, n);
        return "kedge.put";
    case 1:
        (void)snprintf(args, size, "{\"collection\":\"notes\",\"id\":\"%c\",\"patch\":{\"n\":%u}}",
                       id, n);
        return "kedge.merge";
    case 2:
        (void)snprintf(args, size, "{\"collection\":\"notes\",\"id\":\"%c\"}", id);
        return "kedge.delete";
    case 3:
        (void)snprintf(args, size,
                       "{\"collection\":\"notes\",\"id\":\"%c\",\"add\":{\"n\":%u,\"m\":1}}", id,
                       n);
        return "kedge.increment";
    case 4:
        (void)snprintf(args, size, "{\"last\":\"%c%u\"}", id, n);
        return "kedge.project";
    default:
        (void)snprintf(args, size, "{\"id\":\"%c\"}", id);
        return "count";
    }
}

static void write_state(const kedge_overlay *overlay, kedge_buffer *out)
{
    kedge_overlay_entry entry, at;
    kedge_buffer_clear(out);
    for (bool more = kedge_overlay_next(overlay, NULL, &entry); more;
         more = kedge_overlay_next(overlay, &at, &entry)) {
        at = entry;
        if (!entry.deleted)
            kedge_buffer_append_format(out, "%.*s/%.*s=%s\n", (int)entry.collection.size,
                                       entry.collection.data, (int)entry.id.size, entry.id.data,
                                       entry.value.data);
    }
}

/* Runs edits one after another and as a batch; gives whether all of them applied. */
static bool compare_both_ways(uint64_t *seed, kedge_buffer *batch, kedge_buffer *expected,
                              kedge_buffer *found)
{
    tx_fixture alone, together;
    char args[128];
    bool all = true;
    size_t edits = 1 + (size_t)dice(seed, 8);
    assert_true(tx_fixture_open(&alone, &kedge_allocator_default, mutators, MUTATORS));
    assert_true(tx_fixture_open(&together, &kedge_allocator_default, mutators, MUTATORS));
    for (const char *id = "ab"; *id != '\0'; id++) {
        (void)snprintf(args, sizeof args,
                       "{\"collection\":\"notes\",\"id\":\"%c\",\"value\":{\"n\":1}}", *id);
        applies(&alone, "kedge.put", args);
        applies(&together, "kedge.put", args);
    }
    write_state(together.overlay, expected);
    kedge_buffer_clear(batch);
    kedge_buffer_append_text(batch, "{\"mutations\":[");
    for (size_t i = 0; i < edits; i++) {
        const char *name = roll(seed, args, sizeof args);
        all = all && tx_fixture_run(&alone, name, args) == KEDGE_OK;
        kedge_buffer_append_format(batch, "%s{\"name\":\"%s\",\"args\":%s}", i == 0 ? "" : ",",
                                   name, args);
    }
    kedge_buffer_append_text(batch, "]}");
    bool applied = tx_fixture_run(&together, "kedge.batch", batch->data) == KEDGE_OK;
    assert_int_equal(applied, all);
    if (all) write_state(alone.overlay, expected);
    write_state(together.overlay, found);
    assert_string_equal(found->data, expected->data);
    tx_fixture_close(&together);
    tx_fixture_close(&alone);
    return all;
}

static void test_a_batch_does_what_its_edits_do_or_nothing(void **state)
{
    (void)state;
    enum { CASES = 20000 };
    uint64_t seed = 6;
    size_t applied = 0;
    kedge_buffer batch = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer expected = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer found = kedge_buffer_make(&kedge_allocator_default);
    for (size_t i = 0; i < CASES; i++)
        applied += compare_both_ways(&seed, &batch, &expected, &found);
    assert_in_range(applied, CASES / 5, CASES - CASES / 5); /* both ends are tested */
    kedge_buffer_free(&found);
    kedge_buffer_free(&expected);
    kedge_buffer_free(&batch);
}

/* ---- log projects ---- */

static void test_the_replay_of_a_log_needs_the_mutators_of_the_parts(void **state)
{
    static const struct {
        int64_t version; /* of kedge.batch */
        const char *args;
        kedge_status status;
        const char *names;
    } cases[] = {
        {1, BATCH(COUNT_A), KEDGE_OK, ""},
        {2, BATCH(COUNT_A), KEDGE_UNSUPPORTED, "\"kedge.batch\" of version 2"},
        {1, BATCH("{\"args\":null,\"name\":\"count\",\"version\":3}"), KEDGE_UNSUPPORTED,
         "\"count\" of version 3"},
        {1, BATCH("{\"name\":\"kedge.noop\"},{\"name\":\"newer\"}"), KEDGE_UNSUPPORTED,
         "\"newer\" of version 1"},
        {1, BATCH("{\"name\":\"newer\"},{\"name\":\"kedge.noop\"}"), KEDGE_UNSUPPORTED,
         "\"newer\" of version 1"},
        {1, BATCH("7"), KEDGE_OK, ""}, /* rejected by each copy */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tx_fixture *fixture = *state;
        kedge_replay_decision decision;
        kedge_replay_mutation mutation = {
            .call = {.name = KEDGE_BYTES("kedge.batch"),
                     .args = kedge_bytes_of(cases[i].args),
                     .args_are_canonical = true,
                     .caller = {.user = "u", .role = "editor", .client = "c", .now_ms = 1}},
            .mutator = cases[i].version};
        fixture->error = (kedge_error){0};
        assert_int_equal(kedge_replay_decide(fixture->tx, fixture->registry, &mutation, &decision,
                                             &fixture->error),
                         cases[i].status);
        assert_non_null(strstr(fixture->error.message, cases[i].names));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, tx_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_each_mutation_of_a_batch_sees_what_those_before_it_did),
        TEST(test_a_batch_whose_last_mutation_is_refused_changes_nothing),
        TEST(test_a_batch_that_is_refused_takes_back_what_it_changed),
        TEST(test_the_reason_is_that_of_the_mutation_that_failed),
        TEST(test_a_read_that_fails_decides_nothing_of_a_batch),
        TEST(test_wrong_args_are_refused_with_what_is_allowed),
        TEST(test_a_part_that_does_not_look_at_its_failures_decides_nothing),
        TEST(test_a_mutator_cannot_make_a_batch),
        TEST(test_a_batch_has_its_own_limit_and_those_of_one_mutation),
        cmocka_unit_test(test_a_batch_does_what_its_edits_do_or_nothing),
        TEST(test_the_replay_of_a_log_needs_the_mutators_of_the_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
