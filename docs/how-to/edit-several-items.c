/* Moves a card of a board to another column. The card and the counts of both columns change
 * together: no reader, here or elsewhere, ever sees one without the others. */
#include <kedge/kedge.h>
#include <stdio.h>

kedge_status move_card(kedge_db *db, const char *card, const char *from, const char *to,
                       int64_t *sequence, kedge_error *error);

static kedge_status add_count(kedge_batch *batch, const char *column, int by, kedge_error *error)
{
    char args[256];
    int size =
        snprintf(args, sizeof args,
                 "{\"collection\":\"columns\",\"id\":\"%s\",\"add\":{\"cards\":%d}}", column, by);
    return kedge_batch_add(batch, "kedge.increment", args, (size_t)size, error);
}

kedge_status move_card(kedge_db *db, const char *card, const char *from, const char *to,
                       int64_t *sequence, kedge_error *error)
{
    char args[512];
    int size = snprintf(args, sizeof args,
                        "{\"collection\":\"cards\",\"id\":\"%s\",\"patch\":["
                        "{\"op\":\"test\",\"path\":\"/column\",\"value\":\"%s\"},"
                        "{\"op\":\"replace\",\"path\":\"/column\",\"value\":\"%s\"}]}",
                        card, from, to);
    kedge_batch *batch = NULL;
    kedge_status status = kedge_batch_begin(db, &batch, error);
    if (status == KEDGE_OK)
        status = kedge_batch_add(batch, "kedge.patch", args, (size_t)size, error);
    if (status == KEDGE_OK) status = add_count(batch, from, -1, error);
    if (status == KEDGE_OK) status = add_count(batch, to, 1, error);
    if (status == KEDGE_OK) status = kedge_batch_commit(batch, sequence, error);
    kedge_batch_free(batch);
    return status;
}
