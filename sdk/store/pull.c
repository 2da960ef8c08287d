/* Applies the response to a pull: decides which case it is, then does the steps.
 *
 *   another lineage      the whole state is staged; kedge_store_rotate_lost puts it in
 *   retired, or outcomes about other mutations than ours: this client id is not ours alone: rotate
 *   a snapshot           its pages are staged
 *   a delta that starts elsewhere: pull again
 *   else                 the three steps, each of which may be repeated after a crash:
 *     (1) outbox: rejections go into the inbox, once a mutation
 *     (2) cache: canonical state, prediction, version, lmid in one transaction, durable
 *     (3) outbox: what the cache covers is deleted, the applied ones go to the tail
 *
 * A mutation is covered only by an outcome that carries its digest. An lmid that covers a mutation
 * of ours without an outcome for it is a fault of the server: KEDGE_PROTOCOL, and nothing is
 * changed. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"
#include <string.h>

typedef struct apply {
    const kedge_wire_pull_response *response;
    kedge_change_set *changes;
    kedge_apply_result result;
} apply;

kedge_status kedge_pull_state_read(kedge_store *store, kedge_pull_state *state, kedge_error *error)
{
    kedge_status status = kedge_outbox_meta_read(&store->outbox, &state->outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &state->cache, error);
    if (status == KEDGE_OK) status = kedge_staging_read(&store->cache, &state->staging, error);
    return status;
}

static bool is_whole(const kedge_wire_pull_response *response)
{
    return response->snapshot || (response->patch.count > 0 &&
                                  response->patch.operations[0].kind == KEDGE_WIRE_PATCH_CLEAR);
}

/* Every id below the lowest row of `pending` was covered once. A server that has decided fewer ids
 * was restored, even if it knows our lineage, or was not asked for it because the cache was
 * lost. */
static kedge_status is_lost(kedge_store *store, const kedge_pull_state *state,
                            const kedge_wire_pull_response *response, bool *lost,
                            kedge_error *error)
{
    int64_t lowest;
    kedge_cache_meta unknown = state->cache;
    unknown.lmid = 0;
    kedge_status status =
        kedge_outbox_lowest(&store->outbox, &state->outbox, &unknown, &lowest, error);
    if (status != KEDGE_OK) return status;
    *lost = response->lost || (is_whole(response) && response->lmid < lowest - 1);
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
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->cache, error);
    if (status == KEDGE_OK) *result = response->snapshot ? KEDGE_APPLY_PAGES : KEDGE_APPLY_LOST;
    return status;
}

static kedge_status three_steps(kedge_store *store, kedge_pull_state *state,
                                const kedge_wire_pull_response *response, kedge_change_set *changes,
                                kedge_error *error)
{
    kedge_cache_meta next = state->cache;
    KEDGE_ASSERT(response->version >= state->cache.version && response->lmid >= state->cache.lmid);
    KEDGE_ASSERT(response->lmid <= state->outbox.highest_id);
    kedge_store_phase(store, "pull-before-inbox");
    kedge_status status = kedge_pull_keep_rejections(store, state, &response->outcomes, error);
    if (status != KEDGE_OK) return status;
    kedge_store_phase(store, "pull-before-cache");
    status = kedge_pull_begin_durable(store, error);
    next.version = response->version;
    next.lmid = response->lmid;
    next.resyncing = false;
    memcpy(next.lineage, response->lineage, sizeof next.lineage);
    if (status == KEDGE_OK && state->staging.version >= 0)
        status = kedge_staging_drop(store, error);
    if (status == KEDGE_OK)
        status =
            kedge_prediction_rebase(store, &response->patch, &state->outbox, &next, changes, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->cache, error);
    kedge_pull_end_durable(store);
    if (status != KEDGE_OK) {
        kedge_changes_clear(changes);
        return status;
    }
    if (state->cache.resyncing) {
        kedge_store_forget_damaged(store);
        atomic_store(&store->check_due, true);
    }
    kedge_store_phase(store, "pull-before-delete");
    kedge_pull_note_settled(store, &state->outbox);
    kedge_pull_settle(store);
    kedge_store_phase(store, "pull-done");
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

static kedge_status decide(kedge_store *store, kedge_pull_state *state, apply *asked,
                           kedge_error *error)
{
    const kedge_wire_pull_response *response = asked->response;
    bool lost = false, rotate = false;
    kedge_status status = is_lost(store, state, response, &lost, error);
    if (status != KEDGE_OK) return status;
    if (lost) return stage_response(store, state, response, true, &asked->result, error);
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
    status = kedge_pull_check_outcomes(store, state, response->lmid, &response->outcomes, &rotate,
                                       error);
    if (status != KEDGE_OK || rotate) return status;
    if (response->snapshot)
        return stage_response(store, state, response, false, &asked->result, error);
    asked->result = KEDGE_APPLY_DONE;
    if (is_news(state, response)) return three_steps(store, state, response, asked->changes, error);
    kedge_pull_note_settled(store, &state->outbox);
    kedge_pull_settle(store);
    return KEDGE_OK;
}

static kedge_status apply_work(kedge_store *store, void *context, kedge_error *error)
{
    apply *asked = context;
    kedge_pull_state state;
    kedge_changes_clear(asked->changes);
    kedge_status status = kedge_prediction_repair(store, false, NULL, error);
    if (status == KEDGE_OK) status = kedge_pull_state_read(store, &state, error);
    if (status == KEDGE_OK) status = decide(store, &state, asked, error);
    return status;
}

kedge_status kedge_store_apply(kedge_store *store, const kedge_wire_pull_response *response,
                               kedge_apply_result *result, kedge_change_set *changes,
                               kedge_error *error)
{
    apply asked = {response, changes, KEDGE_APPLY_DONE};
    kedge_status status = kedge_store_check_patch(&response->patch, error);
    if (status == KEDGE_OK)
        status = kedge_store_take_telling_turn(store, apply_work, &asked, changes, error);
    if (status == KEDGE_OK) *result = asked.result;
    return status;
}
