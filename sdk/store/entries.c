/* The entries of a log project: a pull that brings mutations to replay becomes the pull that a
 * versioned project would have brought, with a patch and with outcomes. After that pull.c goes the
 * same way with both.
 *
 *   outcomes  one for each of our own mutations in the entries, with the digest that the entry has
 *   patch     what the replay changes: the mutations run in order over the canonical state (`base`
 *             laid over `item`), or over the empty state when the entries start from version 0
 *   hash      when the response has one, the hash of the canonical state with the patch over it is
 *             compared with it, before anything is written
 *
 * Nothing here writes to a file. The patch is held in memory; it borrows from the overlay.
 *
 * A mutation of ours that was renumbered may be appended twice: under its first (client, id) or by
 * a copy of this folder, and as a duplicate under the present one. The second tells nothing of how
 * the first was decided, and nor does the response to a retire. So a rejection of the first is put
 * into the inbox when it is replayed; the inbox shows it as soon as the row is covered. */
#include "sdk/store/entries.h"

#include "common/assert.h"
#include "common/error.h"
#include "mutate/replay.h"

#include <stdio.h>
#include <string.h>

/* ---- our own mutations ---- */

static kedge_status add_own(kedge_entries *entries, const kedge_wire_replay_entry *entry,
                            const char *client, kedge_error *error)
{
    for (size_t i = 0; i < entry->count; i++) {
        const kedge_wire_replay_mutation *mutation = &entry->mutations[i];
        kedge_wire_outcome outcome = {.id = mutation->id, .version = entry->version};
        if (!kedge_bytes_equal_text(mutation->client, client)) continue;
        size_t count = entries->as.outcomes.count;
        if (count > 0 && entries->as.outcomes.rows[count - 1].id >= mutation->id)
            return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                              "mutation %lld of this client follows one of the same or a higher id",
                              (long long)mutation->id);
        memcpy(outcome.digest, mutation->digest, sizeof outcome.digest);
        kedge_status status = kedge_wire_outcomes_add(&entries->as.outcomes, &outcome, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

/* Version 0 is the empty state. A cache that is at that version, and knows the lineage, has it. */
static bool starts_anew(const kedge_wire_pull_response *response, const kedge_cache_meta *cache)
{
    return response->from == 0 &&
           (response->lost || cache->version != 0 || cache->lineage[0] == '\0');
}

kedge_status kedge_entries_begin(kedge_store *store, const kedge_pull_state *state,
                                 const kedge_wire_pull_response *response, kedge_entries *entries,
                                 kedge_error *error)
{
    KEDGE_ASSERT(response->log.present && !response->snapshot && response->patch.count == 0);
    *entries = (kedge_entries){.store = store, .log = &response->log, .as = *response};
    entries->as.log = (kedge_wire_replay){.present = false};
    entries->as.patch = (kedge_wire_patch){.operations = NULL};
    entries->as.outcomes = kedge_wire_outcomes_make(store->allocator);
    entries->anew = starts_anew(response, &state->cache);
    if (entries->anew) {
        entries->clear.kind = KEDGE_WIRE_PATCH_CLEAR;
        entries->as.patch.operations = &entries->clear;
        entries->as.patch.count = 1;
    }
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < response->log.count && status == KEDGE_OK; i++)
        status = add_own(entries, &response->log.entries[i], state->outbox.client, error);
    return status;
}

void kedge_entries_free(kedge_entries *entries)
{
    if (!entries->store) return;
    const kedge_allocator *allocator = entries->store->allocator;
    if (entries->as.patch.operations != &entries->clear)
        kedge_release(allocator, entries->as.patch.operations);
    kedge_wire_outcomes_free(&entries->as.outcomes);
    kedge_release(allocator, entries->origins.rows);
    kedge_overlay_free(entries->changes);
    kedge_overlay_free(entries->base);
    *entries = (kedge_entries){.store = NULL};
}

/* ---- the replay ---- */

static kedge_replay_outcome decided_of(kedge_wire_replay_decision decision)
{
    switch (decision) {
    case KEDGE_WIRE_REPLAY_OPEN:
        return KEDGE_REPLAY_OPEN;
    case KEDGE_WIRE_REPLAY_REJECTED:
        return KEDGE_REPLAY_REJECTED;
    case KEDGE_WIRE_REPLAY_DUPLICATE:
        return KEDGE_REPLAY_DUPLICATE;
    case KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED:
        return KEDGE_REPLAY_DUPLICATE_REJECTED;
    }
    return KEDGE_REPLAY_OPEN;
}

static kedge_wire_decision outcome_of(kedge_replay_outcome outcome)
{
    switch (outcome) {
    case KEDGE_REPLAY_REJECTED:
        return KEDGE_WIRE_REJECTED;
    case KEDGE_REPLAY_DUPLICATE:
        return KEDGE_WIRE_DUPLICATE;
    case KEDGE_REPLAY_DUPLICATE_REJECTED:
        return KEDGE_WIRE_DUPLICATE_REJECTED;
    default:
        return KEDGE_WIRE_APPLIED;
    }
}

static void set_outcome(kedge_wire_outcome *outcome, const kedge_replay_decision *decision)
{
    outcome->decision = outcome_of(decision->outcome);
    (void)snprintf(outcome->code, sizeof outcome->code, "%s", decision->code);
    (void)snprintf(outcome->message, sizeof outcome->message, "%s", decision->message);
}

typedef struct replay {
    kedge_entries *entries;
    kedge_tx *tx;
    const char *client; /* ours */
    size_t own;         /* the next of our outcomes that is open */
} replay;

static void note_own(replay *work, const kedge_wire_replay_mutation *mutation,
                     const kedge_replay_decision *decision)
{
    kedge_wire_outcomes *own = &work->entries->as.outcomes;
    if (work->own == own->count || own->rows[work->own].id != mutation->id ||
        !kedge_bytes_equal_text(mutation->client, work->client))
        return;
    set_outcome(&own->rows[work->own++], decision);
}

static kedge_status replay_one(replay *work, int64_t version,
                               const kedge_wire_replay_mutation *mutation, kedge_error *error)
{
    kedge_replay_decision decision;
    kedge_replay_mutation decide = {.call = {.name = mutation->name,
                                             .args = mutation->args,
                                             .caller = {.user = mutation->user.data,
                                                        .role = mutation->role.data,
                                                        .client = mutation->client.data,
                                                        .now_ms = mutation->timestamp_ms},
                                             .args_are_canonical = true},
                                    .mutator = mutation->mutator,
                                    .decided = decided_of(mutation->decision),
                                    .code = mutation->code,
                                    .message = mutation->message};
    kedge_status status =
        kedge_replay_decide(work->tx, work->entries->store->registry, &decide, &decision, error);
    if (status != KEDGE_OK) return status;
    note_own(work, mutation, &decision);
    if (decision.outcome != KEDGE_REPLAY_REJECTED) return KEDGE_OK;
    kedge_wire_outcome outcome = {.id = mutation->id, .version = version};
    memcpy(outcome.digest, mutation->digest, sizeof outcome.digest);
    set_outcome(&outcome, &decision);
    kedge_origins *origins = &work->entries->origins;
    kedge_origins_reject(origins, mutation->client, mutation->id, &outcome);
    if (mutation->origin_client.size > 0)
        kedge_origins_reject(origins, mutation->origin_client, mutation->origin_id, &outcome);
    return KEDGE_OK;
}

static kedge_status replay_all(kedge_entries *entries, const kedge_pull_state *state,
                               kedge_state_reader canonical, kedge_error *error)
{
    replay work = {.entries = entries, .client = state->outbox.client};
    kedge_store *store = entries->store;
    kedge_status status = kedge_tx_new(store->allocator, store->registry, entries->changes,
                                       canonical, &work.tx, error);
    for (size_t i = 0; i < entries->log->count && status == KEDGE_OK; i++) {
        const kedge_wire_replay_entry *entry = &entries->log->entries[i];
        for (size_t j = 0; j < entry->count && status == KEDGE_OK; j++)
            status = replay_one(&work, entry->version, &entry->mutations[j], error);
    }
    kedge_tx_free(work.tx);
    KEDGE_ASSERT(status != KEDGE_OK || work.own == entries->as.outcomes.count);
    return status;
}

/* ---- the patch ---- */

static kedge_status make_patch(kedge_entries *entries, kedge_error *error)
{
    kedge_overlay_entry entry, at;
    size_t count = entries->as.patch.count; /* a clear, or nothing */
    size_t capacity = count + kedge_overlay_count(entries->changes);
    kedge_wire_patch_operation *operations = NULL;
    if (capacity == count) return KEDGE_OK;
    if (capacity <= SIZE_MAX / sizeof *operations)
        operations = kedge_allocate(entries->store->allocator, capacity * sizeof *operations);
    if (!operations) return kedge_fail_no_memory(error);
    if (count > 0) operations[0] = entries->clear;
    for (bool more = kedge_overlay_next(entries->changes, NULL, &entry); more;
         more = kedge_overlay_next(entries->changes, &at, &entry)) {
        at = entry;
        KEDGE_ASSERT(count < capacity);
        operations[count++] = (kedge_wire_patch_operation){
            .kind = entry.deleted ? KEDGE_WIRE_PATCH_DELETE : KEDGE_WIRE_PATCH_PUT,
            .collection = entry.collection,
            .id = entry.id,
            .value = entry.value};
    }
    entries->as.patch.operations = operations;
    entries->as.patch.count = count;
    return KEDGE_OK;
}

kedge_status kedge_entries_replay(kedge_entries *entries, const kedge_pull_state *state,
                                  bool *agrees, kedge_error *error)
{
    kedge_store *store = entries->store;
    uint8_t hash[KEDGE_SHA256_SIZE];
    KEDGE_ASSERT(!entries->changes && !entries->base);
    *agrees = true;
    entries->changes = kedge_overlay_new(store->allocator);
    entries->base = kedge_overlay_new(store->allocator);
    if (!entries->changes || !entries->base) return kedge_fail_no_memory(error);
    kedge_overlay_view view = {entries->base, kedge_cache_reader(&store->cache)};
    kedge_state_reader canonical =
        entries->anew ? kedge_state_reader_empty : kedge_overlay_reader(&view);
    kedge_status status = KEDGE_OK;
    if (!entries->anew)
        status = kedge_cache_load_base(&store->cache, &state->cache.bases, entries->base, error);
    if (status == KEDGE_OK) status = kedge_origins_load(store, state, &entries->origins, error);
    if (status == KEDGE_OK) status = replay_all(entries, state, canonical, error);
    if (status == KEDGE_OK) status = make_patch(entries, error);
    if (status != KEDGE_OK || !entries->log->hashed) return status;
    status =
        kedge_canonical_hash(store, entries->base, entries->changes, entries->anew, hash, error);
    *agrees = status != KEDGE_OK || memcmp(hash, entries->log->hash, sizeof hash) == 0;
    return status;
}
