/* stock.take {"id": string, "count": integer}: takes pieces from a shelf, never more than there
 * are. The same file is linked into the app and built as the server's plugin. */
#include <kedge/mutator.h>

#include <inttypes.h>
#include <stdio.h>

KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

static kedge_status take(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                         kedge_error *error)
{
    (void)userdata;
    char id[513];
    size_t id_size;
    int64_t count;
    kedge_status status = kedge_args_text(args, args_size, "id", id, sizeof id, &id_size, error);
    if (status == KEDGE_OK) status = kedge_args_integer(args, args_size, "count", &count, error);
    if (status != KEDGE_OK) return status; /* rejected, with the reason that is in error */

    const char *shelf;
    size_t shelf_size;
    int64_t left;
    status = kedge_tx_get(tx, "shelves", id, id_size, &shelf, &shelf_size, error);
    if (status == KEDGE_OK) status = kedge_args_integer(shelf, shelf_size, "count", &left, error);
    if (status != KEDGE_OK) return status;
    if (count < 1 || count > left) {
        return kedge_tx_reject(tx, "not-enough", "there are not that many pieces", error);
    }

    char value[64];
    int size = snprintf(value, sizeof value, "{\"count\":%" PRId64 "}", left - count);
    return kedge_tx_put(tx, "shelves", id, id_size, value, (size_t)size, error);
}

/* The app passes this array to kedge_open(); the server finds it through the function. */
const kedge_mutator *kedge_plugin_mutators(size_t *count)
{
    static const kedge_mutator mutators[] = {{"stock.take", 1, take, NULL}};
    *count = sizeof mutators / sizeof mutators[0];
    return mutators;
}
