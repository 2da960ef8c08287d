/* What other processes that have the folder open are told of a commit: the cache's table `change`.
 * Their footprints follow it, too (footprint_follow.c): so an edit has a row even when it changes
 * nothing.
 *
 * A row is written in the transaction of the commit itself, and only while another process is
 * there. `number` rises by one a row. `changes` is the commit's set, or NULL when it is too large
 * to be kept here. The newest KEDGE_STORE_LOG_ROWS rows stay.
 *
 * Each store remembers the number up to which it has told its own observer. It tells what is after
 * that in a turn: before it commits itself, and when it is asked to look. So all processes tell all
 * commits in one order. Where a number is missing, where `changes` is NULL, and where a row is not
 * what was written, any key may have changed.
 *
 * A process that is alone writes nothing. One that opens the folder first shows that it is there,
 * and then takes a turn: who commits after that turn knows of it. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"
#include <string.h>

static bool is_off(const kedge_store *store)
{
    return !store->observer.changed;
}

static void tell(kedge_store *store, const kedge_change_set *changes)
{
    store->observer.changed(store->observer.context, changes);
}

void kedge_change_log_tell_all(kedge_store *store)
{
    kedge_change_set all = {.all = true};
    if (!is_off(store)) tell(store, &all);
}

/* ---- reading ---- */

/* A turn that did not follow the log may have seen commits that are still to be told. */
void kedge_change_log_end_turn(kedge_store *store)
{
    if (store->log_followed && store->cache.handle)
        (void)kedge_store_db_version(&store->cache, &store->log_version);
    store->log_followed = false;
}

kedge_status kedge_change_log_begin(kedge_store *store, kedge_error *error)
{
    if (is_off(store)) return KEDGE_OK;
    store->log_followed = true;
    if (store->log_writer == 0)
        store->environment->random(store->environment->context, (char *)&store->log_writer,
                                   sizeof store->log_writer);
    kedge_status status = kedge_store_db_number(&store->cache, "{newest}", &store->log_told, error);
    store->log_last = store->log_told;
    return status;
}

/* Returns false when the row does not hold a list of changes. */
static bool read_row(kedge_store *store, sqlite3_stmt *row, kedge_change_set *changes)
{
    kedge_changed change;
    size_t offset = 0;
    bool pulled = sqlite3_column_int(row, 2) == KEDGE_CHANGED_BY_PULL;
    *changes = kedge_change_set_make(store->allocator);
    changes->by = pulled ? KEDGE_CHANGED_BY_PULL : KEDGE_CHANGED_BY_OTHERS;
    changes->values = true;
    if (sqlite3_column_type(row, 3) != SQLITE_BLOB || sqlite3_column_int(row, 4) != 1) return false;
    kedge_buffer_append_bytes(&changes->bytes, kedge_store_column(row, 3));
    if (changes->bytes.no_memory) return false;
    while (kedge_change_set_next(changes, &offset, &change))
        changes->count++;
    return offset == changes->bytes.size;
}

static void tell_row(kedge_store *store, sqlite3_stmt *row)
{
    kedge_change_set changes;
    int64_t number = sqlite3_column_int64(row, 0);
    bool next = number == store->log_told + 1;
    store->log_told = number;
    if (!next) kedge_change_log_tell_all(store);
    if (sqlite3_column_int64(row, 1) == store->log_writer) return;
    if (read_row(store, row, &changes))
        tell(store, &changes);
    else
        kedge_change_log_tell_all(store);
    kedge_change_set_free(&changes);
}

kedge_status kedge_change_log_follow(kedge_store *store, kedge_error *error)
{
    static const char *const sql = "{changes}";
    sqlite3_stmt *rows;
    kedge_status status =
        kedge_store_db_bind(&store->cache, sql, &rows, error, "i", store->log_told);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(&store->cache, rows, error)) == KEDGE_OK)
        tell_row(store, rows);
    store->log_followed = status == KEDGE_DONE;
    store->log_last = store->log_told;
    return store->log_followed ? KEDGE_OK : status;
}

kedge_status kedge_change_log_before(kedge_store *store, int64_t number, int64_t count,
                                     kedge_overlay *before, kedge_error *error)
{
    static const char *const sql = "{changes} DESC";
    sqlite3_stmt *rows;
    kedge_change_set changes;
    bool listed = true;
    kedge_status status = kedge_store_db_bind(&store->cache, sql, &rows, error, "i", number);
    while (status == KEDGE_OK && listed) {
        status = kedge_store_db_step(&store->cache, rows, error);
        if (status != KEDGE_OK) break;
        listed = sqlite3_column_int64(rows, 0) == number + count--;
        listed =
            read_row(store, rows, &changes) && kedge_changes_before(&changes, before) && listed;
        kedge_change_set_free(&changes);
    }
    sqlite3_reset(rows);
    if (status == KEDGE_OK) return KEDGE_DONE;
    return status == KEDGE_DONE && count == 0 ? KEDGE_OK : status;
}

/* ---- writing ---- */

static kedge_status insert(kedge_store *store, const kedge_change_set *changes, kedge_changed_by by,
                           kedge_error *error)
{
    static const char *const sql =
        "INSERT INTO change SELECT number, ?1, ?2, ?3, kedge_checksum(" KEDGE_SQL_NUMBER(
            KEDGE_ROW_CHANGE) ", number, ?1, ?2, ?3)"
                              " FROM (SELECT ifnull(max(number), 0) + 1 AS number FROM change)";
    kedge_store_db *db = &store->cache;
    sqlite3_stmt *statement;
    kedge_status status = kedge_store_db_take(db, sql, &statement, error);
    if (status != KEDGE_OK) return status;
    bool listed =
        changes && !changes->all && changes->values && changes->bytes.size <= KEDGE_STORE_LOG_BYTES;
    kedge_store_bind_integer(db, statement, 1, store->log_writer);
    kedge_store_bind_integer(db, statement, 2, by);
    size_t size = listed ? changes->bytes.size : 0;
    if (listed) kedge_store_bind_blob(db, statement, 3, size > 0 ? changes->bytes.data : "", size);
    return kedge_store_db_run(db, statement, error);
}

/* Since the log was followed. */
static bool others_wrote(const kedge_store *store)
{
    unsigned version = 0;
    return !kedge_store_db_version(&store->cache, &version) || version != store->log_version;
}

kedge_status kedge_change_log_write(kedge_store *store, const kedge_change_set *changes,
                                    kedge_changed_by by, kedge_error *error)
{
    static const char *const trim =
        "DELETE FROM change WHERE number <= ({newest}) - " KEDGE_SQL_NUMBER(KEDGE_STORE_LOG_ROWS);
    kedge_store_db *db = &store->cache;
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(db));
    if (is_off(store) || db->rehearsing) return KEDGE_OK;
    kedge_status status = KEDGE_OK;
    if (store->in_company || others_wrote(store)) status = kedge_change_log_follow(store, error);
    store->log_followed = status == KEDGE_OK;
    bool nothing = by == KEDGE_CHANGED_BY_PULL && changes && !changes->all && changes->count == 0;
    if (status != KEDGE_OK || nothing || !store->in_company) return status;
    store->log_last++;
    status = insert(store, changes, by, error);
    return status == KEDGE_OK ? kedge_store_db_change(db, trim, error, "") : status;
}
