/* Import: each kind of line, checked and put. */
#include "backend/jobs/import_internal.h"

#include "backend/base/packed.h"
#include "backend/versioned/index/index.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/version_codec.h"
#include "common/error.h"
#include "common/names.h"

#include <string.h>

#define ROW_ATTRIBUTES_MAX 8

/* What a core function finds damaged in a line is the line's damage. */
static kedge_status as_damage(kedge_status status, const char *what, kedge_error *error)
{
    return status == KEDGE_CORRUPT ? import_damaged(what, error) : status;
}

/* ---- bodies ---- */

static bool read_hash(kedge_bytes object, uint8_t hash[KEDGE_SHA256_SIZE])
{
    char hex[KEDGE_SHA256_HEX];
    return kedge_json_member_chars(object, "hash", hex, sizeof hex) &&
           kedge_hex_decode(kedge_bytes_of(hex), hash, KEDGE_SHA256_SIZE);
}

static kedge_status check_body(kedge_bytes value, const uint8_t hash[KEDGE_SHA256_SIZE],
                               kedge_error *error)
{
    uint8_t found[KEDGE_SHA256_SIZE];
    kedge_error ignored;
    kedge_sha256(value, found);
    bool same = memcmp(found, hash, sizeof found) == 0;
    kedge_status status =
        kedge_json_check(value, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, &ignored);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    return same && status == KEDGE_OK ? KEDGE_OK : import_damaged("a body", error);
}

static kedge_status read_collection(kedge_bytes object, char name[KEDGE_LIMIT_NAME_BYTES + 1],
                                    kedge_error *error)
{
    if (kedge_json_member_chars(object, "collection", name, KEDGE_LIMIT_NAME_BYTES + 1) &&
        kedge_check_name("collection", kedge_bytes_of(name), NULL) == KEDGE_OK) {
        return KEDGE_OK;
    }
    return import_damaged("the name of a collection", error);
}

static kedge_status take_body(importing *work, kedge_error *error)
{
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes value;
    kedge_status status = read_collection(work->value, collection, error);
    if (status != KEDGE_OK) return status;
    if (!read_hash(work->value, hash) || !kedge_json_member(work->value, "value", &value)) {
        return import_damaged("a body", error);
    }
    status = check_body(value, hash, error);
    kedge_key key = kedge_key_body(&work->project->ref, kedge_bytes_of(collection), hash);
    if (status == KEDGE_OK) {
        status = kedge_key_set_add(&work->bodies, kedge_key_bytes(&key), NULL, error);
    }
    /* It stands in front of the first version that needs it: an earlier try has put it. */
    if (status != KEDGE_OK || work->version < work->there) return status;
    status = kedge_blob_put_plain(work->project, &key, value, error);
    if (status == KEDGE_OK) work->result->bodies++;
    return status;
}

static kedge_status check_entry(importing *work, kedge_bytes collection, const kedge_entry *entry,
                                kedge_error *error)
{
    if (entry->body.data != NULL) return check_body(entry->body, entry->hash, error);
    kedge_key key = kedge_key_body(&work->project->ref, collection, entry->hash);
    if (kedge_key_set_has(&work->bodies, kedge_key_bytes(&key))) return KEDGE_OK;
    return import_damaged("a version without a body that it needs", error);
}

/* ---- versions ---- */

static kedge_status put_version(importing *work, const kedge_version *version, kedge_error *error)
{
    kedge_version_record record;
    kedge_key sort = kedge_key_version(version->number);
    kedge_status status = kedge_version_encode(work->project->allocator, version, &record, error);
    if (status == KEDGE_OK) {
        status = kedge_version_put_parts(work->project, &record, error);
    }
    if (status == KEDGE_OK) {
        const kedge_version *versions[] = {version};
        status = kedge_index_write(work->project->backend, kedge_key_bytes(&work->partition),
                                   versions, 1, error);
    }
    if (status == KEDGE_OK) {
        kedge_record whole = {{kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)},
                              record.attributes,
                              record.attribute_count};
        status = import_put_version(work, &whole, error);
    }
    kedge_arena_free(&record.arena);
    return status;
}

/* What the record says of its collections against the fold of all deltas. */
static kedge_status check_collections(importing *work, const kedge_version *version,
                                      kedge_error *error)
{
    for (size_t i = 0; i < version->collection_count; i++) {
        const kedge_version_collection *collection = &version->collections[i];
        const kedge_replayed_collection *folded =
            kedge_replay_find(&work->replay, collection->name);
        if (folded == NULL || folded->number != collection->number ||
            folded->last != collection->last || (int64_t)folded->map.count != collection->items) {
            return import_damaged("a collection of a version", error);
        }
    }
    return KEDGE_OK;
}

static kedge_status check_version(importing *work, const kedge_version *version, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->change_count && status == KEDGE_OK; i++) {
        const kedge_version_change *change = &version->changes[i];
        if (change->deleted) continue;
        status = check_entry(work, change->collection, &change->entry, error);
    }
    for (size_t i = 0; i < version->mutation_count && status == KEDGE_OK; i++) {
        kedge_error ignored;
        status = kedge_json_check(version->mutations[i].args, KEDGE_LIMIT_JSON_DEPTH,
                                  &kedge_allocator_default, &ignored);
        if (status != KEDGE_OK && status != KEDGE_NO_MEMORY) {
            return import_damaged("the args of a mutation", error);
        }
    }
    if (status == KEDGE_OK) status = kedge_replay_take(&work->replay, version, error);
    return status == KEDGE_OK ? check_collections(work, version, error) : status;
}

static kedge_status take_version(importing *work, kedge_bytes line, kedge_error *error)
{
    kedge_version_object *object = NULL;
    kedge_bytes record;
    int64_t number = 0;
    if (!kedge_json_to_integer(work->value, &number) || number != work->version + 1 ||
        number > work->newest || !kedge_json_member(line, "record", &record)) {
        return import_damaged("the number of a version", error);
    }
    if (number == work->oldest && work->gone != work->oldest - 1) {
        return import_damaged("a version in front of which others are missing", error);
    }
    kedge_status status = as_damage(
        kedge_version_read_json(work->project, number, record, &object, error), "a version", error);
    if (status != KEDGE_OK) return status;
    const kedge_version *version = &object->version;
    if (number == work->oldest) {
        memcpy(work->oldest_lineage, version->lineage, sizeof work->oldest_lineage);
    }
    status = check_version(work, version, error);
    if (status == KEDGE_OK && number > work->there) status = put_version(work, version, error);
    if (status == KEDGE_OK && number == work->there) {
        status = import_check_there(work, kedge_bytes_of(version->lineage), error);
    }
    kedge_version_release(version);
    work->version = number;
    return status;
}

/* ---- what retention has left ---- */

static kedge_status put_gone(importing *work, int64_t number, kedge_bytes lineage,
                             int64_t created_ms, kedge_error *error)
{
    kedge_key sort = kedge_key_version(number);
    kedge_attribute attributes[] = {{"gone", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1},
                                    {"lineage", KEDGE_ATTRIBUTE_TEXT, lineage, 0},
                                    {"created", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, created_ms}};
    kedge_record record = {
        {kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)}, attributes, 3};
    return import_put_version(work, &record, error);
}

static kedge_status take_gone(importing *work, kedge_error *error)
{
    kedge_json_iterator rows = kedge_json_iterate(work->value);
    kedge_bytes row;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && kedge_json_next_element(&rows, &row)) {
        kedge_json_iterator fields = kedge_json_iterate(row);
        kedge_bytes field;
        char lineage[KEDGE_LINEAGE_HEX];
        int64_t number = 0;
        int64_t created_ms = 0;
        bool fine = kedge_json_next_element(&fields, &field) &&
                    kedge_json_to_integer(field, &number) && number == work->gone + 1 &&
                    number < work->oldest && kedge_json_next_element(&fields, &field) &&
                    kedge_json_to_chars(field, lineage, sizeof lineage) &&
                    strlen(lineage) == KEDGE_LINEAGE_HEX - 1 &&
                    kedge_json_next_element(&fields, &field) &&
                    kedge_json_to_integer(field, &created_ms);
        if (!fine) return import_damaged("a version that is gone", error);
        work->gone = number;
        if (number == work->there) {
            status = import_check_there(work, kedge_bytes_of(lineage), error);
        } else if (number > work->there) {
            status = put_gone(work, number, kedge_bytes_of(lineage), created_ms, error);
        }
    }
    return status;
}

static kedge_status take_items(importing *work, kedge_error *error)
{
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes entries;
    kedge_status status = read_collection(work->value, collection, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_member(work->value, "entries", &entries)) {
        return import_damaged("the items of a collection", error);
    }
    size_t before = work->items.count;
    status = as_damage(kedge_items_read(&work->items, entries, error), "the items of a collection",
                       error);
    for (size_t i = before; i < work->items.count && status == KEDGE_OK; i++) {
        status = check_entry(work, kedge_bytes_of(collection), &work->items.items[i]->entry, error);
    }
    return status;
}

/* The lineage of a version that is gone, from the record that was put for it. */
static kedge_status find_lineage(importing *work, int64_t number, char lineage[KEDGE_LINEAGE_HEX],
                                 kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key sort = kedge_key_version(number);
    kedge_record_key key = {kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) return import_damaged("the base of a collection", error);
    if (status != KEDGE_OK) return status;
    const kedge_attribute *found = kedge_record_attribute(&set.records[0], "lineage");
    bool fine = found != NULL && found->bytes.size == KEDGE_LINEAGE_HEX - 1;
    if (fine) memcpy(lineage, found->bytes.data, found->bytes.size);
    lineage[KEDGE_LINEAGE_HEX - 1] = '\0';
    kedge_record_set_free(&set);
    return fine ? KEDGE_OK : import_damaged("the base of a collection", error);
}

static kedge_status take_base(importing *work, kedge_error *error)
{
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    char lineage[KEDGE_LINEAGE_HEX];
    kedge_version_collection base = {.items = (int64_t)work->items.count};
    kedge_map map = {0};
    int64_t items = 0;
    kedge_status status = read_collection(work->value, collection, error);
    if (status != KEDGE_OK) return status;
    base.name = kedge_bytes_of(collection);
    if (!kedge_json_member_integer(work->value, "number", &base.number) || base.number < 1 ||
        !kedge_json_member_integer(work->value, "changed", &base.last) || base.last < 1 ||
        base.last >= work->oldest || !kedge_json_member_integer(work->value, "items", &items) ||
        items != base.items) {
        return import_damaged("the base of a collection", error);
    }
    if (!kedge_map_build(work->project->allocator, work->items.items, work->items.count, &map)) {
        return kedge_fail_no_memory(error);
    }
    status = find_lineage(work, base.last, lineage, error);
    if (status == KEDGE_OK) {
        status = kedge_checkpoint_write_map(work->project, &base, lineage, &map, 0, error);
    }
    if (status == KEDGE_OK) status = kedge_replay_put(&work->replay, &base, &map, error);
    kedge_map_free(work->project->allocator, &map);
    kedge_items_free(&work->items);
    return status;
}

static bool is_row(kedge_bytes sort)
{
    static const char *const prefixes[] = {"Fork#", "Group#", "Mutation#", "Origin#"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (kedge_bytes_start_with(sort, kedge_bytes_of(prefixes[i]))) return true;
    }
    return false;
}

static kedge_status row_attribute(kedge_bytes key, kedge_bytes value, kedge_arena *arena,
                                  kedge_attribute *attribute, kedge_error *error)
{
    kedge_bytes name;
    kedge_status status = kedge_text_read(key, arena, &name, error);
    if (status != KEDGE_OK) return status;
    kedge_bytes kept;
    if (!kedge_arena_copy(arena, name, &kept)) return kedge_fail_no_memory(error);
    *attribute = (kedge_attribute){.name = kept.data};
    switch (kedge_json_type_of(value)) {
    case KEDGE_JSON_NUMBER:
        attribute->type = KEDGE_ATTRIBUTE_NUMBER;
        return kedge_json_to_integer(value, &attribute->number) ? KEDGE_OK
                                                                : import_damaged("a row", error);
    case KEDGE_JSON_STRING:
        attribute->type = KEDGE_ATTRIBUTE_TEXT;
        return kedge_text_read(value, arena, &attribute->bytes, error);
    default:
        return kedge_pack(kept.data, value, arena, attribute, error);
    }
}

static kedge_status read_row(importing *work, kedge_bytes line, kedge_arena *arena,
                             kedge_record *record, kedge_attribute *attributes, kedge_error *error)
{
    kedge_json_iterator members = kedge_json_iterate(line);
    kedge_bytes key;
    kedge_bytes value;
    kedge_bytes sort;
    kedge_status status = kedge_text_read(work->value, arena, &sort, error);
    if (status == KEDGE_OK && !is_row(sort)) status = import_damaged("a row", error);
    size_t count = 0;
    while (status == KEDGE_OK && kedge_json_next_member(&members, &key, &value)) {
        if (kedge_json_text_equals(key, "row")) continue;
        if (count == ROW_ATTRIBUTES_MAX) return import_damaged("a row", error);
        status = row_attribute(key, value, arena, &attributes[count++], error);
    }
    *record = (kedge_record){{kedge_key_bytes(&work->partition), sort}, attributes, count};
    return status;
}

static kedge_status take_row(importing *work, kedge_bytes line, kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(work->project->allocator);
    kedge_attribute attributes[ROW_ATTRIBUTES_MAX];
    kedge_record record;
    kedge_status status =
        as_damage(read_row(work, line, &arena, &record, attributes, error), "a row", error);
    const kedge_attribute *version =
        status == KEDGE_OK ? kedge_record_attribute(&record, "version") : NULL;
    if (status == KEDGE_OK && (version == NULL || version->number >= work->oldest)) {
        status = import_damaged("a row", error);
    }
    if (status == KEDGE_OK && work->there < work->oldest) {
        const kedge_records *records = work->project->records;
        kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = record};
        status = records->vtable->write(records->self, &write, error);
    }
    kedge_arena_free(&arena);
    return status;
}

/* ---- the last line ---- */

static kedge_status take_end(importing *work, kedge_error *error)
{
    char hex[KEDGE_SHA256_HEX];
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t lines = 0;
    bool fine = kedge_json_member_integer(work->value, "lines", &lines) &&
                lines == work->chain.lines &&
                kedge_json_member_chars(work->value, "sha256", hex, sizeof hex) &&
                kedge_hex_decode(kedge_bytes_of(hex), hash, sizeof hash) &&
                memcmp(hash, work->chain.hash, sizeof hash) == 0 && work->version == work->newest;
    if (!fine) return import_damaged("the hash of all lines", error);
    work->ended = true;
    return KEDGE_OK;
}

kedge_status import_line(importing *work, kedge_bytes line, kedge_error *error)
{
    kedge_bytes whole;
    kedge_bytes rest;
    /* What is inside of values is looked at with them. */
    if (!kedge_json_skip(line, &whole, &rest) || rest.size > 0 ||
        kedge_json_type_of(whole) != KEDGE_JSON_OBJECT) {
        return import_damaged("a line", error);
    }
    if (kedge_json_member(line, "version", &work->value) &&
        kedge_json_member(line, "record", &whole)) {
        return take_version(work, line, error);
    }
    if (kedge_json_member(line, "row", &work->value)) return take_row(work, line, error);
    if (kedge_json_member(line, "body", &work->value)) return take_body(work, error);
    if (kedge_json_member(line, "gone", &work->value)) return take_gone(work, error);
    if (kedge_json_member(line, "items", &work->value)) return take_items(work, error);
    if (kedge_json_member(line, "base", &work->value)) return take_base(work, error);
    if (kedge_json_member(line, "end", &work->value)) return take_end(work, error);
    return import_damaged("a line", error);
}
