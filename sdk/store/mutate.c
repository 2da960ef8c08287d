/* Making an edit. The order, in one turn:
 *
 *   BEGIN IMMEDIATE on the cache → the mutator runs in memory → its rows are written to the cache
 *   → the mutation is written to the outbox → COMMIT of the outbox: the durable point, one fsync
 *   → COMMIT of the cache.
 *
 * When the mutator refuses, nothing is written. When the cache's commit fails after the outbox's,
 * the edit is made nevertheless, and reads show it (shadow.c). The revisions then differ, and the
 * prediction is rebuilt as soon as possible. */
#include "sdk/store/client_only.h"
#include "sdk/store/edit.h"
#include "sdk/store/index.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include <string.h>

/* The cache's commit failed after the outbox's. The edit's change set already has the changed
 * keys. */
static kedge_status follow_late(kedge_store *store)
{
    bool untold = store->untold;
    kedge_wal_make_room(store);
    kedge_status status = kedge_prediction_repair(store, false, NULL, NULL);
    store->untold = untold;
    return status;
}

static void mark(kedge_store *store, const kedge_outbox_meta *outbox, const kedge_cache_meta *cache)
{
    store->edited_outbox = *outbox;
    store->edited_cache = *cache;
    kedge_store_db_mark(&store->outbox);
    kedge_store_db_mark(&store->cache);
}

kedge_status kedge_edit_commit(kedge_store *store, const kedge_outbox_meta *outbox,
                               const kedge_cache_meta *cache, kedge_change_set *changes,
                               kedge_error *error)
{
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(kedge_store_db_in_transaction(&store->cache));
    kedge_store_phase(store, "mutate-before-outbox");
    kedge_status status = kedge_change_log_write(store, changes, KEDGE_CHANGED_BY_EDIT, error);
    if (status == KEDGE_OK) status = kedge_wal_reserve(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_wal_reserve(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->outbox, error);
    if (status != KEDGE_OK) {
        kedge_changes_clear(changes);
        return status;
    }
    kedge_store_phase(store, "mutate-between-commits");
    status = kedge_store_db_commit(&store->cache, NULL);
    if (status == KEDGE_OK) {
        kedge_store_stamp_footprints(store, cache);
        mark(store, outbox, cache);
    } else {
        kedge_store_db_rollback(&store->cache);
        status = follow_late(store);
    }
    if (status != KEDGE_OK) {
        kedge_shadow_note(store, status);
    } else {
        kedge_shadow_end(store);
    }
    kedge_store_phase(store, "mutate-after-cache");
    return KEDGE_OK;
}

/* What a client-only mutation is as a row (client_only.h). */
static kedge_status write_row_args(const kedge_edit *made, const kedge_recording *read,
                                   const kedge_overlay *written, kedge_buffer *row_args,
                                   kedge_error *error)
{
    kedge_apply_made own = {.args = made->args, .attempt = made->attempt, .sequence = made->first};
    KEDGE_ASSERT(made->name.size < sizeof own.name);
    memcpy(own.name, made->name.data, made->name.size);
    return kedge_client_only_args(read, written, &own, row_args, error);
}

/* Runs the mutator on the visible state, and writes its changes to the cache. `row_args` gets the
 * args of the row of a client-only mutation; NULL: it is none. */
static kedge_status run_edit(kedge_store *store, kedge_edit *made, kedge_edit_state *state,
                             kedge_buffer *row_args, kedge_error *error)
{
    int64_t at_ms = made->attempt > 0 ? made->timestamp_ms : state->now_ms;
    kedge_call call = {.name = made->name,
                       .args = made->args,
                       .caller = {store->user, store->role, state->outbox.client, at_ms},
                       .args_are_canonical = made->rejected == 0};
    kedge_overlay *written = kedge_overlay_new(store->allocator);
    kedge_recording read;
    kedge_tx *tx = NULL;
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->cache));
    kedge_status status =
        kedge_recording_begin(&read, store->allocator, kedge_cache_reader(&store->cache), error);
    if (status == KEDGE_OK && !written) status = kedge_fail_no_memory(error);
    if (status == KEDGE_OK)
        status = kedge_tx_new(store->allocator, store->registry, written,
                              kedge_recording_reader(&read), &tx, error);
    if (status == KEDGE_OK) status = kedge_tx_run(tx, &call, error);
    if (status == KEDGE_OK) made->passed_over = kedge_tx_passed_over(tx);
    kedge_tx_free(tx);
    if (status == KEDGE_OK && row_args)
        status = write_row_args(made, &read, written, row_args, error);
    if (status == KEDGE_OK) {
        status = kedge_replay_record(store, &state->outbox, &state->cache, &read, written, error);
    }
    if (status == KEDGE_OK) status = kedge_undo_record(store, made, written, error);
    if (status == KEDGE_OK) {
        status = kedge_prediction_write_run(store, written, &state->cache, made->changes, error);
    }
    kedge_recording_end(&read);
    kedge_overlay_free(written);
    return status;
}

/* Numbers the mutation and inserts it. */
static kedge_status enter_edit(kedge_store *store, kedge_edit *made, kedge_edit_state *state,
                               const kedge_buffer *row_args, kedge_error *error)
{
    kedge_outbox_meta *outbox = &state->outbox;
    bool again = made->attempt > 0;
    char uid[KEDGE_STORE_UID_SIZE];
    uint8_t digest[KEDGE_DIGEST_SIZE];
    KEDGE_ASSERT(kedge_store_db_in_transaction(&store->outbox));
    outbox->highest_id++;
    outbox->last_sequence++;
    outbox->revision++;
    store->environment->random(store->environment->context, uid, sizeof uid);
    kedge_pending row = {.sequence = outbox->last_sequence,
                         .client = kedge_bytes_of(outbox->client),
                         .id = outbox->highest_id,
                         .uid = {uid, sizeof uid},
                         .digest = {(const char *)digest, sizeof digest},
                         .name = row_args ? KEDGE_BYTES(KEDGE_APPLY_MUTATOR) : made->name,
                         .args = row_args ? kedge_buffer_bytes(row_args) : made->args,
                         .timestamp_ms = again ? made->timestamp_ms : state->now_ms};
    kedge_outbox_digest(row.name, row.args, row.uid, digest);
    kedge_status status = kedge_outbox_insert(&store->outbox, &row, outbox, error);
    if (status == KEDGE_OK && again)
        status = kedge_inbox_set_remade(store, made->rejected, made->first, row.sequence, error);
    else if (status == KEDGE_OK && made->rejected > 0)
        status = kedge_inbox_set_state(store, made->rejected, KEDGE_INBOX_RESUBMITTED, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(&store->outbox, outbox, error);
    if (status == KEDGE_OK) made->sequence = row.sequence;
    return status;
}

/* While nobody has committed to a file since the last edit, its meta row is the one that this edit
 * has written. */
static kedge_status read_state(kedge_store *store, kedge_edit_state *state, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (kedge_store_db_is_as_marked(&store->outbox))
        state->outbox = store->edited_outbox;
    else
        status = kedge_outbox_meta_read(&store->outbox, &state->outbox, error);
    if (status != KEDGE_OK) return status;
    if (kedge_store_db_is_as_marked(&store->cache)) {
        state->cache = store->edited_cache;
        return KEDGE_OK;
    }
    status = kedge_cache_meta_read(&store->cache, &state->cache, error);
    if (status == KEDGE_OK) status = kedge_footprints_follow(store, &state->cache, error);
    return status == KEDGE_OK ? kedge_index_count(&store->cache, error) : status;
}

/* Both transactions are begun before anything is read, so that each file is locked once. */
static kedge_status begin_edit(kedge_store *store, kedge_edit_state *state, kedge_error *error)
{
    kedge_status status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->outbox, error);
    return status == KEDGE_OK ? read_state(store, state, error) : status;
}

kedge_status kedge_edit_begin(kedge_store *store, kedge_edit_state *state, kedge_error *error)
{
    state->now_ms = store->environment->now_ms(store->environment->context);
    kedge_status status = begin_edit(store, state, error);
    if (status != KEDGE_OK || kedge_prediction_fits(&state->outbox, &state->cache)) return status;
    kedge_store_db_rollback(&store->outbox);
    kedge_store_db_rollback(&store->cache);
    status = kedge_prediction_repair(store, false, NULL, error);
    return status == KEDGE_OK ? begin_edit(store, state, error) : status;
}

static kedge_status check_id(const kedge_edit_state *state, kedge_error *error)
{
    if (state->outbox.highest_id < KEDGE_LIMIT_MUTATION_ID) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "mutation-ids-exhausted",
                      "the client has given out all of its %lld ids",
                      (long long)KEDGE_LIMIT_MUTATION_ID);
}

kedge_status kedge_edit_write(kedge_store *store, kedge_edit *made, kedge_edit_state *state,
                              kedge_error *error)
{
    kedge_buffer row_args = kedge_buffer_make(store->allocator);
    bool client_only = kedge_registry_is_client_only(store->registry, made->name, made->args);
    kedge_buffer *own = client_only ? &row_args : NULL;
    kedge_status status = check_id(state, error);
    if (status == KEDGE_OK) status = run_edit(store, made, state, own, error);
    if (status == KEDGE_OK) status = enter_edit(store, made, state, own, error);
    kedge_buffer_free(&row_args);
    return status;
}

kedge_status kedge_edit_end(kedge_store *store, kedge_edit_state *state, kedge_change_set *changes,
                            kedge_error *error)
{
    state->cache.revision = state->outbox.revision;
    state->cache.reflected_sequence = state->outbox.last_sequence;
    kedge_status status = kedge_cache_meta_write(&store->cache, &state->cache, error);
    if (status != KEDGE_OK) return status;
    return kedge_edit_commit(store, &state->outbox, &state->cache, changes, error);
}

kedge_status kedge_edit_make(kedge_store *store, kedge_edit *made, kedge_error *error)
{
    kedge_edit_state state;
    kedge_changes_clear(made->changes);
    made->recorded = kedge_undo_group_make(store->allocator);
    if (!kedge_registry_find(store->registry, made->name))
        return kedge_fail(error, KEDGE_NOT_FOUND, "mutator-unknown",
                          "there is no mutator %.*s; the app's mutators are given when opening",
                          (int)(made->name.size < 80 ? made->name.size : 80), made->name.data);
    kedge_status status = kedge_edit_begin(store, &state, error);
    if (status == KEDGE_OK) status = kedge_edit_write(store, made, &state, error);
    if (status == KEDGE_OK) status = kedge_edit_end(store, &state, made->changes, error);
    if (status == KEDGE_OK) {
        kedge_undo_keep(store, made);
    } else {
        kedge_changes_clear(made->changes);
        kedge_undo_group_clear(&made->recorded);
    }
    return status;
}

static kedge_status mutate_work(kedge_store *store, void *context, kedge_error *error)
{
    return kedge_edit_make(store, context, error);
}

kedge_status kedge_edit_normalize(kedge_bytes args, kedge_buffer *out, kedge_error *error)
{
    /* The canonical form may be shorter, so the limit is checked after it is made. */
    if (args.size > 8 * (size_t)KEDGE_LIMIT_ARGS_BYTES)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "args-too-large",
                          "the args are %zu bytes; at most %d are allowed", args.size,
                          KEDGE_LIMIT_ARGS_BYTES);
    if (args.size == 0) args = KEDGE_BYTES("null");
    kedge_status status = kedge_json_normalize(args, KEDGE_LIMIT_JSON_DEPTH, out, error);
    if (status == KEDGE_OK && out->size > KEDGE_LIMIT_ARGS_BYTES)
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "args-too-large",
                            "the args are %zu bytes; at most %d are allowed", out->size,
                            KEDGE_LIMIT_ARGS_BYTES);
    return status;
}

/* What an app calls "made" would be taken for a client-only mutation. */
static kedge_status check_made(kedge_bytes name, kedge_bytes args, kedge_error *error)
{
    kedge_bytes made;
    if (!kedge_bytes_equal_text(name, KEDGE_APPLY_MUTATOR) ||
        !kedge_json_member(args, "made", &made))
        return KEDGE_OK;
    return kedge_fail(
        error, KEDGE_INVALID_ARGUMENT, "args-invalid",
        "the member \"made\" of a kedge.apply is written by Kedge itself; allowed are "
        "\"reads\" and \"ops\"");
}

kedge_status kedge_store_mutate(kedge_store *store, kedge_bytes name, kedge_bytes args,
                                int64_t *sequence, kedge_change_set *changes, kedge_error *error)
{
    kedge_buffer normal = kedge_buffer_make(store->allocator);
    kedge_status status = kedge_edit_normalize(args, &normal, error);
    if (status == KEDGE_OK) status = check_made(name, kedge_buffer_bytes(&normal), error);
    if (status == KEDGE_OK) {
        kedge_edit made = {.name = name, .args = kedge_buffer_bytes(&normal), .changes = changes};
        status = kedge_store_take_telling_turn(store, mutate_work, &made, changes, error);
        if (status == KEDGE_OK && sequence) *sequence = made.sequence;
    }
    kedge_buffer_free(&normal);
    return status;
}

/* ---- resubmitting ---- */

static kedge_status resubmit_work(kedge_store *store, void *context, kedge_error *error)
{
    kedge_edit *made = context;
    kedge_buffer name = kedge_buffer_make(store->allocator);
    kedge_buffer args = kedge_buffer_make(store->allocator);
    kedge_status status = kedge_inbox_follow(&store->outbox, &made->rejected, error);
    if (status == KEDGE_OK) status = kedge_inbox_find(store, made->rejected, &name, &args, error);
    if (status == KEDGE_OK) {
        made->name = kedge_buffer_bytes(&name);
        made->args = kedge_buffer_bytes(&args);
        status = kedge_edit_make(store, made, error);
    }
    kedge_buffer_free(&name);
    kedge_buffer_free(&args);
    return status;
}

kedge_status kedge_store_resubmit(kedge_store *store, int64_t sequence, int64_t *new_sequence,
                                  kedge_change_set *changes, kedge_error *error)
{
    kedge_edit made = {.rejected = sequence, .changes = changes};
    kedge_status status =
        kedge_store_take_telling_turn(store, resubmit_work, &made, changes, error);
    if (status == KEDGE_OK && new_sequence) *new_sequence = made.sequence;
    return status;
}
