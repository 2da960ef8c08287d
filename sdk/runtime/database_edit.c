/* kedge/database.h: edits. The store makes them durable on the app's thread; the worker is notified
 * afterwards. */
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"
#include "sdk/runtime/query_watches.h"

void kedge_db_changed(kedge_db *db, const kedge_change_set *changes)
{
    kedge_watches_post(db->watches, changes);
    kedge_query_watches_mark(db, changes);
}

void kedge_db_committed(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    bool told = db->shared.edited || db->shared.dozing;
    db->shared.edited = true;
    pthread_mutex_unlock(&db->lock);
    if (!told) kedge_http_wake(db->http);
}

kedge_status kedge_mutate(kedge_db *db, const char *name, const char *args, size_t args_size,
                          int64_t *sequence, kedge_error *error)
{
    int64_t given = 0;
    KEDGE_CALL(db, error);
    if (name == NULL) return kedge_fail_null("name", error);
    if (args == NULL) return kedge_fail_null("args", error);
    kedge_change_set changes = kedge_change_set_make(db->environment.allocator);
    kedge_status status = kedge_store_mutate(
        db->store, kedge_bytes_of(name), (kedge_bytes){args, args_size}, &given, &changes, error);
    kedge_count(status == KEDGE_OK ? &db->counters.edits : &db->counters.edits_refused, 1);
    if (status == KEDGE_OK) {
        if (sequence != NULL) *sequence = given;
        kedge_db_committed(db);
    }
    kedge_change_set_free(&changes);
    return status;
}

kedge_status kedge_cancel(kedge_db *db, int64_t sequence, kedge_error *error)
{
    KEDGE_CALL(db, error);
    kedge_change_set changes = kedge_change_set_make(db->environment.allocator);
    kedge_status status = kedge_store_cancel(db->store, sequence, &changes, error);
    if (status == KEDGE_OK) kedge_db_committed(db);
    kedge_change_set_free(&changes);
    return status;
}
