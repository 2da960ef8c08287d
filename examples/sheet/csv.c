/* CSV: see csv.h. */
#include "csv.h"

sheet_csv sheet_csv_of(char *text)
{
    return (sheet_csv){.at = text};
}

bool sheet_csv_line(sheet_csv *csv)
{
    csv->in_line = *csv->at != '\0';
    return csv->in_line;
}

static bool ends_line(const char *at)
{
    return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

/* Copies the field over its own quotes; returns what follows. */
static char *unquote(char *from)
{
    char *to = from++;
    while (*from != '\0' && !(*from == '"' && from[1] != '"')) {
        if (*from == '"') from++;
        *to++ = *from++;
    }
    if (*from == '"') from++;
    char *behind = from;
    while (*behind != '\0' && *behind != ',' && !ends_line(behind))
        *to++ = *behind++;
    if (to < behind) *to = '\0';
    return behind;
}

bool sheet_csv_field(sheet_csv *csv)
{
    if (!csv->in_line) return false;
    char *end = csv->field = csv->at;
    if (*end == '"')
        end = unquote(end);
    else
        while (*end != '\0' && *end != ',' && !ends_line(end))
            end++;
    csv->in_line = *end == ',';
    size_t skip = *end == '\0' ? 0 : *end == '\r' ? 2 : 1;
    *end = '\0';
    csv->at = end + skip;
    return true;
}

/* Behind the field at `at`; NULL: its quote is not closed. */
static const char *skip_field(const char *at)
{
    bool quoted = *at == '"';
    if (quoted) at++;
    while (*at != '\0' && (quoted || (*at != ',' && !ends_line(at)))) {
        if (quoted && *at == '"') {
            if (at[1] == '"')
                at++;
            else
                quoted = false;
        }
        at++;
    }
    return quoted ? NULL : at;
}

bool sheet_csv_measure(const char *text, size_t bytes_max, int64_t *lines, int64_t *fields)
{
    *lines = *fields = 0;
    int64_t in_line = 0;
    while (*text != '\0') {
        const char *end = skip_field(text);
        if (!end || (size_t)(end - text) > bytes_max) return false;
        if (++in_line > *fields) *fields = in_line;
        bool comma = *end == ',';
        text = *end == '\0' ? end : end + (*end == '\r' ? 2 : 1);
        if (comma && *text != '\0') continue;
        *lines += 1;
        in_line = 0;
    }
    return true;
}
