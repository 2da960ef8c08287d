/* Reads the entries of a log project's log as versions. */
#include "backend/log/layout.h"
#include "backend/logged/entry.h"
#include "backend/logged/logged.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

kedge_log kedge_logged_log(const kedge_project *project)
{
    return kedge_log_of(project, KEDGE_BYTES(KEDGE_LOGGED_LOG));
}

kedge_status kedge_logged_create(const kedge_project *project, kedge_error *error)
{
    bool created;
    kedge_log log = kedge_logged_log(project);
    return kedge_log_create(&log, &created, error);
}

kedge_status kedge_logged_reader_open(const kedge_project *project, int64_t number, bool descending,
                                      uint32_t ahead, kedge_logged_reader *reader,
                                      kedge_error *error)
{
    kedge_error failure = {0};
    KEDGE_ASSERT(ahead >= 1 && ahead <= KEDGE_LOG_PAGE_MAX);
    *reader = (kedge_logged_reader){.log = kedge_logged_log(project),
                                    .page = kedge_log_page_make(project->allocator),
                                    .ahead = ahead};
    kedge_log_from from = number < 0 ? KEDGE_LOG_FROM_END : KEDGE_LOG_FROM_NUMBER;
    kedge_status status = kedge_log_query(&reader->log, from, number < 0 ? 0 : number, descending,
                                          &reader->entries, &failure);
    reader->entries.consistent = true;
    if (status == KEDGE_OK) return KEDGE_OK;
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_CORRUPT, "log-missing",
                          "the log of the project \"%.*s\" is missing",
                          (int)project->ref.project.size, project->ref.project.data);
    }
    return kedge_fail(error, status, failure.code, "%s", failure.message);
}

void kedge_logged_reader_close(kedge_logged_reader *reader)
{
    kedge_log_page_free(&reader->page);
}

static kedge_status read_page(kedge_logged_reader *reader, kedge_error *error)
{
    kedge_log_page_free(&reader->page);
    reader->page = kedge_log_page_make(reader->log.project->allocator);
    reader->at = 0;
    if (reader->entries.ended) return KEDGE_DONE;
    kedge_status status = kedge_log_read(&reader->entries, reader->ahead, &reader->page, error);
    return status == KEDGE_OK && reader->page.count == 0 ? KEDGE_DONE : status;
}

static kedge_status take_snapshot(const kedge_log *log, const kedge_log_entry *entry,
                                  kedge_logged_entry *out, kedge_error *error)
{
    if (entry->snapshot.size == 0) return KEDGE_OK;
    if (entry->snapshot.size != KEDGE_SHA256_HEX - 1) {
        return kedge_log_corrupt(log, entry->at.segment, entry->at.num, error,
                                 "the snapshot is no hash");
    }
    memcpy(out->snapshot, entry->snapshot.data, entry->snapshot.size);
    return KEDGE_OK;
}

kedge_status kedge_logged_read(kedge_logged_reader *reader, kedge_logged_entry *entry,
                               kedge_error *error)
{
    kedge_logged_entry out = {.version = NULL};
    kedge_version_object *object = NULL;
    kedge_status status = KEDGE_OK;
    if (reader->at == reader->page.count) status = read_page(reader, error);
    if (status != KEDGE_OK) return status;
    const kedge_log_entry *read = &reader->page.entries[reader->at];
    status = take_snapshot(&reader->log, read, &out, error);
    if (status == KEDGE_OK)
        status = kedge_logged_entry_read(&reader->log, read, &object, &out.bytes, error);
    if (status != KEDGE_OK) return status;
    out.version = &object->version;
    out.revision = read->revision;
    out.is_system = kedge_log_entry_is_system(read);
    reader->at++;
    *entry = out;
    return KEDGE_OK;
}
