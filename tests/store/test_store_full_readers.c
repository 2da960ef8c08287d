/* A full disk while somebody reads: a WAL cannot be cut off then, so an edit waits for the reader a
 * moment before it is refused. */
#include "tests/store/fixture.h"
#include "tests/support/fault_vfs.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define EDITS_MAX 2000

typedef struct read_volume {
    fixture f;
    fault_vfs *vfs;
    sqlite3 *reader;
    bool stays; /* the reader does, however long it is waited for */
    int waits;
    int edits;
} read_volume;

/* Of both files. */
static void begin_read(read_volume *v)
{
    char path[200];
    char sql[400];
    snprintf(path, sizeof path, "%s/outbox.db", v->f.path);
    assert_int_equal(sqlite3_open(path, &v->reader), SQLITE_OK);
    snprintf(sql, sizeof sql,
             "ATTACH '%s/cache.db' AS cache; BEGIN; SELECT count(*) FROM main.meta;"
             "SELECT count(*) FROM cache.meta",
             v->f.path);
    assert_int_equal(sqlite3_exec(v->reader, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void end_read(read_volume *v)
{
    assert_int_equal(sqlite3_close(v->reader), SQLITE_OK);
    v->reader = NULL;
}

static void waited(void *context)
{
    read_volume *v = context;
    v->waits++;
    if (v->reader && !v->stays) end_read(v);
}

static void begin(read_volume *v)
{
    fixture_begin(&v->f);
    v->vfs = fault_vfs_new("kedge-read", 1);
    assert_non_null(v->vfs);
    v->f.options.vfs = "kedge-read";
    fixture_open(&v->f);
    fixture_sync(&v->f);
    begin_read(v);
    fault_vfs_on_sleep(v->vfs, waited, v);
    fault_vfs_set_room(v->vfs, 0);
}

static void end(read_volume *v)
{
    char value[16];
    fault_vfs_set_room(v->vfs, -1);
    fixture_sync(&v->f);
    assert_int_equal(fixture_position(&v->f).pending, 0);
    snprintf(value, sizeof value, "%d", v->edits - 1);
    fixture_expect(&v->f, "n", value);
    fixture_check(&v->f);
    fixture_close(&v->f);
    fault_vfs_free(v->vfs);
    v->f.options.vfs = NULL;
    fixture_end(&v->f);
}

/* Edits of one item, whose pages the WAL holds once for each of them. */
static kedge_status edit_until_waited(read_volume *v)
{
    kedge_status status = KEDGE_OK;
    char args[64];
    for (int before = v->waits; status == KEDGE_OK && v->waits == before;) {
        assert_true(v->edits < EDITS_MAX);
        snprintf(args, sizeof args, "{\"id\":\"n\",\"value\":%d}", v->edits);
        status = kedge_store_mutate(v->f.store, KEDGE_BYTES("set"), kedge_bytes_of(args), NULL,
                                    &v->f.changes, &v->f.error);
        if (status == KEDGE_OK) v->edits++;
    }
    return status;
}

static void test_an_edit_waits_for_a_reader_to_end_before_it_is_refused(void **state)
{
    read_volume v = {0};
    (void)state;
    begin(&v);
    assert_int_equal(edit_until_waited(&v), KEDGE_OK);
    assert_null(v.reader);
    assert_true(v.edits > 0);
    end(&v);
}

static void test_an_edit_is_refused_when_a_reader_stays(void **state)
{
    read_volume v = {.stays = true};
    (void)state;
    begin(&v);
    assert_int_equal(edit_until_waited(&v), KEDGE_DISK_FULL);
    assert_string_equal(v.f.error.code, "disk-full");
    assert_int_equal(fixture_position(&v.f).pending, v.edits);
    v.stays = false;
    assert_int_equal(edit_until_waited(&v), KEDGE_OK);
    assert_null(v.reader);
    end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_edit_waits_for_a_reader_to_end_before_it_is_refused),
        cmocka_unit_test(test_an_edit_is_refused_when_a_reader_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
