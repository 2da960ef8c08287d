/* kedge.merge {collection, id, patch} and kedge.project (the args are the patch): RFC 7396. */
#include "common/json.h"
#include "mutate/builtin_args.h"
#include "mutate/json_merge.h"
#include "mutate/transaction.h"

static kedge_status merged_text(kedge_tx *tx, kedge_bytes target, kedge_bytes patch,
                                kedge_buffer *merged, kedge_error *error)
{
    kedge_error why = {0};
    kedge_json_merge(target, patch, merged);
    if (kedge_buffer_status(merged, &why) == KEDGE_OK) return KEDGE_OK;
    return kedge_tx_postpone(tx, &why, error);
}

kedge_status kedge_builtin_merge(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    kedge_builtin_item item;
    kedge_status status =
        kedge_builtin_read_item(tx, (kedge_bytes){args, args_size}, "patch", &item, error);
    return status == KEDGE_OK ? kedge_builtin_merge_item(tx, &item, error) : status;
}

kedge_status kedge_builtin_merge_item(kedge_tx *tx, const kedge_builtin_item *item,
                                      kedge_error *error)
{
    kedge_bytes target = {NULL, 0};
    kedge_json_rope *rope = NULL;
    kedge_status status = KEDGE_OK;
    if (kedge_json_type_of(item->extra) == KEDGE_JSON_OBJECT)
        status = kedge_tx_get_rope(tx, item->collection, item->id, item->id_size, &rope, error);
    if (status != KEDGE_OK) return status;
    if (rope != NULL)
        return kedge_tx_merge_rope(tx, item->collection, item->id, item->id_size, rope, item->extra,
                                   error);

    status = kedge_tx_get(tx, item->collection, item->id, item->id_size, &target.data, &target.size,
                          error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;

    kedge_buffer merged = kedge_buffer_make(kedge_tx_allocator(tx));
    status = merged_text(tx, target, item->extra, &merged, error);
    if (status == KEDGE_OK) {
        status = kedge_tx_put(tx, item->collection, item->id, item->id_size, merged.data,
                              merged.size, error);
    }
    kedge_buffer_free(&merged);
    return status;
}

kedge_status kedge_builtin_project(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error)
{
    (void)userdata;
    kedge_bytes patch = {args, args_size};
    if (kedge_json_type_of(patch) != KEDGE_JSON_OBJECT) {
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the args must be an object: the changes to the project "
                                    "record");
    }
    kedge_bytes target = {NULL, 0};
    kedge_status status = kedge_tx_get_project(tx, &target.data, &target.size, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;

    kedge_buffer merged = kedge_buffer_make(kedge_tx_allocator(tx));
    status = merged_text(tx, target, patch, &merged, error);
    if (status == KEDGE_OK) status = kedge_tx_put_project(tx, merged.data, merged.size, error);
    kedge_buffer_free(&merged);
    return status;
}
