/* The contract of the blobs port, run against every implementation of the table that the program
 * was linked with. */
#include "tests/ports/blobs_table.h"
#include "tests/support/engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const blobs_implementation *current;

typedef struct fixture {
    world around;
    kedge_blobs blobs;
    kedge_error error;
} fixture;

/* ---- short forms ---- */

static kedge_status put_bytes(fixture *f, kedge_bytes key, kedge_bytes bytes)
{
    return f->blobs.vtable->put_if_absent(f->blobs.self, key, bytes, &f->error);
}

static kedge_status put(fixture *f, const char *key, const char *text)
{
    return put_bytes(f, kedge_bytes_of(key), kedge_bytes_of(text));
}

static kedge_status tag(fixture *f, const char *key, const char *name, const char *value)
{
    return f->blobs.vtable->tag(f->blobs.self, kedge_bytes_of(key), kedge_bytes_of(name),
                                kedge_bytes_of(value), &f->error);
}

static kedge_status remove_blob(fixture *f, const char *key)
{
    return f->blobs.vtable->remove(f->blobs.self, kedge_bytes_of(key), &f->error);
}

static void assert_blob(fixture *f, kedge_bytes key, kedge_bytes expected)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_ok(f->blobs.vtable->get(f->blobs.self, key, &out, &f->error));
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&out), expected));
    kedge_buffer_free(&out);
}

static void assert_no_blob(fixture *f, const char *key)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_status(f->blobs.vtable->get(f->blobs.self, kedge_bytes_of(key), &out, &f->error),
                  KEDGE_NOT_FOUND);
    assert_int_equal(out.size, 0);
    kedge_buffer_free(&out);
}

/* NULL: the tag, or the blob, is not there. */
static void assert_tag(fixture *f, const char *key, const char *name, const char *expected)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = f->blobs.vtable->get_tag(f->blobs.self, kedge_bytes_of(key),
                                                   kedge_bytes_of(name), &out, &f->error);
    assert_int_equal(status, expected == NULL ? KEDGE_NOT_FOUND : KEDGE_OK);
    if (expected != NULL) assert_bytes(kedge_buffer_bytes(&out), expected);
    kedge_buffer_free(&out);
}

/* Walks all pages of a listing and asserts the keys, joined by spaces. */
static void assert_list(fixture *f, const char *prefix, const char *after, uint32_t limit,
                        const char *expected)
{
    char seen[4096] = "", last[KEDGE_BLOB_KEY_BYTES_MAX + 1];
    size_t size = 0;
    kedge_bytes behind = kedge_bytes_of(after);
    for (int page = 0; page < 1000; page++) {
        kedge_blob_list list = {0};
        assert_ok(f->blobs.vtable->list(f->blobs.self, kedge_bytes_of(prefix), behind, limit, &list,
                                        &f->error));
        assert_true(list.count <= limit);
        for (size_t i = 0; i < list.count; i++) {
            size += (size_t)snprintf(seen + size, sizeof seen - size, "%s%s", size == 0 ? "" : " ",
                                     list.blobs[i].key);
            snprintf(last, sizeof last, "%s", list.blobs[i].key);
            behind = kedge_bytes_of(last);
        }
        bool more = list.more;
        kedge_blob_list_free(&list);
        if (!more) break;
    }
    assert_string_equal(seen, expected);
}

/* ---- put, get, remove ---- */

static void test_a_blob_comes_back_as_it_was_put(void **state)
{
    fixture *f = *state;
    kedge_bytes binary = KEDGE_BYTES("\0\xff\n\r\0");
    assert_ok(put_bytes(f, KEDGE_BYTES("a/b"), binary));
    assert_blob(f, KEDGE_BYTES("a/b"), binary);
    assert_ok(put_bytes(f, KEDGE_BYTES("a/empty"), (kedge_bytes){0}));
    assert_blob(f, KEDGE_BYTES("a/empty"), (kedge_bytes){0});
    assert_no_blob(f, "a");
    assert_no_blob(f, "a/b/c");
    assert_no_blob(f, "a/c");
}

static void test_get_appends_to_what_the_buffer_holds(void **state)
{
    fixture *f = *state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&out, "before ");
    assert_ok(put(f, "k", "blob"));
    assert_ok(f->blobs.vtable->get(f->blobs.self, KEDGE_BYTES("k"), &out, &f->error));
    assert_bytes(kedge_buffer_bytes(&out), "before blob");
    assert_int_equal(out.data[out.size], '\0');
    kedge_buffer_free(&out);
}

static void test_a_taken_key_is_a_conflict_and_keeps_its_bytes(void **state)
{
    fixture *f = *state;
    assert_ok(put(f, "k", "first"));
    assert_status(put(f, "k", "second"), KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "blob-exists");
    assert_blob(f, KEDGE_BYTES("k"), KEDGE_BYTES("first"));
}

static void test_a_removed_key_is_free_again_and_may_be_removed_twice(void **state)
{
    fixture *f = *state;
    assert_ok(put(f, "x/k", "first"));
    assert_ok(remove_blob(f, "x/k"));
    assert_no_blob(f, "x/k");
    assert_ok(remove_blob(f, "x/k"));
    assert_ok(remove_blob(f, "never/was"));
    assert_ok(put(f, "x/k", "second"));
    assert_blob(f, KEDGE_BYTES("x/k"), KEDGE_BYTES("second"));
}

static void test_a_blob_has_at_most_64_mebibytes(void **state)
{
    fixture *f = *state;
    size_t size = KEDGE_BLOB_BYTES_MAX;
    char *bytes = kedge_allocate(&kedge_allocator_default, size + 1);
    assert_non_null(bytes);
    memset(bytes, 'x', size + 1);
    assert_status(put_bytes(f, KEDGE_BYTES("k"), (kedge_bytes){bytes, size + 1}),
                  KEDGE_LIMIT_EXCEEDED);
    assert_no_blob(f, "k");
    assert_ok(put_bytes(f, KEDGE_BYTES("k"), (kedge_bytes){bytes, size}));
    assert_blob(f, KEDGE_BYTES("k"), (kedge_bytes){bytes, size});
    kedge_release(&kedge_allocator_default, bytes);
}

/* ---- keys ---- */

static void test_keys_outside_the_contract_are_refused(void **state)
{
    fixture *f = *state;
    char key[KEDGE_BLOB_KEY_BYTES_MAX + 1];
    memset(key, 'k', sizeof key);
    assert_status(put_bytes(f, (kedge_bytes){key, sizeof key}, KEDGE_BYTES("b")),
                  KEDGE_LIMIT_EXCEEDED);
    assert_ok(put_bytes(f, (kedge_bytes){key, sizeof key - 1}, KEDGE_BYTES("b")));
    assert_status(put(f, "", "b"), KEDGE_INVALID_ARGUMENT);
    assert_status(put(f, "\xc3", "b"), KEDGE_INVALID_ARGUMENT);
    assert_status(put_bytes(f, KEDGE_BYTES("a\0b"), KEDGE_BYTES("b")), KEDGE_INVALID_ARGUMENT);
}

/* Keys that a file system could take for each other, for a directory, or for a way out. */
static const char *const odd_keys[] = {
    "%",   "%2e",  "%%",   "+",      "-",   ".",         "..",       "../../up",
    "./x", "/",    "//",   "/a",     "=",   "@lock",     "A",        "A/b",
    "a",   "a ",   "a+",   "a+/b",   "a/",  "a/.",       "a//",      "a/A",
    "a/b", "a/b=", "a~",   "aA",     "aa",  "con",       "\\",       "\n",
    "a:b", "*",    "a/..", "a/../b", "a\\", "e\xcc\x81", "\xc3\xa9", "\xf0\x9f\x98\x80",
};
#define ODD_KEYS (sizeof odd_keys / sizeof odd_keys[0])

static void test_every_key_is_a_blob_of_its_own(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < ODD_KEYS; i++)
        assert_ok(put(f, odd_keys[i], odd_keys[i]));
    for (size_t i = 0; i < ODD_KEYS; i++) {
        assert_blob(f, kedge_bytes_of(odd_keys[i]), kedge_bytes_of(odd_keys[i]));
        assert_status(put(f, odd_keys[i], "again"), KEDGE_CONFLICT);
    }
    kedge_blob_list list = {0};
    assert_ok(f->blobs.vtable->list(f->blobs.self, (kedge_bytes){0}, (kedge_bytes){0}, 1000, &list,
                                    &f->error));
    assert_int_equal(list.count, ODD_KEYS);
    for (size_t i = 1; i < list.count; i++)
        assert_true(strcmp(list.blobs[i - 1].key, list.blobs[i].key) < 0);
    kedge_blob_list_free(&list);
    for (size_t i = 0; i < ODD_KEYS; i++) {
        assert_ok(remove_blob(f, odd_keys[i]));
        assert_no_blob(f, odd_keys[i]);
    }
}

static void test_the_longest_keys_of_every_shape_are_told_apart(void **state)
{
    fixture *f = *state;
    static const char *const shapes[] = {"a", "A", "/", "a/", "A/", ".", "\xc3\xa4", "%"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char key[KEDGE_BLOB_KEY_BYTES_MAX];
        size_t unit = strlen(shapes[i]);
        for (size_t j = 0; j < sizeof key; j++)
            key[j] = shapes[i][j % unit];
        for (size_t size = sizeof key; size > sizeof key - 3 * unit; size -= unit) {
            kedge_bytes bytes = {key, size};
            assert_ok(put_bytes(f, bytes, bytes));
            assert_blob(f, bytes, bytes);
            assert_status(put_bytes(f, bytes, KEDGE_BYTES("x")), KEDGE_CONFLICT);
        }
        kedge_blob_list list = {0};
        assert_ok(f->blobs.vtable->list(f->blobs.self, (kedge_bytes){key, 1000}, (kedge_bytes){0},
                                        100, &list, &f->error));
        assert_int_equal(list.count, 3);
        assert_int_equal(list.blobs[2].size_bytes, KEDGE_BLOB_KEY_BYTES_MAX);
        assert_true(
            kedge_bytes_equal(kedge_bytes_of(list.blobs[2].key), (kedge_bytes){key, sizeof key}));
        kedge_blob_list_free(&list);
    }
}

/* ---- tags ---- */

static void test_a_tag_is_set_replaced_and_removed(void **state)
{
    fixture *f = *state;
    assert_ok(put(f, "a/k", "bytes"));
    assert_tag(f, "a/k", "color", NULL);
    assert_ok(tag(f, "a/k", "color", "red"));
    assert_ok(tag(f, "a/k", "size", "large"));
    assert_tag(f, "a/k", "color", "red");
    assert_ok(tag(f, "a/k", "color", "blue"));
    assert_tag(f, "a/k", "color", "blue");
    assert_tag(f, "a/k", "size", "large");
    assert_ok(tag(f, "a/k", "color", ""));
    assert_ok(tag(f, "a/k", "color", ""));
    assert_tag(f, "a/k", "color", NULL);
    assert_tag(f, "a/k", "size", "large");
    assert_blob(f, KEDGE_BYTES("a/k"), KEDGE_BYTES("bytes"));
    assert_list(f, "", "", 10, "a/k");
}

static void test_tags_need_their_blob_and_go_with_it(void **state)
{
    fixture *f = *state;
    assert_status(tag(f, "k", "color", "red"), KEDGE_NOT_FOUND);
    assert_tag(f, "k", "color", NULL);
    assert_ok(put(f, "k", "bytes"));
    assert_ok(tag(f, "k", "color", "red"));
    assert_ok(remove_blob(f, "k"));
    assert_tag(f, "k", "color", NULL);
    assert_status(tag(f, "k", "color", ""), KEDGE_NOT_FOUND);
    assert_ok(put(f, "k", "again"));
    assert_tag(f, "k", "color", NULL);
}

static void test_a_blob_is_put_with_a_tag(void **state)
{
    fixture *f = *state;
    const kedge_blobs *blobs = &f->blobs;
    const kedge_bytes small = KEDGE_BYTES("bytes");
    const kedge_blob_tag tag = {KEDGE_BYTES("discard"), KEDGE_BYTES("a + b/c=d")};
    const kedge_blob_tag other = {KEDGE_BYTES("other"), KEDGE_BYTES("1")};
    assert_int_equal(
        blobs->vtable->put_tagged(blobs->self, KEDGE_BYTES("k"), small, &tag, &f->error), KEDGE_OK);
    assert_blob(f, KEDGE_BYTES("k"), small);
    assert_tag(f, "k", "discard", "a + b/c=d");
    assert_tag(f, "k", "other", NULL);
    /* One that is there stays as it is, whether it is put with a tag or without. */
    assert_int_equal(
        blobs->vtable->put_tagged(blobs->self, KEDGE_BYTES("k"), small, &other, &f->error),
        KEDGE_CONFLICT);
    assert_int_equal(blobs->vtable->put_if_absent(blobs->self, KEDGE_BYTES("k"), small, &f->error),
                     KEDGE_CONFLICT);
    assert_tag(f, "k", "discard", "a + b/c=d");
    assert_tag(f, "k", "other", NULL);
    /* A key that is free again has no tag left. */
    assert_int_equal(blobs->vtable->remove(blobs->self, KEDGE_BYTES("k"), &f->error), KEDGE_OK);
    assert_int_equal(blobs->vtable->put_if_absent(blobs->self, KEDGE_BYTES("k"), small, &f->error),
                     KEDGE_OK);
    assert_tag(f, "k", "discard", NULL);
    const kedge_blob_tag empty = {KEDGE_BYTES("discard"), {NULL, 0}};
    assert_int_equal(
        blobs->vtable->put_tagged(blobs->self, KEDGE_BYTES("e"), small, &empty, &f->error),
        KEDGE_INVALID_ARGUMENT);
    assert_no_blob(f, "e");
}

/* Of a size at which a put without a tag may go in parts. */
static void test_a_large_blob_is_put_with_a_tag(void **state)
{
    fixture *f = *state;
    const kedge_blobs *blobs = &f->blobs;
    const kedge_blob_tag tag = {KEDGE_BYTES("discard"), KEDGE_BYTES("yes")};
    size_t size = (size_t)17 << 20;
    char *large = calloc(1, size);
    assert_non_null(large);
    assert_int_equal(blobs->vtable->put_tagged(blobs->self, KEDGE_BYTES("large"),
                                               (kedge_bytes){large, size}, &tag, &f->error),
                     KEDGE_OK);
    free(large);
    assert_tag(f, "large", "discard", "yes");
}

static void test_a_blob_has_at_most_10_tags(void **state)
{
    fixture *f = *state;
    char name[8];
    assert_ok(put(f, "k", "bytes"));
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "t%d", i);
        assert_ok(tag(f, "k", name, name));
    }
    assert_status(tag(f, "k", "one-more", "x"), KEDGE_LIMIT_EXCEEDED);
    assert_tag(f, "k", "one-more", NULL);
    assert_ok(tag(f, "k", "t3", "changed"));
    assert_tag(f, "k", "t3", "changed");
    assert_tag(f, "k", "t9", "t9");
}

static void test_tags_outside_the_contract_are_refused(void **state)
{
    fixture *f = *state;
    char text[KEDGE_BLOB_TAG_VALUE_BYTES_MAX + 2];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_ok(put(f, "k", "bytes"));
    assert_status(tag(f, "k", "", "v"), KEDGE_INVALID_ARGUMENT);
    assert_status(tag(f, "k", text, "v"), KEDGE_LIMIT_EXCEEDED);
    assert_status(tag(f, "k", "n", text), KEDGE_LIMIT_EXCEEDED);
    text[KEDGE_BLOB_TAG_VALUE_BYTES_MAX] = '\0';
    assert_ok(tag(f, "k", "n", text));
    assert_tag(f, "k", "n", text);
}

/* ---- listings ---- */

static void test_a_listing_is_in_byte_order_whatever_the_page(void **state)
{
    fixture *f = *state;
    static const char *const keys[] = {"b",     "a/c", "a/B", "a",   "a.x",
                                       "a/b/c", "a/b", "a!",  "A/a", "\xc3\xa4/x"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_ok(put(f, keys[i], "x"));
    for (uint32_t limit = 1; limit <= 11; limit++) {
        assert_list(f, "", "", limit, "A/a a a! a.x a/B a/b a/b/c a/c b \xc3\xa4/x");
        assert_list(f, "a/", "", limit, "a/B a/b a/b/c a/c");
        assert_list(f, "a/b", "", limit, "a/b a/b/c");
        assert_list(f, "a", "a.x", limit, "a/B a/b a/b/c a/c");
        assert_list(f, "", "a/b", limit, "a/b/c a/c b \xc3\xa4/x");
        assert_list(f, "", "a/bb", limit, "a/c b \xc3\xa4/x");
        assert_list(f, "c", "", limit, "");
        assert_list(f, "a", "b", limit, "");
    }
}

static void test_a_listing_tells_size_time_and_whether_there_is_more(void **state)
{
    fixture *f = *state;
    assert_ok(put(f, "a", "12345"));
    assert_ok(put(f, "b", ""));
    kedge_blob_list list = {0};
    assert_ok(f->blobs.vtable->list(f->blobs.self, (kedge_bytes){0}, (kedge_bytes){0}, 1, &list,
                                    &f->error));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.blobs[0].key, "a");
    assert_int_equal(list.blobs[0].size_bytes, 5);
    assert_true(list.blobs[0].modified_ms > 0);
    assert_true(list.more);
    kedge_blob_list_free(&list);
    assert_ok(f->blobs.vtable->list(f->blobs.self, (kedge_bytes){0}, (kedge_bytes){0}, 2, &list,
                                    &f->error));
    assert_int_equal(list.count, 2);
    assert_false(list.more);
    kedge_blob_list_free(&list);
}

static void test_a_listing_has_1_to_1000_keys(void **state)
{
    fixture *f = *state;
    kedge_blob_list list = {0};
    const kedge_blobs_vtable *vtable = f->blobs.vtable;
    kedge_bytes none = {0};
    assert_status(vtable->list(f->blobs.self, none, none, 0, &list, &f->error),
                  KEDGE_INVALID_ARGUMENT);
    assert_status(vtable->list(f->blobs.self, none, none, 1001, &list, &f->error),
                  KEDGE_INVALID_ARGUMENT);
    assert_ok(vtable->list(f->blobs.self, none, none, 1000, &list, &f->error));
    assert_int_equal(list.count, 0);
    assert_false(list.more);
    kedge_blob_list_free(&list);
}

/* ---- threads ---- */

#define THREADS 8
#define ROUNDS  25

typedef struct race {
    fixture *f;
    atomic_int next;
    atomic_int wins;
    atomic_int wrong;
    atomic_int winner[ROUNDS]; /* whose bytes stand under the key; 0: nobody's yet */
} race;

static void *put_in_rounds(void *argument)
{
    race *self = argument;
    const kedge_blobs *blobs = &self->f->blobs;
    int me = atomic_fetch_add(&self->next, 1) + 1;
    char bytes[20000]; /* long enough that a torn write would show */
    memset(bytes, 'a' + me, sizeof bytes);
    for (int i = 0; i < ROUNDS; i++) {
        char key[32];
        int size = snprintf(key, sizeof key, "race/%d/k", i);
        kedge_bytes at = {key, (size_t)size};
        kedge_status status =
            blobs->vtable->put_if_absent(blobs->self, at, (kedge_bytes){bytes, sizeof bytes}, NULL);
        if (status == KEDGE_OK) {
            atomic_fetch_add(&self->wins, 1);
            atomic_store(&self->winner[i], me);
        } else if (status != KEDGE_CONFLICT) {
            atomic_fetch_add(&self->wrong, 1);
        }
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        if (blobs->vtable->get(blobs->self, at, &out, NULL) != KEDGE_OK ||
            out.size != sizeof bytes || out.data[0] != out.data[out.size - 1])
            atomic_fetch_add(&self->wrong, 1);
        kedge_buffer_free(&out);
    }
    return NULL;
}

static void test_of_threads_that_put_the_same_key_one_wins_and_all_see_it(void **state)
{
    race self = {.f = *state};
    world_run_threads(put_in_rounds, &self, THREADS);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(atomic_load(&self.wins), ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        char key[32];
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        int size = snprintf(key, sizeof key, "race/%d/k", i);
        assert_ok(self.f->blobs.vtable->get(self.f->blobs.self, (kedge_bytes){key, (size_t)size},
                                            &out, NULL));
        assert_int_equal(out.data[0], 'a' + atomic_load(&self.winner[i]));
        kedge_buffer_free(&out);
    }
}

static void *tag_in_rounds(void *argument)
{
    race *self = argument;
    const kedge_blobs *blobs = &self->f->blobs;
    char name[8];
    snprintf(name, sizeof name, "t%d", atomic_fetch_add(&self->next, 1));
    for (int i = 0; i < ROUNDS; i++) {
        if (blobs->vtable->tag(blobs->self, KEDGE_BYTES("k"), kedge_bytes_of(name),
                               kedge_bytes_of(name), NULL) != KEDGE_OK)
            atomic_fetch_add(&self->wrong, 1);
    }
    return NULL;
}

static void test_threads_that_tag_one_blob_lose_no_tag(void **state)
{
    race self = {.f = *state};
    assert_ok(put(self.f, "k", "bytes"));
    world_run_threads(tag_in_rounds, &self, THREADS);
    assert_int_equal(atomic_load(&self.wrong), 0);
    for (int i = 0; i < THREADS; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        assert_tag(self.f, "k", name, name);
    }
}

/* ---- running ---- */

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    *state = &f;
    kedge_status status = current->open(&f.around, &f.blobs, &f.error);
    if (status != KEDGE_OK) print_error("%s: %s\n", current->name, f.error.message);
    return status == KEDGE_OK ? 0 : -1;
}

static int end(void **state)
{
    fixture *f = *state;
    if (current->close != NULL)
        current->close(&f->blobs);
    else
        f->blobs.vtable->close(f->blobs.self);
    world_end(&f->around);
    return 0;
}

#define contract(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        contract(test_a_blob_comes_back_as_it_was_put),
        contract(test_get_appends_to_what_the_buffer_holds),
        contract(test_a_taken_key_is_a_conflict_and_keeps_its_bytes),
        contract(test_a_removed_key_is_free_again_and_may_be_removed_twice),
        contract(test_a_blob_has_at_most_64_mebibytes),
        contract(test_keys_outside_the_contract_are_refused),
        contract(test_every_key_is_a_blob_of_its_own),
        contract(test_the_longest_keys_of_every_shape_are_told_apart),
        contract(test_a_tag_is_set_replaced_and_removed),
        contract(test_tags_need_their_blob_and_go_with_it),
        contract(test_a_blob_is_put_with_a_tag),
        contract(test_a_large_blob_is_put_with_a_tag),
        contract(test_a_blob_has_at_most_10_tags),
        contract(test_tags_outside_the_contract_are_refused),
        contract(test_a_listing_is_in_byte_order_whatever_the_page),
        contract(test_a_listing_tells_size_time_and_whether_there_is_more),
        contract(test_a_listing_has_1_to_1000_keys),
        contract(test_of_threads_that_put_the_same_key_one_wins_and_all_see_it),
        contract(test_threads_that_tag_one_blob_lose_no_tag),
    };
    int failed = blobs_engine == NULL ? 0 : engines_missing(blobs_engine);
    if (failed != 0) return failed;
    for (current = blobs_implementations; current->name != NULL; current++) {
        failed += cmocka_run_group_tests_name(current->name, tests, NULL, NULL);
    }
    return failed == 0 ? 0 : 1;
}
