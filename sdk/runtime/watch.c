/* kedge/watch.h: the list of watches, with the app's parameters checked. */
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

kedge_status kedge_watch(kedge_db *db, const char *collection, kedge_watch_function callback,
                         void *userdata, void (*userdata_free)(void *), kedge_watch_token **token,
                         kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (callback == NULL) return kedge_fail_null("callback", error);
    if (token == NULL) return kedge_fail_null("token", error);
    if (collection != NULL && collection[0] != '\0') {
        kedge_status status = kedge_check_collection(collection, error);
        if (status != KEDGE_OK) return status;
    }
    return kedge_watches_add(db->watches, collection, callback, userdata, userdata_free, token,
                             error);
}

void kedge_watch_free(kedge_watch_token *token)
{
    if (token != NULL) kedge_watches_remove(token);
}
