/* What lies under the changes of pending edits.
 *
 * A change of a pending edit lies over the canonical value. When a pull brings another canonical
 * value there, somebody else's, the change's own `before` becomes that value: else the undo would
 * remove what the other wrote. Of a change by several edits the first ones may be decided already:
 * then the canonical value may be what one of these left there, and `before` stays. */
#include "sdk/store/edit.h"
#include "sdk/store/outbox_rows.h"

#include "common/assert.h"
#include "common/error.h"

#include <stdlib.h>

/* The sequence of the first mutation that the cache does not cover; INT64_MAX: there is none. */
static kedge_status first_pending(kedge_store *store, const kedge_cache_meta *cache,
                                  int64_t *sequence, kedge_error *error)
{
    kedge_pending row;
    sqlite3_stmt *cursor;
    *sequence = INT64_MAX;
    kedge_status status = kedge_outbox_cursor_open(&store->outbox, cache, &cursor, error);
    if (status != KEDGE_OK) return status;
    status = kedge_outbox_cursor_next(&store->outbox, cursor, &row, error);
    if (status == KEDGE_OK) *sequence = row.sequence;
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* What a rebase of the log needs to know. */
typedef struct rebased {
    kedge_store *store;
    int64_t pending;                         /* the first sequence that is */
    const kedge_wire_patch_operation **rows; /* in order of their keys; NULL: any key was changed */
    size_t count;
} rebased;

/* Appends the canonical value of the key; nothing when there is none. */
static kedge_status read_canonical(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                                   kedge_buffer *canonical, kedge_error *error)
{
    kedge_cache_row base;
    kedge_status status = kedge_cache_base(&store->cache, collection, id, &base, error);
    if (status == KEDGE_NOT_FOUND)
        return kedge_undo_read_shown(store, collection, id, canonical, error);
    if (status != KEDGE_OK) return status;
    if (base.has_value) kedge_buffer_append_bytes(canonical, base.value);
    return kedge_buffer_status(canonical, error);
}

static kedge_status rebase_change(const rebased *to, kedge_undo_group *group,
                                  kedge_undo_change *change, kedge_error *error)
{
    kedge_bytes now;
    const kedge_allocator *allocator = to->store->allocator;
    kedge_buffer canonical = kedge_buffer_make(allocator);
    kedge_status status =
        read_canonical(to->store, change->collection, change->id, &canonical, error);
    if (status == KEDGE_OK)
        status = kedge_undo_value_at(allocator, kedge_buffer_bytes(&canonical), change->path, &now,
                                     error);
    /* A number is undone by its difference: `before` says only whether it was absent, which it is
     * no more. */
    if (status == KEDGE_OK && change->kind == KEDGE_UNDO_NUMBER && now.size > 0)
        now = KEDGE_BYTES("0");
    if (status == KEDGE_OK && !kedge_bytes_equal(now, change->before) &&
        !kedge_undo_change_left(change, to->pending, now))
        status = kedge_undo_change_rebase(group, change, now, error);
    kedge_buffer_free(&canonical);
    return status;
}

static int compare_keys(kedge_bytes collection, kedge_bytes id,
                        const kedge_wire_patch_operation *operation)
{
    int order = kedge_bytes_compare(collection, operation->collection);
    return order != 0 ? order : kedge_bytes_compare(id, operation->id);
}

static int compare_operations(const void *a, const void *b)
{
    const kedge_wire_patch_operation *first = *(const kedge_wire_patch_operation *const *)a;
    return compare_keys(first->collection, first->id,
                        *(const kedge_wire_patch_operation *const *)b);
}

static int compare_change(const void *change, const void *operation)
{
    const kedge_undo_change *of = change;
    return compare_keys(of->collection, of->id,
                        *(const kedge_wire_patch_operation *const *)operation);
}

static kedge_status rebase_group(const rebased *to, kedge_undo_group *group, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < group->count && status == KEDGE_OK; i++) {
        kedge_undo_change *change = &group->changes[i];
        bool absent = change->kind == KEDGE_UNDO_NUMBER && change->before.size == 0;
        int64_t due = absent ? change->first_sequence : change->last_sequence;
        if ((change->kind != KEDGE_UNDO_VALUE && !absent) || due < to->pending ||
            change->below_sequence >= to->pending)
            continue;
        if (to->rows != NULL &&
            bsearch(change, to->rows, to->count, sizeof *to->rows, compare_change) == NULL)
            continue;
        status = rebase_change(to, group, change, error);
    }
    return status;
}

static kedge_status rebase_stack(const rebased *to, kedge_undo_stack *stack, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < stack->count && status == KEDGE_OK; i++)
        status = rebase_group(to, &stack->groups[i], error);
    return status;
}

/* `patch` NULL: any key may have another value. */
static kedge_status rebase_log(kedge_store *store, const kedge_wire_patch *patch,
                               const kedge_cache_meta *cache, kedge_error *error)
{
    kedge_undo_log *log = &store->undo;
    rebased to = {.store = store};
    kedge_status status = first_pending(store, cache, &to.pending, error);
    if (status != KEDGE_OK || to.pending == INT64_MAX) return status;
    if (patch != NULL) {
        to.rows = kedge_allocate(store->allocator, patch->count * sizeof *to.rows);
        if (to.rows == NULL) return kedge_fail_no_memory(error);
        for (; to.count < patch->count; to.count++)
            to.rows[to.count] = &patch->operations[to.count];
        qsort(to.rows, to.count, sizeof *to.rows, compare_operations);
    }
    status = rebase_stack(&to, &log->undo, error);
    if (status == KEDGE_OK) status = rebase_stack(&to, &log->redo, error);
    if (status == KEDGE_OK) status = rebase_group(&to, &log->open, error);
    kedge_release(store->allocator, to.rows);
    return status;
}

void kedge_undo_rebase(kedge_store *store, const kedge_wire_patch *patch,
                       const kedge_cache_meta *cache)
{
    kedge_undo_log *log = &store->undo;
    KEDGE_ASSERT(store->locked);
    log->version = cache->version;
    bool empty = log->undo.count == 0 && log->redo.count == 0 && log->open.count == 0;
    if (empty || (patch != NULL && patch->count == 0)) return;
    if (patch != NULL && patch->operations[0].kind == KEDGE_WIRE_PATCH_CLEAR) patch = NULL;
    /* A log that is not right is worse than none. */
    if (rebase_log(store, patch, cache, NULL) != KEDGE_OK) kedge_undo_log_clear(log);
}

/* The first edit from `first` to `last` that was rejected or cancelled; INT64_MAX: none. */
static kedge_status find_void(kedge_store *store, int64_t first, int64_t last, int64_t *sequence,
                              kedge_error *error)
{
    static const char *const sql =
        "SELECT sequence FROM rejected WHERE sequence BETWEEN ?1 AND ?2 AND state <> 4 UNION ALL"
        " SELECT sequence FROM pending WHERE sequence BETWEEN ?1 AND ?2 AND name = 'kedge.noop'"
        " UNION ALL"
        " SELECT sequence FROM confirmed WHERE sequence BETWEEN ?1 AND ?2 AND name = 'kedge.noop'"
        " {least}";
    kedge_status status =
        kedge_store_db_find_number(&store->outbox, sql, sequence, error, "ii", first, last);
    if (*sequence == 0) *sequence = INT64_MAX;
    return status;
}

/* A rejected edit, or one that another process has cancelled, did nothing: an undo of an increment
 * would subtract what was never added. One that was made again has another attempt, which is in the
 * group; what an attempt of another process did is not known here. */
static kedge_status forget_void(kedge_store *store, kedge_undo_group *group, kedge_error *error)
{
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < group->count; i++) {
        const kedge_undo_change *change = &group->changes[i];
        if (change->first_sequence < first) first = change->first_sequence;
        if (change->last_sequence > last) last = change->last_sequence;
    }
    while (first <= last) {
        int64_t sequence;
        kedge_status status = find_void(store, first, last, &sequence, error);
        if (status != KEDGE_OK || sequence == INT64_MAX) return status;
        kedge_undo_group_void(group, sequence);
        first = sequence + 1;
    }
    return KEDGE_OK;
}

kedge_status kedge_undo_refresh(kedge_store *store, kedge_undo_group *group, kedge_error *error)
{
    kedge_cache_meta cache;
    rebased to = {.store = store};
    kedge_status status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status == KEDGE_OK) status = forget_void(store, group, error);
    if (status == KEDGE_OK) status = first_pending(store, &cache, &to.pending, error);
    return status == KEDGE_OK ? rebase_group(&to, group, error) : status;
}
