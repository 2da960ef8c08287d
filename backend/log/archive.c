/* Archives a segment, and takes its entries out of the table. */
#include "backend/log/archive.h"

#include "backend/base/pause.h"
#include "backend/log/remove.h"
#include "backend/log/segments.h"
#include "common/error.h"

#include <string.h>

/* A load reads the newest segment, and the one before it while that has no snapshot. */
static kedge_status check(const kedge_log *log, int64_t segment, kedge_error *error)
{
    size_t count;
    kedge_log_segment newest;
    kedge_status status = kedge_log_segments_newest(log, 1, true, &newest, &count, error);
    if (status != KEDGE_OK) return status;
    int64_t needed = newest.last_snapshot < 0 ? newest.num - 1 : newest.num;
    if (segment < needed) return KEDGE_OK;
    return kedge_fail(error, KEDGE_REJECTED, "log-segment-in-use",
                      "segment %lld of the log %.*s is needed to load the log", (long long)segment,
                      (int)log->name.size, log->name.data);
}

/* The archive is whole before the segment names it. */
static kedge_status write_archive(const kedge_log *log, kedge_log_segment *segment,
                                  kedge_error *error)
{
    char hash[KEDGE_SHA256_HEX];
    kedge_status status = kedge_log_archive_write(log, segment, hash, error);
    if (status != KEDGE_OK) return status;
    memcpy(segment->archive, hash, sizeof hash);
    segment->archived = true;
    return kedge_log_segment_change(log, segment, error);
}

static kedge_status try_once(const kedge_log *log, int64_t num, kedge_log_segment *segment,
                             kedge_error *error)
{
    kedge_status status = check(log, num, error);
    if (status == KEDGE_OK) status = kedge_log_segment_get(log, num, segment, error);
    if (status == KEDGE_OK && !segment->archived) status = write_archive(log, segment, error);
    return status;
}

kedge_status kedge_log_archive(const kedge_log *log, int64_t segment,
                               kedge_log_archived_entries entries, int64_t expires_s,
                               kedge_error *error)
{
    kedge_error failure = {0};
    kedge_log_segment archived;
    kedge_status status = KEDGE_UNAVAILABLE;
    for (uint32_t tries = 0; tries < KEDGE_LOG_TRIES_MAX && kedge_log_is_transient(status);
         tries++) {
        if (tries > 0) kedge_backend_pause(log->project->backend, tries);
        status = try_once(log, segment, &archived, &failure);
    }
    if (status == KEDGE_OK && entries != KEDGE_LOG_KEEP) {
        kedge_log_removal removal = {.end = INT64_MAX,
                                     .expires_s = entries == KEDGE_LOG_EXPIRE ? expires_s : 0};
        status = kedge_log_remove_entries(log, &archived, &removal, &failure);
    }
    if (status == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, status, failure.code, "%s", failure.message);
}
