/* Footprints whose values take too much memory: of these only hashes are kept, which tell whether a
 * value is the same, and not what it is. */
#include "sdk/store/rebase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static kedge_overlay *new_overlay(void)
{
    kedge_overlay *made = kedge_overlay_new(&kedge_allocator_default);
    assert_non_null(made);
    return made;
}

#define LONG_BYTES 1048576
#define LONG_EDITS 24

typedef struct long_world {
    kedge_overlay *item;
    kedge_footprints footprints;
    char *text;
} long_world;

static kedge_bytes long_value(long_world *all, int64_t sequence)
{
    memset(all->text, 'a' + (int)(sequence % 26), LONG_BYTES);
    return (kedge_bytes){all->text, LONG_BYTES};
}

static kedge_status no_base(void *context, kedge_bytes collection, kedge_bytes id, bool *present,
                            kedge_buffer *value, kedge_error *error)
{
    (void)context, (void)collection, (void)id, (void)value, (void)error;
    *present = false;
    return KEDGE_OK;
}

/* Reads the key and writes it. */
static kedge_status run_long(void *context, int64_t sequence, kedge_state_reader state,
                             kedge_overlay *written, kedge_error *error)
{
    long_world *all = context;
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status =
        state.get(state.context, KEDGE_BYTES("a"), KEDGE_BYTES("1"), &value, error);
    kedge_buffer_free(&value);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    return kedge_overlay_put(written, KEDGE_BYTES("a"), KEDGE_BYTES("1"), long_value(all, sequence),
                             error);
}

static void add_long(long_world *all, int64_t sequence)
{
    kedge_overlay_view shown = {all->item, kedge_state_reader_empty};
    kedge_recording recording;
    kedge_overlay *written = new_overlay();
    kedge_state_reader reader = kedge_overlay_reader(&shown);
    assert_int_equal(kedge_recording_begin(&recording, &kedge_allocator_default, reader, NULL),
                     KEDGE_OK);
    assert_int_equal(run_long(all, sequence, kedge_recording_reader(&recording), written, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_footprints_add(&all->footprints, sequence, sequence, &recording, written,
                                          reader, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_overlay_put(all->item, KEDGE_BYTES("a"), KEDGE_BYTES("1"),
                                       long_value(all, sequence), NULL),
                     KEDGE_OK);
    kedge_recording_end(&recording);
    kedge_overlay_free(written);
}

static kedge_status pull_long(long_world *all, int64_t lmid, int64_t value, size_t *runs)
{
    kedge_overlay *delta = new_overlay(), *bases = new_overlay(), *prediction = new_overlay();
    kedge_overlay_view shown = {all->item, kedge_state_reader_empty};
    kedge_rebase work = {.footprints = &all->footprints,
                         .lmid = lmid,
                         .delta = delta,
                         .shown = kedge_overlay_reader(&shown),
                         .base = no_base,
                         .run = run_long,
                         .run_context = all};
    assert_int_equal(
        kedge_overlay_put(delta, KEDGE_BYTES("a"), KEDGE_BYTES("1"), long_value(all, value), NULL),
        KEDGE_OK);
    kedge_status status = kedge_rebase_pending(&work, bases, prediction, NULL);
    *runs = work.runs;
    kedge_overlay_free(prediction);
    kedge_overlay_free(bases);
    kedge_overlay_free(delta);
    return status;
}

static void test_values_that_take_too_much_are_kept_as_hashes(void **state)
{
    long_world all = {.item = new_overlay(), .text = malloc(LONG_BYTES)};
    size_t runs;
    (void)state;
    assert_non_null(all.text);
    kedge_footprints_init(&all.footprints, &kedge_allocator_default);
    for (int64_t i = 1; i <= LONG_EDITS; i++)
        add_long(&all, i);
    assert_true(all.footprints.value_bytes <= KEDGE_FOOTPRINTS_VALUE_BYTES);
    assert_true(all.footprints.bytes < KEDGE_FOOTPRINTS_VALUE_BYTES + LONG_BYTES);
    /* Predicted right: nothing runs. */
    assert_int_equal(pull_long(&all, 20, 20, &runs), KEDGE_OK);
    assert_int_equal(runs, 0);
    /* Predicted wrong: the next one runs. It writes what it wrote before, so no other does. */
    assert_int_equal(pull_long(&all, 21, 1, &runs), KEDGE_OK);
    assert_int_equal(runs, 1);
    kedge_footprints_clear(&all.footprints);
    kedge_overlay_free(all.item);
    free(all.text);
}

static void test_a_mutation_that_needs_a_value_that_is_not_kept_makes_all_run(void **state)
{
    long_world all = {.item = new_overlay(), .text = malloc(LONG_BYTES)};
    size_t runs;
    (void)state;
    assert_non_null(all.text);
    kedge_footprints_init(&all.footprints, &kedge_allocator_default);
    for (int64_t i = 1; i <= LONG_EDITS; i++)
        add_long(&all, i);
    /* The last one has also read another key, which is changed now. */
    kedge_used_key *key =
        kedge_footprints_find(&all.footprints, KEDGE_BYTES("a"), KEDGE_BYTES("1"));
    assert_non_null(key);
    assert_int_equal(kedge_key_write_before(key, LONG_EDITS)->kind, KEDGE_USE_HASHED);
    kedge_overlay *delta = new_overlay(), *bases = new_overlay(), *prediction = new_overlay();
    kedge_overlay *read = new_overlay();
    kedge_overlay_put(read, KEDGE_BYTES("a"), KEDGE_BYTES("1"), (kedge_bytes){NULL, 0}, NULL);
    kedge_overlay_put(read, KEDGE_BYTES("a"), KEDGE_BYTES("2"), (kedge_bytes){NULL, 0}, NULL);
    kedge_recording recording = {.allocator = &kedge_allocator_default, .keys = read};
    kedge_overlay *written = new_overlay();
    kedge_overlay_put(written, KEDGE_BYTES("a"), KEDGE_BYTES("1"), (kedge_bytes){NULL, 0}, NULL);
    assert_int_equal(kedge_footprint_replace(&all.footprints,
                                             kedge_footprints_from(&all.footprints, LONG_EDITS),
                                             &recording, written, NULL),
                     KEDGE_OK);
    kedge_overlay_put(delta, KEDGE_BYTES("a"), KEDGE_BYTES("2"), KEDGE_BYTES("1"), NULL);
    kedge_overlay_view shown = {all.item, kedge_state_reader_empty};
    kedge_rebase work = {.footprints = &all.footprints,
                         .delta = delta,
                         .shown = kedge_overlay_reader(&shown),
                         .base = no_base,
                         .run = run_long,
                         .run_context = &all};
    assert_int_equal(kedge_rebase_pending(&work, bases, prediction, NULL), KEDGE_DONE);
    runs = work.runs;
    assert_int_equal(runs, 1);
    kedge_overlay_free(written);
    kedge_overlay_free(read);
    kedge_overlay_free(prediction);
    kedge_overlay_free(bases);
    kedge_overlay_free(delta);
    kedge_footprints_clear(&all.footprints);
    kedge_overlay_free(all.item);
    free(all.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_that_take_too_much_are_kept_as_hashes),
        cmocka_unit_test(test_a_mutation_that_needs_a_value_that_is_not_kept_makes_all_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
