/* Writing a prediction: only the rows of `item` and `base` that differ. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"
#include "common/error.h"

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
                               kedge_bytes id, key_state state, kedge_change_set *changes,
                               kedge_error *error)
{
    bool changed;
    kedge_store_db *db = &store->cache;
    kedge_changes_add(changes, collection, id);
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
            status = write_item(store, &next->items, entry.collection, entry.id, state_of(&entry),
                                changes, error);
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
                                    canonical.present ? &canonical.value : NULL, error);
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
        status = write_item(store, &next->items, all->collection, all->id, visible, changes, error);
    return status;
}

kedge_status kedge_prediction_write(kedge_store *store, const kedge_overlay *base,
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

kedge_status kedge_prediction_run(kedge_store *store, const kedge_call *call,
                                  kedge_overlay *overlay, kedge_error *error)
{
    kedge_tx *tx = NULL;
    KEDGE_ASSERT(store->locked && kedge_store_db_in_transaction(&store->cache));
    KEDGE_ASSERT(kedge_overlay_count(overlay) == 0);
    kedge_status status = kedge_tx_new(store->allocator, store->registry, overlay,
                                       kedge_cache_reader(&store->cache), &tx, error);
    if (status == KEDGE_OK) status = kedge_tx_run(tx, call, error);
    kedge_tx_free(tx);
    return status;
}
