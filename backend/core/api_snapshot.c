/* GET snapshot: pages of one pinned version in key order. */
#include "backend/core/api_internal.h"

typedef struct page_request {
    int64_t version;
    int64_t limit_bytes;
    bool behind; /* goes on behind `after` */
    kedge_buffer after;
} page_request;

static bool read_request(kedge_api_call *call, page_request *out)
{
    bool present;
    out->limit_bytes = KEDGE_API_PAGE_BYTES;
    if (!kedge_api_query_version(call, &out->version) ||
        !kedge_api_query_integer(call, "limit_bytes", 1, KEDGE_API_PAGE_BYTES_MAX,
                                 &out->limit_bytes) ||
        !kedge_api_query_text(call, "after", &out->after, &present)) {
        return false;
    }
    out->behind = out->after.size > 0;
    return true;
}

static kedge_api_walk start_walk(kedge_state *state, const page_request *request)
{
    kedge_bytes collection;
    kedge_bytes id;
    if (!request->behind) return kedge_api_walk_from_start(state);
    kedge_api_key_split(kedge_buffer_bytes(&request->after), &collection, &id);
    return kedge_api_walk_behind(state, collection, id);
}

/* Writes items until the page is full. The one that passes the limit is taken back, if it is not
 * the first; `*full` tells that it was. `scratch` holds the key of the last one that stays. */
static kedge_status write_items(kedge_json_writer *writer, kedge_api_walk *walk, size_t limit,
                                kedge_buffer *last, bool *full, kedge_error *error)
{
    kedge_buffer *body = writer->buffer;
    size_t start = body->size;
    kedge_bytes collection;
    kedge_entry entry;
    kedge_buffer key = kedge_buffer_make(body->allocator);
    kedge_status status = KEDGE_OK;
    for (bool first = true;; first = false) {
        size_t before = body->size;
        status = kedge_api_walk_next(walk, &collection, &entry, error);
        if (status != KEDGE_OK) break;
        kedge_json_begin_object(writer);
        kedge_api_write_key(writer, collection, entry.id, &key);
        status = kedge_api_write_value(writer, walk->state, collection, &entry, true, error);
        kedge_json_end_object(writer);
        if (status != KEDGE_OK) break;
        if (!first && body->size - start > limit) {
            kedge_buffer_truncate(body, before);
            *full = true;
            break;
        }
        kedge_buffer_clear(last);
        kedge_buffer_append_bytes(last, kedge_buffer_bytes(&key));
    }
    if (status == KEDGE_DONE) status = KEDGE_OK;
    if (status == KEDGE_OK) status = kedge_buffer_status(&key, error);
    kedge_buffer_free(&key);
    return status;
}

static kedge_status write_page(kedge_api_call *call, const page_request *request,
                               kedge_state *state)
{
    bool full = false;
    const kedge_version *version = kedge_state_version(state);
    kedge_api_walk walk = start_walk(state, request);
    kedge_buffer last = kedge_buffer_make(call->allocator);
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version->number);
    kedge_json_key(&writer, "lineage");
    kedge_json_chars(&writer, version->lineage);
    kedge_json_key(&writer, "items");
    kedge_json_begin_array(&writer);
    kedge_status status =
        write_items(&writer, &walk, (size_t)request->limit_bytes, &last, &full, &call->error);
    kedge_json_end_array(&writer);
    kedge_json_key(&writer, "next");
    if (full) {
        kedge_json_text(&writer, kedge_buffer_bytes(&last));
    } else {
        kedge_json_null(&writer);
    }
    kedge_json_end_object(&writer);
    if (status == KEDGE_OK) status = kedge_buffer_status(&last, &call->error);
    kedge_buffer_free(&last);
    return status;
}

/* A client would ask for the pages of a damaged version for ever, while a newer one is whole again.
 */
static bool is_superseded(kedge_api_call *call, int64_t number)
{
    const kedge_version *newest;
    if (kedge_version_load(call->backend, &call->ref, 0, &newest, NULL) != KEDGE_OK) return false;
    bool superseded = newest->number > number;
    kedge_version_release(newest);
    return superseded;
}

static void answer_page(kedge_api_call *call, const page_request *request)
{
    const kedge_version *version;
    kedge_state *state;
    if (!kedge_api_open_version(call, request->version, 410, "version-gone", &version)) return;
    kedge_status status =
        kedge_state_open(call->backend, &call->ref, version, &state, &call->error);
    if (status == KEDGE_OK) {
        status = write_page(call, request, state);
        kedge_state_close(state);
    }
    int64_t number = version->number;
    kedge_version_release(version);
    if (status == KEDGE_CORRUPT && is_superseded(call, number)) {
        call->response->cause = call->error;
        kedge_api_refuse(call, 410, "version-gone",
                         "version %lld is damaged; a newer one may be whole", (long long)number);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    }
}

void kedge_api_snapshot(kedge_api_call *call)
{
    page_request request = {.after = kedge_buffer_make(call->allocator)};
    if (read_request(call, &request)) answer_page(call, &request);
    kedge_buffer_free(&request.after);
}
