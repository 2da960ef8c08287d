/* What each command does. An edit is one kedge_mutate, and it is there at once. */
#include "sheet.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNC_TIMEOUT_MS 60000
#define SHOWN_ROWS      12
#define SHOWN_COLUMNS   6
#define SHOWN_LINES_MAX 200
#define CELL_WIDTH      11

static int failed(const kedge_error *error)
{
    return terminal_fail(sheet_app.name, error);
}

static int usage(const char *message, const char *word)
{
    fprintf(stderr, "sheet: \"%s\" %s\n", word, message);
    return TERMINAL_USAGE;
}

static int mutate(kedge_db *db, const char *name, cJSON *args)
{
    return terminal_mutate(sheet_app.name, db, name, args);
}

/* A name that no other copy gives to its rows. */
static bool new_batch(char batch[SHEET_BATCH_SIZE])
{
    batch[0] = 'b';
    return terminal_random(batch + 1);
}

/* ---- cells ---- */

static bool find_cell(const sheet_view *view, const char *name, sheet_line *row, sheet_line *column)
{
    int64_t row_at, column_at;
    const char *end;
    return sheet_name_read(name, &row_at, &column_at, &end) && *end == '\0' &&
           sheet_axis_at(&view->rows, row_at, row) &&
           sheet_axis_at(&view->columns, column_at, column);
}

static int set(kedge_db *db, const sheet_view *view, char **words)
{
    sheet_line row, column;
    char id[SHEET_ID_SIZE], text[SHEET_TEXT_SIZE];
    if (!find_cell(view, words[1], &row, &column))
        return usage("is no cell of the sheet; a cell is named like C2", words[1]);
    if (!sheet_formula_store(view, words[2], text, sizeof text))
        return usage("is too long, or names a cell that is not in the sheet", words[2]);
    cJSON *args = cJSON_CreateObject();
    sheet_line_write(&row, id);
    cJSON_AddStringToObject(args, "row", id);
    sheet_line_write(&column, id);
    cJSON_AddStringToObject(args, "column", id);
    cJSON_AddStringToObject(args, "text", text);
    return mutate(db, "sheet.set", args);
}

static int get(kedge_db *db, sheet_view *view, char **words)
{
    (void)db;
    sheet_line row, column;
    char text[SHEET_TEXT_SIZE], value[SHEET_TEXT_SIZE];
    if (!find_cell(view, words[1], &row, &column))
        return usage("is no cell of the sheet; a cell is named like C2", words[1]);
    sheet_formula_show(view, sheet_view_cell(view, &row, &column), text, sizeof text);
    sheet_value(view, &row, &column, value, sizeof value);
    printf("%s\n", value);
    if (text[0] == '=') printf("%s\n", text);
    return TERMINAL_DONE;
}

/* ---- rows and columns ---- */

/* "row 3 [COUNT]" or "column B [COUNT]" */
typedef struct lines {
    const sheet_axis *axis;
    const char *axis_name;
    int64_t position;
    int64_t count;
} lines;

static bool read_lines(const sheet_view *view, int count, char **words, lines *out)
{
    bool is_row;
    bool rows = strcmp(words[1], "row") == 0;
    if (!rows && strcmp(words[1], "column") != 0) return false;
    if (!sheet_line_name_read(words[2], &is_row, &out->position) || is_row != rows) return false;
    out->axis = rows ? &view->rows : &view->columns;
    out->axis_name = rows ? "rows" : "columns";
    out->count = count > 3 ? strtoll(words[3], NULL, 10) : 1;
    return out->count >= 1 && out->count <= SHEET_LINES_MAX;
}

static void add_before(cJSON *args, const sheet_axis *axis, int64_t position)
{
    sheet_line line;
    char id[SHEET_ID_SIZE] = "";
    if (sheet_axis_at(axis, position, &line)) sheet_line_write(&line, id);
    cJSON_AddStringToObject(args, "before", id);
}

static int insert(kedge_db *db, const sheet_view *view, int count, char **words)
{
    lines asked;
    char batch[SHEET_BATCH_SIZE];
    if (!read_lines(view, count, words, &asked))
        return usage("takes: row 3 [COUNT], or column B [COUNT]", words[0]);
    if (!new_batch(batch)) return TERMINAL_FAILED;
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "axis", asked.axis_name);
    cJSON_AddStringToObject(args, "batch", batch);
    cJSON_AddNumberToObject(args, "count", (double)asked.count);
    add_before(args, asked.axis, asked.position);
    return mutate(db, "sheet.insert", args);
}

/* The runs of ids at these positions: rows that others insert between them meanwhile stay. */
static cJSON *pieces_at(const sheet_axis *axis, int64_t position, int64_t count)
{
    cJSON *pieces = cJSON_CreateArray();
    sheet_line first, last;
    while (count > 0 && sheet_axis_at(axis, position, &first)) {
        int64_t run = 1;
        while (run < count && sheet_axis_at(axis, position + run, &last) &&
               strcmp(last.batch, first.batch) == 0 && last.number == first.number + run)
            run++;
        cJSON *piece = cJSON_CreateArray();
        cJSON_AddItemToArray(piece, cJSON_CreateString(first.batch));
        cJSON_AddItemToArray(piece, cJSON_CreateNumber((double)first.number));
        cJSON_AddItemToArray(piece, cJSON_CreateNumber((double)(first.number + run - 1)));
        cJSON_AddItemToArray(pieces, piece);
        position += run;
        count -= run;
    }
    return pieces;
}

static int delete_lines(kedge_db *db, const sheet_view *view, int count, char **words)
{
    lines asked;
    if (!read_lines(view, count, words, &asked) ||
        asked.position + asked.count > sheet_axis_length(asked.axis))
        return usage("takes rows or columns of the sheet: row 3 [COUNT], or column B [COUNT]",
                     words[0]);
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "axis", asked.axis_name);
    cJSON_AddItemToObject(args, "pieces", pieces_at(asked.axis, asked.position, asked.count));
    return mutate(db, "sheet.delete", args);
}

#define TEXT_OF(number) #number
#define TEXT(limit)     TEXT_OF(limit)
#define LARGEST         TEXT(KEDGE_LIMIT_ARGS_BYTES)

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(KEDGE_LIMIT_ARGS_BYTES);
    size_t size = file && text ? fread(text, 1, KEDGE_LIMIT_ARGS_BYTES - 1, file) : 0;
    bool fine = file && text && !ferror(file) && feof(file);
    if (file) fclose(file);
    if (!fine) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    return text;
}

static int import_file(kedge_db *db, const sheet_view *view, char **words)
{
    char batch[SHEET_BATCH_SIZE];
    char *text = read_file(words[1]);
    if (!text) return usage("cannot be read, or has more than " LARGEST " bytes", words[1]);
    if (!new_batch(batch)) {
        free(text);
        return TERMINAL_FAILED;
    }
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "batch", batch);
    cJSON_AddStringToObject(args, "csv", text);
    add_before(args, &view->rows, 0);
    free(text);
    return mutate(db, "sheet.import", args);
}

/* ---- what is shown ---- */

static void show_line(sheet_view *view, int64_t row_at, int64_t left, int64_t right)
{
    sheet_line row, column;
    char shown[SHEET_TEXT_SIZE];
    if (!sheet_axis_at(&view->rows, row_at, &row)) return;
    printf("%7lld", (long long)row_at + 1);
    for (int64_t i = left; i <= right && sheet_axis_at(&view->columns, i, &column); i++) {
        sheet_value(view, &row, &column, shown, sizeof shown);
        printf(" %*.*s", CELL_WIDTH, CELL_WIDTH, shown);
    }
    putchar('\n');
}

static int show(sheet_view *view, const char *range)
{
    int64_t top = 0, left = 0, bottom = SHOWN_ROWS - 1, right = SHOWN_COLUMNS - 1;
    char name[32];
    if (range) {
        const char *end;
        bool fine = sheet_name_read(range, &top, &left, &end) && *end == ':' &&
                    sheet_name_read(end + 1, &bottom, &right, &end) && *end == '\0';
        if (!fine || bottom < top || right < left || bottom - top >= SHOWN_LINES_MAX)
            return usage("is no range like A1:F12, of at most 200 rows", range);
    }
    printf("       ");
    for (int64_t i = left; i <= right && i < sheet_axis_length(&view->columns); i++) {
        sheet_name_write(-1, i, name, sizeof name);
        printf(" %*s", CELL_WIDTH, name);
    }
    printf("   (%lld rows, %lld columns)\n", (long long)sheet_axis_length(&view->rows),
           (long long)sheet_axis_length(&view->columns));
    for (int64_t i = top; i <= bottom; i++)
        show_line(view, i, left, right);
    return TERMINAL_DONE;
}

int sheet_show(kedge_db *db, const char *range)
{
    sheet_view view;
    int result = sheet_view_open(&view, db) ? show(&view, range) : TERMINAL_FAILED;
    sheet_view_close(&view);
    return result;
}

/* Each item as the copies hold it, a line each: two copies that print the same are the same. */
static int dump(kedge_db *db)
{
    static const char *const collections[] = {SHEET_AXES, SHEET_CELLS};
    kedge_error error = {0};
    for (size_t i = 0; i < sizeof collections / sizeof *collections; i++) {
        kedge_scan *scan = NULL;
        const char *id, *value;
        size_t id_size, value_size;
        kedge_status status = kedge_scan_open(db, collections[i], NULL, &scan, &error);
        if (status != KEDGE_OK) return failed(&error);
        while ((status = kedge_scan_next(scan, &id, &id_size, &value, &value_size, &error)) ==
               KEDGE_OK)
            printf("%s %s %s\n", collections[i], id, value);
        kedge_scan_close(scan);
        if (status != KEDGE_DONE) return failed(&error);
    }
    return TERMINAL_DONE;
}

static int print_mutations(kedge_db *db, bool pending)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_error error = {0};
    int rows = 0;
    kedge_status status =
        pending ? kedge_pending_open(db, &list, &error) : kedge_rejected_open(db, &list, &error);
    if (status != KEDGE_OK) return failed(&error);
    while ((status = kedge_mutation_list_next(list, &mutation, &error)) == KEDGE_OK) {
        printf("  edit %lld %s %.100s%s%s\n", (long long)mutation.sequence, mutation.name,
               mutation.args, pending ? "" : ": ", pending ? "" : mutation.message);
        rows++;
    }
    kedge_mutation_list_close(list);
    if (status != KEDGE_DONE) return failed(&error);
    if (rows == 0) puts(pending ? "  (nothing is pending)" : "  (no conflicts)");
    return TERMINAL_DONE;
}

/* Commands that look at the sheet first. */
static int with_view(kedge_db *db, int count, char **words)
{
    sheet_view view;
    int result = TERMINAL_FAILED;
    if (!sheet_view_open(&view, db)) {
    } else if (strcmp(words[0], "set") == 0) {
        result = set(db, &view, words);
    } else if (strcmp(words[0], "get") == 0) {
        result = get(db, &view, words);
    } else if (strcmp(words[0], "insert") == 0) {
        result = insert(db, &view, count, words);
    } else if (strcmp(words[0], "delete") == 0) {
        result = delete_lines(db, &view, count, words);
    } else {
        result = import_file(db, &view, words);
    }
    sheet_view_close(&view);
    return result;
}

static int plain(kedge_db *db, int count, char **words)
{
    if (strcmp(words[0], "show") == 0) return sheet_show(db, count > 1 ? words[1] : NULL);
    if (strcmp(words[0], "dump") == 0) return dump(db);
    if (strcmp(words[0], "pending") == 0) return print_mutations(db, true);
    if (strcmp(words[0], "conflicts") == 0) return print_mutations(db, false);
    if (strcmp(words[0], "dismiss") == 0) return terminal_dismiss(sheet_app.name, db, words[1]);
    if (strcmp(words[0], "sync") == 0) return terminal_sync(sheet_app.name, db, SYNC_TIMEOUT_MS);
    if (strcmp(words[0], "live") == 0) return terminal_live(&sheet_app, db);
    return terminal_print_status(sheet_app.name, db);
}

int sheet_command(kedge_db *db, int count, char **words)
{
    static const terminal_command commands[] = {
        {"set", 3, 3, with_view},    {"get", 2, 2, with_view},    {"insert", 3, 4, with_view},
        {"delete", 3, 4, with_view}, {"import", 2, 2, with_view}, {"show", 1, 2, plain},
        {"dump", 1, 1, plain},       {"pending", 1, 1, plain},    {"conflicts", 1, 1, plain},
        {"dismiss", 2, 2, plain},    {"sync", 1, 1, plain},       {"status", 1, 1, plain},
        {"live", 1, 1, plain},
    };
    return terminal_dispatch(sheet_app.name, commands, sizeof commands / sizeof *commands, db,
                             count, words);
}
