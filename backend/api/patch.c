/* The patch of a pull: its operations, and those that are left to the next parts of the response.
 *
 * Only patches of Replicache clients are left to parts. Those of libkedge are small: a larger one
 * is a snapshot in pages. */
#include "backend/api/patch.h"
#include "backend/api/rest.h"
#include "backend/api/wire.h"
#include "common/assert.h"
#include "common/error.h"
#include "wire/patch.h"
#include "wire/pull.h"

#include <string.h>

/* ---- operations ---- */

/* An item whose body is lost is left out: what the client has of it stays. */
static kedge_status write_put(kedge_api_patch *patch, kedge_bytes collection,
                              const kedge_entry *entry)
{
    kedge_json_writer *writer = &patch->writer;
    size_t start = writer->buffer->size;
    bool comma = writer->comma;
    kedge_wire_operation_begin(writer, KEDGE_WIRE_PATCH_PUT, collection, entry->id,
                               &patch->scratch);
    kedge_status status =
        kedge_api_write_value(writer, patch->state, collection, entry, patch->native, patch->error);
    kedge_json_end_object(writer);
    if (status != KEDGE_CORRUPT) return status;
    kedge_buffer_truncate(writer->buffer, start);
    writer->comma = comma;
    kedge_api_damage_item(&patch->damage, collection, entry->id, patch->error);
    return KEDGE_OK;
}

kedge_status kedge_api_patch_items(kedge_api_patch *patch, kedge_api_cursor *cursor, size_t limit)
{
    while (patch->writer.buffer->size <= limit) {
        kedge_entry entry;
        kedge_status status =
            kedge_api_cursor_next(cursor, &patch->collection, &entry, patch->error);
        if (status != KEDGE_OK) return status;
        patch->id = entry.id;
        status = write_put(patch, patch->collection, &entry);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

/* Operation `at`: the project record stands in front of the changes of items. */
static kedge_status write_change(kedge_api_patch *patch, const kedge_changes *changes, size_t at)
{
    if (at == 0) {
        kedge_bytes record = kedge_state_version(patch->state)->project_record;
        kedge_entry entry = {.size = (int64_t)record.size, .body = record};
        if (!changes->project_changed) return KEDGE_OK;
        return write_put(patch, (kedge_bytes){NULL, 0}, &entry);
    }
    const kedge_version_change *change = &changes->changes[at - 1];
    if (!change->deleted) return write_put(patch, change->collection, &change->entry);
    kedge_wire_operation_begin(&patch->writer, KEDGE_WIRE_PATCH_DELETE, change->collection,
                               change->entry.id, &patch->scratch);
    kedge_json_end_object(&patch->writer);
    return KEDGE_OK;
}

kedge_status kedge_api_patch_changes(kedge_api_patch *patch, const kedge_changes *changes,
                                     size_t *at, size_t limit)
{
    while (patch->writer.buffer->size <= limit) {
        if (*at > changes->count) return KEDGE_DONE;
        kedge_status status = write_change(patch, changes, *at);
        if (status != KEDGE_OK) return status;
        (*at)++;
    }
    return KEDGE_OK;
}

/* ---- how large a response would be ---- */

typedef struct patch_measure {
    kedge_buffer text;
    kedge_buffer scratch;
    size_t left; /* of what a response may have */
} patch_measure;

static bool takes(patch_measure *measure, kedge_bytes collection, const kedge_entry *entry)
{
    kedge_json_writer writer = kedge_json_write(&measure->text);
    kedge_buffer_clear(&measure->text);
    kedge_wire_operation_begin(&writer, KEDGE_WIRE_PATCH_PUT, collection, entry->id,
                               &measure->scratch);
    kedge_wire_value_write(&writer, (kedge_bytes){NULL, 0});
    kedge_json_end_object(&writer);
    size_t size = measure->text.size + 1 + (size_t)entry->size;
    if (size > measure->left) return false;
    measure->left -= size;
    return true;
}

static kedge_status measure_items(patch_measure *measure, const kedge_api_cursor *from,
                                  kedge_error *error)
{
    kedge_bytes collection;
    kedge_entry entry;
    kedge_api_damage ignored = kedge_api_damage_make(measure->text.allocator);
    kedge_api_cursor cursor = *from;
    cursor.damage = &ignored;
    kedge_status status = kedge_api_cursor_next(&cursor, &collection, &entry, error);
    while (status == KEDGE_OK && takes(measure, collection, &entry))
        status = kedge_api_cursor_next(&cursor, &collection, &entry, error);
    kedge_api_damage_free(&ignored);
    if (status == KEDGE_OK) return KEDGE_LIMIT_EXCEEDED;
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status measure_changes(patch_measure *measure, const kedge_changes *changes, size_t at)
{
    KEDGE_ASSERT(at > 0);
    for (; at <= changes->count; at++) {
        const kedge_version_change *change = &changes->changes[at - 1];
        if (!takes(measure, change->collection, &change->entry)) return KEDGE_LIMIT_EXCEEDED;
    }
    return KEDGE_OK;
}

/* By the rest of the changes, or of the items when there are none. */
static kedge_status check_size(const kedge_api_patch *patch, const kedge_changes *changes,
                               size_t at, const kedge_api_cursor *cursor)
{
    size_t written = patch->writer.buffer->size;
    const kedge_allocator *allocator = patch->writer.buffer->allocator;
    if (written > KEDGE_API_RESPONSE_BYTES_MAX) return KEDGE_LIMIT_EXCEEDED;
    patch_measure measure = {.text = kedge_buffer_make(allocator),
                             .scratch = kedge_buffer_make(allocator),
                             .left = KEDGE_API_RESPONSE_BYTES_MAX - written};
    kedge_status status = changes != NULL ? measure_changes(&measure, changes, at)
                                          : measure_items(&measure, cursor, patch->error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&measure.text, patch->error);
    kedge_buffer_free(&measure.text);
    kedge_buffer_free(&measure.scratch);
    return status;
}

/* ---- the rest ---- */

typedef struct patch_rest {
    kedge_api_pin pin;
    bool is_delta;
    int64_t from; /* a delta: the version that it starts from, and its next operation */
    size_t at;
    kedge_buffer collection; /* otherwise the last key of the part before */
    kedge_buffer id;
    kedge_api_damage damage;
} patch_rest;

static void free_rest(void *context)
{
    patch_rest *rest = context;
    const kedge_allocator *allocator = rest->pin.backend->allocator;
    kedge_api_pin_free(&rest->pin);
    kedge_buffer_free(&rest->collection);
    kedge_buffer_free(&rest->id);
    kedge_api_damage_free(&rest->damage);
    kedge_release(allocator, rest);
}

static kedge_status keep_key(patch_rest *rest, const kedge_api_patch *patch, kedge_error *error)
{
    kedge_buffer_clear(&rest->collection);
    kedge_buffer_clear(&rest->id);
    kedge_buffer_append_bytes(&rest->collection, patch->collection);
    kedge_buffer_append_bytes(&rest->id, patch->id);
    kedge_status status = kedge_buffer_status(&rest->collection, error);
    return status == KEDGE_OK ? kedge_buffer_status(&rest->id, error) : status;
}

static kedge_status write_items(patch_rest *rest, kedge_api_patch *patch, size_t limit)
{
    kedge_api_cursor cursor = kedge_api_cursor_behind(
        patch->state, kedge_buffer_bytes(&rest->collection), kedge_buffer_bytes(&rest->id));
    cursor.damage = &patch->damage;
    cursor.begun = !cursor.from_start;
    kedge_status status = kedge_api_patch_items(patch, &cursor, limit);
    if (status != KEDGE_OK) return status;
    return keep_key(rest, patch, patch->error);
}

/* The changes are folded again for each part, since together they may be as large as the
 * response. */
static kedge_status write_delta(patch_rest *rest, kedge_api_patch *patch, size_t limit)
{
    kedge_changes changes = {.count = 0};
    kedge_status status = kedge_state_changes(patch->state, rest->from, &changes, patch->error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(patch->error, KEDGE_UNAVAILABLE, "version-gone",
                          "versions of a delta were removed while a response was made of it");
    }
    if (status != KEDGE_OK) return status;
    status = kedge_api_patch_changes(patch, &changes, &rest->at, limit);
    kedge_changes_free(&changes);
    return status;
}

static kedge_status write_end(kedge_api_patch *patch, kedge_api_response *response)
{
    kedge_wire_damaged damaged;
    kedge_wire_pull_response_patch_end(&patch->writer);
    kedge_wire_pull_response_end(&patch->writer);
    return kedge_api_damage_tell(response, &patch->damage, &damaged, patch->error);
}

/* What is missing of a version that was removed is not lost: the response ends without it. */
static kedge_status write_part(patch_rest *rest, kedge_api_patch *patch, size_t limit)
{
    int64_t lost = patch->damage.count;
    kedge_status status =
        rest->is_delta ? write_delta(rest, patch, limit) : write_items(rest, patch, limit);
    if (status != KEDGE_OK && status != KEDGE_DONE) return status;
    if (patch->damage.count == lost) return status;
    kedge_status kept = kedge_api_pin_check(&rest->pin, patch->error);
    return kept == KEDGE_OK ? status : kept;
}

static kedge_status write_rest(void *context, size_t most, kedge_api_response *response,
                               kedge_error *error)
{
    patch_rest *rest = context;
    kedge_api_patch patch = {.writer = kedge_json_write(&response->body),
                             .scratch = kedge_buffer_make(response->body.allocator),
                             .damage = rest->damage,
                             .error = error};
    if (rest->is_delta && most < KEDGE_API_DELTA_BYTES_MAX) most = KEDGE_API_DELTA_BYTES_MAX;
    size_t start = response->body.size;
    size_t limit = most > SIZE_MAX - start ? SIZE_MAX : start + most;
    patch.writer.comma = true;
    kedge_status status = kedge_api_pin_open(&rest->pin, &patch.state, error);
    if (status == KEDGE_OK) status = write_part(rest, &patch, limit);
    if (status == KEDGE_DONE) {
        status = write_end(&patch, response);
        if (status == KEDGE_OK) status = KEDGE_DONE;
    }
    rest->damage = patch.damage;
    kedge_state_close(patch.state);
    kedge_buffer_free(&patch.scratch);
    return status;
}

static kedge_status leave(kedge_api_call *call, kedge_api_patch *patch, patch_rest **left)
{
    const kedge_allocator *allocator = call->project.backend->allocator;
    patch_rest *rest = kedge_allocate(allocator, sizeof *rest);
    if (rest == NULL) return kedge_fail_no_memory(&call->error);
    rest->collection = kedge_buffer_make(allocator);
    rest->id = kedge_buffer_make(allocator);
    rest->damage = patch->damage;
    patch->damage = kedge_api_damage_make(allocator);
    call->response->rest =
        (kedge_api_rest){.context = rest, .write = write_rest, .free = free_rest};
    *left = rest;
    return kedge_api_pin_make(call, kedge_state_version(patch->state), &rest->pin, &call->error);
}

kedge_status kedge_api_patch_leave_items(kedge_api_call *call, kedge_api_patch *patch,
                                         const kedge_api_cursor *cursor)
{
    patch_rest *rest;
    kedge_status status = check_size(patch, NULL, 0, cursor);
    if (status == KEDGE_OK) status = leave(call, patch, &rest);
    return status == KEDGE_OK ? keep_key(rest, patch, &call->error) : status;
}

kedge_status kedge_api_patch_leave_changes(kedge_api_call *call, kedge_api_patch *patch,
                                           int64_t from, const kedge_changes *changes, size_t at)
{
    patch_rest *rest;
    kedge_status status = check_size(patch, changes, at, NULL);
    if (status == KEDGE_OK) status = leave(call, patch, &rest);
    if (status != KEDGE_OK) return status;
    rest->is_delta = true;
    rest->from = from;
    rest->at = at;
    return KEDGE_OK;
}
