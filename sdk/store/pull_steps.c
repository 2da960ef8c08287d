/* What applying a delta and applying a snapshot share: the check of the outcomes, and the steps on
 * the outbox. */
#include "sdk/store/store_internal.h"

#include "common/error.h"
#include <string.h>

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

static kedge_status check_row(const kedge_wire_outcomes *outcomes, int64_t lmid,
                              const kedge_pending *row, bool *rotate, kedge_error *error)
{
    const kedge_wire_outcome *outcome = find_outcome(outcomes, row->id);
    if (outcome && !same_digest(outcome, row)) {
        *rotate = true;
        return KEDGE_OK;
    }
    if (outcome || row->id > lmid) return KEDGE_OK;
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
        status = check_row(outcomes, lmid, &row, rotate, error);
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

static kedge_status insert_rejections(kedge_store *store, const kedge_pull_state *state,
                                      const kedge_wire_outcomes *outcomes, kedge_error *error)
{
    kedge_pending row;
    sqlite3_stmt *cursor;
    int64_t now_ms = store->environment->now_ms(store->environment->context);
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, &state->cache, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error)) == KEDGE_OK) {
        if (!kedge_bytes_equal_text(row.client, state->outbox.client)) continue;
        const kedge_wire_outcome *outcome = kedge_pull_outcome_of(outcomes, &row);
        if (!outcome || !kedge_wire_is_rejection(outcome->decision)) continue;
        status = kedge_outbox_reject(&store->outbox, row.sequence, outcome, now_ms, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_pull_keep_rejections(kedge_store *store, kedge_pull_state *state,
                                        const kedge_wire_outcomes *outcomes, kedge_error *error)
{
    kedge_outbox_meta next = state->outbox;
    if (!any_rejected(outcomes)) return KEDGE_OK;
    next.revision++;
    kedge_status status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = insert_rejections(store, state, outcomes, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(&store->outbox, &next, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->outbox, error);
    if (status == KEDGE_OK)
        state->outbox = next;
    else
        kedge_store_db_rollback(&store->outbox);
    return status;
}

void kedge_pull_note_settled(kedge_store *store, const kedge_outbox_meta *outbox)
{
    kedge_outbox_meta next = *outbox;
    if (outbox->ask_settled == 0) return;
    next.ask_settled = 0;
    kedge_status status = kedge_store_db_begin(&store->outbox, NULL);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(&store->outbox, &next, NULL);
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->outbox, NULL);
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
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->outbox, NULL);
    if (status != KEDGE_OK) kedge_store_db_rollback(&store->outbox);
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
