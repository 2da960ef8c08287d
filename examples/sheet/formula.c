/* What a formula is worth. The grammar:
 *
 *   formula = "=" sum
 *   sum     = product { ("+" | "-") product }
 *   product = factor { ("*" | "/") factor }
 *   factor  = number | reference | "-" factor | "(" sum ")" | "SUM" "(" range ")"
 *   range   = reference [ ":" reference ]
 *
 * Only what a cell shows depends on it: a formula is kept as text, and no mutator works it out. */
#include "sheet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64 /* of cells that refer to each other, and of parentheses */

typedef struct formula {
    sheet_view *view;
    const char *at;
    const char *failure; /* NULL: none */
    int depth;
} formula;

static double sum(formula *of);

static double fail(formula *of, const char *failure)
{
    if (!of->failure) of->failure = failure;
    return 0;
}

static char next(formula *of)
{
    while (*of->at == ' ')
        of->at++;
    return *of->at;
}

static bool skip(formula *of, char expected)
{
    if (next(of) != expected) return false;
    of->at++;
    return true;
}

static double whole(formula *of)
{
    if (++of->depth > DEPTH_MAX) return fail(of, "#LOOP!");
    double value = sum(of);
    of->depth--;
    return value;
}

/* The number of a text; false: it is none. */
static bool number_of(const char *text, double *number)
{
    char *end = NULL;
    if (text[strspn(text, "0123456789.+-eE ")] != '\0') return false; /* no nan, no 0x1p3 */
    *number = strtod(text, &end);
    while (*end == ' ')
        end++;
    return end != text && *end == '\0';
}

/* A cell's number. An empty one is 0; text is `other`. */
static double cell(formula *of, const sheet_line *row, const sheet_line *column, const char *other)
{
    char text[SHEET_TEXT_SIZE];
    double number = 0;
    snprintf(text, sizeof text, "%s", sheet_view_cell(of->view, row, column));
    if (text[0] == '=') {
        formula inner = {.view = of->view, .at = text + 1, .depth = of->depth};
        number = whole(&inner);
        if (!inner.failure && next(&inner) != '\0') inner.failure = "#SYNTAX!";
        return inner.failure ? fail(of, inner.failure) : number;
    }
    if (text[0] == '\0' || number_of(text, &number)) return number;
    return other ? fail(of, other) : 0;
}

static double reference(formula *of, const sheet_line *row, const sheet_line *column)
{
    int64_t position;
    bool row_deleted = true, column_deleted = true;
    bool there = sheet_axis_find(&of->view->rows, row, &position, &row_deleted) &&
                 sheet_axis_find(&of->view->columns, column, &position, &column_deleted);
    if (!there || row_deleted || column_deleted) return fail(of, "#REF!");
    return cell(of, row, column, "#VALUE!");
}

/* The positions between two lines, whichever comes first. A deleted end gives way to the line
 * inside of it. */
static bool between(const sheet_axis *axis, const sheet_line *a, const sheet_line *b,
                    int64_t *first, int64_t *last)
{
    int64_t one, other;
    bool one_deleted, other_deleted;
    if (!sheet_axis_find(axis, a, &one, &one_deleted)) return false;
    if (!sheet_axis_find(axis, b, &other, &other_deleted)) return false;
    bool swapped = one > other;
    *first = swapped ? other : one;
    *last = swapped ? one : other;
    if (swapped ? one_deleted : other_deleted) *last -= 1;
    return true;
}

static double add_rows(formula *of, int64_t first, int64_t last, const sheet_line *column)
{
    double total = 0;
    sheet_line row;
    for (int64_t i = first; i <= last && !of->failure; i++)
        if (sheet_axis_at(&of->view->rows, i, &row)) total += cell(of, &row, column, NULL);
    return total;
}

static double range(formula *of)
{
    sheet_line row, column, row_end, column_end;
    int64_t top, bottom, left, right;
    double total = 0;
    if (!sheet_reference_read(&of->at, &row, &column)) return fail(of, "#SYNTAX!");
    row_end = row;
    column_end = column;
    if (skip(of, ':') && (next(of), !sheet_reference_read(&of->at, &row_end, &column_end)))
        return fail(of, "#SYNTAX!");
    if (!between(&of->view->rows, &row, &row_end, &top, &bottom) ||
        !between(&of->view->columns, &column, &column_end, &left, &right))
        return fail(of, "#REF!");
    for (int64_t i = left; i <= right && !of->failure; i++)
        if (sheet_axis_at(&of->view->columns, i, &column))
            total += add_rows(of, top, bottom, &column);
    return total;
}

static double call(formula *of)
{
    static const char name[] = "SUM";
    for (size_t i = 0; i < sizeof name - 1; i++)
        if (toupper((unsigned char)*of->at++) != name[i]) return fail(of, "#SYNTAX!");
    if (!skip(of, '(')) return fail(of, "#SYNTAX!");
    (void)next(of);
    if (++of->depth > DEPTH_MAX) return fail(of, "#LOOP!");
    double value = range(of);
    of->depth--;
    return skip(of, ')') ? value : fail(of, "#SYNTAX!");
}

static double factor(formula *of)
{
    sheet_line row, column;
    char first = next(of);
    if (skip(of, '(')) {
        double value = whole(of);
        return skip(of, ')') ? value : fail(of, "#SYNTAX!");
    }
    if (skip(of, '-')) {
        if (++of->depth > DEPTH_MAX) return fail(of, "#SYNTAX!");
        double value = -factor(of);
        of->depth--;
        return value;
    }
    if (isalpha((unsigned char)first)) return call(of);
    if (sheet_reference_read(&of->at, &row, &column)) return reference(of, &row, &column);
    char *end = NULL;
    double value = strtod(of->at, &end);
    if (end == of->at) return fail(of, "#SYNTAX!");
    of->at = end;
    return value;
}

static double product(formula *of)
{
    double value = factor(of);
    while (!of->failure) {
        if (skip(of, '*')) {
            value *= factor(of);
        } else if (skip(of, '/')) {
            double by = factor(of);
            value = by == 0 ? fail(of, "#DIV/0!") : value / by;
        } else {
            break;
        }
    }
    return value;
}

static double sum(formula *of)
{
    double value = product(of);
    while (!of->failure) {
        if (skip(of, '+'))
            value += product(of);
        else if (skip(of, '-'))
            value -= product(of);
        else
            break;
    }
    return value;
}

void sheet_value(sheet_view *view, const sheet_line *row, const sheet_line *column, char *shown,
                 size_t shown_size)
{
    char text[SHEET_TEXT_SIZE];
    snprintf(text, sizeof text, "%s", sheet_view_cell(view, row, column));
    if (text[0] != '=') {
        snprintf(shown, shown_size, "%s", text);
        return;
    }
    formula of = {.view = view, .at = text + 1};
    double value = whole(&of);
    if (!of.failure && next(&of) != '\0') of.failure = "#SYNTAX!";
    if (of.failure)
        snprintf(shown, shown_size, "%s", of.failure);
    else
        snprintf(shown, shown_size, "%.15g", value);
}
