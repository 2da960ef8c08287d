/* The rows of a result: read from the query, and found again by their keys. */
#include "sdk/runtime/query_result.h"

#include "common/error.h"
#include "common/json.h"
#include "sdk/runtime/query_rows.h"
#include "sdk/store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

kedge_status kedge_query_result_new(const kedge_allocator *allocator, kedge_query_result **result,
                                    kedge_error *error)
{
    kedge_query_result *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->texts = kedge_buffer_make(allocator);
    made->list = kedge_buffer_make(allocator);
    *result = made;
    return KEDGE_OK;
}

void kedge_query_result_free(kedge_query_result *result)
{
    if (result == NULL) return;
    kedge_buffer_free(&result->texts);
    kedge_buffer_free(&result->list);
    kedge_release(result->allocator, result->by_key);
    kedge_release(result->allocator, result);
}

size_t kedge_query_result_count(const kedge_query_result *result)
{
    return result->count;
}

kedge_status kedge_query_result_add(kedge_query_result *result, kedge_bytes key, kedge_bytes row,
                                    kedge_error *error)
{
    kedge_query_row added = {.key.size = key.size, .row.size = row.size, .position = result->count};
    size_t bytes = key.size + row.size + 2;
    if (result->count == KEDGE_LIMIT_WATCH_ROWS)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "watch-too-many-rows",
                          "the watched query has more than %d rows", KEDGE_LIMIT_WATCH_ROWS);
    if (bytes > KEDGE_LIMIT_WATCH_BYTES - result->texts.size)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "watch-too-many-bytes",
                          "the rows of the watched query have more than %d bytes",
                          KEDGE_LIMIT_WATCH_BYTES);
    kedge_buffer_append_bytes(&result->texts, key);
    kedge_buffer_append_byte(&result->texts, '\0');
    kedge_buffer_append_bytes(&result->texts, row);
    kedge_buffer_append_byte(&result->texts, '\0');
    kedge_buffer_append(&result->list, &added, sizeof added);
    kedge_status status = kedge_buffer_status(&result->texts, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&result->list, error);
    if (status == KEDGE_OK) result->count++;
    return status;
}

static int compare_keys(const void *a, const void *b)
{
    const kedge_query_row *left = *(const kedge_query_row *const *)a;
    const kedge_query_row *right = *(const kedge_query_row *const *)b;
    return kedge_bytes_compare(left->key, right->key);
}

kedge_status kedge_query_result_end(kedge_query_result *result, kedge_error *error)
{
    const char *text = result->texts.data;
    if (result->count == 0) return KEDGE_OK;
    result->rows = (kedge_query_row *)(void *)result->list.data;
    result->by_key = kedge_allocate(result->allocator, result->count * sizeof *result->by_key);
    if (result->by_key == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < result->count; i++) {
        kedge_query_row *row = &result->rows[i];
        row->key.data = text;
        row->row.data = text + row->key.size + 1;
        text = row->row.data + row->row.size + 1;
        result->by_key[i] = row;
    }
    qsort(result->by_key, result->count, sizeof *result->by_key, compare_keys);
    for (size_t i = 1; i < result->count; i++) {
        const kedge_query_row *row = result->by_key[i];
        if (kedge_bytes_compare(row[0].key, result->by_key[i - 1]->key) == 0)
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "watch-key-twice",
                              "the first column names each row of a watched query; two rows have "
                              "'%.100s'",
                              row->key.data);
    }
    return KEDGE_OK;
}

/* ---- from a query ---- */

static kedge_status write_text(kedge_query *query, int32_t column, kedge_json_writer *json,
                               kedge_error *error)
{
    kedge_bytes text;
    text.data = kedge_store_query_text(query, column, &text.size);
    if (text.data == NULL) return kedge_fail_no_memory(error);
    kedge_json_text(json, text);
    return KEDGE_OK;
}

static kedge_status write_column(kedge_query *query, int32_t column, kedge_json_writer *json,
                                 kedge_error *error)
{
    kedge_column_type type = kedge_store_query_column_type(query, column);
    double real = type == KEDGE_COLUMN_REAL ? kedge_store_query_real(query, column) : 0;
    if (type == KEDGE_COLUMN_TEXT) return write_text(query, column, json, error);
    if (type == KEDGE_COLUMN_BLOB || !isfinite(real))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "watch-value",
                          "column %d of a watched query is %s, which JSON does not have", column,
                          type == KEDGE_COLUMN_BLOB ? "a blob" : "infinite");
    if (type == KEDGE_COLUMN_NULL)
        kedge_json_null(json);
    else if (type == KEDGE_COLUMN_REAL)
        kedge_json_number(json, real);
    else
        kedge_json_integer(json, kedge_store_query_integer(query, column));
    return KEDGE_OK;
}

static kedge_status read_row(kedge_query *query, kedge_query_result *result, kedge_buffer *row,
                             kedge_error *error)
{
    kedge_json_writer json = kedge_json_write(row);
    int32_t columns = kedge_store_query_column_count(query);
    kedge_status status = KEDGE_OK;
    kedge_bytes key;
    if (kedge_store_query_column_type(query, 0) == KEDGE_COLUMN_NULL)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "watch-key-null",
                          "the first column names each row of a watched query; in one it is NULL");
    kedge_buffer_clear(row);
    kedge_json_begin_array(&json);
    for (int32_t i = 0; i < columns && status == KEDGE_OK; i++)
        status = write_column(query, i, &json, error);
    kedge_json_end_array(&json);
    if (status == KEDGE_OK) status = kedge_buffer_status(row, error);
    if (status != KEDGE_OK) return status;
    key.data = kedge_store_query_text(query, 0, &key.size);
    if (key.data == NULL) return kedge_fail_no_memory(error);
    return kedge_query_result_add(result, key, kedge_buffer_bytes(row), error);
}

kedge_status kedge_query_result_read(const kedge_allocator *allocator, kedge_query *query,
                                     kedge_query_result **result, kedge_error *error)
{
    kedge_query_result *made = NULL;
    kedge_buffer row = kedge_buffer_make(allocator);
    kedge_status status = kedge_query_result_new(allocator, &made, error);
    while (status == KEDGE_OK && (status = kedge_store_query_next(query, error)) == KEDGE_OK)
        status = read_row(query, made, &row, error);
    if (status == KEDGE_DONE) status = kedge_query_result_end(made, error);
    kedge_buffer_free(&row);
    if (status != KEDGE_OK) {
        kedge_query_result_free(made);
        return status;
    }
    *result = made;
    return KEDGE_OK;
}
