/* Redelivery: commits versions on top of the head until every item is in one of them. */
#include "backend/versioned/projects/redeliver.h"

#include "backend/base/pause.h"
#include "backend/versioned/commit/commit.h"
#include "backend/versioned/state/cache.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

#define TRIES_MAX   16
#define ITEMS_MAX   1000 /* in a version */
#define ENTRY_BYTES 128  /* what an item takes in a delta besides its texts */

typedef struct redelivering {
    const kedge_project *project;
    kedge_redelivery *bodies; /* by hash */
    size_t count;
    size_t items_max; /* less than usual after a version did not fit */
    /* The last item that was committed: what is after it is left. Empty: none was. */
    kedge_buffer collection;
    kedge_buffer id;
    int64_t version; /* that was committed last */
    int64_t items;   /* in it */
} redelivering;

/* A version that is being built. */
typedef struct redelivered_version {
    kedge_state *head;
    kedge_version_object *object;
    size_t bytes;
} redelivered_version;

/* ---- the bodies ---- */

static int compare_bodies(const void *a, const void *b)
{
    return memcmp(((const kedge_redelivery *)a)->hash, ((const kedge_redelivery *)b)->hash,
                  KEDGE_SHA256_SIZE);
}

static kedge_redelivery *find_body(const redelivering *work, kedge_bytes collection,
                                   const uint8_t hash[KEDGE_SHA256_SIZE])
{
    size_t low = 0;
    size_t high = work->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(work->bodies[middle].hash, hash, KEDGE_SHA256_SIZE) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < work->count; low++) {
        kedge_redelivery *body = &work->bodies[low];
        if (memcmp(body->hash, hash, KEDGE_SHA256_SIZE) != 0) break;
        if (kedge_bytes_equal(body->collection, collection)) return body;
    }
    return NULL;
}

static bool has_bodies_of(const redelivering *work, kedge_bytes collection)
{
    for (size_t i = 0; i < work->count; i++) {
        if (kedge_bytes_equal(work->bodies[i].collection, collection)) return true;
    }
    return false;
}

static void leave_collection(redelivering *work, kedge_bytes collection)
{
    for (size_t i = 0; i < work->count; i++) {
        if (kedge_bytes_equal(work->bodies[i].collection, collection))
            work->bodies[i].unread = true;
    }
}

/* ---- a version ---- */

/* The size is that of the body, not the entry's, which damage may have changed. */
static kedge_status add_item(const redelivering *work, redelivered_version *made,
                             kedge_version_collection *collection, const kedge_entry *entry,
                             kedge_bytes body, kedge_error *error)
{
    kedge_version *version = &made->object->version;
    kedge_arena *arena = &made->object->arena;
    bool seed = work->project->backend->options.cadence == KEDGE_CADENCE_SEED;
    bool small = !seed && body.size <= KEDGE_BODY_INLINE_BYTES;
    kedge_version_change *change = &version->changes[version->change_count];
    *change = (kedge_version_change){.collection = collection->name};
    change->entry.size = (int64_t)body.size;
    memcpy(change->entry.hash, entry->hash, sizeof entry->hash);
    if (!kedge_arena_copy(arena, entry->id, &change->entry.id) ||
        (entry->meta.size > 0 && !kedge_arena_copy(arena, entry->meta, &change->entry.meta)) ||
        (small && !kedge_arena_copy(arena, body, &change->entry.body))) {
        return kedge_fail_no_memory(error);
    }
    version->change_count++;
    made->bytes += ENTRY_BYTES + entry->id.size + entry->meta.size + (small ? body.size : 0);
    if (collection->last != version->number) {
        collection->number++;
        collection->previous = collection->last;
        collection->last = version->number;
    }
    return KEDGE_OK;
}

static bool is_full(const redelivering *work, const redelivered_version *made)
{
    return made->object->version.change_count >= work->items_max ||
           made->bytes >= KEDGE_SLICE_CHANGED_BYTES;
}

static kedge_status add_items(redelivering *work, redelivered_version *made,
                              kedge_version_collection *collection, const kedge_map *map,
                              bool from_start, kedge_error *error)
{
    kedge_buffer body = kedge_buffer_make(work->project->allocator);
    kedge_status status = KEDGE_OK;
    const kedge_item *item = kedge_map_next(map, from_start, kedge_buffer_bytes(&work->id));
    while (item != NULL && !is_full(work, made) && status == KEDGE_OK) {
        const kedge_entry *entry = &item->entry;
        kedge_redelivery *wanted = find_body(work, collection->name, entry->hash);
        if (wanted != NULL) {
            kedge_error failure = {0};
            kedge_buffer_clear(&body);
            status = kedge_state_body(made->head, collection->name, entry, &body, &failure);
            if (status == KEDGE_OK) {
                status = add_item(work, made, collection, entry, kedge_buffer_bytes(&body), error);
            } else if (status == KEDGE_CORRUPT) {
                wanted->unread = true; /* lost again meanwhile, or not yet put */
                status = KEDGE_OK;
            } else {
                status = kedge_fail(error, status, failure.code, "%s", failure.message);
            }
        }
        item = kedge_map_next(map, false, entry->id);
    }
    kedge_buffer_free(&body);
    return status;
}

/* A collection that cannot be read is left out, as a pull leaves it out. */
static kedge_status load_map(redelivering *work, kedge_state *head, kedge_bytes collection,
                             const kedge_map **map, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_status status = kedge_state_collection(head, collection, map, &failure);
    if (status == KEDGE_CORRUPT || status == KEDGE_NOT_FOUND) {
        leave_collection(work, collection);
        *map = NULL;
        return KEDGE_OK;
    }
    return status == KEDGE_OK ? KEDGE_OK
                              : kedge_fail(error, status, failure.code, "%s", failure.message);
}

static kedge_status fill(redelivering *work, redelivered_version *made, kedge_error *error)
{
    kedge_version *version = &made->object->version;
    kedge_bytes at = kedge_buffer_bytes(&work->collection);
    kedge_status status = KEDGE_OK;
    version->changes =
        kedge_arena_take_array(&made->object->arena, work->items_max, sizeof *version->changes);
    if (version->changes == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < version->collection_count && status == KEDGE_OK; i++) {
        kedge_version_collection *collection = &version->collections[i];
        const kedge_map *map = NULL;
        int order = kedge_bytes_compare(collection->name, at);
        if (order < 0 || is_full(work, made) || !has_bodies_of(work, collection->name)) continue;
        status = load_map(work, made->head, collection->name, &map, error);
        if (status == KEDGE_OK && map != NULL)
            status = add_items(work, made, collection, map, order > 0, error);
    }
    return status;
}

static kedge_status note_last(redelivering *work, const kedge_version *version, kedge_error *error)
{
    const kedge_version_change *last = &version->changes[version->change_count - 1];
    kedge_buffer_clear(&work->collection);
    kedge_buffer_clear(&work->id);
    kedge_buffer_append_bytes(&work->collection, last->collection);
    kedge_buffer_append_bytes(&work->id, last->entry.id);
    work->version = version->number;
    work->items = (int64_t)version->change_count;
    kedge_status status = kedge_buffer_status(&work->collection, error);
    return status == KEDGE_OK ? kedge_buffer_status(&work->id, error) : status;
}

/* ---- the commit ---- */

static kedge_status commit(redelivering *work, const redelivered_version *made, kedge_error *error)
{
    kedge_backend *backend = work->project->backend;
    kedge_version *version = &made->object->version;
    kedge_state *state = NULL;
    kedge_status status =
        kedge_version_set_recent(work->project, made->head->version, made->object, error);
    if (status == KEDGE_OK)
        status = kedge_commit(work->project, made->head, version, NULL, 0, &state, error);
    if (status == KEDGE_LIMIT_EXCEEDED && version->change_count > 1) {
        work->items_max = version->change_count / 2;
        return KEDGE_CONFLICT;
    }
    if (status != KEDGE_OK) return status;
    kedge_cache_add(backend->cache, &work->project->ref, state, true);
    kedge_maintain(work->project, state);
    kedge_state_close(state);
    return note_last(work, version, error);
}

/* KEDGE_DONE: no item is left. */
static kedge_status try_once(redelivering *work, kedge_error *error)
{
    redelivered_version made = {.bytes = 0};
    kedge_status status = kedge_state_open_newest(work->project, &made.head, error);
    if (status != KEDGE_OK) return status;
    status = kedge_version_begin(work->project->backend, made.head->version, &made.object, error);
    if (status == KEDGE_OK) status = fill(work, &made, error);
    if (status == KEDGE_OK)
        status = made.object->version.change_count == 0 ? KEDGE_DONE : commit(work, &made, error);
    if (made.object != NULL) kedge_version_release(&made.object->version);
    kedge_state_close(made.head);
    return status;
}

static kedge_status redeliver_next(redelivering *work, kedge_error *error)
{
    for (uint32_t tries = 1;; tries++) {
        kedge_status status = try_once(work, error);
        bool again = status == KEDGE_CONFLICT || status == KEDGE_UNAVAILABLE ||
                     status == KEDGE_BUSY || status == KEDGE_TIMEOUT;
        if (!again) return status;
        if (tries == TRIES_MAX) {
            return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable",
                              "the items could not be delivered again in %d tries", TRIES_MAX);
        }
        kedge_backend_pause(work->project->backend, tries);
    }
}

static kedge_status next_locked(redelivering *work, kedge_error *error)
{
    const kedge_lock_name name = {.project = work->project->ref};
    kedge_lock_place place;
    kedge_lock(&work->project->backend->locks, &name, &place);
    kedge_status status = redeliver_next(work, error);
    kedge_unlock(&work->project->backend->locks, &place);
    const kedge_backend_options *options = &work->project->backend->options;
    if (status == KEDGE_OK && options->committed != NULL) {
        options->committed(options->committed_context, work->project->ref.organization,
                           work->project->ref.project, work->version);
    }
    return status;
}

kedge_status kedge_processor_redeliver(const kedge_project *project, kedge_redelivery *bodies,
                                       size_t count, kedge_redelivered committed, void *context,
                                       kedge_error *error)
{
    redelivering work = {.project = project,
                         .bodies = bodies,
                         .count = count,
                         .items_max = ITEMS_MAX,
                         .collection = kedge_buffer_make(project->allocator),
                         .id = kedge_buffer_make(project->allocator)};
    kedge_status status = KEDGE_OK;
    if (count > 0) qsort(bodies, count, sizeof *bodies, compare_bodies);
    for (size_t i = 0; i < count; i++)
        bodies[i].unread = false;
    while (status == KEDGE_OK && count > 0) {
        status = next_locked(&work, error);
        if (status == KEDGE_OK) status = committed(context, work.version, work.items, error);
    }
    kedge_buffer_free(&work.collection);
    kedge_buffer_free(&work.id);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}
