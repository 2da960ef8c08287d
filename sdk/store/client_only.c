/* Client-only mutations as rows of the outbox: see client_only.h. */
#include "sdk/store/client_only.h"

#include "common/error.h"
#include "common/json.h"

bool kedge_client_only_row(const kedge_registry *registry, kedge_bytes name, kedge_bytes args,
                           kedge_apply_made *made)
{
    bool valid;
    return kedge_bytes_equal_text(name, KEDGE_APPLY_MUTATOR) &&
           kedge_apply_read_made(args, made, &valid) &&
           kedge_registry_is_client_only(registry, kedge_bytes_of(made->name), made->args);
}

int64_t kedge_client_only_sequence(kedge_bytes name, kedge_bytes args, int64_t sequence)
{
    bool valid;
    kedge_apply_made made;
    if (!kedge_bytes_equal_text(name, KEDGE_APPLY_MUTATOR) ||
        !kedge_apply_read_made(args, &made, &valid) || made.sequence == 0)
        return sequence;
    return made.sequence;
}

bool kedge_client_only_again(const kedge_registry *registry, kedge_bytes name, kedge_bytes args)
{
    kedge_apply_made made;
    return kedge_client_only_row(registry, name, args, &made) &&
           made.attempt < KEDGE_LIMIT_APPLY_ATTEMPTS;
}

/* ---- the args; their members are in the order of canonical JSON ---- */

static void write_made(kedge_json_writer *writer, const kedge_apply_made *made)
{
    kedge_json_key(writer, "made");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "args");
    kedge_json_raw(writer, made->args);
    if (made->attempt > 1) {
        kedge_json_key(writer, "attempt");
        kedge_json_integer(writer, made->attempt);
    }
    kedge_json_key(writer, "name");
    kedge_json_chars(writer, made->name);
    if (made->sequence > 0) {
        kedge_json_key(writer, "sequence");
        kedge_json_integer(writer, made->sequence);
    }
    kedge_json_end_object(writer);
}

static void write_text(kedge_json_writer *writer, const char *key, kedge_bytes text)
{
    kedge_json_key(writer, key);
    kedge_json_text(writer, text);
}

static void write_op(kedge_json_writer *writer, const kedge_overlay_entry *entry)
{
    bool project = entry->collection.size == 0;
    kedge_json_begin_object(writer);
    if (!project) write_text(writer, "collection", entry->collection);
    if (!project) write_text(writer, "id", entry->id);
    kedge_json_key(writer, "op");
    kedge_json_chars(writer, project ? "put-project" : entry->deleted ? "delete" : "put");
    if (!entry->deleted) {
        kedge_json_key(writer, "value");
        kedge_json_raw(writer, entry->value);
    }
    kedge_json_end_object(writer);
}

static void write_ops(kedge_json_writer *writer, const kedge_overlay *written)
{
    kedge_overlay_entry entry, at;
    kedge_json_key(writer, "ops");
    kedge_json_begin_array(writer);
    for (bool more = kedge_overlay_next(written, NULL, &entry); more;
         more = kedge_overlay_next(written, &at, &entry)) {
        at = entry;
        write_op(writer, &entry);
    }
    kedge_json_end_array(writer);
}

static kedge_status write_value(kedge_json_writer *writer, const kedge_recording *read,
                                const kedge_overlay_entry *key, kedge_error *error)
{
    char hex[KEDGE_DIGEST_HEX];
    kedge_buffer value = kedge_buffer_make(read->allocator);
    kedge_status status =
        read->below.get(read->below.context, key->collection, key->id, &value, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&value, error);
    if (status == KEDGE_OK) kedge_apply_hash(kedge_buffer_bytes(&value), hex);
    bool project = key->collection.size == 0;
    kedge_json_begin_object(writer);
    if (!project) write_text(writer, "collection", key->collection);
    kedge_json_key(writer, "hash");
    if (status == KEDGE_OK)
        kedge_json_chars(writer, hex);
    else
        kedge_json_null(writer);
    if (!project) write_text(writer, "id", key->id);
    if (project) kedge_json_key(writer, "project");
    if (project) kedge_json_boolean(writer, true);
    kedge_json_end_object(writer);
    kedge_buffer_free(&value);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

/* The hash of what is in the range; it ends where the mutator has stopped to read. */
static kedge_status hash_range(const kedge_recording *read, const kedge_range *range,
                               char hex[KEDGE_DIGEST_HEX], kedge_error *error)
{
    kedge_sha256_stream piece;
    bool from_start = range->from_start;
    kedge_buffer after = kedge_buffer_make(read->allocator);
    kedge_buffer id = kedge_buffer_make(read->allocator);
    kedge_buffer value = kedge_buffer_make(read->allocator);
    kedge_status status = KEDGE_OK;
    kedge_apply_hash_begin(&piece);
    kedge_buffer_append_bytes(&after, range->after);
    while (status == KEDGE_OK) {
        kedge_buffer_clear(&id);
        kedge_buffer_clear(&value);
        status = kedge_buffer_status(&after, error);
        if (status != KEDGE_OK) break;
        status = read->below.next(read->below.context, range->collection, from_start,
                                  kedge_buffer_bytes(&after), &id, &value, error);
        if (status == KEDGE_OK) status = kedge_buffer_status(&id, error);
        if (status == KEDGE_OK) status = kedge_buffer_status(&value, error);
        if (status != KEDGE_OK) break;
        kedge_bytes found = kedge_buffer_bytes(&id);
        if (!range->to_end && kedge_bytes_compare(found, range->through) > 0) break;
        kedge_apply_hash_add(&piece, found, kedge_buffer_bytes(&value));
        kedge_buffer_clear(&after);
        kedge_buffer_append_bytes(&after, found);
        from_start = false;
    }
    kedge_apply_hash_end(&piece, hex);
    kedge_buffer_free(&value);
    kedge_buffer_free(&id);
    kedge_buffer_free(&after);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status write_range(kedge_json_writer *writer, const kedge_recording *read,
                                const kedge_range *range, kedge_error *error)
{
    char hex[KEDGE_DIGEST_HEX];
    kedge_status status = hash_range(read, range, hex, error);
    if (status != KEDGE_OK) return status;
    kedge_json_begin_object(writer);
    if (!range->from_start) write_text(writer, "after", range->after);
    write_text(writer, "collection", range->collection);
    kedge_json_key(writer, "hash");
    kedge_json_chars(writer, hex);
    if (!range->to_end) write_text(writer, "through", range->through);
    kedge_json_end_object(writer);
    return KEDGE_OK;
}

static kedge_status write_reads(kedge_json_writer *writer, const kedge_recording *read,
                                kedge_error *error)
{
    kedge_overlay_entry entry, at;
    kedge_status status = KEDGE_OK;
    kedge_json_key(writer, "reads");
    kedge_json_begin_array(writer);
    for (bool more = kedge_overlay_next(read->keys, NULL, &entry); more && status == KEDGE_OK;
         more = kedge_overlay_next(read->keys, &at, &entry)) {
        at = entry;
        status = write_value(writer, read, &entry, error);
    }
    for (size_t i = 0; i < read->range_count && status == KEDGE_OK; i++)
        status = write_range(writer, read, &read->ranges[i], error);
    kedge_json_end_array(writer);
    return status;
}

/* Values keep their depth in their items, and get deeper in the args. */
static kedge_status check_args(const kedge_buffer *args, const kedge_allocator *allocator,
                               const char *name, kedge_error *error)
{
    if (args->size > KEDGE_LIMIT_ARGS_BYTES)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "args-too-large",
                          "what the client-only mutation %s has read and written is %zu bytes to "
                          "send; at most %d are allowed",
                          name, args->size, KEDGE_LIMIT_ARGS_BYTES);
    kedge_status status = kedge_json_check((kedge_bytes){args->data, args->size},
                                           KEDGE_LIMIT_JSON_DEPTH, allocator, error);
    if (status == KEDGE_OK || status == KEDGE_NO_MEMORY) return status;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "json-too-deep",
                      "the client-only mutation %s has args, or writes an item, nested deeper than "
                      "%d",
                      name, KEDGE_LIMIT_JSON_DEPTH - 3);
}

kedge_status kedge_client_only_args(const kedge_recording *read, const kedge_overlay *written,
                                    const kedge_apply_made *made, kedge_buffer *out,
                                    kedge_error *error)
{
    if (read->no_memory) return kedge_fail_no_memory(error);
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    write_made(&writer, made);
    write_ops(&writer, written);
    kedge_status status = write_reads(&writer, read, error);
    kedge_json_end_object(&writer);
    if (status == KEDGE_OK) status = kedge_buffer_status(out, error);
    return status == KEDGE_OK ? check_args(out, read->allocator, made->name, error) : status;
}
