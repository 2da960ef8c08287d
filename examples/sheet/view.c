/* The sheet as it is now. Cells are read a chunk of rows at a time. */
#include "sheet.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static kedge_status read_axis(kedge_db *db, const char *name, int64_t lines, sheet_axis *axis,
                              kedge_error *error)
{
    kedge_document *document = NULL;
    size_t size = 0;
    kedge_status status = kedge_get(db, SHEET_AXES, name, strlen(name), &document, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    const char *json = status == KEDGE_OK ? kedge_document_json(document, &size) : NULL;
    bool fine = sheet_axis_read(axis, json, size, lines);
    kedge_document_free(document);
    return fine ? KEDGE_OK : KEDGE_NO_MEMORY;
}

bool sheet_view_open(sheet_view *view, kedge_db *db)
{
    kedge_error error = {0};
    *view = (sheet_view){.db = db};
    kedge_status status = read_axis(db, "rows", SHEET_ROWS, &view->rows, &error);
    if (status == KEDGE_OK)
        status = read_axis(db, "columns", SHEET_COLUMNS, &view->columns, &error);
    if (status != KEDGE_OK) (void)terminal_fail(sheet_app.name, &error);
    return status == KEDGE_OK;
}

void sheet_view_close(sheet_view *view)
{
    cJSON_Delete(view->chunk);
    sheet_axis_free(&view->rows);
    sheet_axis_free(&view->columns);
}

static void read_chunk(sheet_view *view, const char *id)
{
    kedge_document *document = NULL;
    if (strcmp(view->chunk_id, id) == 0) return;
    cJSON_Delete(view->chunk);
    view->chunk = NULL;
    snprintf(view->chunk_id, sizeof view->chunk_id, "%s", id);
    if (kedge_get(view->db, SHEET_CELLS, id, strlen(id), &document, NULL) != KEDGE_OK) return;
    size_t size = 0;
    const char *json = kedge_document_json(document, &size);
    view->chunk = cJSON_ParseWithLength(json, size);
    kedge_document_free(document);
}

const char *sheet_view_cell(sheet_view *view, const sheet_line *row, const sheet_line *column)
{
    sheet_line chunk = *row;
    char id[SHEET_ID_SIZE], column_id[SHEET_ID_SIZE], number[8];
    chunk.number /= SHEET_CHUNK_ROWS;
    sheet_line_write(&chunk, id);
    sheet_line_write(column, column_id);
    read_chunk(view, id);
    snprintf(number, sizeof number, "%d", (int)(row->number % SHEET_CHUNK_ROWS));
    const cJSON *cells = cJSON_GetObjectItemCaseSensitive(view->chunk, number);
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cells, column_id));
    return text ? text : "";
}
