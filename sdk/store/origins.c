/* The origins of renumbered mutations: the first (client, id) of each. A rotation gives pending
 * mutations new ids. This folder, or a copy of it, may have appended one before, under its first
 * (client, id) or with that as its origin. Such an entry is replayed like any other, and when it is
 * rejected, so is the pending row. */
#include "sdk/store/entries.h"

#include "common/assert.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const kedge_origin *first = a, *second = b;
    int order = strcmp(first->client, second->client);
    if (order != 0) return order;
    return (first->outcome.id > second->outcome.id) - (first->outcome.id < second->outcome.id);
}

static kedge_status add(kedge_store *store, kedge_origins *origins, const kedge_pending *row,
                        kedge_bytes client, int64_t id, kedge_error *error)
{
    if (origins->count == origins->capacity) {
        size_t capacity = origins->capacity * 2 + 16;
        void *rows = store->allocator->reallocate(store->allocator->context, origins->rows,
                                                  capacity * sizeof *origins->rows);
        if (!rows) return kedge_fail_no_memory(error);
        origins->rows = rows;
        origins->capacity = capacity;
    }
    kedge_origin *origin = &origins->rows[origins->count++];
    *origin = (kedge_origin){.sequence = row->sequence, .outcome = {.id = id}};
    KEDGE_ASSERT(client.size < sizeof origin->client);
    KEDGE_ASSERT(row->digest.size == sizeof origin->outcome.digest);
    memcpy(origin->client, client.data, client.size);
    memcpy(origin->outcome.digest, row->digest.data, row->digest.size);
    return KEDGE_OK;
}

kedge_status kedge_origins_load(kedge_store *store, const kedge_pull_state *state,
                                kedge_origins *origins, kedge_error *error)
{
    kedge_pending row;
    sqlite3_stmt *cursor;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, &state->cache, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error)) == KEDGE_OK) {
        if (row.origin_client.size > 0)
            status = add(store, origins, &row, row.origin_client, row.origin_id, error);
        if (status == KEDGE_OK && !kedge_bytes_equal_text(row.client, state->outbox.client))
            status = add(store, origins, &row, row.client, row.id, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    if (status != KEDGE_DONE) return status;
    if (origins->count > 0) qsort(origins->rows, origins->count, sizeof *origins->rows, compare);
    return KEDGE_OK;
}

void kedge_origins_reject(kedge_origins *origins, kedge_bytes client, int64_t id,
                          const kedge_wire_outcome *outcome)
{
    kedge_origin key = {.outcome = {.id = id}};
    if (origins->count == 0 || client.size >= sizeof key.client) return;
    memcpy(key.client, client.data, client.size);
    kedge_origin *found =
        bsearch(&key, origins->rows, origins->count, sizeof *origins->rows, compare);
    if (!found || memcmp(found->outcome.digest, outcome->digest, sizeof outcome->digest) != 0)
        return;
    found->outcome = *outcome;
    found->outcome.id = id; /* the order of the rows stays */
    found->rejected = true;
    origins->any_rejected = true;
}
