/* The versions of a log project: the entries of its log.
 *
 * The head is the last entry. Its runs that are not indexed yet stand in the last entry of
 * mutations, since entries of the log itself (Snapshot, End Segment) have none. A commit appends at
 * the number after the head. It fails when another entry of mutations has come since; entries of
 * the log itself may have come, and then the version gets a higher number. */
#include "backend/log/layout.h"
#include "backend/log/segments.h"
#include "backend/logged/entry.h"
#include "backend/logged/logged.h"
#include "backend/logged/snapshots.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

/* ---- reading ---- */

static bool copy_run(kedge_arena *arena, const kedge_run *from, kedge_run *to)
{
    *to = *from;
    return kedge_arena_copy(arena, from->client, &to->client) &&
           kedge_arena_copy(arena, from->group, &to->group) &&
           kedge_arena_copy(arena, from->user, &to->user);
}

/* Gives a version of the log itself the runs that the entry of mutations below it knows. */
static kedge_status take_recent(const kedge_version *below, kedge_version_object *object,
                                kedge_error *error)
{
    kedge_version *version = &object->version;
    size_t count = below->recent_count;
    version->indexed_through = below->indexed_through;
    if (count == 0) return KEDGE_OK;
    version->recent = kedge_arena_take_array(&object->arena, count, sizeof *version->recent);
    bool fine = version->recent != NULL;
    for (size_t i = 0; i < count && fine; i++)
        fine = copy_run(&object->arena, &below->recent[i], &version->recent[i]);
    if (!fine) return kedge_fail_no_memory(error);
    version->recent_count = count;
    return KEDGE_OK;
}

/* Looks down from a version of the log itself to the entry of mutations below it. No request
 * truncates the log of a project: without that entry nobody knows what was appended. */
static kedge_status find_recent(kedge_logged_reader *reader, kedge_version_object *object,
                                kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    bool found = object->version.number == 0;
    while (!found) {
        kedge_logged_entry below;
        status = kedge_logged_read(reader, &below, error);
        if (status == KEDGE_DONE)
            return kedge_log_corrupt(&reader->log, reader->entries.segment, -1, error,
                                     "the mutations below version %lld are missing",
                                     (long long)object->version.number);
        if (status != KEDGE_OK) return status;
        found = !below.is_system || below.version->number == 0;
        if (found) status = take_recent(below.version, object, error);
        kedge_version_release(below.version);
    }
    return status;
}

/* `number` -1: the newest. */
static kedge_status load_down(const kedge_project *project, int64_t number,
                              const kedge_version **version, kedge_error *error)
{
    kedge_logged_reader reader;
    kedge_logged_entry entry = {.version = NULL};
    kedge_status status = kedge_logged_reader_open(project, number, true, 1, &reader, error);
    if (status == KEDGE_OK) status = kedge_logged_read(&reader, &entry, error);
    if (status == KEDGE_OK && entry.is_system)
        status = find_recent(&reader, (kedge_version_object *)entry.version, error);
    kedge_logged_reader_close(&reader);
    if (status == KEDGE_DONE ||
        (status == KEDGE_OK && number >= 0 && entry.version->number != number)) {
        status = kedge_fail(error, KEDGE_NOT_FOUND, "version-not-found",
                            "there is no version %lld of this project", (long long)number);
    }
    if (status != KEDGE_OK) {
        kedge_version_release(entry.version);
        return status;
    }
    *version = entry.version;
    return KEDGE_OK;
}

static kedge_status newest(const kedge_project *project, const kedge_version **version,
                           kedge_error *error)
{
    return load_down(project, -1, version, error);
}

static kedge_status load(const kedge_project *project, int64_t number,
                         const kedge_version **version, kedge_error *error)
{
    KEDGE_ASSERT(number >= 0);
    return load_down(project, number, version, error);
}

static kedge_status list(const kedge_project *project, int64_t before, uint32_t limit,
                         const kedge_version **versions, size_t *count, kedge_error *error)
{
    kedge_logged_reader reader;
    uint32_t ahead = limit < KEDGE_LOG_PAGE_MAX ? limit : KEDGE_LOG_PAGE_MAX;
    size_t found = 0;
    *count = 0;
    if (before <= 1 || limit == 0) return KEDGE_OK;
    kedge_status status =
        kedge_logged_reader_open(project, before - 1, true, ahead, &reader, error);
    while (status == KEDGE_OK && found < limit) {
        kedge_logged_entry entry;
        status = kedge_logged_read(&reader, &entry, error);
        if (status != KEDGE_OK) break;
        if (entry.version->number == 0) {
            kedge_version_release(entry.version);
            status = KEDGE_DONE;
        } else {
            versions[found++] = entry.version;
        }
    }
    kedge_logged_reader_close(&reader);
    if (status != KEDGE_OK && status != KEDGE_DONE) {
        while (found > 0)
            kedge_version_release(versions[--found]);
        return status;
    }
    *count = found;
    return KEDGE_OK;
}

static kedge_status lineage(const kedge_project *project, int64_t number,
                            char out[KEDGE_LINEAGE_HEX], kedge_error *error)
{
    kedge_log log = kedge_logged_log(project);
    kedge_log_page page = kedge_log_page_make(project->allocator);
    kedge_log_reader reader;
    kedge_status status =
        kedge_log_query(&log, KEDGE_LOG_FROM_NUMBER, number, false, &reader, error);
    reader.consistent = true;
    if (status == KEDGE_OK) status = kedge_log_read(&reader, 1, &page, error);
    if (status == KEDGE_OK && (page.count == 0 || page.entries[0].at.number != number)) {
        status = kedge_fail(error, KEDGE_NOT_FOUND, "version-not-found",
                            "there is no version %lld of this project", (long long)number);
    }
    if (status == KEDGE_OK) kedge_hex_encode(page.entries[0].id, sizeof page.entries[0].id, out);
    kedge_log_page_free(&page);
    return status;
}

static kedge_status oldest(const kedge_project *project, int64_t *out, kedge_error *error)
{
    kedge_log_segment segment;
    kedge_log log = kedge_logged_log(project);
    kedge_status status = kedge_log_segment_oldest(&log, &segment, error);
    if (status != KEDGE_OK) return status;
    *out = segment.first + segment.deleted;
    if (*out < 1) *out = 1;
    return KEDGE_OK;
}

/* ---- the commit ---- */

_Static_assert(KEDGE_LOGGED_ENTRY_BYTES_MAX <= KEDGE_LOG_STORED_BYTES_MAX,
               "an entry has room for any one mutation; a run of several is made smaller");

/* The number is known now. */
static void set_number(kedge_version *version, int64_t number)
{
    for (size_t i = 0; i < version->recent_count; i++) {
        if (version->recent[i].version == version->number) version->recent[i].version = number;
    }
    for (size_t i = 0; i < version->run_count; i++)
        version->runs[i].version = number;
    version->number = number;
}

static kedge_status append(const kedge_project *project, const kedge_version *head,
                           kedge_version *version, kedge_error *error)
{
    kedge_log log = kedge_logged_log(project);
    kedge_buffer body = kedge_buffer_make(project->allocator);
    kedge_log_append_result result;
    kedge_log_append_request request = {.type = KEDGE_BYTES(KEDGE_LOGGED_TYPE),
                                        .version = KEDGE_LOGGED_ENTRY_VERSION,
                                        .body_bytes_max = KEDGE_LOG_STORED_BYTES_MAX,
                                        .expected = head->number + 1,
                                        .locked = true};
    bool hex = kedge_hex_decode(kedge_bytes_of(version->lineage), request.id, sizeof request.id);
    KEDGE_ASSERT(hex);
    (void)hex;
    kedge_logged_entry_write(version, &body);
    request.body = kedge_buffer_bytes(&body);
    kedge_status status = kedge_buffer_status(&body, error);
    if (status == KEDGE_OK) status = kedge_log_append(&log, &request, &result, error);
    kedge_buffer_free(&body);
    if (status != KEDGE_OK) return status;
    if (result.conflict) {
        return kedge_fail(error, KEDGE_CONFLICT, "log-moved",
                          "another entry was appended before this one");
    }
    set_number(version, result.at.number);
    return KEDGE_OK;
}

const kedge_version_history kedge_logged_history = {.newest = newest,
                                                    .load = load,
                                                    .list = list,
                                                    .lineage = lineage,
                                                    .oldest = oldest,
                                                    .append = append,
                                                    .maintain = kedge_logged_maintain};
