/* kedge.patch {collection, id, patch}: RFC 6902. */
#include "mutate/builtin_args.h"
#include "mutate/json_patch.h"
#include "mutate/transaction.h"

/* Turns the error of a patch into a rejection of the mutation. */
static kedge_status patch_failed(kedge_tx *tx, const kedge_error *why, kedge_error *error)
{
    if (why->status == KEDGE_REJECTED) return kedge_tx_reject(tx, why->code, why->message, error);
    return kedge_tx_postpone(tx, why, error);
}

kedge_status kedge_builtin_patch(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    kedge_builtin_item item;
    kedge_status status =
        kedge_builtin_read_item(tx, (kedge_bytes){args, args_size}, "patch", &item, error);
    if (status != KEDGE_OK) return status;

    kedge_json_document document;
    status = kedge_tx_get_document(tx, item.collection, item.id, item.id_size, &document, error);
    if (status != KEDGE_OK) return status;

    kedge_error why = {0};
    kedge_status done = kedge_json_patch(&document, item.extra, &why);
    status = kedge_tx_charge(tx, document.cost, error);
    if (status == KEDGE_OK && done != KEDGE_OK) status = patch_failed(tx, &why, error);
    if (status == KEDGE_OK)
        status =
            kedge_tx_put_document(tx, item.collection, item.id, item.id_size, &document, error);
    kedge_json_document_free(&document);
    return status;
}
