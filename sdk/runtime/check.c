/* Checks of the app's parameters, before anything is changed. */
#include "sdk/runtime/check.h"

#include "common/error.h"
#include "common/names.h"

kedge_status kedge_fail_null(const char *name, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "argument-null", "%s must not be NULL", name);
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
