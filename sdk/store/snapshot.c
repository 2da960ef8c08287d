/* The pages of a snapshot: each is kept in the staging tables, and with the last one the staged
 * version takes the place of the canonical state, in the same three steps as a delta. */
#include "sdk/store/client_only.h"
#include "sdk/store/edit.h"
#include "sdk/store/prediction.h"
#include "sdk/store/pull.h"

#include "common/error.h"
#include "wire/key.h"
#include <string.h>

typedef struct stage {
    const kedge_wire_page_response *page;
    kedge_change_set *changes;
    kedge_apply_result result;
} stage;

static kedge_status read_after(kedge_store_db *db, kedge_buffer *after, bool *complete,
                               kedge_error *error)
{
    static const char *const sql = "SELECT after, complete, {intact staging} FROM staging";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "");
    if (status == KEDGE_DONE) return KEDGE_NOT_FOUND;
    if (status != KEDGE_OK) return status;
    if (sqlite3_column_int(find, 2) == 0) return kedge_table_fail(db, "staging", error);
    kedge_buffer_append_bytes(after, kedge_store_column(find, 0));
    *complete = sqlite3_column_int(find, 1) != 0;
    sqlite3_reset(find);
    return kedge_buffer_status(after, error);
}

bool kedge_store_staged_after(kedge_store *store, kedge_buffer *after)
{
    kedge_store_reader *reader;
    bool complete = false;
    if (kedge_reader_take(store, &reader, NULL) != KEDGE_OK) return false;
    kedge_buffer_clear(after);
    kedge_status status = read_after(&reader->cache, after, &complete, NULL);
    kedge_reader_end(reader);
    if (status == KEDGE_CORRUPT) (void)kedge_reader_heal(store, reader, NULL);
    kedge_reader_give(store, reader);
    return status == KEDGE_OK && !complete;
}

static kedge_status unstage_work(kedge_store *store, void *context, kedge_error *error)
{
    (void)context;
    kedge_status status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_staging_drop(store, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->cache, error);
    return status;
}

kedge_status kedge_store_unstage(kedge_store *store, kedge_error *error)
{
    return kedge_store_take_turn(store, unstage_work, NULL, error);
}

/* The order of pages: the project record, then collections, then ids; not that
 * of the joined keys. */
static int compare_keys(kedge_bytes a, kedge_bytes b)
{
    kedge_bytes collections[2];
    kedge_bytes ids[2];
    kedge_wire_key_split(a, &collections[0], &ids[0]);
    kedge_wire_key_split(b, &collections[1], &ids[1]);
    int order = kedge_bytes_compare(collections[0], collections[1]);
    return order != 0 ? order : kedge_bytes_compare(ids[0], ids[1]);
}

/* A page without progress would be requested again and again. */
static kedge_status check_progress(kedge_store *store, const kedge_wire_page_response *page,
                                   kedge_error *error)
{
    bool complete;
    kedge_buffer after = kedge_buffer_make(store->allocator);
    kedge_status status = read_after(&store->cache, &after, &complete, error);
    if (status == KEDGE_OK && !page->last && after.size > 0 &&
        compare_keys(page->next, kedge_buffer_bytes(&after)) <= 0)
        status = kedge_fail(error, KEDGE_PROTOCOL, "page-without-progress",
                            "a page of the snapshot does not lead past the key it was asked for");
    kedge_buffer_free(&after);
    return status;
}

/* Any page but the last of a lineage that is ours. */
static kedge_status keep_page(kedge_store *store, stage *asked, const kedge_staging *staging,
                              kedge_error *error)
{
    const kedge_wire_page_response *page = asked->page;
    bool complete = page->last && staging->lost;
    kedge_staging next = *staging;
    kedge_status status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_staging_put(store, &next, &page->items, error);
    if (status == KEDGE_OK) status = kedge_staging_after(store, &next, page->next, complete, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->cache, error);
    asked->result = complete ? KEDGE_APPLY_LOST : KEDGE_APPLY_PAGES;
    return status;
}

/* Steps 1 and 2. The second is one durable transaction: stores the last page, and replaces the
 * canonical state by the staged one. */
static kedge_status swap_in(kedge_store *store, stage *asked, kedge_pull_state *state,
                            const kedge_wire_outcomes *outcomes, kedge_error *error)
{
    kedge_cache_meta next = state->cache;
    kedge_staging staging = state->staging;
    next.version = state->staging.version;
    next.lmid = state->staging.lmid;
    next.resyncing = false;
    memcpy(next.lineage, state->staging.lineage, sizeof next.lineage);
    kedge_status status = kedge_pull_begin_durable(store, error);
    if (status == KEDGE_OK)
        status = kedge_pull_keep_rejections(store, state, outcomes, NULL, error);
    if (status == KEDGE_OK) status = kedge_staging_put(store, &staging, &asked->page->items, error);
    if (status == KEDGE_OK) status = kedge_staging_swap(store, &staging, &next, error);
    if (status == KEDGE_OK) status = kedge_staging_drop(store, error);
    if (status == KEDGE_OK)
        status = kedge_prediction_rebase(store, NULL, &state->outbox, &next, NULL, error);
    if (status == KEDGE_OK) status = kedge_pull_commit(store, &next, NULL, error);
    kedge_pull_end_durable(store);
    if (status == KEDGE_OK) {
        kedge_changes_all(asked->changes);
        kedge_undo_rebase(store, NULL, &next);
    }
    return status;
}

static kedge_status finish(kedge_store *store, stage *asked, kedge_pull_state *state,
                           const kedge_wire_outcomes *outcomes, kedge_error *error)
{
    bool rotate = false;
    kedge_status status =
        kedge_pull_check_outcomes(store, state, state->staging.lmid, outcomes, &rotate, error);
    asked->result = KEDGE_APPLY_ROTATE;
    if (status != KEDGE_OK || rotate) return status;
    status = swap_in(store, asked, state, outcomes, error);
    if (status != KEDGE_OK) return status;
    kedge_store_forget_damaged(store);
    kedge_pull_end(store, &state->outbox, true);
    asked->result = KEDGE_APPLY_DONE;
    return kedge_store_remake(store, asked->changes, error);
}

static bool belongs(const kedge_pull_state *state, const kedge_wire_page_response *page)
{
    return state->staging.version == page->version &&
           strcmp(state->staging.lineage, page->lineage) == 0 &&
           strcmp(state->staging.client, state->outbox.client) == 0;
}

static kedge_status stage_work(kedge_store *store, void *context, kedge_error *error)
{
    stage *asked = context;
    kedge_pull_state state;
    kedge_wire_outcomes outcomes = {.allocator = store->allocator};
    kedge_changes_clear(asked->changes);
    kedge_status status = kedge_prediction_repair(store, false, NULL, error);
    if (status == KEDGE_OK) status = kedge_pull_state_read(store, &state, error);
    if (status != KEDGE_OK) return status;
    asked->result = KEDGE_APPLY_STALE;
    if (!belongs(&state, asked->page)) return KEDGE_OK;
    asked->result = KEDGE_APPLY_LOST;
    if (state.staging.complete) return KEDGE_OK;
    status = check_progress(store, asked->page, error);
    if (status != KEDGE_OK) return status;
    if (!asked->page->last || state.staging.lost)
        return keep_page(store, asked, &state.staging, error);
    status = kedge_staging_outcomes(store, &state.staging, &outcomes, error);
    if (status == KEDGE_OK) status = finish(store, asked, &state, &outcomes, error);
    kedge_release(store->allocator, outcomes.rows);
    return status;
}

kedge_status kedge_store_stage(kedge_store *store, const kedge_wire_page_response *page,
                               kedge_apply_result *result, kedge_change_set *changes,
                               kedge_error *error)
{
    stage asked = {page, changes, KEDGE_APPLY_DONE};
    kedge_status status = kedge_store_check_patch(&page->items, error);
    if (status == KEDGE_OK)
        status = kedge_pull_take_turn(store, stage_work, &asked, changes, error);
    if (status == KEDGE_OK) *result = asked.result;
    return status;
}
