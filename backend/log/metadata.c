/* The metadata of an entry: the only part of it that changes. And Last Snapshot of its segment,
 * which only moves forward.
 *
 * Both records are written in one transaction. So Last Snapshot never points to an entry without a
 * snapshot; and who archives the segment at the same time finds its record changed, and begins
 * again: no entry is archived as it was before. */
#include "backend/base/pause.h"
#include "backend/log/segments.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/utf8.h"

#include <string.h>

static kedge_status check_text(const char *what, kedge_bytes text, kedge_error *error)
{
    if (text.size > KEDGE_LOG_METADATA_BYTES_MAX) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "log-metadata-too-large",
                          "%s has %zu bytes; at most %d are allowed", what, text.size,
                          KEDGE_LOG_METADATA_BYTES_MAX);
    }
    bool nul = text.size > 0 && memchr(text.data, '\0', text.size) != NULL;
    if (!nul && kedge_bytes_are_utf8(text)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "log-metadata-invalid",
                      "%s is not UTF-8 without NUL", what);
}

static kedge_status check(const kedge_log_metadata *metadata, kedge_error *error)
{
    kedge_status status = check_text("snapshot", metadata->snapshot, error);
    if (status == KEDGE_OK) status = check_text("history", metadata->history, error);
    if (status == KEDGE_OK) status = check_text("pending", metadata->pending, error);
    if (status == KEDGE_OK && metadata->snapshot.data != NULL && metadata->snapshot.size == 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "log-metadata-invalid",
                          "the snapshot of an entry cannot be removed");
    }
    return status;
}

static void change(kedge_bytes *value, kedge_bytes wanted, bool *changed)
{
    if (wanted.data == NULL || kedge_bytes_equal(*value, wanted)) return;
    *value = wanted;
    *changed = true;
}

static kedge_status write_both(const kedge_log *log, kedge_log_entry *entry,
                               kedge_log_segment *segment, kedge_arena *arena, kedge_error *error)
{
    kedge_log_record entry_record, segment_record;
    int64_t entry_revision = entry->revision++, segment_revision = segment->revision++;
    kedge_status status = kedge_log_entry_encode(log, entry, arena, &entry_record, error);
    if (status != KEDGE_OK) return status;
    kedge_log_segment_encode(log, segment, &segment_record);
    const kedge_record_write writes[] = {kedge_log_put_over(&entry_record, entry_revision),
                                         kedge_log_put_over(&segment_record, segment_revision)};
    const kedge_records *records = log->project->records;
    return records->vtable->transact(records->self, writes, 2, error);
}

#define ANY_REVISION (-1)

/* Finds the segment by consistent reads, and writes over what was read. */
static kedge_status write_entry(const kedge_log *log, int64_t number, int64_t revision,
                                const kedge_log_metadata *metadata, bool *done, kedge_error *error)
{
    kedge_log_segment segment;
    int64_t kept = number;
    bool changed = false;
    kedge_log_page page = kedge_log_page_make(log->project->allocator);
    kedge_status status = kedge_log_segment_find(log, &kept, &segment, error);
    if (status == KEDGE_OK && kept == number && segment.archived) {
        status = kedge_fail(error, KEDGE_REJECTED, "log-segment-archived",
                            "segment %lld of the log %.*s is archived, and never changes again",
                            (long long)segment.num, (int)log->name.size, log->name.data);
    }
    if (status == KEDGE_OK && kept != number) {
        status = kedge_fail(error, KEDGE_NOT_FOUND, "log-entry-not-found",
                            "the log %.*s does not keep the entry %lld any more",
                            (int)log->name.size, log->name.data, (long long)number);
    }
    int64_t num = status == KEDGE_OK ? number - segment.first : 0;
    if (status == KEDGE_OK) status = kedge_log_entry_get(log, &segment, num, &page, error);
    if (status != KEDGE_OK) goto out;
    kedge_log_entry entry = page.entries[0];
    change(&entry.snapshot, metadata->snapshot, &changed);
    change(&entry.history, metadata->history, &changed);
    change(&entry.pending, metadata->pending, &changed);
    if (metadata->again && metadata->snapshot.size > 0) changed = true;
    if (metadata->snapshot.size > 0 && segment.last_snapshot < num) {
        segment.last_snapshot = num;
        changed = true;
    }
    *done = !changed || revision == ANY_REVISION || revision == entry.revision;
    if (changed && *done) status = write_both(log, &entry, &segment, &page.arena, error);
out:
    kedge_log_page_free(&page);
    return status;
}

/* Every try reads what is there; one that was written before is then nothing to do. */
static kedge_status set_metadata(const kedge_log *log, int64_t number, int64_t revision,
                                 const kedge_log_metadata *metadata, bool *done, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_status status = check(metadata, error);
    if (status != KEDGE_OK) return status;
    for (uint32_t tries = 0; tries < KEDGE_LOG_TRIES_MAX; tries++) {
        if (tries > 0) kedge_backend_pause(log->project->backend, tries);
        status = write_entry(log, number, revision, metadata, done, &failure);
        if (status == KEDGE_OK) return KEDGE_OK;
        if (!kedge_log_is_transient(status))
            return kedge_fail(error, status, failure.code, "%s", failure.message);
    }
    return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable",
                      "the metadata could not be set in %d tries: %s", KEDGE_LOG_TRIES_MAX,
                      failure.message);
}

kedge_status kedge_log_set_metadata(const kedge_log *log, int64_t number,
                                    const kedge_log_metadata *metadata, kedge_error *error)
{
    bool done;
    return set_metadata(log, number, ANY_REVISION, metadata, &done, error);
}

kedge_status kedge_log_set_metadata_at(const kedge_log *log, int64_t number, int64_t revision,
                                       const kedge_log_metadata *metadata, bool *done,
                                       kedge_error *error)
{
    KEDGE_ASSERT(revision >= 0);
    return set_metadata(log, number, revision, metadata, done, error);
}
