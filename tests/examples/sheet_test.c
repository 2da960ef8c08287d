/* The spreadsheet on a copy that is offline: commands, formulas, and edits that cannot be made. */
#include "sheet.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const terminal_app sheet_app = {.name = "sheet"};

typedef struct world {
    char folder[64];
    char csv[96];
    kedge_db *db;
} world;

static int setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    char path[96];
    kedge_error error = {0};
    kedge_options options = KEDGE_OPTIONS_INIT;
    assert_true(temporary_folder(w->folder, sizeof w->folder, "sheet"));
    snprintf(w->csv, sizeof w->csv, "%s/table.csv", w->folder);
    snprintf(path, sizeof path, "%s/copy", w->folder);
    options.path = path;
    options.organization = "demo";
    options.project = "sheet";
    options.offline = true;
    options.mutators = sheet_mutators;
    options.mutator_count = sheet_mutator_count;
    if (kedge_open(&options, &w->db, &error) != KEDGE_OK) fail_msg("%s", error.message);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    char command[128];
    kedge_close(w->db);
    snprintf(command, sizeof command, "rm -r %s", w->folder);
    assert_int_equal(system(command), 0);
    free(w);
    return 0;
}

/* Runs a command of up to four words. */
static int run(world *w, const char *a, const char *b, const char *c, const char *d)
{
    char text[4][256];
    char *words[4] = {text[0], text[1], text[2], text[3]};
    const char *given[4] = {a, b, c, d};
    int count = 0;
    while (count < 4 && given[count] != NULL) {
        snprintf(text[count], sizeof text[count], "%s", given[count]);
        count++;
    }
    return sheet_command(w->db, count, words);
}

static void set(world *w, const char *cell, const char *text)
{
    assert_int_equal(run(w, "set", cell, text, NULL), TERMINAL_DONE);
}

static void expect(world *w, const char *cell, const char *value)
{
    sheet_view view;
    sheet_line row, column;
    int64_t row_at, column_at;
    const char *end;
    char shown[SHEET_TEXT_SIZE];
    assert_true(sheet_view_open(&view, w->db));
    assert_true(sheet_name_read(cell, &row_at, &column_at, &end));
    assert_true(sheet_axis_at(&view.rows, row_at, &row));
    assert_true(sheet_axis_at(&view.columns, column_at, &column));
    sheet_value(&view, &row, &column, shown, sizeof shown);
    sheet_view_close(&view);
    assert_string_equal(shown, value);
}

static void import(world *w, const char *csv)
{
    FILE *file = fopen(w->csv, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(csv, 1, strlen(csv), file), strlen(csv));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(run(w, "import", w->csv, NULL, NULL), TERMINAL_DONE);
}

static void test_formulas_are_worth_what_their_cells_are(void **state)
{
    world *w = *state;
    static const struct {
        const char *formula;
        const char *value;
    } cases[] = {
        {"=A1+A2*A3", "14"},
        {"=(A1+A2)*A3", "20"},
        {"=A3/A1-1", "1"},
        {"=-A1*-3", "6"},
        {"=SUM(A1:A9)", "9"},
        {"=sum(A9:A1)", "9"},
        {"=SUM(A1)", "2"},
        {"=2*SUM(A1:B2)", "10"},
        {"=1/0", "#DIV/0!"},
        {"=B1+1", "#VALUE!"},
        {"=A1+", "#SYNTAX!"},
        {"=A1)", "#SYNTAX!"},
        {"=MAX(A1:A2)", "#SYNTAX!"},
        {"=C1", "#LOOP!"},
        {"=1E3+0.5", "1000.5"},
        {"=C9", "0"},
        {"not a formula", "not a formula"},
        {"=1/3", "0.333333333333333"},
    };
    set(w, "A1", "2");
    set(w, "A2", "3");
    set(w, "A3", "4");
    set(w, "B1", "text");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set(w, "C1", cases[i].formula);
        expect(w, "C1", cases[i].value);
    }
}

static void test_a_formula_follows_its_cells_when_rows_and_columns_come_and_go(void **state)
{
    world *w = *state;
    set(w, "A1", "1");
    set(w, "A2", "2");
    set(w, "A3", "3");
    set(w, "C9", "=SUM(A1:A3)+A2");
    assert_int_equal(run(w, "insert", "row", "2", "3"), TERMINAL_DONE);
    assert_int_equal(run(w, "insert", "column", "B", NULL), TERMINAL_DONE);
    expect(w, "D12", "8");
    set(w, "A3", "10"); /* between the ends of the range */
    expect(w, "D12", "18");
    assert_int_equal(run(w, "delete", "row", "6", NULL), TERMINAL_DONE); /* an end of the range */
    expect(w, "D11", "15");
    assert_int_equal(run(w, "delete", "row", "5", NULL), TERMINAL_DONE);
    expect(w, "D10", "#REF!");
}

static void test_a_csv_file_is_imported_in_front_with_quotes_and_missing_fields(void **state)
{
    world *w = *state;
    set(w, "A1", "old");
    import(w, "a,\"b, \"\"c\"\"\",\r\n\"two\nlines\"\n,,=A1\n");
    expect(w, "A1", "a");
    expect(w, "B1", "b, \"c\"");
    expect(w, "A2", "two\nlines");
    expect(w, "B2", "");
    expect(w, "C3", "#SYNTAX!"); /* a formula of a file has names, not ids */
    expect(w, "A4", "old");
}

static void test_an_import_makes_the_columns_that_it_needs(void **state)
{
    world *w = *state;
    char csv[256] = "";
    for (int i = 0; i < 30; i++)
        snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "%s%d", i == 0 ? "" : ",", i);
    import(w, csv);
    expect(w, "AD1", "29");
    assert_int_equal(run(w, "set", "AE1", "1", NULL), TERMINAL_USAGE);
}

static void test_what_cannot_be_done_is_refused_and_changes_nothing(void **state)
{
    world *w = *state;
    static const char *const refused[][4] = {
        {"set", "1", "x", NULL},
        {"set", "A0", "x", NULL},
        {"set", "A2000", "x", NULL},
        {"set", "A1", "=A5000", NULL},
        {"insert", "row", "B", NULL},
        {"insert", "row", "1", "0"},
        {"delete", "row", "999", "9"},
        {"show", "B2:A1", NULL, NULL},
        {"import", "/nowhere", NULL, NULL},
        {"paint", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(run(w, refused[i][0], refused[i][1], refused[i][2], refused[i][3]),
                         TERMINAL_USAGE);
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    assert_int_equal(kedge_get_sync_status(w->db, &status, NULL), KEDGE_OK);
    assert_int_equal(status.pending, 0);
}

static void test_wrong_args_are_rejections_that_say_what_is_allowed(void **state)
{
    world *w = *state;
    static const struct {
        const char *name, *args, *code;
    } cases[] = {
        {"sheet.set", "{\"row\":\"0.1\",\"column\":\"0.1\"}", "bad-argument"},
        {"sheet.set", "{\"row\":\"0.5000\",\"column\":\"0.1\",\"text\":\"\"}", "bad-argument"},
        {"sheet.set", "{\"row\":\"x\",\"column\":\"0.1\",\"text\":\"\"}", "bad-argument"},
        {"sheet.insert", "{\"axis\":\"z\",\"batch\":\"a\",\"count\":1,\"before\":\"\"}",
         "bad-argument"},
        {"sheet.insert", "{\"axis\":\"rows\",\"batch\":\"A\",\"count\":1,\"before\":\"\"}",
         "bad-argument"},
        {"sheet.insert", "{\"axis\":\"rows\",\"batch\":\"a\",\"count\":0,\"before\":\"\"}",
         "bad-argument"},
        {"sheet.insert", "{\"axis\":\"rows\",\"batch\":\"0\",\"count\":1,\"before\":\"\"}",
         "batch-exists"},
        {"sheet.insert", "{\"axis\":\"rows\",\"batch\":\"a\",\"count\":1,\"before\":\"q.1\"}",
         "bad-argument"},
        {"sheet.delete", "{\"axis\":\"rows\",\"pieces\":[1]}", "bad-argument"},
        {"sheet.delete", "{\"axis\":\"rows\"}", "bad-argument"},
        {"sheet.import", "{\"batch\":\"a\",\"csv\":\"\\\"x\",\"before\":\"\"}", "csv-invalid"},
        {"sheet.import", "{\"batch\":\"a\",\"csv\":\"\",\"before\":\"\"}", "csv-invalid"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kedge_error error = {0};
        int64_t sequence;
        assert_int_equal(kedge_mutate(w->db, cases[i].name, cases[i].args, strlen(cases[i].args),
                                      &sequence, &error),
                         KEDGE_REJECTED);
        assert_string_equal(error.code, cases[i].code);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_formulas_are_worth_what_their_cells_are),
        TEST(test_a_formula_follows_its_cells_when_rows_and_columns_come_and_go),
        TEST(test_a_csv_file_is_imported_in_front_with_quotes_and_missing_fields),
        TEST(test_an_import_makes_the_columns_that_it_needs),
        TEST(test_what_cannot_be_done_is_refused_and_changes_nothing),
        TEST(test_wrong_args_are_rejections_that_say_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
