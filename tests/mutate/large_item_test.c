/* Many mutations of one large item in one run, or in a few, in which the overlay keeps it in
 * pieces, beside the same mutations one by one, each on the text that the one before left: the same
 * outcomes with the same words, and the same bytes. */
#include "mutate/batch.h"
#include "tests/mutate/random_edits.h"
#include "tests/mutate/tx_fixture.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/sampling.h"

#include "common/error.h"
#include "common/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- mutators of this test ---- */

/* {left, calls, name, args}: runs a built-in mutator with `left` bytes of the budget, or -1 when it
 * is over, after so many calls. */
static kedge_status run_with_little(kedge_tx *tx, const char *args, size_t args_size,
                                    void *userdata, kedge_error *error)
{
    (void)userdata;
    int64_t left = 0, calls = 0;
    char name[32];
    const char *value;
    size_t size;
    kedge_bytes inner, all = {args, args_size};
    assert_true(kedge_json_member_integer(all, "left", &left));
    assert_true(kedge_json_member_integer(all, "calls", &calls));
    assert_true(kedge_json_member_chars(all, "name", name, sizeof name));
    assert_true(kedge_json_member(all, "args", &inner));
    for (int64_t i = 0; i < calls; i++)
        (void)kedge_tx_get(tx, "notes", "s", 1, &value, &size, NULL);
    (void)kedge_tx_charge(tx, (uint64_t)(KEDGE_LIMIT_MUTATION_BYTES - left), error);
    return kedge_tx_run_part(tx, kedge_bytes_of(name), inner, error);
}

/* {"size"}: reads the items, and refuses or writes by the sizes of what it saw. */
static kedge_status look(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                         kedge_error *error)
{
    (void)userdata, (void)args, (void)args_size;
    const char *id = NULL, *value;
    size_t id_size = 0, size, sum = 0;
    char text[32];
    kedge_status status;
    while ((status = kedge_tx_next(tx, "notes", id, id_size, &id, &id_size, &value, &size,
                                   error)) == KEDGE_OK)
        sum += size;
    if (status != KEDGE_DONE) return status;
    if (sum % 3 == 0) return kedge_tx_reject(tx, "three", "the sum is a multiple of three", error);
    int written = snprintf(text, sizeof text, "%zu", sum);
    return kedge_tx_put(tx, "notes", "sum", 3, text, (size_t)written, error);
}

static const kedge_mutator mutators[] = {{"little", 1, run_with_little, NULL},
                                         {"look", 1, look, NULL}};
#define MUTATORS (sizeof mutators / sizeof mutators[0])

/* ---- two copies ---- */

typedef struct twins {
    tx_fixture pieces; /* one run */
    tx_fixture whole;  /* its overlay goes to what is below after each mutation */
    uint64_t first_seed;
    uint64_t seed;
    kedge_buffer args;
    size_t applied, refused;
    bool cut; /* some of what `pieces` has is below */
} twins;

static bool open_twins(twins *both, const kedge_allocator *allocator, uint64_t seed)
{
    both->first_seed = both->seed = seed;
    both->applied = both->refused = 0;
    both->cut = false;
    both->args = kedge_buffer_make(&kedge_allocator_default);
    return tx_fixture_open(&both->whole, &kedge_allocator_default, mutators, MUTATORS) &&
           tx_fixture_open(&both->pieces, allocator, mutators, MUTATORS);
}

static void close_twins(twins *both)
{
    tx_fixture_close(&both->pieces);
    tx_fixture_close(&both->whole);
    kedge_buffer_free(&both->args);
}

static void settle(tx_fixture *fixture)
{
    kedge_overlay_entry entry, at;
    for (bool more = kedge_overlay_next(fixture->overlay, NULL, &entry); more;
         more = kedge_overlay_next(fixture->overlay, &at, &entry)) {
        at = entry;
        kedge_status status =
            entry.deleted
                ? kedge_overlay_delete(fixture->below, entry.collection, entry.id, NULL)
                : kedge_overlay_put(fixture->below, entry.collection, entry.id, entry.value, NULL);
        assert_int_equal(status, KEDGE_OK);
    }
    kedge_overlay_clear(fixture->overlay);
}

static kedge_status run(tx_fixture *fixture, const char *name, const kedge_buffer *args)
{
    kedge_call call = {.name = kedge_bytes_of(name),
                       .args = kedge_buffer_bytes(args),
                       .caller = {"anna", "editor", "client-1", 1700000000000}};
    fixture->error = (kedge_error){0};
    return kedge_tx_run(fixture->tx, &call, &fixture->error);
}

static void run_both(twins *both, const char *name)
{
    kedge_status expected = run(&both->whole, name, &both->args);
    settle(&both->whole);
    kedge_status found = run(&both->pieces, name, &both->args);
    const kedge_error *a = &both->whole.error, *b = &both->pieces.error;
    if (found != expected || strcmp(a->code, b->code) != 0 || strcmp(a->message, b->message) != 0)
        fail_msg("seed %llu, %s: %s (%s), not %s (%s)", (unsigned long long)both->first_seed, name,
                 b->code, b->message, a->code, a->message);
    assert_true(found == KEDGE_OK || found == KEDGE_REJECTED);
    both->applied += found == KEDGE_OK;
    both->refused += found != KEDGE_OK;
}

static bool find(const tx_fixture *fixture, const kedge_overlay_entry *key,
                 kedge_overlay_entry *entry)
{
    return kedge_overlay_get(fixture->overlay, key->collection, key->id, entry) ||
           kedge_overlay_get(fixture->below, key->collection, key->id, entry);
}

/* A read makes the text of what is in pieces, so that it must not be done after each mutation. */
static void compare(twins *both)
{
    kedge_overlay_entry a, b, at;
    bool more = kedge_overlay_next(both->whole.below, NULL, &a);
    for (; more; more = kedge_overlay_next(both->whole.below, &at, &a)) {
        at = a;
        assert_true(find(&both->pieces, &a, &b));
        if (a.deleted != b.deleted || !kedge_bytes_equal(a.value, b.value))
            fail_msg("seed %llu: %.*s has %zu bytes, and %zu when it was written whole",
                     (unsigned long long)both->first_seed, (int)b.id.size, b.id.data, b.value.size,
                     a.value.size);
    }
    if (both->cut) return;
    assert_int_equal(kedge_overlay_count(both->pieces.overlay),
                     kedge_overlay_count(both->whole.below));
    assert_int_equal(kedge_overlay_bytes(both->pieces.overlay),
                     kedge_overlay_bytes(both->whole.below));
}

/* The run ends, and another one begins on what it left. */
static void cut(twins *both)
{
    settle(&both->pieces);
    both->cut = true;
}

static kedge_bytes item(twins *both, const char *id)
{
    kedge_overlay_entry entry;
    bool known =
        kedge_overlay_get(both->whole.below, KEDGE_BYTES("notes"), kedge_bytes_of(id), &entry);
    return known && !entry.deleted ? entry.value : KEDGE_BYTES("{}");
}

/* ---- args ---- */

static const char *pick_id(twins *both)
{
    static const char *const ids[] = {"a", "a", "a", "a", "a", "b", "b", "c"};
    return ids[random_next(&both->seed, 8)];
}

static const char *write_edit(twins *both, const char *id)
{
    return random_mutation(&both->seed, id, item(both, id), &both->args);
}

/* Some mutations as one; in half of the cases the last is refused. */
static void write_batch(twins *both)
{
    kedge_buffer parts = kedge_buffer_make(&kedge_allocator_default);
    size_t count = 1 + random_next(&both->seed, 6);
    kedge_buffer_append_text(&parts, "{\"mutations\":[");
    for (size_t i = 0; i < count; i++) {
        kedge_buffer_clear(&both->args);
        const char *name = write_edit(both, pick_id(both));
        kedge_buffer_append_format(&parts, "%s{\"name\":\"%s\",\"args\":", i > 0 ? "," : "", name);
        kedge_buffer_append_bytes(&parts, kedge_buffer_bytes(&both->args));
        kedge_buffer_append_byte(&parts, '}');
    }
    if (random_next(&both->seed, 2) == 0)
        kedge_buffer_append_text(&parts, ",{\"name\":\"kedge.put\"}");
    kedge_buffer_append_text(&parts, "]}");
    kedge_buffer_clear(&both->args);
    kedge_buffer_append_bytes(&both->args, kedge_buffer_bytes(&parts));
    kedge_buffer_free(&parts);
}

static void begin_little(kedge_buffer *args, int left, int calls, const char *name)
{
    kedge_buffer_append_format(args, "{\"left\":%d,\"calls\":%d,\"name\":\"%s\",\"args\":", left,
                               calls, name);
}

/* An edit with a budget that ends at any of its steps, or just after them. */
static void write_little(twins *both)
{
    kedge_buffer inner = kedge_buffer_make(&kedge_allocator_default);
    const char *id = pick_id(both), *name = write_edit(both, id);
    size_t size = item(both, id).size;
    kedge_buffer_append_bytes(&inner, kedge_buffer_bytes(&both->args));
    kedge_buffer_clear(&both->args);
    uint64_t left = random_next(&both->seed, 2) == 0
                        ? random_next(&both->seed, 6 * size + 10)
                        : 2 * size - 100 + random_next(&both->seed, 200);
    if (left > KEDGE_LIMIT_MUTATION_BYTES) left = 0;
    begin_little(&both->args, random_next(&both->seed, 10) == 0 ? -1 : (int)left, 0, name);
    kedge_buffer_append_bytes(&both->args, kedge_buffer_bytes(&inner));
    kedge_buffer_append_byte(&both->args, '}');
    kedge_buffer_free(&inner);
}

static void run_any(twins *both)
{
    kedge_buffer_clear(&both->args);
    switch (random_next(&both->seed, 14)) {
    case 0:
    case 1:
        write_batch(both);
        run_both(both, KEDGE_BATCH_MUTATOR);
        break;
    case 2:
    case 3:
        write_little(both);
        run_both(both, "little");
        break;
    case 4:
        if (random_next(&both->seed, 4) > 0) break;
        kedge_buffer_append_text(&both->args, "{}");
        run_both(both, "look");
        break;
    default:
        run_both(both, write_edit(both, pick_id(both)));
    }
}

/* ---- the tests ---- */

static void test_random_histories_have_the_same_outcomes_and_bytes_in_pieces_as_whole(void **state)
{
    (void)state;
    size_t applied = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 120 / SAMPLING_FEWER; seed++) {
        twins both;
        assert_true(open_twins(&both, &kedge_allocator_default, seed));
        random_put(&both.seed, "a", &both.args);
        run_both(&both, "kedge.put");
        for (int i = 0; i < 50; i++) {
            run_any(&both);
            if (random_next(&both.seed, 10) == 0) compare(&both);
            if (seed % 2 == 0 && random_next(&both.seed, 15) == 0) cut(&both);
        }
        compare(&both);
        applied += both.applied;
        refused += both.refused;
        close_twins(&both);
    }
    assert_true(applied > 2000 / SAMPLING_FEWER && refused > 500 / SAMPLING_FEWER);
}

static void append_many(kedge_buffer *out, char byte, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kedge_buffer_append_byte(out, byte);
}

/* A merge that makes the item exactly as large as it may be, and one byte larger. */
static void test_an_item_in_pieces_is_refused_from_the_same_byte_on(void **state)
{
    (void)state;
    twins both;
    assert_true(open_twins(&both, &kedge_allocator_default, 1));
    /* The args of the put must be within the limits, too, so that its last bytes are merged. */
    const size_t last = 500, around = strlen("{\"a\":1,\"t\":\"\",\"u\":\"\"}");
    random_begin_args(&both.args, "a", "value");
    kedge_buffer_append_text(&both.args, "{\"a\":1,\"t\":\"");
    append_many(&both.args, 'x', KEDGE_LIMIT_ITEM_BYTES - 8 - around - last);
    kedge_buffer_append_text(&both.args, "\"}}");
    run_both(&both, "kedge.put");
    kedge_buffer_clear(&both.args);
    random_begin_args(&both.args, "a", "patch");
    kedge_buffer_append_text(&both.args, "{\"u\":\"");
    append_many(&both.args, 'y', last);
    kedge_buffer_append_text(&both.args, "\"}}");
    run_both(&both, "kedge.merge");
    assert_int_equal(item(&both, "a").size, KEDGE_LIMIT_ITEM_BYTES - 8);
    static const char *const edits[] = {"{\"a\":12345678}",    "{\"a\":123456789}",
                                        "{\"a\":1234567890}",  "{\"a\":null}",
                                        "{\"b\":12345678901}", "{\"b\":123456789012}"};
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        kedge_buffer_clear(&both.args);
        random_begin_args(&both.args, "a", "patch");
        kedge_buffer_append_format(&both.args, "%s}", edits[i]);
        run_both(&both, "kedge.merge");
        kedge_buffer_clear(&both.args);
        random_begin_args(&both.args, "a", "add");
        kedge_buffer_append_format(&both.args, "%s}", "{\"a\":900000000}");
        run_both(&both, "kedge.increment");
        kedge_buffer_clear(&both.args);
        random_begin_args(&both.args, "a", "patch");
        kedge_buffer_append_format(&both.args,
                                   "[{\"op\":\"replace\",\"path\":\"/u\",\"value\":\"%0*d\"}]}",
                                   (int)(last + i), 0);
        run_both(&both, "kedge.patch");
    }
    compare(&both);
    assert_true(both.refused >= 3);
    close_twins(&both);
}

/* The same in one batch: the budget of bytes ends at the same part. */
static void test_a_batch_of_merges_costs_the_whole_item_each_time(void **state)
{
    (void)state;
    twins both;
    assert_true(open_twins(&both, &kedge_allocator_default, 7));
    random_begin_args(&both.args, "a", "value");
    random_object(&both.seed, 1000000, &both.args);
    kedge_buffer_append_byte(&both.args, '}');
    run_both(&both, "kedge.put");
    for (int parts = 30; parts < 40; parts += 4) {
        kedge_buffer_clear(&both.args);
        kedge_buffer_append_text(&both.args, "{\"mutations\":[");
        for (int i = 0; i < parts; i++)
            kedge_buffer_append_format(&both.args,
                                       "%s{\"name\":\"kedge.merge\",\"args\":{\"collection\":"
                                       "\"notes\",\"id\":\"a\",\"patch\":{\"z%d\":%d}}}",
                                       i > 0 ? "," : "", i, parts);
        kedge_buffer_append_text(&both.args, "]}");
        run_both(&both, KEDGE_BATCH_MUTATOR);
        compare(&both);
    }
    assert_true(both.refused >= 1 && both.applied >= 2);
    close_twins(&both);
}

static void test_a_merge_makes_the_calls_of_a_read_and_a_write(void **state)
{
    (void)state;
    twins both;
    assert_true(open_twins(&both, &kedge_allocator_default, 9));
    random_begin_args(&both.args, "a", "value");
    random_object(&both.seed, 20000, &both.args);
    kedge_buffer_append_byte(&both.args, '}');
    run_both(&both, "kedge.put");
    kedge_buffer_clear(&both.args);
    kedge_buffer_append_text(&both.args, "{\"collection\":\"notes\",\"id\":\"s\",\"value\":0}");
    run_both(&both, "kedge.put");
    for (int spare = 0; spare <= 2; spare++) {
        kedge_buffer_clear(&both.args);
        begin_little(&both.args, 2000000, KEDGE_LIMIT_MUTATION_OPERATIONS - spare, "kedge.merge");
        random_begin_args(&both.args, "a", "patch");
        kedge_buffer_append_text(&both.args, "{\"z\":1}}}");
        run_both(&both, "little");
    }
    compare(&both);
    assert_int_equal(both.refused, 2);
    close_twins(&both);
}

/* A patch may nest deeper than an item may be, as long as what it leaves does not. */
static void test_an_item_in_pieces_is_refused_from_the_same_depth_on(void **state)
{
    (void)state;
    twins both;
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    assert_true(open_twins(&both, &kedge_allocator_default, 11));
    random_begin_args(&both.args, "a", "value");
    kedge_buffer_append_text(&both.args, "{\"t\":\"");
    append_many(&both.args, 'x', 20000);
    kedge_buffer_append_text(&both.args, "\",\"d\":");
    for (int i = 0; i < KEDGE_LIMIT_JSON_DEPTH - 4; i++) {
        kedge_buffer_append_text(&both.args, "{\"d\":");
        kedge_buffer_append_text(&path, "/d");
    }
    kedge_buffer_append_byte(&both.args, '0');
    append_many(&both.args, '}', KEDGE_LIMIT_JSON_DEPTH - 2);
    run_both(&both, "kedge.put");
    static const char *const edits[] = {
        "{\"op\":\"add\",\"path\":\"%s/d\",\"value\":[[[1]]]}",
        "{\"op\":\"add\",\"path\":\"%s/d\",\"value\":[[[[1]]]]}",
        "{\"op\":\"add\",\"path\":\"%s/d\",\"value\":[[[[1]]]]},"
        "{\"op\":\"remove\",\"path\":\"/d\"}",
    };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        kedge_buffer_clear(&both.args);
        random_begin_args(&both.args, "a", "patch");
        kedge_buffer_append_byte(&both.args, '[');
        kedge_buffer_append_format(&both.args, edits[i], path.data);
        kedge_buffer_append_text(&both.args, "]}");
        run_both(&both, "kedge.patch");
        assert_int_equal(both.refused, i == 0 ? 0 : 1);
    }
    compare(&both);
    close_twins(&both);
    kedge_buffer_free(&path);
}

static void test_a_large_item_that_is_no_object_is_replaced(void **state)
{
    (void)state;
    twins both;
    assert_true(open_twins(&both, &kedge_allocator_default, 10));
    random_begin_args(&both.args, "a", "value");
    kedge_buffer_append_text(&both.args, "[\"");
    append_many(&both.args, 'x', 20000);
    kedge_buffer_append_text(&both.args, "\"]}");
    run_both(&both, "kedge.put");
    for (int i = 0; i < 2; i++) {
        kedge_buffer_clear(&both.args);
        random_begin_args(&both.args, "a", i == 0 ? "add" : "patch");
        kedge_buffer_append_text(&both.args, "{\"z\":1}}");
        run_both(&both, i == 0 ? "kedge.increment" : "kedge.merge");
    }
    compare(&both);
    assert_int_equal(both.refused, 1);
    close_twins(&both);
}

static kedge_status refuse_third(void *context, const kedge_overlay *overlay,
                                 kedge_overlay_mark mark, kedge_error *error)
{
    (void)overlay, (void)mark;
    int *asked = context;
    if (++*asked % 3 > 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_REJECTED, "third", "every third mutation is refused");
}

static void test_a_merge_that_is_not_accepted_leaves_nothing(void **state)
{
    (void)state;
    twins both;
    int asked[2] = {0, 0};
    assert_true(open_twins(&both, &kedge_allocator_default, 8));
    kedge_tx_set_accept(both.pieces.tx, refuse_third, &asked[0]);
    kedge_tx_set_accept(both.whole.tx, refuse_third, &asked[1]);
    random_put(&both.seed, "a", &both.args);
    run_both(&both, "kedge.put");
    for (int i = 0; i < 300; i++) {
        kedge_buffer_clear(&both.args);
        random_merge(&both.seed, "a", item(&both, "a"), &both.args);
        run_both(&both, "kedge.merge");
    }
    compare(&both);
    assert_true(both.refused >= 90);
    close_twins(&both);
}

/* ---- memory that runs out ---- */

static bool edit_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    twins both;
    bool well = open_twins(&both, allocator, 3);
    random_put(&both.seed, "a", &both.args);
    for (int i = 0; well && i < 12; i++) {
        const char *name = i == 0 ? "kedge.put" : i == 8 ? KEDGE_BATCH_MUTATOR : NULL;
        if (i > 0) kedge_buffer_clear(&both.args);
        if (i == 8) {
            write_batch(&both);
        } else if (i == 4) {
            name = "kedge.merge";
            random_begin_args(&both.args, "a", "patch");
            kedge_buffer_append_text(&both.args, "{\"more\":\"");
            append_many(&both.args, 'x', 50000); /* no room for this text yet */
            kedge_buffer_append_text(&both.args, "\"}}");
        } else if (name == NULL) {
            name = write_edit(&both, "a");
        }
        kedge_status expected = run(&both.whole, name, &both.args);
        settle(&both.whole);
        kedge_status found = run(&both.pieces, name, &both.args);
        well = found != KEDGE_NO_MEMORY;
        if (well) assert_int_equal(found, expected);
        /* What found no memory is run again, as by the next try of a push. */
        if (!well && run(&both.pieces, name, &both.args) == expected) compare(&both);
    }
    if (well) compare(&both);
    close_twins(&both);
    return well;
}

static void test_an_allocation_that_fails_decides_nothing_and_the_next_try_does(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(edit_with, NULL, 200) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_histories_have_the_same_outcomes_and_bytes_in_pieces_as_whole),
        cmocka_unit_test(test_an_item_in_pieces_is_refused_from_the_same_byte_on),
        cmocka_unit_test(test_a_batch_of_merges_costs_the_whole_item_each_time),
        cmocka_unit_test(test_a_merge_makes_the_calls_of_a_read_and_a_write),
        cmocka_unit_test(test_an_item_in_pieces_is_refused_from_the_same_depth_on),
        cmocka_unit_test(test_a_large_item_that_is_no_object_is_replaced),
        cmocka_unit_test(test_a_merge_that_is_not_accepted_leaves_nothing),
        cmocka_unit_test(test_an_allocation_that_fails_decides_nothing_and_the_next_try_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
