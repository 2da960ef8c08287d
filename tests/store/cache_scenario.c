/* A client's folder in a state that is damaged again and again. */
#include "tests/store/cache_scenario.h"

#include "common/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void note_set_aside(void *context)
{
    ((scenario *)context)->set_aside++;
}

int scenario_setup(void **state)
{
    scenario *s = calloc(1, sizeof *s);
    fixture_begin(&s->f);
    s->f.options.set_aside = note_set_aside;
    s->f.options.set_aside_context = s;
    fixture_open(&s->f);
    *state = s;
    return 0;
}

int scenario_teardown(void **state)
{
    scenario *s = *state;
    fixture_end(&s->f);
    free(s->visible);
    free(s->pulled);
    free(s);
    return 0;
}

/* ---- the file ---- */

static void cache_path(const fixture *f, char out[256])
{
    snprintf(out, 256, "%s/cache.db", f->path);
}

sqlite3 *scenario_open_cache(const fixture *f)
{
    char path[256];
    sqlite3 *db;
    cache_path(f, path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA ignore_check_constraints=1", NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

/* A table as layout 4 had it, with the rows of today's. */
#define AS_LAYOUT_4(table)                                                                         \
    "ALTER TABLE " table " RENAME TO newer; CREATE TABLE " table "("                               \
    "collection TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL,"  \
    " own_collection TEXT AS (collection), own_id TEXT AS (id), own_value TEXT AS (value),"        \
    " PRIMARY KEY(collection, id)) WITHOUT ROWID;"                                                 \
    "INSERT INTO " table "(collection, id, value, checksum)"                                       \
    " SELECT collection, id, value, checksum FROM newer; DROP TABLE newer;"

const char scenario_layout_4[] =
    AS_LAYOUT_4("item") AS_LAYOUT_4("staged_item") "PRAGMA user_version=4";

/* How many rows it changed. */
int scenario_run_sql(const fixture *f, const char *sql)
{
    sqlite3 *db = scenario_open_cache(f);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int changes = sqlite3_total_changes(db);
    sqlite3_close(db);
    return changes;
}

/* ---- the states ---- */

void scenario_remember(scenario *s)
{
    fixture *f = &s->f;
    s->visible = fixture_dump(f->store, false);
    s->pending = fixture_position(f).pending;
    fixture_close_flat(f);
    snprintf(s->whole, sizeof s->whole, "%s/whole", f->folder);
    fixture_copy_tree(f->path, s->whole);
    fixture_open(f);
    fixture_pull(f);
    s->pulled = fixture_dump(f->store, false);
    fixture_close(f);
}

void scenario_put_back(scenario *s)
{
    fixture_close(&s->f);
    fixture_remove_tree(s->f.path);
    fixture_copy_tree(s->whole, s->f.path);
    s->set_aside = 0;
}

void scenario_fill_server(fixture *f)
{
    char args[160];
    for (int i = 0; i < SCENARIO_ITEMS; i++) {
        snprintf(args, sizeof args, "{\"id\":\"item%03d\",\"value\":\"%060d\"}", i, i);
        naive_server_edit(f->server, "set", args);
    }
}

/* All is pulled, and edits are pending: one makes an item, one changes one, one removes one. What
 * they do depends on nothing else. */
void scenario_make_pulled(scenario *s)
{
    fixture *f = &s->f;
    scenario_fill_server(f);
    fixture_pull(f);
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    fixture_mutate(f, "set", "{\"id\":\"item007\",\"value\":\"changed\"}");
    fixture_mutate(f, "remove", "{\"id\":\"item050\"}");
    scenario_remember(s);
}

/* A few pages of a snapshot have come, with the outcome of an edit. */
void scenario_make_staged(scenario *s)
{
    fixture *f = &s->f;
    kedge_apply_result result = KEDGE_APPLY_DONE;
    scenario_fill_server(f);
    f->server->paged = true;
    f->server->page_items = 20;
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    assert_int_equal(fixture_push(f), NAIVE_OK);
    fixture_mutate(f, "set", "{\"id\":\"item007\",\"value\":\"changed\"}");
    for (int page = 0; page < 3; page++) {
        kedge_status status =
            page == 0 ? fixture_try_pull(f, &result) : fixture_try_page(f, &result);
        assert_int_equal(status, KEDGE_OK);
        assert_int_equal(result, KEDGE_APPLY_PAGES);
    }
    scenario_remember(s);
}

/* ---- reading ---- */

/* A value that is read is the one that should be there, before or after the pull. */
static void check_value(const scenario *s, kedge_bytes id, kedge_bytes value)
{
    char key[64];
    kedge_bytes expected;
    snprintf(key, sizeof key, "notes/%.*s", (int)id.size, id.data);
    if (kedge_json_member(kedge_bytes_of(s->visible), key, &expected) &&
        kedge_bytes_equal(expected, value))
        return;
    if (kedge_json_member(kedge_bytes_of(s->pulled), key, &expected) &&
        kedge_bytes_equal(expected, value))
        return;
    fail_msg("%s was read as %.*s", key, (int)value.size, value.data);
}

static void get_all(scenario *s)
{
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    for (int i = -1; i < SCENARIO_ITEMS; i++) {
        char id[16] = "mine";
        if (i >= 0) snprintf(id, sizeof id, "item%03d", i);
        kedge_status status = kedge_store_get(s->f.store, KEDGE_BYTES("notes"), kedge_bytes_of(id),
                                              &value, &s->f.error);
        if (status == KEDGE_OK) check_value(s, kedge_bytes_of(id), kedge_buffer_bytes(&value));
        if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NOT_FOUND);
    }
    kedge_buffer_free(&value);
}

static void scan_all(scenario *s, bool descending)
{
    kedge_scan_options options = KEDGE_SCAN_OPTIONS_INIT;
    kedge_store_scan *scan;
    kedge_bytes id;
    kedge_bytes value;
    kedge_status status;
    options.descending = descending;
    assert_int_equal(
        kedge_store_scan_open(s->f.store, KEDGE_BYTES("notes"), &options, &scan, &s->f.error),
        KEDGE_OK);
    while ((status = kedge_store_scan_next(scan, &id, &value, &s->f.error)) == KEDGE_OK)
        check_value(s, id, value);
    if (status != KEDGE_DONE) assert_int_equal(status, KEDGE_CORRUPT);
    kedge_store_scan_close(scan);
}

kedge_status scenario_query(scenario *s, const char *sql)
{
    kedge_query *query;
    kedge_status status = kedge_store_query_open(s->f.store, kedge_bytes_of(sql), (kedge_bytes){0},
                                                 &query, &s->f.error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_query_next(query, &s->f.error)) == KEDGE_OK) {
        kedge_bytes id = {0};
        kedge_bytes value = {0};
        id.data = kedge_store_query_text(query, 0, &id.size);
        value.data = kedge_store_query_text(query, 1, &value.size);
        if (value.data) check_value(s, id, value);
    }
    kedge_store_query_close(query);
    return status;
}

void scenario_read(scenario *s)
{
    get_all(s);
    scan_all(s, false);
    scan_all(s, true);
    kedge_status status = scenario_query(s, "SELECT id, value FROM notes");
    if (status != KEDGE_DONE) assert_int_equal(status, KEDGE_CORRUPT);
    assert_int_equal(fixture_position(&s->f).pending, s->pending);
}

void scenario_check(scenario *s)
{
    kedge_status status;
    while ((status = kedge_store_check_cache(s->f.store, &s->f.error)) != KEDGE_DONE)
        if (status != KEDGE_OK) assert_int_equal(status, KEDGE_CORRUPT);
}

/* Reads and pulls as a client does, and expects that everything is as it should be in the end. */
void scenario_expect_healed(scenario *s)
{
    fixture *f = &s->f;
    scenario_read(s);
    scenario_check(s);
    scenario_read(s);
    for (int pull = 0; pull < 2; pull++) {
        fixture_pull(f);
        assert_true(fixture_position(f).pending <= s->pending);
        get_all(s);
        scenario_check(s);
    }
    assert_false(fixture_position(f).resyncing);
    char *dump = fixture_dump(f->store, false);
    assert_string_equal(dump, s->pulled);
    free(dump);
    fixture_check(f);
}
