/* The entries of event logs: append, queries, metadata. */
#include "backend/api/handlers.h"
#include "backend/api/logs.h"
#include "backend/log/snapshot.h"
#include "common/assert.h"
#include "common/json.h"
#include "wire/log.h"
#include "wire/problem.h"

#include <stdio.h>
#include <string.h>

#define PAGE_ENTRIES 100 /* read at once */

/* ---- pages ---- */

/* One page of a response. */
typedef struct entry_page {
    kedge_api_call *call;
    kedge_json_writer writer;
    kedge_log_reader reader;
    int64_t to; /* the last number that is wanted, in the direction of the walk */
    int64_t left;
    size_t bytes_max; /* the response ends after the entry that passes it */
    kedge_wire_log_page end;
    bool written; /* any entry */
} entry_page;

static kedge_status write_entry(entry_page *page, const kedge_log_entry *entry)
{
    kedge_buffer body = kedge_buffer_make(page->call->allocator);
    kedge_status status = kedge_log_read_body(page->reader.log, entry, &body, &page->call->error);
    if (status == KEDGE_OK) {
        kedge_wire_log_entry wire = {.number = entry->at.number,
                                     .created_s = entry->created_s,
                                     .type = entry->type,
                                     .version = entry->version,
                                     .body = kedge_buffer_bytes(&body),
                                     .snapshot = entry->snapshot,
                                     .history = entry->history,
                                     .pending = entry->pending};
        memcpy(wire.id, entry->id, sizeof wire.id);
        kedge_wire_log_entry_write(&page->writer, &wire);
        page->written = true;
    }
    kedge_buffer_free(&body);
    return status;
}

static bool is_past(const entry_page *page, int64_t number)
{
    return page->reader.descending ? number < page->to : number > page->to;
}

/* The entries of one read. Ends at `to`, at the limits, or at an entry that cannot be read. */
static kedge_status write_some(entry_page *page, const kedge_log_page *some, bool *full)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < some->count && !*full && status == KEDGE_OK; i++) {
        const kedge_log_entry *entry = &some->entries[i];
        if (is_past(page, entry->at.number)) {
            page->end.next = -1;
            *full = true;
            break;
        }
        page->end.next = entry->at.number;
        *full = page->left == 0 || page->writer.buffer->size >= page->bytes_max;
        if (*full) break;
        status = write_entry(page, entry);
        page->left--;
    }
    return status;
}

/* The number at which the reader stands. */
static int64_t where(const kedge_log_reader *reader)
{
    return reader->num < 0 ? reader->end : reader->first + reader->num;
}

/* An entry that cannot be read ends the page in front of it. The first of a page is a problem. */
static kedge_status fill(entry_page *page)
{
    kedge_status status = KEDGE_OK;
    bool full = false;
    page->end.next = -1;
    while (status == KEDGE_OK && !full && !page->reader.ended) {
        kedge_log_page some = kedge_log_page_make(page->call->allocator);
        status = kedge_log_read(&page->reader, PAGE_ENTRIES, &some, &page->call->error);
        if (status == KEDGE_OK)
            status = write_some(page, &some, &full);
        else
            page->end.next = where(&page->reader);
        kedge_log_page_free(&some);
    }
    if (status == KEDGE_OK && !full) page->end.next = -1;
    bool readable = status == KEDGE_OK || !page->written ||
                    (status != KEDGE_CORRUPT && status != KEDGE_UNSUPPORTED);
    return readable ? status : KEDGE_OK;
}

static size_t page_bytes(const kedge_api_call *call)
{
    size_t most = call->project.backend->options.response_bytes_max;
    return kedge_api_at_most(KEDGE_API_PAGE_BYTES, most / 2);
}

/* ---- queries ---- */

typedef struct entry_query {
    kedge_log_from from;
    int64_t number;
    int64_t after; /* -1: none; Update Loaded from this entry */
    int64_t to;
    int64_t limit;
    bool down;
    bool load;
    bool consistent;
} entry_query;

static bool refuse_query(kedge_api_call *call, const char *name, const char *what)
{
    kedge_api_refuse(call, 400, "query-invalid", "the parameter \"%s\" must be %s", name, what);
    return false;
}

/* `*present` with the text, or a refusal. */
static bool read_word(kedge_api_call *call, const char *name, kedge_buffer *text, bool *present)
{
    kedge_buffer_clear(text);
    return kedge_api_query_text(call, name, text, present);
}

static bool read_from(kedge_api_call *call, kedge_buffer *text, entry_query *out)
{
    static const struct {
        const char *word;
        kedge_log_from from;
    } words[] = {{"start", KEDGE_LOG_FROM_START},
                 {"snapshot", KEDGE_LOG_FROM_SNAPSHOT},
                 {"end", KEDGE_LOG_FROM_END}};
    bool present = false;
    if (!read_word(call, "from", text, &present)) return false;
    kedge_bytes value = kedge_buffer_bytes(text);
    if (!present) {
        out->from = out->down ? KEDGE_LOG_FROM_END : KEDGE_LOG_FROM_START;
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        out->from = words[i].from;
        if (kedge_bytes_equal_text(value, words[i].word)) return true;
    }
    out->from = KEDGE_LOG_FROM_NUMBER;
    out->load = false;
    if (kedge_json_to_integer(value, &out->number) && out->number >= 0) return true;
    return refuse_query(call, "from", "start, snapshot, end or a number from 0 on");
}

static bool read_choice(kedge_api_call *call, kedge_buffer *text, const char *name, const char *yes,
                        const char *no, bool *out)
{
    bool present = false;
    if (!read_word(call, name, text, &present)) return false;
    *out = present && kedge_bytes_equal_text(kedge_buffer_bytes(text), yes);
    if (!present || *out || kedge_bytes_equal_text(kedge_buffer_bytes(text), no)) return true;
    char what[64];
    snprintf(what, sizeof what, "%s or %s", yes, no);
    return refuse_query(call, name, what);
}

static bool read_query(kedge_api_call *call, entry_query *out)
{
    kedge_buffer text = kedge_buffer_make(call->allocator);
    out->limit = KEDGE_LOG_PAGE_MAX;
    out->after = -1;
    out->to = -1;
    bool read = read_choice(call, &text, "order", "down", "up", &out->down) &&
                read_choice(call, &text, "consistent", "true", "false", &out->consistent) &&
                read_from(call, &text, out) &&
                kedge_api_query_integer(call, "after", 0, KEDGE_LOG_NUMBER_MAX, &out->after) &&
                kedge_api_query_integer(call, "to", 0, KEDGE_LOG_NUMBER_MAX, &out->to) &&
                kedge_api_query_integer(call, "limit", 1, KEDGE_LOG_PAGE_MAX, &out->limit);
    kedge_buffer_free(&text);
    if (read && out->after >= 0 && (out->down || out->from != KEDGE_LOG_FROM_START))
        return refuse_query(call, "after", "without from and order=down");
    if (out->to < 0) out->to = out->down ? 0 : KEDGE_LOG_NUMBER_MAX;
    return read;
}

static kedge_status start(entry_page *page, const kedge_log *log, const entry_query *query)
{
    kedge_error *error = &page->call->error;
    if (query->after >= 0)
        return kedge_log_update(log, query->after, &page->reader, &page->end.reload, error);
    if (query->from == KEDGE_LOG_FROM_SNAPSHOT && !query->down)
        return kedge_log_load(log, &page->reader, error);
    return kedge_log_query(log, query->from, query->number, query->down, &page->reader, error);
}

void kedge_api_log_entries(kedge_api_call *call)
{
    entry_query query = {.number = 0};
    kedge_log log = kedge_api_log_of(call);
    if (!read_query(call, &query)) return;
    entry_page page = {.call = call,
                       .writer = kedge_json_write(&call->response->body),
                       .to = query.to,
                       .left = query.limit,
                       .bytes_max = page_bytes(call)};
    kedge_wire_log_page_begin(&page.writer);
    kedge_status status = start(&page, &log, &query);
    if (status == KEDGE_OK) {
        page.end.last_snapshot = page.reader.last_snapshot;
        page.reader.consistent = query.consistent;
        status = fill(&page);
    }
    kedge_wire_log_page_end(&page.writer, &page.end);
    if (status != KEDGE_OK) kedge_api_log_fail(call, status);
}

/* ---- append ---- */

/* The entries from the expected number on: what the caller has missed. */
static kedge_status write_missed(kedge_api_call *call, const kedge_log *log, int64_t expected,
                                 entry_page *page)
{
    page->call = call;
    page->to = KEDGE_LOG_NUMBER_MAX;
    page->left = KEDGE_LOG_PAGE_MAX;
    page->bytes_max = page_bytes(call);
    kedge_status status =
        kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, expected, false, &page->reader, &call->error);
    if (status != KEDGE_OK) return status;
    page->end.last_snapshot = page->reader.last_snapshot;
    page->reader.consistent = true;
    return fill(page);
}

static kedge_status respond_conflict(kedge_api_call *call, const kedge_log *log,
                                     const kedge_wire_log_append *request, int64_t next)
{
    char detail[128];
    kedge_api_response *response = call->response;
    kedge_status status = KEDGE_OK;
    snprintf(detail, sizeof detail, "the next number is %lld, not %lld", (long long)next,
             (long long)request->expected);
    entry_page page = {.writer = kedge_json_write(&response->body)};
    response->status = 409;
    response->content_type = KEDGE_WIRE_PROBLEM_TYPE;
    kedge_wire_log_conflict_begin(&page.writer, next, detail, request->entries);
    if (request->entries) status = write_missed(call, log, request->expected, &page);
    kedge_wire_log_conflict_end(&page.writer, request->entries ? &page.end : NULL);
    return status;
}

void kedge_api_log_append(kedge_api_call *call)
{
    kedge_wire_log_append wire;
    kedge_wire_request body = kedge_api_body(call);
    kedge_log log = kedge_api_log_of(call);
    if (!kedge_api_body_is_read(call, kedge_wire_log_append_read(&body, &wire, &call->error)))
        return;
    kedge_log_append_result result;
    kedge_log_append_request request = {.type = wire.type,
                                        .version = wire.version,
                                        .body = wire.body,
                                        .expected = wire.expected,
                                        .since = wire.since};
    memcpy(request.id, wire.id, sizeof request.id);
    kedge_status status = kedge_log_append(&log, &request, &result, &call->error);
    if (status == KEDGE_OK && result.conflict) {
        status = respond_conflict(call, &log, &wire, result.at.number);
    } else if (status == KEDGE_OK) {
        kedge_wire_log_appended appended = {result.at.number, result.before};
        kedge_wire_log_appended_write(&appended, &call->response->body);
    }
    if (status != KEDGE_OK) kedge_api_log_fail(call, status);
}

/* ---- metadata ---- */

void kedge_api_log_metadata(kedge_api_call *call)
{
    int64_t number = 0;
    kedge_wire_log_metadata wire;
    kedge_wire_request body = kedge_api_body(call);
    kedge_log log = kedge_api_log_of(call);
    if (!kedge_api_body_is_read(call, kedge_wire_log_metadata_read(&body, &wire, &call->error)))
        return;
    kedge_json_to_integer(call->argument[1], &number);
    kedge_log_metadata metadata = {
        .snapshot = wire.snapshot, .history = wire.history, .pending = wire.pending};
    kedge_status status = kedge_log_set_metadata(&log, number, &metadata, &call->error);
    if (status == KEDGE_OK)
        kedge_buffer_append_text(&call->response->body, "{}");
    else
        kedge_api_log_fail(call, status);
}

/* ---- snapshots ---- */

static void respond_snapshot(kedge_api_call *call, kedge_status status)
{
    if (status != KEDGE_OK)
        kedge_api_log_fail(call, status);
    else
        call->response->immutable = true;
}

/* A snapshot that the backend made (backend/effects/fold.h). Snapshots that an app keeps elsewhere,
 * under ids of its own, are not found here. */
void kedge_api_log_snapshot(kedge_api_call *call)
{
    kedge_log log = kedge_api_log_of(call);
    respond_snapshot(call, kedge_log_snapshot_read(&log, call->argument[1], &call->response->body,
                                                   &call->error));
}

void kedge_api_log_snapshot_chunk(kedge_api_call *call)
{
    kedge_log log = kedge_api_log_of(call);
    respond_snapshot(call, kedge_log_snapshot_read_part(&log, call->argument[1], call->argument[2],
                                                        &call->response->body, &call->error));
}
