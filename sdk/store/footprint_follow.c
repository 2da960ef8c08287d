/* The footprints follow the edits of other processes.
 *
 * Such an edit comes after all that is pending, and the canonical state stays. So the footprints
 * of the others still hold, and its own is made by running it once more:
 *
 *   before     the log of changes (change_log.c) has a row for each commit that another process
 *              makes beside this one. The oldest row of a key has the value that stood there before
 *              all of these edits
 *   run        the edits run in their order on these values, over the cache. The value that an edit
 *              replaces is kept with the mutation that wrote it, as after an edit of this process
 *   compare    they have written what is shown, and all that the log says was changed
 *
 * Where the log lacks a row, where something else than edits was committed, and where an edit does
 * otherwise now, there are no footprints any more. */
#include "sdk/store/prediction.h"

#include "common/error.h"

/* KEDGE_DONE: an edit did otherwise. */
static kedge_status compare(kedge_store *store, const kedge_overlay *before,
                            const kedge_overlay *prediction, kedge_error *error)
{
    kedge_overlay_entry entry, at, former;
    size_t left = kedge_overlay_count(before);
    bool same = true;
    kedge_status status = KEDGE_OK;
    for (bool more = kedge_overlay_next(prediction, NULL, &entry);
         more && same && status == KEDGE_OK; more = kedge_overlay_next(prediction, &at, &entry)) {
        at = entry;
        if (kedge_overlay_get(before, entry.collection, entry.id, &former)) left--;
        status = kedge_rerun_compare(store, prediction, &entry, &same, error);
    }
    return status == KEDGE_OK && (!same || left > 0) ? KEDGE_DONE : status;
}

static kedge_status run_missed(kedge_store *store, const kedge_cache_meta *cache, int64_t missed,
                               kedge_error *error)
{
    kedge_rerun work;
    kedge_overlay *before = kedge_overlay_new(store->allocator);
    kedge_overlay *prediction = kedge_overlay_new(store->allocator);
    kedge_overlay_view state = {before, kedge_cache_reader(&store->cache)};
    kedge_status status = kedge_rerun_begin(store, &work, prediction, kedge_overlay_reader(&state),
                                            cache->client, &store->footprints, error);
    if (!before || !prediction) status = kedge_fail_no_memory(error);
    if (status == KEDGE_OK)
        status = kedge_change_log_before(store, store->footprints_log, missed, before, error);
    if (status == KEDGE_OK)
        status =
            kedge_rerun_after(store, &work, cache, store->footprints_of.reflected_sequence, error);
    if (status == KEDGE_OK)
        status = work.footprints ? compare(store, before, prediction, error) : KEDGE_DONE;
    kedge_rerun_end(&work);
    kedge_overlay_free(prediction);
    kedge_overlay_free(before);
    return status;
}

kedge_status kedge_footprints_follow(kedge_store *store, const kedge_cache_meta *cache,
                                     kedge_error *error)
{
    kedge_cache_meta *of = &store->footprints_of;
    int64_t missed = cache->reflected_sequence - of->reflected_sequence;
    if (!store->footprints_known || kedge_store_has_footprints(store, cache)) return KEDGE_OK;
    kedge_status status = KEDGE_DONE;
    if (kedge_rerun_same_canonical(of, cache) && cache->revision - of->revision == missed)
        status = run_missed(store, cache, missed, error);
    if (status == KEDGE_OK) {
        *of = *cache;
        store->footprints_log += missed;
        return KEDGE_OK;
    }
    kedge_store_drop_footprints(store);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}
