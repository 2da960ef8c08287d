/* Makes a snapshot: replays the entries after the last one on its state, with this server's
 * mutators, and writes what changed.
 *
 * First the bodies, then the chunks and roots of the collections, then the object, at last the
 * metadata of the entry. All but the last are named by their contents or by the entry, so that a
 * maker that stops in between leaves nothing that anybody reads, and the next one puts the same.
 * What stands there already is read, and replaced when it is damaged. */
#include "backend/base/background.h"
#include "backend/log/layout.h"
#include "backend/log/segments.h"
#include "backend/logged/snapshot_hash.h"
#include "backend/logged/snapshot_object.h"
#include "backend/logged/snapshots.h"
#include "backend/ports/deadline.h"
#include "backend/versioned/commit/commit.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/blob.h"
#include "common/assert.h"
#include "common/error.h"
#include "mutate/replay.h"

#include <string.h>

#define READ_AHEAD 100

/* One of the two parts of a snapshot: the state, or what was rejected. */
typedef struct part {
    kedge_state *base; /* of the snapshot before */
    kedge_slice slice; /* its overlay holds the changes, its object the version that is made */
    kedge_map *maps;   /* one for each collection of the version */
} part;

typedef struct making {
    const kedge_project *project;
    const kedge_version *head; /* the last entry that is replayed */
    int64_t wanted;            /* the entry whose snapshot is made: the head, or one behind it */
    int64_t from;              /* the number of the snapshot before, or 0 */
    int64_t end_ms;            /* monotonic: when the replay ends; INT64_MAX: never */
    size_t bytes_max;          /* of entries, within a request; SIZE_MAX: it is no request's */
    part state;
    part rejections;
    kedge_tx *tx;
} making;

/* ---- the start ---- */

static void name_part(const making *work, part *made)
{
    kedge_version *version = &made->slice.object->version;
    version->number = work->head->number;
    memcpy(version->lineage, work->head->lineage, sizeof version->lineage);
}

/* A version that has the head's number, and the collections of the base. */
static kedge_status begin_part(const making *work, part *made, kedge_error *error)
{
    kedge_version_object *object = NULL;
    kedge_status status =
        kedge_version_begin(work->project->backend, made->base->version, &object, error);
    if (status != KEDGE_OK) return status;
    made->slice = (kedge_slice){.project = work->project,
                                .head = made->base,
                                .object = object,
                                .overlay = kedge_overlay_new(work->project->allocator)};
    name_part(work, made);
    return made->slice.overlay == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}

static kedge_status empty_state(const making *work, kedge_state **state, kedge_error *error)
{
    kedge_version_object *object = kedge_version_object_new(work->project->allocator);
    if (object == NULL) return kedge_fail_no_memory(error);
    memcpy(object->version.lineage, work->head->lineage, sizeof object->version.lineage);
    kedge_status status = kedge_state_derive(work->project, NULL, &object->version, state, error);
    kedge_version_release(&object->version);
    return status;
}

/* `id` NULL: that of the entry. */
static kedge_status open_base(making *work, int64_t last, const char *id, kedge_error *error)
{
    kedge_logged_snapshot snapshot;
    kedge_status status = KEDGE_OK;
    if (last < 1) {
        status = empty_state(work, &work->state.base, error);
        return status == KEDGE_OK ? empty_state(work, &work->rejections.base, error) : status;
    }
    status = id == NULL ? kedge_logged_snapshot_open(work->project, last, &snapshot, error)
                        : kedge_logged_snapshot_open_id(work->project, last, id, &snapshot, error);
    if (status != KEDGE_OK) return status;
    work->from = last;
    kedge_state_retain(snapshot.state);
    kedge_state_retain(snapshot.rejections);
    work->state.base = snapshot.state;
    work->rejections.base = snapshot.rejections;
    kedge_logged_snapshot_close(&snapshot);
    return KEDGE_OK;
}

/* ---- replay ---- */

/* The name that the mutation had first. */
static void first_name(const kedge_version_mutation *mutation,
                       char id[KEDGE_LOGGED_REJECTION_BYTES])
{
    bool renumbered = mutation->origin_client.size > 0;
    kedge_logged_rejection_id(renumbered ? mutation->origin_client : mutation->client,
                              renumbered ? mutation->origin_id : mutation->id, mutation->digest,
                              id);
}

static kedge_status put_rejection(making *work, const char *id, kedge_bytes body,
                                  kedge_error *error)
{
    return kedge_overlay_put(work->rejections.slice.overlay, KEDGE_BYTES(KEDGE_LOGGED_REJECTIONS),
                             kedge_bytes_of(id), body, error);
}

static kedge_status keep_rejection(making *work, const kedge_version_mutation *mutation,
                                   const kedge_replay_decision *decision, kedge_error *error)
{
    char id[KEDGE_LOGGED_REJECTION_BYTES];
    kedge_buffer body = kedge_buffer_make(work->project->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "code");
    kedge_json_chars(&writer, decision->code);
    kedge_json_key(&writer, "message");
    kedge_json_chars(&writer, decision->message);
    kedge_json_end_object(&writer);
    kedge_status status = kedge_buffer_status(&body, error);
    kedge_logged_rejection_id(mutation->client, mutation->id, NULL, id);
    if (status == KEDGE_OK) status = put_rejection(work, id, kedge_buffer_bytes(&body), error);
    first_name(mutation, id);
    if (status == KEDGE_OK) status = put_rejection(work, id, kedge_buffer_bytes(&body), error);
    kedge_buffer_free(&body);
    return status;
}

/* Appends why the mutation of this name was rejected. KEDGE_NOT_FOUND: it was not. */
static kedge_status find_rejection(making *work, const char *id, kedge_buffer *body,
                                   kedge_error *error)
{
    kedge_entry entry;
    kedge_overlay_entry laid;
    kedge_bytes name = KEDGE_BYTES(KEDGE_LOGGED_REJECTIONS);
    if (kedge_overlay_get(work->rejections.slice.overlay, name, kedge_bytes_of(id), &laid)) {
        kedge_buffer_append_bytes(body, laid.value);
        return kedge_buffer_status(body, error);
    }
    kedge_status status =
        kedge_state_find(work->rejections.base, name, kedge_bytes_of(id), &entry, error);
    return status == KEDGE_OK ? kedge_state_body(work->rejections.base, name, &entry, body, error)
                              : status;
}

/* A duplicate is rejected when the first one was. */
static kedge_status keep_duplicate(making *work, const kedge_version_mutation *mutation,
                                   kedge_error *error)
{
    char id[KEDGE_LOGGED_REJECTION_BYTES];
    kedge_buffer body = kedge_buffer_make(work->project->allocator);
    first_name(mutation, id);
    kedge_status status = find_rejection(work, id, &body, error);
    kedge_logged_rejection_id(mutation->client, mutation->id, NULL, id);
    if (status == KEDGE_OK) status = put_rejection(work, id, kedge_buffer_bytes(&body), error);
    kedge_buffer_free(&body);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_replay_outcome outcome_of(const kedge_version_mutation *mutation)
{
    if (mutation->outcome == KEDGE_MUTATION_REJECTED) return KEDGE_REPLAY_REJECTED;
    if (mutation->outcome == KEDGE_MUTATION_APPLIED) return KEDGE_REPLAY_OPEN;
    return mutation->code.size > 0 ? KEDGE_REPLAY_DUPLICATE_REJECTED : KEDGE_REPLAY_DUPLICATE;
}

/* The texts end with a NUL: they are an arena's. */
static kedge_status replay_one(making *work, const kedge_version_mutation *mutation,
                               kedge_error *error)
{
    kedge_replay_decision decision;
    kedge_replay_mutation replayed = {.call = {.name = mutation->name,
                                               .args = mutation->args,
                                               .args_are_canonical = true,
                                               .caller = {.user = mutation->user.data,
                                                          .role = mutation->role.data,
                                                          .client = mutation->client.data,
                                                          .now_ms = mutation->timestamp_ms}},
                                      .mutator = mutation->mutator,
                                      .decided = outcome_of(mutation),
                                      .code = mutation->code,
                                      .message = mutation->message};
    kedge_status status = kedge_replay_decide(work->tx, work->project->backend->options.registry,
                                              &replayed, &decision, error);
    if (status == KEDGE_OK && replayed.decided == KEDGE_REPLAY_DUPLICATE)
        return keep_duplicate(work, mutation, error);
    if (status != KEDGE_OK || replayed.decided != KEDGE_REPLAY_OPEN ||
        decision.outcome != KEDGE_REPLAY_REJECTED)
        return status;
    return keep_rejection(work, mutation, &decision, error);
}

/* No request truncates the log of a project: what is missing is damage. */
static kedge_status replay_entry(making *work, const kedge_logged_reader *reader, int64_t number,
                                 const kedge_version *version, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (version->number != number)
        return kedge_log_corrupt(&reader->log, reader->entries.segment, -1, error,
                                 "version %lld is missing", (long long)number);
    for (size_t i = 0; i < version->mutation_count && status == KEDGE_OK; i++)
        status = replay_one(work, &version->mutations[i], error);
    return status;
}

static kedge_status fail_far(kedge_error *error)
{
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "entries-too-many",
                      "no snapshot is near enough for a replay");
}

/* A replay within a request ends with it, and holds so much. */
static kedge_status check_bounds(const making *work, size_t bytes, kedge_error *error)
{
    if (work->bytes_max == SIZE_MAX) return KEDGE_OK;
    if (bytes > work->bytes_max ||
        kedge_overlay_bytes(work->state.slice.overlay) > KEDGE_LOGGED_REPLAY_CHANGES)
        return fail_far(error);
    return kedge_deadline_check(error);
}

/* A piece holds what it changes in memory, and whoever makes it must save how far it came. When the
 * changes or the time are much, it ends behind this entry. */
static void end_full_piece(making *work, const kedge_version *version)
{
    const kedge_environment *environment = work->project->environment;
    size_t bytes = kedge_overlay_bytes(work->state.slice.overlay) +
                   kedge_overlay_bytes(work->rejections.slice.overlay);
    bool is_full = bytes >= KEDGE_LOGGED_PIECE_BYTES ||
                   environment->monotonic_ms(environment->context) >= work->end_ms;
    if (work->bytes_max != SIZE_MAX || !is_full || version->number == work->head->number) return;
    kedge_version_retain(version);
    kedge_version_release(work->head);
    work->head = version;
    name_part(work, &work->state);
    name_part(work, &work->rejections);
}

static kedge_status replay(making *work, kedge_error *error)
{
    kedge_logged_reader reader;
    int64_t number = work->from;
    size_t bytes = 0;
    kedge_status status = kedge_tx_new(
        work->project->allocator, work->project->backend->options.registry,
        work->state.slice.overlay, kedge_state_reader_of(work->state.base), &work->tx, error);
    if (status != KEDGE_OK) return status;
    status =
        kedge_logged_reader_open(work->project, work->from + 1, false, READ_AHEAD, &reader, error);
    while (status == KEDGE_OK && number < work->head->number) {
        kedge_logged_entry entry;
        status = kedge_logged_read(&reader, &entry, error);
        if (status != KEDGE_OK) break;
        bytes += entry.bytes;
        status = check_bounds(work, bytes, error);
        if (status == KEDGE_OK)
            status = replay_entry(work, &reader, ++number, entry.version, error);
        if (status == KEDGE_OK) end_full_piece(work, entry.version);
        kedge_version_release(entry.version);
    }
    kedge_logged_reader_close(&reader);
    if (status != KEDGE_DONE) return status;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "entries-missing",
                      "the entries up to %lld could not be read", (long long)work->head->number);
}

/* ---- writing ---- */

static kedge_status lay(const kedge_allocator *allocator, const kedge_version_change *change,
                        kedge_map *map, kedge_error *error)
{
    bool fine = true;
    if (change->deleted) {
        fine = kedge_map_remove(allocator, map, change->entry.id);
    } else {
        kedge_item *item = kedge_item_new(allocator, &change->entry, false);
        fine = item != NULL && kedge_map_put(allocator, map, item);
        kedge_item_release(allocator, item);
    }
    return fine ? KEDGE_OK : kedge_fail_no_memory(error);
}

/* The collection as the snapshot has it; when it changed, its checkpoint is written. */
static kedge_status write_collection(const making *work, part *made, size_t index,
                                     kedge_error *error)
{
    kedge_version *version = &made->slice.object->version;
    kedge_version_collection *collection = &version->collections[index];
    const kedge_version_collection *before =
        kedge_version_find_collection(made->base->version, collection->name);
    const kedge_map *old = NULL;
    kedge_map *map = &made->maps[index];
    size_t first;
    size_t count;
    kedge_status status = kedge_state_collection(made->base, collection->name, &old, error);
    if (status != KEDGE_OK) return status;
    if (old != NULL) *map = kedge_map_share(old);
    kedge_version_find_changes(version, collection->name, &first, &count);
    for (size_t i = first; i < first + count && status == KEDGE_OK; i++)
        status = lay(work->project->allocator, &version->changes[i], map, error);
    if (status != KEDGE_OK || count == 0) return status;
    KEDGE_ASSERT(collection->last == version->number);
    KEDGE_ASSERT(collection->items == (int64_t)map->count);
    collection->number = collection->last; /* so that two makers do not share a number */
    return kedge_checkpoint_write_map(work->project, collection, version->lineage, map,
                                      before == NULL ? 0 : before->number, error);
}

static kedge_status put_bodies(const making *work, const kedge_slice *slice, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < slice->body_count && status == KEDGE_OK; i++) {
        const kedge_slice_body *body = &slice->bodies[i];
        kedge_key key = kedge_key_body(&work->project->ref, body->collection, body->hash);
        status = kedge_blob_put_checked(work->project, &key, body->value, false, error);
    }
    return status;
}

static kedge_status write_part(const making *work, part *made, kedge_error *error)
{
    kedge_slice *slice = &made->slice;
    kedge_status status = kedge_slice_build_delta(slice, error);
    if (status == KEDGE_OK) status = put_bodies(work, slice, error);
    if (status != KEDGE_OK) return status;
    size_t count = slice->object->version.collection_count;
    made->maps = kedge_arena_take_array(&slice->object->arena, count, sizeof *made->maps);
    if (made->maps == NULL && count > 0) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++)
        status = write_collection(work, made, i, error);
    return status;
}

/* ---- all of it ---- */

/* The hash, which takes all items, is only for who is given the snapshot. */
static kedge_status put_object(const making *work, char id[KEDGE_SHA256_HEX], kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    kedge_snapshot_object object = {.state = &work->state.slice.object->version,
                                    .rejections = &work->rejections.slice.object->version};
    if (work->head->number == work->wanted)
        status =
            kedge_snapshot_hash(work->project, object.state, work->state.maps, object.hash, error);
    return status == KEDGE_OK ? kedge_snapshot_object_put(work->project, &object, id, error)
                              : status;
}

static void close_part(const making *work, part *made)
{
    size_t count = made->maps == NULL ? 0 : made->slice.object->version.collection_count;
    for (size_t i = 0; i < count; i++)
        kedge_map_free(work->project->allocator, &made->maps[i]);
    kedge_slice_free(&made->slice);
    kedge_state_close(made->base);
}

static kedge_status run(making *work, int64_t last, const char *last_id, kedge_error *error)
{
    kedge_status status = open_base(work, last, last_id, error);
    if (status == KEDGE_OK) status = begin_part(work, &work->state, error);
    if (status == KEDGE_OK) status = begin_part(work, &work->rejections, error);
    return status == KEDGE_OK ? replay(work, error) : status;
}

static void end_run(making *work)
{
    kedge_tx_free(work->tx);
    close_part(work, &work->state);
    close_part(work, &work->rejections);
}

static kedge_status build(making *work, int64_t last, const char *last_id,
                          char id[KEDGE_SHA256_HEX], kedge_error *error)
{
    kedge_status status = run(work, last, last_id, error);
    if (status == KEDGE_OK) status = write_part(work, &work->state, error);
    if (status == KEDGE_OK) status = write_part(work, &work->rejections, error);
    if (status == KEDGE_OK) status = put_object(work, id, error);
    end_run(work);
    return status;
}

/* Makes the snapshot of an entry, or of one that is at most `entries_max` behind the base, whose
 * number `*to` gets. `base.id` empty: it is the snapshot of its entry; no number: the start. */
static kedge_status build_from(const kedge_project *project, const kedge_logged_piece *base,
                               int64_t number, int64_t entries_max, kedge_logged_piece *out,
                               kedge_error *error)
{
    const kedge_environment *environment = project->environment;
    making work = {
        .project = project, .wanted = number, .end_ms = INT64_MAX, .bytes_max = SIZE_MAX};
    if (entries_max < KEDGE_LOG_NUMBER_MAX) /* else nothing is saved between two pieces */
        work.end_ms = environment->monotonic_ms(environment->context) + KEDGE_LOGGED_PIECE_MS;
    int64_t from = base->number < 0 ? 0 : base->number;
    int64_t to = number - from > entries_max ? from + entries_max : number;
    kedge_logged_piece made = {.number = -1};
    const char *id = base->id[0] == '\0' ? NULL : base->id;
    kedge_status status = project->history->load(project, to, &work.head, error);
    if (status == KEDGE_OK) status = build(&work, base->number, id, made.id, error);
    if (status == KEDGE_OK) made.number = work.head->number;
    kedge_version_release(work.head);
    if (status == KEDGE_OK) *out = made;
    return status;
}

/* The entries are the truth. A base of which something is gone, or damaged, is passed over for the
 * one before it, and at last for the start. */
static kedge_status build_piece(const kedge_project *project, int64_t last, int64_t number,
                                int64_t entries_max, kedge_logged_piece *piece, kedge_error *error)
{
    kedge_logged_piece bases[3]; /* the best first */
    size_t count = 0;
    bool has_piece = piece->number > 0 && piece->number < number;
    if (has_piece && piece->number > last) bases[count++] = *piece;
    if (last > 0 && last < number) bases[count++] = (kedge_logged_piece){.number = last};
    if (has_piece && piece->number <= last) bases[count++] = *piece;
    bases[count++] = (kedge_logged_piece){.number = -1};
    for (size_t i = 0;; i++) {
        kedge_error failure = {0};
        kedge_status status = build_from(project, &bases[i], number, entries_max, piece, &failure);
        bool of_base = status == KEDGE_CORRUPT && strcmp(failure.code, KEDGE_LOG_CORRUPT) != 0;
        if (!of_base || i + 1 == count) {
            if (status != KEDGE_OK && error != NULL) *error = failure;
            return status;
        }
        kedge_background_failed(project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, &failure);
    }
}

/* All pieces. One that is gone when the next one needs it is made again by the next call. */
static kedge_status build_all(const kedge_project *project, int64_t last, int64_t number,
                              kedge_logged_piece *piece, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && piece->number < number) {
        int64_t before = piece->number;
        status = build_piece(project, last, number, KEDGE_LOG_NUMBER_MAX, piece, error);
        if (status == KEDGE_OK && piece->number <= before)
            status = kedge_fail(error, KEDGE_CORRUPT, "snapshot-missing",
                                "a piece of the snapshot of entry %lld is gone", (long long)number);
    }
    return status;
}

kedge_status kedge_logged_snapshot_piece(const kedge_project *project, int64_t number,
                                         int64_t entries_max, kedge_logged_piece *piece,
                                         kedge_error *error)
{
    int64_t last = -1;
    KEDGE_ASSERT(project->history != NULL && number >= 0 && entries_max > 0);
    kedge_status status = kedge_logged_last_snapshot(project, &last, error);
    if (status != KEDGE_OK) return status;
    return build_piece(project, last, number, entries_max, piece, error);
}

kedge_status kedge_logged_snapshot_build(const kedge_project *project, int64_t number,
                                         char id[KEDGE_SHA256_HEX], kedge_error *error)
{
    int64_t last = -1;
    kedge_logged_piece piece = {.number = -1};
    kedge_status status = kedge_logged_last_snapshot(project, &last, error);
    if (status == KEDGE_OK) status = build_all(project, last, number, &piece, error);
    if (status == KEDGE_OK) memcpy(id, piece.id, sizeof piece.id);
    return status;
}

/* Whether the entry is to get a snapshot: it has none, or one of which something is gone or
 * damaged. Large bodies are not read. */
static kedge_status is_due(const kedge_project *project, int64_t last, int64_t number, bool *due,
                           kedge_error *error)
{
    kedge_logged_snapshot snapshot;
    kedge_error failure = {0};
    *due = number > 0 && last < number;
    if (number <= 0 || last != number) return KEDGE_OK;
    kedge_status status = kedge_logged_snapshot_open(project, number, &snapshot, &failure);
    if (status == KEDGE_OK) {
        status = kedge_logged_snapshot_check(&snapshot, &failure);
        kedge_logged_snapshot_close(&snapshot);
    }
    *due = status == KEDGE_CORRUPT;
    if (*due || status == KEDGE_OK) return KEDGE_OK;
    if (error != NULL) *error = failure;
    return status;
}

kedge_status kedge_logged_snapshot_make(const kedge_project *project, int64_t *number, bool *made,
                                        kedge_error *error)
{
    int64_t last = -1;
    bool due = false;
    kedge_logged_piece piece = {.number = -1};
    const kedge_version *head = NULL;
    kedge_log log = kedge_logged_log(project);
    kedge_status status = kedge_version_load(project, 0, &head, error);
    if (status == KEDGE_OK) status = kedge_logged_last_snapshot(project, &last, error);
    if (status == KEDGE_OK) status = is_due(project, last, head->number, &due, error);
    if (due) status = build_all(project, last, head->number, &piece, error);
    if (due && status == KEDGE_OK) {
        /* Also with the same id: who has found the damage must not discard what is mended. */
        kedge_log_metadata metadata = {.snapshot = kedge_bytes_of(piece.id), .again = true};
        status = kedge_log_set_metadata(&log, head->number, &metadata, error);
    }
    if (status == KEDGE_OK) {
        *number = head->number;
        *made = due;
    }
    kedge_version_release(head);
    return status;
}

kedge_status kedge_logged_end_segment(const kedge_project *project, bool *ended, kedge_error *error)
{
    kedge_log log = kedge_logged_log(project);
    kedge_log_segment newest;
    kedge_log_place first;
    size_t count;
    kedge_status status = kedge_log_segments_newest(&log, 1, true, &newest, &count, error);
    *ended = false;
    if (status != KEDGE_OK || newest.last_snapshot < KEDGE_LOGGED_SEGMENT_ENTRIES) return status;
    status = kedge_log_new_segment(&log, &first, error);
    *ended = status == KEDGE_OK;
    return status;
}

/* ---- a replay of which nothing is written ---- */

struct kedge_logged_replayed {
    making work;
};

void kedge_logged_replayed_free(kedge_logged_replayed *replayed)
{
    if (replayed == NULL) return;
    const kedge_allocator *allocator = replayed->work.project->allocator;
    end_run(&replayed->work);
    kedge_version_release(replayed->work.head);
    kedge_release(allocator, replayed);
}

kedge_status kedge_logged_replay(const kedge_project *project, int64_t snapshot, int64_t number,
                                 kedge_logged_replayed **replayed, kedge_error *error)
{
    int64_t from = snapshot < 1 ? 0 : snapshot;
    KEDGE_ASSERT(project->history != NULL && number > from);
    if (number - from > KEDGE_LOGGED_REPLAY_ENTRIES) return fail_far(error);
    kedge_logged_replayed *made = kedge_allocate(project->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->work = (making){.project = project, .bytes_max = KEDGE_LOGGED_REPLAY_BYTES};
    kedge_status status = project->history->load(project, number, &made->work.head, error);
    if (status == KEDGE_OK) status = run(&made->work, snapshot, NULL, error);
    if (status == KEDGE_OK)
        *replayed = made;
    else
        kedge_logged_replayed_free(made);
    return status;
}

kedge_status kedge_logged_replayed_rejection(kedge_logged_replayed *replayed, kedge_bytes client,
                                             int64_t id, const uint8_t *digest, bool *found,
                                             kedge_buffer *code, kedge_buffer *message,
                                             kedge_error *error)
{
    char text[KEDGE_LOGGED_REJECTION_BYTES];
    kedge_buffer body = kedge_buffer_make(code->allocator);
    kedge_logged_rejection_id(client, id, digest, text);
    kedge_status status = find_rejection(&replayed->work, text, &body, error);
    *found = status == KEDGE_OK;
    if (status == KEDGE_OK)
        status = kedge_logged_rejection_read(kedge_buffer_bytes(&body), replayed->work.from, code,
                                             message, error);
    kedge_buffer_free(&body);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}
