/* The reader that notes what is read through it. */
#include "sdk/store/footprint.h"

#include "common/error.h"

kedge_status kedge_recording_begin(kedge_recording *recording, const kedge_allocator *allocator,
                                   kedge_state_reader below, kedge_error *error)
{
    *recording = (kedge_recording){
        .allocator = allocator, .below = below, .keys = kedge_overlay_new(allocator)};
    return recording->keys ? KEDGE_OK : kedge_fail_no_memory(error);
}

static void release(const kedge_allocator *allocator, kedge_bytes text)
{
    kedge_release(allocator, (void *)(uintptr_t)text.data);
}

void kedge_recording_restart(kedge_recording *recording)
{
    const kedge_allocator *allocator = recording->allocator;
    kedge_overlay_clear(recording->keys);
    for (size_t i = 0; i < recording->range_count; i++) {
        release(allocator, recording->ranges[i].collection);
        release(allocator, recording->ranges[i].after);
        release(allocator, recording->ranges[i].through);
    }
    recording->range_count = 0;
    recording->no_memory = false;
}

void kedge_recording_end(kedge_recording *recording)
{
    if (!recording->keys) return;
    kedge_recording_restart(recording);
    kedge_overlay_free(recording->keys);
    kedge_release(recording->allocator, recording->ranges);
    *recording = (kedge_recording){.keys = NULL};
}

static kedge_status get(void *context, kedge_bytes collection, kedge_bytes id, kedge_buffer *value,
                        kedge_error *error)
{
    kedge_recording *recording = context;
    if (kedge_overlay_put(recording->keys, collection, id, (kedge_bytes){NULL, 0}, NULL) !=
        KEDGE_OK)
        recording->no_memory = true;
    return recording->below.get(recording->below.context, collection, id, value, error);
}

static kedge_range *new_range(kedge_recording *recording)
{
    const kedge_allocator *allocator = recording->allocator;
    if (recording->range_count == recording->range_capacity) {
        size_t capacity = recording->range_capacity == 0 ? 2 : 2 * recording->range_capacity;
        kedge_range *ranges =
            allocator->reallocate(allocator->context, recording->ranges, capacity * sizeof *ranges);
        if (!ranges) return NULL;
        recording->ranges = ranges;
        recording->range_capacity = capacity;
    }
    recording->ranges[recording->range_count] = (kedge_range){.to_end = false};
    return &recording->ranges[recording->range_count++];
}

static bool copy(const kedge_allocator *allocator, kedge_bytes text, kedge_bytes *out)
{
    char *made = kedge_copy_text(allocator, text);
    if (made) *out = (kedge_bytes){made, text.size};
    return made != NULL;
}

/* The range that ends where this read starts, or a new one. */
static kedge_range *range_at(kedge_recording *recording, kedge_bytes collection, bool from_start,
                             kedge_bytes after)
{
    if (recording->range_count > 0) {
        kedge_range *last = &recording->ranges[recording->range_count - 1];
        if (!from_start && !last->to_end && kedge_bytes_equal(last->collection, collection) &&
            kedge_bytes_equal(last->through, after))
            return last;
    }
    kedge_range *range = new_range(recording);
    if (!range || !copy(recording->allocator, collection, &range->collection)) return NULL;
    range->from_start = from_start;
    return from_start || copy(recording->allocator, after, &range->after) ? range : NULL;
}

/* `found` NULL: there is nothing after `after`. */
static void note_range(kedge_recording *recording, kedge_bytes collection, bool from_start,
                       kedge_bytes after, const kedge_bytes *found)
{
    kedge_range *range = range_at(recording, collection, from_start, after);
    kedge_bytes through = {NULL, 0};
    if (!range || (found && !copy(recording->allocator, *found, &through))) {
        recording->no_memory = true;
        return;
    }
    release(recording->allocator, range->through);
    range->through = through;
    range->to_end = found == NULL;
}

static kedge_status next(void *context, kedge_bytes collection, bool from_start, kedge_bytes after,
                         kedge_buffer *id, kedge_buffer *value, kedge_error *error)
{
    kedge_recording *recording = context;
    kedge_status status = recording->below.next(recording->below.context, collection, from_start,
                                                after, id, value, error);
    if (status == KEDGE_OK) {
        kedge_bytes found = kedge_buffer_bytes(id);
        note_range(recording, collection, from_start, after, &found);
    } else if (status == KEDGE_DONE) {
        note_range(recording, collection, from_start, after, NULL);
    }
    return status;
}

kedge_state_reader kedge_recording_reader(kedge_recording *recording)
{
    return (kedge_state_reader){recording, get, next};
}
