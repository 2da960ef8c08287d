/* An outbox with damage that cannot be healed row by row. Edits are no longer acknowledged or sent,
 * and every call that needs the outbox fails with the same error, which names the file and says how
 * many edits can be saved.
 *
 * The readable edits are counted over a new connection, since the other connections have pages in
 * memory that are no longer on the disk. */
#include "sdk/store/outbox_rows.h"
#include "sdk/store/salvage.h"

#include "common/error.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Columns of the salvaged rows: the key comes before those of outbox_rows.h. */
enum { PENDING_WITHHELD = 12, REJECTED_STATE = 14 };

typedef struct readable {
    bool open;  /* the file could be opened at all */
    bool known; /* the file was opened and its meta row is sound */
    kedge_outbox_meta meta;
    int64_t pending;
    int64_t withheld;
    int64_t rejected;
    int64_t shown; /* of the rejected ones: in the inbox */
} readable;

/* Counts the sound rows, by key, so that rows after a damaged page count, too. */
static void count_rows(kedge_store_db *db, readable *found)
{
    int64_t key = 0;
    sqlite3_stmt *row;
    while (kedge_salvage_next(db, kedge_salvage_pending, &key, &row) == KEDGE_OK) {
        if (sqlite3_column_int(row, sqlite3_column_count(row) - 1) != 1) continue;
        found->pending++;
        found->withheld += sqlite3_column_int(row, PENDING_WITHHELD) != 0;
    }
    key = 0;
    while (kedge_salvage_next(db, kedge_salvage_rejected, &key, &row) == KEDGE_OK) {
        if (sqlite3_column_int(row, sqlite3_column_count(row) - 1) != 1) continue;
        int state = sqlite3_column_int(row, REJECTED_STATE);
        found->rejected++;
        found->shown += state == KEDGE_INBOX_SHOWN || state == KEDGE_INBOX_DAMAGED;
    }
}

static readable read_outbox(const kedge_store *store)
{
    readable found = {.open = false};
    kedge_store_db db;
    if (kedge_store_db_open(&db, store->outbox_path, "outbox.db", SQLITE_OPEN_READWRITE, store->vfs,
                            NULL) != KEDGE_OK)
        return found;
    found.open = kedge_store_db_execute(&db, "PRAGMA query_only=1", NULL) == KEDGE_OK;
    found.known = kedge_outbox_meta_read(&db, &found.meta, NULL) == KEDGE_OK;
    count_rows(&db, &found);
    kedge_store_db_close(&db);
    return found;
}

/* A path that is too long for the message loses its beginning, since its end names the file. */
static kedge_status fail_with_path(const char *path, const char *rest, kedge_error *error)
{
    size_t size = strlen(path), room = sizeof error->message - 1 - strlen(rest);
    bool whole = size <= room;
    if (!whole) path += size - room + strlen("…");
    while (!whole && ((unsigned char)*path & 0xc0) == 0x80)
        path++;
    return kedge_fail(error, KEDGE_CORRUPT, "outbox-damaged", "%s%s%s", whole ? "" : "…", path,
                      rest);
}

static kedge_status fail_damaged(const kedge_store *store, const readable *found,
                                 kedge_error *error)
{
    static const char *const way = "kedge_repair, or the command kedge repair,";
    char rest[256], of[32] = "";
    if (found->known) (void)snprintf(of, sizeof of, " of %" PRId64, found->meta.pending_rows);
    if (found->open)
        (void)snprintf(rest, sizeof rest,
                       " is damaged; nothing in it was changed; %" PRId64
                       "%s pending mutations and %" PRId64
                       " rejected ones can be read as it is: %s saves these, and what else it"
                       " finds, into a new folder",
                       found->pending, of, found->rejected, way);
    else
        (void)snprintf(rest, sizeof rest,
                       " is damaged; nothing in it was changed: %s saves what can be read into a"
                       " new folder",
                       way);
    return fail_with_path(store->outbox_path, rest, error);
}

kedge_status kedge_store_report_outbox(const kedge_store *store, kedge_error *error)
{
    readable found = read_outbox(store);
    return fail_damaged(store, &found, error);
}

/* `pending` counts the edits that should exist, also those that cannot be read. So an app that
 * waits for 0 does not believe that all edits are decided. */
static kedge_store_position position_of(const readable *found)
{
    kedge_store_position position = {
        .pending = found->pending, .withheld = found->withheld, .rejected = found->shown};
    if (!found->known) return position;
    const kedge_outbox_meta *meta = &found->meta;
    if (meta->pending_rows > position.pending) position.pending = meta->pending_rows;
    position.unrecovered = meta->unrecovered;
    memcpy(position.client, meta->client, sizeof position.client);
    return position;
}

/* Counting takes long and is done once, unless the file could not be opened. */
kedge_error kedge_store_refusal(kedge_store *store, kedge_store_position *salvaged)
{
    kedge_error refusal;
    pthread_mutex_lock(&store->refusal_mutex);
    if (store->refusal.status != KEDGE_OK) {
        refusal = store->refusal;
    } else {
        readable found = read_outbox(store);
        (void)fail_damaged(store, &found, &refusal);
        store->salvaged = position_of(&found);
        if (found.open) store->refusal = refusal;
    }
    if (salvaged) *salvaged = store->salvaged;
    pthread_mutex_unlock(&store->refusal_mutex);
    return refusal;
}

kedge_status kedge_store_refuse(kedge_store *store, kedge_error *error)
{
    bool before = atomic_exchange(&store->outbox_refused, true);
    kedge_error refusal = kedge_store_refusal(store, NULL);
    if (!before && store->refused) store->refused(store->refused_context);
    if (error) *error = refusal;
    return KEDGE_CORRUPT;
}
