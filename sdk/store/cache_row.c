/* Checksums of the rows of the cache. */
#include "sdk/store/cache_row.h"

#include "common/error.h"

void kedge_row_total_add(kedge_row_total *total, int64_t checksum)
{
    total->rows++;
    total->sum += checksum;
}

void kedge_row_total_remove(kedge_row_total *total, int64_t checksum)
{
    total->rows--;
    total->sum -= checksum;
}

bool kedge_row_total_equal(const kedge_row_total *a, const kedge_row_total *b)
{
    return a->rows == b->rows && a->sum == b->sum;
}

kedge_checksum kedge_row_begin(int64_t kind, kedge_bytes collection)
{
    kedge_checksum checksum = kedge_checksum_begin(kind);
    kedge_checksum_bytes(&checksum, collection);
    return checksum;
}

int64_t kedge_row_checksum(kedge_checksum begun, kedge_bytes id, const kedge_bytes *value)
{
    kedge_checksum_bytes(&begun, id);
    if (value)
        kedge_checksum_bytes(&begun, *value);
    else
        kedge_checksum_null(&begun);
    return kedge_checksum_end(&begun);
}

/* With a NUL after it, which no column of bytes has. */
static kedge_bytes text_column(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return (kedge_bytes){text ? text : "",
                         text ? (size_t)sqlite3_column_bytes(statement, column) : 0};
}

bool kedge_row_read(kedge_checksum begun, sqlite3_stmt *statement, int first, kedge_cache_row *row)
{
    row->has_value = sqlite3_column_type(statement, first + 1) != SQLITE_NULL;
    row->id = text_column(statement, first);
    row->value = text_column(statement, first + 1);
    row->checksum = sqlite3_column_int64(statement, first + 2);
    return row->checksum == kedge_row_checksum(begun, row->id, row->has_value ? &row->value : NULL);
}

bool kedge_row_read_any(int64_t kind, sqlite3_stmt *statement, kedge_bytes *collection,
                        kedge_cache_row *row)
{
    bool text = true;
    for (int column = 0; column < 3; column++) {
        int type = sqlite3_column_type(statement, column);
        text = text && (type == SQLITE_TEXT || (column == 2 && type == SQLITE_NULL));
    }
    *collection = text_column(statement, 0);
    return kedge_row_read(kedge_row_begin(kind, *collection), statement, 1, row) && text;
}

static int shown(kedge_bytes bytes)
{
    return (int)(bytes.size < 128 ? bytes.size : 128);
}

kedge_status kedge_row_fail(kedge_store_db *db, const char *table, kedge_bytes collection,
                            kedge_bytes id, kedge_error *error)
{
    /* SQLite gives no text when it has no memory for it. */
    if (sqlite3_errcode(db->handle) == SQLITE_NOMEM) return kedge_fail_no_memory(error);
    db->damaged = true;
    return kedge_fail(error, KEDGE_CORRUPT, "file-damaged",
                      "%s is damaged: the row %.*s/%.*s of the table %s is not what was written",
                      db->name, shown(collection), collection.data, shown(id), id.data, table);
}

kedge_status kedge_table_fail(kedge_store_db *db, const char *table, kedge_error *error)
{
    db->damaged = true;
    return kedge_fail(error, KEDGE_CORRUPT, "file-damaged",
                      "%s is damaged: the table %s does not hold what was written", db->name,
                      table);
}

static kedge_bytes text_of(sqlite3_value *value)
{
    const char *data = sqlite3_value_blob(value);
    int size = sqlite3_value_bytes(value);
    return (kedge_bytes){data ? data : "", data ? (size_t)size : 0};
}

void kedge_sound_function(sqlite3_context *context, int count, sqlite3_value **values)
{
    bool texts = count == 4;
    for (int i = 0; texts && i < 3; i++)
        texts = sqlite3_value_type(values[i]) == SQLITE_TEXT;
    if (texts) {
        kedge_bytes value = text_of(values[2]);
        kedge_checksum begun = kedge_row_begin(KEDGE_ROW_ITEM, text_of(values[0]));
        if (kedge_row_checksum(begun, text_of(values[1]), &value) ==
            sqlite3_value_int64(values[3])) {
            sqlite3_result_int64(context, 1);
            return;
        }
    }
    sqlite3_result_error(context, KEDGE_ROW_DAMAGED, -1);
}
