/* GET snapshot: pages of one pinned version in key order. */
#include "backend/api/access.h"
#include "backend/api/decided_log.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/state_cursor.h"
#include "backend/api/wire.h"
#include "common/error.h"
#include "wire/key.h"
#include "wire/page.h"
#include "wire/patch.h"

#include <string.h>

typedef struct page_request {
    int64_t version;
    int64_t limit_bytes;
    bool behind; /* the page starts after `after` */
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

static kedge_api_cursor start_cursor(kedge_state *state, const page_request *request)
{
    kedge_bytes collection;
    kedge_bytes id;
    if (!request->behind) return kedge_api_cursor_from_start(state);
    kedge_wire_key_split(kedge_buffer_bytes(&request->after), &collection, &id);
    return kedge_api_cursor_behind(state, collection, id);
}

/* A page that is being written. */
typedef struct page_writing {
    kedge_json_writer *writer;
    kedge_api_cursor *cursor;
    kedge_api_damage *damage;
    size_t start; /* of the items in the buffer */
    size_t limit;
    size_t count;
    kedge_buffer last; /* the key after which the next page starts */
    bool full;
} page_writing;

/* Writes one item. An item whose body is lost is left out. An item with which the page exceeds its
 * limit is removed again, if it is not the first, and the page is full. */
static kedge_status write_item(page_writing *page, kedge_buffer *key, kedge_error *error)
{
    kedge_json_writer *writer = page->writer;
    kedge_bytes collection;
    kedge_entry entry;
    size_t before = writer->buffer->size;
    bool comma = writer->comma;
    kedge_api_damage_mark mark = kedge_api_damage_position(page->damage);
    kedge_status status = kedge_api_cursor_next(page->cursor, &collection, &entry, error);
    if (status != KEDGE_OK) return status;
    kedge_wire_item_begin(writer, collection, entry.id, key);
    status = kedge_api_write_value(writer, page->cursor->state, collection, &entry, true, error);
    kedge_json_end_object(writer);
    if (status != KEDGE_OK && status != KEDGE_CORRUPT) return status;
    bool lost = status == KEDGE_CORRUPT;
    bool over = page->count > 0 && writer->buffer->size - page->start > page->limit;
    if (lost || over) {
        kedge_buffer_truncate(writer->buffer, before);
        writer->comma = comma;
    }
    if (lost) kedge_api_damage_item(page->damage, collection, entry.id, error);
    if (over && !lost) {
        kedge_api_damage_roll_back(page->damage, mark);
        page->full = true;
        return KEDGE_OK;
    }
    if (!lost) page->count++;
    kedge_buffer_clear(&page->last);
    kedge_buffer_append_bytes(&page->last, kedge_buffer_bytes(key));
    page->full = lost && page->damage->count >= KEDGE_API_DAMAGED_MAX;
    return KEDGE_OK;
}

/* Writes items until the page is full. Lost bodies count, too, since looking for them takes
 * time. */
static kedge_status write_items(page_writing *page, kedge_error *error)
{
    kedge_buffer key = kedge_buffer_make(page->writer->buffer->allocator);
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && !page->full)
        status = write_item(page, &key, error);
    if (status == KEDGE_DONE) status = KEDGE_OK;
    if (status == KEDGE_OK) status = kedge_buffer_status(&key, error);
    kedge_buffer_free(&key);
    return status;
}

/* Of a log project nothing may be left out: a replay on a state that lacks an item would decide
 * otherwise than all the others. */
static kedge_status check_whole(const kedge_api_call *call, const kedge_api_damage *damage,
                                kedge_error *error)
{
    if (call->project.history == NULL || damage->count == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_CORRUPT, damage->cause.code, "%s", damage->cause.message);
}

static kedge_status write_page(kedge_api_call *call, const page_request *request,
                               kedge_state *state)
{
    const kedge_version *version = kedge_state_version(state);
    kedge_api_cursor cursor = start_cursor(state, request);
    kedge_api_damage damage = kedge_api_damage_make(call->allocator);
    cursor.damage = &damage;
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_wire_page_response_begin(&writer, version->number, version->lineage);
    page_writing page = {.writer = &writer,
                         .cursor = &cursor,
                         .damage = &damage,
                         .start = writer.buffer->size,
                         .limit = (size_t)request->limit_bytes,
                         .last = kedge_buffer_make(call->allocator)};
    kedge_status status = write_items(&page, &call->error);
    if (status == KEDGE_OK) status = check_whole(call, &damage, &call->error);
    kedge_wire_damaged damaged = {.count = 0};
    kedge_bytes next = kedge_buffer_bytes(&page.last);
    if (status == KEDGE_OK)
        status = kedge_api_damage_tell(call->response, &damage, &damaged, &call->error);
    kedge_wire_page_response_end(&writer, page.full ? &next : NULL, &damaged);
    if (status == KEDGE_OK) status = kedge_buffer_status(&page.last, &call->error);
    kedge_buffer_free(&page.last);
    kedge_api_damage_free(&damage);
    return status;
}

/* A snapshot of which something is gone or damaged is discarded. */
static kedge_status write_log_page(kedge_api_call *call, const page_request *request,
                                   const kedge_logged_snapshot *snapshot)
{
    kedge_status status = KEDGE_OK;
    for (int reads = 0; reads < 2; reads++) {
        kedge_buffer_clear(&call->response->body);
        status = write_page(call, request, snapshot->state);
        if (!kedge_api_is_damaged_snapshot(call, status)) return status;
    }
    return kedge_api_discard_snapshot(call, snapshot);
}

/* Of a log project only entries with a snapshot have a state here; latest is the last of them. One
 * that is damaged is gone: its client pulls again, and gets the entries. */
static void respond_log_page(kedge_api_call *call, const page_request *request)
{
    kedge_logged_snapshot snapshot;
    int64_t number = request->version;
    kedge_status status = KEDGE_OK;
    if (number == 0) status = kedge_logged_last_snapshot(&call->project, &number, &call->error);
    if (status == KEDGE_OK) {
        status = number < 0
                     ? KEDGE_NOT_FOUND
                     : kedge_logged_snapshot_open(&call->project, number, &snapshot, &call->error);
    }
    if (status == KEDGE_OK) {
        status = write_log_page(call, request, &snapshot);
        kedge_logged_snapshot_close(&snapshot);
    }
    if (status == KEDGE_NOT_FOUND) {
        kedge_api_refuse(call, 410, "version-gone", "there is no snapshot of version %lld",
                         (long long)number);
    } else if (kedge_api_report_damaged_snapshot(call, status)) {
        kedge_api_refuse(call, 410, "version-gone", "the snapshot of version %lld is damaged",
                         (long long)number);
    } else if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    }
}

static void respond_page(kedge_api_call *call, const page_request *request)
{
    const kedge_version *version;
    kedge_state *state;
    if (!kedge_api_open_version(call, request->version, 410, "version-gone", &version)) return;
    kedge_status status = kedge_state_open(&call->project, version, &state, &call->error);
    if (status == KEDGE_OK) {
        status = write_page(call, request, state);
        kedge_state_close(state);
    }
    kedge_version_release(version);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}

void kedge_api_snapshot(kedge_api_call *call)
{
    page_request request = {.after = kedge_buffer_make(call->allocator)};
    if (read_request(call, &request)) {
        if (call->project.history != NULL) {
            respond_log_page(call, &request);
        } else {
            respond_page(call, &request);
        }
    }
    kedge_buffer_free(&request.after);
}

/* POST snapshot, of a log project: makes one of the newest entry, unless it has one. */
void kedge_api_snapshot_make(kedge_api_call *call)
{
    int64_t number = 0;
    bool made = false, ended;
    if (!kedge_api_is_admin(call)) return;
    if (call->project.history == NULL) {
        kedge_api_refuse(call, 409, "project-kind", "only a log project has snapshots to be made");
        return;
    }
    kedge_status status = kedge_logged_snapshot_make(&call->project, &number, &made, &call->error);
    if (status == KEDGE_OK) status = kedge_logged_end_segment(&call->project, &ended, &call->error);
    if (status == KEDGE_UNSUPPORTED) {
        kedge_api_refuse(call, 409, call->error.code, "%s", call->error.message);
        return;
    }
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
        return;
    }
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, number);
    kedge_json_key(&writer, "made");
    kedge_json_boolean(&writer, made);
    kedge_json_end_object(&writer);
}
