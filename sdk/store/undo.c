/* Undo and redo: groups of edits, and taking them back by kedge.restore. What is recorded of an
 * edit: undo_record.c; how that stays right under pulls: undo_rebase.c. */
#include "sdk/store/edit.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

/* ---- groups: in memory alone, so that the writers' mutex suffices ---- */

static kedge_status begin_group(kedge_undo_log *log, const char *label, kedge_error *error)
{
    if (log->is_open)
        return kedge_fail(error, KEDGE_CONFLICT, "undo-open",
                          "a group of edits is open already; it ends with kedge_undo_end");
    kedge_undo_group_clear(&log->open);
    log->is_open = true;
    log->owner = pthread_self();
    KEDGE_ASSERT(strlen(label) < sizeof log->open.label);
    memcpy(log->open.label, label, strlen(label) + 1);
    return KEDGE_OK;
}

kedge_status kedge_store_undo_begin(kedge_store *store, const char *label, kedge_error *error)
{
    kedge_status status = kedge_store_hold(store, error);
    if (status != KEDGE_OK) return status;
    status = begin_group(&store->undo, label, error);
    kedge_store_release(store);
    return status;
}

static kedge_status end_group(kedge_undo_log *log, kedge_error *error)
{
    if (!kedge_undo_log_records(log))
        return kedge_fail(error, KEDGE_CONFLICT, "undo-not-open",
                          "this thread has not begun a group of edits; see kedge_undo_begin");
    log->is_open = false;
    bool too_large = log->open.too_large;
    kedge_undo_group_settle(&log->open);
    if (too_large || log->open.count > 0) kedge_undo_stack_clear(&log->redo);
    /* The next undo would take back what is older than what the user did last. */
    if (too_large) kedge_undo_stack_clear(&log->undo);
    kedge_undo_log_push(log, &log->undo, &log->open);
    if (!too_large) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "undo-too-large",
                      "the group cannot be undone: it has more than %d changes or %d bytes, or"
                      " memory ran out",
                      KEDGE_LIMIT_UNDO_CHANGES, KEDGE_LIMIT_UNDO_GROUP_BYTES);
}

kedge_status kedge_store_undo_end(kedge_store *store, kedge_error *error)
{
    kedge_status status = kedge_store_hold(store, error);
    if (status != KEDGE_OK) return status;
    status = end_group(&store->undo, error);
    kedge_store_release(store);
    return status;
}

kedge_status kedge_store_undo_state(kedge_store *store, kedge_undo_state *state, kedge_error *error)
{
    kedge_undo_log *log = &store->undo;
    kedge_status status = kedge_store_hold(store, error);
    if (status != KEDGE_OK) return status;
    const kedge_undo_group *undo = kedge_undo_log_top(&log->undo);
    const kedge_undo_group *redo = kedge_undo_log_top(&log->redo);
    state->open = log->is_open;
    state->undo_count = (uint32_t)log->undo.count;
    state->redo_count = (uint32_t)log->redo.count;
    if (undo != NULL) memcpy(state->undo_label, undo->label, sizeof state->undo_label);
    if (redo != NULL) memcpy(state->redo_label, redo->label, sizeof state->redo_label);
    kedge_store_release(store);
    return KEDGE_OK;
}

/* ---- taking back ---- */

typedef struct undo_call {
    bool redo;
    kedge_undo_result *result;
    kedge_change_set *changes;
} undo_call;

/* The undo becomes what the other stack takes back. */
static void move_group(kedge_store *store, const undo_call *call, kedge_edit *made)
{
    kedge_undo_log *log = &store->undo;
    kedge_undo_stack *from = call->redo ? &log->redo : &log->undo;
    kedge_undo_group *group = kedge_undo_log_top(from);
    kedge_undo_group next = kedge_undo_group_make(store->allocator);
    KEDGE_ASSERT(made->passed_over <= group->count);
    call->result->sequence = made->sequence;
    call->result->restored = (int64_t)(group->count - made->passed_over);
    call->result->kept = (int64_t)made->passed_over;
    (void)kedge_undo_group_take(&next, &made->recorded, made->sequence, NULL); /* it is empty */
    memcpy(next.label, group->label, sizeof next.label);
    kedge_undo_stack_pop(from);
    kedge_undo_log_push(log, call->redo ? &log->undo : &log->redo, &next);
}

/* The args of an item's edit were within the limits. These may be over them: a value stands deeper
 * in them than in its item, and the keys of a path are escaped. */
static kedge_status write_args(const kedge_undo_group *group, kedge_buffer *args,
                               kedge_error *error)
{
    kedge_buffer plain = kedge_buffer_make(args->allocator);
    kedge_status status = kedge_undo_group_write(group, &plain, error);
    if (status == KEDGE_OK) status = kedge_edit_normalize(kedge_buffer_bytes(&plain), args, error);
    kedge_buffer_free(&plain);
    return status;
}

static kedge_status take_back(kedge_store *store, const undo_call *call, kedge_undo_stack *from,
                              kedge_error *error)
{
    kedge_error why = {0};
    bool oversized = false; /* the args that would take the group back */
    kedge_undo_group *group = kedge_undo_log_top(from);
    kedge_buffer args = kedge_buffer_make(store->allocator);
    kedge_edit made = {
        .name = KEDGE_BYTES("kedge.restore"), .changes = call->changes, .takes_back = group};
    kedge_status status = kedge_undo_refresh(store, group, &why);
    if (status == KEDGE_OK && group->count == 0)
        status = kedge_fail(&why, KEDGE_REJECTED, "restore-conflict",
                            "none of the group's edits stands");
    if (status == KEDGE_OK) {
        status = write_args(group, &args, &why);
        oversized = status == KEDGE_LIMIT_EXCEEDED;
    }
    made.args = kedge_buffer_bytes(&args);
    if (status == KEDGE_OK) status = kedge_edit_make(store, &made, &why);
    if (status == KEDGE_OK) {
        move_group(store, call, &made);
    } else if (status == KEDGE_REJECTED) {
        kedge_undo_stack_pop(from);
        status = kedge_fail(error, KEDGE_CONFLICT, "undo-conflict", "nothing was taken back: %s",
                            why.message);
    } else {
        if (oversized) kedge_undo_stack_pop(from);
        kedge_fail(error, status, why.code, "%s", why.message);
    }
    kedge_buffer_free(&args);
    return status;
}

static kedge_status undo_work(kedge_store *store, void *context, kedge_error *error)
{
    const undo_call *call = context;
    kedge_undo_log *log = &store->undo;
    kedge_undo_stack *from = call->redo ? &log->redo : &log->undo;
    if (log->is_open)
        return kedge_fail(error, KEDGE_CONFLICT, "undo-open",
                          "a group of edits is open; it ends with kedge_undo_end");
    if (from->count > 0) return take_back(store, call, from, error);
    return kedge_fail(error, KEDGE_NOT_FOUND, call->redo ? "nothing-to-redo" : "nothing-to-undo",
                      call->redo ? "no undo is left to take back"
                                 : "no group of edits is left to take back");
}

kedge_status kedge_store_undo(kedge_store *store, bool redo, kedge_undo_result *result,
                              kedge_change_set *changes, kedge_error *error)
{
    undo_call call = {.redo = redo, .result = result, .changes = changes};
    return kedge_store_take_telling_turn(store, undo_work, &call, changes, error);
}
