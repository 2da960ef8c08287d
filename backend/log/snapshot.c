/* Snapshots of logs as blobs. */
#include "backend/log/snapshot.h"

#include "backend/log/layout.h"
#include "common/error.h"
#include "common/gzip.h"
#include "common/json.h"

static bool is_id(kedge_bytes id)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    return kedge_hex_decode(id, hash, sizeof hash);
}

kedge_status kedge_log_snapshot_write(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                      kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_log_key key = kedge_log_key_snapshot(log, id);
    kedge_buffer compressed = kedge_buffer_make(log->project->allocator);
    kedge_status status = kedge_gzip(text, &compressed, error);
    if (status == KEDGE_OK)
        status = blobs->vtable->put_if_absent(blobs->self, kedge_log_key_bytes(&key),
                                              kedge_buffer_bytes(&compressed), error);
    kedge_buffer_free(&compressed);
    return status == KEDGE_CONFLICT ? KEDGE_OK : status;
}

kedge_status kedge_log_snapshot_read(const kedge_log *log, kedge_bytes id, kedge_buffer *text,
                                     kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_buffer compressed = kedge_buffer_make(log->project->allocator);
    size_t start = text->size;
    kedge_error failure = {0};
    kedge_status status = KEDGE_NOT_FOUND;
    if (is_id(id)) {
        kedge_log_key key = kedge_log_key_snapshot(log, id);
        status = blobs->vtable->get(blobs->self, kedge_log_key_bytes(&key), &compressed, &failure);
    }
    if (status == KEDGE_NOT_FOUND) {
        kedge_fail(&failure, status, "log-snapshot-not-found",
                   "the log %.*s has no snapshot of this id here", (int)log->name.size,
                   log->name.data);
    } else if (status == KEDGE_OK) {
        status = kedge_gunzip(kedge_buffer_bytes(&compressed), KEDGE_LOG_SNAPSHOT_BYTES_MAX, text,
                              &failure);
        /* Not kedge_json_check: the values in it may have the greatest depth themselves. */
        kedge_bytes value, rest = {NULL, 0}, read = {text->data + start, text->size - start};
        bool whole = status == KEDGE_OK && kedge_json_skip(read, &value, &rest) && rest.size == 0;
        if (!whole && status != KEDGE_NO_MEMORY)
            status = kedge_fail(&failure, KEDGE_CORRUPT, "log-snapshot-damaged",
                                "a snapshot of the log %.*s is damaged", (int)log->name.size,
                                log->name.data);
    }
    if (status != KEDGE_OK) kedge_buffer_truncate(text, start);
    if (status != KEDGE_OK && error != NULL) *error = failure;
    kedge_buffer_free(&compressed);
    return status;
}
