/* Checks the declared indexes of the cache, after its rows: each row of the collection has its
 * entry, and the index has no other. An index in which a value is wrong hides its row from queries,
 * which check only the rows that they find. */
#include "sdk/store/index_check.h"

#include "common/error.h"

struct kedge_index_check {
    const kedge_allocator *allocator;
    kedge_store_db *cache;
    size_t next;          /* in `declared` */
    int64_t rows;         /* of the index under way, so far */
    sqlite3_stmt *cursor; /* over its collection; NULL: none is under way */
    kedge_declared declared;
};

kedge_status kedge_index_check_begin(const kedge_allocator *allocator, kedge_store_reader *reader,
                                     kedge_index_check **check, kedge_error *error)
{
    kedge_index_check *made = kedge_allocate(allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->cache = &reader->cache;
    kedge_status status = kedge_declared_read(&reader->outbox, &made->declared, error);
    if (status == KEDGE_OK)
        *check = made;
    else
        kedge_release(allocator, made);
    return status;
}

void kedge_index_check_end(kedge_index_check *check)
{
    if (!check) return;
    sqlite3_finalize(check->cursor);
    kedge_release(check->allocator, check);
}

static kedge_status prepare(kedge_index_check *check, kedge_buffer *sql, sqlite3_stmt **statement,
                            kedge_error *error)
{
    kedge_status status = kedge_buffer_status(sql, error);
    int code = SQLITE_OK;
    if (status == KEDGE_OK)
        code = sqlite3_prepare_v3(check->cache->handle, sql->data, -1, 0, statement, NULL);
    if (code != SQLITE_OK)
        status = kedge_store_db_fail(check->cache, code, "checking an index", error);
    kedge_buffer_free(sql);
    return status;
}

/* For each row of the collection whether the index has its entry. */
static kedge_status open_cursor(kedge_index_check *check, const kedge_declared_index *index,
                                kedge_error *error)
{
    kedge_buffer sql = kedge_buffer_make(check->allocator);
    kedge_buffer_append_format(&sql, "SELECT EXISTS(SELECT 1 FROM item AS found INDEXED BY ");
    kedge_index_name(index->name, &sql);
    kedge_buffer_append_format(&sql,
                               " WHERE found.collection = '%s' AND found.id = item.id"
                               " AND found.checksum = item.checksum AND (",
                               index->collection);
    kedge_index_members(index, "found.", ", ", &sql);
    kedge_buffer_append_format(&sql, ") IS (");
    kedge_index_members(index, "item.", ", ", &sql);
    kedge_buffer_append_format(&sql,
                               ")) FROM item INDEXED BY "
                               "sqlite_autoindex_item_1 WHERE collection = '%s'",
                               index->collection);
    check->rows = 0;
    return prepare(check, &sql, &check->cursor, error);
}

static kedge_status count_entries(kedge_index_check *check, const kedge_declared_index *index,
                                  int64_t *entries, kedge_error *error)
{
    sqlite3_stmt *count = NULL;
    kedge_buffer sql = kedge_buffer_make(check->allocator);
    kedge_buffer_append_format(&sql, "SELECT count(*) FROM item INDEXED BY ");
    kedge_index_name(index->name, &sql);
    kedge_buffer_append_format(&sql, " WHERE collection = '%s'", index->collection);
    kedge_status status = prepare(check, &sql, &count, error);
    if (status == KEDGE_OK) status = kedge_store_db_step(check->cache, count, error);
    if (status == KEDGE_OK) *entries = sqlite3_column_int64(count, 0);
    sqlite3_finalize(count);
    return status;
}

static kedge_status fail(kedge_index_check *check, kedge_error *error)
{
    return kedge_table_fail(check->cache, "a declared index", error);
}

/* Behind the last row of the collection. */
static kedge_status finish(kedge_index_check *check, kedge_error *error)
{
    int64_t entries = 0;
    const kedge_declared_index *index = &check->declared.rows[check->next - 1];
    sqlite3_finalize(check->cursor);
    check->cursor = NULL;
    kedge_status status = count_entries(check, index, &entries, error);
    if (status == KEDGE_OK && entries != check->rows) status = fail(check, error);
    return status;
}

/* One row of the index under way. */
static kedge_status check_row(kedge_index_check *check, kedge_error *error)
{
    kedge_status status = kedge_store_db_step(check->cache, check->cursor, error);
    if (status == KEDGE_DONE) return finish(check, error);
    if (status != KEDGE_OK) return status;
    check->rows++;
    return sqlite3_column_int(check->cursor, 0) == 1 ? KEDGE_OK : fail(check, error);
}

/* Begins with the next index that the cache has: one that was declared just now may not be in the
 * snapshot. */
static kedge_status begin_next(kedge_index_check *check, kedge_error *error)
{
    bool there = false;
    kedge_status status = KEDGE_OK;
    const kedge_declared_index *index = NULL;
    while (status == KEDGE_OK && !there && check->next < check->declared.count) {
        index = &check->declared.rows[check->next++];
        status = kedge_index_is_there(check->allocator, check->cache, index, &there, error);
    }
    if (status != KEDGE_OK) return status;
    return there ? open_cursor(check, index, error) : KEDGE_DONE;
}

kedge_status kedge_index_check_slice(kedge_index_check *check, int rows, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (int i = 0; i < rows && status == KEDGE_OK; i++)
        status = check->cursor ? check_row(check, error) : begin_next(check, error);
    return status;
}
