/* Footprints of what is pending already, before a pull or a cancel.
 *
 * Both run again only what reads something else now, and the footprints tell what that is
 * (rebase.h). After an opening, a pull or a cancel of another process, or edits of one that the
 * change log does not list, there are none, and all that is pending would run in one turn, while
 * edits wait. So the mutations run before that turn, in turns of a few milliseconds, and an edit
 * may come between two of them:
 *
 *   run       the pending mutations, in their order, on the canonical state of now. What they write
 *             stays in memory. An edit that came in between runs after all others
 *   compare   what they have written with what is shown, and whether they have written all that
 *             is predicted. Where these differ, as in an app whose mutator does otherwise now,
 *             there can be no footprints
 *   keep      the footprints are those of the store, for the cache as it is in this turn
 *
 * Nothing is written. When there can be no footprints, all run in one turn. A store that is to be
 * closed ends the run between two turns, and drops the pull. */
#include "sdk/store/prediction.h"

#include "common/error.h"
#include <string.h>

typedef struct retrace {
    const kedge_wire_pull_response *pull; /* NULL: for a cancel */
    bool begun;
    bool more;                /* another turn is needed */
    kedge_outbox_meta outbox; /* at the last turn */
    kedge_cache_meta cache;
    kedge_overlay *base;
    kedge_overlay_view canonical; /* `base` over the cache */
    kedge_overlay *prediction;
    kedge_footprints footprints;
    kedge_rerun replay;
    int64_t through;  /* the sequence of the last mutation that ran */
    int64_t compared; /* and of the last one whose writes were compared */
    int left;         /* how many may still run, or be compared, in this turn */
    int64_t began_ms; /* the turn, by the monotonic clock */
    int loads;        /* how often `base` may still be read: all of it, after an edit */
} retrace;

static void forget(retrace *work)
{
    if (!work->begun) return;
    kedge_rerun_end(&work->replay);
    kedge_overlay_free(work->prediction);
    kedge_overlay_free(work->base);
    kedge_footprints_clear(&work->footprints);
    work->begun = false;
}

static kedge_status begin(kedge_store *store, retrace *work)
{
    kedge_store_drop_footprints(store); /* they are of another cache */
    work->begun = true;
    work->loads = KEDGE_RETRACE_LOADS;
    work->through = work->compared = INT64_MIN;
    work->base = kedge_overlay_new(store->allocator);
    work->prediction = kedge_overlay_new(store->allocator);
    work->canonical = (kedge_overlay_view){work->base, kedge_cache_reader(&store->cache)};
    work->footprints = store->footprints; /* none, with the same limits */
    kedge_status status = kedge_rerun_begin(store, &work->replay, work->prediction,
                                            kedge_overlay_reader(&work->canonical),
                                            work->cache.client, &work->footprints, NULL);
    return work->base && work->prediction ? status : KEDGE_NO_MEMORY;
}

/* ---- a turn ---- */

static int64_t now_ms(const kedge_store *store)
{
    return store->environment->monotonic_ms(store->environment->context);
}

/* One at least. */
static bool may_go_on(const kedge_store *store, retrace *work)
{
    bool late = work->left == 0 || now_ms(store) - work->began_ms >= KEDGE_RETRACE_MS;
    return work->left-- == KEDGE_RETRACE_ROWS || !late;
}

/* KEDGE_DONE: all have run. */
static kedge_status run_some(kedge_store *store, retrace *work)
{
    sqlite3_stmt *cursor;
    kedge_pending row;
    kedge_status status =
        kedge_outbox_cursor_open_behind(&store->outbox, &work->cache, work->through, &cursor, NULL);
    work->left = KEDGE_RETRACE_ROWS;
    while (status == KEDGE_OK && work->replay.footprints && may_go_on(store, work)) {
        status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, NULL);
        if (status != KEDGE_OK) break;
        work->through = row.sequence;
        status = kedge_rerun_row(store, &work->replay, &row, NULL);
    }
    sqlite3_reset(cursor);
    return status;
}

/* Each key at its last write, whose value is shown. KEDGE_DONE: all are the same. */
static kedge_status compare_some(kedge_store *store, retrace *work, bool *same)
{
    const kedge_footprint *row;
    kedge_status status = KEDGE_OK;
    work->left = KEDGE_RETRACE_ROWS;
    while ((row = kedge_footprints_from(&work->footprints, work->compared + 1))) {
        if (!may_go_on(store, work)) return KEDGE_OK;
        for (size_t i = 0; i < row->key_count && status == KEDGE_OK && *same; i++)
            if (kedge_key_use_of(row->keys[i], row->sequence)->kind == KEDGE_USE_SHOWN)
                status = kedge_rerun_compare(store, work->prediction, &row->keys[i]->node.entry,
                                             same, NULL);
        if (status != KEDGE_OK || !*same) return status;
        work->compared = row->sequence;
    }
    return KEDGE_DONE;
}

/* `base` has a value under each key that is predicted. One that nothing wrote now is predicted
 * wrongly. */
static bool wrote_all(const retrace *work)
{
    kedge_overlay_entry key, at, predicted;
    for (bool more = kedge_overlay_next(work->base, NULL, &key); more;
         more = kedge_overlay_next(work->base, &at, &key)) {
        at = key;
        if (!kedge_overlay_get(work->prediction, key.collection, key.id, &predicted)) return false;
    }
    return true;
}

/* Edits of other processes may have run, too. Their rows of the change log are behind the last one
 * that this store has told. */
static kedge_status keep(kedge_store *store, retrace *work)
{
    kedge_status status = kedge_store_db_number(&store->cache, "{newest}", &store->log_last, NULL);
    if (status != KEDGE_OK) return status;
    kedge_store_restart_footprints(store);
    store->untraceable_rows = 0;
    store->footprints = work->footprints;
    kedge_footprints_init(&work->footprints, store->allocator);
    kedge_store_stamp_footprints(store, &work->cache);
    return KEDGE_DONE;
}

/* Whether the pull is one of changes, which leaves at least half of the edits pending. */
static bool leaves_half(const kedge_wire_pull_response *pull, const kedge_outbox_meta *outbox,
                        const kedge_cache_meta *cache)
{
    bool news = pull->version > cache->version || pull->lmid > cache->lmid;
    int64_t left = outbox->highest_id - pull->lmid;
    return news && pull->from == cache->version && left >= outbox->pending_rows - left;
}

/* What was too much for footprints is not tried again until it is much less. */
static bool is_of_use(const kedge_store *store, const kedge_wire_pull_response *pull,
                      const kedge_outbox_meta *outbox, const kedge_cache_meta *cache)
{
    int64_t most = store->untraceable_rows - store->untraceable_rows / 4;
    return outbox->pending_rows > 0 && (most == 0 || outbox->pending_rows < most) &&
           (!pull || leaves_half(pull, outbox, cache)) && kedge_prediction_fits(outbox, cache) &&
           !kedge_store_has_footprints(store, cache);
}

/* Whether nothing but new edits came since the last turn: each raises both numbers, and what else
 * changes pending mutations raises the revision alone. */
static bool can_resume(const retrace *work, const kedge_outbox_meta *outbox,
                       const kedge_cache_meta *cache)
{
    const kedge_outbox_meta *before = &work->outbox;
    return kedge_rerun_same_canonical(&work->cache, cache) &&
           outbox->ask_settled == before->ask_settled &&
           outbox->revision - before->revision == outbox->last_sequence - before->last_sequence;
}

static kedge_status go_on(kedge_store *store, retrace *work, bool edited)
{
    bool same = true;
    kedge_status status = work->begun ? KEDGE_OK : begin(store, work);
    if (status == KEDGE_OK && edited) {
        kedge_overlay_clear(work->base);
        status = kedge_cache_load_base(&store->cache, &work->cache.bases, work->base, NULL);
    }
    if (status == KEDGE_OK) status = run_some(store, work);
    if (!work->replay.footprints) {
        if (work->footprints.bytes > work->footprints.bytes_max / 2)
            store->untraceable_rows = work->outbox.pending_rows;
        return KEDGE_OK;
    }
    if (status == KEDGE_DONE) status = compare_some(store, work, &same);
    if (status == KEDGE_DONE && wrote_all(work)) status = keep(store, work);
    work->more = status == KEDGE_OK && same;
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status one_turn(kedge_store *store, void *context, kedge_error *error)
{
    retrace *work = context;
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    (void)error; /* a failure of the files is told by the turn that follows */
    work->more = false;
    work->began_ms = now_ms(store);
    /* All rows are read in one transaction: each of its own would take the locks of the file. */
    kedge_status status = kedge_store_db_execute(&store->outbox, "BEGIN", NULL);
    if (status == KEDGE_OK) status = kedge_store_db_execute(&store->cache, "BEGIN", NULL);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&store->outbox, &outbox, NULL);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, NULL);
    if (status == KEDGE_OK) status = kedge_footprints_follow(store, &cache, NULL);
    if (status != KEDGE_OK || !is_of_use(store, work->pull, &outbox, &cache) ||
        (work->begun && !can_resume(work, &outbox, &cache)))
        return status;
    bool edited = !work->begun || outbox.last_sequence != work->outbox.last_sequence;
    if (work->begun && edited && work->loads-- == 0) return KEDGE_OK;
    work->outbox = outbox;
    work->cache = cache;
    status = go_on(store, work, edited);
    if (status != KEDGE_OK) forget(work); /* the turn may be repeated */
    return status;
}

void kedge_store_retrace(kedge_store *store, const kedge_wire_pull_response *pull)
{
    retrace work = {.pull = pull, .more = true};
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && work.more && !(pull && atomic_load(&store->pulls_stopped))) {
        status = kedge_store_take_turn(store, one_turn, &work, NULL);
        if (work.begun) kedge_store_give_way(store);
    }
    forget(&work);
}
