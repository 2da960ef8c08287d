/* What an edit of a sheet does, on every copy and on the server: see sheet_mutators.h. */
#include "sheet_mutators.h"

#include "axis.h"
#include "csv.h"

#include <cjson/cJSON.h>
#include <kedge/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

static kedge_status refuse(kedge_tx *tx, const char *message, kedge_error *error)
{
    return kedge_tx_reject(tx, "bad-argument", message, error);
}

static kedge_status text_argument(kedge_tx *tx, const char *args, size_t args_size,
                                  const char *name, char *buffer, size_t buffer_size,
                                  kedge_error *error)
{
    kedge_status status = kedge_args_text(args, args_size, name, buffer, buffer_size, NULL, NULL);
    if (status == KEDGE_OK) return KEDGE_OK;
    char message[128];
    snprintf(message, sizeof message, "\"%s\" must be a string of at most %zu bytes", name,
             buffer_size - 1);
    return refuse(tx, message, error);
}

static kedge_status line_argument(kedge_tx *tx, const char *args, size_t args_size,
                                  const char *name, sheet_line *line, kedge_error *error)
{
    char id[SHEET_ID_SIZE];
    kedge_status status = text_argument(tx, args, args_size, name, id, sizeof id, error);
    if (status != KEDGE_OK) return status;
    if (sheet_line_read(id, line)) return KEDGE_OK;
    char message[128];
    snprintf(message, sizeof message, "\"%s\" must be a batch, a dot and a number", name);
    return refuse(tx, message, error);
}

static kedge_status batch_argument(kedge_tx *tx, const char *args, size_t args_size,
                                   char batch[SHEET_BATCH_SIZE], kedge_error *error)
{
    kedge_status status =
        text_argument(tx, args, args_size, "batch", batch, SHEET_BATCH_SIZE, error);
    if (status != KEDGE_OK) return status;
    size_t size = strspn(batch, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (size > 0 && batch[size] == '\0') return KEDGE_OK;
    return refuse(tx, "\"batch\" must be of the letters a to z and digits", error);
}

static kedge_status axis_argument(kedge_tx *tx, const char *args, size_t args_size, char name[16],
                                  kedge_error *error)
{
    kedge_status status = text_argument(tx, args, args_size, "axis", name, 16, error);
    if (status != KEDGE_OK) return status;
    if (strcmp(name, "rows") == 0 || strcmp(name, "columns") == 0) return KEDGE_OK;
    return refuse(tx, "\"axis\" must be \"rows\" or \"columns\"", error);
}

/* ---- axes ---- */

static kedge_status load_axis(kedge_tx *tx, const char *name, sheet_axis *axis, kedge_error *error)
{
    const char *json = NULL;
    size_t size = 0;
    int64_t lines = strcmp(name, "rows") == 0 ? SHEET_ROWS : SHEET_COLUMNS;
    kedge_status status = kedge_tx_get(tx, SHEET_AXES, name, strlen(name), &json, &size, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    if (status == KEDGE_NOT_FOUND) json = NULL;
    if (sheet_axis_read(axis, json, size, lines)) return KEDGE_OK;
    return refuse(tx, "the order of rows or columns is not what this app has written", error);
}

/* Stores the axis and frees it. */
static kedge_status store_axis(kedge_tx *tx, const char *name, sheet_axis *axis, kedge_error *error)
{
    char *json = sheet_axis_write(axis);
    sheet_axis_free(axis);
    if (!json) return KEDGE_NO_MEMORY;
    kedge_status status =
        kedge_tx_put(tx, SHEET_AXES, name, strlen(name), json, strlen(json), error);
    cJSON_free(json);
    return status;
}

static kedge_status expect_there(kedge_tx *tx, const char *name, const sheet_line *line,
                                 kedge_error *error)
{
    sheet_axis axis;
    int64_t position;
    bool deleted = false, rows = strcmp(name, "rows") == 0;
    kedge_status status = load_axis(tx, name, &axis, error);
    if (status != KEDGE_OK) return status;
    bool found = sheet_axis_find(&axis, line, &position, &deleted);
    sheet_axis_free(&axis);
    if (!found) return refuse(tx, rows ? "there is no such row" : "there is no such column", error);
    if (!deleted) return KEDGE_OK;
    return rows ? kedge_tx_reject(tx, "row-deleted", "the row was deleted by another copy", error)
                : kedge_tx_reject(tx, "column-deleted", "the column was deleted by another copy",
                                  error);
}

/* Adds a batch of new lines in front of `before`, an id or "". */
static kedge_status insert_lines(kedge_tx *tx, const char *name, const char *before,
                                 const char *batch, int64_t count, kedge_error *error)
{
    sheet_axis axis;
    sheet_line line;
    if (before[0] != '\0' && !sheet_line_read(before, &line))
        return refuse(tx, "\"before\" must be the id of a row or column, or \"\"", error);
    kedge_status status = load_axis(tx, name, &axis, error);
    if (status != KEDGE_OK) return status;
    if (sheet_axis_has_batch(&axis, batch)) {
        sheet_axis_free(&axis);
        return kedge_tx_reject(tx, "batch-exists", "there is a batch of this name already", error);
    }
    int64_t position;
    bool deleted;
    if (before[0] != '\0' && !sheet_axis_find(&axis, &line, &position, &deleted)) {
        sheet_axis_free(&axis);
        return refuse(tx, "\"before\" names no row or column", error);
    }
    if (!sheet_axis_insert(&axis, before[0] == '\0' ? NULL : &line, batch, count)) {
        sheet_axis_free(&axis);
        return KEDGE_NO_MEMORY;
    }
    return store_axis(tx, name, &axis, error);
}

/* ---- cells ---- */

static void chunk_id(const sheet_line *row, char id[SHEET_ID_SIZE])
{
    sheet_line chunk = *row;
    chunk.number /= SHEET_CHUNK_ROWS;
    sheet_line_write(&chunk, id);
}

static kedge_status store_chunk(kedge_tx *tx, const char *id, cJSON *chunk, kedge_error *error)
{
    if (chunk->child == NULL) return kedge_tx_delete(tx, SHEET_CELLS, id, strlen(id), error);
    char *json = cJSON_PrintUnformatted(chunk);
    if (!json) return KEDGE_NO_MEMORY;
    kedge_status status = kedge_tx_put(tx, SHEET_CELLS, id, strlen(id), json, strlen(json), error);
    cJSON_free(json);
    return status;
}

static cJSON *row_of(cJSON *chunk, const sheet_line *row)
{
    char number[8];
    snprintf(number, sizeof number, "%d", (int)(row->number % SHEET_CHUNK_ROWS));
    cJSON *cells = cJSON_GetObjectItemCaseSensitive(chunk, number);
    return cells ? cells : cJSON_AddObjectToObject(chunk, number);
}

/* Keeps no empty cell and no empty row. */
static void set_cell(cJSON *chunk, const sheet_line *row, const char *column, const char *text)
{
    cJSON *cells = row_of(chunk, row);
    cJSON_DeleteItemFromObjectCaseSensitive(cells, column);
    if (text[0] != '\0') cJSON_AddStringToObject(cells, column, text);
    if (cells && cells->child == NULL) cJSON_Delete(cJSON_DetachItemViaPointer(chunk, cells));
}

static kedge_status write_cell(kedge_tx *tx, const sheet_line *row, const char *column,
                               const char *text, kedge_error *error)
{
    char id[SHEET_ID_SIZE];
    const char *json = NULL;
    size_t size = 0;
    chunk_id(row, id);
    kedge_status status = kedge_tx_get(tx, SHEET_CELLS, id, strlen(id), &json, &size, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    cJSON *chunk = status == KEDGE_OK ? cJSON_ParseWithLength(json, size) : cJSON_CreateObject();
    if (!chunk) return KEDGE_NO_MEMORY;
    set_cell(chunk, row, column, text);
    status = store_chunk(tx, id, chunk, error);
    cJSON_Delete(chunk);
    return status;
}

/* ---- the mutators ---- */

static kedge_status sheet_set(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                              kedge_error *error)
{
    (void)userdata;
    sheet_line row, column;
    char text[SHEET_TEXT_SIZE], column_id[SHEET_ID_SIZE];
    kedge_status status = line_argument(tx, args, args_size, "row", &row, error);
    if (status == KEDGE_OK) status = line_argument(tx, args, args_size, "column", &column, error);
    if (status == KEDGE_OK)
        status = text_argument(tx, args, args_size, "text", text, sizeof text, error);
    if (status == KEDGE_OK) status = expect_there(tx, "rows", &row, error);
    if (status == KEDGE_OK) status = expect_there(tx, "columns", &column, error);
    if (status != KEDGE_OK) return status;
    sheet_line_write(&column, column_id);
    return write_cell(tx, &row, column_id, text, error);
}

static kedge_status sheet_insert(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    char name[16], batch[SHEET_BATCH_SIZE], before[SHEET_ID_SIZE];
    int64_t count = 0;
    kedge_status status = axis_argument(tx, args, args_size, name, error);
    if (status == KEDGE_OK) status = batch_argument(tx, args, args_size, batch, error);
    if (status == KEDGE_OK)
        status = text_argument(tx, args, args_size, "before", before, sizeof before, error);
    if (status != KEDGE_OK) return status;
    status = kedge_args_integer(args, args_size, "count", &count, NULL);
    if (status != KEDGE_OK || count < 1 || count > SHEET_LINES_MAX)
        return refuse(tx, "\"count\" must be a number from 1 to 1000000", error);
    return insert_lines(tx, name, before, batch, count, error);
}

static kedge_status delete_pieces(kedge_tx *tx, sheet_axis *axis, const cJSON *pieces,
                                  kedge_error *error)
{
    const cJSON *piece = NULL;
    cJSON_ArrayForEach(piece, pieces)
    {
        const char *batch = cJSON_GetStringValue(cJSON_GetArrayItem(piece, 0));
        const cJSON *from = cJSON_GetArrayItem(piece, 1), *to = cJSON_GetArrayItem(piece, 2);
        if (!batch || !cJSON_IsNumber(from) || !cJSON_IsNumber(to))
            return refuse(tx, "each piece must be [batch, from, to]", error);
        int64_t first = (int64_t)from->valuedouble, last = (int64_t)to->valuedouble;
        if (!sheet_axis_delete(axis, batch, first, last)) return KEDGE_NO_MEMORY;
    }
    return KEDGE_OK;
}

static kedge_status sheet_delete(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    char name[16];
    sheet_axis axis;
    kedge_status status = axis_argument(tx, args, args_size, name, error);
    if (status == KEDGE_OK) status = load_axis(tx, name, &axis, error);
    if (status != KEDGE_OK) return status;
    cJSON *tree = cJSON_ParseWithLength(args, args_size);
    const cJSON *pieces = cJSON_GetObjectItemCaseSensitive(tree, "pieces");
    status = cJSON_IsArray(pieces) ? delete_pieces(tx, &axis, pieces, error)
                                   : refuse(tx, "\"pieces\" must be an array", error);
    cJSON_Delete(tree);
    if (status == KEDGE_OK) return store_axis(tx, name, &axis, error);
    sheet_axis_free(&axis);
    return status;
}

/* The ids of the first `count` columns; a sheet that has fewer gets more of them, as a batch. */
static kedge_status need_columns(kedge_tx *tx, const char *batch, int64_t count, sheet_axis *axis,
                                 kedge_error *error)
{
    kedge_status status = load_axis(tx, "columns", axis, error);
    if (status != KEDGE_OK || sheet_axis_length(axis) >= count) return status;
    int64_t missing = count - sheet_axis_length(axis);
    sheet_axis_free(axis);
    status = insert_lines(tx, "columns", "", batch, missing, error);
    return status == KEDGE_OK ? load_axis(tx, "columns", axis, error) : status;
}

static kedge_status import_lines(kedge_tx *tx, const char *batch, sheet_csv *csv,
                                 const sheet_axis *columns, kedge_error *error)
{
    char id[SHEET_ID_SIZE], column_id[SHEET_ID_SIZE];
    kedge_status status = KEDGE_OK;
    cJSON *chunk = NULL;
    sheet_line row = {.number = 0}, column;
    snprintf(row.batch, sizeof row.batch, "%s", batch);
    for (; status == KEDGE_OK && sheet_csv_line(csv); row.number++) {
        if (!chunk) chunk = cJSON_CreateObject();
        if (!chunk) return KEDGE_NO_MEMORY;
        cJSON *cells = row_of(chunk, &row);
        for (int64_t i = 0; sheet_csv_field(csv); i++) {
            if (csv->field[0] == '\0' || !sheet_axis_at(columns, i, &column)) continue;
            sheet_line_write(&column, column_id);
            cJSON_AddStringToObject(cells, column_id, csv->field);
        }
        if (cells && !cells->child) cJSON_Delete(cJSON_DetachItemViaPointer(chunk, cells));
        chunk_id(&row, id);
        if ((row.number + 1) % SHEET_CHUNK_ROWS != 0) continue;
        status = chunk->child ? store_chunk(tx, id, chunk, error) : KEDGE_OK;
        cJSON_Delete(chunk);
        chunk = NULL;
    }
    if (status == KEDGE_OK && chunk && chunk->child) status = store_chunk(tx, id, chunk, error);
    cJSON_Delete(chunk);
    return status;
}

static kedge_status import_csv(kedge_tx *tx, const char *args, size_t args_size, char *csv_text,
                               kedge_error *error)
{
    char batch[SHEET_BATCH_SIZE], before[SHEET_ID_SIZE];
    sheet_axis columns = {0};
    kedge_status status = batch_argument(tx, args, args_size, batch, error);
    if (status == KEDGE_OK)
        status = text_argument(tx, args, args_size, "before", before, sizeof before, error);
    if (status == KEDGE_OK)
        status = text_argument(tx, args, args_size, "csv", csv_text, KEDGE_LIMIT_ARGS_BYTES, error);
    if (status != KEDGE_OK) return status;
    sheet_csv csv = sheet_csv_of(csv_text);
    int64_t lines = 0, fields = 0;
    if (!sheet_csv_measure(csv_text, SHEET_TEXT_SIZE - 1, &lines, &fields) || lines == 0 ||
        lines > SHEET_LINES_MAX)
        return kedge_tx_reject(tx, "csv-invalid",
                               "the text is no CSV of 1 to 1000000 lines, with cells of at most"
                               " 4096 bytes and each quote closed",
                               error);
    status = insert_lines(tx, "rows", before, batch, lines, error);
    if (status == KEDGE_OK) status = need_columns(tx, batch, fields, &columns, error);
    if (status == KEDGE_OK) status = import_lines(tx, batch, &csv, &columns, error);
    sheet_axis_free(&columns);
    return status;
}

static kedge_status sheet_import(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    char *text = malloc(KEDGE_LIMIT_ARGS_BYTES);
    if (!text) return KEDGE_NO_MEMORY;
    kedge_status status = import_csv(tx, args, args_size, text, error);
    free(text);
    return status;
}

const kedge_mutator sheet_mutators[] = {
    {"sheet.set", 1, sheet_set, NULL},
    {"sheet.insert", 1, sheet_insert, NULL},
    {"sheet.delete", 1, sheet_delete, NULL},
    {"sheet.import", 1, sheet_import, NULL},
};
const size_t sheet_mutator_count = sizeof sheet_mutators / sizeof *sheet_mutators;
