/* kedge.batch {mutations: [{name, args}, …]}: several mutations as one. Each sees what those before
 * it did. The first that is refused refuses them all, with its code; the message names its index.
 * The limits of one mutation hold for the batch as a whole. */
#include "common/assert.h"
#include "mutate/batch.h"
#include "mutate/builtin_args.h"
#include "mutate/transaction.h"

static kedge_status refuse_part(kedge_tx *tx, size_t index, const kedge_batch_part *part,
                                const kedge_error *why, kedge_error *error)
{
    return kedge_builtin_refuse(tx, error, why->code, "mutation %zu of the batch (%s): %s", index,
                                part->name, why->message);
}

kedge_status kedge_builtin_batch(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    kedge_error why = {0};
    kedge_batch_part part;
    size_t index = 0;
    kedge_bytes text = {args, args_size};
    KEDGE_ASSERT(error != NULL); /* no mutator calls this one */
    if (kedge_batch_check(text, &why) != KEDGE_OK)
        return kedge_builtin_refuse(tx, error, why.code, "%s", why.message);
    kedge_json_iterator parts = kedge_batch_iterate(text);
    for (; kedge_batch_next(&parts, &part); index++) {
        kedge_status status = kedge_tx_run_part(tx, kedge_bytes_of(part.name), part.args, &why);
        if (status == KEDGE_REJECTED) return refuse_part(tx, index, &part, &why, error);
        if (status != KEDGE_OK) {
            *error = why;
            return status;
        }
    }
    return KEDGE_OK;
}
