/* The overlay: against a naive model under random writes and marks, and as a
 * reader over a state. */
#include "mutate/overlay.h"

#include "common/error.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- the model: a table of all keys there are, copied whole at each mark ---- */

#define KEYS  120
#define MARKS 6

typedef enum key_state { ABSENT, DELETED, PRESENT } key_state;

typedef struct model_state {
    key_state state[KEYS];
    uint32_t value[KEYS];
    bool written[MARKS][KEYS]; /* since each open mark */
} model_state;

typedef struct naive_model {
    model_state now;
    model_state at_mark[MARKS];
    kedge_overlay_mark marks[MARKS];
    size_t depth;
} naive_model;

/* Splitmix64: the same numbers from a seed everywhere. */
static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Keys in byte order: collections "", "a", "b", and ids of growing length. */
static kedge_bytes collection_of(size_t key)
{
    static const char *const names[] = {"", "a", "b"};
    return kedge_bytes_of(names[key / (KEYS / 3)]);
}

static kedge_bytes id_of(size_t key, char text[16])
{
    snprintf(text, 16, "%03zu", key);
    return (kedge_bytes){text, key % (KEYS / 3) == 0 ? 0 : strlen(text)};
}

static kedge_bytes value_of(uint32_t value, char text[16])
{
    int size = snprintf(text, 16, "%u", value);
    return (kedge_bytes){text, (size_t)size};
}

static void write_model(naive_model *model, size_t key, key_state state, uint32_t value)
{
    model->now.state[key] = state;
    model->now.value[key] = value;
    for (size_t i = 0; i < model->depth; i++)
        model->now.written[i][key] = true;
}

static void forget_in_model(naive_model *model, size_t key)
{
    model->now.state[key] = ABSENT;
    for (size_t i = 0; i < model->depth; i++)
        model->at_mark[i].state[key] = ABSENT;
}

static void assert_entry_is(const kedge_overlay_entry *entry, const naive_model *model, size_t key)
{
    char id[16];
    char value[16];
    assert_true(kedge_bytes_equal(entry->collection, collection_of(key)));
    assert_true(kedge_bytes_equal(entry->id, id_of(key, id)));
    assert_int_equal(entry->deleted, model->now.state[key] == DELETED);
    if (!entry->deleted) {
        assert_true(kedge_bytes_equal(entry->value, value_of(model->now.value[key], value)));
    }
}

static void assert_overlay_is(const kedge_overlay *overlay, const naive_model *model)
{
    size_t count = 0;
    size_t bytes = 0;
    kedge_overlay_entry entry;
    bool more = kedge_overlay_next(overlay, NULL, &entry);
    for (size_t key = 0; key < KEYS; key++) {
        char id[16];
        kedge_overlay_entry found;
        bool known = kedge_overlay_get(overlay, collection_of(key), id_of(key, id), &found);
        assert_int_equal(known, model->now.state[key] != ABSENT);
        if (!known) continue;
        assert_true(more);
        assert_entry_is(&entry, model, key);
        assert_entry_is(&found, model, key);
        count++;
        bytes += entry.collection.size + entry.id.size + entry.value.size;
        more = kedge_overlay_next(overlay, &entry, &entry);
    }
    assert_false(more);
    assert_int_equal(kedge_overlay_count(overlay), count);
    assert_int_equal(kedge_overlay_bytes(overlay), bytes);
}

static void assert_changes_are_counted(const kedge_overlay *overlay, const naive_model *model)
{
    for (size_t i = 0; i < model->depth; i++) {
        size_t written = 0;
        for (size_t key = 0; key < KEYS; key++)
            written += model->now.written[i][key];
        assert_int_equal(kedge_overlay_changes_since(overlay, model->marks[i]), written);
    }
}

static void random_mark(kedge_overlay *overlay, naive_model *model, uint64_t choice)
{
    if (model->depth == 0 || (choice % 3 == 0 && model->depth < MARKS)) {
        model->at_mark[model->depth] = model->now;
        memset(model->now.written[model->depth], 0, sizeof model->now.written[0]);
        model->marks[model->depth++] = kedge_overlay_set_mark(overlay);
        return;
    }
    size_t mark = choice % 16 == 1 ? 0 : model->depth - 1;
    if (choice % 2 == 0) {
        kedge_overlay_rollback(overlay, model->marks[mark]);
        model->now = model->at_mark[mark];
    } else {
        kedge_overlay_release(overlay, model->marks[mark]);
    }
    model->depth = mark;
}

static void random_write(kedge_overlay *overlay, naive_model *model, uint64_t *seed, bool forgets)
{
    char id_text[16];
    char value_text[16];
    size_t key = (size_t)(next_random(seed) % KEYS);
    kedge_bytes collection = collection_of(key);
    kedge_bytes id = id_of(key, id_text);
    uint64_t choice = next_random(seed) % 10;
    if (choice == 0 && forgets) {
        kedge_overlay_forget(overlay, collection, id);
        forget_in_model(model, key);
    } else if (choice <= 3) {
        assert_int_equal(kedge_overlay_delete(overlay, collection, id, NULL), KEDGE_OK);
        write_model(model, key, DELETED, 0);
    } else {
        uint32_t number = (uint32_t)next_random(seed);
        assert_int_equal(
            kedge_overlay_put(overlay, collection, id, value_of(number, value_text), NULL),
            KEDGE_OK);
        write_model(model, key, PRESENT, number);
    }
}

static void run_model(uint64_t seed, bool forgets, const kedge_allocator *allocator)
{
    naive_model model = {0};
    kedge_overlay *overlay = kedge_overlay_new(allocator);
    assert_non_null(overlay);
    for (size_t step = 0; step < 3000; step++) {
        if (next_random(&seed) % 8 == 0) {
            random_mark(overlay, &model, next_random(&seed));
        } else {
            random_write(overlay, &model, &seed, forgets);
        }
        if (!forgets) assert_changes_are_counted(overlay, &model);
        if (step % 10 == 0) assert_overlay_is(overlay, &model);
    }
    assert_overlay_is(overlay, &model);
    kedge_overlay_clear(overlay);
    assert_int_equal(kedge_overlay_count(overlay), 0);
    assert_int_equal(kedge_overlay_bytes(overlay), 0);
    kedge_overlay_free(overlay);
}

static void test_random_writes_and_marks_agree_with_a_naive_model(void **state)
{
    (void)state;
    failing_allocator counting;
    failing_allocator_init(&counting);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run_model(seed, false, &counting.allocator);
        run_model(seed, true, &counting.allocator);
    }
    assert_int_equal(counting.living, 0);
}

static void test_a_rollback_needs_no_memory(void **state)
{
    (void)state;
    failing_allocator failing;
    failing_allocator_init(&failing);
    kedge_overlay *overlay = kedge_overlay_new(&failing.allocator);
    kedge_bytes a = KEDGE_BYTES("a");
    assert_int_equal(kedge_overlay_put(overlay, a, a, KEDGE_BYTES("1"), NULL), KEDGE_OK);
    kedge_overlay_mark outer = kedge_overlay_set_mark(overlay);
    assert_int_equal(kedge_overlay_put(overlay, a, a, KEDGE_BYTES("2"), NULL), KEDGE_OK);
    kedge_overlay_mark inner = kedge_overlay_set_mark(overlay);
    assert_int_equal(kedge_overlay_delete(overlay, a, a, NULL), KEDGE_OK);

    failing_allocator_arm(&failing, 1, true);
    assert_int_equal(kedge_overlay_put(overlay, a, a, KEDGE_BYTES("3"), NULL), KEDGE_NO_MEMORY);
    kedge_overlay_release(overlay, inner);
    assert_int_equal(kedge_overlay_changes_since(overlay, outer), 1);
    kedge_overlay_rollback(overlay, outer);
    kedge_overlay_entry entry;
    assert_true(kedge_overlay_get(overlay, a, a, &entry));
    assert_true(kedge_bytes_equal_text(entry.value, "1"));
    kedge_overlay_free(overlay);
    assert_int_equal(failing.living, 0);
}

/* ---- the order of keys ---- */

#define ORDER_KEYS 3000
#define ORDER_TEXT 12

/* Texts that differ late, or only in zeros at their ends, or in bytes above 127. */
static kedge_bytes random_text(uint64_t *seed, char text[ORDER_TEXT])
{
    static const char bytes[] = {0, 0, 0, 1, 'a', '\x7f', '\x80', '\xff'};
    size_t size = (size_t)(next_random(seed) % (ORDER_TEXT + 1));
    for (size_t i = 0; i < size; i++)
        text[i] = bytes[next_random(seed) % sizeof bytes];
    return (kedge_bytes){text, size};
}

static int compare_plainly(kedge_bytes a, kedge_bytes b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static size_t assert_ascends(const kedge_overlay *overlay)
{
    kedge_overlay_entry entry, at;
    size_t count = 0;
    for (bool more = kedge_overlay_next(overlay, NULL, &entry); more;
         more = kedge_overlay_next(overlay, &at, &entry)) {
        if (count++ > 0) {
            int order = compare_plainly(at.collection, entry.collection);
            assert_true(order < 0 || (order == 0 && compare_plainly(at.id, entry.id) < 0));
        }
        at = entry;
    }
    return count;
}

static void test_keys_are_in_the_order_of_their_bytes(void **state)
{
    (void)state;
    char collection[ORDER_TEXT], id[ORDER_TEXT];
    kedge_error error = {0};
    kedge_overlay_entry entry;
    kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
    for (int round = 0; round < 2; round++) { /* the second one forgets every other key */
        uint64_t seed = 7;
        for (int i = 0; i < ORDER_KEYS; i++) {
            kedge_bytes in = random_text(&seed, collection), key = random_text(&seed, id);
            if (round == 0)
                assert_int_equal(kedge_overlay_put(overlay, in, key, kedge_bytes_of("1"), &error),
                                 KEDGE_OK);
            else if (i % 2)
                kedge_overlay_forget(overlay, in, key);
            if (round == 0 || i % 2)
                assert_int_equal(kedge_overlay_get(overlay, in, key, &entry), round == 0);
        }
        assert_int_equal(assert_ascends(overlay), kedge_overlay_count(overlay));
    }
    kedge_overlay_free(overlay);
}

static void test_sorted_writes_do_not_make_the_tree_deep(void **state)
{
    (void)state;
    kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
    char id[16];
    for (unsigned i = 0; i < 200000; i++) {
        kedge_bytes key = {id, (size_t)snprintf(id, sizeof id, "%08u", i)};
        assert_int_equal(kedge_overlay_put(overlay, KEDGE_BYTES("c"), key, key, NULL), KEDGE_OK);
    }
    /* A list would make this 2 * 10^10 steps, and the test would meet its time limit. */
    size_t count = 0;
    kedge_overlay_entry entry;
    bool more = kedge_overlay_next(overlay, NULL, &entry);
    while (more) {
        count++;
        more = kedge_overlay_next(overlay, &entry, &entry);
    }
    assert_int_equal(count, 200000);
    kedge_overlay_free(overlay);
}

static void put_number(kedge_overlay *overlay, const char *value)
{
    kedge_bytes a = KEDGE_BYTES("a");
    assert_int_equal(kedge_overlay_put(overlay, a, a, kedge_bytes_of(value), NULL), KEDGE_OK);
}

static void assert_number_is(const kedge_overlay *overlay, const char *value)
{
    kedge_overlay_entry entry;
    assert_true(kedge_overlay_get(overlay, KEDGE_BYTES("a"), KEDGE_BYTES("a"), &entry));
    assert_true(kedge_bytes_equal_text(entry.value, value));
}

static void test_to_end_a_mark_that_has_ended_does_nothing(void **state)
{
    (void)state;
    kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
    kedge_overlay_mark mark = kedge_overlay_set_mark(overlay);
    put_number(overlay, "1");
    kedge_overlay_release(overlay, mark);
    kedge_overlay_rollback(overlay, mark);
    assert_number_is(overlay, "1");
    kedge_overlay_release(overlay, mark);
    assert_number_is(overlay, "1");
    assert_int_equal(kedge_overlay_changes_since(overlay, mark), 0);
    kedge_overlay_free(overlay);
}

static void test_a_release_ends_the_marks_set_after_it(void **state)
{
    (void)state;
    kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
    put_number(overlay, "0");
    kedge_overlay_mark marks[3];
    for (int i = 0; i < 3; i++) {
        marks[i] = kedge_overlay_set_mark(overlay);
        if (i > 0) put_number(overlay, i == 1 ? "1" : "2");
    }
    kedge_overlay_release(overlay, marks[1]);
    assert_int_equal(kedge_overlay_changes_since(overlay, marks[2]), 0);
    assert_int_equal(kedge_overlay_changes_since(overlay, marks[0]), 1);
    put_number(overlay, "3");
    assert_int_equal(kedge_overlay_changes_since(overlay, marks[0]), 1);
    kedge_overlay_rollback(overlay, marks[0]);
    assert_number_is(overlay, "0");
    kedge_overlay_free(overlay);
}

/* ---- values in pieces ---- */

#define LARGE_KEYS 3

/* {"n":…,"t":"xxx…"}: of a member that a merge changes, and one that makes it large. */
typedef struct large_value {
    key_state state;
    unsigned n;
    size_t size; /* of "t" */
} large_value;

typedef struct large_model {
    large_value now[LARGE_KEYS];
    large_value at_mark[MARKS][LARGE_KEYS];
    kedge_overlay_mark marks[MARKS];
    size_t depth;
} large_model;

static void write_large(const large_value *value, kedge_buffer *out)
{
    kedge_buffer_clear(out);
    kedge_buffer_append_format(out, "{\"n\":%u,\"t\":\"", value->n);
    memset(kedge_buffer_reserve(out, value->size), 'x', value->size);
    out->size += value->size;
    kedge_buffer_append_text(out, "\"}");
}

static void assert_large_are(const kedge_overlay *overlay, const large_model *model,
                             kedge_buffer *text, bool read)
{
    size_t bytes = 0, count = 0;
    kedge_overlay_entry entry;
    for (size_t key = 0; key < LARGE_KEYS; key++) {
        const large_value *value = &model->now[key];
        if (value->state == ABSENT) continue;
        count++;
        bytes += 2;
        if (value->state == PRESENT) {
            write_large(value, text);
            bytes += text->size;
        }
        if (!read) continue;
        char id = (char)('0' + key);
        assert_true(kedge_overlay_get(overlay, KEDGE_BYTES("a"), (kedge_bytes){&id, 1}, &entry));
        assert_int_equal(entry.deleted, value->state == DELETED);
        if (!entry.deleted) assert_true(kedge_bytes_equal(entry.value, kedge_buffer_bytes(text)));
    }
    assert_int_equal(kedge_overlay_count(overlay), count);
    assert_int_equal(kedge_overlay_bytes(overlay), bytes);
}

static void merge_large(kedge_overlay *overlay, large_value *value, kedge_bytes id)
{
    char patch[32];
    kedge_json_rope *rope, *merged;
    kedge_bytes a = KEDGE_BYTES("a");
    assert_int_equal(kedge_overlay_rope(overlay, a, id, &rope, NULL), KEDGE_OK);
    assert_int_equal(rope != NULL, value->state == PRESENT);
    if (rope == NULL) return;
    value->n = value->n * 7 % 1000003;
    snprintf(patch, sizeof patch, "{\"n\":%u}", value->n);
    assert_int_equal(
        kedge_json_rope_merge(&kedge_allocator_default, rope, kedge_bytes_of(patch), &merged, NULL),
        KEDGE_OK);
    assert_int_equal(kedge_overlay_put_rope(overlay, a, id, merged, NULL), KEDGE_OK);
}

static void change_large(kedge_overlay *overlay, large_model *model, uint64_t *seed,
                         kedge_buffer *text)
{
    char digit = (char)('0' + next_random(seed) % LARGE_KEYS);
    kedge_bytes a = KEDGE_BYTES("a"), id = {&digit, 1};
    large_value *value = &model->now[digit - '0'];
    switch (next_random(seed) % 8) {
    case 0:
        *value = (large_value){PRESENT, 1, 17000 + (unsigned)(next_random(seed) % 9000)};
        write_large(value, text);
        assert_int_equal(kedge_overlay_put(overlay, a, id, kedge_buffer_bytes(text), NULL),
                         KEDGE_OK);
        break;
    case 1:
        *value = (large_value){.state = DELETED};
        assert_int_equal(kedge_overlay_delete(overlay, a, id, NULL), KEDGE_OK);
        break;
    default:
        merge_large(overlay, value, id);
    }
}

static void mark_large(kedge_overlay *overlay, large_model *model, uint64_t *seed)
{
    if (model->depth < MARKS && next_random(seed) % 2 == 0) {
        memcpy(model->at_mark[model->depth], model->now, sizeof model->now);
        model->marks[model->depth++] = kedge_overlay_set_mark(overlay);
    } else if (model->depth > 0) {
        size_t mark = (size_t)(next_random(seed) % model->depth);
        if (next_random(seed) % 2 == 0) {
            kedge_overlay_rollback(overlay, model->marks[mark]);
            memcpy(model->now, model->at_mark[mark], sizeof model->now);
        } else {
            kedge_overlay_release(overlay, model->marks[mark]);
        }
        model->depth = mark;
    }
}

static void test_values_in_pieces_are_what_they_were_after_a_rollback(void **state)
{
    (void)state;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    for (uint64_t first_seed = 1; first_seed <= 60; first_seed++) {
        uint64_t seed = first_seed;
        large_model model = {0};
        kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
        for (int step = 0; step < 150; step++) {
            if (next_random(&seed) % 4 == 0)
                mark_large(overlay, &model, &seed);
            else
                change_large(overlay, &model, &seed, &text);
            if (model.depth == 0 && next_random(&seed) % 20 == 0) {
                kedge_overlay_forget(overlay, KEDGE_BYTES("a"), KEDGE_BYTES("1"));
                model.now[1].state = ABSENT;
            }
            assert_large_are(overlay, &model, &text, next_random(&seed) % 3 == 0);
        }
        kedge_overlay_free(overlay);
    }
    kedge_buffer_free(&text);
}

static void test_keys_are_read_without_their_values(void **state)
{
    (void)state;
    kedge_overlay_entry entry, key;
    kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
    put_number(overlay, "1");
    assert_true(kedge_overlay_next(overlay, NULL, &entry));
    assert_true(kedge_overlay_next_key(overlay, NULL, &key));
    assert_true(kedge_bytes_equal(key.id, entry.id) && !key.deleted);
    assert_int_equal(key.value.size, 0);
    assert_false(kedge_overlay_next_key(overlay, &entry, &key));
    kedge_overlay_free(overlay);
}

/* ---- the view ---- */

static kedge_overlay *overlay_with(const char *const *writes, size_t count)
{
    kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
    kedge_bytes collection = KEDGE_BYTES("c");
    for (size_t i = 0; i < count; i++) {
        bool deletes = writes[i][0] == '-';
        kedge_bytes id = kedge_bytes_of(writes[i] + deletes);
        kedge_status status =
            deletes ? kedge_overlay_delete(overlay, collection, id, NULL)
                    : kedge_overlay_put(overlay, collection, id, KEDGE_BYTES("\"o\""), NULL);
        assert_int_equal(status, KEDGE_OK);
    }
    return overlay;
}

/* The ids that a walk gives, joined by spaces. */
static void list_ids(kedge_state_reader reader, const char *collection, kedge_buffer *out)
{
    kedge_buffer at = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer id = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = KEDGE_OK;
    for (bool start = true; status == KEDGE_OK; start = false) {
        kedge_buffer_clear(&id);
        kedge_buffer_clear(&value);
        status = reader.next(reader.context, kedge_bytes_of(collection), start,
                             kedge_buffer_bytes(&at), &id, &value, NULL);
        if (status != KEDGE_OK) break;
        kedge_buffer_append_format(out, "%s%s ", id.data, value.data);
        kedge_buffer_clear(&at);
        kedge_buffer_append_bytes(&at, kedge_buffer_bytes(&id));
    }
    assert_int_equal(status, KEDGE_DONE);
    kedge_buffer_free(&at);
    kedge_buffer_free(&id);
    kedge_buffer_free(&value);
}

static void test_a_walk_merges_the_layers_and_skips_what_is_deleted(void **state)
{
    (void)state;
    const char *const low[] = {"", "b", "d", "e", "f", "h"};
    const char *const high[] = {"-", "a", "-b", "c", "d", "-e", "-f", "-g", "-z"};
    kedge_overlay *below = overlay_with(low, 6);
    kedge_overlay *above = overlay_with(high, 9);
    assert_int_equal(
        kedge_overlay_put(below, KEDGE_BYTES("d"), KEDGE_BYTES("x"), KEDGE_BYTES("1"), NULL),
        KEDGE_OK);
    kedge_overlay_view bottom = {below, kedge_state_reader_empty};
    kedge_overlay_view top = {above, kedge_overlay_reader(&bottom)};
    kedge_buffer seen = kedge_buffer_make(&kedge_allocator_default);
    list_ids(kedge_overlay_reader(&top), "c", &seen);
    assert_string_equal(seen.data, "a\"o\" c\"o\" d\"o\" h\"o\" ");
    kedge_buffer_clear(&seen);
    list_ids(kedge_overlay_reader(&bottom), "c", &seen);
    assert_string_equal(seen.data, "\"o\" b\"o\" d\"o\" e\"o\" f\"o\" h\"o\" ");
    kedge_buffer_free(&seen);
    kedge_overlay_free(above);
    kedge_overlay_free(below);
}

static bool write_and_roll_back(const kedge_allocator *allocator, void *context)
{
    (void)context;
    kedge_overlay *overlay = kedge_overlay_new(allocator);
    if (overlay == NULL) return false;
    kedge_bytes a = KEDGE_BYTES("a");
    bool well = kedge_overlay_put(overlay, a, a, a, NULL) == KEDGE_OK;
    kedge_overlay_mark mark = kedge_overlay_set_mark(overlay);
    well = kedge_overlay_delete(overlay, a, a, NULL) == KEDGE_OK && well;
    well = kedge_overlay_put(overlay, a, KEDGE_BYTES("b"), a, NULL) == KEDGE_OK && well;
    kedge_overlay_rollback(overlay, mark);
    well = well && kedge_overlay_count(overlay) == 1;
    kedge_overlay_free(overlay);
    return well;
}

static void test_a_failed_allocation_leaves_the_overlay_whole(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(write_and_roll_back, NULL, 200) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_writes_and_marks_agree_with_a_naive_model),
        cmocka_unit_test(test_keys_are_in_the_order_of_their_bytes),
        cmocka_unit_test(test_a_rollback_needs_no_memory),
        cmocka_unit_test(test_to_end_a_mark_that_has_ended_does_nothing),
        cmocka_unit_test(test_a_release_ends_the_marks_set_after_it),
        cmocka_unit_test(test_sorted_writes_do_not_make_the_tree_deep),
        cmocka_unit_test(test_values_in_pieces_are_what_they_were_after_a_rollback),
        cmocka_unit_test(test_keys_are_read_without_their_values),
        cmocka_unit_test(test_a_walk_merges_the_layers_and_skips_what_is_deleted),
        cmocka_unit_test(test_a_failed_allocation_leaves_the_overlay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
