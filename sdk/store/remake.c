/* Client-only edits that are made again after a conflict.
 *
 * The rejection came into `rejected` as KEDGE_INBOX_CONFLICT, with all that is needed to make the
 * edit again. When the cache covers it, the mutator runs on the state that is now visible, and one
 * transaction of the outbox has both: the new row of `pending`, and the mark in `rejected` that the
 * old one was made again as that row. So after a crash the edit is in one of the two, and never in
 * both. Those that conflict together are made again in the order in which they were made first, in
 * one transaction. They come after all that is pending.
 *
 * An edit that the mutator refuses now, or that this build cannot make again, is shown in the
 * inbox. */
#include "sdk/store/client_only.h"
#include "sdk/store/edit.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"

#include "common/error.h"

/* One row of `rejected`. */
typedef struct conflict {
    int64_t sequence;
    int64_t timestamp_ms;
    kedge_buffer args; /* of the kedge.apply */
} conflict;

/* KEDGE_DONE: there is none after `sequence`. */
static kedge_status next_conflict(kedge_store *store, int64_t behind, conflict *found,
                                  kedge_error *error)
{
    static const char *const sql = "SELECT sequence, timestamp, args, {intact rejected} FROM "
                                   "rejected WHERE state = 4 AND sequence > ?1"
                                   " {least}";
    kedge_store_db *db = &store->outbox;
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "i", behind);
    if (status != KEDGE_OK) return status;
    found->sequence = sqlite3_column_int64(find, 0);
    found->timestamp_ms = sqlite3_column_int64(find, 1);
    bool sound = sqlite3_column_int(find, 3) == 1;
    kedge_buffer_clear(&found->args);
    kedge_buffer_append_bytes(&found->args, kedge_store_column(find, 2));
    sqlite3_reset(find);
    if (!sound) return kedge_outbox_fail_row(db, "rejected", found->sequence, error);
    return kedge_buffer_status(&found->args, error);
}

/* Still predicted: the pull that brought the conflict has not come to its end. */
static kedge_status is_predicted(kedge_store *store, const kedge_cache_meta *cache,
                                 int64_t sequence, bool *predicted, kedge_error *error)
{
    kedge_pending row;
    kedge_status status = kedge_outbox_find(&store->outbox, sequence, &row, error);
    *predicted = status == KEDGE_OK && !kedge_outbox_covers(cache, &row);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

/* `why` NULL: with the reason that it has. */
static kedge_status show(kedge_store *store, int64_t sequence, const kedge_error *why,
                         kedge_error *error)
{
    static const char *const sql = "UPDATE rejected SET state = 0, code = coalesce(?2, code),"
                                   " message = coalesce(?3, message) {at}";
    kedge_store_db *db = &store->outbox;
    sqlite3_stmt *update;
    kedge_status status = kedge_store_db_bind(db, sql, &update, error, "i", sequence);
    if (status != KEDGE_OK) return status;
    if (why) kedge_store_bind_chars(db, update, 2, why->code);
    if (why) kedge_store_bind_chars(db, update, 3, why->message);
    status = kedge_store_db_run(db, update, error);
    return status == KEDGE_OK ? kedge_inbox_seal(store, sequence, error) : status;
}

/* Whether the failure is about the edit, and would come again. */
static bool is_final(kedge_status status)
{
    return status == KEDGE_REJECTED || status == KEDGE_LIMIT_EXCEEDED;
}

/* All of one transaction. */
typedef struct remaking {
    kedge_edit_state state;
    kedge_change_set *changes;
    kedge_buffer made; /* of kedge_undo_remade: those that belong to groups */
    bool done;         /* something is to be committed */
    bool left;         /* some edits cannot be made again yet */
} remaking;

static void end_remaking(kedge_store *store, remaking *all, bool committed)
{
    kedge_undo_remade *made = (kedge_undo_remade *)(void *)all->made.data;
    size_t count = all->made.size / sizeof *made;
    if (committed) kedge_undo_keep_remade(store, made, count);
    for (size_t i = 0; i < count && !committed; i++)
        kedge_undo_group_clear(&made[i].recorded);
    kedge_buffer_free(&all->made);
}

static kedge_status note_made(kedge_store *store, kedge_edit *edit, remaking *all,
                              kedge_error *error)
{
    kedge_undo_remade made = {
        .old_sequence = edit->rejected, .sequence = edit->sequence, .recorded = edit->recorded};
    if (kedge_undo_log_find(&store->undo, edit->rejected) == NULL) return KEDGE_OK;
    kedge_buffer_append(&all->made, &made, sizeof made);
    if (all->made.no_memory) kedge_undo_group_clear(&edit->recorded);
    return kedge_buffer_status(&all->made, error);
}

static kedge_status remake_one(kedge_store *store, const conflict *old, remaking *all,
                               kedge_error *error)
{
    kedge_apply_made made;
    kedge_error why = {0};
    kedge_bytes args = kedge_buffer_bytes(&old->args);
    kedge_bytes name = KEDGE_BYTES(KEDGE_APPLY_MUTATOR);
    if (!kedge_client_only_row(store->registry, name, args, &made))
        return show(store, old->sequence, NULL, error);
    kedge_edit edit = {.name = kedge_bytes_of(made.name),
                       .args = made.args,
                       .rejected = old->sequence,
                       .attempt = made.attempt + 1,
                       .first = made.sequence > 0 ? made.sequence : old->sequence,
                       .timestamp_ms = old->timestamp_ms,
                       .recorded = kedge_undo_group_make(store->allocator),
                       .changes = all->changes};
    kedge_status status = kedge_edit_write(store, &edit, &all->state, &why);
    if (status == KEDGE_OK) return note_made(store, &edit, all, error);
    kedge_undo_group_clear(&edit.recorded);
    if (is_final(status)) return show(store, old->sequence, &why, error);
    return kedge_fail(error, status, why.code, "%s", why.message);
}

static kedge_status remake_all(kedge_store *store, remaking *all, kedge_error *error)
{
    conflict old = {.args = kedge_buffer_make(store->allocator)};
    kedge_status status;
    while ((status = next_conflict(store, old.sequence, &old, error)) == KEDGE_OK) {
        bool predicted = false;
        status = is_predicted(store, &all->state.cache, old.sequence, &predicted, error);
        all->left = all->left || predicted;
        all->done = all->done || !predicted;
        if (status == KEDGE_OK && !predicted) status = remake_one(store, &old, all, error);
        if (status != KEDGE_OK) break;
    }
    kedge_buffer_free(&old.args);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* `*left`: some edits cannot be made again yet. */
static kedge_status remake(kedge_store *store, bool *left, kedge_change_set *changes,
                           kedge_error *error)
{
    remaking all = {.changes = changes, .made = kedge_buffer_make(store->allocator)};
    kedge_changes_clear(changes);
    kedge_status status = kedge_edit_begin(store, &all.state, error);
    if (status == KEDGE_OK) status = remake_all(store, &all, error);
    if (status == KEDGE_OK && all.done) status = kedge_edit_end(store, &all.state, changes, error);
    *left = all.left;
    end_remaking(store, &all, status == KEDGE_OK);
    kedge_store_db_rollback(&store->outbox);
    kedge_store_db_rollback(&store->cache);
    return status;
}

/* Another process may have been killed after the pull that brought a conflict. */
static kedge_status look_for_others(kedge_store *store, kedge_error *error)
{
    int64_t commits = 0; /* a number that changes with those of other connections alone */
    kedge_status status =
        kedge_store_db_number(&store->outbox, "PRAGMA data_version", &commits, error);
    if (status != KEDGE_OK) return status;
    if (commits != store->conflicts_seen) store->conflicts_due = true;
    store->conflicts_seen = commits;
    return KEDGE_OK;
}

static kedge_status remake_due(kedge_store *store, kedge_change_set *changes, kedge_error *error)
{
    static const char *const any = "SELECT count(*) FROM rejected WHERE state = 4";
    bool left = false;
    int64_t count = 0;
    kedge_status status = look_for_others(store, error);
    if (status != KEDGE_OK || !store->conflicts_due) return status;
    status = kedge_store_db_number(&store->outbox, any, &count, error);
    if (status == KEDGE_OK && count > 0) status = remake(store, &left, changes, error);
    if (status == KEDGE_DISK_FULL) {
        kedge_wal_make_room(store);
        status = remake(store, &left, changes, error);
    }
    if (status == KEDGE_OK) store->conflicts_due = left;
    return status;
}

static kedge_status remake_and_tell(kedge_store *store, kedge_change_set *changes,
                                    kedge_error *error)
{
    kedge_change_set made = kedge_change_set_make(store->allocator);
    made.values = changes && changes->values;
    kedge_status status = remake_due(store, &made, error);
    if (status == KEDGE_OK) kedge_changes_merge(changes, &made);
    kedge_change_set_free(&made);
    return status;
}

kedge_status kedge_store_remake(kedge_store *store, kedge_change_set *changes, kedge_error *error)
{
    kedge_status status = remake_and_tell(store, changes, error);
    return status == KEDGE_CORRUPT ? status : KEDGE_OK;
}

static kedge_status catch_up_work(kedge_store *store, void *context, kedge_error *error)
{
    kedge_change_set *changes = context;
    kedge_changes_clear(changes);
    kedge_status status = kedge_prediction_repair(store, false, changes, error);
    if (status != KEDGE_OK) return status;
    kedge_shadow_end(store);
    status = remake_and_tell(store, changes, error);
    /* What was repaired is committed. */
    if (status != KEDGE_OK && changes && (changes->all || changes->count > 0)) store->untold = true;
    return status;
}

kedge_status kedge_store_catch_up(kedge_store *store, kedge_change_set *changes, kedge_error *error)
{
    return kedge_store_take_telling_turn(store, catch_up_work, changes, changes, error);
}
