/* Where the store stands: its position, what became of one mutation, whether its cache is to be
 * checked. */
#include "sdk/store/client_only.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"

#include "common/error.h"
#include <string.h>

/* Mutations of earlier clients that wait for their version. */
static kedge_status count_waiting(kedge_store_db *db, const kedge_outbox_meta *outbox,
                                  const kedge_cache_meta *cache, int64_t *count, kedge_error *error)
{
    static const char *const sql =
        "SELECT count(*) FROM pending WHERE covered_version IS NOT NULL AND covered_version > ?1"
        " AND client <> ?2";
    return kedge_store_db_find_number(db, sql, count, error, "ic", cache->version, outbox->client);
}

/* What the inbox shows, and what waits in it. Both in one pass: each row is read with its args. */
static kedge_status count_inbox(kedge_store_db *db, const kedge_cache_meta *cache, int64_t *shown,
                                int64_t *waiting, kedge_error *error)
{
    static const char *const sql =
        "SELECT total(" KEDGE_INBOX_SHOWS "), total(" KEDGE_INBOX_WAITS ") FROM rejected";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "cii", cache->client,
                                              cache->lmid, cache->version);
    if (status != KEDGE_OK) return status;
    kedge_store_columns(find, "ii", shown, waiting);
    sqlite3_reset(find);
    return KEDGE_OK;
}

static kedge_status count_withheld(kedge_store_db *db, const kedge_cache_meta *cache,
                                   int64_t *count, kedge_error *error)
{
    static const char *const sql =
        "SELECT count(*) FROM pending WHERE withheld <> 0 AND NOT {covered}";
    return kedge_store_db_find_number(db, sql, count, error, "cii", cache->client, cache->lmid,
                                      cache->version);
}

/* From the lowest id of the living client in the tail. */
static kedge_status lower_to_tail(kedge_store_db *db, const kedge_outbox_meta *outbox,
                                  int64_t *lowest, kedge_error *error)
{
    static const char *const sql = "SELECT min(id) FROM confirmed WHERE client = ?1"
                                   " AND {intact confirmed}";
    int64_t id;
    kedge_status status = kedge_store_db_find_number(db, sql, &id, error, "c", outbox->client);
    if (id > 0 && id < *lowest) *lowest = id;
    return status;
}

static void fill(kedge_store_position *position, const kedge_outbox_meta *outbox,
                 const kedge_cache_meta *cache, const kedge_staging *staging)
{
    bool paging = staging->version >= 0 && !staging->complete;
    *position = (kedge_store_position){
        .version = cache->version,
        .lmid = strcmp(outbox->client, cache->client) == 0 ? cache->lmid : 0,
        .highest_id = outbox->highest_id,
        .sent_through = outbox->sent_through,
        .last_sequence = outbox->last_sequence,
        .unrecovered = outbox->unrecovered,
        .resyncing = cache->resyncing || staging->version >= 0,
        .stale = !kedge_prediction_fits(outbox, cache),
        .staged_version = paging ? staging->version : 0,
    };
    memcpy(position->client, outbox->client, sizeof position->client);
    memcpy(position->lineage, cache->lineage, sizeof position->lineage);
    if (paging) memcpy(position->staged_lineage, staging->lineage, sizeof staging->lineage);
}

static kedge_status read_position(kedge_store_db *outbox_db, kedge_store_db *cache_db,
                                  kedge_store_position *position, kedge_error *error)
{
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_staging staging;
    kedge_store_position at;
    int64_t waiting = 0, in_inbox = 0;
    kedge_status status = kedge_outbox_meta_read(outbox_db, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(cache_db, &cache, error);
    if (status == KEDGE_OK) status = kedge_staging_read(cache_db, &staging, error);
    if (status != KEDGE_OK) return status;
    kedge_prediction_doubt(&outbox, &cache);
    fill(&at, &outbox, &cache, &staging);
    status = kedge_outbox_lowest(outbox_db, &outbox, &cache, &at.lowest_pending, error);
    at.lowest_told = at.lowest_pending;
    if (status == KEDGE_OK && staging.version >= 0 && staging.lost)
        status = lower_to_tail(outbox_db, &outbox, &at.lowest_told, error);
    if (status == KEDGE_OK) status = count_waiting(outbox_db, &outbox, &cache, &waiting, error);
    if (status == KEDGE_OK) status = count_inbox(outbox_db, &cache, &at.rejected, &in_inbox, error);
    if (status == KEDGE_OK) status = count_withheld(outbox_db, &cache, &at.withheld, error);
    if (status != KEDGE_OK) return status;
    /* The living client's ids have no gaps. */
    at.pending = at.highest_id + 1 - at.lowest_pending + waiting + in_inbox;
    *position = at;
    return KEDGE_OK;
}

static kedge_status position_work(kedge_store *store, void *context, kedge_error *error)
{
    return read_position(&store->outbox, &store->cache, context, error);
}

kedge_status kedge_store_position_get(kedge_store *store, kedge_store_position *position,
                                      kedge_error *error)
{
    kedge_store_reader *reader;
    kedge_store_position at;
    kedge_status status = kedge_reader_take(store, &reader, error);
    if (status != KEDGE_OK) return status;
    status = kedge_reader_begin(store, reader, error);
    if (status == KEDGE_OK) status = read_position(&reader->outbox, &reader->cache, &at, error);
    kedge_reader_end(reader);
    bool again = status == KEDGE_CORRUPT && kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    /* A pair that does not fit may have been read between two commits of a writer: only a write
     * turn can tell. */
    if (again || (status == KEDGE_OK && at.stale))
        status = kedge_store_take_turn(store, position_work, &at, error);
    if (status == KEDGE_OK && at.stale && !atomic_load(&store->stale))
        kedge_shadow_note(store, KEDGE_OK);
    if (status == KEDGE_OK) *position = at;
    return status;
}

kedge_status kedge_store_remakes(kedge_store *store, bool *any, kedge_error *error)
{
    static const char *const sql =
        "SELECT count(*) FROM rejected WHERE state = 4 OR (state = 5 AND {remade_pending})";
    kedge_store_reader *reader;
    int64_t found = 0;
    kedge_status status = kedge_reader_take(store, &reader, error);
    if (status != KEDGE_OK) return status;
    status = kedge_store_db_number(&reader->outbox, sql, &found, error);
    if (status == KEDGE_CORRUPT) (void)kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    *any = found != 0;
    return status;
}

bool kedge_store_check_is_due(kedge_store *store)
{
    return store->check || atomic_load(&store->check_due);
}

/* ---- one mutation ---- */

/* What a row of `rejected` says; none: the edit was applied. */
static kedge_status read_rejected(kedge_store_db *db, int64_t sequence, kedge_outcome *outcome,
                                  kedge_error *error)
{
    static const char *const sql = "SELECT state FROM rejected {at}";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "i", sequence);
    if (status == KEDGE_DONE) *outcome = KEDGE_OUTCOME_APPLIED;
    if (status != KEDGE_OK) return status == KEDGE_DONE ? KEDGE_OK : status;
    bool again = sqlite3_column_int(find, 0) == KEDGE_INBOX_CONFLICT;
    *outcome = again ? KEDGE_OUTCOME_PENDING : KEDGE_OUTCOME_REJECTED;
    sqlite3_reset(find);
    return KEDGE_OK;
}

static kedge_status read_outcome(kedge_store *store, kedge_store_reader *reader, int64_t sequence,
                                 kedge_outcome *outcome, kedge_error *error)
{
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_pending row;
    kedge_status status = kedge_reader_begin(store, reader, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&reader->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&reader->cache, &cache, error);
    if (status != KEDGE_OK) return status;
    kedge_prediction_doubt(&outbox, &cache);
    if (sequence < 1 || sequence > outbox.last_sequence)
        return kedge_fail(error, KEDGE_NOT_FOUND, "sequence-unknown",
                          "no mutation has had the sequence %lld; the last one is %lld",
                          (long long)sequence, (long long)outbox.last_sequence);
    status = kedge_inbox_follow(&reader->outbox, &sequence, error);
    if (status == KEDGE_OK) status = kedge_outbox_find(&reader->outbox, sequence, &row, error);
    if (status == KEDGE_OK && !kedge_outbox_covers(&cache, &row)) {
        *outcome = KEDGE_OUTCOME_PENDING;
        return KEDGE_OK;
    }
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    return read_rejected(&reader->outbox, sequence, outcome, error);
}

kedge_status kedge_store_outcome(kedge_store *store, int64_t sequence, kedge_outcome *outcome,
                                 kedge_error *error)
{
    kedge_store_reader *reader;
    bool again;
    kedge_status status;
    for (int attempt = 0; attempt < 2; attempt++) {
        status = kedge_reader_take(store, &reader, error);
        if (status != KEDGE_OK) return status;
        status = read_outcome(store, reader, sequence, outcome, error);
        kedge_reader_end(reader);
        again = status == KEDGE_CORRUPT && kedge_reader_heal(store, reader, error);
        kedge_reader_give(store, reader);
        if (!again) break;
    }
    return status;
}

/* ---- of a refused outbox ---- */

/* When the cache is damaged, nothing is known of it. */
static void add_cache(kedge_store *store, kedge_store_position *position)
{
    kedge_store_reader *reader;
    kedge_cache_meta cache;
    if (kedge_reader_take(store, &reader, NULL) != KEDGE_OK) return;
    if (kedge_cache_meta_read(&reader->cache, &cache, NULL) == KEDGE_OK) {
        position->version = cache.version;
        position->resyncing = cache.resyncing;
        memcpy(position->lineage, cache.lineage, sizeof position->lineage);
    }
    kedge_reader_give(store, reader);
}

bool kedge_store_is_refused(kedge_store *store, kedge_store_position *position, kedge_error *error)
{
    if (!atomic_load(&store->outbox_refused)) return false;
    kedge_error refusal = kedge_store_refusal(store, position);
    if (position) add_cache(store, position);
    if (error) *error = refusal;
    return true;
}
