/* Checkpoints, read: the newest root that counts, its parts, their chunks. A root that cannot be
 * used, because of its lineage or since a chunk is gone, is passed over for the next older one. */
#include "backend/versioned/state/checkpoint.h"

#include "backend/base/background.h"
#include "backend/base/packed.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/checkpoint_chunks.h"
#include "common/error.h"

#include <string.h>

#define ROOTS_PER_PAGE 4

typedef struct reading {
    const kedge_project *project;
    kedge_bytes partition;
    kedge_bytes collection;
    kedge_bytes lineage; /* of the root that is being read */
    int64_t version;
    kedge_items items;
} reading;

static int64_t number_of(const kedge_record *record, const char *name)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    return attribute == NULL || attribute->type != KEDGE_ATTRIBUTE_NUMBER ? -1 : attribute->number;
}

/* ---- chunks ---- */

static kedge_status read_name(kedge_bytes row, uint8_t hash[KEDGE_SHA256_SIZE], kedge_error *error)
{
    kedge_json_iterator parts = kedge_json_iterate(row);
    kedge_bytes name;
    if (kedge_json_next_element(&parts, &name) && name.size == KEDGE_SHA256_HEX + 1 &&
        kedge_hex_decode((kedge_bytes){name.data + 1, name.size - 2}, hash, KEDGE_SHA256_SIZE)) {
        return KEDGE_OK;
    }
    return kedge_record_damaged("a checkpoint's list of chunks", error);
}

kedge_status kedge_checkpoint_visit_chunks(const kedge_allocator *allocator,
                                           const kedge_record *part, kedge_chunk_name_visit visit,
                                           void *context, kedge_error *error)
{
    const kedge_attribute *chunks = kedge_record_attribute(part, "chunks");
    kedge_arena arena = kedge_arena_make(allocator);
    kedge_bytes text;
    kedge_bytes row;
    if (chunks == NULL) return KEDGE_OK;
    kedge_status status = kedge_unpack(chunks, &arena, &text, error);
    if (status == KEDGE_OK) {
        kedge_json_iterator rows = kedge_json_iterate(text);
        while (status == KEDGE_OK && kedge_json_next_element(&rows, &row)) {
            uint8_t hash[KEDGE_SHA256_SIZE];
            status = read_name(row, hash, error);
            if (status == KEDGE_OK) status = visit(context, hash, error);
        }
    }
    kedge_arena_free(&arena);
    return status;
}

static kedge_status read_chunk(reading *work, kedge_bytes row, kedge_error *error)
{
    kedge_backend *backend = work->project->backend;
    const kedge_blobs *blobs = &backend->options.blobs;
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint8_t found[KEDGE_SHA256_SIZE];
    kedge_bytes text = {NULL, 0};
    kedge_status status = read_name(row, hash, error);
    if (status != KEDGE_OK) return status;
    kedge_key key = kedge_key_chunk(&work->project->ref, hash);
    kedge_arena arena = kedge_arena_make(backend->allocator);
    kedge_buffer stored = kedge_buffer_make(backend->allocator);
    status = blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &stored, error);
    if (status == KEDGE_NOT_FOUND) status = kedge_record_damaged("a chunk that is gone", error);
    if (status == KEDGE_OK) {
        status = kedge_unpack_gzip(kedge_buffer_bytes(&stored), &arena, &text, error);
    }
    if (status == KEDGE_OK) {
        kedge_sha256(text, found);
        status = memcmp(found, hash, sizeof hash) == 0 ? kedge_items_read(&work->items, text, error)
                                                       : kedge_record_damaged("a chunk", error);
    }
    kedge_buffer_free(&stored);
    kedge_arena_free(&arena);
    return status;
}

static kedge_status read_part(reading *work, const kedge_record *record, kedge_error *error)
{
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    const kedge_attribute *map = kedge_record_attribute(record, "map");
    const kedge_attribute *chunks = kedge_record_attribute(record, "chunks");
    kedge_arena arena = kedge_arena_make(work->project->allocator);
    kedge_bytes text;
    kedge_bytes row;
    kedge_status status = KEDGE_OK;
    bool same = lineage != NULL && kedge_bytes_equal(lineage->bytes, work->lineage) &&
                number_of(record, "version") == work->version && (map != NULL || chunks != NULL);
    if (!same) status = kedge_record_damaged("a part of a checkpoint", error);
    if (status == KEDGE_OK) {
        status = kedge_unpack(map != NULL ? map : chunks, &arena, &text, error);
    }
    if (status == KEDGE_OK && map != NULL) {
        status = kedge_items_read(&work->items, text, error);
    } else if (status == KEDGE_OK) {
        kedge_json_iterator rows = kedge_json_iterate(text);
        while (status == KEDGE_OK && kedge_json_next_element(&rows, &row)) {
            status = read_chunk(work, row, error);
        }
    }
    kedge_arena_free(&arena);
    return status;
}

static kedge_status read_further_part(reading *work, int64_t number, uint32_t part,
                                      kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key sort = kedge_key_collection(work->collection, number, part);
    kedge_record_key key = {work->partition, kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_record_damaged("a part of a checkpoint that is gone", error);
    }
    if (status != KEDGE_OK) return status;
    status = read_part(work, &set.records[0], error);
    kedge_record_set_free(&set);
    return status;
}

/* ---- roots ---- */

static kedge_status read_root(reading *work, const kedge_record *root, int64_t number,
                              kedge_map *map, kedge_error *error)
{
    int64_t parts = number_of(root, "parts");
    int64_t items = number_of(root, "items");
    if (parts < 1 || parts > KEDGE_PART_MAX) {
        return kedge_record_damaged("a checkpoint's root", error);
    }
    kedge_items_free(&work->items);
    kedge_status status = read_part(work, root, error);
    for (uint32_t part = 1; part < parts && status == KEDGE_OK; part++) {
        status = read_further_part(work, number, part, error);
    }
    if (status != KEDGE_OK) return status;
    if (items != (int64_t)work->items.count) {
        return kedge_record_damaged("a checkpoint's number of items", error);
    }
    return kedge_map_build(work->project->allocator, work->items.items, work->items.count, map)
               ? KEDGE_OK
               : kedge_fail_no_memory(error);
}

kedge_status kedge_checkpoint_read_root(const kedge_project *project, kedge_bytes collection,
                                        int64_t number, const kedge_record *root, kedge_map *map,
                                        kedge_error *error)
{
    const kedge_attribute *lineage = kedge_record_attribute(root, "lineage");
    kedge_key partition = kedge_key_partition(&project->ref);
    reading work = {.project = project,
                    .partition = kedge_key_bytes(&partition),
                    .collection = collection,
                    .version = number_of(root, "version"),
                    .items = {.allocator = project->allocator}};
    if (lineage == NULL) return kedge_record_damaged("a checkpoint's root", error);
    work.lineage = lineage->bytes;
    kedge_status status = read_root(&work, root, number, map, error);
    kedge_items_free(&work.items);
    return status;
}

static kedge_status counts(reading *work, const kedge_record *root, int64_t last, bool *fine,
                           kedge_error *error)
{
    const kedge_attribute *lineage = kedge_record_attribute(root, "lineage");
    *fine = false;
    work->version = number_of(root, "version");
    if (lineage == NULL || work->version < 1 || work->version > last) return KEDGE_OK;
    work->lineage = lineage->bytes;
    return kedge_version_has_lineage(work->project, work->version, work->lineage, fine, NULL,
                                     error);
}

/* Visits one record, and takes it when it is a root that can be used. */
static kedge_status try_record(reading *work, const kedge_record *record,
                               const kedge_version_collection *collection, kedge_map *map,
                               int64_t *number, bool *found, bool *damaged, kedge_error *error)
{
    kedge_bytes name;
    uint32_t part = 0;
    bool fine = false;
    if (!kedge_key_read_collection(record->key.sort, &name, number, &part) || part != 0) {
        return KEDGE_OK;
    }
    kedge_status status = counts(work, record, collection->last, &fine, error);
    if (status != KEDGE_OK || !fine) return status;
    kedge_error failure = {0};
    status = read_root(work, record, *number, map, &failure);
    *found = status == KEDGE_OK;
    if (status == KEDGE_CORRUPT || status == KEDGE_LIMIT_EXCEEDED) {
        *damaged = true;
        kedge_background_failed(work->project, KEDGE_BACKGROUND_CHECKPOINT_READS, &failure);
        return KEDGE_OK;
    }
    if (status != KEDGE_OK && error != NULL) *error = failure;
    return status;
}

static kedge_status find_root(reading *work, const kedge_version_collection *collection,
                              kedge_map *map, int64_t *number, bool *found, bool *damaged,
                              kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key lowest = kedge_key_collection(collection->name, 0, 0);
    kedge_key highest = kedge_key_collection(collection->name, collection->number, KEDGE_PART_MAX);
    kedge_key after = {.size = 0};
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && !*found && status == KEDGE_OK) {
        kedge_records_query query = {.partition = work->partition,
                                     .sort_from = kedge_key_bytes(&lowest),
                                     .sort_to = kedge_key_bytes(&highest),
                                     .after = kedge_key_bytes(&after),
                                     .descending = true,
                                     .limit = ROOTS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        more = set.count > 0 && (set.more || set.count == ROOTS_PER_PAGE);
        for (size_t i = 0; i < set.count && !*found && status == KEDGE_OK; i++) {
            kedge_bytes sort = set.records[i].key.sort;
            status =
                try_record(work, &set.records[i], collection, map, number, found, damaged, error);
            after.size = sort.size;
            memcpy(after.text, sort.data, sort.size);
        }
        kedge_record_set_free(&set);
    }
    return status;
}

kedge_status kedge_checkpoint_read(const kedge_project *project,
                                   const kedge_version_collection *collection, kedge_map *map,
                                   int64_t *version, int64_t *number, bool *damaged,
                                   kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    reading work = {.project = project,
                    .partition = kedge_key_bytes(&partition),
                    .collection = collection->name,
                    .items = {.allocator = project->allocator}};
    bool found = false;
    int64_t root_number = 0;
    kedge_map read = {0};
    kedge_status status = find_root(&work, collection, &read, &root_number, &found, damaged, error);
    kedge_items_free(&work.items);
    if (status != KEDGE_OK) return status;
    *map = read;
    *version = found ? work.version : 0;
    *number = found ? root_number : 0;
    return KEDGE_OK;
}
