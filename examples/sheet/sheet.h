/* A small shared spreadsheet for the terminal, on the public API alone.
 *
 *   main.c      what the program is: its name, its mutators, its help
 *   commands.c  what each command does: one kedge_mutate an edit
 *   view.c      the sheet as it is now: cells by position
 *   formula.c   what a formula is worth: + - * / and SUM
 *   names.c     A1 and B2:C9, and the ids that formulas keep instead
 *   axis.c, csv.c, sheet_mutators.c   the edits; in the plugin for the server, too
 *   ../terminal arguments, opening, and the live view, which redraws when another copy edits */
#ifndef SHEET_H
#define SHEET_H

#include "axis.h"
#include "sheet_mutators.h"
#include "terminal.h"

#include <kedge/kedge.h>

extern const terminal_app sheet_app;

/* ---- view.c ---- */

typedef struct sheet_view {
    kedge_db *db;
    sheet_axis rows;
    sheet_axis columns;
    char chunk_id[SHEET_ID_SIZE]; /* of `chunk`, the one that was read last */
    struct cJSON *chunk;
} sheet_view;

/* Reads the two axes; false, with a message, when that fails. Close it in any case. */
bool sheet_view_open(sheet_view *view, kedge_db *db);
void sheet_view_close(sheet_view *view);
/* The text of the cell, "" when it is empty. Borrowed until the next call. */
const char *sheet_view_cell(sheet_view *view, const sheet_line *row, const sheet_line *column);

/* ---- names.c ---- */

/* "C2" as positions from 0; false: no such name. `*end` is after it. */
bool sheet_name_read(const char *name, int64_t *row, int64_t *column, const char **end);
void sheet_name_write(int64_t row, int64_t column, char *name, size_t name_size);
/* "C" or "12", for an insertion or deletion. */
bool sheet_line_name_read(const char *name, bool *is_row, int64_t *position);
/* A formula as it is typed, into one with ids: "=A1*2" is "=[0.0|0.0]*2". False: a name is no cell
 * of the sheet, or `stored_size` is too small. Text that is no formula is copied. */
bool sheet_formula_store(const sheet_view *view, const char *typed, char *stored,
                         size_t stored_size);
/* The way back; a deleted cell shows as #REF!. */
void sheet_formula_show(const sheet_view *view, const char *stored, char *shown, size_t shown_size);
/* Reads "[row|column]". */
bool sheet_reference_read(const char **at, sheet_line *row, sheet_line *column);

/* ---- formula.c ---- */

/* What the cell shows: its text, or what its formula is worth, or #REF!, #VALUE!, #DIV/0!, #LOOP!,
 * #SYNTAX!. */
void sheet_value(sheet_view *view, const sheet_line *row, const sheet_line *column, char *shown,
                 size_t shown_size);

/* ---- commands.c ---- */

/* Runs one command, for example {"set", "C2", "100"}. */
int sheet_command(kedge_db *db, int count, char **words);
/* Prints a range like "A1:F12"; NULL: the upper left corner. */
int sheet_show(kedge_db *db, const char *range);

#endif
