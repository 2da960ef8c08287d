/* Checks at the start of the functions that the app calls, before anything is changed. */
#include "sdk/runtime/check.h"

#include "common/error.h"
#include "common/names.h"

kedge_status kedge_fail_null(const char *name, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "argument-null", "%s must not be NULL", name);
}

bool kedge_is_calling_back(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    bool worker = db->shared.worker_runs && pthread_equal(db->shared.worker, pthread_self());
    pthread_mutex_unlock(&db->lock);
    return worker || kedge_callbacks_run_here(&db->callbacks) ||
           kedge_store_check_outside(db->store, NULL) != KEDGE_OK;
}

kedge_status kedge_fail_closing(kedge_error *error)
{
    return kedge_fail(error, KEDGE_CANCELLED, "closing", "the database is being closed");
}

kedge_status kedge_call_begin(kedge_db *db, kedge_error *error)
{
    if (db == NULL) return kedge_fail_null("db", error);
    pthread_mutex_lock(&db->lock);
    bool closing = db->shared.closing;
    db->shared.calls++;
    pthread_mutex_unlock(&db->lock);
    if (!closing || kedge_is_calling_back(db)) return KEDGE_OK;
    kedge_call_end(&db);
    return kedge_fail_closing(error);
}

/* Another thread may free `db` as soon as the lock is released. */
void kedge_call_end(kedge_db *const *called)
{
    kedge_db *db = *called;
    pthread_mutex_lock(&db->lock);
    db->shared.calls--;
    if (db->shared.closing) pthread_cond_broadcast(&db->moved);
    pthread_mutex_unlock(&db->lock);
}

kedge_status kedge_check_collection(const char *collection, kedge_error *error)
{
    if (collection == NULL) return kedge_fail_null("collection", error);
    return kedge_check_name("collection", kedge_bytes_of(collection), error);
}

kedge_status kedge_check_key(const char *collection, const char *id, size_t id_size,
                             kedge_error *error)
{
    kedge_status status = kedge_check_collection(collection, error);
    if (status != KEDGE_OK) return status;
    if (id == NULL && id_size > 0) return kedge_fail_null("id", error);
    return kedge_check_item_id((kedge_bytes){id, id_size}, error);
}

kedge_status kedge_check_may_wait(const kedge_db *db, kedge_error *error)
{
    if (!db->shared.worker_runs || !pthread_equal(db->shared.worker, pthread_self())) {
        return kedge_store_check_outside(db->store, error);
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "called-back",
                      "a callback on the worker thread cannot wait for the worker thread; give the "
                      "database a dispatcher, or wait on a thread of the app");
}

kedge_status kedge_fail_offline(const kedge_db *db, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NETWORK, "offline", "the database %s",
                      db->net != NULL ? "is offline" : "was opened without a url");
}
