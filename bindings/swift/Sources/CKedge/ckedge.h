/* What Swift sees of libkedge: its headers, and the initialisers of its structs, which are macros
 * that Swift cannot read. */
#ifndef CKEDGE_H
#define CKEDGE_H

#include <kedge/cjson.h>
#include <kedge/kedge.h>
#include <stdio.h>
#include <string.h>

static inline kedge_options ckedge_options(void)
{
    return (kedge_options)KEDGE_OPTIONS_INIT;
}

static inline kedge_scan_options ckedge_scan_options(void)
{
    return (kedge_scan_options)KEDGE_SCAN_OPTIONS_INIT;
}

static inline kedge_sync_status ckedge_sync_status(void)
{
    return (kedge_sync_status)KEDGE_SYNC_STATUS_INIT;
}

static inline kedge_mutation ckedge_mutation(void)
{
    return (kedge_mutation)KEDGE_MUTATION_INIT;
}

static inline kedge_undo_result ckedge_undo_result(void)
{
    return (kedge_undo_result)KEDGE_UNDO_RESULT_INIT;
}

static inline kedge_undo_state ckedge_undo_state(void)
{
    return (kedge_undo_state)KEDGE_UNDO_STATE_INIT;
}

static inline kedge_stats ckedge_stats(void)
{
    return (kedge_stats)KEDGE_STATS_INIT;
}

static inline kedge_repair_report ckedge_repair_report(void)
{
    return (kedge_repair_report)KEDGE_REPAIR_REPORT_INIT;
}

static inline kedge_status ckedge_refuse_text(kedge_error *error, const char *code, size_t at,
                                              const char *what)
{
    error->status = KEDGE_INVALID_JSON;
    snprintf(error->code, sizeof error->code, "%s", code);
    snprintf(error->message, sizeof error->message, "JSON is invalid at byte %zu: %s", at, what);
    return error->status;
}

/* cJSON cuts a string at an escaped NUL, and takes control characters in it. kedge_tx_put refuses
 * both, and so does this, in the same words. */
static inline kedge_status ckedge_check_strings(const char *json, size_t size, kedge_error *error)
{
    static const char nul[] = "\\u0000";
    const size_t nul_size = sizeof nul - 1;
    bool inside = false;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)json[i];
        if (byte == '"') inside = !inside;
        if (!inside) continue;
        if (byte < 0x20)
            return ckedge_refuse_text(error, "json-syntax", i,
                                      "a control character stands in a string");
        if (byte != '\\') continue;
        if (size - i >= nul_size && memcmp(json + i, nul, nul_size) == 0)
            return ckedge_refuse_text(error, "json-nul", i, "a NUL is not allowed");
        i++; /* an escaped byte, which may be a quote or a backslash */
    }
    return KEDGE_OK;
}

/* JSON as a tree, which the caller deletes. NULL: it is no JSON, or something follows the value. */
static inline cJSON *_Nullable ckedge_parse(const char *json, size_t size)
{
    const char *end = json;
    cJSON *tree = cJSON_ParseWithLengthOpts(json, size, &end, false);
    while (end < json + size && (*end == ' ' || *end == '\t' || *end == '\r' || *end == '\n'))
        end++;
    if (end == json + size) return tree;
    cJSON_Delete(tree);
    return NULL;
}

typedef struct ckedge_row {
    const char *id, *value;
    size_t id_size, value_size;
} ckedge_row;

/* Rows of a scan that were read together: a call for each would cost Swift more than the row. A row
 * is its two sizes, its id and its value, which begin at `at`. */
typedef struct ckedge_rows {
    char *_Nullable bytes;
    size_t room, used, at;
    bool waits;      /* there was no room for `next`, a row that was read */
    ckedge_row next; /* borrowed until the scan is used again */
    bool closed;     /* another thread may set it */
} ckedge_rows;

#define CKEDGE_ROW_HEAD (2 * sizeof(size_t))

static inline void ckedge_rows_close(ckedge_rows *rows)
{
    __atomic_store_n(&rows->closed, true, __ATOMIC_RELEASE);
}

/* The next row. False: there is none, or the scan is closed. */
static inline bool ckedge_rows_take(ckedge_rows *rows, ckedge_row *row)
{
    if (rows->at == rows->used || __atomic_load_n(&rows->closed, __ATOMIC_ACQUIRE)) return false;
    const char *from = rows->bytes + rows->at;
    memcpy(&row->id_size, from, sizeof row->id_size);
    memcpy(&row->value_size, from + sizeof row->id_size, sizeof row->value_size);
    row->id = from + CKEDGE_ROW_HEAD;
    row->value = row->id + row->id_size;
    rows->at = (size_t)(row->value + row->value_size - rows->bytes);
    return true;
}

/* How much room `next` takes. */
static inline size_t ckedge_rows_needed(const ckedge_rows *rows)
{
    return CKEDGE_ROW_HEAD + rows->next.id_size + rows->next.value_size;
}

/* Moves `next` after the others, which take at most `most` bytes with it. False: it has no
 * room. */
static inline bool ckedge_rows_add(ckedge_rows *rows, size_t most)
{
    const ckedge_row *next = &rows->next;
    rows->waits = ckedge_rows_needed(rows) > most - rows->used;
    if (rows->waits) return false;
    char *to = rows->bytes + rows->used;
    memcpy(to, &next->id_size, sizeof next->id_size);
    memcpy(to + sizeof next->id_size, &next->value_size, sizeof next->value_size);
    memcpy(to + CKEDGE_ROW_HEAD, next->id, next->id_size);
    memcpy(to + CKEDGE_ROW_HEAD + next->id_size, next->value, next->value_size);
    rows->used += ckedge_rows_needed(rows);
    return true;
}

/* Reads rows of at most `most` bytes in place of those that were read before. When it has read none
 * and `next` waits, that row alone is larger than `most`. */
static inline kedge_status ckedge_rows_read(ckedge_rows *rows, kedge_scan *scan, size_t most,
                                            kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    ckedge_row *next = &rows->next;
    rows->used = rows->at = 0;
    while (status == KEDGE_OK) {
        if (!rows->waits)
            status = kedge_scan_next(scan, &next->id, &next->id_size, &next->value,
                                     &next->value_size, error);
        if (status == KEDGE_OK && !ckedge_rows_add(rows, most)) break;
    }
    if (status != KEDGE_OK && status != KEDGE_DONE) rows->used = 0;
    return status;
}

#endif
