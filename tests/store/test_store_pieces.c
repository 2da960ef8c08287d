/* The pieces of SQL that statements name in braces. */
#include "sdk/store/pieces.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect(const char *sql, const char *whole)
{
    char *text = NULL;
    assert_int_equal(kedge_pieces_put(sql, &text), SQLITE_OK);
    assert_string_equal(text, whole);
    sqlite3_free(text);
}

static void test_a_piece_stands_where_it_is_named(void **state)
{
    (void)state;
    expect("{trimmed}", "client, through");
    expect("SELECT {totals} FROM totals", "SELECT name, rows, sum FROM totals");
    expect("{trimmed}{totals}", "client, throughname, rows, sum");
}

static void test_pieces_have_pieces(void **state)
{
    (void)state;
    expect("checksum = {trimmed#}", "checksum = kedge_checksum(4, client, through)");
    expect("{outbox_meta_3#}",
           "kedge_checksum(5, client, highest_id, last_sequence, sent_through, revision,"
           " unrecovered, trimmed_through, tail_bytes, settled_version, settled_lineage,"
           " ask_settled, pending_rows, pending_sum, organization, project)");
}

static void test_an_argument_stands_in_the_text_and_in_names(void **state)
{
    (void)state;
    expect("{add base} n", "ALTER TABLE base ADD n");
    expect("INSERT INTO {sealed trimmed} (SELECT ?1)",
           "INSERT INTO trimmed(client, through, checksum)"
           " SELECT client, through, kedge_checksum(4, client, through) FROM (SELECT ?1)");
}

/* COMMIT and ROLLBACK need no memory for it. */
static void test_a_text_without_pieces_is_whole_itself(void **state)
{
    char *text = NULL;
    (void)state;
    assert_int_equal(kedge_pieces_put("SELECT '@' FROM item", &text), SQLITE_OK);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_piece_stands_where_it_is_named),
        cmocka_unit_test(test_pieces_have_pieces),
        cmocka_unit_test(test_an_argument_stands_in_the_text_and_in_names),
        cmocka_unit_test(test_a_text_without_pieces_is_whole_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
