/* Volumes that are too small: whatever their size, what was acknowledged is read by every way of
 * reading, also after opening again on the volume that is still full; the status says what is
 * wrong; and when there is room again, everything is as if there had always been. */
#include "tests/store/fixture.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NOTES 50
#define EDITS 600

typedef struct volume {
    fixture f;
    fault_vfs *vfs;
    int values[NOTES]; /* what each note should be; 0: it is not there */
    int acknowledged;
} volume;

static void begin(volume *v, uint64_t seed)
{
    memset(v, 0, sizeof *v);
    fixture_begin(&v->f);
    v->vfs = fault_vfs_new("kedge-volume", seed);
    assert_non_null(v->vfs);
    v->f.options.vfs = "kedge-volume";
    naive_server_edit(v->f.server, "set", "{\"id\":\"other\",\"value\":7}");
    fixture_open(&v->f);
    fixture_sync(&v->f);
}

static void end(volume *v)
{
    fixture_close(&v->f);
    fault_vfs_free(v->vfs);
    v->f.options.vfs = NULL;
    fixture_end(&v->f);
}

static void made(volume *v)
{
    int note = v->acknowledged * 7 % NOTES;
    v->acknowledged++;
    v->values[note] = v->acknowledged;
}

static kedge_status edit(volume *v)
{
    char args[64];
    int note = v->acknowledged * 7 % NOTES;
    int value = v->acknowledged + 1;
    snprintf(args, sizeof args, "{\"id\":\"n%02d\",\"value\":%d}", note, value);
    memset(&v->f.error, 0, sizeof v->f.error);
    kedge_status status = kedge_store_mutate(v->f.store, KEDGE_BYTES("set"), kedge_bytes_of(args),
                                             NULL, &v->f.changes, &v->f.error);
    if (status == KEDGE_OK) made(v);
    return status;
}

/* A commit that failed may be found done when the file is opened again: an edit like any other. */
static void reopen(volume *v)
{
    fixture_reopen(&v->f);
    if (fixture_position(&v->f).pending == v->acknowledged + 1) made(v);
    assert_int_equal(fixture_position(&v->f).pending, v->acknowledged);
}

static void edit_until_full(volume *v)
{
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && v->acknowledged < EDITS)
        status = edit(v);
    if (status == KEDGE_OK) return;
    assert_int_equal(status, KEDGE_DISK_FULL);
    assert_string_equal(v->f.error.code, "disk-full");
    assert_non_null(strstr(v->f.error.message, v->f.path));
}

/* ---- the ways of reading ---- */

static void append(char *text, size_t size, const char *id, const char *value)
{
    size_t at = strlen(text);
    snprintf(text + at, size - at, "%s=%s;", id, value);
}

static void check_get(volume *v)
{
    char id[16];
    char value[16];
    for (int note = 0; note < NOTES; note++) {
        snprintf(id, sizeof id, "n%02d", note);
        snprintf(value, sizeof value, "%d", v->values[note]);
        fixture_expect(&v->f, id, v->values[note] > 0 ? value : NULL);
    }
    fixture_expect(&v->f, "other", "7");
}

static void scan(volume *v, bool descending, char *text, size_t size)
{
    kedge_store_scan *cursor;
    kedge_scan_options options = KEDGE_SCAN_OPTIONS_INIT;
    kedge_bytes id, value;
    char texts[2][32];
    kedge_status status;
    options.descending = descending;
    options.prefix = "n";
    options.prefix_size = 1;
    text[0] = '\0';
    assert_int_equal(
        kedge_store_scan_open(v->f.store, KEDGE_BYTES("notes"), &options, &cursor, &v->f.error),
        KEDGE_OK);
    while ((status = kedge_store_scan_next(cursor, &id, &value, &v->f.error)) == KEDGE_OK) {
        snprintf(texts[0], sizeof texts[0], "%.*s", (int)id.size, id.data);
        snprintf(texts[1], sizeof texts[1], "%.*s", (int)value.size, value.data);
        append(text, size, texts[0], texts[1]);
    }
    assert_int_equal(status, KEDGE_DONE);
    kedge_store_scan_close(cursor);
}

static void query(volume *v, const char *sql, char *text, size_t size)
{
    kedge_query *rows;
    kedge_status status;
    text[0] = '\0';
    status = kedge_store_query_open(v->f.store, kedge_bytes_of(sql), KEDGE_BYTES(""), &rows,
                                    &v->f.error);
    if (status != KEDGE_OK) print_error("%s\n", v->f.error.message);
    assert_int_equal(status, KEDGE_OK);
    while ((status = kedge_store_query_next(rows, &v->f.error)) == KEDGE_OK)
        append(text, size, kedge_store_query_text(rows, 0, NULL),
               kedge_store_query_text(rows, 1, NULL));
    if (status != KEDGE_DONE) print_error("%s\n", v->f.error.message);
    assert_int_equal(status, KEDGE_DONE);
    kedge_store_query_close(rows);
}

static void expected_rows(const volume *v, bool descending, char *text, size_t size)
{
    char id[16];
    char value[16];
    text[0] = '\0';
    for (int i = 0; i < NOTES; i++) {
        int note = descending ? NOTES - 1 - i : i;
        if (v->values[note] == 0) continue;
        snprintf(id, sizeof id, "n%02d", note);
        snprintf(value, sizeof value, "%d", v->values[note]);
        append(text, size, id, value);
    }
}

static void check_rows(volume *v)
{
    char expected[1024];
    char found[1024];
    int present = 0;
    expected_rows(v, true, expected, sizeof expected);
    scan(v, true, found, sizeof found);
    assert_string_equal(found, expected);
    expected_rows(v, false, expected, sizeof expected);
    scan(v, false, found, sizeof found);
    assert_string_equal(found, expected);
    query(v, "SELECT id, value FROM notes WHERE id < 'o' ORDER BY id", found, sizeof found);
    assert_string_equal(found, expected);
    query(v, "SELECT id, value FROM kedge_items WHERE id < 'o' ORDER BY collection, id", found,
          sizeof found);
    assert_string_equal(found, expected);
    for (int note = 0; note < NOTES; note++)
        present += v->values[note] > 0;
    snprintf(expected, sizeof expected, "notes=%d;", present + 1);
    query(v, "SELECT 'notes', count(*) FROM notes", found, sizeof found);
    assert_string_equal(found, expected);
}

static void check(volume *v)
{
    check_get(v);
    check_rows(v);
    fixture_check(&v->f);
}

/* A store that is stale says so. */
static void check_told(volume *v)
{
    kedge_error error = {0};
    bool stale = fixture_position(&v->f).stale;
    bool told = kedge_store_cache_error(v->f.store, &error);
    assert_int_equal(told, stale);
    if (stale) assert_string_equal(error.code, "disk-full");
}

/* ---- */

static void test_whatever_the_size_of_the_volume_what_was_acknowledged_is_read(void **state)
{
    static const int64_t rooms[] = {0,      4120,   9000,   20000,  40000,  65536,
                                    100000, 131072, 200000, 300000, 500000, 900000};
    (void)state;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        volume v;
        begin(&v, i + 1);
        fault_vfs_set_room(v.vfs, rooms[i]);
        edit_until_full(&v);
        print_message("%lld bytes: %d edits%s\n", (long long)rooms[i], v.acknowledged,
                      fixture_position(&v.f).stale ? ", stale" : "");
        check(&v);
        check_told(&v);
        reopen(&v);
        check(&v);
        check_told(&v);
        fault_vfs_set_room(v.vfs, -1);
        assert_int_equal(edit(&v), KEDGE_OK);
        check(&v);
        assert_false(kedge_store_cache_error(v.f.store, NULL));
        fixture_sync(&v.f);
        check(&v);
        end(&v);
    }
}

/* How many mutations a push sends. */
static uint32_t push_all(fixture *f)
{
    uint32_t count = 0;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(fixture_push_body(f->store, 100, 100000, &body, &count, NULL, &f->error),
                     KEDGE_OK);
    if (count > 0) naive_server_push(f->server, kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
    return count;
}

/* Returns KEDGE_OK when the whole state was stored. */
static kedge_status pull_pages(fixture *f)
{
    kedge_apply_result result = KEDGE_APPLY_PAGES;
    kedge_status status = KEDGE_OK;
    if (fixture_position(f).staged_version == 0) status = fixture_try_pull(f, &result);
    while (status == KEDGE_OK && result == KEDGE_APPLY_PAGES)
        status = fixture_try_page(f, &result);
    return status;
}

/* A first state of a megabyte, of which the volume takes a part. The last page that fits may leave
 * no room for an edit, which is refused then. Returns how many were made. */
static int push_beside_the_first_state(int64_t room)
{
    static char args[5100];
    int edits = 0;
    volume v = {.acknowledged = 0};
    fixture *f = &v.f;
    fixture_begin(f);
    v.vfs = fault_vfs_new("kedge-volume", 1);
    assert_non_null(v.vfs);
    f->options.vfs = "kedge-volume";
    for (int i = 0; i < 200; i++) {
        (void)snprintf(args, sizeof args, "{\"id\":\"big%d\",\"value\":\"%0*d\"}", i, 5000, 0);
        naive_server_edit(f->server, "set", args);
    }
    f->server->paged = true;
    f->server->page_items = 20;
    fixture_open(f);
    fault_vfs_set_room(v.vfs, room);
    for (int i = 1; i <= 3; i++) {
        kedge_status status = edit(&v);
        if (status != KEDGE_OK) assert_int_equal(status, KEDGE_DISK_FULL);
        if (status == KEDGE_OK) edits++;
        assert_int_equal(pull_pages(f), KEDGE_DISK_FULL);
        assert_int_equal(push_all(f), edits);
    }
    fault_vfs_set_room(v.vfs, -1);
    while (fixture_position(f).pending > 0)
        assert_int_equal(pull_pages(f), KEDGE_OK);
    fixture_check(f);
    end(&v);
    return edits;
}

static void test_edits_are_sent_though_the_first_state_finds_no_room(void **state)
{
    (void)state;
    int all = 0;
    for (int64_t room = 60000; room <= 900000; room += 60000) {
        int edits = push_beside_the_first_state(room);
        print_message("%d bytes: %d edits\n", (int)room, edits);
        assert_in_range(edits, 1, 3);
        all += edits;
    }
    assert_true(all >= 40); /* of 45 */
}

/* As docs/explanation/client-store.md says. The indexes of the WALs are not of this VFS. */
#define SMALLEST_BYTES 655360 /* 640 KiB */
#define INDEXES_BYTES  65536
#define SMALL_EDITS    500

static void make_small_edits(fixture *f)
{
    char args[128];
    for (int i = 0; i < SMALL_EDITS; i++) {
        int note = i % NOTES;
        int size = snprintf(args, sizeof args, "{\"id\":\"n%02d\",\"value\":\"%077d\"}", note, i);
        assert_int_equal(size, 100);
        fixture_mutate(f, "set", args);
    }
}

static void hold_small(int64_t room)
{
    volume v = {0};
    fixture_begin(&v.f);
    v.vfs = fault_vfs_new("kedge-volume", 1);
    assert_non_null(v.vfs);
    v.f.options.vfs = "kedge-volume";
    fault_vfs_set_room(v.vfs, room);
    fixture_open(&v.f);
    make_small_edits(&v.f);
    fixture_reopen(&v.f);
    assert_int_equal(fixture_position(&v.f).pending, SMALL_EDITS);
    fixture_check(&v.f);
    fixture_sync(&v.f);
    assert_int_equal(fixture_position(&v.f).pending, 0);
    fixture_check(&v.f);
    end(&v);
}

/* Each commit leaves room to move its WAL into the file. Where the WALs end when the disk is full
 * depends on its size. */
static void test_the_smallest_volume_holds_what_the_documentation_says(void **state)
{
    (void)state;
    for (int64_t room = SMALLEST_BYTES - INDEXES_BYTES; room < 2 * SMALLEST_BYTES;
         room += 12000 * SAMPLING_FEWER)
        hold_small(room);
}

/* ---- what takes many pages ---- */

#define LARGE       200
#define LARGE_BYTES 1000

/* 200 notes of others. */
static void pull_large(volume *v)
{
    char args[LARGE_BYTES + 64];
    for (int i = 0; i < LARGE; i++) {
        snprintf(args, sizeof args, "{\"id\":\"l%d\",\"value\":{\"rank\":\"%0*d\"}}", i,
                 LARGE_BYTES, i);
        naive_server_edit(v->f.server, "set", args);
    }
    fixture_sync(&v->f);
}

/* 200 notes of our own. */
static void make_large(volume *v)
{
    char args[LARGE_BYTES + 64];
    for (int i = 0; i < LARGE; i++) {
        snprintf(args, sizeof args, "{\"id\":\"l%d\",\"value\":\"%0*d\"}", i, LARGE_BYTES, i);
        fixture_mutate(&v->f, "set", args);
    }
}

static void remove_cache(volume *v)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[200];
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        snprintf(path, sizeof path, "%s/cache.db%s", v->f.path, suffixes[i]);
        (void)unlink(path);
    }
}

/* With more room at each step: until it suffices. */
static void test_an_index_leaves_room_for_edits_or_is_not_made(void **state)
{
    const kedge_bytes paths[] = {KEDGE_BYTES("rank")};
    kedge_status status = KEDGE_DISK_FULL;
    (void)state;
    for (int64_t room = 0; status == KEDGE_DISK_FULL; room += 100000) {
        volume v;
        begin(&v, 1);
        pull_large(&v);
        fixture_close_flat(&v.f);
        fixture_open(&v.f);
        fault_vfs_set_room(v.vfs, room);
        status = kedge_store_index(v.f.store, KEDGE_BYTES("by_rank"), KEDGE_BYTES("notes"), paths,
                                   1, &v.f.error);
        if (status == KEDGE_OK) assert_int_equal(edit(&v), KEDGE_OK);
        end(&v);
    }
    assert_int_equal(status, KEDGE_OK);
}

/* A cache that was lost is predicted anew when the folder is opened. */
static void test_a_repair_leaves_room_for_edits_or_is_left_for_later(void **state)
{
    bool stale = true;
    (void)state;
    for (int64_t room = 0; stale; room += 50000) {
        volume v;
        begin(&v, 1);
        make_large(&v);
        fixture_close_flat(&v.f);
        remove_cache(&v);
        fault_vfs_set_room(v.vfs, room);
        stale = fixture_try_open(&v.f, v.f.path, &v.f.store) != KEDGE_OK ||
                fixture_position(&v.f).stale;
        if (!stale) assert_int_equal(edit(&v), KEDGE_OK);
        end(&v);
    }
}

static void change_cache(volume *v, const char *sql)
{
    char path[200];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/cache.db", v->f.path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void damage_item(volume *v, const char *id)
{
    char sql[100];
    snprintf(sql, sizeof sql, "UPDATE item SET value = '0' WHERE id = '%s'", id);
    change_cache(v, sql);
}

static void damage_base(volume *v)
{
    change_cache(v, "UPDATE base SET value = '0'");
}

/* Of the edit or the error that says that the disk is full. */
static bool is_read_or_refused(volume *v, const char *id)
{
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status =
        kedge_store_get(v->f.store, KEDGE_BYTES("notes"), kedge_bytes_of(id), &value, &v->f.error);
    bool read = status == KEDGE_OK && value.size == LARGE_BYTES + 2;
    kedge_buffer_free(&value);
    if (!read && status != KEDGE_DISK_FULL) fail_msg("%s: %s", id, v->f.error.message);
    return read;
}

/* A damaged cache is set aside, and what is pending is predicted on a new one. */
static void test_a_cache_that_is_set_aside_where_there_is_no_room_hides_no_edit(void **state)
{
    bool stale = true;
    (void)state;
    for (int64_t room = 0; stale; room += 30000) {
        volume v;
        begin(&v, 1);
        make_large(&v);
        damage_item(&v, "l0");
        fault_vfs_set_room(v.vfs, room);
        (void)is_read_or_refused(&v, "l0");
        bool read = is_read_or_refused(&v, "l1");
        fault_vfs_set_room(v.vfs, -1);
        stale = !read || fixture_position(&v.f).stale;
        assert_int_equal(kedge_store_catch_up(v.f.store, NULL, &v.f.error), KEDGE_OK);
        assert_true(is_read_or_refused(&v, "l1"));
        end(&v);
    }
}

/* The WAL of the outbox has the room that a new cache needs. */
static void test_a_new_cache_takes_the_room_that_the_outbox_can_give_back(void **state)
{
    (void)state;
    volume v;
    begin(&v, 1);
    make_large(&v);
    damage_item(&v, "l0");
    fault_vfs_set_room(v.vfs, 0);
    assert_true(is_read_or_refused(&v, "l0"));
    assert_true(is_read_or_refused(&v, "l1"));
    end(&v);
}

static void declare_indexes(volume *v)
{
    char name[16];
    for (int i = 0; i < KEDGE_LIMIT_INDEXES; i++) {
        snprintf(name, sizeof name, "x%d", i);
        const kedge_bytes path = kedge_bytes_of(name);
        assert_int_equal(
            kedge_store_index(v->f.store, path, KEDGE_BYTES("notes"), &path, 1, &v->f.error),
            KEDGE_OK);
    }
}

/* However many indexes an edit writes, it is refused where the cache would have no room for it. */
static void test_an_edit_of_indexed_items_needs_no_shadow(void **state)
{
    (void)state;
    for (int64_t room = 0; room < 240000; room += 20000) {
        volume v;
        begin(&v, 1);
        declare_indexes(&v);
        fixture_close_flat(&v.f);
        fixture_open(&v.f);
        fault_vfs_set_room(v.vfs, room);
        edit_until_full(&v);
        check(&v);
        assert_false(fixture_position(&v.f).stale);
        end(&v);
    }
}

static void fill_between_commits(void *context, const char *phase)
{
    volume *v = context;
    if (strcmp(phase, "mutate-between-commits") == 0) fault_vfs_refuse_writes(v->vfs, true);
}

/* A read of an edit that the cache lacks has opened the cache already when its turn finds that it
 * is damaged. */
static void
test_a_read_of_what_the_cache_lacks_leaves_a_cache_that_is_set_aside_meanwhile(void **state)
{
    (void)state;
    volume v;
    begin(&v, 1);
    fixture_mutate(&v.f, "set", "{\"id\":\"a\",\"value\":1}");
    v.f.options.phase = fill_between_commits;
    v.f.options.phase_context = &v;
    fixture_reopen(&v.f);
    fixture_mutate(&v.f, "set", "{\"id\":\"b\",\"value\":2}");
    fault_vfs_refuse_writes(v.vfs, false);
    damage_base(&v);
    fixture_expect(&v.f, "b", "2");
    fixture_expect(&v.f, "a", "1");
    end(&v);
}

/* The app's own collections have any name, and its SQL reads nothing else. */
static void test_queries_of_a_store_whose_cache_cannot_be_written(void **state)
{
    (void)state;
    volume v;
    char found[256];
    kedge_query *rows;
    begin(&v, 1);
    v.f.options.phase = fill_between_commits;
    v.f.options.phase_context = &v;
    fixture_reopen(&v.f);
    assert_int_equal(kedge_store_mutate(v.f.store, KEDGE_BYTES("kedge.put"),
                                        KEDGE_BYTES("{\"collection\":\"item\",\"id\":\"a\","
                                                    "\"value\":{\"x\":1}}"),
                                        NULL, &v.f.changes, &v.f.error),
                     KEDGE_OK);
    assert_true(fixture_position(&v.f).stale);
    query(&v, "SELECT id, json_extract(value, '$.x') FROM item", found, sizeof found);
    assert_string_equal(found, "a=1;");
    query(&v, "SELECT collection, count(*) FROM kedge_items GROUP BY collection ORDER BY 1", found,
          sizeof found);
    assert_string_equal(found, "item=1;notes=1;");
    static const char *const refused[] = {"SELECT * FROM \"kedge shadow\"",
                                          "SELECT * FROM temp.\"kedge shown\"",
                                          "SELECT * FROM main.item"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_equal(kedge_store_query_open(v.f.store, kedge_bytes_of(refused[i]),
                                                KEDGE_BYTES(""), &rows, &v.f.error),
                         KEDGE_INVALID_ARGUMENT);
        assert_string_equal(v.f.error.code, "sql-not-allowed");
    }
    fault_vfs_refuse_writes(v.vfs, false);
    end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whatever_the_size_of_the_volume_what_was_acknowledged_is_read),
        cmocka_unit_test(test_edits_are_sent_though_the_first_state_finds_no_room),
        cmocka_unit_test(test_the_smallest_volume_holds_what_the_documentation_says),
        cmocka_unit_test(test_a_cache_that_is_set_aside_where_there_is_no_room_hides_no_edit),
        cmocka_unit_test(test_a_new_cache_takes_the_room_that_the_outbox_can_give_back),
        cmocka_unit_test(test_an_index_leaves_room_for_edits_or_is_not_made),
        cmocka_unit_test(test_a_repair_leaves_room_for_edits_or_is_left_for_later),
        cmocka_unit_test(test_an_edit_of_indexed_items_needs_no_shadow),
        cmocka_unit_test(
            test_a_read_of_what_the_cache_lacks_leaves_a_cache_that_is_set_aside_meanwhile),
        cmocka_unit_test(test_queries_of_a_store_whose_cache_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
