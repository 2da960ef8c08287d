/* Which damaged row is which missing mutation: random outboxes whose truth is known. */
#include "sdk/store/outbox_heal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CASES    20000
#define ROWS_MAX 12

typedef enum fate { PRESENT, DAMAGED, MISSING, EARLIER } fate;

typedef struct row {
    int64_t sequence;
    int64_t id; /* 0: of an earlier client */
    fate fate;
    bool id_legible;
} row;

typedef struct outbox {
    row rows[ROWS_MAX];
    size_t count;
    kedge_outbox_healing heal;
} outbox;

static uint64_t seed = 1;

static uint64_t below(uint64_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % limit;
}

static void draw(outbox *of)
{
    int64_t sequence = 0, id = 0;
    of->count = 1 + (size_t)below(ROWS_MAX);
    for (size_t i = 0; i < of->count; i++) {
        row *at = &of->rows[i];
        sequence += 1 + (int64_t)(below(3) == 0 ? below(4) : 0);
        at->sequence = sequence;
        at->fate = (fate)below(4);
        at->id = at->fate == EARLIER ? 0 : ++id;
        at->id_legible = below(4) != 0;
    }
}

static void add_missing(outbox *of, size_t at)
{
    kedge_missing_id missing = {.id = of->rows[at].id, .high = INT64_MAX};
    for (size_t i = 0; i < of->count; i++) {
        const row *other = &of->rows[i];
        if (other->fate != PRESENT) continue;
        if (i < at) missing.low = other->sequence;
        if (i > at && missing.high == INT64_MAX) missing.high = other->sequence;
    }
    if (missing.high == INT64_MAX) missing.high = of->rows[of->count - 1].sequence + 1;
    kedge_buffer_append(&of->heal.missing, &missing, sizeof missing);
    of->heal.missing_count++;
}

static void describe(outbox *of)
{
    of->heal = (kedge_outbox_healing){.orphans = kedge_buffer_make(&kedge_allocator_default),
                                      .taken = kedge_buffer_make(&kedge_allocator_default),
                                      .missing = kedge_buffer_make(&kedge_allocator_default)};
    for (size_t i = 0; i < of->count; i++) {
        const row *at = &of->rows[i];
        kedge_orphan orphan = {
            .key = at->sequence, .id = at->id_legible ? at->id : 999, .ours = true};
        if (at->fate == EARLIER)
            kedge_buffer_append(&of->heal.taken, &at->sequence, sizeof at->sequence);
        if (at->fate == DAMAGED || at->fate == MISSING) add_missing(of, i);
        if (at->fate != DAMAGED) continue;
        kedge_buffer_append(&of->heal.orphans, &orphan, sizeof orphan);
        of->heal.orphan_count++;
    }
}

static bool has_row(const outbox *of, int64_t sequence)
{
    for (size_t i = 0; i < of->count; i++)
        if (of->rows[i].sequence == sequence && of->rows[i].fate != DAMAGED &&
            of->rows[i].fate != MISSING)
            return true;
    return false;
}

/* The hole of the row has each of its rows, or shows the id of each that is left: nothing is left
 * to guess. */
static bool is_told(const outbox *of, size_t at)
{
    bool all = true, legible = true;
    size_t first = at, end = at;
    while (first > 0 && of->rows[first - 1].fate != PRESENT)
        first--;
    while (end < of->count && of->rows[end].fate != PRESENT)
        end++;
    for (size_t i = first; i < end; i++) {
        all = all && of->rows[i].fate != MISSING;
        legible = legible && (of->rows[i].fate != DAMAGED || of->rows[i].id_legible);
    }
    return of->rows[at].fate == DAMAGED && (all || legible);
}

static int check(const outbox *of)
{
    const kedge_missing_id *missing = (const kedge_missing_id *)(const void *)of->heal.missing.data;
    int told = 0;
    size_t next = 0;
    for (size_t i = 0; i < of->count; i++) {
        const row *at = &of->rows[i];
        if (at->fate != DAMAGED && at->fate != MISSING) continue;
        const kedge_missing_id *placed = &missing[next++];
        assert_int_equal(placed->id, at->id);
        assert_true(placed->sequence > placed->low && placed->sequence < placed->high);
        assert_false(has_row(of, placed->sequence));
        if (next > 1) assert_true(placed->sequence > missing[next - 2].sequence);
        if (!is_told(of, i)) continue;
        assert_int_equal(placed->sequence, at->sequence);
        assert_int_equal(placed->orphan, at->sequence);
        told++;
    }
    return told;
}

static void
test_missing_mutations_get_sequences_that_rise_and_their_own_where_rows_tell(void **state)
{
    int told = 0;
    (void)state;
    for (int i = 0; i < CASES; i++) {
        outbox of = {0};
        draw(&of);
        describe(&of);
        kedge_status status = kedge_outbox_place_missing(&of.heal, NULL);
        if (status == KEDGE_OK) told += check(&of);
        kedge_buffer_free(&of.heal.orphans);
        kedge_buffer_free(&of.heal.taken);
        kedge_buffer_free(&of.heal.missing);
        assert_int_equal(status, KEDGE_OK);
    }
    assert_true(told > CASES / 2);
}

/* Rows of another client between 6 and 12, brought back by a disk, for `ids` missing ids. 7 is
 * decided, and 9 is in the inbox as damaged. */
static void place_old_rows(kedge_outbox_healing *heal, int64_t ids)
{
    *heal = (kedge_outbox_healing){.orphans = kedge_buffer_make(&kedge_allocator_default),
                                   .missing = kedge_buffer_make(&kedge_allocator_default)};
    for (int64_t key = 7; key <= 11; key++) {
        kedge_orphan orphan = {
            .key = key, .id = key - 6, .sound = true, .settled = key == 7, .told = key == 9};
        kedge_buffer_append(&heal->orphans, &orphan, sizeof orphan);
        heal->orphan_count++;
    }
    for (int64_t id = 1; id <= ids; id++) {
        kedge_missing_id missing = {.id = id, .low = 0, .high = 20};
        kedge_buffer_append(&heal->missing, &missing, sizeof missing);
        heal->missing_count++;
    }
    assert_int_equal(kedge_outbox_place_missing(heal, NULL), KEDGE_OK);
}

static void check_old_rows(int64_t ids, const int64_t *expected)
{
    kedge_outbox_healing heal;
    place_old_rows(&heal, ids);
    const kedge_missing_id *missing = (const kedge_missing_id *)(const void *)heal.missing.data;
    for (int64_t i = 0; i < ids; i++)
        assert_int_equal(missing[i].orphan, expected[i]);
    kedge_buffer_free(&heal.orphans);
    kedge_buffer_free(&heal.missing);
}

static void test_old_rows_of_decided_edits_stand_for_no_missing_one(void **state)
{
    static const int64_t three[] = {8, 10, 11}, none[6] = {0};
    (void)state;
    check_old_rows(3, three);
    /* The edits made since are among the missing ones: which of these rows are too is not known */
    check_old_rows(4, none);
    check_old_rows(6, none);
}

/* The page of an earlier client came back whose edits have other ids since: 1 to 4 are decided, and
 * of 6 to 15 it has the rows. 16 to 18 were made after it. */
static void test_old_rows_that_stand_where_no_sequence_was_skipped_keep_their_places(void **state)
{
    static const int64_t decided[] = {1, 2, 3, 4};
    kedge_outbox_healing heal = {.orphans = kedge_buffer_make(&kedge_allocator_default),
                                 .missing = kedge_buffer_make(&kedge_allocator_default),
                                 .decided = kedge_buffer_make(&kedge_allocator_default)};
    (void)state;
    kedge_buffer_append(&heal.decided, decided, sizeof decided);
    for (int64_t key = 4; key <= 15; key++) {
        kedge_orphan orphan = {.key = key, .id = key, .sound = true, .settled = key == 4};
        if (key == 5) continue;
        kedge_buffer_append(&heal.orphans, &orphan, sizeof orphan);
        heal.orphan_count++;
    }
    for (int64_t id = 1; id <= 13; id++) {
        kedge_missing_id missing = {.id = id, .low = 0, .high = 19};
        kedge_buffer_append(&heal.missing, &missing, sizeof missing);
        heal.missing_count++;
    }
    assert_int_equal(kedge_outbox_place_missing(&heal, NULL), KEDGE_OK);
    const kedge_missing_id *missing = (const kedge_missing_id *)(const void *)heal.missing.data;
    for (int64_t i = 0; i < 13; i++) {
        assert_int_equal(missing[i].sequence, 6 + i);
        assert_int_equal(missing[i].orphan, i < 10 ? 6 + i : 0);
    }
    kedge_buffer_free(&heal.orphans);
    kedge_buffer_free(&heal.missing);
    kedge_buffer_free(&heal.decided);
}

static void test_ids_that_find_only_sequences_of_decided_edits_need_none(void **state)
{
    static const int64_t decided[] = {1, 2, 4, 5, 6}, expected[] = {0, 0, 3, 7};
    kedge_outbox_healing heal = {.orphans = kedge_buffer_make(&kedge_allocator_default),
                                 .missing = kedge_buffer_make(&kedge_allocator_default),
                                 .decided = kedge_buffer_make(&kedge_allocator_default)};
    (void)state;
    kedge_buffer_append(&heal.decided, decided, sizeof decided);
    for (int64_t id = 1; id <= 4; id++) {
        kedge_missing_id missing = {.id = id, .low = 0, .high = 8, .sequence = -1};
        kedge_buffer_append(&heal.missing, &missing, sizeof missing);
        heal.missing_count++;
    }
    assert_int_equal(kedge_outbox_place_missing(&heal, NULL), KEDGE_OK);
    const kedge_missing_id *missing = (const kedge_missing_id *)(const void *)heal.missing.data;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(missing[i].sequence, expected[i]);
    kedge_buffer_free(&heal.orphans);
    kedge_buffer_free(&heal.missing);
    kedge_buffer_free(&heal.decided);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_missing_mutations_get_sequences_that_rise_and_their_own_where_rows_tell),
        cmocka_unit_test(test_old_rows_of_decided_edits_stand_for_no_missing_one),
        cmocka_unit_test(test_old_rows_that_stand_where_no_sequence_was_skipped_keep_their_places),
        cmocka_unit_test(test_ids_that_find_only_sequences_of_decided_edits_need_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
