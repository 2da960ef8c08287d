/* kedge/sync.h: the lists of pending and of rejected mutations, and dismissing and resubmitting
 * rejected ones. */
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"
#include "sdk/runtime/structs.h"

kedge_status kedge_pending_open(kedge_db *db, kedge_mutation_list **list, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (list == NULL) return kedge_fail_null("list", error);
    return kedge_store_pending_open(db->store, list, error);
}

kedge_status kedge_rejected_open(kedge_db *db, kedge_mutation_list **list, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (list == NULL) return kedge_fail_null("list", error);
    return kedge_store_rejected_open(db->store, list, error);
}

kedge_status kedge_mutation_list_next(kedge_mutation_list *list, kedge_mutation *mutation,
                                      kedge_error *error)
{
    if (list == NULL) return kedge_fail_null("list", error);
    if (mutation == NULL) return kedge_fail_null("mutation", error);
    static const kedge_struct_kind kind = {.initialiser = "KEDGE_MUTATION_INIT",
                                           .size = sizeof(kedge_mutation)};
    kedge_mutation row = KEDGE_MUTATION_INIT;
    kedge_status status = kedge_struct_check(kind, mutation, error);
    if (status == KEDGE_OK) status = kedge_store_list_next(list, &row, error);
    if (status == KEDGE_OK) kedge_struct_fill(kind, &row, mutation);
    return status;
}

void kedge_mutation_list_close(kedge_mutation_list *list)
{
    kedge_store_list_close(list);
}

/* The worker is to look at the inbox, though it may hold as many edits as before. */
static void touch_inbox(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    db->shared.inbox_touched = true;
    pthread_mutex_unlock(&db->lock);
    kedge_db_committed(db);
}

kedge_status kedge_rejected_dismiss(kedge_db *db, int64_t sequence, kedge_error *error)
{
    KEDGE_CALL(db, error);
    kedge_status status = kedge_store_dismiss(db->store, sequence, error);
    if (status == KEDGE_OK) touch_inbox(db);
    return status;
}

kedge_status kedge_rejected_dismiss_through(kedge_db *db, int64_t sequence, size_t *dismissed,
                                            kedge_error *error)
{
    size_t count = 0;
    KEDGE_CALL(db, error);
    kedge_status status = kedge_store_dismiss_through(db->store, sequence, &count, error);
    if (count > 0) touch_inbox(db);
    if (status == KEDGE_OK && dismissed != NULL) *dismissed = count;
    return status;
}

kedge_status kedge_rejected_resubmit(kedge_db *db, int64_t sequence, int64_t *new_sequence,
                                     kedge_error *error)
{
    int64_t given = 0;
    KEDGE_CALL(db, error);
    kedge_change_set changes = kedge_change_set_make(db->environment.allocator);
    kedge_status status = kedge_store_resubmit(db->store, sequence, &given, &changes, error);
    if (status == KEDGE_OK) {
        if (new_sequence != NULL) *new_sequence = given;
        kedge_count(&db->counters.edits, 1);
        touch_inbox(db);
    }
    kedge_change_set_free(&changes);
    return status;
}
