/* The outbox gives the disk back what a backlog took.
 *
 * Rows that are decided leave `pending`, and SQLite keeps their pages for later rows. When most of
 * a large file is such pages, what is left is written anew, densely, by VACUUM: one transaction,
 * durable as every other, with a copy of the rows in memory. What is copied is at most a third of
 * what is given back, so over the life of an outbox this costs less than the edits did.
 *
 * An incremental vacuum would need the pages that map every page to its parent, which each edit
 * that begins a page would have to write, too. */
#include "sdk/store/store_internal.h"

#include "common/assert.h"

static bool is_mostly_free(kedge_store_db *db)
{
    int64_t pages = 0, unused = 0;
    if (kedge_store_db_number(db, "PRAGMA page_count", &pages, NULL) != KEDGE_OK ||
        kedge_store_db_number(db, "PRAGMA freelist_count", &unused, NULL) != KEDGE_OK)
        return false;
    int64_t left = pages - unused;
    return unused >= KEDGE_STORE_SHRINK_PAGES_MIN && left <= KEDGE_STORE_SHRINK_PAGES_MAX &&
           unused / 3 >= left;
}

void kedge_outbox_shrink(kedge_store *store)
{
    kedge_store_db *db = &store->outbox;
    KEDGE_ASSERT(store->locked && !kedge_store_db_in_transaction(db));
    if (!is_mostly_free(db)) return;
    kedge_store_db_reset(db);
    /* Not in a file of the system's temporary folder: those are the app's data. */
    if (kedge_store_db_execute(db, "PRAGMA temp_store = MEMORY", NULL) != KEDGE_OK) return;
    /* A damaged page does not refuse the outbox here: whoever needs it finds it. */
    (void)sqlite3_exec(db->handle, "VACUUM", NULL, NULL, NULL);
    (void)kedge_wal_move(db, true);
}
