/* The piece table: see axis.h. */
#include "axis.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX INT64_C(9007199254740991) /* what a JSON number holds exactly */

/* ---- ids ---- */

bool sheet_line_read(const char *id, sheet_line *line)
{
    const char *dot = strchr(id, '.');
    char *end = NULL;
    size_t size = dot ? (size_t)(dot - id) : 0;
    if (size == 0 || size >= sizeof line->batch || dot[1] < '0' || dot[1] > '9') return false;
    memcpy(line->batch, id, size);
    line->batch[size] = '\0';
    line->number = strtoll(dot + 1, &end, 10);
    return *end == '\0' && line->number <= NUMBER_MAX;
}

void sheet_line_write(const sheet_line *line, char id[SHEET_ID_SIZE])
{
    snprintf(id, SHEET_ID_SIZE, "%s.%lld", line->batch, (long long)line->number);
}

/* ---- pieces ---- */

static bool put(sheet_axis *axis, size_t at, const char *batch, int64_t from, int64_t to,
                bool deleted)
{
    if (axis->count == axis->capacity) {
        size_t capacity = axis->capacity == 0 ? 8 : axis->capacity * 2;
        sheet_piece *pieces = realloc(axis->pieces, capacity * sizeof *pieces);
        if (!pieces) return false;
        axis->pieces = pieces;
        axis->capacity = capacity;
    }
    memmove(axis->pieces + at + 1, axis->pieces + at, (axis->count - at) * sizeof *axis->pieces);
    axis->pieces[at] = (sheet_piece){.from = from, .to = to, .deleted = deleted};
    snprintf(axis->pieces[at].batch, sizeof axis->pieces[at].batch, "%s", batch);
    axis->count++;
    return true;
}

/* Cuts piece `at` in two, the second of which starts with `number`. */
static bool split(sheet_axis *axis, size_t at, int64_t number)
{
    sheet_piece *piece = &axis->pieces[at];
    if (number <= piece->from || number > piece->to) return true;
    sheet_piece whole = *piece;
    piece->to = number - 1;
    return put(axis, at + 1, whole.batch, number, whole.to, whole.deleted);
}

static bool find_piece(const sheet_axis *axis, const sheet_line *line, size_t *at)
{
    for (size_t i = 0; i < axis->count; i++) {
        const sheet_piece *piece = &axis->pieces[i];
        bool inside = line->number >= piece->from && line->number <= piece->to;
        if (!inside || strcmp(piece->batch, line->batch) != 0) continue;
        *at = i;
        return true;
    }
    return false;
}

/* ---- JSON ---- */

static bool read_piece(sheet_axis *axis, const cJSON *piece)
{
    const char *batch = cJSON_GetStringValue(cJSON_GetArrayItem(piece, 0));
    const cJSON *from = cJSON_GetArrayItem(piece, 1), *to = cJSON_GetArrayItem(piece, 2);
    bool fine =
        batch && strlen(batch) < SHEET_BATCH_SIZE && cJSON_IsNumber(from) && cJSON_IsNumber(to);
    return fine && put(axis, axis->count, batch, (int64_t)from->valuedouble,
                       (int64_t)to->valuedouble, cJSON_GetArraySize(piece) > 3);
}

bool sheet_axis_read(sheet_axis *axis, const char *json, size_t json_size, int64_t lines)
{
    *axis = (sheet_axis){0};
    if (!json) return put(axis, 0, "0", 0, lines - 1, false);
    cJSON *tree = cJSON_ParseWithLength(json, json_size);
    const cJSON *pieces = cJSON_GetObjectItemCaseSensitive(tree, "pieces"), *piece = NULL;
    bool fine = cJSON_IsArray(pieces);
    cJSON_ArrayForEach(piece, pieces) fine = fine && read_piece(axis, piece);
    cJSON_Delete(tree);
    if (!fine) sheet_axis_free(axis);
    return fine;
}

char *sheet_axis_write(const sheet_axis *axis)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *pieces = cJSON_AddArrayToObject(tree, "pieces");
    for (size_t i = 0; i < axis->count; i++) {
        const sheet_piece *piece = &axis->pieces[i];
        cJSON *row = cJSON_CreateArray();
        cJSON_AddItemToArray(row, cJSON_CreateString(piece->batch));
        cJSON_AddItemToArray(row, cJSON_CreateNumber((double)piece->from));
        cJSON_AddItemToArray(row, cJSON_CreateNumber((double)piece->to));
        if (piece->deleted) cJSON_AddItemToArray(row, cJSON_CreateNumber(1));
        cJSON_AddItemToArray(pieces, row);
    }
    char *text = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    return text;
}

void sheet_axis_free(sheet_axis *axis)
{
    free(axis->pieces);
    *axis = (sheet_axis){0};
}

/* ---- positions ---- */

static int64_t length_of(const sheet_piece *piece)
{
    return piece->deleted ? 0 : piece->to - piece->from + 1;
}

int64_t sheet_axis_length(const sheet_axis *axis)
{
    int64_t length = 0;
    for (size_t i = 0; i < axis->count; i++)
        length += length_of(&axis->pieces[i]);
    return length;
}

bool sheet_axis_at(const sheet_axis *axis, int64_t position, sheet_line *line)
{
    for (size_t i = 0; i < axis->count; i++) {
        const sheet_piece *piece = &axis->pieces[i];
        if (position < length_of(piece)) {
            memcpy(line->batch, piece->batch, sizeof line->batch);
            line->number = piece->from + position;
            return true;
        }
        position -= length_of(piece);
    }
    return false;
}

bool sheet_axis_find(const sheet_axis *axis, const sheet_line *line, int64_t *position,
                     bool *deleted)
{
    size_t at;
    if (!find_piece(axis, line, &at)) return false;
    *position = 0;
    for (size_t i = 0; i < at; i++)
        *position += length_of(&axis->pieces[i]);
    *deleted = axis->pieces[at].deleted;
    if (!*deleted) *position += line->number - axis->pieces[at].from;
    return true;
}

bool sheet_axis_has_batch(const sheet_axis *axis, const char *batch)
{
    for (size_t i = 0; i < axis->count; i++)
        if (strcmp(axis->pieces[i].batch, batch) == 0) return true;
    return false;
}

/* ---- changes ---- */

bool sheet_axis_insert(sheet_axis *axis, const sheet_line *before, const char *batch, int64_t count)
{
    size_t at = axis->count;
    if (before) {
        if (!find_piece(axis, before, &at)) return false;
        bool inside = before->number > axis->pieces[at].from;
        if (!split(axis, at, before->number)) return false;
        if (inside) at++;
    }
    return put(axis, at, batch, 0, count - 1, false);
}

bool sheet_axis_delete(sheet_axis *axis, const char *batch, int64_t from, int64_t to)
{
    for (size_t i = 0; i < axis->count; i++) {
        const sheet_piece *piece = &axis->pieces[i];
        bool outside = piece->to < from || piece->from > to;
        if (outside || piece->deleted || strcmp(piece->batch, batch) != 0) continue;
        if (piece->from < from) {
            if (!split(axis, i, from)) return false;
            continue; /* the second part is the next piece */
        }
        if (!split(axis, i, to + 1)) return false;
        axis->pieces[i].deleted = true;
    }
    return true;
}
