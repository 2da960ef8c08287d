/* Reads a CSV text (RFC 4180) in place: fields between commas, lines that end in LF or CRLF; a
 * field in quotes may hold both, and a quote written twice. */
#ifndef SHEET_CSV_H
#define SHEET_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sheet_csv {
    char *at;
    char *field;  /* the one that was read last, NUL-terminated */
    bool in_line; /* the line has another field */
} sheet_csv;

sheet_csv sheet_csv_of(char *text);
/* False: there is no other line. */
bool sheet_csv_line(sheet_csv *csv);
/* The next field of the line; false: it has no more. Changes the text. */
bool sheet_csv_field(sheet_csv *csv);

/* Lines, and the fields of the longest one. False: a quote is not closed, or a field is longer than
 * `bytes_max`. */
bool sheet_csv_measure(const char *text, size_t bytes_max, int64_t *lines, int64_t *fields);

#endif
