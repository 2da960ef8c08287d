/* The rebase by footprints.
 *
 * The pending mutations are passed in their order. `changed` holds the keys of which the value at
 * this point differs from what it was at the same point when the mutations ran last. It may hold a
 * key too many, which costs a run and changes nothing.
 *
 *   at the start     the keys of the delta and those that covered mutations wrote, where the new
 *                    canonical value is not the one that the first mutation left pending has seen
 *   a mutation that has read a changed key, or scanned over one, or that is another one now: it
 *                    runs again on the new values. A key that it wrote with the same value as
 *                    before is changed no longer; one that it wrote otherwise, or only now, or no
 *                    longer, is changed
 *   another one      what it wrote stays. Keys that it wrote are changed no longer
 *
 * Only the mutations that use a changed key are visited: `due` holds their sequences. Nothing is
 * written anywhere until all have been passed, so `shown` and `base` are those of before all the
 * time. */
#include "sdk/store/rebase.h"

#include "common/assert.h"
#include "common/error.h"

typedef struct rebase {
    kedge_rebase *asked;
    kedge_footprints *all;
    int64_t at;             /* the sequence of the mutation that runs */
    kedge_overlay *changed; /* a set of keys */
    kedge_overlay *touched; /* a set: the keys of which a row may have to be written */
    int64_t *due;           /* a heap, the lowest first */
    size_t due_count;
    size_t due_capacity;
    bool unknown; /* a value was needed of which only the hash is kept */
} rebase;

/* ---- sets of keys ---- */

static kedge_status add_key(kedge_overlay *set, const kedge_overlay_entry *key, kedge_error *error)
{
    return kedge_overlay_put(set, key->collection, key->id, (kedge_bytes){NULL, 0}, error);
}

static bool has_key(const kedge_overlay *set, const kedge_overlay_entry *key)
{
    kedge_overlay_entry entry;
    return kedge_overlay_get(set, key->collection, key->id, &entry);
}

/* ---- the mutations to visit ---- */

static kedge_status push_due(rebase *work, int64_t sequence, kedge_error *error)
{
    const kedge_allocator *allocator = work->all->allocator;
    if (work->due_count == work->due_capacity) {
        size_t capacity = work->due_capacity == 0 ? 64 : 2 * work->due_capacity;
        int64_t *due = allocator->reallocate(allocator->context, work->due, capacity * sizeof *due);
        if (!due) return kedge_fail_no_memory(error);
        work->due = due;
        work->due_capacity = capacity;
    }
    size_t child = work->due_count++;
    for (; child > 0 && work->due[(child - 1) / 2] > sequence; child = (child - 1) / 2)
        work->due[child] = work->due[(child - 1) / 2];
    work->due[child] = sequence;
    return KEDGE_OK;
}

static void pop_due(rebase *work)
{
    int64_t last = work->due[--work->due_count];
    size_t parent = 0;
    for (size_t child = 1; child < work->due_count; child = 2 * parent + 1) {
        if (child + 1 < work->due_count && work->due[child + 1] < work->due[child]) child++;
        if (work->due[child] >= last) break;
        work->due[parent] = work->due[child];
        parent = child;
    }
    work->due[parent] = last;
}

/* The next mutation after `sequence` that uses the key must be looked at. */
static kedge_status follow(rebase *work, const kedge_overlay_entry *at, int64_t sequence,
                           kedge_error *error)
{
    const kedge_used_key *key = kedge_footprints_find(work->all, at->collection, at->id);
    const kedge_use *next = key ? kedge_key_use_after(key, sequence) : NULL;
    return next ? push_due(work, next->sequence, error) : KEDGE_OK;
}

static kedge_status set_changed(rebase *work, const kedge_overlay_entry *key, int64_t sequence,
                                kedge_error *error)
{
    kedge_status status = add_key(work->changed, key, error);
    return status == KEDGE_OK ? follow(work, key, sequence, error) : status;
}

/* ---- values ---- */

static kedge_status old_canonical(rebase *work, const kedge_overlay_entry *key, bool *present,
                                  kedge_buffer *value, kedge_error *error)
{
    kedge_rebase *asked = work->asked;
    kedge_status status =
        asked->base(asked->base_context, key->collection, key->id, present, value, error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = asked->shown.get(asked->shown.context, key->collection, key->id, value, error);
    *present = status == KEDGE_OK;
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status new_canonical(rebase *work, const kedge_overlay_entry *key, bool *present,
                                  kedge_buffer *value, kedge_error *error)
{
    kedge_overlay_entry entry;
    if (!kedge_overlay_get(work->asked->delta, key->collection, key->id, &entry))
        return old_canonical(work, key, present, value, error);
    *present = !entry.deleted;
    kedge_buffer_append_bytes(value, entry.value);
    return kedge_buffer_status(value, error);
}

static kedge_status value_of_use(rebase *work, const kedge_overlay_entry *key, const kedge_use *use,
                                 bool *present, kedge_buffer *value, kedge_error *error)
{
    kedge_state_reader shown = work->asked->shown;
    kedge_status status;
    switch (use->kind) {
    case KEDGE_USE_SHOWN:
        status = shown.get(shown.context, key->collection, key->id, value, error);
        *present = status == KEDGE_OK;
        return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
    case KEDGE_USE_KEPT:
        *present = true;
        kedge_buffer_append_bytes(value, use->value);
        return kedge_buffer_status(value, error);
    case KEDGE_USE_DELETED:
        *present = false;
        return KEDGE_OK;
    default:
        work->unknown = true;
        return kedge_fail(error, KEDGE_INTERNAL, "value-not-kept",
                          "only the hash of a value is kept");
    }
}

/* The value that a mutation of this sequence sees now. */
static kedge_status value_before(rebase *work, const kedge_overlay_entry *key, int64_t sequence,
                                 bool *present, kedge_buffer *value, kedge_error *error)
{
    const kedge_used_key *used = kedge_footprints_find(work->all, key->collection, key->id);
    const kedge_use *use = used ? kedge_key_write_before(used, sequence) : NULL;
    return use ? value_of_use(work, key, use, present, value, error)
               : new_canonical(work, key, present, value, error);
}

/* ---- the state that the mutation `at` runs on ---- */

static kedge_status state_get(void *context, kedge_bytes collection, kedge_bytes id,
                              kedge_buffer *value, kedge_error *error)
{
    rebase *work = context;
    const kedge_overlay_entry key = {.collection = collection, .id = id};
    bool present;
    kedge_status status = value_before(work, &key, work->at, &present, value, error);
    if (status != KEDGE_OK || present) return status;
    return kedge_fail(error, KEDGE_NOT_FOUND, "item-not-found", "there is no such item");
}

typedef struct candidate {
    bool found;
    kedge_bytes id;
} candidate;

static void offer(candidate *lowest, const kedge_overlay_entry *entry)
{
    if (lowest->found && kedge_bytes_compare(entry->id, lowest->id) >= 0) return;
    *lowest = (candidate){true, entry->id};
}

/* The lowest id after `after` that is shown, in the delta, used by a mutation, or written by one
 * before this rebase. Every other key is absent. `shown` holds the first one that is shown. */
static kedge_status next_candidate(rebase *work, kedge_bytes collection, bool from_start,
                                   kedge_bytes after, kedge_buffer *shown, candidate *lowest,
                                   kedge_error *error)
{
    kedge_state_reader state = work->asked->shown;
    kedge_buffer value = kedge_buffer_make(work->all->allocator);
    kedge_overlay_entry entry;
    *lowest = (candidate){false, {NULL, 0}};
    kedge_buffer_clear(shown);
    kedge_status status =
        state.next(state.context, collection, from_start, after, shown, &value, error);
    kedge_buffer_free(&value);
    if (status != KEDGE_OK && status != KEDGE_DONE) return status;
    if (status == KEDGE_OK) *lowest = (candidate){true, kedge_buffer_bytes(shown)};
    if (kedge_overlay_next_of(work->asked->delta, collection, from_start, after, &entry))
        offer(lowest, &entry);
    if (kedge_overlay_next_of(work->touched, collection, from_start, after, &entry))
        offer(lowest, &entry);
    const kedge_used_key *used = kedge_footprints_next(work->all, collection, from_start, after);
    if (used) offer(lowest, &used->node.entry);
    return KEDGE_OK;
}

static kedge_status state_next(void *context, kedge_bytes collection, bool from_start,
                               kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                               kedge_error *error)
{
    rebase *work = context;
    candidate lowest;
    kedge_buffer shown = kedge_buffer_make(work->all->allocator);
    kedge_status status =
        next_candidate(work, collection, from_start, after, &shown, &lowest, error);
    while (status == KEDGE_OK && lowest.found) {
        bool present;
        kedge_buffer_clear(id);
        kedge_buffer_clear(value);
        kedge_buffer_append_bytes(id, lowest.id);
        status = kedge_buffer_status(id, error);
        kedge_overlay_entry key = {.collection = collection, .id = kedge_buffer_bytes(id)};
        if (status == KEDGE_OK) status = value_before(work, &key, work->at, &present, value, error);
        if (status != KEDGE_OK || present) break;
        status = next_candidate(work, collection, false, key.id, &shown, &lowest, error);
    }
    kedge_buffer_free(&shown);
    if (status != KEDGE_OK || lowest.found) return status;
    kedge_buffer_clear(id);
    kedge_buffer_clear(value);
    return KEDGE_DONE;
}

/* ---- the start: what is covered, and what the delta changes ---- */

/* What the first mutation left pending has seen under the key: what the last covered one wrote, or
 * the old canonical value. Tells whether the new canonical value is another one. */
static kedge_status differs_at_start(rebase *work, const kedge_overlay_entry *key,
                                     int64_t first_left, bool *differs, kedge_error *error)
{
    const kedge_used_key *used = kedge_footprints_find(work->all, key->collection, key->id);
    const kedge_use *covered = used ? kedge_key_write_before(used, first_left) : NULL;
    kedge_buffer old = kedge_buffer_make(work->all->allocator);
    kedge_buffer new = kedge_buffer_make(work->all->allocator);
    kedge_state_reader shown = work->asked->shown;
    bool was = false, is = false;
    kedge_status status = new_canonical(work, key, &is, &new, error);
    if (status == KEDGE_OK && !covered) {
        status = old_canonical(work, key, &was, &old, error);
    } else if (status == KEDGE_OK && covered->kind == KEDGE_USE_SHOWN) {
        status = shown.get(shown.context, key->collection, key->id, &old, error);
        was = status == KEDGE_OK;
        if (status == KEDGE_NOT_FOUND) status = KEDGE_OK;
    }
    if (status == KEDGE_OK) {
        kedge_bytes before = kedge_buffer_bytes(&old), after = kedge_buffer_bytes(&new);
        kedge_use canonical = {.kind = KEDGE_USE_SHOWN};
        *differs = !kedge_use_equals(covered ? covered : &canonical, was ? &before : NULL,
                                     is ? &after : NULL);
    }
    kedge_buffer_free(&old);
    kedge_buffer_free(&new);
    return status;
}

static kedge_status start_key(rebase *work, const kedge_overlay_entry *key, int64_t first_left,
                              kedge_error *error)
{
    bool differs;
    if (has_key(work->touched, key)) return KEDGE_OK;
    kedge_status status = add_key(work->touched, key, error);
    if (status == KEDGE_OK) status = differs_at_start(work, key, first_left, &differs, error);
    if (status != KEDGE_OK || !differs) return status;
    return set_changed(work, key, first_left - 1, error);
}

static kedge_status start(rebase *work, kedge_error *error)
{
    kedge_footprints *all = work->all;
    kedge_overlay_entry entry, at;
    kedge_status status = KEDGE_OK;
    size_t covered = 0;
    while (all->first + covered < all->count &&
           all->rows[all->first + covered].id <= work->asked->lmid)
        covered++;
    int64_t first_left =
        all->first + covered < all->count ? all->rows[all->first + covered].sequence : INT64_MAX;
    for (size_t i = 0; i < covered && status == KEDGE_OK; i++) {
        const kedge_footprint *row = &all->rows[all->first + i];
        for (size_t j = 0; j < row->key_count && status == KEDGE_OK; j++)
            if (kedge_key_use_of(row->keys[j], row->sequence)->kind != KEDGE_USE_READ)
                status = start_key(work, &row->keys[j]->node.entry, first_left, error);
    }
    for (bool more = kedge_overlay_next(work->asked->delta, NULL, &entry);
         more && status == KEDGE_OK; more = kedge_overlay_next(work->asked->delta, &at, &entry)) {
        at = entry;
        status = start_key(work, &entry, first_left, error);
    }
    for (size_t i = 0; i < covered && status == KEDGE_OK; i++)
        kedge_footprints_drop_first(all);
    return status;
}

/* ---- one mutation ---- */

static bool range_has_changed(const rebase *work, const kedge_range *range)
{
    kedge_overlay_entry entry;
    if (!kedge_overlay_next_of(work->changed, range->collection, range->from_start, range->after,
                               &entry))
        return false;
    return range->to_end || kedge_bytes_compare(entry.id, range->through) <= 0;
}

static bool must_run(const rebase *work, const kedge_footprint *row)
{
    for (size_t i = 0; i < row->key_count; i++)
        if (kedge_key_use_of(row->keys[i], row->sequence)->reads &&
            has_key(work->changed, &row->keys[i]->node.entry))
            return true;
    for (size_t i = 0; i < row->range_count; i++)
        if (range_has_changed(work, &row->ranges[i])) return true;
    return false;
}

/* Whether the mutation writes under the key what it wrote before. */
static kedge_status writes_the_same(rebase *work, const kedge_used_key *key, int64_t sequence,
                                    const kedge_overlay_entry *entry, bool *same,
                                    kedge_error *error)
{
    const kedge_use *use = kedge_key_use_of(key, sequence);
    kedge_state_reader shown = work->asked->shown;
    kedge_buffer value = kedge_buffer_make(work->all->allocator);
    kedge_status status = KEDGE_NOT_FOUND;
    *same = false;
    if (!use || use->kind == KEDGE_USE_READ) return KEDGE_OK;
    if (use->kind == KEDGE_USE_SHOWN)
        status = shown.get(shown.context, entry->collection, entry->id, &value, error);
    if (status == KEDGE_OK || status == KEDGE_NOT_FOUND) {
        kedge_bytes found = kedge_buffer_bytes(&value);
        *same = kedge_use_equals(use, status == KEDGE_OK ? &found : NULL,
                                 entry->deleted ? NULL : &entry->value);
        status = KEDGE_OK;
    }
    kedge_buffer_free(&value);
    return status;
}

/* The changes of this run, against those of the one before it. */
static kedge_status compare_writes(rebase *work, const kedge_footprint *row,
                                   const kedge_overlay *written, kedge_error *error)
{
    kedge_overlay_entry entry, at;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < row->key_count && status == KEDGE_OK; i++) {
        const kedge_overlay_entry *key = &row->keys[i]->node.entry;
        if (kedge_key_use_of(row->keys[i], row->sequence)->kind == KEDGE_USE_READ) continue;
        status = add_key(work->touched, key, error);
        if (status == KEDGE_OK && !has_key(written, key))
            status = set_changed(work, key, row->sequence, error);
    }
    for (bool more = kedge_overlay_next(written, NULL, &entry); more && status == KEDGE_OK;
         more = kedge_overlay_next(written, &at, &entry)) {
        bool same = false;
        at = entry;
        const kedge_used_key *key = kedge_footprints_find(work->all, entry.collection, entry.id);
        if (key) status = writes_the_same(work, key, row->sequence, &entry, &same, error);
        if (status == KEDGE_OK) status = add_key(work->touched, &entry, error);
        if (status != KEDGE_OK) break;
        if (same)
            kedge_overlay_forget(work->changed, entry.collection, entry.id);
        else
            status = set_changed(work, &entry, row->sequence, error);
    }
    return status;
}

/* The value that is shown now will be shown no more. */
static kedge_status keep_shown(rebase *work, const kedge_overlay_entry *key, kedge_use *use,
                               kedge_error *error)
{
    bool present;
    kedge_buffer value = kedge_buffer_make(work->all->allocator);
    kedge_status status = value_of_use(work, key, use, &present, &value, error);
    kedge_bytes found = kedge_buffer_bytes(&value);
    if (status == KEDGE_OK) status = kedge_use_keep(work->all, use, present ? &found : NULL, error);
    kedge_buffer_free(&value);
    return status;
}

/* Sets the values of the writes. All are kept until the end, when it is known which are shown. */
static kedge_status keep_writes(rebase *work, const kedge_footprint *row,
                                const kedge_overlay *written, kedge_error *error)
{
    kedge_overlay_entry entry;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < row->key_count && status == KEDGE_OK; i++) {
        const kedge_used_key *key = row->keys[i];
        const kedge_overlay_entry *at = &key->node.entry;
        kedge_use *use = kedge_key_use_of(key, row->sequence);
        if (!kedge_overlay_get(written, at->collection, at->id, &entry)) {
            kedge_use_unwrite(work->all, use);
            continue;
        }
        kedge_use *former = kedge_key_write_before(key, row->sequence);
        if (former && former->kind == KEDGE_USE_SHOWN) status = keep_shown(work, at, former, error);
        if (status == KEDGE_OK)
            status = kedge_use_keep(work->all, use, entry.deleted ? NULL : &entry.value, error);
    }
    return status;
}

static kedge_status run_again(rebase *work, kedge_footprint *row, kedge_error *error)
{
    kedge_recording recording;
    kedge_overlay *written = kedge_overlay_new(work->all->allocator);
    kedge_state_reader state = {work, state_get, state_next};
    kedge_status status = kedge_recording_begin(&recording, work->all->allocator, state, error);
    if (status == KEDGE_OK && !written) status = kedge_fail_no_memory(error);
    work->at = row->sequence;
    work->asked->runs++;
    if (status == KEDGE_OK)
        status = work->asked->run(work->asked->run_context, row->sequence,
                                  kedge_recording_reader(&recording), written, error);
    if (status == KEDGE_OK) status = compare_writes(work, row, written, error);
    if (status == KEDGE_OK)
        status = kedge_footprint_replace(work->all, row, &recording, written, error);
    if (status == KEDGE_OK) status = keep_writes(work, row, written, error);
    kedge_recording_end(&recording);
    kedge_overlay_free(written);
    return status;
}

/* Of each changed key that the mutation uses, the next use is due; before it runs, since it may not
 * use the key any more. */
static kedge_status visit(rebase *work, kedge_footprint *row, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    bool again = row->sequence == work->asked->other || must_run(work, row);
    for (size_t i = 0; i < row->key_count && status == KEDGE_OK; i++) {
        const kedge_overlay_entry *key = &row->keys[i]->node.entry;
        const kedge_use *use = kedge_key_use_of(row->keys[i], row->sequence);
        if (!has_key(work->changed, key)) continue;
        if (!again && use->kind != KEDGE_USE_READ)
            kedge_overlay_forget(work->changed, key->collection, key->id);
        else
            status = follow(work, key, row->sequence, error);
    }
    return status == KEDGE_OK && again ? run_again(work, row, error) : status;
}

/* ---- all of them ---- */

/* The next mutation after `sequence` to look at: one that uses a changed key, one that has
 * scanned, or the one that is another one now. */
static kedge_footprint *next_row(rebase *work, int64_t sequence)
{
    if (kedge_overlay_count(work->changed) == 0 && sequence >= work->asked->other) return NULL;
    while (work->due_count > 0 && work->due[0] <= sequence)
        pop_due(work);
    int64_t due = work->due_count > 0 ? work->due[0] : INT64_MAX;
    kedge_footprint *row = kedge_footprints_from(work->all, sequence + 1);
    const kedge_footprint *end = work->all->rows + work->all->count;
    for (; work->all->ranged > 0 && row && row < end && row->sequence < due; row++)
        if (row->range_count > 0) return row;
    return due == INT64_MAX ? NULL : kedge_footprints_from(work->all, due);
}

static kedge_status pass_all(rebase *work, kedge_error *error)
{
    int64_t sequence = 0;
    kedge_status status = push_due(work, work->asked->other, error);
    for (kedge_footprint *row; status == KEDGE_OK && (row = next_row(work, sequence));) {
        sequence = row->sequence;
        status = visit(work, row, error);
    }
    return status;
}

/* The last write of each touched key is what is shown from now on. */
static kedge_status give_key(rebase *work, const kedge_overlay_entry *key, kedge_overlay *bases,
                             kedge_overlay *prediction, kedge_error *error)
{
    kedge_rebase *asked = work->asked;
    const kedge_used_key *used = kedge_footprints_find(work->all, key->collection, key->id);
    kedge_use *last = used ? kedge_key_write_before(used, INT64_MAX) : NULL;
    kedge_buffer value = kedge_buffer_make(work->all->allocator);
    bool present = false;
    kedge_status status =
        asked->base(asked->base_context, key->collection, key->id, &present, &value, error);
    kedge_bytes found = kedge_buffer_bytes(&value);
    if (status == KEDGE_OK)
        status = present ? kedge_overlay_put(bases, key->collection, key->id, found, error)
                         : kedge_overlay_delete(bases, key->collection, key->id, error);
    else if (status == KEDGE_NOT_FOUND)
        status = KEDGE_OK;
    if (status != KEDGE_OK || !last) goto out;
    kedge_buffer_clear(&value);
    status = value_of_use(work, key, last, &present, &value, error);
    if (status != KEDGE_OK) goto out;
    found = kedge_buffer_bytes(&value);
    status = present ? kedge_overlay_put(prediction, key->collection, key->id, found, error)
                     : kedge_overlay_delete(prediction, key->collection, key->id, error);
    kedge_use_show(work->all, last);
out:
    kedge_buffer_free(&value);
    return status;
}

static kedge_status give_all(rebase *work, kedge_overlay *bases, kedge_overlay *prediction,
                             kedge_error *error)
{
    kedge_overlay_entry entry, at;
    kedge_status status = KEDGE_OK;
    for (bool more = kedge_overlay_next(work->touched, NULL, &entry); more && status == KEDGE_OK;
         more = kedge_overlay_next(work->touched, &at, &entry)) {
        at = entry;
        status = give_key(work, &entry, bases, prediction, error);
        kedge_used_key *used = kedge_footprints_find(work->all, entry.collection, entry.id);
        for (size_t i = used ? used->first : 0;
             used && work->all->value_bytes > work->all->value_bytes_max && i < used->count; i++)
            kedge_use_thin(work->all, &used->uses[i]);
    }
    return status;
}

kedge_status kedge_rebase_pending(kedge_rebase *asked, kedge_overlay *bases,
                                  kedge_overlay *prediction, kedge_error *error)
{
    const kedge_allocator *allocator = asked->footprints->allocator;
    rebase work = {.asked = asked,
                   .all = asked->footprints,
                   .changed = kedge_overlay_new(allocator),
                   .touched = kedge_overlay_new(allocator)};
    asked->runs = 0;
    kedge_status status = KEDGE_OK;
    if (!work.changed || !work.touched) status = kedge_fail_no_memory(error);
    if (status == KEDGE_OK) status = start(&work, error);
    if (status == KEDGE_OK) status = pass_all(&work, error);
    if (status == KEDGE_OK) status = give_all(&work, bases, prediction, error);
    kedge_release(allocator, work.due);
    kedge_overlay_free(work.touched);
    kedge_overlay_free(work.changed);
    return work.unknown ? KEDGE_DONE : status;
}
