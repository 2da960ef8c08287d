/* Making the prediction fit again: after a crash between the two commits of an edit, after a
 * rotation that was cut short, and when one of the two files is older than the other.
 *
 * The cache's lmid tells which edits of its own client id are in its canonical state. It does not
 * tell this of edits that had another id before. Edits that may be in that state already are
 * withheld from the prediction until the server has told their outcomes:
 *
 *   mutations that were renumbered     a rotation marks them itself (rotate.c)
 *   an outbox older than the cache     what the cache covers: the outbox may have lost how it was
 *                                      decided; when the client is another one, everything; and
 *                                      everything when an edit may have been cancelled since
 *
 * The repair writes the outbox first, then the cache. That commit of the outbox raises its revision
 * above the cache's, so that nothing would tell any more that it was older. So it notes in
 * `ask_settled` at which revision it was: until the cache reflects that one, the outbox counts as
 * older still, and the repair is done again, however often it is cut short. */
#include "sdk/store/prediction.h"

#include "common/assert.h"
#include <string.h>

typedef struct misfit {
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_staging staging;
    bool older;   /* the cache reflects commits that the outbox does not have */
    bool unsure;  /* these commits may have cancelled edits that are pending in the outbox */
    bool same;    /* the client */
    bool rotated; /* see is_half_rotated */
} misfit;

static kedge_status withhold(kedge_store_db *db, misfit *at, kedge_error *error)
{
    static const char *const covered =
        "UPDATE pending SET withheld = 2 WHERE covered_version IS NULL"
        " AND client = ?1 AND id <= ?2";
    /* Also what waits for a version: it may be one of a lineage that is lost. */
    static const char *const all = "UPDATE pending SET withheld = 2";
    KEDGE_ASSERT(kedge_store_db_in_transaction(db));
    KEDGE_ASSERT(at->older || at->cache.lmid > at->outbox.highest_id);
    kedge_status status = kedge_doubt_check_rows(db, error);
    bool some = at->same && !at->unsure;
    /* 0: an earlier repair has reset it, so it is not known how much is decided. */
    int64_t decided = at->cache.lmid > 0 ? at->cache.lmid : INT64_MAX;
    if (status == KEDGE_OK && some)
        status = kedge_store_db_change(db, covered, error, "ci", at->cache.client, decided);
    else if (status == KEDGE_OK)
        status = kedge_store_db_change(db, all, error, "");
    if (status == KEDGE_OK) status = kedge_outbox_seal_all(db, error);
    if (status == KEDGE_OK) status = kedge_outbox_count_pending(db, &at->outbox, error);
    return status;
}

/* The outbox has the rotation of a lost lineage, but its new state is still staged. */
static bool is_half_rotated(const kedge_outbox_meta *outbox, const kedge_staging *staging)
{
    return staging->version >= 0 && staging->lost && staging->complete &&
           staging->version == outbox->settled_version &&
           strcmp(staging->lineage, outbox->settled_lineage) == 0;
}

static kedge_status finish_rotation(kedge_store *store, const kedge_staging *staging,
                                    kedge_cache_meta *cache, kedge_error *error)
{
    KEDGE_ASSERT(kedge_store_db_in_transaction(&store->cache));
    KEDGE_ASSERT(staging->lost && staging->complete);
    kedge_status status = kedge_staging_swap(store, staging, cache, error);
    if (status == KEDGE_OK) status = kedge_staging_drop(store, error);
    cache->version = staging->version;
    cache->resyncing = false;
    memcpy(cache->lineage, staging->lineage, sizeof cache->lineage);
    return status;
}

static kedge_status read_misfit(kedge_store *store, misfit *at, kedge_error *error)
{
    kedge_status status = kedge_outbox_meta_read(&store->outbox, &at->outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &at->cache, error);
    if (status == KEDGE_OK) status = kedge_staging_read(&store->cache, &at->staging, error);
    if (status != KEDGE_OK) return status;
    at->older = kedge_prediction_outbox_is_older(&at->outbox, &at->cache);
    /* An edit raises both numbers; what raises the revision alone may have been a kedge_cancel. */
    at->unsure = at->cache.revision > at->outbox.revision &&
                 at->cache.revision - at->outbox.revision >
                     at->cache.reflected_sequence - at->outbox.last_sequence;
    at->same = strcmp(at->outbox.client, at->cache.client) == 0;
    at->rotated = !at->same && !at->older && is_half_rotated(&at->outbox, &at->staging);
    return KEDGE_OK;
}

/* Whether the cache may contain edits of which it does not tell. */
static bool must_withhold(const misfit *at)
{
    if (at->unsure) return true;
    if (at->cache.version == 0) return false; /* it has none */
    if (at->same) return at->older || at->cache.lmid > at->outbox.highest_id;
    return at->older;
}

/* Done once: an interrupted repair has already done it. */
static void note_older(misfit *at)
{
    kedge_outbox_meta *outbox = &at->outbox;
    kedge_prediction_count_lost(outbox, &at->cache);
    if (outbox->revision > at->cache.revision) return;
    /* Never again a revision that the cache has had with other contents. */
    outbox->revision = at->cache.revision + 1;
    outbox->ask_settled = outbox->revision;
    KEDGE_ASSERT(outbox->ask_settled > KEDGE_ASK_SETTLED);
    outbox->sent_through = outbox->highest_id; /* not known, so that no edit can be cancelled */
}

/* The cache may be an old copy, of another lineage than the one in which the tail was settled. A
 * pull that starts from it would not tell that the tail is lost, so the next pull asks. When the
 * cache only missed the last commit, it need not have asked. */
static kedge_status ask_for_tail(kedge_store *store, misfit *at, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    kedge_outbox_meta *outbox = &at->outbox;
    bool behind = !at->older && at->cache.revision > 0 && at->cache.revision < outbox->revision;
    if (!behind || outbox->settled_version == 0 || outbox->ask_settled != 0 || db->rehearsing)
        return KEDGE_OK;
    outbox->ask_settled = KEDGE_ASK_SETTLED;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(db, outbox, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(db, error);
    if (status != KEDGE_DISK_FULL) return status;
    /* The folder can be read nevertheless. */
    kedge_store_db_rollback(db);
    outbox->ask_settled = 0;
    return KEDGE_OK;
}

/* The outbox's half: what the cache covers leaves `pending` while the cache still says so, and what
 * may be decided is withheld. And edits that the outbox lacks are counted, once, and their
 * sequences are not given out again: a commit of the outbox is durable before the cache reflects
 * it, so a cache that reflects more has seen commits that outbox.db has lost since. SQLite reads a
 * damaged WAL up to the damage, and says nothing. */
static kedge_status repair_outbox(kedge_store *store, misfit *at, kedge_error *error)
{
    kedge_store_db *db = &store->outbox;
    int64_t now_ms = store->environment->now_ms(store->environment->context);
    bool covers = !at->same && !at->older;
    bool hides = must_withhold(at);
    if (!covers && !at->older && !hides) return KEDGE_OK;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK && covers)
        status = kedge_outbox_settle(db, &at->cache, &at->outbox, now_ms, true, error);
    if (status == KEDGE_OK && hides) status = withhold(db, at, error);
    if (at->older) note_older(at);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(db, &at->outbox, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(db, error);
    return status;
}

/* The cache's half. Its lmid says nothing of a client that is not its own. Of an older outbox it
 * says that mutations are decided whose rejections the outbox may have lost, and of ids that it
 * will give out once more. */
static kedge_status repair_cache(kedge_store *store, misfit *at, kedge_change_set *changes,
                                 kedge_error *error)
{
    kedge_cache_meta next = at->cache;
    kedge_status status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK && at->rotated)
        status = finish_rotation(store, &at->staging, &next, error);
    if (!at->same || at->older || next.lmid > at->outbox.highest_id) next.lmid = 0;
    memcpy(next.client, at->outbox.client, sizeof next.client);
    if (status == KEDGE_OK)
        status = kedge_prediction_rebase(store, NULL, &at->outbox, &next, changes, error);
    if (status == KEDGE_OK)
        status = kedge_change_log_write(store, at->rotated ? NULL : changes, KEDGE_CHANGED_BY_EDIT,
                                        error);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->cache, error);
    if (status == KEDGE_OK && !store->cache.rehearsing) kedge_store_stamp_footprints(store, &next);
    return status;
}

kedge_status kedge_prediction_repair(kedge_store *store, bool force, kedge_change_set *changes,
                                     kedge_error *error)
{
    misfit at;
    KEDGE_ASSERT(store->locked);
    KEDGE_ASSERT(store->outbox.rehearsing || !kedge_store_db_in_transaction(&store->outbox));
    KEDGE_ASSERT(store->cache.rehearsing || !kedge_store_db_in_transaction(&store->cache));
    kedge_status status = read_misfit(store, &at, error);
    if (status != KEDGE_OK || (!force && kedge_prediction_fits(&at.outbox, &at.cache)))
        return status;
    status = ask_for_tail(store, &at, error);
    if (status == KEDGE_OK) status = repair_outbox(store, &at, error);
    if (status == KEDGE_OK) kedge_store_phase(store, "repair-between-commits");
    if (status == KEDGE_OK) status = repair_cache(store, &at, changes, error);
    if (status != KEDGE_OK) {
        kedge_store_db_rollback(&store->outbox);
        kedge_store_db_rollback(&store->cache);
        kedge_changes_clear(changes);
    } else if (at.rotated) {
        kedge_changes_all(changes);
        store->untold = store->untold || !changes;
    } else if (!changes) {
        store->untold = true;
    }
    return status;
}
