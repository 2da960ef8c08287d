/* Bodies of entries that are blobs. */
#include "backend/log/body.h"

#include "backend/base/background.h"
#include "backend/base/pause.h"
#include "backend/log/record.h"
#include "backend/log/segments.h"
#include "common/error.h"
#include "common/gzip.h"
#include "common/json.h"

#include <kedge/limits.h>

#define PUT_TRIES_MAX 3

_Static_assert(KEDGE_BLOB_BYTES_MAX > KEDGE_LOG_STORED_BYTES_MAX + 65536,
               "a blob holds the largest body, also when gzip makes it a little larger");

/* The name is the caller's own: a key that is taken holds what an earlier try wrote. */
static kedge_status put(const kedge_log *log, const kedge_log_key *key, kedge_bytes bytes,
                        kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    const kedge_blob_tag discardable = {KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG),
                                        KEDGE_BYTES(KEDGE_BLOB_DISCARD_VALUE)};
    kedge_status status = KEDGE_UNAVAILABLE;
    for (uint32_t tries = 0; tries < PUT_TRIES_MAX && kedge_log_is_transient(status); tries++) {
        if (tries > 0) kedge_backend_pause(log->project->backend, tries);
        status = blobs->vtable->put_tagged(blobs->self, kedge_log_key_bytes(key), bytes,
                                           &discardable, error);
        if (status == KEDGE_CONFLICT) status = KEDGE_OK;
    }
    return status;
}

static kedge_status remove_tag(const kedge_log *log, const kedge_log_key *key, kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    return blobs->vtable->tag(blobs->self, kedge_log_key_bytes(key),
                              KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG), (kedge_bytes){NULL, 0}, error);
}

kedge_status kedge_log_body_write(const kedge_log *log, kedge_bytes body, kedge_log_body_name *name,
                                  kedge_error *error)
{
    kedge_buffer compressed = kedge_buffer_make(log->project->allocator);
    kedge_random_hex(log->project->environment, KEDGE_LOG_ID_SIZE, name->text);
    kedge_log_key key = kedge_log_key_body(log, kedge_bytes_of(name->text));
    kedge_status status = kedge_gzip(body, &compressed, error);
    if (status == KEDGE_OK) status = put(log, &key, kedge_buffer_bytes(&compressed), error);
    kedge_buffer_free(&compressed);
    return status;
}

kedge_status kedge_log_body_untag(const kedge_log *log, kedge_bytes name, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_log_key key = kedge_log_key_body(log, name);
    kedge_status status = remove_tag(log, &key, &failure);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK && error != NULL) *error = failure;
    return status;
}

void kedge_log_body_keep(const kedge_log *log, kedge_bytes name)
{
    kedge_error error = {0};
    kedge_log_key key = kedge_log_key_body(log, name);
    if (remove_tag(log, &key, &error) == KEDGE_OK) return;
    kedge_background_failed(log->project, KEDGE_BACKGROUND_LOG_BODIES, &error);
}

void kedge_log_body_discard(const kedge_log *log, kedge_bytes name)
{
    kedge_error error = {0};
    kedge_log_key key = kedge_log_key_body(log, name);
    const kedge_blobs *blobs = log->project->blobs;
    if (blobs->vtable->remove(blobs->self, kedge_log_key_bytes(&key), &error) == KEDGE_OK) return;
    kedge_background_failed(log->project, KEDGE_BACKGROUND_LOG_BODIES, &error);
}

/* ---- reading ---- */

/* A young body may still carry its tag: whoever put its entry ended in between. */
static void keep_when_tagged(const kedge_log *log, const kedge_log_entry *entry)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_log_key key = kedge_log_key_body(log, entry->external);
    int64_t age_s = kedge_log_now_s(log) - entry->created_s;
    if (age_s > KEDGE_LOG_DISCARD_S) return;
    kedge_buffer value = kedge_buffer_make(log->project->allocator);
    kedge_status status = blobs->vtable->get_tag(blobs->self, kedge_log_key_bytes(&key),
                                                 KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG), &value, NULL);
    if (status == KEDGE_OK) kedge_log_body_keep(log, entry->external);
    kedge_buffer_free(&value);
}

static kedge_status read_external(const kedge_log *log, const kedge_log_entry *entry,
                                  kedge_buffer *body, kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_buffer compressed = kedge_buffer_make(log->project->allocator);
    kedge_log_key key = kedge_log_key_body(log, entry->external);
    kedge_status status =
        blobs->vtable->get(blobs->self, kedge_log_key_bytes(&key), &compressed, error);
    if (status == KEDGE_NOT_FOUND) {
        status = kedge_log_corrupt(log, entry->at.segment, entry->at.num, error,
                                   "the object of its body is missing");
    }
    size_t start = body->size;
    if (status == KEDGE_OK) {
        status =
            kedge_gunzip(kedge_buffer_bytes(&compressed), KEDGE_LOG_STORED_BYTES_MAX, body, error);
        kedge_bytes text = {body->data + start, body->size - start};
        if (status == KEDGE_OK)
            status =
                kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, error);
        if (status != KEDGE_OK && status != KEDGE_NO_MEMORY) {
            status = kedge_log_corrupt(log, entry->at.segment, entry->at.num, error,
                                       "the object of its body is damaged");
        }
    }
    if (status != KEDGE_OK) kedge_buffer_truncate(body, start);
    kedge_buffer_free(&compressed);
    return status;
}

kedge_status kedge_log_read_body(const kedge_log *log, const kedge_log_entry *entry,
                                 kedge_buffer *body, kedge_error *error)
{
    if (entry->external.size == 0) {
        kedge_buffer_append_bytes(body, entry->body);
        return kedge_buffer_status(body, error);
    }
    kedge_status status = read_external(log, entry, body, error);
    if (status == KEDGE_OK) keep_when_tagged(log, entry);
    return status;
}
