/* A turn that tells the observer what other processes have committed. */
#include "sdk/store/edit.h"
#include "sdk/store/prediction.h"

static kedge_status follow_work(kedge_store *store, void *context, kedge_error *error)
{
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    (void)context;
    kedge_status status = kedge_change_log_follow(store, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(&store->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, error);
    /* A cache that could not be written: what its process committed stands in the outbox alone. */
    if (status == KEDGE_OK && !kedge_prediction_fits(&outbox, &cache))
        kedge_change_log_tell_all(store);
    /* They have pulled. */
    if (status == KEDGE_OK && cache.version != store->undo.version)
        kedge_undo_rebase(store, NULL, &cache);
    return status;
}

kedge_status kedge_store_follow(kedge_store *store, kedge_error *error)
{
    return !store->observer.changed ? KEDGE_OK
                                    : kedge_store_take_turn(store, follow_work, NULL, error);
}
