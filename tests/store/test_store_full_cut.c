/* A transaction that finds no room on the disk: what it has written stays in the WAL, and must not
 * keep the space from others. */
#include "tests/store/cache_scenario.h"
#include "tests/support/fault_vfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define ITEMS       100
#define VALUE_BYTES 8000
/* Less than an index over the values takes, or another copy of them. */
#define ROOM 200000

typedef struct small_volume {
    fixture f;
    fault_vfs *vfs;
    int64_t before; /* the size of all files */
} small_volume;

static int64_t size_of_files(const fixture *f)
{
    static const char *const names[] = {"outbox.db", "outbox.db-wal", "cache.db", "cache.db-wal"};
    char path[200];
    struct stat facts;
    int64_t size = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", f->path, names[i]);
        if (stat(path, &facts) == 0) size += facts.st_size;
    }
    return size;
}

static kedge_status put(fixture *f, const char *id, size_t size)
{
    char *args = malloc(size + 100);
    assert_non_null(args);
    int begun = snprintf(args, 100, "{\"id\":\"%s\",\"value\":{\"text\":\"", id);
    memset(args + begun, 'x', size);
    memcpy(args + (size_t)begun + size, "\"}}", 4);
    kedge_status status = kedge_store_mutate(f->store, KEDGE_BYTES("set"), kedge_bytes_of(args),
                                             NULL, &f->changes, &f->error);
    free(args);
    return status;
}

static void begin(small_volume *v)
{
    char id[16];
    fixture_begin(&v->f);
    v->vfs = fault_vfs_new("kedge-cut", 1);
    assert_non_null(v->vfs);
    v->f.options.vfs = "kedge-cut";
    fixture_open(&v->f);
    for (int i = 0; i < ITEMS; i++) {
        snprintf(id, sizeof id, "n%d", i);
        assert_int_equal(put(&v->f, id, VALUE_BYTES), KEDGE_OK);
    }
    fixture_close_flat(&v->f);
}

static void fill_disk(small_volume *v)
{
    v->before = size_of_files(&v->f);
    fault_vfs_set_room(v->vfs, ROOM);
}

/* Moving what was committed before may take a little. */
static void expect_room(const small_volume *v)
{
    int64_t taken = size_of_files(&v->f) - v->before;
    print_message("%lld bytes of %d are taken\n", (long long)taken, ROOM);
    assert_true(fault_vfs_counts(v->vfs).full > 0);
    assert_true(taken < ROOM / 2);
}

static void end(small_volume *v)
{
    fault_vfs_set_room(v->vfs, -1);
    assert_int_equal(put(&v->f, "last", VALUE_BYTES), KEDGE_OK);
    fixture_check(&v->f);
    fixture_close(&v->f);
    fault_vfs_free(v->vfs);
    v->f.options.vfs = NULL;
    fixture_end(&v->f);
}

static kedge_status declare(fixture *f)
{
    kedge_bytes path = KEDGE_BYTES("text");
    return kedge_store_index(f->store, KEDGE_BYTES("by_text"), KEDGE_BYTES("notes"), &path, 1,
                             &f->error);
}

static void test_an_edit_that_is_refused_gives_the_disk_back(void **state)
{
    small_volume v = {0};
    (void)state;
    begin(&v);
    fixture_open(&v.f);
    fill_disk(&v);
    assert_int_equal(put(&v.f, "large", 2 * ROOM), KEDGE_DISK_FULL);
    expect_room(&v);
    end(&v);
}

static void test_an_index_without_room_gives_the_disk_back(void **state)
{
    small_volume v = {0};
    (void)state;
    begin(&v);
    fixture_open(&v.f);
    fill_disk(&v);
    assert_int_equal(declare(&v.f), KEDGE_DISK_FULL);
    expect_room(&v);
    end(&v);
}

static void test_an_opening_without_room_for_an_index_gives_the_disk_back(void **state)
{
    small_volume v = {0};
    (void)state;
    begin(&v);
    fixture_open(&v.f);
    assert_int_equal(declare(&v.f), KEDGE_OK);
    fixture_close_flat(&v.f);
    (void)scenario_run_sql(&v.f, "DROP INDEX \"kedge index by_text\"; VACUUM");
    fill_disk(&v);
    fixture_open(&v.f);
    expect_room(&v);
    end(&v);
}

static void test_an_opening_without_room_for_the_newest_layout_gives_the_disk_back(void **state)
{
    small_volume v = {0};
    (void)state;
    begin(&v);
    (void)scenario_run_sql(&v.f, scenario_layout_4);
    (void)scenario_run_sql(&v.f, "VACUUM");
    fill_disk(&v);
    fixture_open(&v.f);
    expect_room(&v);
    end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_edit_that_is_refused_gives_the_disk_back),
        cmocka_unit_test(test_an_index_without_room_gives_the_disk_back),
        cmocka_unit_test(test_an_opening_without_room_for_an_index_gives_the_disk_back),
        cmocka_unit_test(test_an_opening_without_room_for_the_newest_layout_gives_the_disk_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
