/* The table `declared`: which indexes the app has declared. */
#include "sdk/store/index.h"

#include "common/error.h"
#include "common/names.h"
#include "common/utf8.h"
#include "sdk/store/outbox_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- what may be declared ---- */

/* A byte of a member's name that neither SQL nor JSON nor a path of SQLite takes for anything
 * else. */
static bool is_member_byte(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || (byte & 0x80) != 0;
}

static size_t member_size(kedge_bytes text)
{
    size_t size = 0;
    while (size < text.size && is_member_byte(text.data[size]))
        size++;
    return size;
}

/* The size of `[` digits `]`, or 0. */
static size_t place_size(kedge_bytes text)
{
    size_t size = 1;
    while (size < text.size && text.data[size] >= '0' && text.data[size] <= '9')
        size++;
    bool leading_zero = size > 2 && text.data[1] == '0';
    if (size == 1 || size > 8 || leading_zero || size == text.size || text.data[size] != ']')
        return 0;
    return size + 1;
}

/* Steps after `$`: each a `.` and a member, or a place in an array. */
static bool are_steps(kedge_bytes text)
{
    if (text.size == 0) return false;
    while (text.size > 0) {
        kedge_bytes rest = {text.data + 1, text.size - 1};
        size_t size = 0;
        if (text.data[0] == '.' && member_size(rest) > 0) size = 1 + member_size(rest);
        if (text.data[0] == '[') size = place_size(text);
        if (size == 0) return false;
        text = (kedge_bytes){text.data + size, text.size - size};
    }
    return true;
}

static kedge_status check_path(kedge_bytes path, kedge_error *error)
{
    int shown = (int)(path.size < 64 ? path.size : 64);
    if (path.size > KEDGE_LIMIT_INDEX_PATH_BYTES)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "path-too-long",
                          "the path \"%.*s…\" is %zu bytes long; at most %d are allowed", shown,
                          path.data, path.size, KEDGE_LIMIT_INDEX_PATH_BYTES);
    bool steps = path.size > 0 && path.data[0] == '$' &&
                 are_steps((kedge_bytes){path.data + 1, path.size - 1});
    bool member = path.size > 0 && member_size(path) == path.size;
    if ((steps || member) && kedge_bytes_are_utf8(path)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-path",
                      "\"%.*s\" is no path; allowed are a member as in \"due\", and steps after $"
                      " as in \"$.address.city\" or \"$.tags[0]\", with members of A-Z a-z 0-9 _ -"
                      " and what is not ASCII",
                      shown, path.data);
}

kedge_status kedge_declared_make(kedge_bytes name, kedge_bytes collection, const kedge_bytes *paths,
                                 size_t count, kedge_declared_index *index, kedge_error *error)
{
    *index = (kedge_declared_index){0};
    kedge_status status = kedge_check_name("index", name, error);
    if (status == KEDGE_OK) status = kedge_check_name("collection", collection, error);
    if (status == KEDGE_OK && count == 0)
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "paths-missing",
                            "an index needs a path; 1 to %d are allowed", KEDGE_LIMIT_INDEX_PATHS);
    if (status == KEDGE_OK && count > KEDGE_LIMIT_INDEX_PATHS)
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-paths",
                            "the index has %zu paths; at most %d are allowed", count,
                            KEDGE_LIMIT_INDEX_PATHS);
    size_t size = 0;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        status = check_path(paths[i], error);
        if (status != KEDGE_OK) break;
        size += (size_t)snprintf(index->paths + size, sizeof index->paths - size, "%c\"%.*s\"",
                                 i == 0 ? '[' : ',', (int)paths[i].size, paths[i].data);
    }
    if (status != KEDGE_OK) return status;
    memcpy(index->paths + size, "]", 2);
    memcpy(index->name, name.data, name.size);
    memcpy(index->collection, collection.data, collection.size);
    return KEDGE_OK;
}

/* ---- the rows ---- */

const kedge_declared_index *kedge_declared_find(const kedge_declared *declared, const char *name)
{
    for (size_t i = 0; i < declared->count; i++)
        if (strcmp(declared->rows[i].name, name) == 0) return &declared->rows[i];
    return NULL;
}

kedge_status kedge_declared_read(kedge_store_db *outbox, kedge_declared *declared,
                                 kedge_error *error)
{
    static const char *const sql =
        "SELECT name, collection, paths, checksum IS {declared#}, ordinal FROM declared ORDER BY "
        "ordinal LIMIT " KEDGE_SQL_NUMBER(KEDGE_LIMIT_INDEXES);
    sqlite3_stmt *cursor;
    declared->count = 0;
    kedge_status status = kedge_store_db_take(outbox, sql, &cursor, error);
    while (status == KEDGE_OK &&
           (status = kedge_store_db_step(outbox, cursor, error)) == KEDGE_OK) {
        kedge_declared_index *row = &declared->rows[declared->count++];
        if (sqlite3_column_int(cursor, 3) == 1 &&
            kedge_store_column_chars(cursor, 0, row->name, sizeof row->name) &&
            kedge_store_column_chars(cursor, 1, row->collection, sizeof row->collection) &&
            kedge_store_column_chars(cursor, 2, row->paths, sizeof row->paths))
            continue;
        int64_t ordinal = sqlite3_column_int64(cursor, 4);
        sqlite3_reset(cursor);
        return kedge_outbox_fail_row(outbox, "declared", ordinal, error);
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_declared_add(kedge_store_db *outbox, const kedge_declared_index *index,
                                kedge_error *error)
{
    static const char *const sql = "INSERT INTO declared({declared}, checksum) VALUES(?1, ?2, ?3, "
                                   "kedge_checksum(7, ?1, ?2, ?3))";
    return kedge_store_db_change(outbox, sql, error, "ccc", index->name, index->collection,
                                 index->paths);
}

kedge_status kedge_declared_remove(kedge_store_db *outbox, const char *name, kedge_error *error)
{
    return kedge_store_db_change(outbox, "DELETE FROM declared WHERE name = ?1", error, "c", name);
}

/* The app declares it again, or its queries read the whole collection as before. */
kedge_status kedge_declared_heal(kedge_store_db *outbox, kedge_error *error)
{
    static const char *const sql = "DELETE FROM declared WHERE checksum IS NOT {declared#}";
    return kedge_store_db_execute(outbox, sql, error);
}
