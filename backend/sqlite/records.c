/* The records port in SQLite: one table, in the order of its keys (records_tables.c). */
#include "backend/sqlite/records_internal.h"
#include "backend/sqlite/records_tables.h"
#include "backend/sqlite/sqlite_ports.h"
#include "common/error.h"

/* ---- reading ---- */

static void bind_key(sqlite3_stmt *statement, const kedge_record_key *key)
{
    kedge_sqlite_bind(statement, 1, key->partition);
    kedge_sqlite_bind(statement, 2, key->sort);
}

static kedge_status read_one(kedge_sqlite_connection *connection, const kedge_record_key *key,
                             kedge_record_page *page, kedge_error *error)
{
    sqlite3_stmt *select;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_RECORDS_SELECT_ONE, &select, error);
    if (status != KEDGE_OK) return status;
    bind_key(select, key);
    status = kedge_sqlite_step(connection, select, error);
    if (status == KEDGE_OK) {
        kedge_bytes attributes = kedge_sqlite_column(select, 0);
        status = kedge_sqlite_columns_check(connection, error);
        if (status == KEDGE_OK) status = kedge_record_page_add(page, key, attributes, error);
    }
    kedge_sqlite_reset(select);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status read_keys(kedge_sqlite_records *self, const kedge_record_key *keys,
                              size_t count, kedge_record_page *page, kedge_error *error)
{
    kedge_sqlite_connection *connection = kedge_sqlite_readers_take(&self->readers);
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++)
        status = read_one(connection, &keys[i], page, error);
    kedge_sqlite_readers_give(&self->readers, connection);
    return status;
}

/* Every read is consistent here: it sees each commit that returned before it started. */
static kedge_status records_get(void *context, const kedge_record_key *key, bool consistent,
                                kedge_record_set *set, kedge_error *error)
{
    (void)consistent;
    kedge_sqlite_records *self = context;
    kedge_record_page page = {.allocator = self->environment->allocator};
    kedge_status status = kedge_record_key_check(key, error);
    if (status != KEDGE_OK) return status;
    status = read_keys(self, key, 1, &page, error);
    if (status == KEDGE_OK && page.count == 0)
        status = kedge_fail(error, KEDGE_NOT_FOUND, "record-not-found",
                            "there is no record under the sort key %.*s", (int)key->sort.size,
                            key->sort.data);
    if (status == KEDGE_OK) kedge_record_page_finish(&page, false, set);
    kedge_record_page_free(&page);
    return status;
}

static kedge_status records_batch_get(void *context, const kedge_record_key *keys, size_t count,
                                      bool consistent, kedge_record_set *set, kedge_error *error)
{
    (void)consistent;
    kedge_sqlite_records *self = context;
    kedge_record_page page = {.allocator = self->environment->allocator};
    kedge_status status = kedge_records_batch_check(keys, count, error);
    if (status != KEDGE_OK) return status;
    status = read_keys(self, keys, count, &page, error);
    if (status == KEDGE_OK) kedge_record_page_finish(&page, false, set);
    kedge_record_page_free(&page);
    return status;
}

static kedge_status fill_page(kedge_sqlite_connection *connection, sqlite3_stmt *select,
                              const kedge_records_query *query, kedge_record_page *page, bool *more,
                              kedge_error *error)
{
    kedge_status status;
    while ((status = kedge_sqlite_step(connection, select, error)) == KEDGE_OK) {
        if (page->count == query->limit || page->bytes >= KEDGE_RECORDS_PAGE_BYTES) {
            *more = true;
            return KEDGE_OK;
        }
        kedge_record_key key = {kedge_sqlite_column(select, 0), kedge_sqlite_column(select, 1)};
        kedge_bytes attributes = kedge_sqlite_column(select, 2);
        status = kedge_sqlite_columns_check(connection, error);
        if (status == KEDGE_OK) status = kedge_record_page_add(page, &key, attributes, error);
        if (status != KEDGE_OK) return status;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status run_query(kedge_sqlite_connection *connection, const kedge_records_query *query,
                              kedge_record_page *page, bool *more, kedge_error *error)
{
    static const kedge_sqlite_records_statement chosen[2][2] = {
        {KEDGE_RECORDS_QUERY_UP, KEDGE_RECORDS_QUERY_DOWN},
        {KEDGE_RECORDS_QUERY_INVERTED_UP, KEDGE_RECORDS_QUERY_INVERTED_DOWN}};
    kedge_records_range range;
    kedge_records_range_make(query, &range);
    sqlite3_stmt *select;
    kedge_status status = kedge_sqlite_statement(
        connection, chosen[query->inverted][query->descending], &select, error);
    if (status != KEDGE_OK) return status;
    if (query->inverted)
        sqlite3_bind_text64(select, 1, query->partition.data, query->partition.size, SQLITE_STATIC,
                            SQLITE_UTF8);
    else
        kedge_sqlite_bind(select, 1, query->partition);
    kedge_sqlite_bind(select, 2, range.lower);
    kedge_sqlite_bind(select, 3, range.upper);
    sqlite3_bind_int64(select, 4, (int64_t)query->limit + 1);
    status = fill_page(connection, select, query, page, more, error);
    kedge_sqlite_reset(select);
    return status;
}

static kedge_status records_query(void *context, const kedge_records_query *query,
                                  kedge_record_set *set, kedge_error *error)
{
    kedge_sqlite_records *self = context;
    kedge_record_page page = {.allocator = self->environment->allocator};
    bool more = false;
    kedge_status status = kedge_records_query_check(query, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_connection *connection = kedge_sqlite_readers_take(&self->readers);
    status = run_query(connection, query, &page, &more, error);
    kedge_sqlite_readers_give(&self->readers, connection);
    if (status == KEDGE_OK) kedge_record_page_finish(&page, more, set);
    kedge_record_page_free(&page);
    return status;
}

/* ---- writing ---- */

/* The writes of one call. The calling thread encodes them before it waits for the writer. */
typedef struct writes_work {
    const kedge_record_write *writes;
    size_t count;
    kedge_bytes encoded[KEDGE_TRANSACT_WRITES_MAX];
    kedge_buffer memory;
    int64_t now_ms;
} writes_work;

static kedge_status encode_all(writes_work *work, kedge_error *error)
{
    size_t ends[KEDGE_TRANSACT_WRITES_MAX];
    for (size_t i = 0; i < work->count; i++) {
        if (work->writes[i].kind == KEDGE_WRITE_PUT)
            kedge_record_encode(&work->writes[i].record, &work->memory);
        ends[i] = work->memory.size;
    }
    kedge_status status = kedge_buffer_status(&work->memory, error);
    if (status != KEDGE_OK) return status;
    for (size_t i = 0, start = 0; i < work->count; start = ends[i++]) {
        if (ends[i] > start)
            work->encoded[i] = (kedge_bytes){work->memory.data + start, ends[i] - start};
    }
    return KEDGE_OK;
}

static kedge_status check_condition(kedge_sqlite_connection *connection,
                                    const kedge_record_write *write, kedge_error *error)
{
    if (write->condition == KEDGE_IF_ANY) return KEDGE_OK;
    sqlite3_stmt *select;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_RECORDS_SELECT_ONE, &select, error);
    if (status != KEDGE_OK) return status;
    bind_key(select, &write->record.key);
    status = kedge_sqlite_step(connection, select, error);
    if (status == KEDGE_OK || status == KEDGE_DONE) {
        bool exists = status == KEDGE_OK;
        kedge_bytes stored = {0};
        if (exists && write->condition == KEDGE_IF_EQUAL) stored = kedge_sqlite_column(select, 0);
        status = exists ? kedge_sqlite_columns_check(connection, error) : KEDGE_OK;
        if (status == KEDGE_OK) status = kedge_record_condition_check(write, exists, stored, error);
    }
    kedge_sqlite_reset(select);
    return status;
}

static kedge_status apply(kedge_sqlite_connection *connection, const kedge_record_write *write,
                          kedge_bytes encoded, int64_t now_ms, kedge_error *error)
{
    if (write->kind == KEDGE_WRITE_CHECK) return KEDGE_OK;
    sqlite3_stmt *change;
    bool put = write->kind == KEDGE_WRITE_PUT;
    kedge_status status = kedge_sqlite_change_note(connection, write, encoded, now_ms, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(
            connection, put ? KEDGE_RECORDS_PUT_ONE : KEDGE_RECORDS_DELETE_ONE, &change, error);
    if (status != KEDGE_OK) return status;
    bind_key(change, &write->record.key);
    if (put) {
        kedge_bytes inverted = kedge_record_inverted(&write->record);
        kedge_sqlite_bind(change, 3, encoded);
        if (inverted.size > 0)
            sqlite3_bind_text64(change, 4, inverted.data, inverted.size, SQLITE_STATIC,
                                SQLITE_UTF8);
    }
    return kedge_sqlite_run(connection, change, error);
}

static kedge_status write_all(kedge_sqlite_connection *connection, void *argument,
                              kedge_error *error)
{
    writes_work *work = argument;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->count && status == KEDGE_OK; i++)
        status = check_condition(connection, &work->writes[i], error);
    for (size_t i = 0; i < work->count && status == KEDGE_OK; i++)
        status = apply(connection, &work->writes[i], work->encoded[i], work->now_ms, error);
    return status;
}

static kedge_status submit(kedge_sqlite_records *self, const kedge_record_write *writes,
                           size_t count, kedge_error *error)
{
    const kedge_environment *environment = self->environment;
    writes_work work = {.writes = writes,
                        .count = count,
                        .now_ms = environment->now_ms(environment->context),
                        .memory = kedge_buffer_make(self->environment->allocator)};
    kedge_status status = encode_all(&work, error);
    if (status == KEDGE_OK) status = kedge_sqlite_write(&self->writer, write_all, &work, error);
    kedge_buffer_free(&work.memory);
    return status;
}

static kedge_status records_write(void *context, const kedge_record_write *write,
                                  kedge_error *error)
{
    kedge_status status = kedge_record_write_check(write, error);
    return status == KEDGE_OK ? submit(context, write, 1, error) : status;
}

static kedge_status records_transact(void *context, const kedge_record_write *writes, size_t count,
                                     kedge_error *error)
{
    kedge_status status = kedge_records_transact_check(writes, count, error);
    return status == KEDGE_OK && count > 0 ? submit(context, writes, count, error) : status;
}

/* ---- opening ---- */

static void records_close(void *context)
{
    kedge_sqlite_records *self = context;
    kedge_sqlite_readers_close(&self->readers);
    kedge_sqlite_writer_close(&self->writer);
    kedge_release(self->environment->allocator, self->path);
    kedge_release(self->environment->allocator, self);
}

static const kedge_records_vtable vtable = {.get = records_get,
                                            .batch_get = records_batch_get,
                                            .query = records_query,
                                            .write = records_write,
                                            .transact = records_transact,
                                            .close = records_close};

kedge_status kedge_sqlite_records_open(const kedge_environment *environment, const char *path,
                                       kedge_records *records, kedge_error *error)
{
    const kedge_allocator *allocator = environment->allocator;
    kedge_sqlite_records *self = kedge_allocate(allocator, sizeof *self);
    char *path_copy = kedge_copy_text(allocator, kedge_bytes_of(path));
    kedge_status status = KEDGE_OK;
    if (self == NULL || path_copy == NULL) status = kedge_fail_no_memory(error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_writer_open(&self->writer, path_copy, &kedge_records_kind, error);
    if (status == KEDGE_OK) {
        status = kedge_sqlite_readers_open(&self->readers, path_copy, &kedge_records_kind, error);
        if (status != KEDGE_OK) kedge_sqlite_writer_close(&self->writer);
    }
    if (status != KEDGE_OK) {
        kedge_release(allocator, path_copy);
        kedge_release(allocator, self);
        return status;
    }
    self->environment = environment;
    self->path = path_copy;
    self->writer.readers = &self->readers;
    *records = (kedge_records){&vtable, self};
    return KEDGE_OK;
}
