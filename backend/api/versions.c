/* GET versions…: the history and the state of a project at any version (queries 1 to 4). */
#include "backend/versioned/versions/versions.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/wire.h"
#include "common/assert.h"

#define VERSIONS_BYTES    4194304 /* a list of versions ends after the one that exceeds this */
#define VERSIONS_PER_STEP 8
#define ITEMS_DEFAULT     100
#define ROOM_BYTES        65536 /* written between two questions whether there is room */

/* ---- one version ---- */

static void write_mutations(kedge_json_writer *writer, const kedge_version *version)
{
    KEDGE_ASSERT(!version->without_args);
    kedge_json_key(writer, "mutations");
    kedge_json_begin_array(writer);
    for (size_t at = 0; at < version->mutation_count; at++) {
        kedge_json_begin_object(writer);
        kedge_api_write_mutation(writer, &version->mutations[at]);
        kedge_json_end_object(writer);
    }
    kedge_json_end_array(writer);
}

/* Writes the members before "collections". */
static void write_head(kedge_json_writer *writer, const kedge_version *version)
{
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, version->number);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, version->lineage);
    kedge_json_key(writer, "created");
    kedge_json_integer(writer, version->created_ms);
    kedge_json_key(writer, "project");
    kedge_json_raw(writer, version->project_record.size == 0 ? KEDGE_BYTES("null")
                                                             : version->project_record);
}

static void write_tail(kedge_json_writer *writer, const kedge_version *version)
{
    write_mutations(writer, version);
    if (version->retired.size > 0) {
        kedge_json_key(writer, "retired");
        kedge_json_text(writer, version->retired);
    }
    if (version->forked.size > 0) {
        kedge_json_key(writer, "forked");
        kedge_json_raw(writer, version->forked);
    }
}

/* ---- the list ---- */

static void write_summary(kedge_json_writer *writer, const kedge_version *version)
{
    kedge_json_begin_object(writer);
    write_head(writer, version);
    kedge_json_key(writer, "collections");
    kedge_json_begin_object(writer);
    for (size_t at = 0; at < version->collection_count; at++) {
        const kedge_version_collection *collection = &version->collections[at];
        kedge_json_key_bytes(writer, collection->name);
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "number");
        kedge_json_integer(writer, collection->number);
        kedge_json_key(writer, "changed");
        kedge_json_integer(writer, collection->last);
        kedge_json_key(writer, "items");
        kedge_json_integer(writer, collection->items);
        kedge_json_end_object(writer);
    }
    kedge_json_end_object(writer);
    write_tail(writer, version);
    kedge_json_end_object(writer);
}

/* Up to `limit` versions below `before`, few of which are in memory at a time: each may hold
 * megabytes. `*last` is the last one written. Versions below `oldest` are being removed. */
static kedge_status write_list(kedge_api_call *call, kedge_json_writer *writer, int64_t oldest,
                               int64_t before, int64_t limit, int64_t *last)
{
    const kedge_version *versions[VERSIONS_PER_STEP];
    kedge_status status = KEDGE_OK;
    *last = before;
    while (status == KEDGE_OK && limit > 0 && *last > oldest) {
        size_t count = 0;
        uint32_t wanted = limit < VERSIONS_PER_STEP ? (uint32_t)limit : VERSIONS_PER_STEP;
        status = kedge_version_list(&call->project, *last, wanted, KEDGE_VERSION_WHOLE, versions,
                                    &count, &call->error);
        if (status != KEDGE_OK) break;
        if (count == 0) *last = 0; /* the others are not there */
        limit = count == 0 ? 0 : limit - (int64_t)count;
        for (size_t at = 0; at < count; at++) {
            bool full = writer->buffer->size >= VERSIONS_BYTES || versions[at]->number < oldest;
            if (!full && status == KEDGE_OK) {
                write_summary(writer, versions[at]);
                *last = versions[at]->number;
                status = kedge_api_check_room(call);
            } else {
                limit = 0;
            }
            kedge_version_release(versions[at]);
        }
    }
    return status;
}

void kedge_api_versions(kedge_api_call *call)
{
    const kedge_version *head;
    int64_t before = 0;
    int64_t limit = KEDGE_API_LIST_MAX;
    int64_t last = 0;
    if (!kedge_api_query_integer(call, "before", 1, KEDGE_LIMIT_MUTATION_ID, &before) ||
        !kedge_api_query_integer(call, "limit", 1, KEDGE_API_LIST_MAX, &limit) ||
        !kedge_api_open_head(call, &head)) {
        return;
    }
    int64_t newest = head->number;
    int64_t oldest = 1;
    kedge_version_release(head);
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "versions");
    kedge_json_begin_array(&writer);
    kedge_status status = kedge_retained_oldest(&call->project, &oldest, &call->error);
    if (newest > 0 && status == KEDGE_OK) {
        if (before == 0 || before > newest) before = newest + 1;
        status = write_list(call, &writer, oldest, before, limit, &last);
    }
    kedge_json_end_array(&writer);
    kedge_api_write_next(&writer, "next", last > oldest ? last : 0);
    kedge_json_end_object(&writer);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}

/* ---- states ---- */

/* The version that the path's first argument names, and its state. */
static bool open_state(kedge_api_call *call, kedge_state **state)
{
    int64_t number = 0;
    const kedge_version *version;
    kedge_wire_version_read(call->argument[0], &number);
    if (!kedge_api_open_version(call, number, 404, "version-not-found", &version)) return false;
    kedge_status status = kedge_state_open(&call->project, version, state, &call->error);
    kedge_version_release(version);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
    return status == KEDGE_OK;
}

/* Items of a collection, in the place of one of its versions. */
typedef struct item_list {
    kedge_bytes collection;
    bool from_start;
    kedge_bytes after;
    int64_t limit; /* 0: all of them, as far as a response may go */
    bool values;
    bool more;
    kedge_bytes last; /* the id of the last item written */
} item_list;

static kedge_status write_item(kedge_json_writer *writer, kedge_state *state, const item_list *list,
                               const kedge_entry *entry, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    kedge_json_begin_object(writer);
    kedge_api_write_entry(writer, entry);
    if (list->values) {
        size_t start = writer->buffer->size;
        bool comma = writer->comma;
        status = kedge_api_write_value(writer, state, list->collection, entry, false, error);
        if (status == KEDGE_CORRUPT) { /* its value is lost, and left out */
            kedge_buffer_truncate(writer->buffer, start);
            writer->comma = comma;
            status = KEDGE_OK;
        }
    }
    kedge_json_end_object(writer);
    return status;
}

/* Also of items without values: a version has as many as its collections may hold. Returns
 * KEDGE_LIMIT_EXCEEDED when the response is too large. */
static kedge_status write_items(kedge_api_call *call, kedge_json_writer *writer, kedge_state *state,
                                item_list *list)
{
    kedge_error *error = &call->error;
    kedge_status status = kedge_api_check_room(call);
    size_t asked = writer->buffer->size;
    kedge_json_begin_array(writer);
    for (int64_t count = 0; status == KEDGE_OK; count++) {
        kedge_entry entry;
        status =
            kedge_state_next(state, list->collection, list->from_start, list->after, &entry, error);
        if (status != KEDGE_OK) break;
        if (list->limit > 0 && count == list->limit) {
            list->more = true;
            break;
        }
        status = write_item(writer, state, list, &entry, error);
        list->from_start = false;
        list->after = list->last = entry.id;
        if (status == KEDGE_OK && writer->buffer->size > KEDGE_API_RESPONSE_BYTES_MAX) {
            status = KEDGE_LIMIT_EXCEEDED;
        }
        if (status == KEDGE_OK && writer->buffer->size - asked >= ROOM_BYTES) {
            asked = writer->buffer->size;
            status = kedge_api_check_room(call);
        }
    }
    kedge_json_end_array(writer);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static void end_state(kedge_api_call *call, kedge_state *state, kedge_status status)
{
    kedge_state_close(state);
    if (status == KEDGE_LIMIT_EXCEEDED) {
        kedge_api_refuse_too_large(call);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    }
}

/* ---- a whole version ---- */

/* The version of a state with the args of its mutations, which a state may be without. */
static kedge_status load_whole(kedge_api_call *call, const kedge_state *state,
                               const kedge_version **whole)
{
    const kedge_version *version = kedge_state_version(state);
    if (!version->without_args) {
        kedge_version_retain(version);
        *whole = version;
        return KEDGE_OK;
    }
    kedge_status status = kedge_version_load(&call->project, version->number, whole, &call->error);
    if (status != KEDGE_NOT_FOUND) return status;
    return kedge_retained_fail(&call->project, version->number, version->number, &call->error);
}

static kedge_status write_version(kedge_api_call *call, kedge_state *state,
                                  const kedge_version *version, bool values)
{
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_status status = KEDGE_OK;
    kedge_json_begin_object(&writer);
    write_head(&writer, version);
    kedge_json_key(&writer, "collections");
    kedge_json_begin_object(&writer);
    for (size_t at = 0; status == KEDGE_OK && at < version->collection_count; at++) {
        item_list list = {
            .collection = version->collections[at].name, .from_start = true, .values = values};
        kedge_json_key_bytes(&writer, list.collection);
        status = write_items(call, &writer, state, &list);
    }
    kedge_json_end_object(&writer);
    if (status != KEDGE_OK) return status;
    write_tail(&writer, version);
    kedge_json_end_object(&writer);
    return kedge_api_check_room(call);
}

void kedge_api_version(kedge_api_call *call)
{
    int64_t values = 0;
    kedge_state *state;
    if (!kedge_api_query_integer(call, "items", 0, 1, &values)) return;
    if (!open_state(call, &state)) return;
    const kedge_version *version = NULL;
    kedge_status status = load_whole(call, state, &version);
    if (status == KEDGE_OK) {
        status = write_version(call, state, version, values == 1);
        kedge_version_release(version);
    }
    end_state(call, state, status);
}

/* ---- a collection ---- */

static kedge_status write_collection(kedge_api_call *call, kedge_state *state, item_list *list)
{
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, kedge_state_version(state)->number);
    kedge_json_key(&writer, "items");
    kedge_status status = write_items(call, &writer, state, list);
    kedge_json_key(&writer, "next");
    if (list->more) {
        kedge_json_text(&writer, list->last);
    } else {
        kedge_json_null(&writer);
    }
    kedge_json_end_object(&writer);
    return status;
}

void kedge_api_collection(kedge_api_call *call)
{
    bool present = false;
    kedge_state *state;
    kedge_buffer after = kedge_buffer_make(call->allocator);
    item_list list = {.collection = call->argument[1], .limit = ITEMS_DEFAULT};
    if (kedge_api_query_integer(call, "limit", 1, KEDGE_API_ITEMS_MAX, &list.limit) &&
        kedge_api_query_text(call, "after", &after, &present)) {
        list.from_start = !present;
        list.after = kedge_buffer_bytes(&after);
        if (open_state(call, &state)) {
            end_state(call, state, write_collection(call, state, &list));
        }
    }
    kedge_buffer_free(&after);
}

/* ---- an item ---- */

static kedge_status write_one(kedge_api_call *call, kedge_state *state, const kedge_entry *entry)
{
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, kedge_state_version(state)->number);
    kedge_json_key(&writer, "collection");
    kedge_json_text(&writer, call->argument[1]);
    kedge_api_write_entry(&writer, entry);
    kedge_status status =
        kedge_api_write_value(&writer, state, call->argument[1], entry, false, &call->error);
    kedge_json_end_object(&writer);
    return status;
}

void kedge_api_item(kedge_api_call *call)
{
    kedge_state *state;
    kedge_entry entry;
    if (!open_state(call, &state)) return;
    int64_t version = kedge_state_version(state)->number;
    kedge_status status =
        kedge_state_find(state, call->argument[1], call->argument[2], &entry, &call->error);
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse(call, 404, "item-not-found",
                         "the collection \"%.*s\" has no item \"%.*s\" at version %lld",
                         (int)call->argument[1].size, call->argument[1].data,
                         call->argument[2].size < 64 ? (int)call->argument[2].size : 64,
                         call->argument[2].data, (long long)version);
        kedge_state_close(state);
        return;
    }
    if (status == KEDGE_OK) {
        status = write_one(call, state, &entry);
        if (status == KEDGE_CORRUPT) { /* the code says what is wrong; the path names the item */
            call->response->cause = call->error;
            call->response->damaged_items = 1;
            kedge_api_refuse(call, 500, call->error.code, "%s", call->error.message);
            status = KEDGE_OK;
        }
    }
    end_state(call, state, status);
}
