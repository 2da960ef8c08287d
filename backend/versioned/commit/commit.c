/* The commit of a version, from its beginning on top of the head to the index rows and checkpoints
 * that are written after it.
 *
 * In the seed cadence version, mutation runs and whole collection maps are one transaction. It is
 * the layout of the article that docs/explanation/backend.md names: each version of a collection is
 * a record of its own with the map from item id to hash, spilled over as many records as items of
 * 400 KB need; bodies are always in blobs. A reader finds a checkpoint at every version. What does
 * not fit one transaction is refused. */
#include "backend/versioned/commit/commit.h"

#include "backend/base/background.h"
#include "backend/base/packed.h"
#include "backend/versioned/commit/processor.h"
#include "backend/versioned/commit/slice.h"
#include "backend/versioned/index/index.h"
#include "backend/versioned/state/cache.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/state/checkpoint_chunks.h"
#include "backend/versioned/usage/usage.h"
#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/history.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

/* ---- beginning a version ---- */

kedge_status kedge_version_begin(kedge_backend *backend, const kedge_version *head,
                                 kedge_version_object **object, kedge_error *error)
{
    KEDGE_ASSERT(head->number >= 0 && head->lineage[0] != '\0');
    if (head->number >= KEDGE_VERSION_IMPORTING - 1) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-versions",
                          "the project has %lld versions, and can have no more",
                          (long long)head->number);
    }
    kedge_version_object *made = kedge_version_object_new(backend->allocator);
    if (made == NULL) return kedge_fail_no_memory(error);
    kedge_version *version = &made->version;
    version->number = head->number + 1;
    kedge_random_hex(backend->environment, (KEDGE_LINEAGE_HEX - 1) / 2, version->lineage);
    version->created_ms = backend->environment->now_ms(backend->environment->context);
    size_t count = head->collection_count;
    version->collections =
        kedge_arena_take_array(&made->arena, count, sizeof(kedge_version_collection));
    bool fine = version->collections != NULL &&
                (head->project_record.size == 0 ||
                 kedge_arena_copy(&made->arena, head->project_record, &version->project_record));
    for (size_t i = 0; i < count && fine; i++) {
        version->collections[i] = head->collections[i];
        fine = kedge_arena_copy(&made->arena, head->collections[i].name,
                                &version->collections[i].name);
    }
    if (!fine) {
        kedge_version_release(version);
        return kedge_fail_no_memory(error);
    }
    version->collection_count = count;
    *object = made;
    return KEDGE_OK;
}

static bool copy_run(kedge_arena *arena, const kedge_run *from, kedge_run *to)
{
    *to = *from;
    return kedge_arena_copy(arena, from->client, &to->client) &&
           kedge_arena_copy(arena, from->group, &to->group) &&
           kedge_arena_copy(arena, from->user, &to->user);
}

/* Whether the index rows are put in one transaction with the version. */
static bool puts_rows(const kedge_project *project)
{
    return project->history == NULL && project->backend->options.cadence == KEDGE_CADENCE_SEED;
}

/* Whether the head's runs have index rows, so that `recent` can begin anew with this version's.
 * When `recent` is full, or this version's rows go into its transaction, missing rows are put
 * first. */
static kedge_status settle(const kedge_project *project, const kedge_version *head,
                           const kedge_version *version, bool *indexed, kedge_error *error)
{
    bool seed = puts_rows(project);
    bool full = head->recent_count + version->run_count > KEDGE_RECENT_RUNS_MAX ||
                version->number - head->indexed_through > KEDGE_RECENT_VERSIONS_MAX;
    *indexed = head->indexed_through == head->number ||
               kedge_cache_is_indexed(project->backend->cache, &project->ref, head);
    if (*indexed || (!full && !seed)) return KEDGE_OK;
    kedge_status status = kedge_index_complete(project, head, error);
    *indexed = status == KEDGE_OK;
    return status;
}

kedge_status kedge_version_set_recent(const kedge_project *project, const kedge_version *head,
                                      kedge_version_object *object, kedge_error *error)
{
    kedge_version *version = &object->version;
    KEDGE_ASSERT(version->number == head->number + 1);
    KEDGE_ASSERT(version->recent == NULL && version->run_count <= KEDGE_SLICE_RUNS_MAX);
    bool indexed = false;
    kedge_status status = settle(project, head, version, &indexed, error);
    if (status != KEDGE_OK) return status;
    /* The seed cadence puts this version's rows together with it. */
    bool with_rows = puts_rows(project);
    size_t kept = indexed ? 0 : head->recent_count;
    size_t own = with_rows ? 0 : version->run_count;
    version->indexed_through = with_rows ? version->number
                               : indexed ? head->number
                                         : head->indexed_through;
    version->recent = kedge_arena_take_array(&object->arena, kept + own, sizeof *version->recent);
    bool fine = version->recent != NULL;
    for (size_t i = 0; i < kept && fine; i++) {
        fine = copy_run(&object->arena, &head->recent[i], &version->recent[i]);
    }
    if (!fine) return kedge_fail_no_memory(error);
    if (own > 0) memcpy(version->recent + kept, version->runs, own * sizeof *version->runs);
    version->recent_count = kept + own;
    return KEDGE_OK;
}

/* ---- the seed cadence ---- */

#define SEED_BYTES_MAX   3000000
#define SEED_RECORDS_MAX 90
#define MAP_PART_BYTES   350000
#define MAP_ATTRIBUTES   5

typedef struct gathering {
    kedge_state *state;
    const kedge_version_collection *collection;
    kedge_bytes partition;
    kedge_arena *arena;
    kedge_record_write *writes; /* room for SEED_RECORDS_MAX */
    size_t count;
    size_t bytes;
    uint32_t part;
} gathering;

static kedge_status refuse(kedge_error *error)
{
    return kedge_fail(
        error, KEDGE_LIMIT_EXCEEDED, "seed-version-too-large",
        "the seed cadence writes a version in one transaction of at most %d bytes and "
        "%d records, and this one needs more: use the compact cadence",
        SEED_BYTES_MAX, SEED_RECORDS_MAX);
}

static kedge_status add_write(gathering *work, const kedge_record_write *write, kedge_error *error)
{
    const kedge_record *record = &write->record;
    work->bytes += record->key.partition.size + record->key.sort.size;
    for (size_t i = 0; i < record->attribute_count; i++) {
        work->bytes += strlen(record->attributes[i].name) + record->attributes[i].bytes.size + 21;
    }
    if (work->count == SEED_RECORDS_MAX || work->bytes > SEED_BYTES_MAX) return refuse(error);
    work->writes[work->count++] = *write;
    return KEDGE_OK;
}

/* ---- collection maps ---- */

static kedge_status add_map_part(void *context, const kedge_chunk *chunk, kedge_error *error)
{
    gathering *work = context;
    kedge_attribute *attributes =
        kedge_arena_take_array(work->arena, MAP_ATTRIBUTES, sizeof *attributes);
    kedge_key key =
        kedge_key_collection(work->collection->name, work->collection->number, work->part++);
    kedge_bytes sort;
    if (attributes == NULL || !kedge_arena_copy(work->arena, kedge_key_bytes(&key), &sort)) {
        return kedge_fail_no_memory(error);
    }
    const kedge_version *version = work->state->version;
    attributes[0] =
        (kedge_attribute){"version", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, version->number};
    attributes[1] =
        (kedge_attribute){"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(version->lineage), 0};
    attributes[2] = (kedge_attribute){"parts", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 0};
    attributes[3] =
        (kedge_attribute){"items", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, work->collection->items};
    kedge_status status = kedge_pack("map", chunk->text, work->arena, &attributes[4], error);
    if (status != KEDGE_OK) return status;
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {{work->partition, sort}, attributes, MAP_ATTRIBUTES},
                                .condition = KEDGE_IF_ANY};
    return add_write(work, &write, error);
}

static kedge_status add_map(gathering *work, const kedge_version_collection *collection,
                            kedge_error *error)
{
    const kedge_map *map = NULL;
    size_t first = work->count;
    work->collection = collection;
    work->part = 0;
    kedge_status status = kedge_state_collection(work->state, collection->name, &map, error);
    if (status != KEDGE_OK) return status;
    kedge_chunk empty = {KEDGE_BYTES("{}"), 0};
    status = map->count == 0 ? add_map_part(work, &empty, error)
                             : kedge_chunks_cut(work->state->project.allocator, map, MAP_PART_BYTES,
                                                0, add_map_part, work, error);
    if (status != KEDGE_OK) return status;
    /* The number of parts is only known here. */
    for (size_t i = first; i < work->count; i++) {
        kedge_attribute *attributes = (kedge_attribute *)work->writes[i].record.attributes;
        attributes[2].number = (int64_t)(work->count - first);
    }
    return KEDGE_OK;
}

/* ---- the transaction ---- */

static kedge_status gather(gathering *work, const kedge_version_record *record, kedge_error *error)
{
    const kedge_version *version = work->state->version;
    kedge_key key = kedge_key_version(version->number);
    kedge_bytes sort;
    if (!kedge_arena_copy(work->arena, kedge_key_bytes(&key), &sort)) {
        return kedge_fail_no_memory(error);
    }
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{work->partition, sort}, record->attributes, record->attribute_count},
        .condition = KEDGE_IF_ABSENT};
    kedge_status status = add_write(work, &write, error);
    kedge_index_rows rows = {.arena = work->arena};
    if (status == KEDGE_OK) status = kedge_index_rows_of(work->partition, version, &rows, error);
    for (size_t i = 0; i < rows.count && status == KEDGE_OK; i++) {
        status = add_write(work, &rows.writes[i], error);
    }
    for (size_t i = 0; i < version->collection_count && status == KEDGE_OK; i++) {
        if (version->collections[i].last != version->number) continue;
        status = add_map(work, &version->collections[i], error);
    }
    return status;
}

/* One transaction with the version record and everything that the seed cadence writes with it. */
static kedge_status commit_seed(kedge_state *state, const kedge_version_record *record,
                                kedge_error *error)
{
    const kedge_records *records = state->project.records;
    kedge_key partition = kedge_key_partition(&state->project.ref);
    kedge_arena arena = kedge_arena_make(state->project.allocator);
    gathering work = {
        .state = state,
        .partition = kedge_key_bytes(&partition),
        .arena = &arena,
        .writes = kedge_arena_take_array(&arena, SEED_RECORDS_MAX, sizeof(kedge_record_write))};
    kedge_status status =
        work.writes == NULL ? kedge_fail_no_memory(error) : gather(&work, record, error);
    if (status == KEDGE_OK) {
        status = records->vtable->transact(records->self, work.writes, work.count, error);
    }
    kedge_arena_free(&arena);
    return status;
}

/* ---- the commit ---- */

static kedge_status put_bodies(const kedge_project *project, const kedge_slice_body *bodies,
                               size_t count, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        kedge_key key = kedge_key_body(&project->ref, bodies[i].collection, bodies[i].hash);
        status = kedge_blob_put_plain(project, &key, bodies[i].value, error);
    }
    return status;
}

static kedge_status put_record(const kedge_project *project, int64_t number,
                               const kedge_version_record *record, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_version(number);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {{kedge_key_bytes(&partition), kedge_key_bytes(&sort)},
                                           record->attributes,
                                           record->attribute_count},
                                .condition = KEDGE_IF_ABSENT};
    const kedge_records *records = project->records;
    return records->vtable->write(records->self, &write, error);
}

/* The commit of a log project, whose history appends an entry. Each replay decides what the entry's
 * mutations change, so the new state has no collections here. */
static kedge_status append(const kedge_project *project, kedge_state *head, kedge_version *version,
                           kedge_state **state, kedge_error *error)
{
    kedge_status status = project->history->append(project, head->version, version, error);
    KEDGE_ASSERT(version->collection_count == 0);
    return status == KEDGE_OK ? kedge_state_derive(project, NULL, version, state, error) : status;
}

kedge_status kedge_commit(const kedge_project *project, kedge_state *head, kedge_version *version,
                          const kedge_slice_body *bodies, size_t body_count, kedge_state **state,
                          kedge_error *error)
{
    kedge_version_record record;
    kedge_state *next = NULL;
    KEDGE_ASSERT(version->number == head->version->number + 1);
    KEDGE_ASSERT(version->lineage[0] != '\0');
    if (project->history != NULL) return append(project, head, version, state, error);
    kedge_status status = kedge_state_derive(project, head, version, &next, error);
    if (status != KEDGE_OK) return status;
    status = kedge_version_encode(project->allocator, version, &record, error);
    if (status == KEDGE_OK) status = put_bodies(project, bodies, body_count, error);
    if (status == KEDGE_OK) status = kedge_version_put_parts(project, &record, error);
    if (status == KEDGE_OK) {
        status = project->backend->options.cadence == KEDGE_CADENCE_SEED
                     ? commit_seed(next, &record, error)
                     : put_record(project, version->number, &record, error);
    }
    kedge_arena_free(&record.arena);
    if (status != KEDGE_OK) {
        kedge_state_close(next);
        return status;
    }
    *state = next;
    return KEDGE_OK;
}

/* ---- after the commit ---- */

static void write_checkpoints(void *argument)
{
    kedge_state *state = argument;
    kedge_error error = {0};
    if (kedge_checkpoint_write_due(state, false, &error) != KEDGE_OK) {
        kedge_background_failed(&state->project, KEDGE_BACKGROUND_CHECKPOINTS, &error);
    }
    kedge_locks_end_maintenance(&state->project.backend->locks, &state->project.ref);
    kedge_state_close(state);
}

static void write_checkpoints_later(void *argument)
{
    kedge_state *state = argument;
    kedge_state_retain(state);
    kedge_usage_begin();
    write_checkpoints(state);
    kedge_usage_end(&state->project);
    kedge_state_close(state);
}

/* Only one runs at a time for a project. Rows and checkpoints that become due meanwhile are written
 * at the next commit. */
static void start_checkpoints(kedge_state *state)
{
    const kedge_backend_options *options = &state->project.backend->options;
    kedge_locks *locks = &state->project.backend->locks;
    if (!kedge_checkpoint_any_due(state) ||
        !kedge_locks_begin_maintenance(locks, &state->project.ref))
        return;
    kedge_state_retain(state);
    bool taken = options->later != NULL &&
                 options->later(options->later_context, write_checkpoints_later, state);
    if (!taken) write_checkpoints(state);
}

void kedge_maintain(const kedge_project *project, kedge_state *state)
{
    const kedge_version *version = state->version;
    kedge_error error = {0};
    bool seed = project->backend->options.cadence == KEDGE_CADENCE_SEED;
    if (seed && project->history == NULL) return;
    bool due = version->number - version->indexed_through >= KEDGE_MAINTAIN_VERSIONS ||
               version->recent_count >= KEDGE_MAINTAIN_RUNS;
    if (due && kedge_index_complete(project, version, &error) != KEDGE_OK) {
        kedge_background_failed(project, KEDGE_BACKGROUND_INDEX_ROWS, &error);
    }
    if (project->history != NULL) {
        project->history->maintain(state);
    } else {
        start_checkpoints(state);
    }
}

kedge_status kedge_processor_index(const kedge_project *project, kedge_error *error)
{
    kedge_state *state = NULL;
    kedge_status status = kedge_state_open_newest(project, &state, error);
    if (status != KEDGE_OK) return status;
    status = kedge_index_complete(project, state->version, error);
    if (status == KEDGE_OK) status = kedge_checkpoint_write_due(state, true, error);
    kedge_state_close(state);
    return status;
}
