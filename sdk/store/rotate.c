/* Takes a new client id, when the folder was copied or restored, or the backend was restored.
 *
 * In one outbox transaction the mutations that are already decided under the old id are told apart
 * by their digests, and the others get the ids 1, 2, 3… of the new client in the order of their
 * making. A renumbered one carries its first (client, id) as origin, and the server applies an
 * origin once. */
#include "sdk/store/client_only.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"
#include "sdk/store/pull.h"
#include "sdk/store/tail.h"

#include "common/assert.h"
#include "common/error.h"
#include <string.h>

typedef struct rotation {
    bool lost;                                  /* the lineage */
    const kedge_wire_retire_response *response; /* of the old client */
    kedge_change_set *changes;
    /* While it runs. */
    int64_t restored_lmid; /* what the backend has decided of the old client */
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_staging staging;
    char old_client[KEDGE_CLIENT_ID_SIZE];
} rotation;

static kedge_status next_row(kedge_store_db *db, int64_t behind, kedge_pending *row,
                             kedge_error *error)
{
    static const char *const sql = "SELECT min(sequence) FROM pending WHERE sequence > ?1";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "i", behind);
    if (status != KEDGE_OK) return status;
    bool none = sqlite3_column_type(find, 0) == SQLITE_NULL;
    int64_t sequence = sqlite3_column_int64(find, 0);
    sqlite3_reset(find);
    return none ? KEDGE_DONE : kedge_outbox_find(db, sequence, row, error);
}

/* Gives a mutation the new client and its next id. It is not decided under its old ones, but may be
 * decided under others: a copy of this folder may have sent it, or this folder before it was
 * restored from a backup, or a restored backend has it. So it is withheld until the server has told
 * its outcome. It is withheld as PASSED, as what passed entries may have decided, when its lineage
 * was lost, and when a rejection was noted for it, which is dropped. */
static kedge_status give_number(kedge_store *store, const rotation *work, int64_t sequence,
                                kedge_error *error)
{
    static const char *const sql =
        "UPDATE pending SET origin_id = CASE WHEN origin_client IS NULL THEN id ELSE origin_id END,"
        " origin_client = coalesce(origin_client, client), client = ?3, id = ?2,"
        " covered_version = NULL, withheld = CASE WHEN ?4 OR EXISTS(SELECT 1 FROM rejected WHERE"
        " rejected.sequence = pending.sequence AND state <> 3) THEN 2 ELSE max(withheld, 1) END"
        " {at}";
    kedge_store_db *db = &store->outbox;
    kedge_status status =
        kedge_store_db_change(db, sql, error, "iici", sequence, work->outbox.highest_id,
                              work->outbox.client, (int64_t)work->lost);
    return status == KEDGE_OK ? kedge_outbox_seal(db, sequence, error) : status;
}

static kedge_status renumber(kedge_store *store, rotation *work, int64_t sequence,
                             kedge_error *error)
{
    /* A rejection that was noted for it is of a lost lineage. */
    static const char *const undecided = "DELETE FROM rejected {at} AND state <> 3";
    KEDGE_ASSERT(kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(strcmp(work->outbox.client, work->old_client) != 0);
    KEDGE_ASSERT(work->outbox.highest_id < KEDGE_LIMIT_MUTATION_ID);
    work->outbox.highest_id++;
    kedge_status status = give_number(store, work, sequence, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(&store->outbox, undecided, error, "i", sequence);
    return status;
}

static kedge_status cover_row(kedge_store *store, int64_t sequence, int64_t version,
                              kedge_error *error)
{
    static const char *const sql = "UPDATE pending SET covered_version = ?2 {at}";
    kedge_status status =
        kedge_store_db_change(&store->outbox, sql, error, "ii", sequence, version);
    if (status == KEDGE_OK) status = kedge_outbox_seal(&store->outbox, sequence, error);
    return status;
}

static kedge_status keep_outcome(kedge_store *store, const kedge_wire_outcome *outcome,
                                 int64_t sequence, kedge_error *error)
{
    static const char *const drop = "DELETE FROM pending {at}";
    kedge_status status;
    if (!kedge_wire_is_rejection(outcome->decision)) {
        status = kedge_outbox_forget_rejection(&store->outbox, sequence, error);
        return status == KEDGE_OK ? cover_row(store, sequence, outcome->version, error) : status;
    }
    /* Another copy of the folder may have made a client-only edit again. */
    status = kedge_outbox_reject(store, sequence, outcome, false, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_change(&store->outbox, drop, error, "i", sequence);
    return status;
}

/* It was applied in a version that the cache has reached, and the cache does not have it: the
 * backend was restored, and that version is another one. The next pull says so; until then the edit
 * must not count as covered. A row that is withheld may be in the state of the cache
 * nevertheless. */
static bool contradicts_cache(const rotation *work, const kedge_wire_outcome *outcome,
                              const kedge_pending *row)
{
    return !kedge_wire_is_rejection(outcome->decision) && !row->withheld &&
           row->id > work->cache.lmid && outcome->version <= work->cache.version &&
           strcmp(work->cache.client, work->old_client) == 0;
}

/* Of a lost lineage only rejections are kept: the staged state tells what was applied. An outcome
 * that is older than that state comes from a backend that was restored once more. A client-only
 * edit that conflicted must be made again on the state in which it did, and the staged one may be
 * another: it is sent again, and the server tells the conflict by its origin. */
static bool holds_when_lost(const rotation *work, const kedge_wire_outcome *outcome)
{
    return kedge_wire_is_rejection(outcome->decision) &&
           work->response->version >= work->staging.version &&
           strcmp(outcome->code, KEDGE_APPLY_CONFLICT) != 0;
}

static kedge_status rotate_row(kedge_store *store, rotation *work, const kedge_pending *row,
                               kedge_error *error)
{
    const kedge_wire_outcome *outcome = NULL;
    bool own = kedge_bytes_equal_text(row->client, work->old_client);
    if (own) outcome = kedge_pull_outcome_of(&work->response->outcomes, row);
    /* Of an earlier client: it waits for its version already. */
    if (!own && !work->lost) return KEDGE_OK;
    bool kept = outcome && (!work->lost || holds_when_lost(work, outcome)) &&
                !contradicts_cache(work, outcome, row);
    if (kept) return keep_outcome(store, outcome, row->sequence, error);
    return renumber(store, work, row->sequence, error);
}

/* ---- a lost lineage: what the restored backend may lack comes back from the tail ---- */

/* A no-op may have replaced an edit that was damaged on the disk, and the tail has this edit: the
 * edit replaces the no-op again. */
#define RECALL(from) "{recalled_from} " from ")"

/* The rest of the tail of the old client is then the tail of an earlier client. */
static kedge_status count_unrecovered(kedge_store *store, rotation *work, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    int64_t through = work->outbox.trimmed_through;
    kedge_status status = kedge_trimmed_count(db, work->old_client, work->restored_lmid, through,
                                              &work->outbox.unrecovered, error);
    if (through > work->restored_lmid) through = work->restored_lmid;
    if (status == KEDGE_OK) status = kedge_trimmed_keep(db, work->old_client, through, error);
    return status;
}

static kedge_status run_tail(kedge_store *store, const rotation *work, const char *sql,
                             kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    return kedge_store_db_change(db, sql, error, "ci", work->old_client, work->restored_lmid);
}

/* Rows of the tail that are damaged cannot be sent again: the inbox shows them, under their
 * sequence if that can be one. What it cannot show is counted. */
static kedge_status set_tail_aside(kedge_store *store, kedge_outbox_meta *meta, kedge_error *error)
{
    static const char *const show =
        "{set_aside} (SELECT sequence, '' AS client, 0 AS id,"
        " '' AS name, CASE WHEN json_valid(args) THEN args ELSE 'null' END AS args, 0 AS timestamp,"
        " {no_origin}, 0 AS version, 'damaged' AS code,"
        " 'this edit was damaged on the disk, and the restored server may lack it' AS message,"
        " 3 AS state, ?2 AS decided_ms FROM confirmed"
        " WHERE {unsound confirmed} AND typeof(sequence) = 'integer'"
        " AND sequence BETWEEN 1 AND ?1 AND {not_pending})";
    static const char *const forget = "DELETE FROM confirmed WHERE {unsound confirmed}";
    kedge_store_db *db = &store->outbox;
    kedge_status status =
        kedge_store_db_change(db, show, error, "ii", meta->last_sequence,
                              store->environment->now_ms(store->environment->context));
    int shown = sqlite3_changes(db->handle);
    if (status == KEDGE_OK) status = kedge_store_db_change(db, forget, error, "");
    if (status == KEDGE_OK) meta->unrecovered += sqlite3_changes(db->handle) - shown;
    return status;
}

static kedge_status next_confirmed(kedge_store *store, const rotation *work, int64_t behind,
                                   int64_t *sequence, kedge_pending *row, kedge_error *error)
{
    static const char *const sql =
        "SELECT sequence, id, digest FROM confirmed WHERE client = ?1 AND id <= ?2"
        " AND sequence > ?3 {least}";
    kedge_store_db *db = &store->outbox;
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "cii", work->old_client,
                                              work->restored_lmid, behind);
    if (status != KEDGE_OK) return status;
    *sequence = sqlite3_column_int64(find, 0);
    row->id = sqlite3_column_int64(find, 1);
    row->digest = kedge_store_column(find, 2);
    return KEDGE_OK;
}

/* Recalls confirmed mutations whose ids the restored backend has decided, too, unless the response
 * shows that it has applied the same ones. A twin may have pushed other mutations under our ids
 * since the backend was restored; and what was applied once, and came again out of the backend's
 * queue, may have been rejected this time. */
static kedge_status recall_displaced(kedge_store *store, rotation *work, kedge_error *error)
{
    static const char *const recall = RECALL("confirmed {at}");
    static const char *const delete_recalled = "DELETE FROM confirmed {at}";
    int64_t sequence = 0;
    kedge_pending row = {0};
    kedge_status status;
    /* A response that is older than the staged state comes from a backend that was restored once
     * more. */
    bool same = work->response->version >= work->staging.version;
    while ((status = next_confirmed(store, work, sequence, &sequence, &row, error)) == KEDGE_OK) {
        const kedge_wire_outcome *outcome = NULL;
        if (same && row.digest.size == KEDGE_DIGEST_SIZE)
            outcome = kedge_pull_outcome_of(&work->response->outcomes, &row);
        if (outcome && !kedge_wire_is_rejection(outcome->decision)) continue;
        status = kedge_store_db_change(&store->outbox, recall, error, "i", sequence);
        if (status == KEDGE_OK)
            status = kedge_store_db_change(&store->outbox, delete_recalled, error, "i", sequence);
        if (status != KEDGE_OK) return status;
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* A rejection of the lost lineage that the app has not dismissed or resubmitted no longer holds:
 * the edit is sent again. If the restored backend has already decided it, the response tells that
 * outcome by its origin. */
static kedge_status recall_rejections(kedge_store *store, kedge_error *error)
{
    static const char *const steps[] = {
        RECALL("rejected WHERE state IN (0, 4) AND uid IS NOT NULL"
               " AND {not_pending}"),
        "DELETE FROM rejected WHERE state IN (0, 4) AND sequence IN (SELECT sequence FROM "
        "pending)"};
    static const char *const damaged =
        "SELECT min(sequence) FROM rejected WHERE {unsound rejected}";
    int64_t sequence = 0;
    kedge_status status = kedge_store_db_number(&store->outbox, damaged, &sequence, error);
    if (status == KEDGE_OK && sequence != 0)
        status = kedge_outbox_fail_row(&store->outbox, "rejected", sequence, error);
    for (size_t i = 0; status == KEDGE_OK && i < sizeof steps / sizeof steps[0]; i++)
        status = kedge_store_db_change(&store->outbox, steps[i], error, "");
    return status;
}

static kedge_status recall_tail(kedge_store *store, rotation *work, kedge_error *error)
{
    static const char *const recall = RECALL("confirmed WHERE client <> ?1 OR id > ?2");
    static const char *const delete_recalled =
        "DELETE FROM confirmed WHERE client <> ?1 OR id > ?2";
    KEDGE_ASSERT(work->lost && work->staging.complete);
    kedge_status status = set_tail_aside(store, &work->outbox, error);
    if (status == KEDGE_OK)
        status = kedge_trimmed_count_earlier(&store->outbox, &work->response->earlier,
                                             &work->outbox.unrecovered, error);
    if (status == KEDGE_OK) status = count_unrecovered(store, work, error);
    if (status == KEDGE_OK) status = run_tail(store, work, recall, error);
    if (status == KEDGE_OK) status = run_tail(store, work, delete_recalled, error);
    if (status == KEDGE_OK) status = recall_displaced(store, work, error);
    if (status == KEDGE_OK) status = recall_rejections(store, error);
    work->outbox.ask_settled = 0;
    work->outbox.settled_version = work->staging.version;
    memcpy(work->outbox.settled_lineage, work->staging.lineage, sizeof work->staging.lineage);
    if (status == KEDGE_OK)
        status = kedge_outbox_count_tail(&store->outbox, &work->outbox.tail_bytes, error);
    return status;
}

/* ---- the rotation ---- */

/* The outcomes that are kept are of the response's version, which may be later than the staged one:
 * only a backend that knows that version has not lost them. */
static bool tells_outcomes(const rotation *work)
{
    return work->response->outcomes.count > 0 &&
           (!work->lost || work->response->version >= work->staging.version);
}

/* The tail and the inbox of the old client; see kedge_store_lower_to_decided. */
static kedge_status decide_again(kedge_store *store, rotation *work, kedge_error *error)
{
    int64_t lowest;
    const kedge_wire_outcomes *outcomes = &work->response->outcomes;
    kedge_status status =
        kedge_outbox_lowest(&store->outbox, &work->outbox, &work->cache, &lowest, error);
    if (status != KEDGE_OK || work->cache.version > 0) return status;
    return kedge_outbox_decide_again(store, &work->outbox, outcomes, lowest, error);
}

static kedge_status rotate_outbox(kedge_store *store, rotation *work, kedge_error *error)
{
    kedge_pending row = {0};
    int64_t now_ms = store->environment->now_ms(store->environment->context);
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(kedge_prediction_fits(&work->outbox, &work->cache));
    /* After a lost lineage the tail is not trimmed: the server was asked about the clients that it
     * has now. */
    kedge_status status = kedge_outbox_settle(&store->outbox, &work->cache, &work->outbox, now_ms,
                                              !work->lost, error);
    if (status == KEDGE_OK && work->lost) status = recall_tail(store, work, error);
    if (status == KEDGE_OK && !work->lost) status = decide_again(store, work, error);
    /* The backend may have been restored without our knowing: what is left of the tail is recalled
     * when we do, but nobody could count then what was trimmed of this client's. */
    if (status == KEDGE_OK && !work->lost) status = count_unrecovered(store, work, error);
    if (status != KEDGE_OK) return status;
    kedge_random_hex(store->environment, 16, work->outbox.client);
    work->outbox.highest_id = 0;
    work->outbox.sent_through = 0;
    work->outbox.trimmed_through = 0;
    work->outbox.revision++;
    if (tells_outcomes(work)) {
        work->outbox.settled_version = work->response->version;
        memcpy(work->outbox.settled_lineage, work->response->lineage,
               sizeof work->outbox.settled_lineage);
    }
    while ((status = next_row(&store->outbox, row.sequence, &row, error)) == KEDGE_OK) {
        status = rotate_row(store, work, &row, error);
        if (status != KEDGE_OK) return status;
    }
    if (status != KEDGE_DONE) return status;
    status = kedge_outbox_count_pending(&store->outbox, &work->outbox, error);
    if (status == KEDGE_OK)
        status = kedge_outbox_count_rejected(&store->outbox, &work->outbox, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(&store->outbox, &work->outbox, error);
    return status;
}

static kedge_status rotate_cache(kedge_store *store, rotation *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    KEDGE_ASSERT(kedge_store_db_in_transaction(&store->cache));
    KEDGE_ASSERT(strcmp(work->outbox.client, work->cache.client) != 0);
    if (work->lost) {
        status = kedge_staging_swap(store, &work->staging, &work->cache, error);
        work->cache.version = work->staging.version;
        work->cache.resyncing = false;
        memcpy(work->cache.lineage, work->staging.lineage, sizeof work->cache.lineage);
    }
    if (status == KEDGE_OK && work->staging.version >= 0) status = kedge_staging_drop(store, error);
    memcpy(work->cache.client, work->outbox.client, sizeof work->cache.client);
    work->cache.lmid = 0;
    if (status == KEDGE_OK)
        status =
            kedge_prediction_rebase(store, NULL, &work->outbox, &work->cache, work->changes, error);
    if (work->lost) kedge_changes_all(work->changes);
    return status;
}

static kedge_status read_work(kedge_store *store, rotation *work, kedge_error *error)
{
    kedge_pull_state state;
    kedge_status status = kedge_pull_state_read(store, &state, error);
    if (status != KEDGE_OK) return status;
    work->outbox = state.outbox;
    work->cache = state.cache;
    work->staging = state.staging;
    memcpy(work->old_client, state.outbox.client, sizeof work->old_client);
    work->restored_lmid = work->lost ? state.staging.lmid : work->response->lmid;
    if (!work->lost) return KEDGE_OK;
    if (!state.staging.lost || !state.staging.complete)
        return kedge_fail(error, KEDGE_CONFLICT, "not-staged",
                          "the other lineage is not staged whole");
    return KEDGE_OK;
}

static kedge_status rotate_work(kedge_store *store, void *context, kedge_error *error)
{
    rotation *work = context;
    kedge_changes_clear(work->changes);
    kedge_status status = kedge_prediction_repair(store, false, NULL, error);
    if (status == KEDGE_OK) status = kedge_pull_begin_durable(store, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = read_work(store, work, error);
    bool resyncing = status == KEDGE_OK && work->cache.resyncing;
    if (status == KEDGE_OK) status = rotate_outbox(store, work, error);
    /* A cache at version 0 shows nothing but pending edits. */
    if (status == KEDGE_OK && work->lost && work->cache.version > 0)
        status = kedge_lost_keep(store, error);
    if (status == KEDGE_OK) status = rotate_cache(store, work, error);
    if (status == KEDGE_OK)
        status = kedge_change_log_write(store, work->changes, KEDGE_CHANGED_BY_PULL, error);
    if (status == KEDGE_OK) {
        kedge_store_phase(store, "rotate-before-outbox");
        status = kedge_wal_commit(&store->outbox, error);
    }
    if (status == KEDGE_OK) {
        kedge_store_phase(store, "rotate-after-outbox");
        if (work->lost) kedge_undo_log_clear(&store->undo); /* the state is another one */
        /* Behind the outbox's commit it is done; a cache that could not follow is rebuilt later. */
        kedge_status followed = kedge_wal_commit(&store->cache, NULL);
        if (followed == KEDGE_OK) {
            if (resyncing && !work->cache.resyncing) kedge_store_forget_damaged(store);
            kedge_pull_settle(store);
        } else {
            kedge_shadow_note(store, followed);
        }
    } else {
        kedge_changes_clear(work->changes);
    }
    kedge_pull_end_durable(store);
    return status == KEDGE_OK ? kedge_store_remake(store, work->changes, error) : status;
}

kedge_status kedge_store_rotate(kedge_store *store, const kedge_wire_retire_response *response,
                                kedge_change_set *changes, kedge_error *error)
{
    rotation work = {.response = response, .changes = changes};
    return kedge_pull_take_turn(store, rotate_work, &work, changes, error);
}

/* The lmid of the staged state is never more than what the backend had decided when it retired the
 * client: sending something again as an origin is safe, and what is counted as lost is rather too
 * much, should it have come out of the queue in between, than too little. */
kedge_status kedge_store_rotate_lost(kedge_store *store, const kedge_wire_retire_response *response,
                                     kedge_change_set *changes, kedge_error *error)
{
    rotation work = {.lost = true, .response = response, .changes = changes};
    return kedge_pull_take_turn(store, rotate_work, &work, changes, error);
}

static kedge_status staged_work(kedge_store *store, void *context, kedge_error *error)
{
    kedge_wire_cookie *cookie = context;
    kedge_staging staging;
    kedge_status status = kedge_staging_read(&store->cache, &staging, error);
    if (status != KEDGE_OK) return status;
    bool there = staging.version >= 0 && staging.lost && staging.complete;
    *cookie = kedge_wire_cookie_of(there ? staging.version : 0, there ? staging.lineage : "");
    return KEDGE_OK;
}

kedge_status kedge_store_staged(kedge_store *store, kedge_wire_cookie *cookie, kedge_error *error)
{
    return kedge_store_take_turn(store, staged_work, cookie, error);
}

static kedge_status earlier_work(kedge_store *store, void *context, kedge_error *error)
{
    return kedge_trimmed_read(&store->outbox, context, error);
}

kedge_status kedge_store_earlier(kedge_store *store, kedge_wire_client_marks *marks,
                                 kedge_error *error)
{
    return kedge_store_take_turn(store, earlier_work, marks, error);
}
