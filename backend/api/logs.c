/* Requests about whole event logs: creation, description, lists, segments, archives, truncation. */
#include "backend/api/logs.h"
#include "backend/api/access.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/log/segments.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/model/version.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "wire/log.h"

#include <string.h>

kedge_log kedge_api_log_of(const kedge_api_call *call)
{
    return kedge_log_of(&call->project, call->argument[0]);
}

static void refuse_with_error(kedge_api_call *call, int status)
{
    call->response->cause = call->error;
    kedge_api_refuse(call, status, call->error.code, "%s", call->error.message);
}

/* Whether the error comes from a port. It then names records and blobs, which the response must not
 * show. */
static bool is_of_port(const kedge_error *error)
{
    return strncmp(error->code, "log-", 4) != 0 && strncmp(error->code, "json-", 5) != 0 &&
           strcmp(error->code, "invalid-name") != 0 && strcmp(error->code, "name-too-long") != 0;
}

/* Responds with the error of backend/log as it is: its messages name only the log, a segment and an
 * entry. */
void kedge_api_log_fail(kedge_api_call *call, kedge_status status)
{
    if (is_of_port(&call->error)) {
        kedge_api_fail(call, status);
        return;
    }
    switch (status) {
    case KEDGE_NOT_FOUND:
        refuse_with_error(call, 404);
        return;
    case KEDGE_INVALID_ARGUMENT:
        refuse_with_error(call, 400);
        return;
    case KEDGE_LIMIT_EXCEEDED:
        refuse_with_error(call, 413);
        return;
    case KEDGE_REJECTED:
        refuse_with_error(call, 409);
        return;
    case KEDGE_CORRUPT:
    case KEDGE_UNSUPPORTED:
        refuse_with_error(call, 500);
        return;
    default:
        kedge_api_fail(call, status);
        return;
    }
}

/* ---- one log ---- */

static kedge_status respond_info(kedge_api_call *call)
{
    kedge_log log = kedge_api_log_of(call);
    kedge_log_summary summary = {.snapshot_entry = kedge_log_page_make(call->allocator)};
    kedge_status status = kedge_log_summarize(&log, true, &summary, &call->error);
    if (status == KEDGE_OK) {
        kedge_wire_log_info info = {.log = log.name,
                                    .created_s = summary.created_s,
                                    .segment = summary.segment,
                                    .first = summary.first,
                                    .next = summary.next,
                                    .last_snapshot = summary.last_snapshot};
        if (summary.snapshot_entry.count > 0)
            info.snapshot = summary.snapshot_entry.entries[0].snapshot;
        kedge_wire_log_info_write(&info, &call->response->body);
    }
    kedge_log_page_free(&summary.snapshot_entry);
    return status;
}

void kedge_api_log(kedge_api_call *call)
{
    kedge_status status = respond_info(call);
    if (status != KEDGE_OK) kedge_api_log_fail(call, status);
}

/* Opens the project first, so that no log is made for a project that does not exist. */
void kedge_api_log_create(kedge_api_call *call)
{
    bool created = false;
    const kedge_version *head;
    kedge_log log = kedge_api_log_of(call);
    if (!kedge_api_open_head(call, &head)) return;
    kedge_version_release(head);
    kedge_status status = kedge_log_create(&log, &created, &call->error);
    if (status == KEDGE_OK) status = respond_info(call);
    if (status == KEDGE_OK && created) call->response->status = 201;
    if (status != KEDGE_OK) kedge_api_log_fail(call, status);
}

/* ---- the logs of a project ---- */

typedef struct log_list {
    kedge_json_writer writer;
    kedge_buffer last;
} log_list;

static kedge_status add_log(void *context, kedge_bytes name, int64_t created_s, kedge_error *error)
{
    log_list *list = context;
    kedge_buffer_clear(&list->last);
    kedge_buffer_append_bytes(&list->last, name);
    kedge_json_begin_object(&list->writer);
    kedge_json_key(&list->writer, "log");
    kedge_json_text(&list->writer, name);
    kedge_json_key(&list->writer, "created");
    kedge_json_integer(&list->writer, created_s);
    kedge_json_end_object(&list->writer);
    return kedge_buffer_status(&list->last, error);
}

static void respond_list(kedge_api_call *call, kedge_bytes after, int64_t limit)
{
    bool more = false;
    log_list list = {.writer = kedge_json_write(&call->response->body),
                     .last = kedge_buffer_make(call->allocator)};
    kedge_json_begin_object(&list.writer);
    kedge_json_key(&list.writer, "logs");
    kedge_json_begin_array(&list.writer);
    kedge_status status =
        kedge_log_list(&call->project, after, (uint32_t)limit, add_log, &list, &more, &call->error);
    kedge_json_end_array(&list.writer);
    kedge_json_key(&list.writer, "next");
    if (more)
        kedge_json_text(&list.writer, kedge_buffer_bytes(&list.last));
    else
        kedge_json_null(&list.writer);
    kedge_json_end_object(&list.writer);
    kedge_buffer_free(&list.last);
    if (status != KEDGE_OK) kedge_api_log_fail(call, status);
}

void kedge_api_log_list(kedge_api_call *call)
{
    int64_t limit = KEDGE_API_LIST_MAX;
    kedge_buffer after = kedge_buffer_make(call->allocator);
    if (kedge_api_query_integer(call, "limit", 1, KEDGE_API_LIST_MAX, &limit) &&
        kedge_api_query_after(call, "log", &after))
        respond_list(call, kedge_buffer_bytes(&after), limit);
    kedge_buffer_free(&after);
}

/* ---- segments ---- */

static void write_segment(kedge_json_writer *writer, const kedge_log_segment *segment)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"segment", segment->num},
                   {"first", segment->first},
                   {"created", segment->created_s},
                   {"truncated", segment->deleted}};
    kedge_json_begin_object(writer);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        kedge_json_key(writer, numbers[i].name);
        kedge_json_integer(writer, numbers[i].value);
    }
    kedge_json_key(writer, "last_snapshot");
    if (segment->last_snapshot < 0)
        kedge_json_null(writer);
    else
        kedge_json_integer(writer, segment->first + segment->last_snapshot);
    kedge_json_key(writer, "archive");
    if (segment->archived)
        kedge_json_chars(writer, segment->archive);
    else
        kedge_json_null(writer);
    kedge_json_end_object(writer);
}

/* Lists the segments from the number `from` down. */
void kedge_api_log_segments(kedge_api_call *call)
{
    kedge_log log = kedge_api_log_of(call);
    kedge_log_segment segments[KEDGE_API_LIST_MAX];
    size_t count = 0;
    bool more = false;
    int64_t from = KEDGE_LOG_NUMBER_MAX;
    if (!kedge_api_query_integer(call, "from", 0, KEDGE_LOG_NUMBER_MAX, &from)) return;
    kedge_status status = kedge_log_segments_list(&log, from, KEDGE_API_LIST_MAX, segments, &count,
                                                  &more, &call->error);
    if (status != KEDGE_OK) {
        kedge_api_log_fail(call, status);
        return;
    }
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "segments");
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++)
        write_segment(&writer, &segments[i]);
    kedge_json_end_array(&writer);
    kedge_json_key(&writer, "next");
    if (more && segments[count - 1].num > 0)
        kedge_json_integer(&writer, segments[count - 1].num - 1);
    else
        kedge_json_null(&writer);
    kedge_json_end_object(&writer);
}

void kedge_api_log_new_segment(kedge_api_call *call)
{
    kedge_log_place first;
    kedge_log log = kedge_api_log_of(call);
    kedge_status status = kedge_log_new_segment(&log, &first, &call->error);
    if (status != KEDGE_OK) {
        kedge_api_log_fail(call, status);
        return;
    }
    kedge_json_writer writer = kedge_json_write(&call->response->body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "segment");
    kedge_json_integer(&writer, first.segment);
    kedge_json_key(&writer, "first");
    kedge_json_integer(&writer, first.number);
    kedge_json_end_object(&writer);
}

/* ---- old entries ---- */

static void respond_done(kedge_api_call *call, kedge_status status)
{
    if (status == KEDGE_OK)
        kedge_buffer_append_text(&call->response->body, "{}");
    else
        kedge_api_log_fail(call, status);
}

void kedge_api_log_archive(kedge_api_call *call)
{
    int64_t segment = 0;
    kedge_wire_log_archive wire;
    kedge_wire_request body = kedge_api_body(call);
    kedge_log log = kedge_api_log_of(call);
    if (!kedge_api_is_admin(call)) return;
    if (!kedge_api_body_is_read(call, kedge_wire_log_archive_read(&body, &wire, &call->error)))
        return;
    kedge_json_to_integer(call->argument[1], &segment);
    kedge_log_archived_entries entries = wire.expires_s > 0 ? KEDGE_LOG_EXPIRE
                                         : wire.remove      ? KEDGE_LOG_DELETE
                                                            : KEDGE_LOG_KEEP;
    respond_done(call, kedge_log_archive(&log, segment, entries, wire.expires_s, &call->error));
}

void kedge_api_log_truncate(kedge_api_call *call)
{
    int64_t before = 0;
    kedge_wire_request body = kedge_api_body(call);
    kedge_log log = kedge_api_log_of(call);
    if (!kedge_api_is_admin(call)) return;
    if (!kedge_api_body_is_read(call, kedge_wire_log_truncate_read(&body, &before, &call->error)))
        return;
    respond_done(call, kedge_log_truncate(&log, before, &call->error));
}

/* ---- streams ---- */

kedge_status kedge_backend_current_number(kedge_backend *backend, const kedge_identity *identity,
                                          kedge_bytes organization, kedge_bytes project,
                                          kedge_bytes log, int64_t *number, kedge_error *error)
{
    kedge_project_ref ref = {organization, project};
    kedge_project opened = kedge_project_of(backend, &ref);
    kedge_api_admission admission;
    if (kedge_project_ref_check(&ref, NULL) != KEDGE_OK ||
        kedge_check_name("log", log, NULL) != KEDGE_OK) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "log-not-found", "there is no such log");
    }
    kedge_status status = kedge_api_admit(&opened, identity, &admission, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "log-not-found", "there is no such log");
    }
    if (status != KEDGE_OK) return status;
    kedge_log named = kedge_log_of(&opened, log);
    kedge_log_summary summary = {.snapshot_entry = kedge_log_page_make(backend->allocator)};
    status = kedge_log_summarize(&named, true, &summary, error);
    if (status == KEDGE_OK) *number = summary.next - 1;
    kedge_log_page_free(&summary.snapshot_entry);
    return status;
}
