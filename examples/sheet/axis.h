/* The order of the rows, or of the columns, of a sheet: a piece table.
 *
 * A piece is a run of a batch, `from` to `to`. An insertion splits the piece in which it falls. A
 * deletion marks its pieces and keeps them, so that an edit that was made beside a deleted row, or
 * a range that ends there, still has its place. As JSON: {"pieces": [["0", 0, 41], ["0", 42, 43,
 * 1], …]}, the 1 of a deleted piece. */
#ifndef SHEET_AXIS_H
#define SHEET_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHEET_BATCH_SIZE 17
#define SHEET_ID_SIZE    40 /* batch, dot, number, NUL */

/* A row or a column. */
typedef struct sheet_line {
    char batch[SHEET_BATCH_SIZE];
    int64_t number;
} sheet_line;

typedef struct sheet_piece {
    char batch[SHEET_BATCH_SIZE];
    int64_t from;
    int64_t to;
    bool deleted;
} sheet_piece;

typedef struct sheet_axis {
    sheet_piece *pieces;
    size_t count;
    size_t capacity;
} sheet_axis;

/* Reads an axis from JSON; NULL: the axis of a new sheet of `lines` lines. False: no memory, or not
 * an axis; `axis` is then empty. */
bool sheet_axis_read(sheet_axis *axis, const char *json, size_t json_size, int64_t lines);
char *sheet_axis_write(const sheet_axis *axis); /* for cJSON_free; NULL: no memory */
void sheet_axis_free(sheet_axis *axis);

/* "batch.number" */
bool sheet_line_read(const char *id, sheet_line *line);
void sheet_line_write(const sheet_line *line, char id[SHEET_ID_SIZE]);

int64_t sheet_axis_length(const sheet_axis *axis); /* without deleted lines */
/* The line at a position, from 0. */
bool sheet_axis_at(const sheet_axis *axis, int64_t position, sheet_line *line);
/* The position of a line; of a deleted line, that of the next line that is not deleted. False:
 * there never was such a line. */
bool sheet_axis_find(const sheet_axis *axis, const sheet_line *line, int64_t *position,
                     bool *deleted);
bool sheet_axis_has_batch(const sheet_axis *axis, const char *batch);

/* Inserts a new batch of `count` lines in front of `before`; NULL: at the end. False: no memory, or
 * no such line. */
bool sheet_axis_insert(sheet_axis *axis, const sheet_line *before, const char *batch,
                       int64_t count);
/* Deletes the lines of a run that exist. False: no memory. */
bool sheet_axis_delete(sheet_axis *axis, const char *batch, int64_t from, int64_t to);

#endif
