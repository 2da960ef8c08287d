/* stock.take {"id": string, "count": integer}: takes pieces from a shelf, never more than there
 * are. The same file is linked into the app and built as the server's plugin. */
#include <kedge/cjson.h>

KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

static kedge_status take(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *shelf;
    int64_t count, left;
    const char *id = kedge_member_text(args, "id");
    kedge_status status = kedge_member_integer(args, "count", &count, error);
    if (status == KEDGE_OK) status = kedge_tx_edit_json(tx, "shelves", id, &shelf, error);
    if (status == KEDGE_OK) status = kedge_member_integer(shelf, "count", &left, error);
    if (status != KEDGE_OK) return status; /* rejected, with the reason that is in error */
    if (count < 1 || count > left) {
        return kedge_tx_reject(tx, "not-enough", "there are not that many pieces", error);
    }
    return kedge_member_set_number(shelf, "count", (double)(left - count), error);
}

/* The app passes this array to kedge_open(); the server finds it through the function. */
static const kedge_mutator mutators[] = {KEDGE_JSON_MUTATOR("stock.take", 1, take)};

const kedge_mutator *kedge_plugin_mutators(size_t *count)
{
    *count = sizeof mutators / sizeof mutators[0];
    return mutators;
}
