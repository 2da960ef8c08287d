/* The version record, written.
 *
 *   attribute        type     holds
 *   format           number   1
 *   lineage          text     32 hexadecimal digits, random
 *   created          number   milliseconds since 1970
 *   project          text     the project record, canonical JSON; absent: never set
 *   project_changed  number   1 when this version changed it
 *   indexed_through  number   all index rows of versions up to this one are durable
 *   retired          text     the client that this version retires; absent: none
 *   forked           text     {"lineage","project","version"}: the fork's origin; absent: none
 *   collections      packed   [[name, number, last, previous, items], …] by name
 *   runs             packed   [[client, group, user, version, first, last, retired], …] of this
 *                             version
 *   recent           packed   the same, of versions indexed_through+1 up to the one before this
 *   mutations        packed   [{client, id, name, timestamp, user, uid?, digest, origin?, outcome,
 *                             code?, message?}, …] in the order in which they were applied
 *   args             packed   [args, …] in the same order
 *   delta            packed   {collection: {id: entry or null}}; entries as in model/version.h
 *   args_parts       text     instead of args: hashes of the blobs that hold its text, joined by
 *                             ','
 *   delta_parts      text     instead of delta, the same
 *
 * "packed" is JSON, as text up to KEDGE_PACK_TEXT_BYTES and as binary gzip above when that is
 * smaller. Packed args of more than KEDGE_ARGS_INLINE_BYTES move to blobs when those of one
 * mutation have as many by themselves. When the record would still exceed KEDGE_VERSION_BYTES_MAX
 * the larger of args and delta moves to blobs, then the other. */
#include "backend/versioned/versions/version_codec.h"

#include "backend/base/packed.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/versions/blob.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/gzip.h"

#include <string.h>

/* ---- texts ---- */

static void write_collections(kedge_buffer *out, const kedge_version *version)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < version->collection_count; i++) {
        const kedge_version_collection *collection = &version->collections[i];
        kedge_json_begin_array(&writer);
        kedge_json_text(&writer, collection->name);
        kedge_json_integer(&writer, collection->number);
        kedge_json_integer(&writer, collection->last);
        kedge_json_integer(&writer, collection->previous);
        kedge_json_integer(&writer, collection->items);
        kedge_json_end_array(&writer);
    }
    kedge_json_end_array(&writer);
}

void kedge_runs_write(kedge_buffer *out, const kedge_run *runs, size_t count)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        kedge_json_begin_array(&writer);
        kedge_json_text(&writer, runs[i].client);
        kedge_json_text(&writer, runs[i].group);
        kedge_json_text(&writer, runs[i].user);
        kedge_json_integer(&writer, runs[i].version);
        kedge_json_integer(&writer, runs[i].first);
        kedge_json_integer(&writer, runs[i].last);
        kedge_json_integer(&writer, runs[i].retired ? 1 : 0);
        kedge_json_end_array(&writer);
    }
    kedge_json_end_array(&writer);
}

static void write_text_member(kedge_json_writer *writer, const char *name, kedge_bytes text)
{
    kedge_json_key(writer, name);
    kedge_json_text(writer, text);
}

static void write_outcome(kedge_json_writer *writer, const kedge_version_mutation *mutation)
{
    static const char *const names[] = {[KEDGE_MUTATION_APPLIED] = "applied",
                                        [KEDGE_MUTATION_REJECTED] = "rejected",
                                        [KEDGE_MUTATION_DUPLICATE] = "duplicate"};
    write_text_member(writer, "outcome", kedge_bytes_of(names[mutation->outcome]));
    if (!kedge_mutation_has_reason(mutation)) return;
    write_text_member(writer, "code", mutation->code);
    write_text_member(writer, "message", mutation->message);
}

static void write_mutation(kedge_json_writer *writer, const kedge_version_mutation *mutation)
{
    char digest[KEDGE_DIGEST_HEX];
    kedge_hex_encode(mutation->digest, KEDGE_DIGEST_SIZE, digest);
    kedge_json_begin_object(writer);
    write_text_member(writer, "client", mutation->client);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, mutation->id);
    write_text_member(writer, "name", mutation->name);
    kedge_json_key(writer, "timestamp");
    kedge_json_integer(writer, mutation->timestamp_ms);
    write_text_member(writer, "user", mutation->user);
    if (mutation->uid.size > 0) write_text_member(writer, "uid", mutation->uid);
    write_text_member(writer, "digest", kedge_bytes_of(digest));
    if (mutation->origin_client.size > 0) {
        kedge_json_key(writer, "origin");
        kedge_json_begin_object(writer);
        write_text_member(writer, "client", mutation->origin_client);
        kedge_json_key(writer, "id");
        kedge_json_integer(writer, mutation->origin_id);
        kedge_json_end_object(writer);
    }
    write_outcome(writer, mutation);
    kedge_json_end_object(writer);
}

static void write_mutations(kedge_buffer *out, const kedge_version *version)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < version->mutation_count; i++) {
        write_mutation(&writer, &version->mutations[i]);
    }
    kedge_json_end_array(&writer);
}

static void write_args(kedge_buffer *out, const kedge_version *version)
{
    KEDGE_ASSERT(!version->without_args);
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < version->mutation_count; i++) {
        kedge_json_raw(&writer, version->mutations[i].args);
    }
    kedge_json_end_array(&writer);
}

static void write_delta(kedge_buffer *out, const kedge_version *version)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    for (size_t i = 0; i < version->change_count; i++) {
        const kedge_version_change *change = &version->changes[i];
        bool opens = i == 0 || !kedge_bytes_equal(change->collection, change[-1].collection);
        if (opens && i > 0) kedge_json_end_object(&writer);
        if (opens) {
            kedge_json_key_bytes(&writer, change->collection);
            kedge_json_begin_object(&writer);
        }
        kedge_entry_write(&writer, &change->entry, change->deleted);
    }
    if (version->change_count > 0) kedge_json_end_object(&writer);
    kedge_json_end_object(&writer);
}

/* ---- attributes ---- */

static kedge_attribute *add(kedge_version_record *record, kedge_attribute attribute)
{
    KEDGE_ASSERT(record->attribute_count < KEDGE_VERSION_ATTRIBUTES_MAX);
    record->attributes[record->attribute_count] = attribute;
    record->bytes += strlen(attribute.name) +
                     (attribute.type == KEDGE_ATTRIBUTE_NUMBER ? 21 : attribute.bytes.size);
    return &record->attributes[record->attribute_count++];
}

static void add_number(kedge_version_record *record, const char *name, int64_t number)
{
    add(record, (kedge_attribute){name, KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, number});
}

/* Texts of the version itself, which outlives the record. */
static void add_text(kedge_version_record *record, const char *name, kedge_bytes text)
{
    if (text.size > 0) add(record, (kedge_attribute){name, KEDGE_ATTRIBUTE_TEXT, text, 0});
}

static kedge_status add_packed(kedge_version_record *record, const char *name,
                               const kedge_buffer *plain, kedge_error *error)
{
    kedge_status status = kedge_buffer_status(plain, error);
    if (status != KEDGE_OK) return status;
    kedge_attribute attribute;
    status = kedge_pack(name, kedge_buffer_bytes(plain), &record->arena, &attribute, error);
    if (status == KEDGE_OK) add(record, attribute);
    return status;
}

/* ---- moving a text to blobs ---- */

/* `compressed`: the same bytes as gzip, when they were compressed before; else empty. */
static kedge_status add_part(kedge_version_record *record, kedge_bytes plain,
                             kedge_bytes compressed, kedge_error *error)
{
    kedge_buffer made = kedge_buffer_make(record->arena.allocator);
    kedge_version_part part = {.compressed = compressed};
    kedge_status status = KEDGE_OK;
    if (compressed.size == 0) {
        status = kedge_gzip(plain, &made, error);
        if (status == KEDGE_OK &&
            !kedge_arena_copy(&record->arena, kedge_buffer_bytes(&made), &part.compressed)) {
            status = kedge_fail_no_memory(error);
        }
    }
    kedge_buffer_free(&made);
    if (status != KEDGE_OK) return status;
    kedge_sha256(plain, part.hash);

    kedge_version_part *parts =
        kedge_arena_take_array(&record->arena, record->part_count + 1, sizeof *parts);
    if (parts == NULL) return kedge_fail_no_memory(error);
    if (record->part_count > 0) memcpy(parts, record->parts, record->part_count * sizeof *parts);
    parts[record->part_count] = part;
    record->parts = parts;
    record->part_count++;
    return KEDGE_OK;
}

/* Replaces an attribute by the names of the parts into which its text is split. */
static kedge_status move(kedge_version_record *record, size_t index, const char *name,
                         const kedge_buffer *plain, kedge_error *error)
{
    KEDGE_ASSERT(index < record->attribute_count);
    kedge_buffer names = kedge_buffer_make(record->arena.allocator);
    kedge_bytes rest = kedge_buffer_bytes(plain);
    kedge_bytes compressed = {NULL, 0}; /* of a text that is one part: it is the attribute */
    if (record->attributes[index].type == KEDGE_ATTRIBUTE_BINARY &&
        rest.size <= KEDGE_VERSION_PART_BYTES) {
        compressed = record->attributes[index].bytes;
    }
    kedge_status status = KEDGE_OK;
    while (rest.size > 0 && status == KEDGE_OK) {
        kedge_bytes part = rest;
        if (part.size > KEDGE_VERSION_PART_BYTES) part.size = KEDGE_VERSION_PART_BYTES;
        status = add_part(record, part, compressed, error);
        if (status != KEDGE_OK) break;
        char hex[KEDGE_SHA256_HEX];
        kedge_hex_encode(record->parts[record->part_count - 1].hash, KEDGE_SHA256_SIZE, hex);
        if (names.size > 0) kedge_buffer_append_byte(&names, ',');
        kedge_buffer_append_text(&names, hex);
        rest.data += part.size;
        rest.size -= part.size;
    }
    if (status == KEDGE_OK) status = kedge_buffer_status(&names, error);
    kedge_attribute *attribute = &record->attributes[index];
    size_t old_bytes = attribute->bytes.size;
    if (status == KEDGE_OK &&
        !kedge_arena_copy(&record->arena, kedge_buffer_bytes(&names), &attribute->bytes)) {
        status = kedge_fail_no_memory(error);
    }
    kedge_buffer_free(&names);
    if (status != KEDGE_OK) return status;
    attribute->name = name;
    attribute->type = KEDGE_ATTRIBUTE_TEXT;
    record->bytes += attribute->bytes.size + strlen("_parts");
    record->bytes -= old_bytes;
    return KEDGE_OK;
}

/* ---- the record ---- */

static kedge_status add_lists(kedge_version_record *record, const kedge_version *version,
                              kedge_buffer *text, kedge_error *error)
{
    write_collections(text, version);
    kedge_status status = add_packed(record, "collections", text, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(text);
    kedge_runs_write(text, version->runs, version->run_count);
    status = add_packed(record, "runs", text, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(text);
    size_t own = version->indexed_through < version->number ? version->run_count : 0;
    KEDGE_ASSERT(version->recent_count >= own);
    kedge_runs_write(text, version->recent, version->recent_count - own);
    status = add_packed(record, "recent", text, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(text);
    write_mutations(text, version);
    return add_packed(record, "mutations", text, error);
}

static bool has_large_args(const kedge_version *version)
{
    for (size_t i = 0; i < version->mutation_count; i++) {
        if (version->mutations[i].args.size > KEDGE_ARGS_INLINE_BYTES) return true;
    }
    return false;
}

/* Large args stand in a blob: each KB of a record is paid for as it is written, and again by each
 * reader. Many small ones do not, since a blob is one more request in front of the commit. */
static kedge_status add_args_and_delta(kedge_version_record *record, const kedge_version *version,
                                       kedge_buffer *args, kedge_buffer *delta, kedge_error *error)
{
    write_args(args, version);
    write_delta(delta, version);
    kedge_status status = add_packed(record, "args", args, error);
    if (status == KEDGE_OK) status = add_packed(record, "delta", delta, error);
    if (status != KEDGE_OK) return status;

    size_t at_args = record->attribute_count - 2;
    size_t at_delta = record->attribute_count - 1;
    size_t args_bytes = record->attributes[at_args].bytes.size;
    bool args_larger = args_bytes > record->attributes[at_delta].bytes.size;
    bool args_moved = args_bytes > KEDGE_ARGS_INLINE_BYTES && has_large_args(version);
    if (args_moved) status = move(record, at_args, "args_parts", args, error);
    if (status != KEDGE_OK) return status;
    for (int moved = 0; moved < 2 && record->bytes > KEDGE_VERSION_BYTES_MAX; moved++) {
        bool take_args = args_larger == (moved == 0);
        if (take_args && args_moved) continue;
        status = take_args ? move(record, at_args, "args_parts", args, error)
                           : move(record, at_delta, "delta_parts", delta, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

kedge_status kedge_version_encode(const kedge_allocator *allocator, const kedge_version *version,
                                  kedge_version_record *record, kedge_error *error)
{
    memset(record, 0, sizeof *record);
    record->arena = kedge_arena_make(allocator);
    add_number(record, "format", KEDGE_VERSION_FORMAT);
    add_text(record, "lineage", kedge_bytes_of(version->lineage));
    add_number(record, "created", version->created_ms);
    add_text(record, "project", version->project_record);
    add_number(record, "project_changed", version->project_changed ? 1 : 0);
    add_number(record, "indexed_through", version->indexed_through);
    add_text(record, "retired", version->retired);
    add_text(record, "forked", version->forked);

    kedge_buffer text = kedge_buffer_make(allocator);
    kedge_buffer delta = kedge_buffer_make(allocator);
    kedge_status status = add_lists(record, version, &text, error);
    kedge_buffer_clear(&text);
    if (status == KEDGE_OK) status = add_args_and_delta(record, version, &text, &delta, error);
    kedge_buffer_free(&text);
    kedge_buffer_free(&delta);
    return status;
}

/* ---- as JSON ---- */

static void write_list(kedge_json_writer *writer, const char *name, kedge_buffer *text)
{
    kedge_json_key(writer, name);
    kedge_json_raw(writer, kedge_buffer_bytes(text));
    if (text->no_memory) writer->buffer->no_memory = true;
    kedge_buffer_clear(text);
}

static void write_number_member(kedge_json_writer *writer, const char *name, int64_t number)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, number);
}

void kedge_version_write_json(const kedge_version *version, kedge_json_writer *writer)
{
    kedge_buffer text = kedge_buffer_make(writer->buffer->allocator);
    size_t own = version->indexed_through < version->number ? version->run_count : 0;
    kedge_json_begin_object(writer);
    write_number_member(writer, "format", KEDGE_VERSION_FORMAT);
    write_text_member(writer, "lineage", kedge_bytes_of(version->lineage));
    write_number_member(writer, "created", version->created_ms);
    if (version->project_record.size > 0) {
        kedge_json_key(writer, "project");
        kedge_json_raw(writer, version->project_record);
    }
    write_number_member(writer, "project_changed", version->project_changed ? 1 : 0);
    write_number_member(writer, "indexed_through", version->indexed_through);
    if (version->retired.size > 0) write_text_member(writer, "retired", version->retired);
    if (version->forked.size > 0) {
        kedge_json_key(writer, "forked");
        kedge_json_raw(writer, version->forked);
    }
    write_collections(&text, version);
    write_list(writer, "collections", &text);
    kedge_runs_write(&text, version->runs, version->run_count);
    write_list(writer, "runs", &text);
    kedge_runs_write(&text, version->recent, version->recent_count - own);
    write_list(writer, "recent", &text);
    write_mutations(&text, version);
    write_list(writer, "mutations", &text);
    write_args(&text, version);
    write_list(writer, "args", &text);
    write_delta(&text, version);
    write_list(writer, "delta", &text);
    kedge_json_end_object(writer);
    kedge_buffer_free(&text);
}

kedge_status kedge_version_put_parts(const kedge_project *project,
                                     const kedge_version_record *record, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < record->part_count && status == KEDGE_OK; i++) {
        kedge_key key = kedge_key_version_part(&project->ref, record->parts[i].hash);
        status = kedge_blob_put(project, &key, record->parts[i].compressed, error);
    }
    return status;
}
