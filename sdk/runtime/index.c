/* kedge/index.h: checks the app's parameters and calls the store. */
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

#include "common/error.h"

kedge_status kedge_index(kedge_db *db, const char *name, const char *collection,
                         const char *const *paths, size_t path_count, kedge_error *error)
{
    kedge_bytes copied[KEDGE_LIMIT_INDEX_PATHS];
    /* The store refuses more before it reads any. */
    size_t count = path_count <= KEDGE_LIMIT_INDEX_PATHS ? path_count : 0;
    KEDGE_CALL(db, error);
    if (name == NULL) return kedge_fail_null("name", error);
    if (collection == NULL) return kedge_fail_null("collection", error);
    if (paths == NULL && path_count > 0) return kedge_fail_null("paths", error);
    for (size_t i = 0; i < count; i++) {
        if (paths[i] == NULL) return kedge_fail_null("paths", error);
        copied[i] = kedge_bytes_of(paths[i]);
    }
    return kedge_store_index(db->store, kedge_bytes_of(name), kedge_bytes_of(collection), copied,
                             path_count, error);
}

kedge_status kedge_index_drop(kedge_db *db, const char *name, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (name == NULL) return kedge_fail_null("name", error);
    return kedge_store_index_drop(db->store, kedge_bytes_of(name), error);
}

kedge_status kedge_index_list_open(kedge_db *db, kedge_index_list **list, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (list == NULL) return kedge_fail_null("list", error);
    return kedge_store_index_list_open(db->store, list, error);
}

kedge_status kedge_index_list_next(kedge_index_list *list, const char **name,
                                   const char **collection, const char **paths, kedge_error *error)
{
    if (list == NULL) return kedge_fail_null("list", error);
    if (name == NULL) return kedge_fail_null("name", error);
    if (collection == NULL) return kedge_fail_null("collection", error);
    if (paths == NULL) return kedge_fail_null("paths", error);
    return kedge_store_index_list_next(list, name, collection, paths);
}

void kedge_index_list_close(kedge_index_list *list)
{
    kedge_store_index_list_close(list);
}
