/* The commands on event logs that send a body, and reprocess-logs. */
#include "backend/admin/verbs.h"
#include "backend/effects/reprocess.h"
#include "backend/log/log.h"
#include "common/error.h"
#include "common/json.h"
#include "wire/log.h"

#include <string.h>
#include <time.h>

#define FILE_BYTES_MAX ((size_t)16777216)

/* A number of an entry or of a segment. */
static kedge_status read_number(const char *what, const char *text, int64_t *number,
                                kedge_error *error)
{
    return kedge_admin_read_number(what, text, 0, KEDGE_LOG_NUMBER_MAX, number, error);
}

/* Sends `body`, or prints `error` when `status` says that the body could not be made. Frees `body`
 * and returns the exit code. */
static int send_body(const kedge_admin *admin, kedge_status status, const kedge_error *error,
                     kedge_buffer *body)
{
    int code =
        status == KEDGE_OK ? kedge_admin_send(admin, "POST", body) : kedge_admin_complain(error);
    kedge_buffer_free(body);
    return code;
}

/* The entry gets a random id, so that the append can be found in the log even when its response was
 * an error. */
int kedge_admin_append_log(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_wire_log_append append = {.type = kedge_bytes_of(admin->line->arguments[1]),
                                    .version = 1,
                                    .expected = -1,
                                    .since = -1,
                                    .has_id = true};
    admin->environment->random(admin->environment->context, append.id, sizeof append.id);
    kedge_status status =
        kedge_admin_read_value(admin->line->arguments[2], FILE_BYTES_MAX, &text, &error);
    if (status == KEDGE_OK && admin->line->expected != NULL)
        status = read_number("--expected", admin->line->expected, &append.expected, &error);
    if (status == KEDGE_OK) {
        append.body = kedge_buffer_bytes(&text);
        kedge_wire_log_append_write(&append, &body);
    }
    int code = send_body(admin, status, &error, &body);
    kedge_buffer_free(&text);
    return code;
}

int kedge_admin_archive_segment(const kedge_admin *admin)
{
    kedge_error error = {0};
    int64_t segment;
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_wire_log_archive archive = {.remove = admin->line->remove};
    kedge_status status = read_number("SEGMENT", admin->line->arguments[1], &segment, &error);
    kedge_wire_log_archive_write(&archive, &body);
    return send_body(admin, status, &error, &body);
}

int kedge_admin_truncate_log(const kedge_admin *admin)
{
    kedge_error error = {0};
    int64_t before = 0;
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_status status = read_number("NUMBER", admin->line->arguments[1], &before, &error);
    kedge_wire_log_truncate_write(before, &body);
    return send_body(admin, status, &error, &body);
}

/* ---- reprocessing ---- */

/* Reads a day or a second in UTC, as seconds since 1970. */
static kedge_status read_time(const char *text, int64_t *time_s, kedge_error *error)
{
    struct tm parts = {.tm_year = 0};
    const char *end = text == NULL ? NULL : strptime(text, "%Y-%m-%d", &parts);
    if (end != NULL && *end != '\0') end = strptime(end, "T%H:%M:%SZ", &parts);
    int day = parts.tm_mday, second = parts.tm_sec;
    *time_s = end == NULL || *end != '\0' ? -1 : (int64_t)timegm(&parts);
    /* timegm turns February 30 into March 2. Such a date is refused. */
    if (parts.tm_mday != day || parts.tm_sec != second) *time_s = -1;
    if (*time_s >= 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                      "reprocess-logs needs --since YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ");
}

static void complain_of_passed(void *context, const kedge_error *error)
{
    (void)context;
    (void)kedge_admin_complain(error);
}

static int print_reprocessed(const kedge_admin *admin, const kedge_reprocess_result *result)
{
    kedge_buffer out = kedge_buffer_make(admin->allocator);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "bodies");
    kedge_json_integer(&writer, (int64_t)result->bodies);
    kedge_json_key(&writer, "continued");
    kedge_json_boolean(&writer, result->continued);
    kedge_json_key(&writer, "entries");
    kedge_json_integer(&writer, (int64_t)result->entries);
    kedge_json_key(&writer, "logs");
    kedge_json_integer(&writer, (int64_t)result->logs);
    kedge_json_key(&writer, "passed");
    kedge_json_integer(&writer, (int64_t)result->passed);
    kedge_json_key(&writer, "without_snapshot");
    kedge_json_integer(&writer, (int64_t)result->snapshots);
    kedge_json_end_object(&writer);
    int code = kedge_admin_print(&out);
    kedge_buffer_free(&out);
    return code;
}

/* Without a queue of snapshots, missing snapshots are only counted. */
int kedge_admin_reprocess_logs(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_reprocess_result result;
    kedge_project project = kedge_admin_project(admin);
    const kedge_effects effects = {.backend = admin->backend,
                                   .queue = kedge_stores_snapshots(admin->stores),
                                   .passed = complain_of_passed};
    int64_t since_s = 0;
    kedge_status status = read_time(admin->line->since, &since_s, &error);
    if (status == KEDGE_OK)
        status = kedge_reprocess_logs(&effects, &project, since_s, &result, &error);
    return status == KEDGE_OK ? print_reprocessed(admin, &result) : kedge_admin_complain(&error);
}
