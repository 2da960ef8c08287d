/* The lists of pending and of rejected mutations. */
#include "sdk/store/client_only.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"

#include "common/error.h"
#include <string.h>

struct kedge_mutation_list {
    kedge_store *store;
    kedge_store_reader *reader;
    sqlite3_stmt *cursor;
    kedge_cache_meta cache;
    kedge_outbox_meta outbox;
    kedge_buffer own; /* name and args of a client-only mutation, each with a NUL after it */
    bool ended;
};

static const char *const PENDING =
    "SELECT sequence, timestamp, name, args, '', '',"
    " (origin_client IS NOT NULL OR withheld OR client <> ?4 OR id <= ?5),"
    " {intact pending}, withheld FROM pending WHERE NOT {covered} UNION ALL SELECT sequence, "
    "timestamp, name, args, '', '', 1,"
    " {intact rejected}, 0 FROM rejected WHERE " KEDGE_INBOX_WAITS " ORDER BY sequence";
static const char *const REJECTED =
    "SELECT sequence, timestamp, name, args, code, message, 1, {intact rejected}, 0 FROM "
    "rejected WHERE " KEDGE_INBOX_SHOWS " ORDER BY sequence";

static kedge_status prepare(kedge_mutation_list *list, const char *sql, kedge_error *error)
{
    kedge_store_db *db = &list->reader->outbox;
    kedge_status status = kedge_reader_begin(list->store, list->reader, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(db, &list->outbox, error);
    if (status == KEDGE_OK)
        status = kedge_cache_meta_read(&list->reader->cache, &list->cache, error);
    if (status == KEDGE_OK) status = kedge_store_db_take(db, sql, &list->cursor, error);
    if (status != KEDGE_OK) return status;
    kedge_prediction_doubt(&list->outbox, &list->cache);
    kedge_store_bind_chars(db, list->cursor, 1, list->cache.client);
    kedge_store_bind_integer(db, list->cursor, 2, list->cache.lmid);
    kedge_store_bind_integer(db, list->cursor, 3, list->cache.version);
    if (sql == PENDING) {
        kedge_store_bind_chars(db, list->cursor, 4, list->outbox.client);
        kedge_store_bind_integer(db, list->cursor, 5, list->outbox.sent_through);
    }
    return KEDGE_OK;
}

/* Checks all rows of the list first, so that damaged rows are set aside before the app sees any
 * row. */
static kedge_status check_rows(kedge_mutation_list *list, const char *sql, kedge_error *error)
{
    kedge_store_db *db = &list->reader->outbox;
    kedge_status status;
    while ((status = kedge_store_db_step(db, list->cursor, error)) == KEDGE_OK) {
        int64_t sequence = sqlite3_column_int64(list->cursor, 0);
        if (sqlite3_column_int(list->cursor, 7) != 1)
            return kedge_outbox_fail_row(db, sql == PENDING ? "pending" : "rejected", sequence,
                                         error);
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status open_once(kedge_store *store, const char *sql, kedge_mutation_list **list,
                              bool *again, kedge_error *error)
{
    kedge_mutation_list *made = kedge_allocate(store->allocator, sizeof *made);
    *again = false;
    if (!made) return kedge_fail_no_memory(error);
    made->store = store;
    made->own = kedge_buffer_make(store->allocator);
    kedge_status status = kedge_reader_take(store, &made->reader, error);
    if (status == KEDGE_OK) status = prepare(made, sql, error);
    if (status == KEDGE_OK) status = check_rows(made, sql, error);
    if (status == KEDGE_OK) {
        *list = made;
        return KEDGE_OK;
    }
    if (made->reader && status == KEDGE_CORRUPT) {
        kedge_reader_end(made->reader);
        *again = kedge_reader_heal(store, made->reader, error);
    }
    kedge_store_list_close(made);
    return status;
}

static kedge_status open_list(kedge_store *store, const char *sql, kedge_mutation_list **list,
                              kedge_error *error)
{
    bool again;
    kedge_status status = open_once(store, sql, list, &again, error);
    if (again) status = open_once(store, sql, list, &again, error);
    return status;
}

kedge_status kedge_store_pending_open(kedge_store *store, kedge_mutation_list **list,
                                      kedge_error *error)
{
    return open_list(store, PENDING, list, error);
}

kedge_status kedge_store_rejected_open(kedge_store *store, kedge_mutation_list **list,
                                       kedge_error *error)
{
    return open_list(store, REJECTED, list, error);
}

/* NULL means no memory, since no column of a list is null. */
static const char *text_of(sqlite3_stmt *cursor, int column)
{
    return (const char *)sqlite3_column_text(cursor, column);
}

/* The sequence of the first attempt, if it leads to this row: damage may have taken the row of that
 * attempt, and the app has to find what is listed. */
static kedge_status number_own(kedge_mutation_list *list, kedge_mutation *row, kedge_error *error)
{
    static const char *const leads = "SELECT 1 FROM rejected {at} AND state = 5"
                                     " AND CAST(args AS INTEGER) = ?2";
    kedge_store_db *db = &list->reader->outbox;
    int64_t found;
    int64_t first = kedge_client_only_sequence(
        kedge_bytes_of(row->name), (kedge_bytes){row->args, row->args_size}, row->sequence);
    if (first == row->sequence) return KEDGE_OK;
    kedge_status status =
        kedge_store_db_find_number(db, leads, &found, error, "ii", first, row->sequence);
    if (found) row->sequence = first;
    return status;
}

/* A client-only mutation is listed as what the app has called. */
static kedge_status name_own(kedge_mutation_list *list, kedge_mutation *row, kedge_error *error)
{
    bool valid;
    kedge_apply_made made;
    if (strcmp(row->name, KEDGE_APPLY_MUTATOR) != 0 ||
        !kedge_apply_read_made((kedge_bytes){row->args, row->args_size}, &made, &valid))
        return KEDGE_OK;
    kedge_buffer_clear(&list->own);
    kedge_buffer_append_text(&list->own, made.name);
    kedge_buffer_append_byte(&list->own, '\0');
    kedge_buffer_append_bytes(&list->own, made.args);
    kedge_status status = kedge_buffer_status(&list->own, error);
    if (status != KEDGE_OK) return status;
    row->name = list->own.data;
    row->args = list->own.data + strlen(made.name) + 1;
    row->args_size = made.args.size;
    return KEDGE_OK;
}

kedge_status kedge_store_list_next(kedge_mutation_list *list, kedge_mutation *mutation,
                                   kedge_error *error)
{
    if (list->ended) return KEDGE_DONE;
    kedge_status status = kedge_store_db_step(&list->reader->outbox, list->cursor, error);
    list->ended = status != KEDGE_OK;
    if (status != KEDGE_OK) return status;
    kedge_mutation row = {.sequence = sqlite3_column_int64(list->cursor, 0),
                          .timestamp_ms = sqlite3_column_int64(list->cursor, 1),
                          .sent = sqlite3_column_int(list->cursor, 6) != 0,
                          .withheld = sqlite3_column_int(list->cursor, 8) != 0,
                          .name = text_of(list->cursor, 2),
                          .args = text_of(list->cursor, 3),
                          .args_size = (size_t)sqlite3_column_bytes(list->cursor, 3),
                          .code = text_of(list->cursor, 4),
                          .message = text_of(list->cursor, 5)};
    list->ended = true;
    if (!row.name || !row.args || !row.code || !row.message) return kedge_fail_no_memory(error);
    status = number_own(list, &row, error);
    if (status == KEDGE_OK) status = name_own(list, &row, error);
    list->ended = status != KEDGE_OK;
    if (status == KEDGE_OK) *mutation = row;
    return status;
}

void kedge_store_list_close(kedge_mutation_list *list)
{
    if (!list) return;
    kedge_buffer_free(&list->own);
    if (list->reader) kedge_reader_give(list->store, list->reader);
    kedge_release(list->store->allocator, list);
}
