/* Values of cache.db that are other values than those that were written: whatever column, page or
 * row it is, no wrong value is read, the cache is set aside and pulled again, and pending stays. */
#include "tests/store/fixture.h"

#include "common/json.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE  4096
#define ITEMS 120

/* A folder in a state that is damaged again and again, and what should be read from it. */
typedef struct scenario {
    fixture f;
    char whole[160]; /* a copy of the folder before the damage */
    char *visible;   /* … and what was visible in it */
    int64_t pending; /* … and pending */
    char *pulled;    /* what is visible when all is pulled */
    int set_aside;   /* how often since the folder was put back */
} scenario;

static void note_set_aside(void *context)
{
    ((scenario *)context)->set_aside++;
}

static int setup(void **state)
{
    scenario *s = calloc(1, sizeof *s);
    fixture_begin(&s->f);
    s->f.options.set_aside = note_set_aside;
    s->f.options.set_aside_context = s;
    fixture_open(&s->f);
    *state = s;
    return 0;
}

static int teardown(void **state)
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

static sqlite3 *open_cache(const fixture *f)
{
    char path[256];
    sqlite3 *db;
    cache_path(f, path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA ignore_check_constraints=1", NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

/* How many rows it changed. */
static int run_sql(const fixture *f, const char *sql)
{
    sqlite3 *db = open_cache(f);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int changes = sqlite3_total_changes(db);
    sqlite3_close(db);
    return changes;
}

static char *read_pages(const fixture *f, long *pages)
{
    char path[256];
    struct stat facts;
    cache_path(f, path);
    assert_int_equal(stat(path, &facts), 0);
    *pages = facts.st_size / PAGE;
    char *bytes = malloc((size_t)facts.st_size);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, PAGE, (size_t)*pages, file), (size_t)*pages);
    fclose(file);
    return bytes;
}

static void write_page(const fixture *f, long page, const char *bytes)
{
    char path[256];
    cache_path(f, path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, page * PAGE, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, PAGE, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* ---- the states ---- */

static void remember(scenario *s)
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

static void put_back(scenario *s)
{
    fixture_close(&s->f);
    fixture_remove_tree(s->f.path);
    fixture_copy_tree(s->whole, s->f.path);
    s->set_aside = 0;
}

static void fill_server(fixture *f)
{
    char args[160];
    for (int i = 0; i < ITEMS; i++) {
        snprintf(args, sizeof args, "{\"id\":\"item%03d\",\"value\":\"%060d\"}", i, i);
        naive_server_edit(f->server, "set", args);
    }
}

/* All is pulled, and edits are pending: one makes an item, one changes one, one removes one. What
 * they do depends on nothing else. */
static void make_pulled(scenario *s)
{
    fixture *f = &s->f;
    fill_server(f);
    fixture_pull(f);
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    fixture_mutate(f, "set", "{\"id\":\"item007\",\"value\":\"changed\"}");
    fixture_mutate(f, "remove", "{\"id\":\"item050\"}");
    remember(s);
}

/* A few pages of a snapshot have come, with the outcome of an edit. */
static void make_staged(scenario *s)
{
    fixture *f = &s->f;
    kedge_apply_result result = KEDGE_APPLY_DONE;
    fill_server(f);
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
    remember(s);
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
    for (int i = -1; i < ITEMS; i++) {
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

static kedge_status query_all(scenario *s, const char *sql)
{
    kedge_query *query;
    kedge_status status = kedge_store_query_open(s->f.store, kedge_bytes_of(sql), (kedge_bytes){0},
                                                 &query, &s->f.error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_query_next(query, &s->f.error)) == KEDGE_OK) {
        kedge_bytes id = {0};
        kedge_bytes value = {0};
        id.data = kedge_query_text(query, 0, &id.size);
        value.data = kedge_query_text(query, 1, &value.size);
        if (value.data) check_value(s, id, value);
    }
    kedge_query_close(query);
    return status;
}

static void read_all(scenario *s)
{
    get_all(s);
    scan_all(s, false);
    scan_all(s, true);
    kedge_status status = query_all(s, "SELECT id, value FROM notes");
    if (status != KEDGE_DONE) assert_int_equal(status, KEDGE_CORRUPT);
    assert_int_equal(fixture_position(&s->f).pending, s->pending);
}

static void check_in_background(scenario *s)
{
    kedge_status status;
    while ((status = kedge_store_check_cache(s->f.store, &s->f.error)) != KEDGE_DONE)
        if (status != KEDGE_OK) assert_int_equal(status, KEDGE_CORRUPT);
}

/* Reads and pulls as a client does, and expects that everything is as it should be in the end. */
static void expect_healed(scenario *s)
{
    fixture *f = &s->f;
    read_all(s);
    check_in_background(s);
    read_all(s);
    for (int pull = 0; pull < 2; pull++) {
        fixture_pull(f);
        assert_true(fixture_position(f).pending <= s->pending);
        get_all(s);
        check_in_background(s);
    }
    assert_false(fixture_position(f).resyncing);
    char *dump = fixture_dump(f->store, false);
    assert_string_equal(dump, s->pulled);
    free(dump);
    fixture_check(f);
}

/* ---- every column ---- */

typedef struct column {
    char table[32];
    char name[32];
    char type[16];
    bool nullable;
} column;

static size_t list_columns(const fixture *f, column *columns, size_t capacity)
{
    static const char sql[] =
        "SELECT t.name, c.name, c.type, c.\"notnull\" = 0 AND c.pk = 0 FROM sqlite_master t,"
        " pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid";
    sqlite3_stmt *walk;
    size_t count = 0;
    sqlite3 *db = open_cache(f);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &walk, NULL), SQLITE_OK);
    while (sqlite3_step(walk) == SQLITE_ROW) {
        column *at = &columns[count++];
        assert_true(count <= capacity);
        snprintf(at->table, sizeof at->table, "%s", sqlite3_column_text(walk, 0));
        snprintf(at->name, sizeof at->name, "%s", sqlite3_column_text(walk, 1));
        snprintf(at->type, sizeof at->type, "%s", sqlite3_column_text(walk, 2));
        at->nullable = sqlite3_column_int(walk, 3) != 0;
    }
    sqlite3_finalize(walk);
    sqlite3_close(db);
    return count;
}

/* Wrong values that SQLite and JSON have no objection to, and some that they have; NULL behind the
 * last. `@` stands for the column. */
static const char *const *wrong_values(const column *at)
{
    static const char *const numbers[] = {"@ + 1", "@ - 1", "-@ - 7", NULL};
    static const char *const texts[] = {
        "@ || 'x'", "'\"other\"'", "replace(@, '1', '2') || ' '", "''", "CAST(@ AS BLOB)", NULL};
    static const char *const blobs[] = {"zeroblob(32)", "@ || x'00'", NULL};
    if (strcmp(at->type, "INTEGER") == 0) return numbers;
    if (strcmp(at->type, "TEXT") == 0) return texts;
    assert_string_equal(at->type, "BLOB");
    return blobs;
}

/* The expression with the column's name in it. */
static void put_name(const char *expression, const char *name, char out[128])
{
    const char *at = strchr(expression, '@');
    int before = at ? (int)(at - expression) : (int)strlen(expression);
    snprintf(out, 128, "%.*s%s%s", before, expression, at ? name : "", at ? at + 1 : "");
}

static bool has_key(const column *at)
{
    return strcmp(at->table, "item") == 0 || strcmp(at->table, "base") == 0 ||
           strcmp(at->table, "staged_item") == 0;
}

/* In one row, in the middle of the table. False when it holds that value already. */
static bool write_wrong(const fixture *f, const column *at, const char *value)
{
    char expression[128];
    char sql[640];
    const char *key = has_key(at) ? "id" : "rowid";
    put_name(value, at->name, expression);
    snprintf(sql, sizeof sql,
             "UPDATE %s SET %s = %s WHERE %s = (SELECT %s FROM %s ORDER BY 1 LIMIT 1 OFFSET"
             " (SELECT count(*) / 2 FROM %s)) AND quote(%s) <> quote(%s)",
             at->table, at->name, expression, key, key, at->table, at->table, at->name, expression);
    return run_sql(f, sql) > 0;
}

/* What the damage to a column leads to. The mutators that made the prediction are compared as a
 * whole: another text of them makes the prediction anew. */
static bool is_set_aside(const column *at)
{
    return strcmp(at->table, "registry") != 0;
}

static bool damage_column(scenario *s, const column *at, const char *value, bool open)
{
    fixture *f = &s->f;
    put_back(s);
    if (open) {
        fixture_open(f);
        read_all(s);
    }
    if (!write_wrong(f, at, value)) return false;
    if (!open) fixture_open(f);
    expect_healed(s);
    if ((s->set_aside > 0) != is_set_aside(at))
        fail_msg("%s.%s = %s (%s): set aside %d times", at->table, at->name, value,
                 open ? "open" : "closed", s->set_aside);
    return true;
}

static void damage_values(scenario *s, const column *at, size_t *cases)
{
    const char *const *values = wrong_values(at);
    size_t before = *cases;
    for (size_t i = 0; values[i]; i++) {
        /* The same bytes of another type mean the same, where nothing is compared by type. */
        bool retyped = strstr(values[i], "CAST") != NULL;
        if (retyped && !has_key(at)) continue;
        *cases += damage_column(s, at, values[i], false);
        *cases += damage_column(s, at, values[i], true);
    }
    if (at->nullable) *cases += damage_column(s, at, "NULL", false);
    if (*cases == before) fail_msg("%s.%s was never damaged", at->table, at->name);
}

/* Every column of the tables that `staged` selects. */
static void damage_columns(scenario *s, bool staged)
{
    column columns[128];
    size_t cases = 0;
    put_back(s);
    size_t count = list_columns(&s->f, columns, 128);
    for (size_t i = 0; i < count; i++) {
        const column *at = &columns[i];
        if ((strncmp(at->table, "stag", 4) == 0) != staged) continue;
        damage_values(s, at, &cases);
    }
    print_message("%zu wrong values\n", cases);
    assert_true(cases > 20);
}

static void test_a_wrong_value_in_any_column_is_never_read_and_heals(void **state)
{
    scenario *s = *state;
    make_pulled(s);
    damage_columns(s, false);
}

static void test_a_wrong_value_in_any_staged_column_is_never_read_and_heals(void **state)
{
    scenario *s = *state;
    make_staged(s);
    damage_columns(s, true);
}

/* ---- pages and rows ---- */

static void test_a_row_that_is_missing_is_noticed(void **state)
{
    static const char *const tables[] = {"item", "base", "meta"};
    scenario *s = *state;
    make_pulled(s);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[128];
        put_back(s);
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s", tables[i],
                 strcmp(tables[i], "item") == 0 ? "id = 'item090'" : "1");
        assert_true(run_sql(&s->f, sql) > 0);
        fixture_open(&s->f);
        expect_healed(s);
        assert_true(s->set_aside > 0);
    }
}

static void test_a_staged_row_that_is_missing_is_noticed(void **state)
{
    static const char *const tables[] = {"staged_item", "staged_outcome", "staging"};
    scenario *s = *state;
    make_staged(s);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[128];
        put_back(s);
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s", tables[i],
                 strcmp(tables[i], "staged_item") == 0 ? "id = 'item030'" : "1");
        assert_true(run_sql(&s->f, sql) > 0);
        fixture_open(&s->f);
        expect_healed(s);
        /* Without the staging row nothing is staged, and the pages are asked for again. */
        if (strcmp(tables[i], "staging") != 0) assert_true(s->set_aside > 0);
    }
}

/* Each page, in turn, is what it was a pull before. All its rows are sound. */
static void test_an_old_page_that_comes_back_is_noticed(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    long pages;
    long old_pages;
    int tried = 0;
    fill_server(f);
    fixture_pull(f);
    fixture_close_flat(f);
    char *old = read_pages(f, &old_pages);
    fixture_open(f);
    for (int i = 0; i < ITEMS; i += 10) {
        char args[160];
        snprintf(args, sizeof args, "{\"id\":\"item%03d\",\"value\":\"%060d\"}", i, -i);
        naive_server_edit(f->server, "set", args);
    }
    fixture_pull(f);
    fixture_mutate(f, "set", "{\"id\":\"mine\",\"value\":1}");
    remember(s);
    put_back(s);
    char *now = read_pages(f, &pages);
    for (long page = 1; page < pages && page < old_pages; page++) {
        if (memcmp(old + page * PAGE, now + page * PAGE, PAGE) == 0) continue;
        put_back(s);
        write_page(f, page, old + page * PAGE);
        fixture_open(f);
        check_in_background(s);
        assert_true(s->set_aside > 0);
        expect_healed(s);
        tried++;
    }
    print_message("%d old pages\n", tried);
    assert_true(tried > 3);
    free(old);
    free(now);
}

/* A page of a b-tree has the count of its cells at 3. */
static bool holds_rows(const char *page)
{
    return page[3] != 0 || page[4] != 0;
}

/* A swap of two pages without rows harms nobody, until SQLite notices it when they get some. */
static void test_pages_that_were_swapped_are_noticed(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    long pages;
    int tried = 0;
    make_pulled(s);
    put_back(s);
    char *now = read_pages(f, &pages);
    for (long page = 1; page + 1 < pages; page++) {
        const char *one = now + page * PAGE;
        const char *other = now + (page + 1) * PAGE;
        if (memcmp(one, other, PAGE) == 0) continue;
        put_back(s);
        write_page(f, page, other);
        write_page(f, page + 1, one);
        fixture_open(f);
        check_in_background(s);
        if (holds_rows(one) || holds_rows(other)) assert_true(s->set_aside > 0);
        tried++;
    }
    print_message("%d pairs of pages\n", tried);
    assert_true(tried > 5);
    free(now);
}

/* ---- queries ---- */

static const char WRONG[] = "UPDATE item SET value = '\"wrong\"' WHERE id = 'item070'";

/* Conditions that would take the wrong row away, and what reads no value. */
static void test_a_wrong_value_changes_no_result_of_a_query(void **state)
{
    static const char *const queries[] = {
        "SELECT id, value FROM notes WHERE value <> '\"wrong\"'",
        "SELECT id, value FROM notes WHERE json_extract(value, '$') LIKE '0%'",
        "SELECT id, value FROM kedge_items WHERE length(value) > 20",
        "SELECT count(*) FROM notes",
        "SELECT id FROM notes WHERE id > 'item060' ORDER BY id",
        "SELECT a.id FROM notes a LEFT JOIN notes b ON b.id = a.id AND b.value LIKE '%0%'",
        "WITH few AS (SELECT id FROM notes WHERE value > '\"1') SELECT id FROM few",
        "SELECT id FROM notes WHERE id = 'item070' AND value = '1'",
        "SELECT (SELECT max(value) FROM notes) FROM notes LIMIT 1",
    };
    scenario *s = *state;
    make_pulled(s);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        put_back(s);
        assert_int_equal(run_sql(&s->f, WRONG), 1);
        fixture_open(&s->f);
        if (query_all(s, queries[i]) != KEDGE_CORRUPT) fail_msg("%s", queries[i]);
        assert_string_equal(s->f.error.code, "file-damaged");
        assert_non_null(strstr(s->f.error.message, "notes/item070"));
        assert_true(s->set_aside > 0);
        expect_healed(s);
    }
}

static void test_sql_of_the_app_cannot_claim_damage(void **state)
{
    static const char *const queries[] = {
        "SELECT kedge_sound('a', 'b', 'c', 1)",
        "WITH notes AS (SELECT kedge_sound('a', 'b', 'c', 1) AS x) SELECT x FROM notes",
        "SELECT json_extract('{', '$')",
    };
    scenario *s = *state;
    make_pulled(s);
    put_back(s);
    fixture_open(&s->f);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        assert_int_equal(query_all(s, queries[i]), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(s->set_aside, 0);
}

/* ---- what is said, and when ---- */

static void test_damage_is_named_by_file_table_and_key(void **state)
{
    scenario *s = *state;
    kedge_store_scan *scan;
    kedge_bytes id;
    kedge_bytes value;
    kedge_status status;
    make_pulled(s);
    put_back(s);
    assert_int_equal(run_sql(&s->f, WRONG), 1);
    fixture_open(&s->f);
    assert_int_equal(
        kedge_store_scan_open(s->f.store, KEDGE_BYTES("notes"), NULL, &scan, &s->f.error),
        KEDGE_OK);
    while ((status = kedge_store_scan_next(scan, &id, &value, &s->f.error)) == KEDGE_OK)
        ;
    assert_int_equal(status, KEDGE_CORRUPT);
    assert_string_equal(s->f.error.code, "file-damaged");
    assert_string_equal(s->f.error.message,
                        "cache.db is damaged: the row notes/item070 of the table"
                        " item is not what was written");
    kedge_store_scan_close(scan);
    expect_healed(s);
}

/* A mutator reads a wrong value: what it made of it is not written. */
static void test_an_edit_on_a_wrong_value_is_made_on_the_new_cache(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    naive_server_edit(f->server, "set", "{\"id\":\"n\",\"value\":5}");
    fixture_pull(f);
    assert_int_equal(run_sql(f, "UPDATE item SET value = '6' WHERE id = 'n'"), 1);
    fixture_mutate(f, "add", "{\"id\":\"n\",\"by\":1}");
    assert_int_equal(s->set_aside, 1);
    assert_true(fixture_position(f).resyncing);
    fixture_pull(f);
    fixture_expect(f, "n", "6");
    fixture_sync(f);
    fixture_expect_canonical(f, "n", "6");
}

static void test_the_check_is_due_after_an_opening_and_a_resync(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    fill_server(f);
    fixture_pull(f);
    assert_true(kedge_store_check_is_due(f->store));
    check_in_background(s);
    assert_false(kedge_store_check_is_due(f->store));
    assert_int_equal(kedge_store_check_cache(f->store, &f->error), KEDGE_DONE);
    assert_int_equal(run_sql(f, "UPDATE item SET value = '6' WHERE id = 'item007'"), 1);
    fixture_reopen(f);
    assert_int_equal(kedge_store_check_cache(f->store, &f->error), KEDGE_CORRUPT);
    fixture_pull(f);
    assert_true(kedge_store_check_is_due(f->store));
    check_in_background(s);
    assert_int_equal(s->set_aside, 1);
}

/* ---- the older layout ---- */

static const char TO_LAYOUT_1[] =
    "ALTER TABLE item DROP COLUMN checksum; ALTER TABLE base DROP COLUMN checksum;"
    "ALTER TABLE staged_item DROP COLUMN checksum; ALTER TABLE staged_outcome DROP COLUMN checksum;"
    "ALTER TABLE staging DROP COLUMN checksum; ALTER TABLE staging DROP COLUMN item_rows;"
    "ALTER TABLE staging DROP COLUMN item_sum; ALTER TABLE staging DROP COLUMN outcome_rows;"
    "ALTER TABLE staging DROP COLUMN outcome_sum; ALTER TABLE meta DROP COLUMN checksum;"
    "ALTER TABLE meta DROP COLUMN item_rows; ALTER TABLE meta DROP COLUMN item_sum;"
    "ALTER TABLE meta DROP COLUMN base_rows; ALTER TABLE meta DROP COLUMN base_sum;"
    "PRAGMA user_version=1";

static void test_a_cache_of_the_older_layout_is_brought_up_to_date(void **state)
{
    scenario *s = *state;
    fixture *f = &s->f;
    make_pulled(s);
    put_back(s);
    run_sql(f, TO_LAYOUT_1);
    fixture_open(f);
    assert_false(fixture_position(f).resyncing);
    fixture_expect(f, "item007", "\"changed\"");
    check_in_background(s);
    fixture_mutate(f, "set", "{\"id\":\"item008\",\"value\":2}");
    fixture_reopen(f);
    check_in_background(s);
    fixture_sync(f);
    check_in_background(s);
    assert_int_equal(s->set_aside, 0);
    fixture_check(f);
}

static void test_a_layout_that_is_not_what_it_claims_to_be_is_damage(void **state)
{
    scenario *s = *state;
    make_pulled(s);
    put_back(s);
    run_sql(&s->f, "PRAGMA user_version=1");
    fixture_open(&s->f);
    assert_true(fixture_position(&s->f).resyncing);
    expect_healed(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_wrong_value_in_any_column_is_never_read_and_heals),
        TEST(test_a_wrong_value_in_any_staged_column_is_never_read_and_heals),
        TEST(test_a_row_that_is_missing_is_noticed),
        TEST(test_a_staged_row_that_is_missing_is_noticed),
        TEST(test_an_old_page_that_comes_back_is_noticed),
        TEST(test_pages_that_were_swapped_are_noticed),
        TEST(test_a_wrong_value_changes_no_result_of_a_query),
        TEST(test_sql_of_the_app_cannot_claim_damage),
        TEST(test_damage_is_named_by_file_table_and_key),
        TEST(test_an_edit_on_a_wrong_value_is_made_on_the_new_cache),
        TEST(test_the_check_is_due_after_an_opening_and_a_resync),
        TEST(test_a_cache_of_the_older_layout_is_brought_up_to_date),
        TEST(test_a_layout_that_is_not_what_it_claims_to_be_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
