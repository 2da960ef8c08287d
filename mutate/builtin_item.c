/* kedge.put {collection, id, value} and kedge.delete {collection, id}. */
#include "mutate/builtin_args.h"

kedge_status kedge_builtin_put(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    (void)userdata;
    kedge_builtin_item item;
    kedge_status status =
        kedge_builtin_read_item(tx, (kedge_bytes){args, args_size}, "value", &item, error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_put(tx, item.collection, item.id, item.id_size, item.extra.data,
                        item.extra.size, error);
}

kedge_status kedge_builtin_delete(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                  kedge_error *error)
{
    (void)userdata;
    kedge_builtin_item item;
    kedge_status status =
        kedge_builtin_read_item(tx, (kedge_bytes){args, args_size}, NULL, &item, error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_delete(tx, item.collection, item.id, item.id_size, error);
}
