/* A wrong value in any column of cache.db: no wrong value is read, the cache is set aside and
 * pulled again, and pending stays. The columns are those of the schema: a new one that no checksum
 * covers fails here. (Those of `change` are for watches, not for readers.) */
#include "tests/store/cache_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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
        " pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name <> 'change' ORDER BY "
        "t.name, c.cid";
    sqlite3_stmt *cursor;
    size_t count = 0;
    sqlite3 *db = scenario_open_cache(f);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &cursor, NULL), SQLITE_OK);
    while (sqlite3_step(cursor) == SQLITE_ROW) {
        column *at = &columns[count++];
        assert_true(count <= capacity);
        snprintf(at->table, sizeof at->table, "%s", sqlite3_column_text(cursor, 0));
        snprintf(at->name, sizeof at->name, "%s", sqlite3_column_text(cursor, 1));
        snprintf(at->type, sizeof at->type, "%s", sqlite3_column_text(cursor, 2));
        at->nullable = sqlite3_column_int(cursor, 3) != 0;
    }
    sqlite3_finalize(cursor);
    sqlite3_close(db);
    return count;
}

/* Wrong values that SQLite and JSON have no objection to, and some that they have; NULL after the
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
    return scenario_run_sql(f, sql) > 0;
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
    scenario_put_back(s);
    if (open) {
        fixture_open(f);
        scenario_read(s);
    }
    if (!write_wrong(f, at, value)) return false;
    if (!open) fixture_open(f);
    scenario_expect_healed(s);
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
    scenario_put_back(s);
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
    scenario_make_pulled(s);
    damage_columns(s, false);
}

static void test_a_wrong_value_in_any_staged_column_is_never_read_and_heals(void **state)
{
    scenario *s = *state;
    scenario_make_staged(s);
    damage_columns(s, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scenario_setup, scenario_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_wrong_value_in_any_column_is_never_read_and_heals),
        TEST(test_a_wrong_value_in_any_staged_column_is_never_read_and_heals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
