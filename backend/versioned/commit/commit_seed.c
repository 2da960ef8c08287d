/* The commit of the seed cadence: version, mutation runs and whole collection maps in one
 * transaction.
 *
 * It is the layout of the article that docs/explanation/backend.md names: each version of a
 * collection is a record of its own with the map from item id to hash, spilled over as many records
 * as items of 400 KB need; bodies are always in blobs. A reader finds a checkpoint at every
 * version. What does not fit one transaction is refused. */
#include "backend/versioned/commit/commit.h"

#include "backend/base/packed.h"
#include "backend/versioned/index/index.h"
#include "backend/versioned/state/checkpoint_chunks.h"
#include "common/error.h"

#include <string.h>

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

kedge_status kedge_commit_seed(kedge_state *state, const kedge_version_record *record,
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
