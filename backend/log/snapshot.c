/* Snapshots of logs, and their parts, as blobs. */
#include "backend/log/snapshot.h"

#include "backend/log/layout.h"
#include "common/error.h"
#include "common/gzip.h"
#include "common/json.h"

#include <string.h>

static bool is_hash(kedge_bytes name)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    return kedge_hex_decode(name, hash, sizeof hash);
}

static kedge_status put(const kedge_log *log, const kedge_log_key *key, kedge_bytes text,
                        kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_buffer compressed = kedge_buffer_make(log->project->allocator);
    kedge_status status = kedge_gzip(text, &compressed, error);
    if (status == KEDGE_OK)
        status = blobs->vtable->put_if_absent(blobs->self, kedge_log_key_bytes(key),
                                              kedge_buffer_bytes(&compressed), error);
    kedge_buffer_free(&compressed);
    return status == KEDGE_CONFLICT ? KEDGE_OK : status;
}

static kedge_status fail_damaged(const kedge_log *log, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CORRUPT, KEDGE_LOG_SNAPSHOT_DAMAGED,
                      "a snapshot of the log %.*s is damaged", (int)log->name.size, log->name.data);
}

static kedge_status fail_absent(const kedge_log *log, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "log-snapshot-not-found",
                      "the log %.*s has no snapshot of this id here", (int)log->name.size,
                      log->name.data);
}

/* Not kedge_json_check: the values in it may have the greatest depth themselves. */
static bool is_whole(kedge_bytes text)
{
    kedge_bytes value, rest = {NULL, 0};
    return kedge_json_skip(text, &value, &rest) && rest.size == 0;
}

/* `text` is as before unless this succeeds. */
static kedge_status get(const kedge_log *log, const kedge_log_key *key, kedge_buffer *text,
                        kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_buffer compressed = kedge_buffer_make(log->project->allocator);
    size_t start = text->size;
    kedge_status status =
        blobs->vtable->get(blobs->self, kedge_log_key_bytes(key), &compressed, error);
    if (status == KEDGE_NOT_FOUND) {
        status = fail_absent(log, error);
    } else if (status == KEDGE_OK) {
        status = kedge_gunzip(kedge_buffer_bytes(&compressed), KEDGE_LOG_SNAPSHOT_BYTES_MAX, text,
                              error);
        bool damaged = status != KEDGE_OK && status != KEDGE_NO_MEMORY;
        kedge_bytes read = {text->data + start, text->size - start};
        if (damaged || (status == KEDGE_OK && !is_whole(read))) status = fail_damaged(log, error);
    }
    if (status != KEDGE_OK) kedge_buffer_truncate(text, start);
    kedge_buffer_free(&compressed);
    return status;
}

kedge_status kedge_log_snapshot_write(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                      kedge_error *error)
{
    kedge_log_key key = kedge_log_key_snapshot(log, id);
    return put(log, &key, text, error);
}

kedge_status kedge_log_snapshot_read(const kedge_log *log, kedge_bytes id, kedge_buffer *text,
                                     kedge_error *error)
{
    if (!is_hash(id)) return fail_absent(log, error);
    kedge_log_key key = kedge_log_key_snapshot(log, id);
    return get(log, &key, text, error);
}

kedge_status kedge_log_snapshot_write_part(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                           char hash[KEDGE_SHA256_HEX], kedge_error *error)
{
    uint8_t bytes[KEDGE_SHA256_SIZE];
    kedge_sha256(text, bytes);
    kedge_hex_encode(bytes, sizeof bytes, hash);
    kedge_log_key key = kedge_log_key_snapshot_part(log, id, kedge_bytes_of(hash));
    return put(log, &key, text, error);
}

kedge_status kedge_log_snapshot_read_part(const kedge_log *log, kedge_bytes id, kedge_bytes hash,
                                          kedge_buffer *text, kedge_error *error)
{
    uint8_t wanted[KEDGE_SHA256_SIZE], found[KEDGE_SHA256_SIZE];
    size_t start = text->size;
    if (!is_hash(id) || !kedge_hex_decode(hash, wanted, sizeof wanted))
        return fail_absent(log, error);
    kedge_log_key key = kedge_log_key_snapshot_part(log, id, hash);
    kedge_status status = get(log, &key, text, error);
    if (status != KEDGE_OK) return status;
    kedge_sha256((kedge_bytes){text->data + start, text->size - start}, found);
    if (memcmp(found, wanted, sizeof found) == 0) return KEDGE_OK;
    kedge_buffer_truncate(text, start);
    return fail_damaged(log, error);
}
