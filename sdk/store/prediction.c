/* Rebase: the prediction is made again on a newer canonical state.
 *
 * The cache holds two tables. `item` is what the app reads: the prediction. `base` holds, for each
 * key where the prediction differs from the canonical state, the canonical value (NULL: no such
 * item). The canonical state is therefore `item` with `base` laid over it.
 *
 * A pull brings a patch: what changed between the canonical state that is here (`before`) and the
 * newer one (`after`). The rebase goes in four steps, all inside the cache's write transaction:
 *
 *   1. before      `base` is read into memory. It has no more keys than the pending mutations
 *                  touch. before = base over item; item stays on disk and is read by key.
 *   2. after       The patch becomes an overlay in memory, the delta. after = delta over before.
 *   3. prediction  The pending mutations run again, in order, on `after`. What they change stays
 *                  in memory, in the overlay `prediction`.
 *   4. write       Only a key of base, delta or prediction can have changed. For each of these,
 *                  `item` gets the predicted value (where nothing predicts one: that of `after`),
 *                  and `base` the value of `after` where the two differ. Rows that are right
 *                  already are not written.
 *
 * Example. The server has {a: 1}, and a pending mutation adds 10 to a: item {a: 11}, base {a: 1}.
 * A pull brings a = 5. before is {a: 1}, after is {a: 5}, the replay predicts a = 15, and the
 * write leaves item {a: 15}, base {a: 5}. Once a pull covers the mutation and brings a = 15, the
 * replay has nothing to run, and the write leaves item {a: 15} and no row in base.
 *
 * The cost depends on the pending mutations and on the patch, not on the size of the project. A
 * patch that clears is the exception: it deletes every key.
 *
 * Which mutations run again: all of the outbox that `next`, the meta of the new state, does not
 * cover, except the withheld ones. A withheld mutation may be in `after` already, and running it
 * twice would show its edit twice. A mutator that fails changes nothing here. Its mutation stays
 * pending, because only the server decides. */
#include "sdk/store/prediction.h"

#include "common/assert.h"
#include "common/error.h"
#include <string.h>

/* ---- does the prediction in the cache fit the outbox? The two meta rows tell ---- */

bool kedge_prediction_fits(const kedge_outbox_meta *outbox, const kedge_cache_meta *cache)
{
    return strcmp(outbox->client, cache->client) == 0 && outbox->revision == cache->revision &&
           outbox->last_sequence == cache->reflected_sequence && cache->lmid <= outbox->highest_id;
}

bool kedge_prediction_outbox_is_older(const kedge_outbox_meta *outbox,
                                      const kedge_cache_meta *cache)
{
    return cache->revision > outbox->revision ||
           cache->reflected_sequence > outbox->last_sequence ||
           (outbox->ask_settled > KEDGE_ASK_SETTLED && cache->revision < outbox->ask_settled);
}

void kedge_prediction_doubt(const kedge_outbox_meta *outbox, kedge_cache_meta *cache)
{
    if (kedge_prediction_outbox_is_older(outbox, cache)) cache->lmid = 0;
}

void kedge_prediction_count_lost(kedge_outbox_meta *outbox, const kedge_cache_meta *cache)
{
    int64_t lost = cache->reflected_sequence - outbox->last_sequence;
    if (lost <= 0) return;
    outbox->unrecovered += lost;
    outbox->last_sequence = cache->reflected_sequence;
    outbox->sent_through = outbox->highest_id; /* not known, so that no edit can be cancelled */
    /* Both files have the same last sequence now, so it no longer shows that the outbox is older. A
     * raised revision, kept in ask_settled, shows it from now on. */
    if (outbox->revision >= cache->revision) outbox->ask_settled = ++outbox->revision;
}

/* ---- writing: only the rows of `item` and `base` that differ ---- */

/* A value, or its absence. */
typedef struct key_state {
    bool present;
    kedge_bytes value;
} key_state;

static key_state state_of(const kedge_overlay_entry *entry)
{
    return (key_state){!entry->deleted, entry->value};
}

static bool same_state(key_state a, key_state b)
{
    return a.present == b.present && (!a.present || kedge_bytes_equal(a.value, b.value));
}

static kedge_status read_item(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                              key_state *state, kedge_error *error)
{
    *state = (key_state){0};
    kedge_status status = kedge_cache_item(&store->cache, collection, id, &state->value, error);
    state->present = status == KEDGE_OK;
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status write_item(kedge_store *store, kedge_row_total *items, kedge_bytes collection,
                               kedge_bytes id, key_state before, key_state state,
                               kedge_change_set *changes, kedge_error *error)
{
    bool changed;
    kedge_store_db *db = &store->cache;
    kedge_changes_add(changes, collection, id, before.present ? &before.value : NULL,
                      state.present ? &state.value : NULL);
    if (!state.present) return kedge_cache_delete(db, items, collection, id, &changed, error);
    return kedge_cache_put(db, items, collection, id, state.value, &changed, error);
}

kedge_status kedge_prediction_write_run(kedge_store *store, const kedge_overlay *overlay,
                                        kedge_cache_meta *next, kedge_change_set *changes,
                                        kedge_error *error)
{
    kedge_overlay_entry entry, at;
    key_state before;
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->cache));
    for (bool more = kedge_overlay_next(overlay, NULL, &entry); more;
         more = kedge_overlay_next(overlay, &at, &entry)) {
        at = entry;
        kedge_status status = read_item(store, entry.collection, entry.id, &before, error);
        if (status == KEDGE_OK && same_state(before, state_of(&entry))) continue;
        if (status == KEDGE_OK)
            status = kedge_cache_keep_base(&store->cache, &next->bases, entry.collection, entry.id,
                                           before.present ? &before.value : NULL, error);
        if (status == KEDGE_OK)
            status = write_item(store, &next->items, entry.collection, entry.id, before,
                                state_of(&entry), changes, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

/* ---- the walk over three maps at once, in key order ---- */

typedef enum source { BASE, DELTA, PREDICTION, SOURCES } source;

typedef struct key_cursor {
    const kedge_overlay *overlays[SOURCES];
    kedge_overlay_entry entries[SOURCES];
    bool has[SOURCES]; /* there is an entry left */
    bool at[SOURCES];  /* the entry is under the present key */
    kedge_bytes collection;
    kedge_bytes id;
} key_cursor;

static int compare_keys(const kedge_overlay_entry *a, const kedge_overlay_entry *b)
{
    int order = kedge_bytes_compare(a->collection, b->collection);
    return order ? order : kedge_bytes_compare(a->id, b->id);
}

static key_cursor key_cursor_start(const kedge_overlay *base, const kedge_overlay *delta,
                                   const kedge_overlay *prediction)
{
    key_cursor all = {.overlays = {base, delta, prediction}};
    for (int i = 0; i < SOURCES; i++)
        all.has[i] = kedge_overlay_next(all.overlays[i], NULL, &all.entries[i]);
    return all;
}

/* The cursor visits each key once, in ascending order. */
static bool is_behind(const key_cursor *all, const kedge_overlay_entry *entry)
{
    const kedge_overlay_entry last = {.collection = all->collection, .id = all->id};
    bool first = true;
    for (int i = 0; i < SOURCES; i++)
        first = first && !all->at[i];
    return first || compare_keys(&last, entry) < 0;
}

static bool key_cursor_next(key_cursor *all)
{
    const kedge_overlay_entry *lowest = NULL;
    for (int i = 0; i < SOURCES; i++) {
        if (all->at[i]) {
            kedge_overlay_entry passed = all->entries[i];
            all->has[i] = kedge_overlay_next(all->overlays[i], &passed, &all->entries[i]);
        }
    }
    for (int i = 0; i < SOURCES; i++)
        if (all->has[i] && (!lowest || compare_keys(&all->entries[i], lowest) < 0))
            lowest = &all->entries[i];
    if (!lowest) return false;
    KEDGE_ASSERT(is_behind(all, lowest));
    for (int i = 0; i < SOURCES; i++)
        all->at[i] = all->has[i] && compare_keys(&all->entries[i], lowest) == 0;
    all->collection = lowest->collection;
    all->id = lowest->id;
    return true;
}

static kedge_status write_base(kedge_store *store, kedge_row_total *bases, const key_cursor *all,
                               key_state canonical, bool differs, kedge_error *error)
{
    bool has = all->at[BASE];
    if (differs && !(has && same_state(state_of(&all->entries[BASE]), canonical)))
        return kedge_cache_put_base(&store->cache, bases, all->collection, all->id,
                                    canonical.present ? &canonical.value : NULL, has, error);
    if (!differs && has)
        return kedge_cache_delete_base(&store->cache, bases, all->collection, all->id, error);
    return KEDGE_OK;
}

static kedge_status write_key(kedge_store *store, const key_cursor *all, kedge_cache_meta *next,
                              kedge_change_set *changes, kedge_error *error)
{
    key_state before;
    kedge_status status = read_item(store, all->collection, all->id, &before, error);
    if (status != KEDGE_OK) return status;
    key_state canonical = before;
    if (all->at[BASE]) canonical = state_of(&all->entries[BASE]);
    if (all->at[DELTA]) canonical = state_of(&all->entries[DELTA]);
    key_state visible = canonical;
    if (all->at[PREDICTION]) visible = state_of(&all->entries[PREDICTION]);
    status =
        write_base(store, &next->bases, all, canonical, !same_state(visible, canonical), error);
    if (status == KEDGE_OK && !same_state(visible, before))
        status = write_item(store, &next->items, all->collection, all->id, before, visible, changes,
                            error);
    return status;
}

static kedge_status write_prediction(kedge_store *store, const kedge_overlay *base,
                                     const kedge_overlay *delta, const kedge_overlay *prediction,
                                     kedge_cache_meta *next, kedge_change_set *changes,
                                     kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->cache));
    key_cursor all = key_cursor_start(base, delta, prediction);
    while (status == KEDGE_OK && key_cursor_next(&all))
        status = write_key(store, &all, next, changes, error);
    return status;
}

/* ---- the rebase ---- */

/* A clear, as deletions of all that is canonical now. */
static kedge_status delta_clear(kedge_store *store, const kedge_overlay *base, kedge_overlay *delta,
                                kedge_error *error)
{
    static const char *const sql = "{in_order item}";
    sqlite3_stmt *cursor;
    kedge_cache_row row;
    kedge_overlay_entry entry, at;
    KEDGE_ASSERT(kedge_store_db_in_transaction(&store->cache));
    kedge_overlay_clear(delta);
    for (bool more = kedge_overlay_next(base, NULL, &entry); more;
         more = kedge_overlay_next(base, &at, &entry)) {
        kedge_status status = kedge_overlay_delete(delta, entry.collection, entry.id, error);
        if (status != KEDGE_OK) return status;
        at = entry;
    }
    kedge_status status = kedge_store_db_take(&store->cache, sql, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(&store->cache, cursor, error)) == KEDGE_OK) {
        kedge_bytes collection;
        if (kedge_row_read_any(KEDGE_ROW_ITEM, cursor, &collection, &row))
            status = kedge_overlay_delete(delta, collection, row.id, error);
        else
            status = kedge_row_fail(&store->cache, "item", collection, row.id, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status delta_make(kedge_store *store, const kedge_wire_patch *patch,
                               const kedge_overlay *base, kedge_overlay *delta, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; patch && i < patch->count && status == KEDGE_OK; i++) {
        const kedge_wire_patch_operation *operation = &patch->operations[i];
        if (operation->kind == KEDGE_WIRE_PATCH_CLEAR)
            status = delta_clear(store, base, delta, error);
        else if (operation->kind == KEDGE_WIRE_PATCH_DELETE)
            status = kedge_overlay_delete(delta, operation->collection, operation->id, error);
        else
            status = kedge_overlay_put(delta, operation->collection, operation->id,
                                       operation->value, error);
    }
    return status;
}

static kedge_status rebase_in_memory(kedge_store *store, const kedge_wire_patch *patch,
                                     const kedge_overlay *base, kedge_cache_meta *next,
                                     kedge_change_set *changes, kedge_error *error)
{
    kedge_status status = KEDGE_NO_MEMORY;
    kedge_overlay *delta = kedge_overlay_new(store->allocator);
    kedge_overlay *prediction = kedge_overlay_new(store->allocator);
    kedge_overlay_view before = {base, kedge_cache_reader(&store->cache)};
    kedge_overlay_view after = {delta, kedge_overlay_reader(&before)};
    if (!delta || !prediction) {
        kedge_fail_no_memory(error);
        goto out;
    }
    status = delta_make(store, patch, base, delta, error);
    if (status == KEDGE_OK)
        status = kedge_replay_pending(store, next, kedge_overlay_reader(&after), prediction, error);
    if (status == KEDGE_OK)
        status = write_prediction(store, base, delta, prediction, next, changes, error);
out:
    kedge_overlay_free(prediction);
    kedge_overlay_free(delta);
    return status;
}

/* The same where the footprints tell which mutations need not run. KEDGE_DONE: they do not tell
 * enough, and nothing was written. */
static kedge_status advance_in_memory(kedge_store *store, const kedge_wire_patch *patch,
                                      int64_t other, kedge_cache_meta *next,
                                      kedge_change_set *changes, kedge_error *error)
{
    kedge_status status = KEDGE_NO_MEMORY;
    kedge_overlay *base = kedge_overlay_new(store->allocator);
    kedge_overlay *delta = kedge_overlay_new(store->allocator);
    kedge_overlay *prediction = kedge_overlay_new(store->allocator);
    if (base && delta && prediction) status = delta_make(store, patch, base, delta, error);
    if (status == KEDGE_OK)
        status = kedge_replay_again(store, next, other, delta, base, prediction, error);
    /* The run of all needs less memory. It fails at once when SQLite has ended a transaction. */
    if (status == KEDGE_NO_MEMORY) status = KEDGE_DONE;
    if (status == KEDGE_OK)
        status = write_prediction(store, base, delta, prediction, next, changes, error);
    kedge_overlay_free(prediction);
    kedge_overlay_free(delta);
    kedge_overlay_free(base);
    return status;
}

static kedge_status stream_one(kedge_store *store, const kedge_wire_patch_operation *operation,
                               kedge_row_total *items, kedge_change_set *changes,
                               kedge_error *error)
{
    bool changed = false;
    kedge_store_db *db = &store->cache;
    kedge_bytes collection = operation->collection;
    kedge_status status;
    if (operation->kind == KEDGE_WIRE_PATCH_DELETE)
        status = kedge_cache_delete(db, items, collection, operation->id, &changed, error);
    else
        status = kedge_cache_put(db, items, collection, operation->id, operation->value, &changed,
                                 error);
    if (status == KEDGE_OK && changed)
        kedge_changes_add(changes, collection, operation->id, NULL, NULL);
    return status;
}

/* The same for a change set with values: the row is read first. */
static kedge_status stream_told(kedge_store *store, const kedge_wire_patch_operation *operation,
                                kedge_row_total *items, kedge_change_set *changes,
                                kedge_error *error)
{
    key_state before;
    key_state after = {operation->kind != KEDGE_WIRE_PATCH_DELETE, operation->value};
    kedge_status status = read_item(store, operation->collection, operation->id, &before, error);
    if (status != KEDGE_OK || same_state(before, after)) return status;
    return write_item(store, items, operation->collection, operation->id, before, after, changes,
                      error);
}

/* With nothing pending before or after, the patch goes straight into `item`. */
static kedge_status stream_patch(kedge_store *store, const kedge_wire_patch *patch,
                                 kedge_row_total *items, kedge_change_set *changes,
                                 kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; patch && i < patch->count && status == KEDGE_OK; i++) {
        const kedge_wire_patch_operation *operation = &patch->operations[i];
        if (operation->kind == KEDGE_WIRE_PATCH_CLEAR) {
            kedge_changes_all(changes);
            status = kedge_cache_clear(&store->cache, items, error);
        } else if (changes && changes->values && !changes->all) {
            status = stream_told(store, operation, items, changes, error);
        } else {
            status = stream_one(store, operation, items, changes, error);
        }
    }
    return status;
}

static kedge_status nothing_pending(kedge_store *store, const kedge_cache_meta *next, bool *none,
                                    kedge_error *error)
{
    sqlite3_stmt *cursor;
    kedge_pending row;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, next, &cursor, error);
    if (status != KEDGE_OK) return status;
    status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error);
    sqlite3_reset(cursor);
    *none = status == KEDGE_DONE;
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status rebase_all(kedge_store *store, const kedge_wire_patch *patch,
                               kedge_cache_meta *next, kedge_change_set *changes,
                               kedge_error *error)
{
    bool none;
    kedge_overlay *base = kedge_overlay_new(store->allocator);
    if (!base) return kedge_fail_no_memory(error);
    kedge_store_restart_footprints(store);
    kedge_status status = kedge_cache_load_base(&store->cache, &next->bases, base, error);
    if (status == KEDGE_OK) status = nothing_pending(store, next, &none, error);
    if (status == KEDGE_OK && none && kedge_overlay_count(base) == 0)
        status = stream_patch(store, patch, &next->items, changes, error);
    else if (status == KEDGE_OK)
        status = rebase_in_memory(store, patch, base, next, changes, error);
    kedge_overlay_free(base);
    return status;
}

static kedge_status finish_rebase(kedge_store *store, const kedge_outbox_meta *outbox,
                                  kedge_cache_meta *next, kedge_error *error)
{
    next->revision = outbox->revision;
    next->reflected_sequence = outbox->last_sequence;
    KEDGE_ASSERT(kedge_prediction_fits(outbox, next));
    return kedge_cache_meta_write(&store->cache, next, error);
}

static void check_rebase(const kedge_store *store, const kedge_outbox_meta *outbox,
                         const kedge_cache_meta *next)
{
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->cache));
    KEDGE_ASSERT(strcmp(next->client, outbox->client) == 0);
    KEDGE_ASSERT(next->revision <= outbox->revision);
    KEDGE_ASSERT(next->reflected_sequence <= outbox->last_sequence);
    (void)store, (void)outbox, (void)next;
}

kedge_status kedge_prediction_rebase(kedge_store *store, const kedge_wire_patch *patch,
                                     const kedge_outbox_meta *outbox, kedge_cache_meta *next,
                                     kedge_change_set *changes, kedge_error *error)
{
    check_rebase(store, outbox, next);
    kedge_status status = rebase_all(store, patch, next, changes, error);
    return status == KEDGE_OK ? finish_rebase(store, outbox, next, error) : status;
}

static bool clears(const kedge_wire_patch *patch)
{
    for (size_t i = 0; patch && i < patch->count; i++)
        if (patch->operations[i].kind == KEDGE_WIRE_PATCH_CLEAR) return true;
    return false;
}

kedge_status kedge_prediction_advance(kedge_store *store, const kedge_wire_patch *patch,
                                      int64_t other, const kedge_outbox_meta *outbox,
                                      const kedge_cache_meta *before, kedge_cache_meta *next,
                                      kedge_change_set *changes, kedge_error *error)
{
    kedge_status status = KEDGE_DONE;
    check_rebase(store, outbox, next);
    if (!clears(patch) && kedge_store_has_footprints(store, before))
        status = advance_in_memory(store, patch, other, next, changes, error);
    if (status == KEDGE_DONE) status = rebase_all(store, patch, next, changes, error);
    return status == KEDGE_OK ? finish_rebase(store, outbox, next, error) : status;
}
