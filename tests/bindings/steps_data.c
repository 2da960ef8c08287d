/* Steps that read: items, queries, indexes, order keys, counters. */
#include "tests/bindings/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kedge_status give_document(kedge_status status, kedge_document *document, cJSON *given,
                                  const char *member)
{
    if (status == KEDGE_OK) give_json(given, member, kedge_document_json(document, NULL));
    kedge_document_free(document);
    return status;
}

static kedge_status get(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_document *document = NULL;
    const char *id = step_text(step, "id");
    kedge_status status = kedge_get(step_db(at, step), step_text(step, "collection"), id,
                                    strlen(id), &document, error);
    if (status == KEDGE_OK) cJSON_AddStringToObject(given, "id", kedge_document_id(document, NULL));
    return give_document(status, document, given, "value");
}

static kedge_status get_project(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_document *document = NULL;
    kedge_status status = kedge_get_project(step_db(at, step), &document, error);
    return give_document(status, document, given, "value");
}

static kedge_status scan(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_scan_options options = KEDGE_SCAN_OPTIONS_INIT;
    kedge_scan *cursor = NULL;
    const char *id, *value;
    size_t id_size, value_size;
    options.after = step_text_or_null(step, "after");
    options.after_size = options.after ? strlen(options.after) : 0;
    options.prefix = step_text_or_null(step, "prefix");
    options.prefix_size = options.prefix ? strlen(options.prefix) : 0;
    options.limit = step_integer(step, "limit", 0);
    options.descending = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(step, "descending"));
    kedge_status status =
        kedge_scan_open(step_db(at, step), step_text(step, "collection"), &options, &cursor, error);
    if (status != KEDGE_OK) return status;
    cJSON *items = cJSON_AddArrayToObject(given, "items");
    while ((status = kedge_scan_next(cursor, &id, &id_size, &value, &value_size, error)) ==
           KEDGE_OK) {
        cJSON *pair = cJSON_CreateArray();
        cJSON_AddItemToArray(pair, cJSON_CreateString(id));
        cJSON_AddItemToArray(pair, cJSON_ParseWithLength(value, value_size));
        cJSON_AddItemToArray(items, pair);
    }
    kedge_scan_close(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static cJSON *column_value(kedge_query *query, int32_t column)
{
    size_t size = 0;
    const char *bytes;
    switch (kedge_query_column_type(query, column)) {
    case KEDGE_COLUMN_INTEGER:
        return cJSON_CreateNumber((double)kedge_query_integer(query, column));
    case KEDGE_COLUMN_REAL:
        return cJSON_CreateNumber(kedge_query_real(query, column));
    case KEDGE_COLUMN_TEXT:
        return cJSON_CreateString(kedge_query_text(query, column, NULL));
    case KEDGE_COLUMN_BLOB:
        bytes = kedge_query_text(query, column, &size);
        return blob_object(bytes, size);
    case KEDGE_COLUMN_NULL:
    default:
        return cJSON_CreateNull();
    }
}

static kedge_status query(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_query *cursor = NULL;
    const char *sql = step_text(step, "sql");
    char *parameters = step_json(step, "parameters");
    kedge_status status =
        kedge_query_open(step_db(at, step), sql, strlen(sql), *parameters ? parameters : NULL,
                         strlen(parameters), &cursor, error);
    free(parameters);
    if (status != KEDGE_OK) return status;
    int32_t count = kedge_query_column_count(cursor);
    cJSON *columns = cJSON_AddArrayToObject(given, "columns");
    cJSON *rows = cJSON_AddArrayToObject(given, "rows");
    for (int32_t i = 0; i < count; i++)
        cJSON_AddItemToArray(columns, cJSON_CreateString(kedge_query_column_name(cursor, i)));
    while ((status = kedge_query_next(cursor, error)) == KEDGE_OK) {
        cJSON *row = cJSON_CreateArray();
        for (int32_t i = 0; i < count; i++)
            cJSON_AddItemToArray(row, column_value(cursor, i));
        cJSON_AddItemToArray(rows, row);
    }
    kedge_query_close(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status make_index(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    const char *paths[KEDGE_LIMIT_INDEX_PATHS + 1];
    size_t count = 0;
    const cJSON *path;
    cJSON_ArrayForEach(path, cJSON_GetObjectItemCaseSensitive(step, "paths"))
    {
        if (count <= KEDGE_LIMIT_INDEX_PATHS) paths[count++] = path->valuestring;
    }
    return kedge_index(step_db(at, step), step_text(step, "name"), step_text(step, "collection"),
                       paths, count, error);
}

static kedge_status drop_index(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    return kedge_index_drop(step_db(at, step), step_text(step, "name"), error);
}

static kedge_status list_indexes(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_index_list *list = NULL;
    const char *name, *collection, *paths;
    kedge_status status = kedge_index_list_open(step_db(at, step), &list, error);
    if (status != KEDGE_OK) return status;
    cJSON *indexes = cJSON_AddArrayToObject(given, "indexes");
    while ((status = kedge_index_list_next(list, &name, &collection, &paths, error)) == KEDGE_OK) {
        cJSON *index = cJSON_CreateObject();
        cJSON_AddStringToObject(index, "name", name);
        cJSON_AddStringToObject(index, "collection", collection);
        give_json(index, "paths", paths);
        cJSON_AddItemToArray(indexes, index);
    }
    kedge_index_list_close(list);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status order(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)at;
    char key[KEDGE_ORDER_KEY_SIZE];
    kedge_status status =
        kedge_order_between(step_text_or_null(step, "before"), step_text_or_null(step, "after"),
                            (uint32_t)step_integer(step, "random", 0), key, error);
    if (status == KEDGE_OK) cJSON_AddStringToObject(given, "key", key);
    return status;
}

static kedge_status stats(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_stats read = KEDGE_STATS_INIT;
    kedge_status status = kedge_get_stats(step_db(at, step), &read, error);
    cJSON_AddNumberToObject(given, "edits", (double)read.edits);
    cJSON_AddNumberToObject(given, "edits_refused", (double)read.edits_refused);
    cJSON_AddNumberToObject(given, "requests", (double)read.requests);
    cJSON_AddNumberToObject(given, "pulls", (double)read.pulls);
    return status;
}

const step_row data_steps[] = {
    {"get", get},
    {"project", get_project},
    {"scan", scan},
    {"query", query},
    {"index", make_index},
    {"index_drop", drop_index},
    {"indexes", list_indexes},
    {"order", order},
    {"stats", stats},
    {NULL, NULL},
};
