/* Applies the response to a pull: decides which case it is, then does the steps.
 *
 *   another lineage      the whole state is staged; kedge_store_rotate_lost puts it in
 *   retired, or outcomes about other mutations than ours: this client id is not ours alone: rotate
 *   a snapshot           its pages are staged
 *   a delta that starts elsewhere: pull again
 *   else                 three commits, in this order; each may be repeated after a crash:
 *     (1) outbox: rejections go into the inbox, once a mutation
 *     (2) cache: canonical state, prediction, version, lmid in one transaction, durable
 *     (3) outbox: what the cache covers is deleted, the applied ones go to the tail
 *   (1) and (2) are both written before the first of them is committed.
 *
 * A mutation is covered only by an outcome that carries its digest. An lmid that covers a mutation
 * of ours without an outcome for it is a fault of the server: KEDGE_PROTOCOL, and nothing is
 * changed.
 *
 * Of a log project the patch and the outcomes come from a replay (entries.c). It runs when it is
 * known that they are needed, and before anything is written. */
#include "sdk/store/pull.h"
#include "sdk/store/client_only.h"
#include "sdk/store/edit.h"
#include "sdk/store/entries.h"
#include "sdk/store/prediction.h"
#include "sdk/store/tail.h"

#include "common/assert.h"
#include "common/error.h"
#include <string.h>

typedef struct apply {
    const kedge_wire_pull_response *given;
    kedge_change_set *changes;
    kedge_apply_result result;
    const kedge_wire_pull_response *response; /* `given`, or what its entries amount to */
    kedge_entries entries;                    /* of a log project */
} apply;

kedge_status kedge_pull_state_read(kedge_store *store, kedge_pull_state *state, kedge_error *error)
{
    kedge_status status = kedge_outbox_meta_read(&store->outbox, &state->outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &state->cache, error);
    if (status == KEDGE_OK) status = kedge_staging_read(&store->cache, &state->staging, error);
    return status;
}

/* ---- what a delta, a snapshot and a rotation share ---- */

kedge_status kedge_pull_take_turn(kedge_store *store, kedge_store_work work, void *context,
                                  kedge_change_set *changes, kedge_error *error)
{
    if (atomic_load(&store->pulls_stopped))
        return kedge_fail(error, KEDGE_CANCELLED, "closing", "the database is being closed");
    kedge_changes_are_pulled(changes);
    return kedge_store_take_telling_turn(store, work, context, changes, error);
}

void kedge_store_stop_pulls(kedge_store *store)
{
    atomic_store(&store->pulls_stopped, true);
}

kedge_status kedge_store_check_patch(const kedge_wire_patch *patch, kedge_error *error)
{
    for (size_t i = 0; i < patch->count; i++) {
        const kedge_wire_patch_operation *operation = &patch->operations[i];
        if (operation->kind == KEDGE_WIRE_PATCH_PUT_HASH && operation->value.size == 0)
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-missing",
                              "operation %zu of the patch lacks its body", i);
    }
    return KEDGE_OK;
}

static const kedge_wire_outcome *find_outcome(const kedge_wire_outcomes *outcomes, int64_t id)
{
    size_t low = 0, high = outcomes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (outcomes->rows[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < outcomes->count && outcomes->rows[low].id == id ? &outcomes->rows[low] : NULL;
}

static bool same_digest(const kedge_wire_outcome *outcome, const kedge_pending *row)
{
    return memcmp(outcome->digest, row->digest.data, KEDGE_DIGEST_SIZE) == 0;
}

const kedge_wire_outcome *kedge_pull_outcome_of(const kedge_wire_outcomes *outcomes,
                                                const kedge_pending *row)
{
    const kedge_wire_outcome *outcome = find_outcome(outcomes, row->id);
    return outcome && same_digest(outcome, row) ? outcome : NULL;
}

/* Of a row that the server has decided. */
static kedge_status check_row(const kedge_wire_outcomes *outcomes, const kedge_pending *row,
                              bool *rotate, kedge_error *error)
{
    const kedge_wire_outcome *outcome = find_outcome(outcomes, row->id);
    if (outcome && !same_digest(outcome, row)) {
        *rotate = true;
        return KEDGE_OK;
    }
    if (outcome) return KEDGE_OK;
    return kedge_fail(error, KEDGE_PROTOCOL, "outcome-missing",
                      "the server has decided mutation %lld and did not say how",
                      (long long)row->id);
}

kedge_status kedge_pull_check_outcomes(kedge_store *store, const kedge_pull_state *state,
                                       int64_t lmid, const kedge_wire_outcomes *outcomes,
                                       bool *rotate, kedge_error *error)
{
    kedge_pending row;
    sqlite3_stmt *cursor;
    *rotate = lmid > state->outbox.highest_id;
    if (*rotate) return KEDGE_OK;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, &state->cache, &cursor, error);
    if (status != KEDGE_OK) return status;
    while (!*rotate) {
        status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error);
        if (status != KEDGE_OK) break;
        if (!kedge_bytes_equal_text(row.client, state->outbox.client)) continue;
        if (row.id > lmid) break;
        status = check_row(outcomes, &row, rotate, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static bool any_rejected(const kedge_wire_outcomes *outcomes)
{
    for (size_t i = 0; i < outcomes->count; i++)
        if (kedge_wire_is_rejection(outcomes->rows[i].decision)) return true;
    return false;
}

/* Whether the inbox has a rejection of a pending row, which is not shown yet. The server decides in
 * the order of sequences, so that hardly any row of the inbox is looked at. */
static kedge_status find_noted(kedge_store *store, bool *any, kedge_error *error)
{
    static const char *const sql =
        "SELECT EXISTS(SELECT 1 FROM rejected WHERE sequence >= (SELECT min(sequence) FROM pending)"
        " AND state IN (0, 4) AND sequence IN (SELECT sequence FROM pending))";
    int64_t found = 0;
    kedge_status status = kedge_store_db_number(&store->outbox, sql, &found, error);
    *any = found != 0;
    return status;
}

/* A pull that did not come to its end may have noted a rejection, and the backend was restored
 * since: what counts is the outcome that is told now. Only the replay of an entry that is marked as
 * a duplicate does not tell how the first one was decided. */
static kedge_status note_outcome(kedge_store *store, const kedge_wire_outcome *outcome,
                                 bool replayed, int64_t sequence, kedge_error *error)
{
    if (kedge_wire_is_rejection(outcome->decision))
        return kedge_outbox_reject(store, sequence, outcome, true, error);
    if (replayed && outcome->decision == KEDGE_WIRE_DUPLICATE) return KEDGE_OK;
    return kedge_outbox_forget_rejection(&store->outbox, sequence, error);
}

static kedge_status note_outcomes(kedge_store *store, const kedge_pull_state *state,
                                  const kedge_wire_outcomes *outcomes, bool replayed,
                                  kedge_error *error)
{
    kedge_pending row;
    sqlite3_stmt *cursor;
    int64_t last_id = outcomes->count > 0 ? outcomes->rows[outcomes->count - 1].id : 0;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, &state->cache, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error)) == KEDGE_OK) {
        if (!kedge_bytes_equal_text(row.client, state->outbox.client)) continue;
        if (row.id > last_id) break;
        const kedge_wire_outcome *outcome = kedge_pull_outcome_of(outcomes, &row);
        if (outcome) status = note_outcome(store, outcome, replayed, row.sequence, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status insert_origins(kedge_store *store, const kedge_origins *origins,
                                   kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; origins && i < origins->count && status == KEDGE_OK; i++) {
        const kedge_origin *origin = &origins->rows[i];
        if (origin->rejected)
            status = kedge_outbox_reject(store, origin->sequence, &origin->outcome, true, error);
    }
    return status;
}

kedge_status kedge_pull_keep_rejections(kedge_store *store, kedge_pull_state *state,
                                        const kedge_wire_outcomes *outcomes,
                                        const kedge_origins *origins, kedge_error *error)
{
    bool noted = false;
    int64_t lowest = 0;
    kedge_outbox_meta *next = &state->outbox;
    kedge_status status = find_noted(store, &noted, error);
    if (status == KEDGE_OK && outcomes->count > 0)
        status = kedge_outbox_lowest(&store->outbox, next, &state->cache, &lowest, error);
    if (status != KEDGE_OK) return status;
    bool again = outcomes->count > 0 && outcomes->rows[0].id < lowest;
    if (!noted && !again && !any_rejected(outcomes) && !(origins && origins->any_rejected))
        return KEDGE_OK;
    next->revision++;
    status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = note_outcomes(store, state, outcomes, origins != NULL, error);
    if (status == KEDGE_OK && again)
        status = kedge_outbox_decide_again(store, next, outcomes, lowest, error);
    if (status == KEDGE_OK) status = insert_origins(store, origins, error);
    if (status == KEDGE_OK) status = kedge_outbox_count_rejected(&store->outbox, next, error);
    return status == KEDGE_OK ? kedge_outbox_meta_write(&store->outbox, next, error) : status;
}

/* Between the two commits the files do not agree, and whoever asks for the position waits: so all
 * else that takes time comes before. */
kedge_status kedge_pull_commit(kedge_store *store, const kedge_cache_meta *cache,
                               const kedge_change_set *changes, kedge_error *error)
{
    kedge_status status = kedge_change_log_write(store, changes, KEDGE_CHANGED_BY_PULL, error);
    if (status == KEDGE_OK) status = kedge_wal_prepare(&store->cache, error);
    if (status != KEDGE_OK) return status;
    kedge_store_phase(store, "pull-before-inbox");
    if (store->outbox.begun) status = kedge_wal_commit(&store->outbox, error);
    if (status != KEDGE_OK) return status;
    kedge_store_phase(store, "pull-before-cache");
    status = kedge_store_db_commit(&store->cache, error);
    if (status == KEDGE_OK) kedge_store_stamp_footprints(store, cache);
    return status;
}

/* Notes that the backend knows the outbox's lineage. After a failure the next pull asks again. */
static void note_settled(kedge_store *store, const kedge_outbox_meta *outbox)
{
    kedge_outbox_meta next = *outbox;
    if (outbox->ask_settled == 0) return;
    next.ask_settled = 0;
    kedge_status status = kedge_store_db_begin(&store->outbox, NULL);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(&store->outbox, &next, NULL);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->outbox, NULL);
    if (status != KEDGE_OK) kedge_store_db_rollback(&store->outbox);
}

void kedge_pull_settle(kedge_store *store)
{
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    bool any = false;
    int64_t now_ms = store->environment->now_ms(store->environment->context);
    if (kedge_cache_meta_read(&store->cache, &cache, NULL) != KEDGE_OK ||
        kedge_outbox_has_covered(&store->outbox, &cache, &any, NULL) != KEDGE_OK || !any)
        return;
    kedge_status status = kedge_store_db_begin(&store->outbox, NULL);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&store->outbox, &outbox, NULL);
    if (status == KEDGE_OK)
        status = kedge_outbox_settle(&store->outbox, &cache, &outbox, now_ms, true, NULL);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->outbox, NULL);
    if (status != KEDGE_OK) kedge_store_db_rollback(&store->outbox);
}

void kedge_pull_end(kedge_store *store, const kedge_outbox_meta *outbox, bool filled_anew)
{
    kedge_store_phase(store, "pull-before-delete");
    note_settled(store, outbox);
    kedge_pull_settle(store);
    if (filled_anew) kedge_doubt_end(store);
    kedge_store_phase(store, "pull-done");
}

kedge_status kedge_pull_begin_durable(kedge_store *store, kedge_error *error)
{
    kedge_status status = kedge_store_db_execute(&store->cache, "PRAGMA synchronous=FULL", error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->cache, error);
    return status;
}

void kedge_pull_end_durable(kedge_store *store)
{
    kedge_store_db_rollback(&store->cache);
    (void)kedge_store_db_execute(&store->cache, "PRAGMA synchronous=NORMAL", NULL);
}

/* ---- the cases ---- */

static bool is_whole(const kedge_wire_pull_response *response)
{
    return response->snapshot || (response->patch.count > 0 &&
                                  response->patch.operations[0].kind == KEDGE_WIRE_PATCH_CLEAR);
}

/* A log project's snapshot is behind what the server has, and its entries come in pieces. */
static bool is_newest(const kedge_wire_pull_response *given)
{
    return !given->log.present || !(given->snapshot || given->log.more);
}

/* Every id below the lowest row of `pending` was covered once. A server that has decided fewer ids
 * was restored, even if it knows our lineage, or was not asked for it because the cache was
 * lost. */
static kedge_status is_lost(kedge_store *store, const kedge_pull_state *state, const apply *asked,
                            bool *lost, kedge_error *error)
{
    const kedge_wire_pull_response *response = asked->response;
    int64_t lowest;
    kedge_cache_meta unknown = state->cache;
    unknown.lmid = 0;
    kedge_status status =
        kedge_outbox_lowest(&store->outbox, &state->outbox, &unknown, &lowest, error);
    if (status != KEDGE_OK) return status;
    *lost = response->lost ||
            (is_whole(response) && is_newest(asked->given) && response->lmid < lowest - 1);
    if (*lost && !is_whole(response))
        return kedge_fail(error, KEDGE_PROTOCOL, "lost-without-state",
                          "the server does not know version %lld and sent neither a snapshot nor"
                          " the whole state",
                          (long long)state->cache.version);
    return KEDGE_OK;
}

/* The pages of the version that is staged already stay. */
static kedge_status stage_response(kedge_store *store, const kedge_pull_state *state,
                                   const kedge_wire_pull_response *response, bool lost,
                                   kedge_apply_result *result, kedge_error *error)
{
    kedge_staging staging = {.version = response->version, .lmid = response->lmid, .lost = lost};
    memcpy(staging.lineage, response->lineage, sizeof staging.lineage);
    memcpy(staging.client, state->outbox.client, sizeof staging.client);
    const kedge_staging *there = &state->staging;
    bool same = there->version == staging.version && there->lost == lost &&
                strcmp(there->lineage, staging.lineage) == 0 &&
                strcmp(there->client, staging.client) == 0;
    if (same) {
        *result = there->complete ? KEDGE_APPLY_LOST : KEDGE_APPLY_PAGES;
        return KEDGE_OK;
    }
    kedge_status status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK)
        status = kedge_staging_begin(store, &staging, &response->outcomes, error);
    if (status == KEDGE_OK && !response->snapshot) {
        status = kedge_staging_put(store, &staging, &response->patch, error);
        if (status == KEDGE_OK)
            status = kedge_staging_after(store, &staging, (kedge_bytes){"", 0}, true, error);
    }
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->cache, error);
    if (status == KEDGE_OK) *result = response->snapshot ? KEDGE_APPLY_PAGES : KEDGE_APPLY_LOST;
    return status;
}

static kedge_status three_steps(kedge_store *store, kedge_pull_state *state, apply *asked,
                                kedge_error *error)
{
    const kedge_wire_pull_response *response = asked->response;
    kedge_change_set *changes = asked->changes;
    kedge_cache_meta next = state->cache;
    KEDGE_ASSERT(response->version >= state->cache.version && response->lmid >= state->cache.lmid);
    KEDGE_ASSERT(response->lmid <= state->outbox.highest_id);
    const kedge_origins *origins = asked->entries.store ? &asked->entries.origins : NULL;
    kedge_status status = kedge_pull_begin_durable(store, error);
    if (status == KEDGE_OK)
        status = kedge_pull_keep_rejections(store, state, &response->outcomes, origins, error);
    next.version = response->version;
    next.lmid = response->lmid;
    next.resyncing = false;
    memcpy(next.lineage, response->lineage, sizeof next.lineage);
    if (status == KEDGE_OK && state->staging.version >= 0)
        status = kedge_staging_drop(store, error);
    if (status == KEDGE_OK)
        status = kedge_prediction_advance(store, &response->patch, 0, &state->outbox, &state->cache,
                                          &next, changes, error);
    if (status == KEDGE_OK) status = kedge_pull_commit(store, &next, changes, error);
    kedge_pull_end_durable(store);
    if (status != KEDGE_OK) {
        kedge_changes_clear(changes);
        return status;
    }
    if (state->cache.resyncing) {
        kedge_store_forget_damaged(store);
        atomic_store(&store->check_due, true);
    }
    kedge_undo_rebase(store, &response->patch, &next);
    kedge_pull_end(store, &state->outbox, asked->entries.store && asked->given->from == 0);
    return KEDGE_OK;
}

static bool is_news(const kedge_pull_state *state, const kedge_wire_pull_response *response)
{
    const kedge_cache_meta *cache = &state->cache;
    return response->version != cache->version || response->lmid != cache->lmid ||
           response->patch.count > 0 || strcmp(response->lineage, cache->lineage) != 0 ||
           cache->resyncing;
}

static bool is_stale(const kedge_pull_state *state, const kedge_wire_pull_response *response)
{
    return response->version < state->cache.version ||
           (!is_whole(response) && response->from != state->cache.version);
}

/* The state of the replay is not the server's, so what it has decided may be wrong, too: nothing of
 * it is kept. The turn sets a cache aside that is marked as damaged. */
static kedge_status diverge(kedge_store *store, apply *asked, kedge_error *error)
{
    if (++store->divergences > 1)
        return kedge_fail(error, KEDGE_CONFLICT, "diverged",
                          "the state at version %lld was pulled anew and differs from the server's"
                          " again: a mutator does not do the same on every copy",
                          (long long)asked->response->version);
    store->cache.damaged = true;
    asked->result = KEDGE_APPLY_DIVERGED;
    return KEDGE_OK;
}

/* Of a log project: the patch, by replay. KEDGE_DONE: there is none, since the state diverges. */
static kedge_status bring_patch(kedge_store *store, const kedge_pull_state *state, apply *asked,
                                kedge_error *error)
{
    bool agrees = true;
    if (!asked->entries.store) return KEDGE_OK;
    kedge_status status = kedge_entries_replay(&asked->entries, state, &agrees, error);
    if (status != KEDGE_OK) return status;
    if (agrees) {
        if (asked->given->log.hashed) store->divergences = 0;
        return KEDGE_OK;
    }
    status = diverge(store, asked, error);
    return status == KEDGE_OK ? KEDGE_DONE : status;
}

/* Of a log project: the response does not tell what the entries that the cache has passed decided,
 * unless it starts from the empty state. */
static bool has_passed(const apply *asked)
{
    return asked->entries.store && asked->given->from != 0;
}

/* The cache is filled anew by the next pulls (doubt.c). An app that could not replay them keeps
 * what it has until it is updated. */
static kedge_status fill_anew(kedge_store *store, const kedge_pull_state *state, apply *asked,
                              kedge_error *error)
{
    bool agrees;
    KEDGE_ASSERT(has_passed(asked));
    kedge_status status = kedge_entries_replay(&asked->entries, state, &agrees, error);
    if (status != KEDGE_OK) return status;
    store->cache.damaged = true; /* the turn sets it aside */
    asked->result = KEDGE_APPLY_STALE;
    return KEDGE_DONE;
}

/* Checks the outcomes as kedge_pull_check_outcomes does. KEDGE_DONE: an entry that the cache has
 * passed may have decided an edit whose outcome is lacking. */
static kedge_status check_outcomes(kedge_store *store, const kedge_pull_state *state, apply *asked,
                                   bool *rotate, kedge_error *error)
{
    bool doubted = false;
    kedge_error failure = {0};
    const kedge_wire_pull_response *response = asked->response;
    kedge_status status = KEDGE_OK;
    if (has_passed(asked))
        status = kedge_doubt_any(&store->outbox, &state->cache, &doubted, &failure);
    if (status == KEDGE_OK && doubted) return fill_anew(store, state, asked, error);
    if (status == KEDGE_OK)
        status = kedge_pull_check_outcomes(store, state, response->lmid, &response->outcomes,
                                           rotate, &failure);
    if (status == KEDGE_PROTOCOL && has_passed(asked)) return fill_anew(store, state, asked, error);
    return status == KEDGE_OK ? KEDGE_OK
                              : kedge_fail(error, status, failure.code, "%s", failure.message);
}

static kedge_status stage_lost(kedge_store *store, const kedge_pull_state *state, apply *asked,
                               kedge_error *error)
{
    kedge_status status = bring_patch(store, state, asked, error);
    if (status == KEDGE_OK)
        status = stage_response(store, state, asked->response, true, &asked->result, error);
    return status;
}

static kedge_status decide(kedge_store *store, kedge_pull_state *state, apply *asked,
                           kedge_error *error)
{
    const kedge_wire_pull_response *response = asked->response;
    bool lost = false, rotate = false;
    kedge_status status = is_lost(store, state, asked, &lost, error);
    if (status != KEDGE_OK) return status;
    if (lost) return stage_lost(store, state, asked, error);
    asked->result = KEDGE_APPLY_ROTATE;
    if (response->retired) return KEDGE_OK;
    asked->result = KEDGE_APPLY_STALE;
    if (is_stale(state, response)) {
        /* The response to kedge_store_pull_request's question. */
        if (state->cache.lineage[0] == '\0' && response->from == state->outbox.settled_version)
            atomic_store(&store->lineage_known, true);
        return KEDGE_OK;
    }
    asked->result = KEDGE_APPLY_ROTATE;
    if (response->lmid < state->cache.lmid || response->lmid > state->outbox.highest_id)
        return KEDGE_OK;
    status = check_outcomes(store, state, asked, &rotate, error);
    if (status != KEDGE_OK || rotate) return status;
    if (response->snapshot)
        return stage_response(store, state, response, false, &asked->result, error);
    asked->result = KEDGE_APPLY_DONE;
    if (is_news(state, response)) {
        status = bring_patch(store, state, asked, error);
        return status == KEDGE_OK ? three_steps(store, state, asked, error) : status;
    }
    note_settled(store, &state->outbox);
    kedge_pull_settle(store);
    return KEDGE_OK;
}

static kedge_status apply_work(kedge_store *store, void *context, kedge_error *error)
{
    apply *asked = context;
    kedge_pull_state state;
    kedge_changes_clear(asked->changes);
    asked->response = asked->given;
    kedge_status status = kedge_prediction_repair(store, false, NULL, error);
    if (status == KEDGE_OK) status = kedge_pull_state_read(store, &state, error);
    if (status == KEDGE_OK) status = kedge_footprints_follow(store, &state.cache, error);
    if (status == KEDGE_OK && asked->given->log.present && !asked->given->snapshot) {
        status = kedge_entries_begin(store, &state, asked->given, &asked->entries, error);
        asked->response = &asked->entries.as;
    }
    if (status == KEDGE_OK) status = decide(store, &state, asked, error);
    kedge_entries_free(&asked->entries);
    if (status == KEDGE_OK && asked->result == KEDGE_APPLY_DONE)
        status = kedge_store_remake(store, asked->changes, error);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_store_apply(kedge_store *store, const kedge_wire_pull_response *response,
                               kedge_apply_result *result, kedge_change_set *changes,
                               kedge_error *error)
{
    apply asked = {.given = response, .changes = changes, .result = KEDGE_APPLY_DONE};
    kedge_status status = kedge_store_check_patch(&response->patch, error);
    if (status == KEDGE_OK && !is_whole(response)) kedge_store_retrace(store, response);
    if (status == KEDGE_OK)
        status = kedge_pull_take_turn(store, apply_work, &asked, changes, error);
    if (status == KEDGE_OK) *result = asked.result;
    return status;
}
