/* Structs of an app that was compiled with older or newer headers. Each is in a block of exactly
 * its size, so that AddressSanitizer sees a byte too much that is read or written. */
#include "tests/runtime/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The struct as headers of another `size` have it; members that these do not know are `rest`. */
static void *of_size(const void *known, size_t known_size, size_t size, int rest)
{
    unsigned char *made = malloc(size);
    assert_non_null(made);
    memset(made, rest, size);
    memcpy(made, known, size < known_size ? size : known_size);
    return made;
}

static kedge_options *options_of_size(size_t size, int rest)
{
    kedge_options options = client_options(client_folder, NULL);
    options.size = (uint32_t)size;
    return of_size(&options, sizeof options, size, rest);
}

/* ---- options ---- */

static void test_options_of_older_headers_open_a_database(void **state)
{
    (void)state;
    kedge_options *older = options_of_size(offsetof(kedge_options, userdata_free), 0);
    kedge_db *db = client_open(older);
    free(older);
    client_put(db, "a", "1");
    assert_string_equal(client_get(db, "a"), "1");
    kedge_close(db);
}

static void
test_options_of_newer_headers_open_a_database_unless_they_set_what_is_not_known(void **state)
{
    (void)state;
    kedge_db *db = NULL;
    kedge_error error = {0};
    kedge_options *newer = options_of_size(sizeof *newer + 64, 0);
    kedge_close(client_open(newer));
    ((unsigned char *)newer)[sizeof *newer + 63] = 1;
    assert_int_equal(kedge_open(newer, &db, &error), KEDGE_UNSUPPORTED);
    assert_string_equal(error.code, "struct-newer");
    assert_null(db);
    free(newer);
}

static void test_sizes_that_no_version_has_are_refused(void **state)
{
    static const uint32_t wrong[] = {0, 4, 8, sizeof(kedge_options) - 1, 4104, UINT32_MAX};
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kedge_db *db = NULL;
        kedge_error error = {0};
        options.size = wrong[i];
        assert_int_equal(kedge_open(&options, &db, &error), KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "struct-size");
        assert_non_null(strstr(error.message, "KEDGE_OPTIONS_INIT"));
    }
}

static void test_a_scan_takes_options_of_older_and_of_newer_headers(void **state)
{
    static const size_t sizes[] = {offsetof(kedge_scan_options, prefix),
                                   sizeof(kedge_scan_options) + 16};
    (void)state;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    client_put(db, "b", "2");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *id = NULL;
        kedge_scan *scan = NULL;
        kedge_scan_options known = KEDGE_SCAN_OPTIONS_INIT;
        known.size = (uint32_t)sizes[i];
        known.after = "a";
        known.after_size = 1;
        kedge_scan_options *other = of_size(&known, sizeof known, sizes[i], 0);
        assert_int_equal(kedge_scan_open(db, "notes", other, &scan, NULL), KEDGE_OK);
        assert_int_equal(kedge_scan_next(scan, &id, NULL, NULL, NULL, NULL), KEDGE_OK);
        assert_string_equal(id, "b");
        kedge_scan_close(scan);
        free(other);
    }
    kedge_close(db);
}

/* ---- what Kedge fills ---- */

static void test_a_status_is_filled_as_far_as_the_app_knows_it(void **state)
{
    (void)state;
    size_t larger = sizeof(kedge_sync_status) + 32;
    kedge_sync_status known = KEDGE_SYNC_STATUS_INIT;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");

    known.size = offsetof(kedge_sync_status, rejected);
    kedge_sync_status *older = of_size(&known, sizeof known, known.size, 0xAA);
    assert_int_equal(kedge_get_sync_status(db, older, NULL), KEDGE_OK);
    memcpy(&known, older, offsetof(kedge_sync_status, rejected));
    assert_int_equal(known.size, offsetof(kedge_sync_status, rejected));
    assert_int_equal(known.pending, 1);
    free(older);

    known.size = (uint32_t)larger;
    kedge_sync_status *newer = of_size(&known, sizeof known, larger, 0xAA);
    assert_int_equal(kedge_get_sync_status(db, newer, NULL), KEDGE_OK);
    assert_int_equal(newer->size, larger);
    assert_int_equal(newer->pending, 1);
    for (size_t i = sizeof known; i < larger; i++)
        assert_int_equal(((unsigned char *)newer)[i], 0);
    free(newer);

    kedge_error error = {0};
    known.size = 0;
    assert_int_equal(kedge_get_sync_status(db, &known, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "struct-size");
    kedge_close(db);
}

static void test_a_mutation_is_filled_as_far_as_the_app_knows_it(void **state)
{
    (void)state;
    kedge_mutation_list *list = NULL;
    kedge_mutation known = KEDGE_MUTATION_INIT;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    client_put(db, "b", "2");
    assert_int_equal(kedge_pending_open(db, &list, NULL), KEDGE_OK);

    known.size = 10; /* the list does not move for a struct that cannot be filled */
    assert_int_equal(kedge_mutation_list_next(list, &known, NULL), KEDGE_INVALID_ARGUMENT);
    known.size = offsetof(kedge_mutation, args);
    kedge_mutation *older = of_size(&known, sizeof known, known.size, 0xAA);
    assert_int_equal(kedge_mutation_list_next(list, older, NULL), KEDGE_OK);
    memcpy(&known, older, offsetof(kedge_mutation, args));
    assert_int_equal(known.sequence, 1);
    assert_string_equal(known.name, "kedge.put");
    free(older);

    known.size = sizeof known + 8;
    kedge_mutation *newer = of_size(&known, sizeof known, known.size, 0xAA);
    assert_int_equal(kedge_mutation_list_next(list, newer, NULL), KEDGE_OK);
    assert_int_equal(newer->sequence, 2);
    assert_int_equal(((unsigned char *)newer)[sizeof known], 0);
    free(newer);
    kedge_mutation_list_close(list);
    kedge_close(db);
}

static void test_a_report_of_a_wrong_size_is_refused_before_anything_is_saved(void **state)
{
    (void)state;
    kedge_error error = {0};
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    report.size = 0;
    assert_int_equal(kedge_repair(client_folder, "/nowhere", &report, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "struct-size");
}

/* ---- column types ---- */

static void test_the_type_of_each_value_of_a_query_is_told(void **state)
{
    static const char sql[] = "SELECT value ->> 'n', value ->> 'i', value ->> 'r', value ->> 't',"
                              " value ->> 'b', CAST('x' AS BLOB) FROM notes ORDER BY id";
    static const kedge_column_type first[] = {KEDGE_COLUMN_NULL,    KEDGE_COLUMN_INTEGER,
                                              KEDGE_COLUMN_REAL,    KEDGE_COLUMN_TEXT,
                                              KEDGE_COLUMN_INTEGER, KEDGE_COLUMN_BLOB};
    (void)state;
    kedge_query *query = NULL;
    kedge_options options = client_options(client_folder, NULL);
    kedge_db *db = client_open(&options);
    client_put(db, "a", "{\"n\":null,\"i\":7,\"r\":0.5,\"t\":\"x\",\"b\":true}");
    client_put(db, "b", "{\"i\":\"seven\"}");
    assert_int_equal(kedge_query_open(db, sql, sizeof sql - 1, NULL, 0, &query, NULL), KEDGE_OK);
    assert_int_equal(kedge_query_column_type(query, 0), KEDGE_COLUMN_NULL);
    assert_int_equal(kedge_query_column_type(query, 1), KEDGE_COLUMN_NULL); /* no row yet */
    assert_int_equal(kedge_query_next(query, NULL), KEDGE_OK);
    for (int32_t i = 0; i < 6; i++)
        assert_int_equal(kedge_query_column_type(query, i), first[i]);
    assert_int_equal(kedge_query_column_type(query, 6), KEDGE_COLUMN_NULL);
    assert_int_equal(kedge_query_column_type(query, -1), KEDGE_COLUMN_NULL);
    assert_int_equal(kedge_query_next(query, NULL), KEDGE_OK);
    assert_int_equal(kedge_query_column_type(query, 1), KEDGE_COLUMN_TEXT);
    assert_int_equal(kedge_query_next(query, NULL), KEDGE_DONE);
    assert_int_equal(kedge_query_column_type(query, 1), KEDGE_COLUMN_NULL);
    kedge_query_close(query);
    kedge_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(test_options_of_older_headers_open_a_database),
        CLIENT_FOLDER_TEST(
            test_options_of_newer_headers_open_a_database_unless_they_set_what_is_not_known),
        CLIENT_FOLDER_TEST(test_sizes_that_no_version_has_are_refused),
        CLIENT_FOLDER_TEST(test_a_scan_takes_options_of_older_and_of_newer_headers),
        CLIENT_FOLDER_TEST(test_a_status_is_filled_as_far_as_the_app_knows_it),
        CLIENT_FOLDER_TEST(test_a_mutation_is_filled_as_far_as_the_app_knows_it),
        CLIENT_FOLDER_TEST(test_a_report_of_a_wrong_size_is_refused_before_anything_is_saved),
        CLIENT_FOLDER_TEST(test_the_type_of_each_value_of_a_query_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
