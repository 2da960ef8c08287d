/* kedge/undo.h: the store keeps the groups; an undo is an edit like any other. */
#include <kedge/undo.h>

#include "common/error.h"
#include "common/utf8.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"
#include "sdk/runtime/structs.h"

#include <string.h>

kedge_status kedge_undo_begin(kedge_db *db, const char *label, kedge_error *error)
{
    KEDGE_CALL(db, error);
    kedge_bytes text = kedge_bytes_of(label == NULL ? "" : label);
    if (text.size >= KEDGE_UNDO_LABEL_SIZE || !kedge_bytes_are_utf8(text))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "label-invalid",
                          "label must be UTF-8 of at most %d bytes", KEDGE_UNDO_LABEL_SIZE - 1);
    return kedge_store_undo_begin(db->store, text.data, error);
}

kedge_status kedge_undo_end(kedge_db *db, kedge_error *error)
{
    KEDGE_CALL(db, error);
    return kedge_store_undo_end(db->store, error);
}

static kedge_status take_back(kedge_db *db, bool redo, kedge_undo_result *result,
                              kedge_error *error)
{
    static const kedge_struct_kind kind = {"KEDGE_UNDO_RESULT_INIT", 0, sizeof(kedge_undo_result)};
    kedge_undo_result own = KEDGE_UNDO_RESULT_INIT;
    KEDGE_CALL(db, error);
    kedge_status status = result == NULL ? KEDGE_OK : kedge_struct_check(kind, result, error);
    if (status != KEDGE_OK) return status;
    kedge_change_set changes = kedge_change_set_make(db->environment.allocator);
    status = kedge_store_undo(db->store, redo, &own, &changes, error);
    if (status == KEDGE_OK) {
        if (result != NULL) kedge_struct_fill(kind, &own, result);
        kedge_count(&db->counters.edits, 1);
        kedge_db_committed(db);
    }
    kedge_change_set_free(&changes);
    return status;
}

kedge_status kedge_undo(kedge_db *db, kedge_undo_result *result, kedge_error *error)
{
    return take_back(db, false, result, error);
}

kedge_status kedge_redo(kedge_db *db, kedge_undo_result *result, kedge_error *error)
{
    return take_back(db, true, result, error);
}

kedge_status kedge_get_undo_state(kedge_db *db, kedge_undo_state *state, kedge_error *error)
{
    static const kedge_struct_kind kind = {"KEDGE_UNDO_STATE_INIT", 0, sizeof(kedge_undo_state)};
    kedge_undo_state own = KEDGE_UNDO_STATE_INIT;
    KEDGE_CALL(db, error);
    if (state == NULL) return kedge_fail_null("state", error);
    kedge_status status = kedge_struct_check(kind, state, error);
    if (status != KEDGE_OK) return status;
    status = kedge_store_undo_state(db->store, &own, error);
    if (status == KEDGE_OK) kedge_struct_fill(kind, &own, state);
    return status;
}
