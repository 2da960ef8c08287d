/* The mutators of the spreadsheet: one copy, linked into the app and into the server's plugin.
 *
 * Rows and columns have ids that never change, so that an edit made offline still means the same
 * cell after others have inserted and deleted rows. An id is a batch and a number: the rows of one
 * insertion or import are `batch`.0, `batch`.1, …; a copy makes the batch's name at random. A sheet
 * starts with the rows 0.0 to 0.999 and the columns 0.0 to 0.25.
 *
 * Collection `axes`, items `rows` and `columns`: the order, as pieces of batches (axis.h).
 * Collection `cells`, an item for 128 rows of a batch, `batch.chunk`: {"3": {"0.2": "=[…]"}}, by
 * the row's number in the chunk and the column's id. A cell is the text that was typed. */
#ifndef SHEET_MUTATORS_H
#define SHEET_MUTATORS_H

#include <kedge/mutator.h>

#define SHEET_AXES       "axes"
#define SHEET_CELLS      "cells"
#define SHEET_CHUNK_ROWS 128
#define SHEET_ROWS       1000 /* of a new sheet */
#define SHEET_COLUMNS    26
#define SHEET_LINES_MAX  1000000 /* rows or columns of one insertion */
#define SHEET_TEXT_SIZE  4097    /* of a cell, with the NUL */

/* sheet.set {row, column, text}: "" empties the cell.
 * sheet.insert {axis, batch, count, before}: `axis` is "rows" or "columns"; `before` is an id, or
 * "" for the end.
 * sheet.delete {axis, pieces: [[batch, from, to], …]}
 * sheet.import {batch, csv, before}: the lines of a CSV text (RFC 4180) as new rows, with as many
 * columns as it has.
 * Codes of rejections: bad-argument, row-deleted, column-deleted, batch-exists, csv-invalid. */
extern const kedge_mutator sheet_mutators[];
extern const size_t sheet_mutator_count;

#endif
