/* See checks_view.h. */
#include "tests/sim/checks_view.h"

#include "sdk/store/store_internal.h"

#include <inttypes.h>
#include <string.h>

bool sim_view_is_doubted(const sim_view *of)
{
    return of->client->damage.doubt_ms > of->client->world->now_ms;
}

static bool is_row_of(const sim_entry *entry, const sim_pending_row *row)
{
    if (memcmp(row->uid, entry->uid, SIM_UID_SIZE) == 0) return true;
    return entry->damaged && sim_entry_is(entry, row->sequence);
}

bool sim_view_is_pending(const sim_view *of, const sim_entry *entry)
{
    for (size_t i = 0; i < of->pending_count; i++)
        if (is_row_of(entry, &of->pending[i])) return true;
    return false;
}

static bool read_pending(sim_view *of)
{
    static const char sql[] = "SELECT sequence, uid, digest, name = 'kedge.apply' FROM pending";
    sqlite3_stmt *cursor;
    sqlite3 *outbox = of->client->store->outbox.handle;
    if (sqlite3_prepare_v2(outbox, sql, -1, &cursor, NULL) != SQLITE_OK) return false;
    int code;
    while ((code = sqlite3_step(cursor)) == SQLITE_ROW && of->pending_count < SIM_VIEW_ROWS_MAX) {
        sim_pending_row *row = &of->pending[of->pending_count++];
        row->sequence = sqlite3_column_int64(cursor, 0);
        if (sqlite3_column_bytes(cursor, 1) == SIM_UID_SIZE)
            memcpy(row->uid, sqlite3_column_blob(cursor, 1), SIM_UID_SIZE);
        if (sqlite3_column_bytes(cursor, 2) == KEDGE_DIGEST_SIZE)
            memcpy(row->digest, sqlite3_column_blob(cursor, 2), KEDGE_DIGEST_SIZE);
        row->is_apply = sqlite3_column_int(cursor, 3) != 0;
    }
    sqlite3_finalize(cursor);
    return code == SQLITE_DONE;
}

static bool read_inbox(sim_view *of)
{
    static const char sql[] =
        "SELECT sequence, client, id, state, code, uid, CAST(args AS INTEGER) FROM rejected"
        " ORDER BY sequence";
    sqlite3_stmt *cursor;
    sqlite3 *outbox = of->client->store->outbox.handle;
    if (sqlite3_prepare_v2(outbox, sql, -1, &cursor, NULL) != SQLITE_OK) return false;
    int code;
    while ((code = sqlite3_step(cursor)) == SQLITE_ROW && of->inbox_count < SIM_VIEW_ROWS_MAX) {
        sim_inbox_row *row = &of->inbox[of->inbox_count++];
        row->sequence = sqlite3_column_int64(cursor, 0);
        (void)snprintf(row->client, sizeof row->client, "%s",
                       (const char *)sqlite3_column_text(cursor, 1));
        row->id = sqlite3_column_int64(cursor, 2);
        row->state = sqlite3_column_int(cursor, 3);
        row->remade = row->state == 5 ? sqlite3_column_int64(cursor, 6) : 0;
        row->damaged =
            sqlite3_stricmp((const char *)sqlite3_column_text(cursor, 4), "damaged") == 0;
        row->has_uid = sqlite3_column_bytes(cursor, 5) == SIM_UID_SIZE;
        if (row->has_uid) memcpy(row->uid, sqlite3_column_blob(cursor, 5), SIM_UID_SIZE);
    }
    sqlite3_finalize(cursor);
    return code == SQLITE_DONE;
}

bool sim_view_look(sim_view *of)
{
    sim_oracle *oracle = &of->client->world->oracle;
    if (kedge_store_position_get(of->client->store, &of->position, NULL) != KEDGE_OK) return false;
    if (!read_pending(of) || !read_inbox(of)) return false;
    of->at = sim_oracle_find(oracle, of->position.lineage, of->position.version);
    if (of->position.version == 0 || of->at != NULL) return true;
    if (sim_view_is_doubted(of)) return false;
    sim_violate(of->client->world, SIM_I8, "client %u is at version %" PRId64 ", which never was",
                of->client->index, of->position.version);
    return false;
}
