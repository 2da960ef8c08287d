/* The rebase by footprints, against one that runs every pending mutation: over random mutators,
 * edits, deltas and covered prefixes both give the same rows, and mutations that read nothing new
 * do not run. The number of random cases can be given: `test_store_rebase 100000`. */
#include "sdk/store/rebase.h"

#include "common/error.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t random_cases = 20000;

#define PENDING_MAX 64

/* ---- a small state: both tables of a cache, and what is pending ---- */

typedef struct mutation {
    int64_t sequence;
    int64_t id;
    uint64_t program;
} mutation;

typedef struct world {
    uint64_t seed;
    kedge_overlay *item; /* without deletions */
    kedge_overlay *base;
    mutation pending[PENDING_MAX];
    size_t count;
    int64_t last_id;
    kedge_footprints footprints;
} world;

static uint64_t next_random(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15u;
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static const char *const collections[] = {"a", "b"};
static const char *const ids[] = {"1", "2", "3", "4", "5"};

static kedge_bytes some_collection(uint64_t choice)
{
    return kedge_bytes_of(collections[choice % 2]);
}

static kedge_bytes some_id(uint64_t choice)
{
    return kedge_bytes_of(ids[choice % 5]);
}

static void set(kedge_overlay *rows, kedge_bytes collection, kedge_bytes id,
                const kedge_overlay_entry *value)
{
    if (value->deleted)
        kedge_overlay_forget(rows, collection, id);
    else
        assert_int_equal(kedge_overlay_put(rows, collection, id, value->value, NULL), KEDGE_OK);
}

/* ---- random mutators ---- */

static uint64_t mix(uint64_t known, kedge_bytes value)
{
    for (size_t i = 0; i < value.size; i++)
        known = (known ^ (unsigned char)value.data[i]) * 0x100000001b3u;
    return known;
}

typedef struct program {
    uint64_t seed;
    uint64_t known; /* depends on all that was read */
    kedge_state_reader state;
    kedge_overlay *written;
} program;

static kedge_status read_one(program *run, uint64_t choice)
{
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = run->state.get(run->state.context, some_collection(choice),
                                         some_id(choice >> 8), &value, NULL);
    run->known = mix(run->known + (status == KEDGE_OK), kedge_buffer_bytes(&value));
    kedge_buffer_free(&value);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status scan(program *run, uint64_t choice)
{
    kedge_buffer id = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    bool from_start = choice % 2 == 0;
    kedge_status status = KEDGE_OK;
    kedge_buffer_append_bytes(&after, some_id(choice >> 8));
    for (uint64_t i = 0; i <= (choice >> 16) % 4 && status == KEDGE_OK; i++) {
        kedge_buffer_clear(&id);
        kedge_buffer_clear(&value);
        status = run->state.next(run->state.context, some_collection(choice >> 24), from_start,
                                 kedge_buffer_bytes(&after), &id, &value, NULL);
        run->known = mix(mix(run->known + (status == KEDGE_OK), kedge_buffer_bytes(&id)),
                         kedge_buffer_bytes(&value));
        kedge_buffer_clear(&after);
        kedge_buffer_append_bytes(&after, kedge_buffer_bytes(&id));
        from_start = false;
    }
    kedge_buffer_free(&id);
    kedge_buffer_free(&value);
    kedge_buffer_free(&after);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static void write_one(program *run, uint64_t choice)
{
    char value = (char)('0' + ((choice >> 16) % 2 ? run->known % 3 : choice % 3));
    kedge_bytes collection = some_collection(choice), id = some_id(choice >> 8);
    if ((choice >> 24) % 5 == 0)
        kedge_overlay_delete(run->written, collection, id, NULL);
    else
        kedge_overlay_put(run->written, collection, id, (kedge_bytes){&value, 1}, NULL);
}

/* Reads, scans and writes at random; some of it depends on what was read. One in eight is rejected,
 * which may depend on that, too. */
static kedge_status run_program(uint64_t seed, kedge_state_reader state, kedge_overlay *written)
{
    kedge_overlay_view view = {written, state};
    program run = {.seed = seed, .state = kedge_overlay_reader(&view), .written = written};
    kedge_status status = KEDGE_OK;
    uint64_t steps = 1 + next_random(&run.seed) % 4;
    for (uint64_t i = 0; i < steps && status == KEDGE_OK; i++) {
        uint64_t choice = next_random(&run.seed);
        if (choice % 8 < 3)
            status = read_one(&run, choice >> 8);
        else if (choice % 8 == 3)
            status = scan(&run, choice >> 8);
        else
            write_one(&run, choice >> 8);
    }
    uint64_t verdict = next_random(&run.seed);
    if (verdict % 8 == 0 && (verdict % 16 == 0 || run.known % 2 == 0)) kedge_overlay_clear(written);
    return status;
}

static kedge_status run_again(void *context, int64_t sequence, kedge_state_reader state,
                              kedge_overlay *written, kedge_error *error)
{
    const world *all = context;
    (void)error;
    for (size_t i = 0; i < all->count; i++)
        if (all->pending[i].sequence == sequence)
            return run_program(all->pending[i].program, state, written);
    fail_msg("mutation %" PRId64 " is not pending", sequence);
    return KEDGE_INTERNAL;
}

/* ---- readers ---- */

static kedge_status base_get(void *context, kedge_bytes collection, kedge_bytes id, bool *present,
                             kedge_buffer *value, kedge_error *error)
{
    const world *all = context;
    kedge_overlay_entry entry;
    (void)error;
    if (!kedge_overlay_get(all->base, collection, id, &entry)) return KEDGE_NOT_FOUND;
    *present = !entry.deleted;
    kedge_buffer_append_bytes(value, entry.value);
    return KEDGE_OK;
}

static kedge_overlay *new_overlay(void)
{
    kedge_overlay *made = kedge_overlay_new(&kedge_allocator_default);
    assert_non_null(made);
    return made;
}

/* ---- an edit ---- */

static void write_row(world *all, kedge_bytes collection, kedge_bytes id,
                      const kedge_overlay_entry *canonical, const kedge_overlay_entry *visible)
{
    bool same = canonical->deleted == visible->deleted &&
                (canonical->deleted || kedge_bytes_equal(canonical->value, visible->value));
    set(all->item, collection, id, visible);
    if (same)
        kedge_overlay_forget(all->base, collection, id);
    else if (canonical->deleted)
        assert_int_equal(kedge_overlay_delete(all->base, collection, id, NULL), KEDGE_OK);
    else
        assert_int_equal(kedge_overlay_put(all->base, collection, id, canonical->value, NULL),
                         KEDGE_OK);
}

/* A copy of the entry, since writing moves what is borrowed. */
static kedge_overlay_entry copy_of(const kedge_overlay *rows, kedge_bytes collection,
                                   kedge_bytes id, char *text, size_t size)
{
    kedge_overlay_entry entry;
    if (!kedge_overlay_get(rows, collection, id, &entry) || entry.deleted)
        return (kedge_overlay_entry){.deleted = true};
    assert_true(entry.value.size <= size);
    memcpy(text, entry.value.data, entry.value.size);
    return (kedge_overlay_entry){.value = {text, entry.value.size}};
}

static kedge_overlay_entry canonical_of(const world *all, kedge_bytes collection, kedge_bytes id,
                                        char *text, size_t size)
{
    kedge_overlay_entry entry;
    bool based = kedge_overlay_get(all->base, collection, id, &entry);
    return copy_of(based ? all->base : all->item, collection, id, text, size);
}

static void edit(world *all)
{
    static kedge_overlay_view shown; /* outlives this call only for the reader */
    kedge_recording recording;
    kedge_overlay *written = new_overlay();
    kedge_overlay_entry entry, at;
    char text[8];
    mutation made = {.sequence = 2 * (all->last_id + 1),
                     .id = all->last_id + 1,
                     .program = next_random(&all->seed)};
    shown = (kedge_overlay_view){all->item, kedge_state_reader_empty};
    kedge_state_reader reader = kedge_overlay_reader(&shown);
    assert_int_equal(kedge_recording_begin(&recording, &kedge_allocator_default, reader, NULL),
                     KEDGE_OK);
    assert_int_equal(run_program(made.program, kedge_recording_reader(&recording), written),
                     KEDGE_OK);
    assert_int_equal(kedge_footprints_add(&all->footprints, made.sequence, made.id, &recording,
                                          written, reader, NULL),
                     KEDGE_OK);
    for (bool more = kedge_overlay_next(written, NULL, &entry); more;
         more = kedge_overlay_next(written, &at, &entry)) {
        at = entry;
        kedge_overlay_entry canonical =
            canonical_of(all, entry.collection, entry.id, text, sizeof text);
        write_row(all, entry.collection, entry.id, &canonical, &entry);
    }
    kedge_recording_end(&recording);
    kedge_overlay_free(written);
    all->pending[all->count++] = made;
    all->last_id++;
}

/* ---- a pull ---- */

/* The canonical state of now, without the delta. */
static kedge_overlay *canonical_state(const world *all)
{
    kedge_overlay *state = new_overlay();
    for (size_t i = 0; i < 10; i++) {
        char text[8];
        kedge_bytes collection = some_collection(i), id = some_id(i / 2);
        kedge_overlay_entry entry = canonical_of(all, collection, id, text, sizeof text);
        set(state, collection, id, &entry);
    }
    return state;
}

static void lay_over(kedge_overlay *state, const kedge_overlay *changes)
{
    kedge_overlay_entry entry, at;
    for (bool more = kedge_overlay_next(changes, NULL, &entry); more;
         more = kedge_overlay_next(changes, &at, &entry)) {
        at = entry;
        set(state, entry.collection, entry.id, &entry);
    }
}

/* Runs the mutation on the state, and adds its changes to it and to `changes`. */
static void run_on(uint64_t seed, kedge_overlay *state, kedge_overlay *changes)
{
    kedge_overlay_view view = {state, kedge_state_reader_empty};
    kedge_overlay *written = new_overlay();
    kedge_overlay_entry entry, at;
    assert_int_equal(run_program(seed, kedge_overlay_reader(&view), written), KEDGE_OK);
    for (bool more = kedge_overlay_next(written, NULL, &entry); more && changes;
         more = kedge_overlay_next(written, &at, &entry)) {
        at = entry;
        if (entry.deleted)
            kedge_overlay_delete(changes, entry.collection, entry.id, NULL);
        else
            kedge_overlay_put(changes, entry.collection, entry.id, entry.value, NULL);
    }
    lay_over(state, written);
    kedge_overlay_free(written);
}

/* What the server did: some edits of others, and the covered prefix of ours, which it may have
 * decided otherwise than predicted because of them. */
static kedge_overlay *make_delta(world *all, size_t covered)
{
    kedge_overlay *state = canonical_state(all);
    kedge_overlay *delta = new_overlay();
    for (uint64_t others = next_random(&all->seed) % 3; others > 0; others--)
        run_on(next_random(&all->seed), state, delta);
    for (size_t i = 0; i < covered; i++)
        run_on(all->pending[i].program, state, delta);
    kedge_overlay_free(state);
    return delta;
}

static void check_rows(const world *all, const kedge_overlay *canonical,
                       const kedge_overlay *visible)
{
    for (size_t i = 0; i < 10; i++) {
        char texts[4][8];
        kedge_bytes collection = some_collection(i), id = some_id(i / 2);
        kedge_overlay_entry want = copy_of(visible, collection, id, texts[0], 8);
        kedge_overlay_entry have = copy_of(all->item, collection, id, texts[1], 8);
        assert_int_equal(want.deleted, have.deleted);
        assert_true(kedge_bytes_equal(want.value, have.value));
        want = copy_of(canonical, collection, id, texts[2], 8);
        have = canonical_of(all, collection, id, texts[3], 8);
        assert_int_equal(want.deleted, have.deleted);
        assert_true(kedge_bytes_equal(want.value, have.value));
    }
}

static void write_rows(world *all, const kedge_overlay *bases, const kedge_overlay *delta,
                       const kedge_overlay *prediction)
{
    for (size_t i = 0; i < 10; i++) {
        char text[2][8];
        kedge_bytes collection = some_collection(i), id = some_id(i / 2);
        kedge_overlay_entry entry;
        if (!kedge_overlay_get(bases, collection, id, &entry) &&
            !kedge_overlay_get(delta, collection, id, &entry) &&
            !kedge_overlay_get(prediction, collection, id, &entry))
            continue;
        kedge_overlay_entry canonical = canonical_of(all, collection, id, text[0], 8);
        if (kedge_overlay_get(delta, collection, id, &entry))
            canonical = copy_of(delta, collection, id, text[0], 8);
        kedge_overlay_entry visible = canonical;
        if (kedge_overlay_get(prediction, collection, id, &entry))
            visible = copy_of(prediction, collection, id, text[1], 8);
        write_row(all, collection, id, &canonical, &visible);
    }
}

/* Returns how many mutations ran again. */
static size_t pull(world *all, size_t covered, const kedge_overlay *delta)
{
    kedge_overlay *canonical = canonical_state(all);
    kedge_overlay *bases = new_overlay(), *prediction = new_overlay();
    kedge_overlay_view shown = {all->item, kedge_state_reader_empty};
    kedge_rebase work = {.footprints = &all->footprints,
                         .lmid = covered > 0 ? all->pending[covered - 1].id : 0,
                         .delta = delta,
                         .shown = kedge_overlay_reader(&shown),
                         .base = base_get,
                         .base_context = all,
                         .run = run_again,
                         .run_context = all};
    lay_over(canonical, delta);
    assert_int_equal(kedge_rebase_pending(&work, bases, prediction, NULL), KEDGE_OK);
    write_rows(all, bases, delta, prediction);
    memmove(all->pending, all->pending + covered, (all->count - covered) * sizeof(mutation));
    all->count -= covered;
    kedge_overlay *visible = new_overlay();
    lay_over(visible, canonical);
    for (size_t i = 0; i < all->count; i++)
        run_on(all->pending[i].program, visible, NULL);
    check_rows(all, canonical, visible);
    kedge_overlay_free(visible);
    kedge_overlay_free(prediction);
    kedge_overlay_free(bases);
    kedge_overlay_free(canonical);
    return work.runs;
}

static world *open_world(uint64_t seed)
{
    world *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->seed = seed;
    all->item = new_overlay();
    all->base = new_overlay();
    kedge_footprints_init(&all->footprints, &kedge_allocator_default);
    return all;
}

static void close_world(world *all)
{
    kedge_footprints_clear(&all->footprints);
    kedge_overlay_free(all->base);
    kedge_overlay_free(all->item);
    free(all);
}

/* ---- the tests ---- */

static void test_a_rebase_gives_what_running_every_mutation_gives(void **state)
{
    size_t runs = 0, pending = 0;
    (void)state;
    world *all = open_world(0);
    for (size_t i = 0; i < random_cases; i++) {
        if (i % 200 == 0) {
            close_world(all);
            all = open_world(i + 1);
        }
        for (uint64_t edits = next_random(&all->seed) % 6; edits > 0 && all->count < PENDING_MAX;
             edits--)
            edit(all);
        size_t covered = all->count == 0 ? 0 : next_random(&all->seed) % (all->count + 1);
        if (next_random(&all->seed) % 4 != 0) covered /= 4;
        kedge_overlay *delta = make_delta(all, covered);
        runs += pull(all, covered, delta);
        pending += all->count;
        kedge_overlay_free(delta);
    }
    close_world(all);
    print_message("%zu rebases, %zu mutations pending, %zu of them ran again\n", random_cases,
                  pending, runs);
    assert_true(runs > 0 && runs < pending);
}

/* ---- long values, of which only hashes are kept ---- */

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
    lay_over(all->item, written);
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

int main(int argc, char **argv)
{
    if (argc > 1) random_cases = strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rebase_gives_what_running_every_mutation_gives),
        cmocka_unit_test(test_values_that_take_too_much_are_kept_as_hashes),
        cmocka_unit_test(test_a_mutation_that_needs_a_value_that_is_not_kept_makes_all_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
