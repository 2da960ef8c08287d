/* The version record, read back: every field checked, since the record may come from a damaged
 * store. */
#include "backend/versioned/versions/version_codec.h"

#include "backend/base/backend.h"
#include "backend/base/packed.h"
#include "backend/versioned/model/version.h"
#include "common/error.h"

#include <string.h>

size_t kedge_json_count(kedge_bytes container)
{
    size_t count = 0;
    kedge_bytes key;
    kedge_bytes value;
    kedge_json_iterator values = kedge_json_iterate(container);
    if (kedge_json_type_of(container) == KEDGE_JSON_OBJECT) {
        while (kedge_json_next_member(&values, &key, &value))
            count++;
    } else {
        while (kedge_json_next_element(&values, &value))
            count++;
    }
    return values.failed ? 0 : count;
}

/* ---- reading fields in order ---- */

/* Reads the elements of an array one by one; after the first wrong element all reads fail. */
typedef struct fields {
    kedge_json_iterator elements;
    kedge_arena *arena;
    kedge_status status;
    kedge_error *error;
} fields;

static fields fields_of(kedge_bytes array, kedge_arena *arena, kedge_error *error)
{
    return (fields){kedge_json_iterate(array), arena, KEDGE_OK, error};
}

static kedge_bytes take_text(fields *from)
{
    kedge_bytes value;
    kedge_bytes text = {NULL, 0};
    if (from->status != KEDGE_OK) return text;
    if (!kedge_json_next_element(&from->elements, &value)) {
        from->status = kedge_record_damaged("a list", from->error);
        return text;
    }
    from->status = kedge_text_read(value, from->arena, &text, from->error);
    return text;
}

static int64_t take_integer(fields *from)
{
    kedge_bytes value;
    int64_t number = 0;
    if (from->status == KEDGE_OK && (!kedge_json_next_element(&from->elements, &value) ||
                                     !kedge_json_to_integer(value, &number))) {
        from->status = kedge_record_damaged("a number in a list", from->error);
    }
    return number;
}

kedge_status kedge_runs_read(kedge_bytes text, kedge_arena *arena, kedge_run **runs, size_t *count,
                             kedge_error *error)
{
    size_t total = kedge_json_count(text);
    kedge_run *read = kedge_arena_take_array(arena, total, sizeof *read);
    if (read == NULL) return kedge_fail_no_memory(error);
    kedge_bytes value;
    kedge_json_iterator rows = kedge_json_iterate(text);
    for (size_t i = 0; i < total && kedge_json_next_element(&rows, &value); i++) {
        fields from = fields_of(value, arena, error);
        read[i].client = take_text(&from);
        read[i].group = take_text(&from);
        read[i].user = take_text(&from);
        read[i].version = take_integer(&from);
        read[i].first = take_integer(&from);
        read[i].last = take_integer(&from);
        read[i].retired = take_integer(&from) != 0;
        if (from.status != KEDGE_OK) return from.status;
    }
    *runs = read;
    *count = total;
    return KEDGE_OK;
}

static kedge_status read_collections(kedge_bytes text, kedge_version_object *object,
                                     kedge_error *error)
{
    kedge_version *version = &object->version;
    size_t total = kedge_json_count(text);
    kedge_version_collection *read = kedge_arena_take_array(&object->arena, total, sizeof *read);
    if (read == NULL) return kedge_fail_no_memory(error);
    kedge_bytes value;
    kedge_json_iterator rows = kedge_json_iterate(text);
    for (size_t i = 0; i < total && kedge_json_next_element(&rows, &value); i++) {
        fields from = fields_of(value, &object->arena, error);
        read[i].name = take_text(&from);
        read[i].number = take_integer(&from);
        read[i].last = take_integer(&from);
        read[i].previous = take_integer(&from);
        read[i].items = take_integer(&from);
        if (from.status != KEDGE_OK) return from.status;
    }
    version->collections = read;
    version->collection_count = total;
    return KEDGE_OK;
}

/* ---- mutations ---- */

static bool read_outcome(kedge_bytes value, kedge_mutation_outcome *outcome)
{
    bool applied = kedge_json_text_equals(value, "applied");
    bool rejected = kedge_json_text_equals(value, "rejected");
    if (!applied && !rejected && !kedge_json_text_equals(value, "duplicate")) return false;
    *outcome = applied    ? KEDGE_MUTATION_APPLIED
               : rejected ? KEDGE_MUTATION_REJECTED
                          : KEDGE_MUTATION_DUPLICATE;
    return true;
}

static bool read_digest(kedge_bytes value, uint8_t digest[KEDGE_DIGEST_SIZE])
{
    if (value.size != KEDGE_DIGEST_HEX + 1) return false;
    return kedge_hex_decode((kedge_bytes){value.data + 1, value.size - 2}, digest,
                            KEDGE_DIGEST_SIZE);
}

static kedge_status read_origin(kedge_bytes value, kedge_arena *arena,
                                kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_bytes client;
    if (!kedge_json_member(value, "client", &client) ||
        !kedge_json_member_integer(value, "id", &mutation->origin_id)) {
        return kedge_record_damaged("an origin", error);
    }
    return kedge_text_read(client, arena, &mutation->origin_client, error);
}

static kedge_status read_member(kedge_bytes key, kedge_bytes value, kedge_arena *arena,
                                kedge_version_mutation *mutation, kedge_error *error)
{
    const struct {
        const char *name;
        kedge_bytes *text;
    } texts[] = {{"client", &mutation->client}, {"name", &mutation->name},
                 {"user", &mutation->user},     {"uid", &mutation->uid},
                 {"code", &mutation->code},     {"message", &mutation->message}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!kedge_json_text_equals(key, texts[i].name)) continue;
        return kedge_text_read(value, arena, texts[i].text, error);
    }
    if (kedge_json_text_equals(key, "origin")) return read_origin(value, arena, mutation, error);
    bool fine = true;
    if (kedge_json_text_equals(key, "id")) {
        fine = kedge_json_to_integer(value, &mutation->id);
    } else if (kedge_json_text_equals(key, "timestamp")) {
        fine = kedge_json_to_integer(value, &mutation->timestamp_ms);
    } else if (kedge_json_text_equals(key, "digest")) {
        fine = read_digest(value, mutation->digest);
    } else if (kedge_json_text_equals(key, "outcome")) {
        fine = read_outcome(value, &mutation->outcome);
    }
    return fine ? KEDGE_OK : kedge_record_damaged("a mutation", error);
}

static kedge_status read_mutations(kedge_bytes text, kedge_bytes args, kedge_version_object *object,
                                   kedge_error *error)
{
    size_t total = kedge_json_count(text);
    kedge_version_mutation *read = kedge_arena_take_array(&object->arena, total, sizeof *read);
    if (read == NULL) return kedge_fail_no_memory(error);
    kedge_bytes value;
    kedge_json_iterator rows = kedge_json_iterate(text);
    kedge_json_iterator all_args = kedge_json_iterate(args);
    for (size_t i = 0; i < total && kedge_json_next_element(&rows, &value); i++) {
        kedge_bytes key;
        kedge_bytes content;
        kedge_json_iterator members = kedge_json_iterate(value);
        while (kedge_json_next_member(&members, &key, &content)) {
            kedge_status status = read_member(key, content, &object->arena, &read[i], error);
            if (status != KEDGE_OK) return status;
        }
        bool fine =
            object->version.without_args || kedge_json_next_element(&all_args, &read[i].args);
        if (members.failed || !fine) return kedge_record_damaged("a mutation", error);
    }
    object->version.mutations = read;
    object->version.mutation_count = total;
    return KEDGE_OK;
}

/* ---- the delta ---- */

static size_t count_changes(kedge_bytes text)
{
    size_t count = 0;
    kedge_bytes key;
    kedge_bytes value;
    kedge_json_iterator collections = kedge_json_iterate(text);
    while (kedge_json_next_member(&collections, &key, &value))
        count += kedge_json_count(value);
    return count;
}

static kedge_status read_delta(kedge_bytes text, kedge_version_object *object, kedge_error *error)
{
    size_t total = count_changes(text);
    size_t at = 0;
    kedge_version_change *read = kedge_arena_take_array(&object->arena, total, sizeof *read);
    if (read == NULL) return kedge_fail_no_memory(error);
    kedge_bytes key;
    kedge_bytes entries;
    kedge_json_iterator collections = kedge_json_iterate(text);
    while (kedge_json_next_member(&collections, &key, &entries)) {
        kedge_bytes name;
        kedge_status status = kedge_text_read(key, &object->arena, &name, error);
        if (status != KEDGE_OK) return status;
        kedge_bytes id;
        kedge_bytes entry;
        kedge_json_iterator items = kedge_json_iterate(entries);
        while (at < total && kedge_json_next_member(&items, &id, &entry)) {
            read[at].collection = name;
            status = kedge_entry_read(id, entry, &object->arena, &read[at].entry, &read[at].deleted,
                                      error);
            if (status != KEDGE_OK) return status;
            at++;
        }
    }
    if (at != total) return kedge_record_damaged("the delta", error);
    object->version.changes = read;
    object->version.change_count = total;
    return KEDGE_OK;
}

/* ---- the record ---- */

static kedge_status read_packed(const kedge_record *record, const char *name, kedge_arena *arena,
                                kedge_bytes *text, kedge_error *error)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    if (attribute == NULL) return kedge_record_damaged(name, error);
    return kedge_unpack(attribute, arena, text, error);
}

static kedge_status fetch_part(const kedge_project *project, kedge_bytes hex, kedge_buffer *out,
                               kedge_error *error)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    if (!kedge_hex_decode(hex, hash, sizeof hash)) return kedge_record_damaged("a part", error);
    kedge_key key = kedge_key_version_part(&project->ref, hash);
    const kedge_blobs *blobs = project->blobs;
    kedge_arena arena = kedge_arena_make(project->allocator);
    kedge_buffer stored = kedge_buffer_make(project->allocator);
    kedge_bytes plain;
    kedge_status status = blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &stored, error);
    if (status == KEDGE_NOT_FOUND) {
        status = kedge_fail(error, KEDGE_CORRUPT, "version-part-missing",
                            "the blob %s, a part of a version, is gone", key.text);
    }
    if (status == KEDGE_OK) {
        status = kedge_unpack_gzip(kedge_buffer_bytes(&stored), &arena, &plain, error);
    }
    if (status == KEDGE_OK) {
        uint8_t found[KEDGE_SHA256_SIZE];
        kedge_sha256(plain, found);
        if (memcmp(found, hash, sizeof found) == 0) {
            kedge_buffer_append_bytes(out, plain);
        } else {
            status =
                kedge_fail(error, KEDGE_CORRUPT, "version-part-damaged",
                           "the blob %s, a part of a version, is not what its name says", key.text);
        }
    }
    kedge_buffer_free(&stored);
    kedge_arena_free(&arena);
    return status;
}

/* An attribute that may have been moved to blobs: its own text, or that of its parts together. */
static kedge_status read_movable(const kedge_project *project, const kedge_record *record,
                                 const char *name, const char *parts_name, kedge_arena *arena,
                                 kedge_bytes *text, kedge_error *error)
{
    const kedge_attribute *parts = kedge_record_attribute(record, parts_name);
    if (parts == NULL) return read_packed(record, name, arena, text, error);
    kedge_buffer whole = kedge_buffer_make(project->allocator);
    kedge_status status = KEDGE_OK;
    size_t step = KEDGE_SHA256_HEX;
    size_t size = parts->bytes.size;
    if ((size + 1) % step != 0 || (size + 1) / step > KEDGE_VERSION_PARTS_MAX) {
        status = kedge_record_damaged(parts_name, error);
    }
    for (size_t at = 0; at < size && status == KEDGE_OK; at += step) {
        kedge_bytes hex = {parts->bytes.data + at, step - 1};
        status = fetch_part(project, hex, &whole, error);
    }
    if (status == KEDGE_OK) status = kedge_buffer_status(&whole, error);
    if (status == KEDGE_OK && !kedge_arena_copy(arena, kedge_buffer_bytes(&whole), text)) {
        status = kedge_fail_no_memory(error);
    }
    kedge_buffer_free(&whole);
    return status;
}

bool kedge_version_part_at(const kedge_record *record, size_t index,
                           uint8_t hash[KEDGE_SHA256_SIZE])
{
    static const char *const names[] = {"args_parts", "delta_parts"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const kedge_attribute *parts = kedge_record_attribute(record, names[i]);
        size_t count = parts == NULL ? 0 : (parts->bytes.size + 1) / KEDGE_SHA256_HEX;
        if (index < count) {
            kedge_bytes hex = {parts->bytes.data + index * KEDGE_SHA256_HEX, KEDGE_SHA256_HEX - 1};
            return kedge_hex_decode(hex, hash, KEDGE_SHA256_SIZE);
        }
        index -= count;
    }
    return false;
}

/* recent = what the record calls so, and this version's own runs unless they
 * are indexed already. */
static kedge_status read_runs(const kedge_record *record, kedge_version_object *object,
                              kedge_error *error)
{
    kedge_version *version = &object->version;
    kedge_bytes text;
    kedge_run *earlier;
    size_t earlier_count;
    kedge_status status = read_packed(record, "runs", &object->arena, &text, error);
    if (status != KEDGE_OK) return status;
    status = kedge_runs_read(text, &object->arena, &version->runs, &version->run_count, error);
    if (status != KEDGE_OK) return status;
    status = read_packed(record, "recent", &object->arena, &text, error);
    if (status != KEDGE_OK) return status;
    status = kedge_runs_read(text, &object->arena, &earlier, &earlier_count, error);
    if (status != KEDGE_OK) return status;

    size_t own = version->indexed_through < version->number ? version->run_count : 0;
    kedge_run *all = kedge_arena_take_array(&object->arena, earlier_count + own, sizeof *all);
    if (all == NULL) return kedge_fail_no_memory(error);
    if (earlier_count > 0) memcpy(all, earlier, earlier_count * sizeof *all);
    if (own > 0) memcpy(all + earlier_count, version->runs, own * sizeof *all);
    version->recent = all;
    version->recent_count = earlier_count + own;
    return KEDGE_OK;
}

static int64_t number_of(const kedge_record *record, const char *name)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    return attribute == NULL || attribute->type != KEDGE_ATTRIBUTE_NUMBER ? -1 : attribute->number;
}

bool kedge_version_is_import(const kedge_record *record)
{
    return kedge_record_attribute(record, "importing") != NULL;
}

static kedge_status read_scalars(const kedge_record *record, kedge_version_object *object,
                                 kedge_error *error)
{
    kedge_version *version = &object->version;
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    const kedge_attribute *project = kedge_record_attribute(record, "project");
    const kedge_attribute *retired = kedge_record_attribute(record, "retired");
    const kedge_attribute *forked = kedge_record_attribute(record, "forked");
    if (kedge_version_is_import(record)) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "project-not-found",
                          "the project is being imported");
    }
    if (number_of(record, "format") > KEDGE_VERSION_FORMAT) {
        return kedge_fail(error, KEDGE_NEWER_DATABASE, "version-format-newer",
                          "a version record was written by a newer Kedge than this one");
    }
    if (!kedge_key_read_version(record->key.sort, &version->number) || lineage == NULL ||
        lineage->bytes.size != KEDGE_LINEAGE_HEX - 1 ||
        number_of(record, "format") != KEDGE_VERSION_FORMAT) {
        return kedge_record_damaged("a version record", error);
    }
    memcpy(version->lineage, lineage->bytes.data, lineage->bytes.size);
    version->created_ms = number_of(record, "created");
    version->project_changed = number_of(record, "project_changed") == 1;
    version->indexed_through = number_of(record, "indexed_through");
    if ((project != NULL &&
         !kedge_arena_copy(&object->arena, project->bytes, &version->project_record)) ||
        (retired != NULL && !kedge_arena_copy(&object->arena, retired->bytes, &version->retired)) ||
        (forked != NULL && !kedge_arena_copy(&object->arena, forked->bytes, &version->forked))) {
        return kedge_fail_no_memory(error);
    }
    return KEDGE_OK;
}

static kedge_status read_outcomes(const kedge_project *project, const kedge_record *record,
                                  kedge_version_object *object, bool with_args, kedge_error *error)
{
    kedge_bytes text;
    kedge_bytes args = {NULL, 0};
    kedge_status status = KEDGE_OK;
    object->version.without_args = !with_args;
    if (with_args) {
        status = read_movable(project, record, "args", "args_parts", &object->arena, &args, error);
    }
    if (status == KEDGE_OK) {
        status = read_packed(record, "mutations", &object->arena, &text, error);
    }
    return status == KEDGE_OK ? read_mutations(text, args, object, error) : status;
}

static kedge_status read_state(const kedge_project *project, const kedge_record *record,
                               kedge_version_object *object, kedge_error *error)
{
    kedge_bytes text;
    kedge_status status = read_packed(record, "collections", &object->arena, &text, error);
    if (status == KEDGE_OK) status = read_collections(text, object, error);
    if (status == KEDGE_OK) {
        status =
            read_movable(project, record, "delta", "delta_parts", &object->arena, &text, error);
    }
    return status == KEDGE_OK ? read_delta(text, object, error) : status;
}

kedge_status kedge_version_decode(const kedge_project *project, const kedge_record *record,
                                  kedge_version_detail detail, kedge_version_object **object,
                                  kedge_error *error)
{
    kedge_version_object *read = kedge_version_object_new(project->allocator);
    if (read == NULL) return kedge_fail_no_memory(error);
    kedge_status status = read_scalars(record, read, error);
    if (status == KEDGE_OK) status = read_runs(record, read, error);
    if (status == KEDGE_OK && detail >= KEDGE_VERSION_OUTCOMES) {
        status = read_outcomes(project, record, read, detail == KEDGE_VERSION_WHOLE, error);
    }
    if (status == KEDGE_OK && detail >= KEDGE_VERSION_STATE) {
        status = read_state(project, record, read, error);
    }
    if (status != KEDGE_OK) {
        kedge_version_release(&read->version);
        return status;
    }
    *object = read;
    return KEDGE_OK;
}

/* ---- from JSON ---- */

/* What becomes of a member: a number, the text of a string, or the JSON itself as text. */
typedef struct json_member {
    const char *name;
    enum { MEMBER_NUMBER, MEMBER_STRING, MEMBER_JSON } kind;
} json_member;

static const json_member json_members[] = {{"format", MEMBER_NUMBER},
                                           {"lineage", MEMBER_STRING},
                                           {"created", MEMBER_NUMBER},
                                           {"project", MEMBER_JSON},
                                           {"project_changed", MEMBER_NUMBER},
                                           {"indexed_through", MEMBER_NUMBER},
                                           {"retired", MEMBER_STRING},
                                           {"forked", MEMBER_JSON},
                                           {"collections", MEMBER_JSON},
                                           {"runs", MEMBER_JSON},
                                           {"recent", MEMBER_JSON},
                                           {"mutations", MEMBER_JSON},
                                           {"args", MEMBER_JSON},
                                           {"delta", MEMBER_JSON}};

static kedge_status member_attribute(const json_member *member, kedge_bytes value,
                                     kedge_arena *arena, kedge_attribute *attribute,
                                     kedge_error *error)
{
    *attribute = (kedge_attribute){member->name, KEDGE_ATTRIBUTE_TEXT, value, 0};
    if (member->kind == MEMBER_NUMBER) {
        attribute->type = KEDGE_ATTRIBUTE_NUMBER;
        attribute->bytes = (kedge_bytes){NULL, 0};
        return kedge_json_to_integer(value, &attribute->number)
                   ? KEDGE_OK
                   : kedge_record_damaged(member->name, error);
    }
    if (member->kind == MEMBER_JSON) return KEDGE_OK;
    return kedge_text_read(value, arena, &attribute->bytes, error);
}

kedge_status kedge_version_read_json(const kedge_project *project, int64_t number, kedge_bytes json,
                                     kedge_version_object **object, kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(project->allocator);
    kedge_attribute attributes[sizeof json_members / sizeof json_members[0]];
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_version(number);
    kedge_record record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)},
                           .attributes = attributes};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < sizeof json_members / sizeof json_members[0] && status == KEDGE_OK;
         i++) {
        kedge_bytes value;
        if (!kedge_json_member(json, json_members[i].name, &value)) continue;
        status = member_attribute(&json_members[i], value, &arena,
                                  &attributes[record.attribute_count++], error);
    }
    if (status == KEDGE_OK)
        status = kedge_version_decode(project, &record, KEDGE_VERSION_WHOLE, object, error);
    kedge_arena_free(&arena);
    return status;
}
