/* kedge/index.h, and the example of docs/how-to/index-a-member.md. */
#include "tests/runtime/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

kedge_status declare_indexes(kedge_db *db, kedge_error *error);
kedge_status show_due(kedge_db *db, const char *day, void (*show)(void *list, const char *id),
                      void *list, kedge_error *error);

static void put_todo(kedge_db *db, const char *id, const char *value)
{
    char args[256];
    kedge_error error = {0};
    int size = snprintf(args, sizeof args, "{\"collection\":\"todos\",\"id\":\"%s\",\"value\":%s}",
                        id, value);
    if (kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, &error) != KEDGE_OK) {
        fail_msg("%s", error.message);
    }
}

static void note(void *list, const char *id)
{
    size_t size = strlen(list);
    snprintf((char *)list + size, 64 - size, "%s;", id);
}

static bool uses_index(kedge_db *db, const char *index)
{
    static const char sql[] = "EXPLAIN QUERY PLAN SELECT id FROM todos WHERE value ->> 'due' < '2'";
    kedge_query *query = NULL;
    bool found = false;
    assert_int_equal(kedge_query_open(db, sql, sizeof sql - 1, NULL, 0, &query, NULL), KEDGE_OK);
    while (kedge_query_next(query, NULL) == KEDGE_OK) {
        found = found || strstr(kedge_query_text(query, 3, NULL), index) != NULL;
    }
    kedge_query_close(query);
    return found;
}

static void test_the_example_finds_the_todos_by_its_index(void **state)
{
    char found[64] = "";
    kedge_error error = {0};
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    assert_int_equal(declare_indexes(db, &error), KEDGE_OK);
    put_todo(db, "late", "{\"due\":\"2026-12-24\"}");
    put_todo(db, "soon", "{\"due\":\"2026-12-02\"}");
    put_todo(db, "now", "{\"due\":\"2026-12-01\"}");
    put_todo(db, "never", "{}");
    assert_true(uses_index(db, "USING INDEX kedge index todos_by_due"));
    assert_int_equal(show_due(db, "\"2026-12-10\"", note, found, &error), KEDGE_OK);
    assert_string_equal(found, "now;soon;");
    kedge_close(db);
    db = client_open(&options);
    assert_int_equal(declare_indexes(db, &error), KEDGE_OK);
    assert_true(uses_index(db, "USING INDEX kedge index todos_by_due"));
    kedge_close(db);
}

static void test_the_list_gives_the_indexes_in_the_order_of_declaration(void **state)
{
    kedge_index_list *list = NULL;
    const char *name, *collection, *paths;
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    assert_int_equal(declare_indexes(db, NULL), KEDGE_OK);
    assert_int_equal(kedge_index_list_open(db, &list, NULL), KEDGE_OK);
    assert_int_equal(kedge_index_drop(db, "todos_by_due", NULL), KEDGE_OK);
    assert_int_equal(kedge_index_list_next(list, &name, &collection, &paths, NULL), KEDGE_OK);
    assert_string_equal(name, "todos_by_due");
    assert_string_equal(paths, "[\"due\"]");
    assert_int_equal(kedge_index_list_next(list, &name, &collection, &paths, NULL), KEDGE_OK);
    assert_string_equal(name, "todos_by_city");
    assert_string_equal(collection, "todos");
    assert_string_equal(paths, "[\"$.address.city\",\"due\"]");
    assert_int_equal(kedge_index_list_next(list, &name, &collection, &paths, NULL), KEDGE_DONE);
    kedge_index_list_close(list);
    kedge_index_list_close(NULL);
    assert_false(uses_index(db, "todos_by_due"));
    kedge_close(db);
}

static void expect_refused(kedge_status status, kedge_status expected, const kedge_error *error,
                           const char *message)
{
    assert_int_equal(status, expected);
    if (strstr(error->message, message) == NULL) fail_msg("\"%s\"", error->message);
}

static void test_wrong_parameters_are_refused_with_what_is_allowed(void **state)
{
    static const char *const paths[] = {"a", "b", "c", "d", "e"};
    static const char *const none[] = {NULL};
    static const char *const wrong[] = {"a.b"};
    kedge_error error = {0};
    kedge_index_list *list = NULL;
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    expect_refused(kedge_index(NULL, "x", "todos", paths, 1, &error), KEDGE_INVALID_ARGUMENT,
                   &error, "db");
    expect_refused(kedge_index(db, NULL, "todos", paths, 1, &error), KEDGE_INVALID_ARGUMENT, &error,
                   "name");
    expect_refused(kedge_index(db, "x", NULL, paths, 1, &error), KEDGE_INVALID_ARGUMENT, &error,
                   "collection");
    expect_refused(kedge_index(db, "x", "todos", NULL, 1, &error), KEDGE_INVALID_ARGUMENT, &error,
                   "paths");
    expect_refused(kedge_index(db, "x", "todos", none, 1, &error), KEDGE_INVALID_ARGUMENT, &error,
                   "paths");
    expect_refused(kedge_index(db, "x", "todos", paths, 0, &error), KEDGE_INVALID_ARGUMENT, &error,
                   "1 to 4 are allowed");
    expect_refused(kedge_index(db, "x", "todos", paths, 5, &error), KEDGE_LIMIT_EXCEEDED, &error,
                   "has 5 paths; at most 4 are allowed");
    expect_refused(kedge_index(db, "x", "todos", wrong, 1, &error), KEDGE_INVALID_ARGUMENT, &error,
                   "\"a.b\" is no path; allowed are");
    expect_refused(kedge_index_drop(db, "x", &error), KEDGE_NOT_FOUND, &error,
                   "there is no index x");
    expect_refused(kedge_index_drop(db, "a b", &error), KEDGE_INVALID_ARGUMENT, &error,
                   "are allowed");
    expect_refused(kedge_index_list_open(NULL, &list, &error), KEDGE_INVALID_ARGUMENT, &error,
                   "db");
    kedge_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(test_the_example_finds_the_todos_by_its_index),
        CLIENT_FOLDER_TEST(test_the_list_gives_the_indexes_in_the_order_of_declaration),
        CLIENT_FOLDER_TEST(test_wrong_parameters_are_refused_with_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
