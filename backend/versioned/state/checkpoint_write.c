/* Checkpoints, written: chunks first, parts next, the root last. */
#include "backend/versioned/state/checkpoint.h"

#include "backend/base/background.h"
#include "backend/base/packed.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/cache.h"
#include "backend/versioned/state/checkpoint_chunks.h"
#include "backend/versioned/versions/blob.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct chunk_name {
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t items;
} chunk_name;

typedef struct writing {
    const kedge_project *project;
    const kedge_version_collection *collection;
    kedge_key partition;
    char lineage[KEDGE_LINEAGE_HEX]; /* of the version that gave the collection its number */
    kedge_arena arena;
    kedge_buffer only; /* the text of the first chunk, in case it is the only one */
    chunk_name *chunks;
    size_t count;
    size_t capacity;
    chunk_name *known; /* of the checkpoint before, by hash: there already */
    size_t known_count;
} writing;

/* ---- when ---- */

bool kedge_checkpoint_is_due(const kedge_version_collection *collection, const kedge_slot *slot)
{
    int64_t versions = collection->number - atomic_load(&slot->root_number);
    long long bytes = atomic_load(&slot->tail_bytes);
    /* Each changed item costs its chunk, at most all of them. */
    long long rewrite = (long long)slot->map.bytes;
    long long changes = atomic_load(&slot->tail_changes);
    if (changes < rewrite / KEDGE_CHUNK_BYTES_TYPICAL) {
        rewrite = changes * KEDGE_CHUNK_BYTES_TYPICAL;
    }
    if (versions > KEDGE_CHECKPOINT_VERSIONS_MAX) return true;
    bool long_tail = versions > KEDGE_CHECKPOINT_VERSIONS || bytes > KEDGE_CHECKPOINT_BYTES;
    return long_tail && bytes > rewrite / 4;
}

/* ---- chunks ---- */

static int compare_names(const void *a, const void *b)
{
    return memcmp(((const chunk_name *)a)->hash, ((const chunk_name *)b)->hash, KEDGE_SHA256_SIZE);
}

static kedge_status put_chunk(writing *work, const chunk_name *name, kedge_bytes text,
                              kedge_error *error)
{
    if (work->known_count > 0 &&
        bsearch(name, work->known, work->known_count, sizeof *name, compare_names) != NULL) {
        return KEDGE_OK;
    }
    kedge_key key = kedge_key_chunk(&work->project->ref, name->hash);
    return kedge_blob_put_checked(work->project, &key, text, true, error);
}

/* The first chunk waits: when there is no second and it is small, it goes into the root. */
static kedge_status take_chunk(void *context, const kedge_chunk *chunk, kedge_error *error)
{
    writing *work = context;
    if (work->count == work->capacity) {
        size_t capacity = work->capacity == 0 ? 64 : work->capacity * 2;
        chunk_name *grown = kedge_arena_take_array(&work->arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (work->count > 0) memcpy(grown, work->chunks, work->count * sizeof *grown);
        work->chunks = grown;
        work->capacity = capacity;
    }
    chunk_name *name = &work->chunks[work->count++];
    kedge_sha256(chunk->text, name->hash);
    name->items = chunk->items;
    if (work->count == 1) {
        kedge_buffer_append_bytes(&work->only, chunk->text);
        return kedge_buffer_status(&work->only, error);
    }
    if (work->count == 2) {
        kedge_status status =
            put_chunk(work, &work->chunks[0], kedge_buffer_bytes(&work->only), error);
        if (status != KEDGE_OK) return status;
    }
    return put_chunk(work, name, chunk->text, error);
}

/* ---- the chunks of the checkpoint before ---- */

static kedge_status read_known_part(writing *work, const kedge_record *record, kedge_error *error)
{
    const kedge_attribute *chunks = kedge_record_attribute(record, "chunks");
    if (chunks == NULL) return KEDGE_OK;
    kedge_bytes text;
    kedge_bytes row;
    kedge_bytes name;
    kedge_status status = kedge_unpack(chunks, &work->arena, &text, error);
    if (status != KEDGE_OK) return status;
    size_t most = work->known_count + KEDGE_ROOT_CHUNKS_PER_PART;
    chunk_name *grown = kedge_arena_take_array(&work->arena, most, sizeof *grown);
    if (grown == NULL) return kedge_fail_no_memory(error);
    if (work->known_count > 0) memcpy(grown, work->known, work->known_count * sizeof *grown);
    work->known = grown;
    kedge_json_iterator rows = kedge_json_iterate(text);
    while (work->known_count < most && kedge_json_next_element(&rows, &row)) {
        kedge_json_iterator fields = kedge_json_iterate(row);
        if (kedge_json_next_element(&fields, &name) && name.size == KEDGE_SHA256_HEX + 1 &&
            kedge_hex_decode((kedge_bytes){name.data + 1, name.size - 2},
                             grown[work->known_count].hash, KEDGE_SHA256_SIZE)) {
            work->known_count++;
        }
    }
    return KEDGE_OK;
}

/* The state was loaded from this checkpoint or one after it, so that its chunks were there. */
static kedge_status read_known(writing *work, int64_t number, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key lowest = kedge_key_collection(work->collection->name, number, 0);
    kedge_key highest = kedge_key_collection(work->collection->name, number, KEDGE_PART_MAX);
    kedge_key after = {.size = 0};
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && status == KEDGE_OK) {
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&lowest),
                                     .sort_to = kedge_key_bytes(&highest),
                                     .after = kedge_key_bytes(&after),
                                     .limit = 100,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        more = set.more && set.count > 0;
        for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
            kedge_bytes sort = set.records[i].key.sort;
            status = read_known_part(work, &set.records[i], error);
            after.size = sort.size;
            memcpy(after.text, sort.data, sort.size);
        }
        kedge_record_set_free(&set);
    }
    if (work->known_count > 1) {
        qsort(work->known, work->known_count, sizeof *work->known, compare_names);
    }
    return status;
}

/* ---- the root ---- */

static kedge_status put_part(writing *work, uint32_t part, uint32_t parts, const char *name,
                             kedge_bytes text, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_attribute attributes[5] = {
        {"version", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, work->collection->last},
        {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->lineage), 0},
        {"parts", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, parts},
        {"items", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, work->collection->items}};
    kedge_status status = kedge_pack(name, text, &work->arena, &attributes[4], error);
    if (status != KEDGE_OK) return status;
    kedge_key sort = kedge_key_collection(work->collection->name, work->collection->number, part);
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)}, attributes, 5},
        .condition = KEDGE_IF_ANY};
    return records->vtable->write(records->self, &write, error);
}

static void write_names(kedge_buffer *out, const chunk_name *chunks, size_t count)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        char hex[KEDGE_SHA256_HEX];
        kedge_hex_encode(chunks[i].hash, KEDGE_SHA256_SIZE, hex);
        kedge_json_begin_array(&writer);
        kedge_json_chars(&writer, hex);
        kedge_json_integer(&writer, chunks[i].items);
        kedge_json_end_array(&writer);
    }
    kedge_json_end_array(&writer);
}

static kedge_status put_root(writing *work, kedge_error *error)
{
    if (work->count == 0) return put_part(work, 0, 1, "map", KEDGE_BYTES("{}"), error);
    if (work->count == 1 && work->only.size <= KEDGE_ROOT_MAP_BYTES) {
        return put_part(work, 0, 1, "map", kedge_buffer_bytes(&work->only), error);
    }
    kedge_status status = KEDGE_OK;
    if (work->count == 1) {
        status = put_chunk(work, &work->chunks[0], kedge_buffer_bytes(&work->only), error);
    }
    size_t parts = (work->count + KEDGE_ROOT_CHUNKS_PER_PART - 1) / KEDGE_ROOT_CHUNKS_PER_PART;
    kedge_buffer text = kedge_buffer_make(work->project->allocator);
    if (parts > KEDGE_ROOT_PARTS_MAX) {
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "checkpoint-too-large",
                            "a checkpoint would have %zu parts; %d are allowed", parts,
                            KEDGE_ROOT_PARTS_MAX);
    }
    for (size_t part = parts; part-- > 0 && status == KEDGE_OK;) {
        size_t first = part * KEDGE_ROOT_CHUNKS_PER_PART;
        size_t count = work->count - first;
        if (count > KEDGE_ROOT_CHUNKS_PER_PART) count = KEDGE_ROOT_CHUNKS_PER_PART;
        kedge_buffer_clear(&text);
        write_names(&text, work->chunks + first, count);
        status = kedge_buffer_status(&text, error);
        if (status == KEDGE_OK) {
            status = put_part(work, (uint32_t)part, (uint32_t)parts, "chunks",
                              kedge_buffer_bytes(&text), error);
        }
    }
    kedge_buffer_free(&text);
    return status;
}

/* ---- the checkpoint ---- */

/* The lineage of the version that changed the collection last. When retention has removed that
 * version and its lineage, that of the state's version stands in: no record contradicts it. */
static kedge_status find_lineage(const kedge_state *state,
                                 const kedge_version_collection *collection,
                                 char lineage[KEDGE_LINEAGE_HEX], kedge_error *error)
{
    const kedge_version *version = state->version;
    memcpy(lineage, version->lineage, KEDGE_LINEAGE_HEX);
    if (collection->last == version->number) return KEDGE_OK;
    kedge_status status = kedge_version_lineage(&state->project, collection->last, lineage, error);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

/* States that were derived while the checkpoint was written still count from the one before. */
static void tell_head(const kedge_state *state, const kedge_version_collection *collection,
                      long long tail_bytes, long long tail_changes)
{
    kedge_state *head = kedge_cache_head(state->project.backend->cache, &state->project.ref);
    if (head == NULL) return;
    kedge_slot *slot = NULL;
    if (head->family == state->family && head->version->number > state->version->number) {
        slot = kedge_state_slot(head, collection->name);
    }
    if (slot != NULL && atomic_load(&slot->root_number) < collection->number) {
        atomic_store(&slot->root_number, collection->number);
        atomic_fetch_sub(&slot->tail_bytes, tail_bytes);
        atomic_fetch_sub(&slot->tail_changes, tail_changes);
        atomic_store(&slot->root_damaged, false);
    }
    kedge_state_close(head);
}

kedge_status kedge_checkpoint_write_map(const kedge_project *project,
                                        const kedge_version_collection *collection,
                                        const char *lineage, const kedge_map *map, int64_t known,
                                        kedge_error *error)
{
    writing work = {.project = project,
                    .collection = collection,
                    .partition = kedge_key_partition(&project->ref),
                    .arena = kedge_arena_make(project->allocator),
                    .only = kedge_buffer_make(project->allocator)};
    kedge_status status = KEDGE_OK;
    memcpy(work.lineage, lineage, sizeof work.lineage);
    if (known > 0) status = read_known(&work, known, error);
    if (status == KEDGE_OK) {
        status = kedge_chunks_cut(project->allocator, map, KEDGE_CHUNK_BYTES_MAX,
                                  KEDGE_CHUNK_BYTES_TYPICAL, take_chunk, &work, error);
    }
    if (status == KEDGE_OK) status = put_root(&work, error);
    kedge_buffer_free(&work.only);
    kedge_arena_free(&work.arena);
    return status;
}

kedge_status kedge_checkpoint_write(kedge_state *state, const kedge_version_collection *collection,
                                    bool all, kedge_error *error)
{
    kedge_slot *slot = &state->slots[collection - state->version->collections];
    const kedge_map *map = NULL;
    char lineage[KEDGE_LINEAGE_HEX];
    kedge_status status = kedge_state_collection(state, collection->name, &map, error);
    if (status == KEDGE_OK) status = find_lineage(state, collection, lineage, error);
    if (status != KEDGE_OK) return status;
    bool trusted = !all && !atomic_load(&slot->root_damaged);
    int64_t known = trusted ? atomic_load(&slot->root_number) : 0;
    status = kedge_checkpoint_write_map(&state->project, collection, lineage, map, known, error);
    if (status != KEDGE_OK) return status;
    atomic_store(&slot->root_number, collection->number);
    atomic_store(&slot->root_damaged, false);
    tell_head(state, collection, atomic_exchange(&slot->tail_bytes, 0),
              atomic_exchange(&slot->tail_changes, 0));
    return KEDGE_OK;
}

/* With `all` also of collections that the version did not change. */
static kedge_status is_needed(kedge_state *state, size_t index, bool all, bool *needed,
                              kedge_error *error)
{
    const kedge_version_collection *collection = &state->version->collections[index];
    const kedge_map *map = NULL;
    *needed = false;
    if (!all && collection->last != state->version->number) return KEDGE_OK;
    kedge_status status = kedge_state_collection(state, collection->name, &map, error);
    if (status != KEDGE_OK) return status;
    *needed = atomic_load(&state->slots[index].root_damaged) ||
              kedge_checkpoint_is_due(collection, &state->slots[index]);
    return KEDGE_OK;
}

bool kedge_checkpoint_any_due(kedge_state *state)
{
    bool due = false;
    kedge_error error = {0};
    for (size_t i = 0; i < state->version->collection_count && !due; i++) {
        if (is_needed(state, i, false, &due, &error) == KEDGE_OK) continue;
        kedge_background_failed(&state->project, KEDGE_BACKGROUND_CHECKPOINTS, &error);
        return false;
    }
    return due;
}

kedge_status kedge_checkpoint_write_due(kedge_state *state, bool all, kedge_error *error)
{
    kedge_status result = KEDGE_OK;
    for (size_t i = 0; i < state->version->collection_count; i++) {
        bool needed = false;
        kedge_status status = is_needed(state, i, all, &needed, error);
        if (status == KEDGE_OK && needed) {
            status = kedge_checkpoint_write(state, &state->version->collections[i], all, error);
        }
        if (status != KEDGE_OK) result = status;
    }
    return result;
}
