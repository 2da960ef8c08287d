/* Names of cells as people write them, and as formulas keep them. */
#include "sheet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX  9
#define LETTERS_MAX 5

static bool read_letters(const char **at, int64_t *column)
{
    int64_t number = 0;
    int letters = 0;
    for (; isalpha((unsigned char)**at) && letters <= LETTERS_MAX; *at += 1, letters++)
        number = number * 26 + (toupper((unsigned char)**at) - 'A' + 1);
    *column = number - 1;
    return letters > 0 && letters <= LETTERS_MAX;
}

static bool read_digits(const char **at, int64_t *row)
{
    int64_t number = 0;
    int digits = 0;
    for (; isdigit((unsigned char)**at) && digits <= DIGITS_MAX; *at += 1, digits++)
        number = number * 10 + (**at - '0');
    *row = number - 1;
    return digits > 0 && digits <= DIGITS_MAX && number > 0;
}

bool sheet_name_read(const char *name, int64_t *row, int64_t *column, const char **end)
{
    *end = name;
    return read_letters(end, column) && read_digits(end, row);
}

void sheet_name_write(int64_t row, int64_t column, char *name, size_t name_size)
{
    char letters[16];
    size_t at = sizeof letters;
    letters[--at] = '\0';
    for (int64_t number = column + 1; number > 0; number = (number - 1) / 26)
        letters[--at] = (char)('A' + (number - 1) % 26);
    if (row < 0)
        snprintf(name, name_size, "%s", letters + at);
    else
        snprintf(name, name_size, "%s%lld", letters + at, (long long)row + 1);
}

bool sheet_line_name_read(const char *name, bool *is_row, int64_t *position)
{
    const char *at = name;
    *is_row = isdigit((unsigned char)*name);
    bool fine = *is_row ? read_digits(&at, position) : read_letters(&at, position);
    return fine && *at == '\0';
}

/* ---- formulas ---- */

typedef struct text_out {
    char *text;
    size_t size;
    size_t capacity;
} text_out;

static bool add(text_out *out, const char *text, size_t size)
{
    if (out->size + size >= out->capacity) return false;
    memcpy(out->text + out->size, text, size);
    out->size += size;
    out->text[out->size] = '\0';
    return true;
}

static bool store_reference(const sheet_view *view, int64_t row_at, int64_t column_at,
                            text_out *out)
{
    sheet_line row, column;
    char row_id[SHEET_ID_SIZE], column_id[SHEET_ID_SIZE], reference[2 * SHEET_ID_SIZE + 4];
    if (!sheet_axis_at(&view->rows, row_at, &row) ||
        !sheet_axis_at(&view->columns, column_at, &column))
        return false;
    sheet_line_write(&row, row_id);
    sheet_line_write(&column, column_id);
    snprintf(reference, sizeof reference, "[%s|%s]", row_id, column_id);
    return add(out, reference, strlen(reference));
}

/* The E of 1E5 is not a column. */
static size_t size_of_number(const char *typed)
{
    char *end = NULL;
    if (!isdigit((unsigned char)*typed)) return 0;
    (void)strtod(typed, &end);
    return (size_t)(end - typed);
}

bool sheet_formula_store(const sheet_view *view, const char *typed, char *stored,
                         size_t stored_size)
{
    text_out out = {.text = stored, .capacity = stored_size};
    bool formula = typed[0] == '=';
    stored[0] = '\0';
    while (*typed != '\0') {
        int64_t row, column;
        const char *end;
        size_t size = formula ? size_of_number(typed) : 1;
        if (size == 0 && sheet_name_read(typed, &row, &column, &end)) {
            if (!store_reference(view, row, column, &out)) return false;
            typed = end;
            continue;
        }
        while (formula && isalpha((unsigned char)typed[size]))
            size++; /* the name of a function */
        if (size == 0) size = 1;
        if (!add(&out, typed, size)) return false;
        typed += size;
    }
    return true;
}

static bool read_line(const char **at, char end, sheet_line *line)
{
    char id[SHEET_ID_SIZE];
    size_t size = strcspn(*at, "|]");
    if (size >= sizeof id || (*at)[size] != end) return false;
    memcpy(id, *at, size);
    id[size] = '\0';
    *at += size + 1;
    return sheet_line_read(id, line);
}

bool sheet_reference_read(const char **at, sheet_line *row, sheet_line *column)
{
    if (**at != '[') return false;
    *at += 1;
    return read_line(at, '|', row) && read_line(at, ']', column);
}

static void show_reference(const sheet_view *view, const sheet_line *row, const sheet_line *column,
                           text_out *out)
{
    char name[32] = "#REF!";
    int64_t row_at, column_at;
    bool row_deleted = true, column_deleted = true;
    if (sheet_axis_find(&view->rows, row, &row_at, &row_deleted) && !row_deleted &&
        sheet_axis_find(&view->columns, column, &column_at, &column_deleted) && !column_deleted)
        sheet_name_write(row_at, column_at, name, sizeof name);
    (void)add(out, name, strlen(name));
}

void sheet_formula_show(const sheet_view *view, const char *stored, char *shown, size_t shown_size)
{
    text_out out = {.text = shown, .capacity = shown_size};
    bool formula = stored[0] == '=';
    shown[0] = '\0';
    while (*stored != '\0') {
        sheet_line row, column;
        const char *end = stored;
        if (formula && sheet_reference_read(&end, &row, &column)) {
            show_reference(view, &row, &column, &out);
            stored = end;
        } else {
            (void)add(&out, stored++, 1);
        }
    }
}
