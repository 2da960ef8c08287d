/* The inbox of rejected mutations.
 *
 * A row of the inbox is listed when its mutation is no longer predicted: when the cache covers it,
 * or when it is no longer pending. Until then the mutation is listed only as pending. A damaged
 * mutation is listed at once, since a no-op has replaced it among the pending ones. */
#include "sdk/store/client_only.h"
#include "sdk/store/outbox_rows.h"

#include "common/error.h"

static kedge_status not_in_inbox(int64_t sequence, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "mutation-not-rejected",
                      "mutation %lld is not in the inbox of rejected ones", (long long)sequence);
}

/* Is the mutation still predicted? */
static kedge_status is_pending(kedge_store *store, int64_t sequence, bool *pending,
                               kedge_error *error)
{
    kedge_cache_meta cache;
    kedge_pending row;
    kedge_status status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status == KEDGE_OK) status = kedge_outbox_find(&store->outbox, sequence, &row, error);
    *pending = status == KEDGE_OK && !kedge_outbox_covers(&cache, &row);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

/* Reads the row of kedge_inbox_find. */
static kedge_status check_resubmit(kedge_store *store, sqlite3_stmt *find, int64_t sequence,
                                   bool pending, kedge_error *error)
{
    bool damaged = sqlite3_column_int(find, 2) == KEDGE_INBOX_DAMAGED;
    bool sound = sqlite3_column_int(find, 3) == 1;
    if (!sound) return kedge_outbox_fail_row(&store->outbox, "rejected", sequence, error);
    if (damaged)
        return kedge_fail(error, KEDGE_CONFLICT, "mutation-damaged",
                          "mutation %lld was damaged on the disk, and what is left of it may not be"
                          " what was meant; sync and look whether the server has it, make the edit"
                          " anew if not, and dismiss this one",
                          (long long)sequence);
    return pending ? not_in_inbox(sequence, error) : KEDGE_OK;
}

/* What is made again of a client-only edit is that edit, and not what it had read and written. */
static void copy_call(const kedge_store *store, kedge_bytes row_name, kedge_bytes row_args,
                      kedge_buffer *name, kedge_buffer *args)
{
    kedge_apply_made made;
    bool own = kedge_client_only_row(store->registry, row_name, row_args, &made);
    kedge_buffer_append_bytes(name, own ? kedge_bytes_of(made.name) : row_name);
    kedge_buffer_append_bytes(args, own ? made.args : row_args);
}

kedge_status kedge_inbox_find(kedge_store *store, int64_t sequence, kedge_buffer *name,
                              kedge_buffer *args, kedge_error *error)
{
    static const char *const sql = "SELECT name, args, state, {intact rejected} FROM rejected "
                                   "{at} AND state IN (0, 3)";
    sqlite3_stmt *find;
    bool pending;
    kedge_status status = is_pending(store, sequence, &pending, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_find(&store->outbox, sql, &find, error, "i", sequence);
    if (status == KEDGE_DONE) return not_in_inbox(sequence, error);
    if (status != KEDGE_OK) return status;
    status = check_resubmit(store, find, sequence, pending, error);
    if (status != KEDGE_OK) return status;
    copy_call(store, kedge_store_column(find, 0), kedge_store_column(find, 1), name, args);
    sqlite3_reset(find);
    status = kedge_buffer_status(name, error);
    return status == KEDGE_OK ? kedge_buffer_status(args, error) : status;
}

kedge_status kedge_inbox_seal(kedge_store *store, int64_t sequence, kedge_error *error)
{
    static const char *const sql = "UPDATE rejected SET checksum = {rejected#} {at}";
    kedge_store_db *db = &store->outbox;
    return kedge_store_db_change(db, sql, error, "i", sequence);
}

kedge_status kedge_inbox_set_state(kedge_store *store, int64_t sequence, int state,
                                   kedge_error *error)
{
    static const char *const sql = "UPDATE rejected SET state = ?2, args = '' {at}";
    kedge_store_db *db = &store->outbox;
    kedge_status status = kedge_store_db_change(db, sql, error, "ii", sequence, (int64_t)state);
    return status == KEDGE_OK ? kedge_inbox_seal(store, sequence, error) : status;
}

/* ---- a client-only edit under the number of its first attempt ---- */

static kedge_status lead_to(kedge_store *store, int64_t row, int64_t sequence, kedge_error *error)
{
    static const char *const sql = "UPDATE rejected SET state = 5, args = CAST(?2 AS TEXT) {at}";
    kedge_store_db *db = &store->outbox;
    kedge_status status = kedge_store_db_change(db, sql, error, "ii", row, sequence);
    return status == KEDGE_OK ? kedge_inbox_seal(store, row, error) : status;
}

/* The row of the first attempt may be gone with its age, or be another one after a repair. */
static kedge_status is_remade(kedge_store_db *db, int64_t row, bool *remade, kedge_error *error)
{
    int64_t led = row;
    kedge_status status = kedge_inbox_follow(db, &led, error);
    *remade = led != row;
    return status;
}

kedge_status kedge_inbox_set_remade(kedge_store *store, int64_t row, int64_t first,
                                    int64_t sequence, kedge_error *error)
{
    bool remade = false;
    kedge_status status = lead_to(store, row, sequence, error);
    if (status == KEDGE_OK && first != row)
        status = is_remade(&store->outbox, first, &remade, error);
    if (status == KEDGE_OK && remade) status = lead_to(store, first, sequence, error);
    return status;
}

kedge_status kedge_inbox_follow(kedge_store_db *db, int64_t *sequence, kedge_error *error)
{
    static const char *const sql = "SELECT CAST(args AS INTEGER), {intact rejected} FROM rejected "
                                   "{at} AND state = 5";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "i", *sequence);
    if (status != KEDGE_OK) return status == KEDGE_DONE ? KEDGE_OK : status;
    int64_t found = sqlite3_column_int64(find, 0), row = *sequence;
    bool sound = sqlite3_column_int(find, 1) == 1;
    sqlite3_reset(find);
    if (!sound) return kedge_outbox_fail_row(db, "rejected", row, error);
    *sequence = found;
    return KEDGE_OK;
}

/* ---- dismissing ---- */

/* Whether the row is listed. A damaged row is healed first. */
static kedge_status is_shown(kedge_store *store, int64_t sequence, bool *shown, kedge_error *error)
{
    static const char *const sql = "SELECT state, {intact rejected} FROM rejected {at}";
    sqlite3_stmt *find;
    bool pending;
    *shown = false;
    kedge_status status = is_pending(store, sequence, &pending, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_find(&store->outbox, sql, &find, error, "i", sequence);
    if (status != KEDGE_OK) return status == KEDGE_DONE ? KEDGE_OK : status;
    int state = sqlite3_column_int(find, 0);
    bool sound = sqlite3_column_int(find, 1) == 1;
    sqlite3_reset(find);
    if (!sound) return kedge_outbox_fail_row(&store->outbox, "rejected", sequence, error);
    *shown = state == KEDGE_INBOX_DAMAGED || (state == KEDGE_INBOX_SHOWN && !pending);
    return KEDGE_OK;
}

static kedge_status dismiss_row(kedge_store *store, int64_t sequence, bool *shown,
                                kedge_error *error)
{
    kedge_status status = is_shown(store, sequence, shown, error);
    if (status == KEDGE_OK && *shown)
        status = kedge_inbox_set_state(store, sequence, KEDGE_INBOX_DISMISSED, error);
    return status;
}

static kedge_status dismiss_work(kedge_store *store, void *context, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    int64_t sequence = *(const int64_t *)context;
    bool shown = false;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = kedge_inbox_follow(db, &sequence, error);
    if (status == KEDGE_OK) status = dismiss_row(store, sequence, &shown, error);
    if (status == KEDGE_OK && !shown) status = not_in_inbox(sequence, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(db, error);
    return status;
}

kedge_status kedge_store_dismiss(kedge_store *store, int64_t sequence, kedge_error *error)
{
    return kedge_store_take_turn(store, dismiss_work, &sequence, error);
}

/* Rows are dismissed in the order of the list. */
typedef struct dismissal {
    int64_t after;   /* 0: none was looked at yet */
    int64_t through; /* as the app has named it, until the first row is looked for */
    size_t dismissed;
    bool more;
} dismissal;

/* The row that is listed under the number of its first attempt stands in the list by its own. An
 * entry that comes later is not dismissed, whatever the app has named. */
static kedge_status find_end(kedge_store *store, int64_t *through, kedge_error *error)
{
    static const char *const sql =
        "SELECT coalesce(max(sequence), 0) FROM rejected WHERE sequence <= ?1";
    int64_t led = *through;
    bool shown = false;
    kedge_status status = kedge_inbox_follow(&store->outbox, &led, error);
    if (status == KEDGE_OK && led != *through) status = is_shown(store, led, &shown, error);
    if (status != KEDGE_OK) return status;
    return kedge_store_db_find_number(&store->outbox, sql, through, error, "i",
                                      shown ? led : *through);
}

/* Returns KEDGE_DONE after the last row. */
static kedge_status dismiss_next(kedge_store *store, dismissal *at, kedge_error *error)
{
    static const char *const sql = "SELECT sequence FROM rejected WHERE sequence > ?1 AND"
                                   " sequence <= ?2 AND state IN (0, 3) {least}";
    sqlite3_stmt *find;
    bool shown;
    kedge_status status =
        kedge_store_db_find(&store->outbox, sql, &find, error, "ii", at->after, at->through);
    if (status != KEDGE_OK) return status;
    at->after = sqlite3_column_int64(find, 0);
    sqlite3_reset(find);
    status = dismiss_row(store, at->after, &shown, error);
    if (status == KEDGE_OK && shown) at->dismissed++;
    return status;
}

/* A turn may be repeated, and so starts from what the last commit has left. */
static kedge_status dismiss_some(kedge_store *store, void *context, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    dismissal *committed = context;
    dismissal at = *committed;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK && at.after == 0) status = find_end(store, &at.through, error);
    for (int i = 0; i < KEDGE_STORE_DISMISS_ROWS && status == KEDGE_OK; i++)
        status = dismiss_next(store, &at, error);
    at.more = status == KEDGE_OK;
    if (status == KEDGE_DONE) status = KEDGE_OK;
    if (status == KEDGE_OK) status = kedge_wal_commit(db, error);
    if (status == KEDGE_OK) *committed = at;
    return status;
}

kedge_status kedge_store_dismiss_through(kedge_store *store, int64_t sequence, size_t *dismissed,
                                         kedge_error *error)
{
    dismissal at = {.through = sequence, .more = true};
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && at.more) {
        status = kedge_store_take_turn(store, dismiss_some, &at, error);
        if (status == KEDGE_OK && at.more) kedge_store_give_way(store);
    }
    *dismissed = at.dismissed;
    return status;
}
