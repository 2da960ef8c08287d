/* Repair: bodies of items that are gone or damaged, written back from copies.
 *
 * A body is named by the hash of its text. So a text with this hash is the body, wherever it is
 * found: in the args of a mutation, in a delta, in a checkpoint, among the bodies of another
 * collection or of the project that this one is a fork of. When it is found nowhere, there is a
 * line for every item and version that has it. */
#include "backend/jobs/verify_internal.h"

#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/version_codec.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FROM_BYTES 160

/* ---- what is lost ---- */

kedge_status verify_note_lost(verifying *work, int64_t version, kedge_bytes collection,
                              const kedge_entry *entry, kedge_error *error)
{
    if (work->lost_count == work->lost_capacity) {
        size_t capacity = work->lost_capacity == 0 ? 64 : work->lost_capacity * 2;
        verify_lost *grown = kedge_arena_take_array(&work->arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (work->lost_count > 0) memcpy(grown, work->lost, work->lost_count * sizeof *grown);
        work->lost = grown;
        work->lost_capacity = capacity;
    }
    verify_lost *lost = &work->lost[work->lost_count];
    *lost = (verify_lost){.size = entry->size, .version = version};
    memcpy(lost->hash, entry->hash, sizeof lost->hash);
    if (!kedge_arena_copy(&work->arena, collection, &lost->collection) ||
        !kedge_arena_copy(&work->arena, entry->id, &lost->id)) {
        return kedge_fail_no_memory(error);
    }
    work->lost_count++;
    return KEDGE_OK;
}

static int compare_lost(const void *a, const void *b)
{
    return memcmp(((const verify_lost *)a)->hash, ((const verify_lost *)b)->hash,
                  KEDGE_SHA256_SIZE);
}

/* The first with this hash, of those in order of their hashes; the count when there is none. */
static size_t find_lost(const verifying *work, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    size_t low = 0;
    size_t high = work->lost_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(work->lost[middle].hash, hash, KEDGE_SHA256_SIZE) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool same =
        low < work->lost_count && memcmp(work->lost[low].hash, hash, KEDGE_SHA256_SIZE) == 0;
    return same ? low : work->lost_count;
}

/* ---- writing back ---- */

/* A text that may be a body that is lost. */
static kedge_status offer(verifying *work, kedge_bytes text, const char *from, kedge_error *error)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t size = (int64_t)text.size;
    bool small = work->lost_of_any_size && size <= KEDGE_BODY_INLINE_BYTES;
    if (!small &&
        !kedge_key_set_has(&work->lost_sizes, (kedge_bytes){(const char *)&size, sizeof size})) {
        return KEDGE_OK;
    }
    kedge_sha256(text, hash);
    kedge_status status = KEDGE_OK;
    for (size_t i = find_lost(work, hash); i < work->lost_count && status == KEDGE_OK; i++) {
        verify_lost *lost = &work->lost[i];
        if (memcmp(lost->hash, hash, sizeof hash) != 0) break;
        if (lost->found) continue;
        kedge_key key = kedge_key_body(&work->project->ref, lost->collection, lost->hash);
        status = verify_note_owed(work, lost, error);
        if (status == KEDGE_OK)
            status = kedge_blob_put_checked(work->project, &key, text, false, error);
        if (status != KEDGE_OK) break;
        lost->found = true;
        status = verify_tell_repaired(work, "item-body", lost->version, kedge_key_bytes(&key), from,
                                      error);
    }
    return status;
}

/* ---- where copies may stand ---- */

/* The value, and all that is inside it: nested at most KEDGE_LIMIT_JSON_DEPTH deep. */
static kedge_status offer_value(verifying *work, kedge_bytes value, const char *from,
                                kedge_error *error)
{
    kedge_bytes key;
    kedge_bytes inner;
    kedge_json_type type = kedge_json_type_of(value);
    kedge_json_iterator iterator = kedge_json_iterate(value);
    kedge_status status = offer(work, value, from, error);
    if (type == KEDGE_JSON_OBJECT) {
        while (status == KEDGE_OK && kedge_json_next_member(&iterator, &key, &inner))
            status = offer_value(work, inner, from, error);
    } else if (type == KEDGE_JSON_ARRAY) {
        while (status == KEDGE_OK && kedge_json_next_element(&iterator, &inner))
            status = offer_value(work, inner, from, error);
    }
    return status;
}

static kedge_status search_version(void *context, const kedge_version *version, kedge_error *error)
{
    verifying *work = context;
    char from[FROM_BYTES];
    kedge_status status = KEDGE_OK;
    (void)snprintf(from, sizeof from, "the args of a mutation of version %lld",
                   (long long)version->number);
    for (size_t i = 0; i < version->mutation_count && status == KEDGE_OK; i++) {
        kedge_bytes args = version->mutations[i].args;
        if (args.size > 0) status = offer_value(work, args, from, error);
    }
    (void)snprintf(from, sizeof from, "the delta of version %lld", (long long)version->number);
    for (size_t i = 0; i < version->change_count && status == KEDGE_OK; i++) {
        const kedge_entry *entry = &version->changes[i].entry;
        if (!version->changes[i].deleted && entry->body.data != NULL)
            status = offer(work, entry->body, from, error);
    }
    return status;
}

typedef struct offering {
    verifying *work;
    const char *from;
    kedge_status status;
    kedge_error *error;
} offering;

static bool offer_item(void *context, kedge_item *item)
{
    offering *all = context;
    if (item->entry.body.data != NULL)
        all->status = offer(all->work, item->entry.body, all->from, all->error);
    return all->status == KEDGE_OK;
}

static kedge_status search_checkpoints(verifying *work, kedge_error *error)
{
    char from[FROM_BYTES];
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->root_count && status == KEDGE_OK; i++) {
        const verify_root *root = &work->roots[i];
        kedge_map map = {0};
        kedge_error failure = {0};
        (void)snprintf(from, sizeof from, "the checkpoint of \"%.*s\" of version %lld",
                       (int)root->collection.size, root->collection.data, (long long)root->version);
        status = verify_load_root(work, root, &map, &failure);
        if (status == KEDGE_OK) {
            offering all = {work, from, KEDGE_OK, error};
            kedge_map_visit_items(&map, offer_item, &all);
            status = all.status;
        } else if (verify_is_damage(status)) {
            status = KEDGE_OK;
        } else if (error != NULL) {
            *error = failure;
        }
        kedge_map_free(work->project->allocator, &map);
    }
    return status;
}

/* The same body under another key. */
static kedge_status search_blob(verifying *work, const verify_lost *lost,
                                const kedge_project *project, kedge_bytes collection,
                                kedge_error *error)
{
    char from[FROM_BYTES];
    kedge_error failure = {0};
    kedge_buffer body = kedge_buffer_make(work->project->allocator);
    kedge_status status = kedge_blob_body(project, collection, lost->hash, NULL, &body, &failure);
    (void)snprintf(from, sizeof from, "the collection \"%.*s\" of the project %.*s",
                   (int)collection.size, collection.data, (int)project->ref.project.size,
                   project->ref.project.data);
    if (status == KEDGE_OK) {
        int64_t size = (int64_t)body.size;
        status = kedge_key_set_add(&work->lost_sizes,
                                   (kedge_bytes){(const char *)&size, sizeof size}, NULL, error);
        if (status == KEDGE_OK) status = offer(work, kedge_buffer_bytes(&body), from, error);
    } else if (verify_is_damage(status)) {
        status = KEDGE_OK;
    } else if (error != NULL) {
        *error = failure;
    }
    kedge_buffer_free(&body);
    return status;
}

static kedge_status search_collections(verifying *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->lost_count && status == KEDGE_OK; i++) {
        for (size_t k = 0; k < work->replay.count && status == KEDGE_OK; k++) {
            kedge_bytes name = kedge_bytes_of(work->replay.collections[k].name);
            if (work->lost[i].found || kedge_bytes_equal(name, work->lost[i].collection)) continue;
            status = search_blob(work, &work->lost[i], work->project, name, error);
        }
    }
    return status;
}

static kedge_status search_source_of_fork(verifying *work, kedge_error *error)
{
    char project[KEDGE_LIMIT_NAME_BYTES + 1];
    const kedge_version *creation = NULL;
    kedge_status status = kedge_version_load_creation(work->project, &creation, error);
    if (verify_is_damage(status)) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    if (creation->forked.size > 0 &&
        kedge_json_member_chars(creation->forked, "project", project, sizeof project)) {
        kedge_project source = *work->project;
        source.ref.project = kedge_bytes_of(project);
        for (size_t i = 0; i < work->lost_count && status == KEDGE_OK; i++) {
            if (work->lost[i].found) continue;
            status = search_blob(work, &work->lost[i], &source, work->lost[i].collection, error);
        }
    }
    kedge_version_release(creation);
    return status;
}

/* ---- what stays lost ---- */

static bool is_in_newest(const verifying *work, kedge_bytes collection, kedge_bytes id,
                         const uint8_t hash[KEDGE_SHA256_SIZE])
{
    const kedge_replayed_collection *folded = kedge_replay_find(&work->replay, collection);
    const kedge_item *item = folded == NULL ? NULL : kedge_map_find(&folded->map, id);
    return item != NULL && memcmp(item->entry.hash, hash, KEDGE_SHA256_SIZE) == 0;
}

static kedge_status tell_lost(verifying *work, const verify_lost *lost, kedge_bytes id,
                              int64_t version, kedge_error *error)
{
    char hex[KEDGE_SHA256_HEX];
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_hex_encode(lost->hash, KEDGE_SHA256_SIZE, hex);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "lost");
    kedge_json_chars(&writer, "item-body");
    kedge_json_key(&writer, "collection");
    kedge_json_text(&writer, lost->collection);
    kedge_json_key(&writer, "id");
    kedge_json_text(&writer, id);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version);
    kedge_json_key(&writer, "newest");
    kedge_json_boolean(&writer, is_in_newest(work, lost->collection, id, lost->hash));
    kedge_json_key(&writer, "hash");
    kedge_json_chars(&writer, hex);
    kedge_json_end_object(&writer);
    return kedge_lines_put(work->lines, &work->line, error);
}

static kedge_status tell_lost_of(void *context, const kedge_version *version, kedge_error *error)
{
    verifying *work = context;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->change_count && status == KEDGE_OK; i++) {
        const kedge_version_change *change = &version->changes[i];
        if (change->deleted || change->entry.body.data != NULL) continue;
        size_t at = find_lost(work, change->entry.hash);
        for (; at < work->lost_count && status == KEDGE_OK; at++) {
            verify_lost *lost = &work->lost[at];
            if (memcmp(lost->hash, change->entry.hash, sizeof lost->hash) != 0) break;
            if (lost->found || !kedge_bytes_equal(lost->collection, change->collection)) continue;
            lost->told = true;
            status = tell_lost(work, lost, change->entry.id, version->number, error);
        }
    }
    return status;
}

/* ---- all of it ---- */

typedef kedge_status (*version_visit)(void *context, const kedge_version *version,
                                      kedge_error *error);

typedef struct version_visitor {
    verifying *work;
    version_visit visit;
} version_visitor;

/* Versions that cannot be read were told when they were verified. */
static kedge_status visit_version(void *context, const kedge_record *record, kedge_error *error)
{
    const version_visitor *visitor = context;
    verifying *work = visitor->work;
    kedge_version_object *object = NULL;
    kedge_error failure = {0};
    int64_t number = 0;
    if (!kedge_key_read_version(record->key.sort, &number) || kedge_retained_is_gone(record))
        return KEDGE_OK;
    kedge_status status =
        kedge_version_decode(work->project, record, KEDGE_VERSION_WHOLE, &object, &failure);
    if (verify_is_damage(status)) return KEDGE_OK;
    if (status != KEDGE_OK) return kedge_fail(error, status, failure.code, "%s", failure.message);
    status = visitor->visit(work, &object->version, error);
    kedge_version_release(&object->version);
    return status;
}

static kedge_status visit_versions(verifying *work, version_visit visit, kedge_error *error)
{
    version_visitor visitor = {work, visit};
    return kedge_visit_records(work->project, "ProjectVersion#", visit_version, &visitor, error);
}

static size_t count_lost(const verifying *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->lost_count; i++) {
        if (!work->lost[i].found) count++;
    }
    return count;
}

/* The sizes of the lost bodies, so that only texts of these sizes are hashed. Size 0: damage has
 * changed the record that had the size, so any small text may be the body. */
static kedge_status note_sizes(verifying *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->lost_count && status == KEDGE_OK; i++) {
        int64_t size = work->lost[i].size;
        if (size == 0) work->lost_of_any_size = true;
        status = kedge_key_set_add(&work->lost_sizes,
                                   (kedge_bytes){(const char *)&size, sizeof size}, NULL, error);
    }
    return status;
}

kedge_status verify_repair_bodies(verifying *work, kedge_error *error)
{
    if (work->lost_count == 0) return KEDGE_OK;
    qsort(work->lost, work->lost_count, sizeof *work->lost, compare_lost);
    kedge_status status = note_sizes(work, error);
    if (status == KEDGE_OK) status = visit_versions(work, search_version, error);
    if (status == KEDGE_OK) status = search_checkpoints(work, error);
    if (status == KEDGE_OK) status = search_collections(work, error);
    if (status == KEDGE_OK) status = search_source_of_fork(work, error);
    if (status != KEDGE_OK) return status;
    work->summary->lost = (int64_t)count_lost(work);
    if (work->summary->lost > 0) status = visit_versions(work, tell_lost_of, error);
    for (size_t i = 0; i < work->lost_count && status == KEDGE_OK; i++) {
        const verify_lost *lost = &work->lost[i];
        if (!lost->found && !lost->told)
            status = tell_lost(work, lost, lost->id, lost->version, error);
    }
    return status;
}
