/* See snapshot_object.h. */
#include "backend/logged/snapshot_object.h"

#include "backend/base/packed.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/blob.h"
#include "common/error.h"
#include "common/json.h"

#include <string.h>

/* ---- writing ---- */

static void write_collections(kedge_json_writer *writer, const char *name,
                              const kedge_version *version)
{
    kedge_json_key(writer, name);
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < version->collection_count; i++) {
        const kedge_version_collection *collection = &version->collections[i];
        kedge_json_begin_array(writer);
        kedge_json_text(writer, collection->name);
        kedge_json_integer(writer, collection->last);
        kedge_json_integer(writer, collection->items);
        kedge_json_end_array(writer);
    }
    kedge_json_end_array(writer);
}

static void write_object(const kedge_snapshot_object *object, kedge_buffer *out)
{
    char hash[KEDGE_SHA256_HEX];
    kedge_json_writer writer = kedge_json_write(out);
    kedge_hex_encode(object->hash, sizeof object->hash, hash);
    kedge_json_begin_object(&writer);
    write_collections(&writer, "collections", object->state);
    kedge_json_key(&writer, "hash");
    kedge_json_chars(&writer, hash);
    kedge_json_key(&writer, "lineage");
    kedge_json_chars(&writer, object->state->lineage);
    kedge_json_key(&writer, "number");
    kedge_json_integer(&writer, object->state->number);
    if (object->state->project_record.size > 0) {
        kedge_json_key(&writer, "project");
        kedge_json_raw(&writer, object->state->project_record);
    }
    write_collections(&writer, "rejections", object->rejections);
    kedge_json_end_object(&writer);
}

kedge_status kedge_snapshot_object_put(const kedge_project *project,
                                       const kedge_snapshot_object *object,
                                       char id[KEDGE_SHA256_HEX], kedge_error *error)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_buffer text = kedge_buffer_make(project->allocator);
    write_object(object, &text);
    kedge_status status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK) {
        kedge_sha256(kedge_buffer_bytes(&text), hash);
        kedge_hex_encode(hash, sizeof hash, id);
        kedge_key key = kedge_key_version_part(&project->ref, hash);
        status = kedge_blob_put_checked(project, &key, kedge_buffer_bytes(&text), false, error);
    }
    kedge_buffer_free(&text);
    return status;
}

/* ---- reading ---- */

static bool read_collection(kedge_bytes row, kedge_arena *arena, kedge_version_collection *out)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes value[3];
    kedge_json_iterator fields = kedge_json_iterate(row);
    for (size_t i = 0; i < 3; i++) {
        if (!kedge_json_next_element(&fields, &value[i])) return false;
    }
    bool fine = kedge_json_to_chars(value[0], name, sizeof name) &&
                kedge_json_to_integer(value[1], &out->last) &&
                kedge_json_to_integer(value[2], &out->items) && out->last >= 1 &&
                kedge_arena_copy(arena, kedge_bytes_of(name), &out->name);
    out->number = out->last;
    return fine;
}

static bool read_collections(kedge_bytes object, const char *name, kedge_version_object *out)
{
    kedge_bytes array;
    kedge_bytes row;
    size_t count = 0;
    if (!kedge_json_member(object, name, &array)) return false;
    kedge_json_iterator rows = kedge_json_iterate(array);
    while (kedge_json_next_element(&rows, &row))
        count++;
    kedge_version *version = &out->version;
    version->collections = kedge_arena_take_array(&out->arena, count, sizeof *version->collections);
    if (version->collections == NULL) return false;
    rows = kedge_json_iterate(array);
    while (kedge_json_next_element(&rows, &row)) {
        if (!read_collection(row, &out->arena, &version->collections[version->collection_count]))
            return false;
        version->collection_count++;
    }
    return true;
}

static bool read_version(kedge_bytes object, const char *collections, kedge_version_object *out)
{
    kedge_bytes project;
    kedge_version *version = &out->version;
    if (!kedge_json_member_integer(object, "number", &version->number) ||
        !kedge_json_member_chars(object, "lineage", version->lineage, sizeof version->lineage) ||
        !read_collections(object, collections, out))
        return false;
    return !kedge_json_member(object, "project", &project) ||
           kedge_arena_copy(&out->arena, project, &version->project_record);
}

static bool read_hash(kedge_bytes object, uint8_t hash[KEDGE_SHA256_SIZE])
{
    char hex[KEDGE_SHA256_HEX];
    return kedge_json_member_chars(object, "hash", hex, sizeof hex) &&
           kedge_hex_decode(kedge_bytes_of(hex), hash, KEDGE_SHA256_SIZE);
}

static kedge_status read_members(const kedge_project *project, kedge_bytes text,
                                 uint8_t hash[KEDGE_SHA256_SIZE], kedge_version_object *state,
                                 kedge_version_object *rejections, kedge_error *error)
{
    kedge_bytes record;
    kedge_status status = KEDGE_OK;
    /* The record may nest as deep as is allowed, so the object around it is one level too deep. */
    if (kedge_json_member(text, "project", &record))
        status = kedge_json_check(record, KEDGE_LIMIT_JSON_DEPTH, project->allocator, NULL);
    bool fine = status == KEDGE_OK && read_hash(text, hash) &&
                read_version(text, "collections", state) &&
                read_version(text, "rejections", rejections);
    if (fine) return KEDGE_OK;
    if (status == KEDGE_NO_MEMORY || state->arena.no_memory || rejections->arena.no_memory)
        return kedge_fail_no_memory(error);
    return kedge_fail(error, KEDGE_CORRUPT, "snapshot-damaged",
                      "the object of a snapshot is damaged");
}

static kedge_status read_object(const kedge_project *project, kedge_bytes text,
                                kedge_snapshot_object *out, kedge_error *error)
{
    kedge_version_object *state = kedge_version_object_new(project->allocator);
    kedge_version_object *rejections = kedge_version_object_new(project->allocator);
    kedge_status status = state == NULL || rejections == NULL
                              ? kedge_fail_no_memory(error)
                              : read_members(project, text, out->hash, state, rejections, error);
    if (status != KEDGE_OK) {
        if (state != NULL) kedge_version_release(&state->version);
        if (rejections != NULL) kedge_version_release(&rejections->version);
        return status;
    }
    out->state = &state->version;
    out->rejections = &rejections->version;
    return KEDGE_OK;
}

static kedge_status get_text(const kedge_project *project, const char *id, kedge_arena *arena,
                             kedge_bytes *text, kedge_error *error)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint8_t found[KEDGE_SHA256_SIZE];
    const kedge_blobs *blobs = project->blobs;
    if (!kedge_hex_decode(kedge_bytes_of(id), hash, sizeof hash))
        return kedge_fail(error, KEDGE_CORRUPT, "snapshot-damaged",
                          "a snapshot was found to be damaged, or its id is no hash");
    kedge_key key = kedge_key_version_part(&project->ref, hash);
    kedge_buffer stored = kedge_buffer_make(project->allocator);
    kedge_status status = blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &stored, error);
    if (status == KEDGE_NOT_FOUND) {
        status = kedge_fail(error, KEDGE_CORRUPT, "snapshot-missing",
                            "the object %s of a snapshot is missing", id);
    }
    if (status == KEDGE_OK)
        status = kedge_unpack_gzip(kedge_buffer_bytes(&stored), arena, text, error);
    kedge_buffer_free(&stored);
    if (status != KEDGE_OK) return status;
    kedge_sha256(*text, found);
    if (memcmp(found, hash, sizeof hash) == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_CORRUPT, "snapshot-damaged",
                      "the object %s of a snapshot has another hash", id);
}

kedge_status kedge_snapshot_object_get(const kedge_project *project, const char *id,
                                       kedge_snapshot_object *object, kedge_error *error)
{
    kedge_bytes text;
    kedge_arena arena = kedge_arena_make(project->allocator);
    kedge_status status = get_text(project, id, &arena, &text, error);
    if (status == KEDGE_OK) status = read_object(project, text, object, error);
    kedge_arena_free(&arena);
    return status;
}
