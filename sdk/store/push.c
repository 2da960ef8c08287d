/* The contents of requests: a push has the lowest uncovered mutations, a pull the position. */
#include "sdk/store/client_only.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"

#include "common/assert.h"

#include <string.h>

typedef struct push {
    int64_t after_id;
    uint32_t count_max;
    bool fresh;
    const kedge_store_push_taker *taker;
    kedge_store_pushed made;
} push;

/* What the prediction ran with. A mutator that this build lacks counts as its first version. */
static int64_t mutator_version(const kedge_store *store, kedge_bytes name)
{
    const kedge_mutator *mutator = kedge_registry_find(store->registry, name);
    return mutator ? mutator->version : 1;
}

/* An edit waits for a newer server until the app's deadline; then the server decides it. A clock
 * that was ahead when the edit was made may make it wait twice as long, and not longer. */
static bool waits(const kedge_store *store, int64_t timestamp_ms)
{
    int64_t wait_ms = store->server_wait_ms;
    if (wait_ms <= 0) return wait_ms == 0;
    int64_t elapsed_ms = store->environment->now_ms(store->environment->context) - timestamp_ms;
    return elapsed_ms < wait_ms && elapsed_ms > -wait_ms;
}

static kedge_status give_row(kedge_store *store, const push *asked, const kedge_pending *row,
                             kedge_error *error)
{
    char uid[2 * KEDGE_STORE_UID_SIZE + 1];
    kedge_wire_mutation mutation = {.client_id = row->client,
                                    .id = row->id,
                                    .name = row->name,
                                    .args = row->args,
                                    .timestamp_ms = row->timestamp_ms,
                                    .origin_client_id = row->origin_client,
                                    .origin_id = row->origin_id,
                                    .mutator_version = mutator_version(store, row->name),
                                    .waits = waits(store, row->timestamp_ms)};
    kedge_hex_encode((const uint8_t *)row->uid.data, row->uid.size, uid);
    mutation.uid = kedge_bytes_of(uid);
    return asked->taker->take(asked->taker->context, &mutation, error);
}

static kedge_status give_rows(kedge_store *store, push *asked, const kedge_outbox_meta *outbox,
                              const kedge_cache_meta *cache, kedge_error *error)
{
    kedge_pending row;
    kedge_store_pushed *made = &asked->made;
    sqlite3_stmt *cursor;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, cache, &cursor, error);
    if (status != KEDGE_OK) return status;
    while (made->count < asked->count_max) {
        status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error);
        if (status != KEDGE_OK) break;
        /* Mutations that an earlier client pushed only wait for their version. */
        if (!kedge_bytes_equal_text(row.client, outbox->client) || row.id <= asked->after_id)
            continue;
        made->pull_first = !asked->fresh && kedge_client_only_unsent(store, outbox, &row);
        if (made->pull_first) break;
        status = give_row(store, asked, &row, error);
        if (status != KEDGE_OK) break;
        made->count++;
        made->last_id = row.id;
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* After this commit the mutations of the body cannot be cancelled. */
static kedge_status commit_sent(kedge_store *store, kedge_outbox_meta *outbox, int64_t last_id,
                                kedge_error *error)
{
    if (last_id <= outbox->sent_through) return KEDGE_OK;
    outbox->sent_through = last_id;
    kedge_status status = kedge_outbox_meta_write(&store->outbox, outbox, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->outbox, error);
    return status;
}

static kedge_status push_work(kedge_store *store, void *context, kedge_error *error)
{
    push *asked = context;
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    asked->made = (kedge_store_pushed){0};
    asked->taker->begin(asked->taker->context);
    kedge_status status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&store->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status == KEDGE_OK && asked->fresh && kedge_prediction_fits(&outbox, &cache))
        status = kedge_client_only_renew(store, asked->after_id, asked->count_max, &outbox, &cache,
                                         error);
    if (status == KEDGE_OK) status = give_rows(store, asked, &outbox, &cache, error);
    if (status == KEDGE_OK && asked->made.count > 0)
        status = commit_sent(store, &outbox, asked->made.last_id, error);
    if (status == KEDGE_OK && asked->made.count > 0) kedge_store_phase(store, "push-sent");
    return status;
}

kedge_status kedge_store_push(kedge_store *store, int64_t after_id, uint32_t count_max, bool fresh,
                              const kedge_store_push_taker *taker, kedge_store_pushed *made,
                              kedge_error *error)
{
    push asked = {.after_id = after_id,
                  .count_max = count_max > 0 ? count_max : 1,
                  .fresh = fresh,
                  .taker = taker};
    KEDGE_ASSERT(after_id >= 0);
    kedge_status status = kedge_store_take_turn(store, push_work, &asked, error);
    if (status == KEDGE_OK) *made = asked.made;
    return status;
}

/* ---- pulling ---- */

/* The version and lineage at which the outbox was last confirmed. `ask` may be NULL. */
static kedge_status read_settled(kedge_store *store, kedge_wire_cookie *settled, bool *ask,
                                 kedge_error *error)
{
    kedge_store_reader *reader;
    kedge_outbox_meta outbox;
    kedge_status status = kedge_reader_take(store, &reader, error);
    if (status != KEDGE_OK) return status;
    status = kedge_outbox_meta_read(&reader->outbox, &outbox, error);
    if (status == KEDGE_CORRUPT) (void)kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    if (status != KEDGE_OK) return status;
    if (ask) *ask = outbox.ask_settled != 0;
    *settled = kedge_wire_cookie_of(outbox.settled_version, outbox.settled_lineage);
    return KEDGE_OK;
}

/* Without a cache a pull starts from nothing, and a restored backend would look like any other. So
 * the first pull then asks from where the outbox was last confirmed: the response cannot be
 * applied, but it tells whether that lineage is lost. */
static kedge_status choose_cookie(kedge_store *store, const kedge_store_position *at,
                                  kedge_wire_cookie *out, kedge_error *error)
{
    *out = kedge_wire_cookie_of(at->version, at->lineage);
    if (at->lineage[0] != '\0' || atomic_load(&store->lineage_known)) return KEDGE_OK;
    return read_settled(store, out, NULL, error);
}

kedge_status kedge_store_lower_to_decided(kedge_store *store, const kedge_store_position *at,
                                          int64_t *lowest, kedge_error *error)
{
    static const char *const sql = "SELECT min(id) FROM (SELECT id FROM confirmed WHERE client = ?1"
                                   " AND {intact confirmed} UNION ALL SELECT id FROM rejected"
                                   " WHERE client = ?1 AND state IN (0, 4) AND {intact rejected})";
    kedge_store_reader *reader;
    int64_t id;
    if (at->version > 0 || at->highest_id == 0) return KEDGE_OK;
    kedge_status status = kedge_reader_take(store, &reader, error);
    if (status != KEDGE_OK) return status;
    status = kedge_store_db_find_number(&reader->outbox, sql, &id, error, "c", at->client);
    if (id > 0 && id < *lowest) *lowest = id;
    if (status == KEDGE_CORRUPT) (void)kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    return status;
}

kedge_status kedge_store_pull_request(kedge_store *store, kedge_wire_pull_request *out,
                                      kedge_error *error)
{
    kedge_store_position at;
    kedge_wire_cookie seen;
    bool ask = false;
    *out = (kedge_wire_pull_request){.supported = true, .native = true};
    kedge_status status = kedge_store_position_get(store, &at, error);
    if (status == KEDGE_OK) status = choose_cookie(store, &at, &out->cookie, error);
    if (status == KEDGE_OK) status = read_settled(store, &seen, &ask, error);
    if (status != KEDGE_OK) return status;
    out->lowest_pending = at.lowest_pending;
    status = kedge_store_lower_to_decided(store, &at, &out->lowest_pending, error);
    if (status != KEDGE_OK) return status;
    memcpy(out->group_id, at.client, sizeof out->group_id);
    memcpy(out->client_id, at.client, sizeof out->client_id);
    out->highest_id = at.highest_id + KEDGE_STORE_IDS_AHEAD;
    /* Outcomes of a version that was not pulled yet, or an outbox of another past than the cache:
     * is it still the server's? */
    out->seen = seen.version > out->cookie.version || (ask && seen.version > 0);
    out->seen_version = seen.version;
    memcpy(out->seen_lineage, seen.lineage, sizeof out->seen_lineage);
    return KEDGE_OK;
}
