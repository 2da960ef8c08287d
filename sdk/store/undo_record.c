/* Recording what edits replace, for an undo: in the turn of the edit, beside its other work. */
#include "sdk/store/edit.h"
#include "sdk/store/prediction.h"

#include "common/error.h"

#define LOOK_BACK 64 /* edits of one item, for the one that changed a place */

static kedge_undo_kind kind_of(const kedge_edit *made)
{
    if (kedge_bytes_equal_text(made->name, "kedge.text")) return KEDGE_UNDO_TEXT;
    if (kedge_bytes_equal_text(made->name, "kedge.increment")) return KEDGE_UNDO_NUMBER;
    return KEDGE_UNDO_VALUE;
}

kedge_status kedge_undo_read_shown(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                                   kedge_buffer *shown, kedge_error *error)
{
    kedge_bytes item;
    kedge_status status = kedge_cache_item(&store->cache, collection, id, &item, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(shown, item);
    return kedge_buffer_status(shown, error);
}

static kedge_status record_entry(kedge_store *store, kedge_edit *made,
                                 const kedge_overlay_entry *entry, kedge_error *error)
{
    kedge_buffer shown = kedge_buffer_make(store->allocator);
    kedge_status status = kedge_undo_read_shown(store, entry->collection, entry->id, &shown, error);
    kedge_undo_note note = {.collection = entry->collection,
                            .id = entry->id,
                            .before = kedge_buffer_bytes(&shown),
                            .kind = kind_of(made),
                            .like = made->takes_back};
    if (!entry->deleted) note.after = entry->value;
    if (status == KEDGE_OK && !kedge_bytes_equal(note.before, note.after))
        status = kedge_undo_group_note(&made->recorded, &note, error);
    kedge_buffer_free(&shown);
    return status;
}

kedge_status kedge_undo_record(kedge_store *store, kedge_edit *made, const kedge_overlay *written,
                               kedge_error *error)
{
    kedge_overlay_entry entry, at;
    kedge_status status = KEDGE_OK;
    bool again = made->attempt > 0; /* then it is no new step, but its group's */
    bool recorded = again ? kedge_undo_log_find(&store->undo, made->rejected) != NULL
                          : made->takes_back != NULL || kedge_undo_log_records(&store->undo);
    if (!recorded) return KEDGE_OK;
    for (bool more = kedge_overlay_next(written, NULL, &entry); more && status == KEDGE_OK;
         more = kedge_overlay_next(written, &at, &entry)) {
        at = entry;
        status = record_entry(store, made, &entry, error);
    }
    return status;
}

/* What the log knows of an edit at a place. */
typedef struct trace {
    bool known;    /* it changed the item */
    bool overlaps; /* it changed the place */
} trace;

static void look_into(const kedge_undo_group *group, const kedge_undo_change *change,
                      int64_t sequence, trace *found)
{
    for (size_t i = 0; i < group->count; i++) {
        const kedge_undo_change *at = &group->changes[i];
        if (sequence < at->first_sequence || !kedge_undo_change_has(at, sequence)) continue;
        if (!kedge_bytes_equal(at->collection, change->collection) ||
            !kedge_bytes_equal(at->id, change->id))
            continue;
        found->known = true;
        if (kedge_undo_changes_overlap(at, change)) found->overlaps = true;
    }
}

/* Whether it is known that the edit left the place alone. */
static bool left_alone(const kedge_undo_log *log, const kedge_undo_change *change, int64_t sequence)
{
    trace found = {.known = false};
    look_into(&log->open, change, sequence, &found);
    for (size_t i = 0; i < log->undo.count; i++)
        look_into(&log->undo.groups[i], change, sequence, &found);
    for (size_t i = 0; i < log->redo.count; i++)
        look_into(&log->redo.groups[i], change, sequence, &found);
    return found.known && !found.overlaps;
}

/* Of the pending edits in front of this one, the last that may have changed the place; 0: none
 * has. */
static int64_t find_below(const kedge_store *store, const kedge_undo_change *change,
                          int64_t sequence)
{
    if (!kedge_store_has_footprints(store, &store->edited_cache)) return sequence - 1;
    const kedge_used_key *key =
        kedge_footprints_find(&store->footprints, change->collection, change->id);
    for (size_t steps = 0; key != NULL && steps < LOOK_BACK; steps++) {
        const kedge_use *below = kedge_key_write_before(key, sequence);
        if (below == NULL) return 0;
        sequence = below->sequence;
        if (!left_alone(&store->undo, change, sequence)) break;
    }
    return sequence;
}

static void look_below(const kedge_store *store, kedge_undo_group *recorded, int64_t sequence)
{
    for (size_t i = 0; i < recorded->count; i++)
        recorded->changes[i].below_sequence = find_below(store, &recorded->changes[i], sequence);
}

void kedge_undo_keep(kedge_store *store, kedge_edit *made)
{
    kedge_undo_group *open = &store->undo.open;
    look_below(store, &made->recorded, made->sequence);
    if (made->takes_back != NULL || !kedge_undo_log_records(&store->undo)) return;
    if (kedge_undo_group_take(open, &made->recorded, made->sequence, NULL) == KEDGE_OK) return;
    kedge_undo_group_clear(open);
    open->too_large = true;
    kedge_undo_group_clear(&made->recorded);
}

/* All groups are found first: edits of one place may share a change, which goes with the first. */
static kedge_status replace_attempts(kedge_store *store, kedge_undo_remade *made, size_t count)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count; i++)
        made[i].group = kedge_undo_log_find(&store->undo, made[i].old_sequence);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        if (made[i].group == NULL) continue;
        kedge_undo_group_forget(made[i].group, made[i].old_sequence);
        look_below(store, &made[i].recorded, made[i].sequence);
        status = kedge_undo_group_take(made[i].group, &made[i].recorded, made[i].sequence, NULL);
    }
    return status;
}

void kedge_undo_keep_remade(kedge_store *store, kedge_undo_remade *made, size_t count)
{
    kedge_undo_stack *undo = &store->undo.undo;
    kedge_status status = replace_attempts(store, made, count);
    for (size_t i = 0; i < count; i++)
        kedge_undo_group_clear(&made[i].recorded);
    /* A log that is not right is worse than none. */
    if (status != KEDGE_OK) kedge_undo_log_clear(&store->undo);
    for (size_t i = undo->count; i > 0; i--)
        if (undo->groups[i - 1].count == 0) kedge_undo_stack_remove(undo, &undo->groups[i - 1]);
}
