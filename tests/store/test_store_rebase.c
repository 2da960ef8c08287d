/* The rebase by footprints, against one that runs every pending mutation: over random mutators,
 * edits, deltas, covered prefixes and replaced mutations both give the same rows, and mutations
 * that read nothing new do not run. Some histories have too little memory for all footprints or
 * values, so that all mutations run, which records the footprints anew. The number of random cases
 * can be given: `test_store_rebase 1000000`. */
#include "sdk/store/rebase.h"

#include "common/error.h"
#include "tests/support/sampling.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t random_cases = 100000 / SAMPLING_FEWER;

#define PENDING_MAX     64
#define VALUE_MAX       48 /* longer than a hash */
#define HISTORY_CASES   200
#define FEW_BYTES       6000
#define FEW_VALUE_BYTES 100

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
    int64_t other; /* the sequence of one whose program was replaced since the last pull, or 0 */
    int64_t last_id;
    kedge_footprints footprints;
    bool recorded; /* the footprints are those of what is pending */
} world;

/* How the rebases went. */
static size_t by_footprints, value_missing, not_recorded;

static uint64_t next_random(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15u;
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static const char *const collections[] = {"a", "b"};
static const char *const ids[] = {"", "1", "2", "3", "4"};

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
    char value[VALUE_MAX];
    uint64_t digit = (choice >> 16) % 2 ? run->known % 3 : choice % 3;
    size_t size = (choice >> 32) % 2 ? 1 : sizeof value;
    kedge_bytes collection = some_collection(choice), id = some_id(choice >> 8);
    memset(value, (char)('0' + (char)digit), sizeof value);
    if ((choice >> 24) % 5 == 0)
        kedge_overlay_delete(run->written, collection, id, NULL);
    else
        kedge_overlay_put(run->written, collection, id, (kedge_bytes){value, size}, NULL);
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

/* As kedge_replay_record does it. */
static void record(world *all, const mutation *made, const kedge_recording *recording,
                   const kedge_overlay *written, kedge_state_reader before)
{
    if (all->recorded && kedge_footprints_add(&all->footprints, made->sequence, made->id, recording,
                                              written, before, NULL) == KEDGE_OK)
        return;
    all->recorded = false;
    kedge_footprints_clear(&all->footprints);
}

static void edit(world *all)
{
    static kedge_overlay_view shown; /* outlives this call only for the reader */
    kedge_recording recording;
    kedge_overlay *written = new_overlay();
    kedge_overlay_entry entry, at;
    char text[VALUE_MAX];
    mutation made = {.sequence = 2 * (all->last_id + 1),
                     .id = all->last_id + 1,
                     .program = next_random(&all->seed)};
    shown = (kedge_overlay_view){all->item, kedge_state_reader_empty};
    kedge_state_reader reader = kedge_overlay_reader(&shown);
    assert_int_equal(kedge_recording_begin(&recording, &kedge_allocator_default, reader, NULL),
                     KEDGE_OK);
    assert_int_equal(run_program(made.program, kedge_recording_reader(&recording), written),
                     KEDGE_OK);
    if (all->count == 0) all->recorded = true;
    record(all, &made, &recording, written, reader);
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
        char text[VALUE_MAX];
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

static void add_changes(kedge_overlay *changes, const kedge_overlay *written)
{
    kedge_overlay_entry entry, at;
    for (bool more = kedge_overlay_next(written, NULL, &entry); more;
         more = kedge_overlay_next(written, &at, &entry)) {
        at = entry;
        if (entry.deleted)
            kedge_overlay_delete(changes, entry.collection, entry.id, NULL);
        else
            kedge_overlay_put(changes, entry.collection, entry.id, entry.value, NULL);
    }
}

/* Runs the mutation on the state, and adds its changes to it and to `changes`. */
static void run_on(uint64_t seed, kedge_overlay *state, kedge_overlay *changes)
{
    kedge_overlay_view view = {state, kedge_state_reader_empty};
    kedge_overlay *written = new_overlay();
    assert_int_equal(run_program(seed, kedge_overlay_reader(&view), written), KEDGE_OK);
    if (changes) add_changes(changes, written);
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
        char texts[4][VALUE_MAX];
        kedge_bytes collection = some_collection(i), id = some_id(i / 2);
        kedge_overlay_entry want = copy_of(visible, collection, id, texts[0], VALUE_MAX);
        kedge_overlay_entry have = copy_of(all->item, collection, id, texts[1], VALUE_MAX);
        assert_int_equal(want.deleted, have.deleted);
        assert_true(kedge_bytes_equal(want.value, have.value));
        want = copy_of(canonical, collection, id, texts[2], VALUE_MAX);
        have = canonical_of(all, collection, id, texts[3], VALUE_MAX);
        assert_int_equal(want.deleted, have.deleted);
        assert_true(kedge_bytes_equal(want.value, have.value));
    }
}

/* `bases` NULL: of every key. */
static void write_rows(world *all, const kedge_overlay *bases, const kedge_overlay *delta,
                       const kedge_overlay *prediction)
{
    for (size_t i = 0; i < 10; i++) {
        char text[2][VALUE_MAX];
        kedge_bytes collection = some_collection(i), id = some_id(i / 2);
        kedge_overlay_entry entry;
        if (bases && !kedge_overlay_get(bases, collection, id, &entry) &&
            !kedge_overlay_get(delta, collection, id, &entry) &&
            !kedge_overlay_get(prediction, collection, id, &entry))
            continue;
        kedge_overlay_entry canonical = canonical_of(all, collection, id, text[0], VALUE_MAX);
        if (kedge_overlay_get(delta, collection, id, &entry))
            canonical = copy_of(delta, collection, id, text[0], VALUE_MAX);
        kedge_overlay_entry visible = canonical;
        if (kedge_overlay_get(prediction, collection, id, &entry))
            visible = copy_of(prediction, collection, id, text[1], VALUE_MAX);
        write_row(all, collection, id, &canonical, &visible);
    }
}

/* Runs all that is pending, and records it anew. */
static void replay_all(world *all, const kedge_overlay *canonical, const kedge_overlay *delta)
{
    kedge_overlay *prediction = new_overlay(), *written = new_overlay();
    kedge_overlay_view below = {canonical, kedge_state_reader_empty};
    kedge_overlay_view view = {prediction, kedge_overlay_reader(&below)};
    kedge_state_reader reader = kedge_overlay_reader(&view);
    kedge_recording recording;
    kedge_footprints_clear(&all->footprints);
    all->recorded = true;
    assert_int_equal(kedge_recording_begin(&recording, &kedge_allocator_default, reader, NULL),
                     KEDGE_OK);
    for (size_t i = 0; i < all->count; i++) {
        kedge_overlay_clear(written);
        kedge_recording_restart(&recording);
        assert_int_equal(
            run_program(all->pending[i].program, kedge_recording_reader(&recording), written),
            KEDGE_OK);
        record(all, &all->pending[i], &recording, written, reader);
        add_changes(prediction, written);
    }
    write_rows(all, NULL, delta, prediction);
    kedge_recording_end(&recording);
    kedge_overlay_free(written);
    kedge_overlay_free(prediction);
}

/* Returns how many mutations ran again; false: the footprints do not tell it. */
static bool advance(world *all, int64_t lmid, const kedge_overlay *delta, size_t *runs)
{
    kedge_overlay *bases = new_overlay(), *prediction = new_overlay();
    kedge_overlay_view shown = {all->item, kedge_state_reader_empty};
    kedge_rebase work = {.footprints = &all->footprints,
                         .lmid = lmid,
                         .other = all->other,
                         .delta = delta,
                         .shown = kedge_overlay_reader(&shown),
                         .base = base_get,
                         .base_context = all,
                         .run = run_again,
                         .run_context = all};
    kedge_status status = kedge_rebase_pending(&work, bases, prediction, NULL);
    if (status == KEDGE_OK) {
        write_rows(all, bases, delta, prediction);
        *runs = work.runs;
        by_footprints++;
    } else if (status == KEDGE_DONE) {
        value_missing++;
    } else {
        assert_int_equal(status, KEDGE_NO_MEMORY);
    }
    kedge_overlay_free(prediction);
    kedge_overlay_free(bases);
    return status == KEDGE_OK;
}

/* As a cancel does it. */
static void replace_one(world *all, size_t covered)
{
    size_t at = covered + (size_t)(next_random(&all->seed) % (all->count - covered));
    all->pending[at].program = next_random(&all->seed);
    all->other = all->pending[at].sequence;
}

/* Returns how many mutations ran again. */
static size_t pull(world *all, size_t covered, const kedge_overlay *delta)
{
    kedge_overlay *canonical = canonical_state(all);
    int64_t lmid = covered > 0 ? all->pending[covered - 1].id : 0;
    size_t runs = 0;
    lay_over(canonical, delta);
    bool advanced = all->recorded && advance(all, lmid, delta, &runs);
    if (!all->recorded) not_recorded++;
    memmove(all->pending, all->pending + covered, (all->count - covered) * sizeof(mutation));
    all->count -= covered;
    if (!advanced) {
        replay_all(all, canonical, delta);
        runs = all->count;
    }
    kedge_overlay *visible = new_overlay();
    lay_over(visible, canonical);
    for (size_t i = 0; i < all->count; i++)
        run_on(all->pending[i].program, visible, NULL);
    check_rows(all, canonical, visible);
    all->other = 0;
    kedge_overlay_free(visible);
    kedge_overlay_free(canonical);
    return runs;
}

static world *open_world(uint64_t seed)
{
    world *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->seed = seed;
    all->item = new_overlay();
    all->base = new_overlay();
    kedge_footprints_init(&all->footprints, &kedge_allocator_default);
    if (seed / HISTORY_CASES % 4 == 1) all->footprints.bytes_max = FEW_BYTES;
    if (seed / HISTORY_CASES % 2 == 1) all->footprints.value_bytes_max = FEW_VALUE_BYTES;
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
        if (i % HISTORY_CASES == 0) {
            close_world(all);
            all = open_world(i + 1);
        }
        for (uint64_t edits = next_random(&all->seed) % 6; edits > 0 && all->count < PENDING_MAX;
             edits--)
            edit(all);
        size_t covered = all->count == 0 ? 0 : (size_t)(next_random(&all->seed) % (all->count + 1));
        if (next_random(&all->seed) % 4 != 0) covered /= 4;
        kedge_overlay *delta = make_delta(all, covered);
        if (covered < all->count && next_random(&all->seed) % 4 == 0) replace_one(all, covered);
        runs += pull(all, covered, delta);
        pending += all->count;
        kedge_overlay_free(delta);
    }
    close_world(all);
    print_message("%zu rebases, %zu mutations pending, %zu of them ran again\n", random_cases,
                  pending, runs);
    print_message("%zu by footprints, %zu lacked a value, %zu had no footprints\n", by_footprints,
                  value_missing, not_recorded);
    assert_true(runs > 0 && runs < pending);
    assert_true(by_footprints > value_missing + not_recorded);
    assert_true(random_cases < 4 * HISTORY_CASES || (value_missing > 0 && not_recorded > 0));
}

int main(int argc, char **argv)
{
    if (argc > 1) random_cases = strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rebase_gives_what_running_every_mutation_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
